//! The one place where Verger talks HTTP to a model. `clippy.toml` keeps `reqwest`'s clients out of every other file.
//!
//! Used by the embedding models and by the chat models. A request goes to the host that the person named and to no
//! other: no proxy from the environment, no redirect, no plain HTTP beyond this machine. Every wait has a limit, every
//! answer a largest size, and what may pass is tried again, as late as the service asks. The key stands in one header
//! and in no error. Deliberately not here: what the requests say.

#![expect(clippy::disallowed_methods, reason = "the one HTTP client of this crate")]

mod base;
mod failure;

use std::sync::Once;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, RequestBuilder, StatusCode, redirect};
use serde_json::Value;

use crate::{Error, Secret};
pub use base::Base;
use failure::FIRST_PAUSE;
pub(crate) use failure::{Failure, asked_for};

/// No answer is larger: a few thousand vectors fit.
const LARGEST: usize = 64 * 1024 * 1024;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long the text of an error may take.
const ERROR: Duration = Duration::from_secs(5);
/// Characters of a service's message that are shown.
const MESSAGE: usize = 300;

/// How long to wait, and how often to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Tries in all.
    pub tries: u32,
    /// The limit for one try.
    pub limit: Duration,
    /// No single pause is longer; a service that asks for more is reported instead.
    pub pause: Duration,
}

impl Patience {
    /// Somebody waits for the answer.
    pub const SHORT: Patience =
        Patience { tries: 2, limit: Duration::from_secs(15), pause: Duration::from_secs(2) };
    /// Work in the background.
    pub const LONG: Patience =
        Patience { tries: 5, limit: Duration::from_secs(120), pause: Duration::from_secs(30) };
    /// A chat: its beginning is tried three times, each for as long as it may be silent.
    pub const CHAT: Patience =
        Patience { tries: 3, limit: Duration::from_secs(300), pause: Duration::from_secs(30) };
}

/// In which header a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyHeader {
    /// `Authorization: Bearer …`
    #[default]
    Bearer,
    /// `x-api-key`, at Anthropic.
    XApiKey,
    /// `x-goog-api-key`, at Google.
    XGoogApiKey,
    /// `api-key`, at Azure.
    ApiKey,
}

impl KeyHeader {
    fn name(self) -> &'static str {
        match self {
            KeyHeader::Bearer => "authorization",
            KeyHeader::XApiKey => "x-api-key",
            KeyHeader::XGoogApiKey => "x-goog-api-key",
            KeyHeader::ApiKey => "api-key",
        }
    }
}

/// Makes requests.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    key: Option<Secret>,
    key_header: KeyHeader,
    headers: Vec<(String, Secret)>,
}

/// An answer that has begun.
pub(crate) struct Opened {
    /// The HTTP status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// What it says, piece by piece.
    pub body: Body,
}

/// The bytes of an answer. Dropping it closes the connection, or the stream of it.
pub(crate) struct Body {
    response: reqwest::Response,
    service: String,
    scrubber: Scrubber,
    idle: Duration,
    left: usize,
    largest: usize,
}

/// Takes keys out of texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scrubber(Vec<Secret>);

impl Scrubber {
    /// The text without any key, and then no longer than a message should be. The other way round the end of a long
    /// message could hold half a key.
    pub(crate) fn shown(&self, text: &str) -> String {
        let text = self.0.iter().fold(text.to_owned(), |text, key| key.scrub(&text));
        text.chars().take(MESSAGE).collect()
    }
}

impl Http {
    /// A client that shows this key, if there is one, as a bearer.
    pub fn new(key: Option<Secret>) -> Result<Http, Error> {
        Http::with(key, KeyHeader::Bearer, Vec::new())
    }

