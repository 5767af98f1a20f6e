//! What a service says when it cannot answer, in all dialects, and which reason it is.
//!
//! The same words come with a status before an answer and inside of one. Deliberately not here: whether to try again.

use std::time::Duration;

use serde_json::Value;

use crate::Error;
use crate::http::{one_line, reason};

/// How long to leave a service alone that does not say.
const PAUSE: Duration = Duration::from_secs(1);

/// What a service said.
#[derive(Debug, Default)]
struct Said {
    status: u16,
    /// Every word by which it names the kind: `code`, `type`, `status` …
    kinds: Vec<String>,
    message: String,
    wait: Option<Duration>,
}

/// The error for an answer with this status and body.
pub(crate) fn of_status(service: &str, status: u16, body: &[u8], wait: Option<Duration>) -> Error {
    if (300..400).contains(&status) {
        let message = "it sends us elsewhere, and we do not follow".to_owned();
        return Error::NotFound { service: service.to_owned(), status, message };
    }
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut said = read(&json);
    if said.message.is_empty() {
        said.message = one_line(&String::from_utf8_lossy(body));
    }
    if said.message.is_empty() {
        reason(status).clone_into(&mut said.message);
    }
    said.status = status;
    said.wait = wait.or(said.wait);
    said.error(service)
}

/// The error that stands in this piece of an answer, if there is one.
pub(crate) fn inside(service: &str, json: &Value) -> Option<Error> {
    let is_error = json.get("error").is_some_and(|error| !error.is_null())
        || json.get("object").and_then(Value::as_str) == Some("error")
        || json.get("type").and_then(Value::as_str) == Some("error");
    is_error.then(|| of_words(service, json))
}

/// The error that these words mean.
pub(crate) fn of_words(service: &str, json: &Value) -> Error {
    let mut said = read(json);
    if said.message.is_empty() {
        said.message = said.kinds.first().cloned().unwrap_or_else(|| "no reason given".to_owned());
    }
    // What a service says in the middle of an answer is its own trouble, unless it says otherwise.
    if said.status == 0 {
        said.status = match () {
            () if said.asked_wrongly() => 400,
            () if said.is(&["overloaded_error"]) => 529,
            () => 500,
        };
    }
    said.error(service)
}

fn read(json: &Value) -> Said {
    // Gemini puts its errors into a list when it streams plain JSON.
    let json = json.as_array().and_then(|list| list.first()).unwrap_or(json);
    let error = json.get("error").filter(|error| !error.is_null()).unwrap_or(json);
    let mut said = Said::default();
    if let Some(text) = error.as_str() {
        said.message = one_line(text);
        return said;
    }
    for place in ["/message", "/detail", "/msg", "/error/message"] {
        if let Some(text) = error.pointer(place).and_then(Value::as_str) {
            said.message = one_line(text);
            break;
        }
    }
    for place in ["/code", "/type", "/status", "/metadata/error_type", "/innererror/code"] {
        match error.pointer(place) {
            Some(Value::String(kind)) => said.kinds.push(kind.to_lowercase()),
            Some(Value::Number(number)) => {
                said.status = number.as_u64().and_then(|number| u16::try_from(number).ok()).unwrap_or(0);
            }
            _ => {}
        }
    }
    said.wait = error.get("details").and_then(Value::as_array).and_then(|details| retry_delay(details));
    said
}

/// Google's way to say how long: `"retryDelay": "34s"`.
fn retry_delay(details: &[Value]) -> Option<Duration> {
    let text = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(86_400.0)))
}

impl Said {
    fn is(&self, kinds: &[&str]) -> bool {
        self.kinds.iter().any(|kind| kinds.contains(&kind.as_str()))
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    }

    fn asked_wrongly(&self) -> bool {
        self.is(&["invalid_request_error", "invalid_request", "invalid_argument", "badrequesterror"])
    }

