//! stdin and stdout as the SDK's transport: one message a line, bounded, every mistake answered, nothing echoed.
//!
//! Two threads of our own, because the SDK's line reader has no limit and sends a broken line back to whoever sent it.
//! Deliberately not here: what a message means (`hall.rs`).

use std::io::{self, BufRead, BufReader};
use std::sync::Arc;
use std::thread;

use agent_client_protocol::{Channel, ErrorCode, TransportFrame};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::mcp::stdio::{KEPT, LONGEST, Line, read_line, write_message};

/// The client at the other end of stdin and stdout.
pub struct Wire {
    /// What the SDK reads from and writes to.
    pub channel: Channel,
    /// Told when nobody reads stdout any more.
    pub gone: Arc<Notify>,
    /// Comes when everything that was said is written.
    pub written: oneshot::Receiver<()>,
}

impl Wire {
    /// Starts to read and to write.
    pub fn start(handle: Handle) -> io::Result<Wire> {
        let (ours, channel) = Channel::duplex();
        let (mut said, hand_on) = ours.into_parts();
        let gone = Arc::new(Notify::new());
        let (done, written) = oneshot::channel();
        // Left to itself: it ends with stdin or with the process.
        thread::Builder::new().name("acp-stdin".to_owned()).spawn(move || {
            let input = BufReader::with_capacity(KEPT, io::stdin());
            read_all(
                input,
                |frame| hand_on.unbounded_send(frame).is_ok(),
                |answer| write_message(answer).is_ok(),
            );
        })?;
        let notify = Arc::clone(&gone);
        // A thread, not a task: a client that does not read must not hold up a worker.
        thread::Builder::new().name("acp-stdout".to_owned()).spawn(move || {
            while let Ok(frame) = handle.block_on(said.recv()) {
                if !write(&frame) {
                    notify.notify_one();
                    break;
                }
            }
            // Nobody waits any more when the process is told to end at once.
            let _ = done.send(());
        })?;
        Ok(Wire { channel, gone, written })
    }
}

fn write(frame: &TransportFrame) -> bool {
    match frame {
        TransportFrame::Single(message) => write_message(message).is_ok(),
        _ => true,
    }
}

/// Reads until the end, or until nobody listens any more.
fn read_all(
    mut input: impl BufRead,
    hand_on: impl Fn(TransportFrame) -> bool,
    answer: impl Fn(&Value) -> bool,
) {
    let mut line = Vec::new();
    loop {
        let goes_on = match read_line(&mut input, &mut line) {
            Ok(Line::End) | Err(_) => return,
            Ok(Line::TooLong) => answer(&too_long()),
            Ok(Line::Whole) => match judge(&line) {
                Judged::Message(frame) => hand_on(frame),
                Judged::Answer(mistake) => answer(&mistake),
                Judged::Nothing => true,
            },
        };
        if !goes_on {
            return;
        }
    }
}

/// What a line is.
#[derive(Debug)]
enum Judged {
    /// A message for the SDK.
    Message(TransportFrame),
    /// A mistake, and what to answer.
    Answer(Value),
    /// A blank line, or an answer that nobody can read, which JSON-RPC leaves alone.
    Nothing,
}

fn judge(line: &[u8]) -> Judged {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Judged::Nothing;
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return Judged::Answer(mistake(None, ErrorCode::PARSE_ERROR, "the line is not UTF-8"));
    };
    match TransportFrame::parse_json(text) {
        TransportFrame::Malformed { error, .. } => malformed(text, error.code),
        frame => Judged::Message(frame),
    }
}

/// What is read of a message that is not understood; the rest is only looked at, however large or deep it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    id: Option<Value>,
    method: Option<serde::de::IgnoredAny>,
    result: Option<serde::de::IgnoredAny>,
    error: Option<serde::de::IgnoredAny>,
}

fn malformed(text: &str, code: ErrorCode) -> Judged {
    let head: Head = serde_json::from_str(text).unwrap_or_default();
    if head.method.is_none() && (head.result.is_some() || head.error.is_some()) {
        return Judged::Nothing;
    }
    let why = match code {
        ErrorCode::PARSE_ERROR => "the line is no JSON that can be read; send one JSON object a line",
        _ => "the line is no JSON-RPC message; send an object with jsonrpc \"2.0\", an id and a method",
    };
    let id = head.id.filter(|id| id.is_string() || id.is_i64());
    Judged::Answer(mistake(id, code, why))
}

fn too_long() -> Value {
    let limit = LONGEST / (1024 * 1024);
    mistake(None, ErrorCode::INVALID_REQUEST, &format!("a line has at most {limit} MiB"))
}

fn mistake(id: Option<Value>, code: ErrorCode, why: &str) -> Value {
    let code = i32::from(code);
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}"#;

    #[track_caller]
    fn check(input: &[u8], expected: &[&str]) {
        let seen = RefCell::new(Vec::new());
        read_all(
            input,
            |_| {
                seen.borrow_mut().push("message".to_owned());
                true
            },
            |answer| {
                seen.borrow_mut().push(format!("{} {}", answer["id"], answer["error"]["code"]));
                true
            },
        );
        assert_eq!(*seen.borrow(), expected);
    }

    #[test]
    fn every_broken_line_is_answered_and_what_follows_is_read() {
        let deep = format!("{{\"id\":7,\"method\":{}1{}}}", "[".repeat(300), "]".repeat(300));
        let text = format!("{PING}\ngarbage\n\n\r\n[{PING}]\n{{\"id\":\"a\"}}\n{deep}\n17\n{PING}");
        let expected =
            ["message", "null -32700", "null -32600", "\"a\" -32600", "7 -32700", "null -32600", "message"];
        check(text.as_bytes(), &expected);
    }

    #[test]
    fn bytes_that_are_no_text_are_answered() {
        check(b"\xff\xfe{}\n", &["null -32700"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let mut text = vec![b'x'; LONGEST + 10];
        text.push(b'\n');
        text.extend_from_slice(PING.as_bytes());
        check(&text, &["null -32600", "message"]);
    }
}