    /// A client that shows this key in this header, and sends these headers with every request. Their values are kept
    /// as close as the key.
    pub fn with(
        key: Option<Secret>,
        key_header: KeyHeader,
        headers: Vec<(String, Secret)>,
    ) -> Result<Http, Error> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Somebody else may have installed one already; any will do.
            rustls::crypto::ring::default_provider().install_default().ok();
        });
        let client = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT)
            .user_agent(concat!("verger/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = client.map_err(|error| Error::Network {
            service: "the HTTP client".to_owned(),
            message: causes(&error),
        })?;
        Ok(Http { client, key: key.filter(|key| !key.is_empty()), key_header, headers })
    }

    /// Asks for JSON.
    pub async fn get(&self, base: &Base, patience: Patience) -> Result<Value, Error> {
        self.ask(Method::GET, base, None, patience).await
    }

    /// Sends JSON and reads JSON.
    pub async fn post(&self, base: &Base, body: &Value, patience: Patience) -> Result<Value, Error> {
        self.ask(Method::POST, base, Some(body), patience).await
    }

    /// Asks for JSON once, with these headers besides.
    pub(crate) async fn get_with(
        &self,
        base: &Base,
        headers: &[(&str, &str)],
        limit: Duration,
    ) -> Result<Value, Error> {
        let slow = || Error::Slow { service: base.host(), seconds: limit.as_secs() };
        let ask = async {
            let opened = self.send(Method::GET, base, None, headers, limit, LARGEST).await?;
            self.read(base, opened).await.map_err(|failure| failure.error)
        };
        tokio::time::timeout(limit, ask).await.map_err(|_| slow())?
    }

    /// Sends JSON once and reads the answer as it comes, whatever its status is. `idle` is the longest silence, before
    /// the answer and in it; `largest` the most bytes of it.
    pub(crate) async fn open(
        &self,
        base: &Base,
        body: &Value,
        headers: &[(&str, &str)],
        idle: Duration,
        largest: usize,
    ) -> Result<Opened, Error> {
        self.send(Method::POST, base, Some(body), headers, idle, largest).await
    }

    async fn ask(
        &self,
        method: Method,
        base: &Base,
        body: Option<&Value>,
        patience: Patience,
    ) -> Result<Value, Error> {
        let mut tried = 1;
        loop {
            let failure = match self.ask_once(method.clone(), base, body, patience.limit).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let Some(pause) = failure.pause(tried, patience) else { return Err(failure.error) };
            tokio::time::sleep(pause).await;
            tried += 1;
        }
    }

    async fn ask_once(
        &self,
        method: Method,
        base: &Base,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, Failure> {
        let slow = || Error::Slow { service: base.host(), seconds: limit.as_secs() };
        let ask = async {
            let opened = self.send(method, base, body, &[], limit, LARGEST).await?;
            self.read(base, opened).await
        };
        tokio::time::timeout(limit, ask).await.map_err(|_| slow())?
    }

    async fn read(&self, base: &Base, mut opened: Opened) -> Result<Value, Failure> {
        let service = base.host();
        let bytes = opened.body.whole().await?;
        let status = StatusCode::from_u16(opened.status).unwrap_or_default();
        if !status.is_success() {
            let error = self.refusal(service, status, &opened.headers, &bytes);
            return Err(Failure::new(error, &opened.headers));
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| Error::Answer { service, message: format!("it is not JSON ({error})") }.into())
    }

    async fn send(
        &self,
        method: Method,
        base: &Base,
        body: Option<&Value>,
        headers: &[(&str, &str)],
        idle: Duration,
        largest: usize,
    ) -> Result<Opened, Error> {
        let service = base.host();
        let scrubber = self.scrubber();
        let mut request = self.dressed(self.client.request(method, base.0.clone()), headers);
        if let Some(body) = body {
            request = request.json(body);
        }
        let slow = || Error::Slow { service: service.clone(), seconds: idle.as_secs() };
        let response = tokio::time::timeout(idle, request.send()).await.map_err(|_| slow())?;
        let response = response.map_err(|error| broken(&service, &scrubber, error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = Body { response, service, scrubber, idle, left: largest, largest };
        Ok(Opened { status, headers, body })
    }

    fn dressed(&self, mut request: RequestBuilder, headers: &[(&str, &str)]) -> RequestBuilder {
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value.reveal());
        }
        match &self.key {
            Some(key) if self.key_header == KeyHeader::Bearer => request.bearer_auth(key.reveal()),
            Some(key) => request.header(self.key_header.name(), key.reveal()),
            None => request,
        }
    }

    /// What takes the key and the values of the headers out of texts.
    pub(crate) fn scrubber(&self) -> Scrubber {
        // A value as short as `1` would only make messages unreadable.
        let values = self.headers.iter().map(|(_, value)| value).filter(|value| value.reveal().len() >= 8);
        Scrubber(self.key.iter().chain(values).cloned().collect())
    }

    fn refusal(&self, service: String, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
        let message = self.scrubber().shown(&said(status.as_u16(), body));
        let status = status.as_u16();
        match status {
            401 | 403 => Error::Auth { service, status, message },
            404 | 405 => Error::NotFound { service, status, message },
            429 => Error::RateLimit { service, message, wait: asked_for(headers).unwrap_or(FIRST_PAUSE) },
            300..=399 => {
                let message = "it sends us elsewhere, and we do not follow".to_owned();
                Error::NotFound { service, status, message }
            }
            408 | 409 | 500.. => Error::Overloaded { service, status, message },
            _ => Error::BadRequest { service, status, message },
        }
    }
}