    fn too_long(&self) -> bool {
        let kinds = [
            "context_length_exceeded",
            "exceed_context_size_error",
            "token_limit_exceeded",
            "max_tokens_exceeded",
            "request_too_large",
        ];
        let words = [
            "context length",
            "context window",
            "context size",
            "maximum context",
            "prompt is too long",
            "input is too long",
            "exceed context limit",
            "exceeds max length",
            "maximum prompt length",
            "input token count",
            "too many input tokens",
            "reduce the length of the messages",
        ];
        // With 429 it is the number of tokens in a minute that is meant.
        self.status != 429 && (self.is(&kinds) || self.says(&words))
    }

    fn no_tools(&self) -> bool {
        self.says(&[
            "does not support tool",
            "not support tools",
            "that support tool use",
            "tool use is not supported",
            "tools are not supported",
            "tools is not supported",
            "`tools` is not supported",
            "'tools' is not supported",
            "tool calling is not supported",
            "tool calls are not supported",
            "does not support function calling",
            "function calling is not enabled",
            "function calling is not supported",
            "--enable-auto-tool-choice",
            "tools param requires",
        ])
    }

    fn refused(&self) -> bool {
        self.is(&[
            "content_policy_violation",
            "content_filter",
            "responsibleaipolicyviolation",
            "refusal",
            "invalid_prompt",
            "bio_policy",
            "cyber_policy",
            "misalignment_policy_violation",
        ])
    }

    fn error(self, service: &str) -> Error {
        let service = service.to_owned();
        let status = self.status;
        let auth = ["authentication_error", "permission_error", "authentication", "permission_denied"];
        let auth_too = ["unauthenticated", "invalid_api_key"];
        let busy = ["overloaded_error", "api_error", "server_error", "provider_overloaded", "timeout_error"];
        let busy_too = ["provider_unavailable", "timeout", "server", "unavailable", "internal"];
        let rate = ["rate_limit_error", "rate_limit_exceeded", "resource_exhausted"];
        let means = ["insufficient_quota", "billing_error", "payment_required"];
        let missing = ["not_found_error", "model_not_found", "not_found"];
        let message = self.message.clone();
        if self.too_long() {
            Error::ContextFull { service, message }
        } else if self.no_tools() {
            Error::NoTools { service, message }
        } else if status == 402 || self.is(&means) || self.says(&["credit balance is too low"]) {
            Error::Quota { service, message }
        } else if self.refused() {
            Error::Refused { service, message }
        } else if matches!(status, 401 | 403)
            || self.is(&auth)
            || self.is(&auth_too)
            || self.says(&["api key not valid"])
        {
            Error::Auth { service, status, message }
        } else if status == 429 || self.is(&rate) {
            Error::RateLimit { service, message, wait: self.wait.unwrap_or(PAUSE) }
        } else if matches!(status, 404 | 405) || self.is(&missing) {
            Error::NotFound { service, status, message }
        } else if matches!(status, 408 | 409 | 500..) || self.is(&busy) || self.is(&busy_too) {
            Error::Overloaded { service, status, message }
        } else {
            Error::BadRequest { service, status, message }
        }
    }
}

/// An answer that ended before its end.
pub(super) fn cut(service: &str, message: &str) -> Error {
    Error::Cut { service: service.to_owned(), message: message.to_owned() }
}

