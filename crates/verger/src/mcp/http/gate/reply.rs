//! Answers that the gate gives itself, and the headers that all answers carry.

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, CONTENT_TYPE, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;

use crate::mcp::frame;

/// A sentence.
pub fn plain(status: StatusCode, text: &str) -> Response {
    with_type(status, "text/plain; charset=utf-8", text.to_owned())
}

/// A JSON value.
pub fn json(status: StatusCode, value: &Value) -> Response {
    with_type(status, "application/json", value.to_string())
}

/// An error of the protocol that belongs to no request.
pub fn rpc_error(status: StatusCode, code: i64, why: &str) -> Response {
    json(status, &frame::error_answer(None, code, why))
}

/// The body is larger than may be.
pub fn too_large(most: usize) -> Response {
    plain(StatusCode::PAYLOAD_TOO_LARGE, &format!("a message may have {most} bytes at most"))
}

/// There are as many sessions as may be.
pub fn full() -> Response {
    let mut answer = plain(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions; end one, or wait");
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("30"));
    answer
}

/// What a browser asks before it lets a page call.
pub fn preflight() -> Response {
    let mut answer = plain(StatusCode::NO_CONTENT, "");
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, \
             mcp-name",
        ),
    );
    answer
}

/// Adds what all answers carry; `origin` is a page that was named in the settings.
pub fn finish(mut answer: Response, origin: Option<&str>) -> Response {
    let headers = answer.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(origin) = origin.and_then(|origin| HeaderValue::from_str(origin).ok()) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(VARY, HeaderValue::from_static("Origin"));
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("mcp-session-id, www-authenticate"),
        );
    }
    answer
}

/// Whether the body says that it is JSON. What is not is turned away by the protocol's own rules.
pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn with_type(status: StatusCode, kind: &'static str, body: String) -> Response {
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
