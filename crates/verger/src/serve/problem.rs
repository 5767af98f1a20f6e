//! How a request ends that does not end well: a status and the words of a refusal, as JSON. Nothing of a note is in them
//! that the refusal did not say.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pipeline::Refusal;

use crate::failure::Failure;

/// Why a request stops.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    refusal: Box<Refusal>,
}

impl Problem {
    /// A problem with a message and what to do about it.
    pub fn new(
        status: StatusCode,
        reason: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        Problem { status, refusal: Box::new(Refusal::new(reason, message, hint)) }
    }

    /// A request that does not make sense.
    pub fn bad(message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "request_invalid", message, hint)
    }

    /// Nothing of that name.
    pub fn not_found(message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not_found", message, hint)
    }

    /// Something of ours broke.
    pub fn broken() -> Problem {
        let hint = "try again; if it stays, start verger again";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "something broke inside", hint)
    }

    /// What happened and what to do about it.
    pub fn words(&self) -> String {
        format!("{}; {}", self.refusal.message, self.refusal.hint)
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.refusal.message
    }

    /// What to do.
    pub fn hint(&self) -> &str {
        &self.refusal.hint
    }

    /// The refusal's word for it.
    pub fn reason(&self) -> &str {
        &self.refusal.reason
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}. {}", self.refusal.message, self.refusal.hint)
    }
}

/// The status that fits a refusal.
fn status(reason: &str) -> StatusCode {
    match reason {
        "denied" | "ignored" | "protected" | "read_only" => StatusCode::FORBIDDEN,
        "stale" | "restore_conflict" | "exists" | "turn_runs" | "no_model" | "session_busy" => {
            StatusCode::CONFLICT
        }
        reason
            if reason.ends_with("not_found")
                || reason.ends_with("_missing")
                || reason.ends_with("unknown") =>
        {
            StatusCode::NOT_FOUND
        }
        "internal" | "io" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, axum::Json(serde_json::json!({ "error": self.refusal }))).into_response()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        Problem { status: status(&refusal.reason), refusal: Box::new(refusal) }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        Problem::from(*failure.refusal)
    }
}

impl From<vault::Error> for Problem {
    fn from(error: vault::Error) -> Problem {
        Problem::from(Refusal::from(error))
    }
}

impl From<state::Error> for Problem {
    fn from(error: state::Error) -> Problem {
        Problem::from(Failure::from(error))
    }
}

impl From<agent::Trouble> for Problem {
    fn from(trouble: agent::Trouble) -> Problem {
        match trouble {
            agent::Trouble::State(error) => Problem::from(error),
            other => Problem::from(Failure::from(other)),
        }
    }
}