/// The JSON of a frame.
pub(super) fn json(service: &str, text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| Error::Answer {
        service: service.to_owned(),
        message: format!("a piece of it is not JSON ({error})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(error: &Error) -> &'static str {
        match error {
            Error::Auth { .. } => "auth",
            Error::RateLimit { .. } => "rate",
            Error::Overloaded { .. } => "busy",
            Error::NotFound { .. } => "missing",
            Error::BadRequest { .. } => "bad",
            Error::ContextFull { .. } => "long",
            Error::Refused { .. } => "refused",
            Error::NoTools { .. } => "no tools",
            Error::Quota { .. } => "quota",
            _ => "other",
        }
    }

    #[test]
    fn every_service_s_words_mean_a_reason() {
        let openai = |code: &str| json!({"error": {"message": "m", "type": "t", "code": code}});
        let anthropic = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "m"}});
        let google = |status: &str| json!({"error": {"code": 400, "status": status, "message": "m"}});
        for (status, body, is) in [
            (401, openai("invalid_api_key"), "auth"),
            (404, openai("model_not_found"), "missing"),
            (429, openai("rate_limit_exceeded"), "rate"),
            (429, openai("insufficient_quota"), "quota"),
            (400, openai("context_length_exceeded"), "long"),
            (400, openai("content_filter"), "refused"),
            (400, openai("unsupported_parameter"), "bad"),
            (402, anthropic("billing_error"), "quota"),
            (413, anthropic("request_too_large"), "long"),
            (529, anthropic("overloaded_error"), "busy"),
            (409, anthropic("conflict_error"), "busy"),
            (408, json!(null), "busy"),
            (403, google("PERMISSION_DENIED"), "auth"),
            (
                400,
                json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}),
                "auth",
            ),
            (503, google("UNAVAILABLE"), "busy"),
            (429, google("RESOURCE_EXHAUSTED"), "rate"),
            (400, json!([google("INVALID_ARGUMENT")]), "bad"),
            (400, json!({"error": "registry.ollama.ai/library/x does not support tools"}), "no tools"),
            (
                404,
                json!({"error": {"code": 404, "message": "No endpoints found that support tool use."}}),
                "no tools",
            ),
            (404, json!({"error": "model 'x' not found"}), "missing"),
            (
                403,
                json!({"error": {"code": 403, "message": "m", "metadata": {"error_type": "content_policy_violation"}}}),
                "refused",
            ),
            (
                400,
                json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "m"}}),
                "long",
            ),
            (
                400,
                json!({"error": {"message": "input length and `max_tokens` exceed context limit: 9 + 2 > 10"}}),
                "long",
            ),
            (400, json!({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}), "long"),
            (429, json!({"error": {"message": "exceeds the context window per minute"}}), "rate"),
            (422, json!({"detail": "m"}), "bad"),
            (307, json!(null), "missing"),
        ] {
            let error = of_status("s", status, body.to_string().as_bytes(), None);
            assert_eq!(kind(&error), is, "{status} {body}");
        }
    }

    #[test]
    fn an_error_inside_an_answer_is_found_and_an_ordinary_piece_is_none() {
        for (piece, is) in [
            (json!({"error": {"message": "m", "type": "server_error"}}), "busy"),
            (json!({"error": {"code": 502, "message": "m"}, "choices": []}), "busy"),
            (json!({"error": {"code": 429, "message": "m"}}), "rate"),
            (json!({"error": "boom"}), "busy"),
            (json!({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}), "busy"),
            (json!({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}}), "bad"),
            (json!({"type": "error", "code": "rate_limit_exceeded", "message": "m"}), "rate"),
            (json!({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}), "bad"),
        ] {
            assert_eq!(kind(&inside("s", &piece).unwrap()), is, "{piece}");
        }
        for piece in [json!({"choices": [], "error": null}), json!({}), json!([]), json!("x")] {
            assert_eq!(inside("s", &piece), None, "{piece}");
        }
    }

    #[test]
    fn google_says_how_long_in_the_body() {
        let body = json!({"error": {"code": 429, "message": "m", "details": [{"@type": "x"}, {"retryDelay": "34.5s"}]}});
        let error = of_status("s", 429, body.to_string().as_bytes(), None);
        assert!(matches!(error, Error::RateLimit { wait, .. } if wait == Duration::from_millis(34_500)));
    }

    #[test]
    fn a_body_that_is_no_json_is_quoted_short() {
        let error = of_status("s", 502, "<html>\nbad   gateway".as_bytes(), None);
        assert_eq!(error.to_string(), "s cannot answer now (502): <html> bad gateway");
        assert!(of_status("s", 500, b"", None).to_string().ends_with("Internal Server Error"));
    }
}
