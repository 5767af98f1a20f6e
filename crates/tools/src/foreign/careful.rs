//! reqwest under the SDK's HTTP transport, except that nothing is read without an end: the SDK's own client takes in a
//! JSON answer of any length. Event streams that are opened with GET are the SDK's, which bounds them.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::events::{Event, Parser};
use crate::egress::{self, EgressError};

/// The most bytes of one JSON answer.
const LARGEST: usize = 16 * 1024 * 1024;
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";

/// A client that reads nothing without an end.
#[derive(Debug, Clone)]
pub struct Careful(pub Client);

type Fault = StreamableHttpError<reqwest::Error>;

impl StreamableHttpClient for Careful {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let mut request = self.0.post(&*uri).header(ACCEPT, format!("{JSON}, {EVENTS}"));
        request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(session) = &session {
            request = request.header(SESSION, &**session);
        }
        let response = request.json(&message).send().await?;
        answer(response, &message, session.is_some()).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        self.0.get_stream(uri, session, last_event, token, headers).await
    }
}

/// What an answer to a post means.
async fn answer(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, Fault> {
    let status = response.status();
    if let Some(fault) = challenge(&response) {
        return Err(fault);
    }
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status == StatusCode::NOT_FOUND && in_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    if status == StatusCode::TOO_MANY_REQUESTS {
        return Err(status_fault(&response));
    }
    let text = |name: HeaderName| {
        response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    };
    let (kind, session) = (text(CONTENT_TYPE), text(HeaderName::from_static(SESSION)));
    let session = (!session.is_empty()).then_some(session);
    if status.is_success() && kind.starts_with(EVENTS) {
        return Ok(StreamableHttpPostResponse::Sse(events(response), session));
    }
    let fault = status_fault(&response);
    let body = egress::body(response, LARGEST).await.map_err(too_large)?;
    let said = serde_json::from_slice::<ServerJsonRpcMessage>(&body).ok();
    match (status.is_success(), said) {
        (true, Some(said)) if kind.starts_with(JSON) => Ok(StreamableHttpPostResponse::Json(said, session)),
        // Only a question needs an answer.
        (true, _) if question(message).is_none() => Ok(StreamableHttpPostResponse::Accepted),
        (true, _) => Err(StreamableHttpError::UnexpectedServerResponse(Cow::Borrowed("no JSON-RPC message"))),
        (false, said) => refused(message, in_session, status, said, session).ok_or(fault),
    }
}

/// A failure that is a proper answer after all: an error of the protocol in the body, or an older server that does not
/// know the newer first question, which may answer it with anything and without its id.
fn refused(
    message: &ClientJsonRpcMessage,
    in_session: bool,
    status: StatusCode,
    said: Option<ServerJsonRpcMessage>,
    session: Option<String>,
) -> Option<StreamableHttpPostResponse> {
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return None;
    }
    let first = matches!(message, JsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::DiscoverRequest(_)));
    match said {
        Some(JsonRpcMessage::Error(error)) if first && !in_session && status.is_client_error() => {
            Some(StreamableHttpPostResponse::Json(
                ServerJsonRpcMessage::error(error.error, question(message)),
                None,
            ))
        }
        Some(error @ JsonRpcMessage::Error(_)) => Some(StreamableHttpPostResponse::Json(error, session)),
        _ if first && !in_session && status.is_client_error() => {
            let error = ErrorData::invalid_request(format!("HTTP {}", status.as_u16()), None);
            Some(StreamableHttpPostResponse::Json(
                ServerJsonRpcMessage::error(error, question(message)),
                None,
            ))
        }
        _ => None,
    }
}

/// The id of a question.
fn question(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

/// A server that wants a login, or a better one.
fn challenge(response: &Response) -> Option<Fault> {
    let header = response.headers().get(WWW_AUTHENTICATE)?.to_str().ok()?.to_owned();
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(header))),
        StatusCode::FORBIDDEN => {
            let scope = scope(&header);
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(header, scope)))
        }
        _ => None,
    }
}

/// The scope that a challenge names.
fn scope(header: &str) -> Option<String> {
    let at = header.to_ascii_lowercase().find("scope=")?;
    let rest = header.get(at + "scope=".len()..)?;
    let scope = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split([',', ';', ' ']).next(),
    };
    scope.filter(|scope| !scope.is_empty()).map(str::to_owned)
}

fn status_fault(response: &Response) -> Fault {
    let later = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    HttpStatusError::new(response.status().as_u16(), later).into()
}

fn too_large(error: EgressError) -> Fault {
    match error {
        EgressError::Http(error) => StreamableHttpError::Client(error),
        EgressError::Blocked(blocked) => StreamableHttpError::Io(std::io::Error::other(blocked)),
    }
}

/// The events of an answer, one after the other.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let start = (response, Parser::default(), VecDeque::<Event>::new(), false);
    Box::pin(futures::stream::unfold(start, |(mut response, mut parser, mut ready, ended)| async move {
        loop {
            if let Some(event) = ready.pop_front() {
                return Some((Ok(sse(event)), (response, parser, ready, ended)));
            }
            if ended {
                return None;
            }
            let fed = match response.chunk().await {
                Ok(Some(bytes)) => parser.feed(&bytes).map_err(|error| SseError::Body(Box::new(error))),
                Ok(None) => return None,
                Err(error) => Err(SseError::Body(Box::new(error))),
            };
            ready.extend(std::iter::from_fn(|| parser.next_event()));
            if let Err(error) = fed {
                return Some((Err(error), (response, parser, VecDeque::new(), true)));
            }
        }
    }))
}

fn sse(event: Event) -> Sse {
    let Event { name, data, id, retry } = event;
    Sse { event: (!name.is_empty()).then_some(name), data, id, retry }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_of_a_challenge_is_found_quoted_or_not() {
        assert_eq!(scope("Bearer error=\"x\", scope=\"a b\", y=\"z\"").as_deref(), Some("a b"));
        assert_eq!(scope("Bearer Scope=a:b, error=x").as_deref(), Some("a:b"));
        assert_eq!(scope("Bearer scope=\"\""), None);
        assert_eq!(scope("Bearer"), None);
    }
}
