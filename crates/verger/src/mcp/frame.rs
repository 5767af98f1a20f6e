//! One line from a client: a message for the SDK, an answer that is given at once, or nothing.
//!
//! The SDK passes over lines that are no JSON in silence; a client that made a mistake would wait for ever. Here every
//! line that asks for an answer gets one. No state, no I/O: `stdio.rs` reads the lines and writes the answers.

use rmcp::model::ClientJsonRpcMessage;
use serde_json::{Map, Value, json};

/// The line is no JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The line is JSON but no request.
pub const INVALID_REQUEST: i64 = -32600;

/// What a line is.
#[derive(Debug)]
pub enum Frame {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// A mistake, and what to answer.
    Answer(Value),
    /// Nothing to do: a blank line, or a notification or answer that nobody understands, which JSON-RPC leaves alone.
    Nothing,
}

/// Says what a line is.
pub fn judge(line: &[u8]) -> Frame {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Frame::Nothing;
    }
    match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => judge_object(object),
        Ok(_) => invalid(None, "a message is one JSON object"),
        Err(error) => Frame::Answer(error_answer(None, PARSE_ERROR, &format!("Parse error: {error}"))),
    }
}

fn judge_object(object: Map<String, Value>) -> Frame {
    let is_request = object.contains_key("id");
    let id = object.get("id").filter(|id| is_usable(id)).cloned();
    let Some(method) = object.get("method") else {
        let is_answer = object.contains_key("result") || object.contains_key("error");
        // An answer to a question of ours, or to none.
        return if is_answer { message(object, None) } else { invalid(id, "there is no `method`") };
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(id, "`jsonrpc` must be \"2.0\"");
    }
    if !method.is_string() {
        return invalid(id, "`method` must be a string");
    }
    match (is_request, id) {
        (true, None) => invalid(None, "`id` must be a string or a whole number"),
        (_, id) => message(object, id),
    }
}

/// Whether the SDK can carry this id back.
fn is_usable(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

fn message(object: Map<String, Value>, id: Option<Value>) -> Frame {
    match (serde_json::from_value(Value::Object(object)), id) {
        (Ok(message), _) => Frame::Message(Box::new(message)),
        (Err(error), Some(id)) => invalid(Some(id), &error.to_string()),
        (Err(_), None) => Frame::Nothing,
    }
}

fn invalid(id: Option<Value>, why: &str) -> Frame {
    Frame::Answer(error_answer(id, INVALID_REQUEST, &format!("Invalid request: {why}")))
}

/// An error as JSON-RPC writes it. Where the id cannot be told it is left out, as MCP's schema asks: its clients do
/// not read `null` there.
pub fn error_answer(id: Option<Value>, code: i64, message: &str) -> Value {
    let mut answer = json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}});
    if let Some(id) = id {
        answer["id"] = id;
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let found = match judge(line.as_bytes()) {
            Frame::Message(message) => format!("{message:?}").split(['(', ' ']).next().unwrap().to_owned(),
            Frame::Answer(answer) => format!("{} {}", answer["id"], answer["error"]["code"]),
            Frame::Nothing => "nothing".to_owned(),
        };
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn every_line_that_asks_for_an_answer_gets_one() {
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "Request");
        check("\u{feff} {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"} \r\n", "Request");
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\",\"params\":[]}", "Request");
        check("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "Notification");
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "Response");
        check("{", "null -32700");
        check("NaN", "null -32700");
        check("{} trailing", "null -32700");
        check(&"[".repeat(100_000), "null -32700");
        check("[]", "null -32600");
        check("null", "null -32600");
        check("{}", "null -32600");
        check("{\"jsonrpc\":\"1.0\",\"id\":3,\"method\":\"ping\"}", "3 -32600");
        check("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":7}", "3 -32600");
        check("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", "null -32600");
        check("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "null -32600");
        check("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "null -32600");
        check("", "nothing");
        check(" \t\r\n", "nothing");
        check("{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":\"text\"}", "nothing");
    }

    #[test]
    fn bytes_that_are_no_text_are_no_message() {
        for bytes in [&b"\xff\xfe{\0"[..], b"\xed\xa0\x80", b"\x16\x03\x01\x02\0"] {
            assert!(matches!(judge(bytes), Frame::Answer(_)), "{bytes:?}");
        }
    }
}
