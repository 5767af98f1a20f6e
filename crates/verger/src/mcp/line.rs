//! The answer to a tool call as the line that goes to the client.
//!
//! It says what the SDK's own types would say (`a_line_is_what_the_sdk_would_have_written`), without a tree in between and
//! with an eye for what answers are made of: long texts in which little needs escaping. Called by `short.rs`.

use std::io::Write as _;

use rmcp::model::{CallToolResult, ContentBlock, RequestId, ServerJsonRpcMessage};
use serde_json::Value;

/// The line of a result, for a client that began with `initialize`: those know no `resultType`.
pub fn of_result(id: &RequestId, result: &CallToolResult) -> Vec<u8> {
    let texts = result.content.iter().filter_map(ContentBlock::as_text).map(|text| text.text.len());
    let mut line = Vec::with_capacity(2 * texts.sum::<usize>() + 1024);
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    match id {
        RequestId::Number(number) => number_into(&mut line, *number),
        RequestId::String(text) => text_into(&mut line, text),
    }
    line.extend_from_slice(b",\"result\":{\"content\":[");
    for (index, block) in result.content.iter().enumerate() {
        if index > 0 {
            line.push(b',');
        }
        block_into(&mut line, block);
    }
    line.push(b']');
    if let Some(data) = &result.structured_content {
        line.extend_from_slice(b",\"structuredContent\":");
        value_into(&mut line, data);
    }
    if let Some(is_error) = result.is_error {
        line.extend_from_slice(b",\"isError\":");
        line.extend_from_slice(if is_error { b"true" } else { b"false" });
    }
    if let Some(meta) = &result.meta {
        line.extend_from_slice(b",\"_meta\":");
        object_into(&mut line, &meta.0);
    }
    line.extend_from_slice(b"}}\n");
    line
}

/// The line of any message.
pub fn of_message(message: &ServerJsonRpcMessage) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

fn block_into(line: &mut Vec<u8>, block: &ContentBlock) {
    match block {
        ContentBlock::Text(text) if text.meta.is_none() && text.annotations.is_none() => {
            line.extend_from_slice(b"{\"type\":\"text\",\"text\":");
            text_into(line, &text.text);
            line.push(b'}');
        }
        // Writing into memory does not fail, and these types have no keys that are no text.
        other => serde_json::to_writer(line, other).unwrap_or_default(),
    }
}

fn value_into(line: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => line.extend_from_slice(b"null"),
        Value::Bool(true) => line.extend_from_slice(b"true"),
        Value::Bool(false) => line.extend_from_slice(b"false"),
        Value::Number(number) => serde_json::to_writer(line, number).unwrap_or_default(),
        Value::String(text) => text_into(line, text),
        Value::Array(list) => {
            line.push(b'[');
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    line.push(b',');
                }
                value_into(line, item);
            }
            line.push(b']');
        }
        Value::Object(map) => object_into(line, map),
    }
}

fn object_into(line: &mut Vec<u8>, map: &serde_json::Map<String, Value>) {
    line.push(b'{');
    for (index, (key, value)) in map.iter().enumerate() {
        if index > 0 {
            line.push(b',');
        }
        text_into(line, key);
        line.push(b':');
        value_into(line, value);
    }
    line.push(b'}');
}

fn number_into(line: &mut Vec<u8>, number: i64) {
    write!(line, "{number}").unwrap_or_default();
}

fn text_into(line: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    line.push(b'"');
    let mut done = 0;
    while let Some(at) = next_to_escape(bytes, done) {
        line.extend_from_slice(&bytes[done..at]);
        escape_into(line, bytes[at]);
        done = at + 1;
    }
    line.extend_from_slice(&bytes[done..]);
    line.push(b'"');
}

/// The next byte that must be escaped. Eight bytes are looked at together, as one number.
fn next_to_escape(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(piece) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let found = to_escape_in(u64::from_le_bytes(*piece));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let must_escape = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    bytes[at..].iter().position(must_escape).map(|offset| at + offset)
}

/// Sets the highest bit of the lowest byte that must be escaped; of those above it some may be set for nothing.
fn to_escape_in(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGHEST;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\')
}

fn escape_into(line: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'\n' => b'n',
        b'"' => b'"',
        b'\\' => b'\\',
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            line.extend_from_slice(b"\\u00");
            line.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]]);
            return;
        }
    };
    line.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{JsonObject, JsonRpcMessage, MetaObject, ServerResult};
    use serde_json::json;

    #[track_caller]
    fn check(id: RequestId, result: &CallToolResult) {
        let mut theirs = ServerResult::CallToolResult(result.clone());
        theirs.strip_result_type_for_legacy_peer();
        let theirs: ServerJsonRpcMessage = JsonRpcMessage::response(theirs, id.clone());
        let theirs = format!("{}\n", serde_json::to_string(&theirs).unwrap());
        assert_eq!(String::from_utf8(of_result(&id, result)).unwrap(), theirs);
    }

    #[test]
    fn a_line_is_what_the_sdk_would_have_written() {
        let every: String =
            (0..=0x2ff).filter_map(char::from_u32).chain("é😀\u{2028}\u{ffff}".chars()).collect();
        let data = json!({
            "a": [null, true, false, 1, -7, 1.5, 1e300, u64::MAX, i64::MIN, "", every],
            every.clone(): {"": {}, "list": []},
        });
        let mut result = CallToolResult::success(vec![ContentBlock::text(every.clone())]);
        check(RequestId::Number(-3), &result);
        result.content.push(ContentBlock::image("aGk=", "image/png"));
        result.structured_content = Some(data);
        let mut meta = JsonObject::new();
        meta.insert("verger/checkpoint".to_owned(), json!("abc"));
        result.meta = Some(MetaObject(meta));
        check(RequestId::String(every.as_str().into()), &result);
        check(RequestId::Number(i64::MAX), &CallToolResult::error(vec![]));
    }

    #[test]
    fn whatever_must_be_escaped_is_found_at_every_place_of_a_long_text() {
        for place in 0..100 {
            for byte in ["\n", "\"", "\\", "\u{1}", "\u{1f}"] {
                let text = format!("{}{byte}{}", "x".repeat(place), "y".repeat(100 - place));
                let mut line = Vec::new();
                text_into(&mut line, &text);
                assert_eq!(String::from_utf8(line).unwrap(), json!(text).to_string());
            }
        }
    }
}
