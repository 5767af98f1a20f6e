//! What goes wrong, as a JSON-RPC error: a message, and in `data` the reason and what to do.

use agent::Trouble;
use agent_client_protocol::v1::schema;
use agent_client_protocol::{Error, ErrorCode};
use pipeline::Refusal;
use serde_json::json;

use crate::failure::Failure;

/// What the client sent does not fit.
pub fn params(message: &str, hint: &str) -> Error {
    error(ErrorCode::INVALID_PARAMS, "invalid_params", message, hint)
}

/// What the client wants cannot be done now.
pub fn now(reason: &str, message: &str, hint: &str) -> Error {
    error(ErrorCode::INVALID_REQUEST, reason, message, hint)
}

/// There is no such conversation here.
pub fn no_session(id: &str) -> Error {
    let mut error = Error::from(schema::Error::session_not_found(id.to_owned()));
    error.message = format!("there is no conversation `{id}` here");
    let hint = "open it with session/load, or list the conversations with session/list";
    error.data(json!({"sessionId": id, "reason": "session_missing", "hint": hint}))
}

/// A part of Verger could not do its work.
pub fn failed(reason: &str, message: &str, hint: &str) -> Error {
    error(ErrorCode::INTERNAL_ERROR, reason, message, hint)
}

/// A refusal.
pub fn refusal(refusal: &Refusal) -> Error {
    now(&refusal.reason, &refusal.message, &refusal.hint)
}

/// A failure of the command line's own parts.
pub fn failure(failure: &Failure) -> Error {
    refusal(&failure.refusal)
}

/// What keeps a conversation from being led.
pub fn trouble(trouble: &Trouble) -> Error {
    match trouble {
        Trouble::Refused(refused) => refusal(refused),
        Trouble::State(state::Error::Missing { wanted, .. }) => no_session(wanted),
        Trouble::State(error) => failed(error.code(), &error.to_string(), &error.hint()),
        other => failed("conversation", &other.to_string(), &other.hint()),
    }
}

fn error(code: ErrorCode, reason: &str, message: &str, hint: &str) -> Error {
    // Clients show the message and rarely the data.
    let text = if hint.is_empty() { message.to_owned() } else { format!("{message}; {hint}") };
    Error::new(code, text).data(json!({"reason": reason, "message": message, "hint": hint}))
}
