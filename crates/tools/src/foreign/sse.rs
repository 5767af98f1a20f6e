//! The old transport: the server keeps an event stream open and names, in its first event, the address to post to.
//! Only that server's own origin may be named there. A stream that ends is the end of the connection.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::AuthRequiredError;

/// The most bytes of one event.
const LARGEST: usize = 16 * 1024 * 1024;
/// How long posting a message may take.
const POSTING: Duration = Duration::from_secs(30);

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum SseError {
    /// HTTP itself.
    #[error("the request failed")]
    Http(#[from] reqwest::Error),
    /// The server wants a login.
    #[error("login needed")]
    Login(#[from] AuthRequiredError),
    /// Another answer than the protocol has.
    #[error("{0}")]
    Answer(&'static str),
    /// A status that is no success.
    #[error("it answers with HTTP {0}")]
    Status(u16),
}

/// An open event stream and the address to post to.
pub struct Events {
    client: Client,
    headers: HashMap<HeaderName, HeaderValue>,
    post_to: Url,
    response: Response,
    parser: Parser,
}

impl Events {
    /// Opens the stream and waits for the address.
    pub async fn open(
        client: Client,
        url: Url,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, SseError> {
        let request = with(client.get(url.clone()), &headers).header(ACCEPT, "text/event-stream");
        let mut response = checked(request.send().await?)?;
        let mut parser = Parser::default();
        loop {
            while let Some(event) = parser.next_event() {
                if event.name == "endpoint" {
                    let post_to = url.join(event.data.trim()).map_err(|_| SseError::Answer("no address"))?;
                    if post_to.origin() != url.origin() {
                        return Err(SseError::Answer("it names an address on another server"));
                    }
                    return Ok(Events { client, headers, post_to, response, parser });
                }
            }
            match response.chunk().await? {
                Some(bytes) => parser.feed(&bytes)?,
                None => return Err(SseError::Answer("its event stream ended at once")),
            }
        }
    }
}

impl Transport<RoleClient> for Events {
    type Error = SseError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseError>> + Send + 'static {
        let request = with(self.client.post(self.post_to.clone()), &self.headers).timeout(POSTING);
        async move {
            checked(request.json(&message).send().await?)?;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            while let Some(event) = self.parser.next_event() {
                if matches!(event.name.as_str(), "" | "message")
                    && let Ok(message) = serde_json::from_str::<ServerJsonRpcMessage>(&event.data)
                {
                    return Some(message);
                }
            }
            let bytes = self.response.chunk().await.ok()??;
            self.parser.feed(&bytes).ok()?;
        }
    }

    async fn close(&mut self) -> Result<(), SseError> {
        Ok(())
    }
}

fn with(
    request: reqwest::RequestBuilder,
    headers: &HashMap<HeaderName, HeaderValue>,
) -> reqwest::RequestBuilder {
    headers.iter().fold(request, |request, (name, value)| request.header(name, value))
}

fn checked(response: Response) -> Result<Response, SseError> {
    if response.status() == StatusCode::UNAUTHORIZED {
        let challenge = response.headers().get("www-authenticate").and_then(|value| value.to_str().ok());
        return Err(AuthRequiredError::new(challenge.unwrap_or("Bearer").to_owned()).into());
    }
    match response.status().is_success() {
        true => Ok(response),
        false => Err(SseError::Status(response.status().as_u16())),
    }
}

/// An event.
#[derive(Debug, Default, PartialEq, Eq)]
struct Event {
    name: String,
    data: String,
}

/// Cuts a stream of bytes into events.
#[derive(Debug, Default)]
struct Parser {
    waiting: Vec<u8>,
    searched: usize,
    event: Event,
    ready: std::collections::VecDeque<Event>,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() + self.event.data.len() > LARGEST {
            return Err(SseError::Answer("one of its events is too large"));
        }
        while let Some(end) = self.waiting[self.searched..].iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.waiting.drain(..=self.searched + end).collect();
            self.searched = 0;
            self.line(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']));
        }
        self.searched = self.waiting.len();
        Ok(())
    }

    fn line(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                let mut event = std::mem::take(&mut self.event);
                event.data.pop();
                if !event.data.is_empty() {
                    self.ready.push_back(event);
                }
            }
            "event" => self.event.name = value.to_owned(),
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            _ => {}
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_however_the_bytes_are_cut() {
        let stream =
            "event: endpoint\ndata: /post?id=1\n\n: a comment\r\ndata: {\r\ndata: \"é\"}\r\n\r\nevent: x\n\n";
        for size in 1..stream.len() {
            let mut parser = Parser::default();
            stream.as_bytes().chunks(size).for_each(|piece| parser.feed(piece).unwrap());
            let all: Vec<Event> = std::iter::from_fn(|| parser.next_event()).collect();
            let event = |name: &str, data: &str| Event { name: name.into(), data: data.into() };
            assert_eq!(all, [event("endpoint", "/post?id=1"), event("", "{\n\"é\"}")], "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_too_large_at_some_point() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1024 * 1024];
        assert!((0..20).any(|_| parser.feed(&piece).is_err()));
    }
}
