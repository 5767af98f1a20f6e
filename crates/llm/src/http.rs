//! The one place where Verger talks HTTP to a model. `clippy.toml` keeps `reqwest`'s clients out of every other file.
//!
//! Used by the embedding models, later by the chat models. A request goes to the host that the person named and to no
//! other: no proxy from the environment, no redirect, no plain HTTP beyond this machine. Every wait has a limit, every
//! answer a largest size, and what may pass is tried again, as late as the service asks. The key stands in one header
//! and in no error. Deliberately not here: what the requests say.

#![expect(clippy::disallowed_methods, reason = "the one HTTP client of this crate")]

use std::net::IpAddr;
use std::sync::Once;
use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Method, StatusCode, Url, redirect};
use serde_json::Value;

use crate::{Error, Secret};

/// No answer is larger: a few thousand vectors fit.
const LARGEST: usize = 64 * 1024 * 1024;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// The first pause before another try; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
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
}

/// The address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base(Url);

impl Base {
    /// Reads an address: `https://…`, or `http://` to this machine. No name or key in it, nothing behind `?` or `#`.
    pub fn parse(text: &str) -> Result<Base, Error> {
        let refuse = |why| Err(Error::Address { url: without_credentials(text), why });
        let Ok(url) = Url::parse(text.trim()) else { return refuse("it is not a web address") };
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("a key or a password does not belong into an address");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("it must end before `?` and `#`");
        }
        match url.scheme() {
            "https" => Ok(Base(url)),
            "http" if is_this_machine(&url) => Ok(Base(url)),
            "http" => refuse("without TLS anybody on the way can read the notes"),
            _ => refuse("it must begin with https://"),
        }
    }

    /// Host and port, for messages and for a model's name.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether texts leave this machine on their way.
    pub fn is_local(&self) -> bool {
        is_this_machine(&self.0)
    }

    /// The address below this one; `root` stands for the path of an address that has none.
    pub fn at(&self, root: &str, path: &str) -> Base {
        let mut url = self.0.clone();
        let own = url.path().trim_end_matches('/').to_owned();
        let own = if own.is_empty() { root.trim_end_matches('/').to_owned() } else { own };
        url.set_path(&format!("{own}/{}", path.trim_start_matches('/')));
        Base(url)
    }
}

/// Whatever is before an `@` may be a password.
fn without_credentials(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((before, after)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://…@{after}")
        }
        None => text.to_owned(),
    }
}

fn is_this_machine(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
        }
        Ok(IpAddr::V4(address)) => address.is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

/// Makes requests.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    key: Option<Secret>,
}

impl Http {
    /// A client that shows this key, if there is one.
    pub fn new(key: Option<Secret>) -> Result<Http, Error> {
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
        Ok(Http { client, key: key.filter(|key| !key.is_empty()) })
    }

    /// Asks for JSON.
    pub async fn get(&self, base: &Base, patience: Patience) -> Result<Value, Error> {
        self.ask(Method::GET, base, None, patience).await
    }

    /// Sends JSON and reads JSON.
    pub async fn post(&self, base: &Base, body: &Value, patience: Patience) -> Result<Value, Error> {
        self.ask(Method::POST, base, Some(body), patience).await
    }

