//! What went wrong, in OpenAI's envelope: `{"error": {"message", "type", "param", "code"}}`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::serve::problem::Problem;
use crate::serve::tokens::Unwelcome;

/// What went wrong.
#[derive(Debug)]
pub struct Fault {
    status: StatusCode,
    message: String,
    param: Option<&'static str>,
    code: Option<String>,
}

impl Fault {
    fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Fault {
        Fault { status, message: message.into(), param: None, code: Some(code.to_owned()) }
    }

    /// A request that does not make sense, or asks for what there is not.
    pub fn bad(param: &'static str, message: impl Into<String>) -> Fault {
        let code = if message_is_unsupported(param) { "unsupported_parameter" } else { "invalid_value" };
        Fault { param: Some(param), ..Fault::new(StatusCode::BAD_REQUEST, code, message) }
    }

    /// There is no such model.
    pub fn no_model(name: &str) -> Fault {
        let name: String = name.chars().take(100).collect();
        let message = format!("there is no model `{name}`; GET /v1/models lists them");
        Fault { param: Some("model"), ..Fault::new(StatusCode::NOT_FOUND, "model_not_found", message) }
    }

    /// The token does not reach that far.
    pub fn short() -> Fault {
        let message = "this token may not chat; make one that may: verger serve --new-token NAME --may chat";
        Fault::new(StatusCode::FORBIDDEN, "token_short", message)
    }

    /// Nothing lies at this address.
    pub fn nothing_here() -> Fault {
        let message = "there is nothing here; there are /v1/models and /v1/chat/completions";
        Fault::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// As many turns run as may.
    pub fn busy() -> Fault {
        let message = "as many answers are written as may at once; try again in a moment";
        Fault::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", message)
    }

    /// The model behind the agent could not be asked.
    pub fn upstream(why: &str, hint: &str) -> Fault {
        let message = format!("{}; {hint}", why.trim_end_matches('.'));
        Fault::new(StatusCode::BAD_GATEWAY, "model_failed", message)
    }

    /// The body.
    pub fn envelope(&self) -> Value {
        let kind = match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "error": { "message": self.message, "type": kind, "param": self.param, "code": self.code } })
    }
}

/// Which fields are known and not honoured.
fn message_is_unsupported(param: &str) -> bool {
    matches!(param, "tools" | "functions" | "n" | "response_format" | "audio" | "modalities")
}

impl From<Unwelcome> for Fault {
    fn from(why: Unwelcome) -> Fault {
        let (status, code, message) = match why {
            Unwelcome::Missing => (
                StatusCode::UNAUTHORIZED,
                "invalid_api_key",
                "no token came; send `Authorization: Bearer TOKEN`, with one that `verger serve --new-token NAME --may chat` made",
            ),
            Unwelcome::Wrong => (
                StatusCode::UNAUTHORIZED,
                "invalid_api_key",
                "the token is none of this server, or was revoked",
            ),
            Unwelcome::Wait => (
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limit_exceeded",
                "too many wrong tokens came within a minute; wait a minute",
            ),
            Unwelcome::Broken => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "the tokens cannot be read; `verger doctor` looks into it",
            ),
        };
        Fault::new(status, code, message)
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Fault {
        let message = format!("{}; {}", problem.message(), problem.hint());
        Fault::new(problem.status(), problem.reason(), message)
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Fault {
        let fault = Fault::from(Problem::from(failure));
        // A caller cannot mend what is not set up here.
        let ours = matches!(fault.code.as_deref(), Some("no_model" | "no_key"));
        if ours { Fault { status: StatusCode::SERVICE_UNAVAILABLE, ..fault } } else { fault }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut answer = (self.status, Json(self.envelope())).into_response();
        let headers = answer.headers_mut();
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"verger\""));
            }
            StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
            }
            _ => {}
        }
        answer
    }
}
