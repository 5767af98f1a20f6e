//! One line from a client: a message for the SDK, an answer that is given at once, or nothing.
//!
//! The SDK passes over lines that are no JSON in silence; a client that made a mistake would wait for ever. Here every
//! line that asks for an answer gets one. No state, no I/O: `stdio.rs` reads the lines and writes the answers.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, JsonRpcRequest, RequestId,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// The line is no JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The line is JSON but no request.
pub const INVALID_REQUEST: i64 = -32600;

/// The message is a request, but what it asks with does not fit.
pub const INVALID_PARAMS: i64 = -32602;
/// From here on only a tool call has reason to be so large; nothing else is taken into memory.
const LARGE: usize = 1024 * 1024;

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
    if line.len() > LARGE
        && let Some(head) = Head::read(line)
        && head.method.as_deref() != Some("tools/call")
    {
        return refuse_large(head);
    }
    if let Some(call) = PlainCall::read(line) {
        return Frame::Message(Box::new(call));
    }
    match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => judge_object(object),
        Ok(_) => invalid(None, "a message is one JSON object"),
        Err(error) => unreadable(line, &error),
    }
}

/// What is read of a message that is not read whole. The rest is only looked at, however large or deep it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    id: Option<Value>,
    method: Option<String>,
}

impl Head {
    fn read(line: &[u8]) -> Option<Head> {
        let mut head: Head = serde_json::from_slice(line).ok()?;
        head.id = head.id.filter(is_usable);
        Some(head)
    }
}

fn refuse_large(head: Head) -> Frame {
    match head.id {
        Some(id) => invalid_params(id, "only a tool call may be larger than 1 MiB"),
        None => Frame::Nothing,
    }
}

/// A line that cannot be read. JSON that is only too deep, or that holds half a character, still says who asks.
fn unreadable(line: &[u8], error: &serde_json::Error) -> Frame {
    match Head::read(line).and_then(|head| head.id) {
        Some(id) => invalid(Some(id), &error.to_string()),
        None => Frame::Answer(error_answer(None, PARSE_ERROR, &format!("Parse error: {error}"))),
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
        (Err(error), Some(id)) => invalid_params(id, &error.to_string()),
        (Err(_), None) => Frame::Nothing,
    }
}

/// A tool call with nothing but a name and arguments, the most frequent message by far, read in one go. The SDK finds out what
/// a message is by trying one kind after the other on a copy of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainCall<'l> {
    #[serde(borrow)]
    jsonrpc: Cow<'l, str>,
    id: Value,
    #[serde(borrow)]
    method: Cow<'l, str>,
    params: PlainParams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainParams {
    name: String,
    #[serde(default, deserialize_with = "present")]
    arguments: Option<Map<String, Value>>,
}

/// What is `null` is not left out: whoever reads the message thoroughly shall say what is wrong with it.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Map<String, Value>>, D::Error> {
    Map::deserialize(deserializer).map(Some)
}

impl PlainCall<'_> {
    /// Reads a line that is such a call; whatever else it is, somebody else must say.
    fn read(line: &[u8]) -> Option<ClientJsonRpcMessage> {
        let PlainCall { jsonrpc, id, method, params } = serde_json::from_slice(line).ok()?;
        if jsonrpc != "2.0" || method != "tools/call" {
            return None;
        }
        let id = match id {
            Value::String(id) => RequestId::String(id.into()),
            id => RequestId::Number(id.as_i64()?),
        };
        let mut call = CallToolRequestParams::new(params.name);
        call.arguments = params.arguments;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        Some(ClientJsonRpcMessage::Request(JsonRpcRequest::new(id, request)))
    }
}

fn invalid(id: Option<Value>, why: &str) -> Frame {
    Frame::Answer(error_answer(id, INVALID_REQUEST, &format!("Invalid request: {why}")))
}

fn invalid_params(id: Value, why: &str) -> Frame {
    Frame::Answer(error_answer(Some(id), INVALID_PARAMS, &format!("Invalid params: {why}")))
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
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\",\"params\":{\"x\":1}}", "Request");
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}", "1 -32602");
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\\ud800\"}}",
            "1 -32600",
        );
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
    fn a_plain_call_is_what_the_sdk_would_have_read() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,{"y":null}]}}}"#,
            r#"{"jsonrpc":"2.0","id":"one","method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}"#,
            r#"{"method":"tools\u002fcall","params":{"arguments":{"k":"\u00e9\n","k":2},"name":"\"é"},"id":0,"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":-7,"method":"tools/call","params":{"name":"a","arguments":{},"requestState":"s"}}"#,
        ] {
            let Frame::Message(ours) = judge(line.as_bytes()) else { panic!("{line}") };
            let theirs: ClientJsonRpcMessage = serde_json::from_str(line).unwrap();
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{line}");
        }
    }

    #[test]
    fn only_a_tool_call_may_be_large_and_depth_breaks_nothing() {
        let large = |method: &str| {
            let filling = "x".repeat(LARGE);
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{\"name\":\"{filling}\"}}}}"
            )
        };
        check(&large("tools/call"), "Request");
        check(&large("ping"), "1 -32602");
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{deep}}}"), "1 -32600");
    }

    #[test]
    fn bytes_that_are_no_text_are_no_message() {
        for bytes in [&b"\xff\xfe{\0"[..], b"\xed\xa0\x80", b"\x16\x03\x01\x02\0"] {
            assert!(matches!(judge(bytes), Frame::Answer(_)), "{bytes:?}");
        }
    }
}