    async fn ask(
        &self,
        method: Method,
        base: &Base,
        body: Option<&Value>,
        patience: Patience,
    ) -> Result<Value, Error> {
        let mut pause = FIRST_PAUSE;
        let mut tried = 1;
        loop {
            let error = match self.ask_once(method.clone(), base, body, patience.limit).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let wait = match &error {
                Error::RateLimit { wait, .. } => pause.max(*wait),
                _ => pause,
            };
            // What took its whole time once is not given it again.
            let hopeless = !error.is_passing() || matches!(error, Error::Slow { .. });
            if hopeless || tried >= patience.tries || wait > patience.pause {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
            (pause, tried) = (pause * 2, tried + 1);
        }
    }

    async fn ask_once(
        &self,
        method: Method,
        base: &Base,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, Error> {
        let slow = || Error::Slow { service: base.host(), seconds: limit.as_secs() };
        tokio::time::timeout(limit, self.exchange(method, base, body)).await.map_err(|_| slow())?
    }

    async fn exchange(&self, method: Method, base: &Base, body: Option<&Value>) -> Result<Value, Error> {
        let service = base.host();
        let network = |error: reqwest::Error| Error::Network {
            service: service.clone(),
            message: self.scrubbed(&causes(&error.without_url())),
        };
        let mut request = self.client.request(method, base.0.clone());
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.reveal());
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(network)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut bytes = Vec::new();
        while let Some(part) = response.chunk().await.map_err(network)? {
            if bytes.len() + part.len() > LARGEST {
                return Err(Error::TooBig { service, limit: LARGEST });
            }
            bytes.extend_from_slice(&part);
        }
        if !status.is_success() {
            return Err(self.refusal(service, status, &headers, &bytes));
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| Error::Answer { service, message: format!("it is not JSON ({error})") })
    }

    fn refusal(&self, service: String, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
        let message = self.scrubbed(&said(status, body));
        let status = status.as_u16();
        match status {
            401 | 403 => Error::Auth { service, status, message },
            404 | 405 => Error::NotFound { service, status, message },
            429 => Error::RateLimit { service, message, wait: asked_for(headers).unwrap_or(FIRST_PAUSE) },
            300..=399 => {
                let message = "it sends us elsewhere, and we do not follow".to_owned();
                Error::NotFound { service, status, message }
            }
            408 | 500.. => Error::Overloaded { service, status, message },
            _ => Error::BadRequest { service, status, message },
        }
    }

    fn scrubbed(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.scrub(text))
    }
}

/// How long the service wants to be left alone. A date instead of seconds is not read; the usual pause holds then.
fn asked_for(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| -> Option<f64> {
        let number: f64 = headers.get(name)?.to_str().ok()?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    let milliseconds = number("retry-after-ms").map(|number| number / 1_000.0);
    let seconds = milliseconds.or_else(|| number(RETRY_AFTER.as_str()))?;
    Some(Duration::from_secs_f64(seconds.min(86_400.0)))
}

/// What the service said, in one line: the usual places in JSON, else the start of the text.
fn said(status: StatusCode, body: &[u8]) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let found = json.as_ref().and_then(|json| {
        let places = ["/error/message", "/error", "/message", "/detail"];
        places.into_iter().find_map(|place| json.pointer(place)?.as_str().map(str::to_owned))
    });
    let text = found.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().filter(|letter| !letter.is_control()).take(MESSAGE).collect();
    match short.is_empty() {
        true => status.canonical_reason().unwrap_or("no reason given").to_owned(),
        false => short,
    }
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
    fn notes_go_over_tls_or_stay_on_this_machine() {
        for good in [
            "https://api.example.com/v1",
            "http://localhost:11434",
            "http://127.0.0.1:8080/v1/",
            "http://[::1]:9",
            "http://2130706433/",
        ] {
            assert!(Base::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "http://example.com",
            "http://192.168.1.7:11434",
            "http://localhost.example.com",
            "http://0.0.0.0",
            "ftp://127.0.0.1",
            "file:///etc/passwd",
            "api.example.com",
            "",
            "https://example.com/v1?key=1",
            "https://user:pass@example.com",
        ] {
            assert!(matches!(Base::parse(bad), Err(Error::Address { .. })), "{bad}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_not_repeated() {
        let error = Base::parse("https://user:hunter2@example.com/x").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn paths_are_joined_below_the_base() {
        let at = |base: &str| Base::parse(base).unwrap().at("/v1", "embeddings").0.to_string();
        assert_eq!(at("https://e.org"), "https://e.org/v1/embeddings");
        assert_eq!(at("https://e.org/"), "https://e.org/v1/embeddings");
        assert_eq!(at("https://e.org/v1/"), "https://e.org/v1/embeddings");
        assert_eq!(at("https://e.org/api/openai"), "https://e.org/api/openai/embeddings");
    }

    #[test]
    fn what_a_service_says_is_one_short_line() {
        let status = StatusCode::BAD_REQUEST;
        assert_eq!(said(status, br#"{"error":{"message":"no\nsuch model"}}"#), "no such model");
        assert_eq!(said(status, br#"{"error":"not found"}"#), "not found");
        assert_eq!(said(status, b""), "Bad Request");
        assert_eq!(said(status, &vec![b'x'; 10_000]).len(), MESSAGE);
    }
}