impl Opened {
    /// Whether the service says that its answer is one piece of JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.kind().starts_with("application/json")
    }

    /// Whether it is a page for people, as login pages and proxies send them.
    pub(crate) fn is_page(&self) -> bool {
        self.kind().starts_with("text/html")
    }

    fn kind(&self) -> &str {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.unwrap_or_default().trim_start()
    }
}

impl Body {
    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let seconds = self.idle.as_secs();
        let slow = |_| Error::Slow { service: self.service.clone(), seconds };
        let bytes = tokio::time::timeout(self.idle, self.response.chunk()).await.map_err(slow)?;
        let bytes = bytes.map_err(|error| broken(&self.service, &self.scrubber, error))?;
        let Some(bytes) = bytes else { return Ok(None) };
        let Some(left) = self.left.checked_sub(bytes.len()) else {
            return Err(Error::TooBig { service: self.service.clone(), limit: self.largest });
        };
        self.left = left;
        Ok(Some(bytes.to_vec()))
    }

    /// Its first bytes, as many as came; for errors, which nobody needs whole.
    pub(crate) async fn start(&mut self, most: usize) -> Vec<u8> {
        let mut start = Vec::new();
        let read = async {
            while start.len() < most
                && let Ok(Some(bytes)) = self.next().await
            {
                start.extend_from_slice(&bytes);
            }
        };
        // What came until then is enough; the status says the most.
        tokio::time::timeout(ERROR, read).await.ok();
        start.truncate(most);
        start
    }

    /// All of it.
    pub(crate) async fn whole(&mut self) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        while let Some(bytes) = self.next().await? {
            all.extend_from_slice(&bytes);
        }
        Ok(all)
    }
}

fn broken(service: &str, scrubber: &Scrubber, error: reqwest::Error) -> Error {
    let message = scrubber.shown(&causes(&error.without_url()));
    Error::Network { service: service.to_owned(), message }
}

/// What the service said, in one line: the usual places in JSON, else the start of the text.
fn said(status: u16, body: &[u8]) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let found = json.as_ref().and_then(|json| {
        let places = ["/error/message", "/error", "/message", "/detail"];
        places.into_iter().find_map(|place| json.pointer(place)?.as_str().map(str::to_owned))
    });
    match one_line(&found.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())) {
        line if line.is_empty() => reason(status).to_owned(),
        line => line,
    }
}

/// The usual words for a status.
pub(crate) fn reason(status: u16) -> &'static str {
    let status = StatusCode::from_u16(status).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or("no reason given")
}

/// A text as one line.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|letter| !letter.is_control()).collect()
}

/// An error with all that lies behind it: the reason is mostly at the end.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_at_the_end_of_a_long_message_is_not_cut_in_two() {
        let key = "sk-0123456789";
        let http = Http::new(Some(Secret::new(key))).unwrap();
        for length in MESSAGE - 20..MESSAGE + 5 {
            let body = format!("{}{key} and more", "x".repeat(length));
            let error = http.refusal("s".into(), StatusCode::BAD_REQUEST, &HeaderMap::new(), body.as_bytes());
            assert!(!error.to_string().contains("sk-0"), "{length}: {error}");
        }
    }

    #[test]
    fn what_a_service_says_is_one_short_line() {
        assert_eq!(said(400, br#"{"error":{"message":"no\nsuch model"}}"#), "no such model");
        assert_eq!(said(400, br#"{"error":"not found"}"#), "not found");
        assert_eq!(said(400, b""), "Bad Request");
        assert_eq!(Scrubber::default().shown(&said(400, &vec![b'x'; 10_000])).len(), MESSAGE);
    }
}
