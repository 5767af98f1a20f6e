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

use super::events::{Parser, TooLarge};

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
    /// One of its events has no end.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
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
                    let post_to = url
                        .join(event.data.unwrap_or_default().trim())
                        .map_err(|_| SseError::Answer("no address"))?;
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
                    && let Ok(message) = serde_json::from_str::<ServerJsonRpcMessage>(
                        event.data.as_deref().unwrap_or_default(),
                    )
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
