//! stdin and stdout as the SDK's transport: one message a line, bounded, and every mistake answered.
//!
//! Threads of our own read and judge the lines (`desk.rs`), so that a large one holds up nobody; plain calls are run there,
//! other good messages go on to the SDK in order. Deliberately not here: what a line means (`frame.rs`).

use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::Transport;
use serde::Serialize;
use tokio::sync::{Notify, mpsc};

use super::desk::Desk;
use super::frame::{self, Frame, INVALID_REQUEST};
use super::short::Short;

/// The longest line that is read.
pub(crate) const LONGEST: usize = 32 * 1024 * 1024;
/// Messages that may wait; then the client waits, too.
const WAITING: usize = 4;
/// How much of a line's memory is kept for the next one.
pub(crate) const KEPT: usize = 64 * 1024;
/// By how much the memory of a large line grows; doubling would take up to twice of what it needs.
const STEP: usize = 4 * 1024 * 1024;

/// Whether a tool changes something.
pub type IsEdit = Box<dyn Fn(&str) -> bool + Send>;

/// The client at the other end of stdin and stdout.
pub struct Stdio {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    /// Whether client and server have come together. The SDK gives up when anything but a request comes before.
    open: bool,
    /// Told when stdout is gone.
    gone: Arc<Notify>,
}

impl Stdio {
    /// Starts to read.
    pub fn start(is_edit: IsEdit, short: Short) -> io::Result<Stdio> {
        let (sender, incoming) = mpsc::channel(WAITING);
        let gone = Arc::<Notify>::default();
        let input = BufReader::with_capacity(KEPT, io::stdin());
        Desk::new(input, is_edit, sender, short, Arc::clone(&gone)).hire()?;
        Ok(Stdio { incoming, open: false, gone })
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.open |= opens(&message);
        let gone = Arc::clone(&self.gone);
        async move {
            // A client that does not read must not stop the others' work.
            let written = tokio::task::spawn_blocking(move || write_message(&message)).await;
            let written = written.unwrap_or_else(|error| Err(io::Error::other(error)));
            if written.is_err() {
                gone.notify_one();
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = tokio::select! {
                message = self.incoming.recv() => message?,
                () = self.gone.notified() => return None,
            };
            if self.open || matches!(message, JsonRpcMessage::Request(_)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.incoming.close();
        Ok(())
    }
}

/// Whether this answer shows that client and server have come together: anything but a ping or a first look.
fn opens(message: &ServerJsonRpcMessage) -> bool {
    match message {
        JsonRpcMessage::Response(response) => {
            !matches!(response.result, ServerResult::EmptyResult(_) | ServerResult::DiscoverResult(_))
        }
        _ => false,
    }
}

/// A message as one line.
pub fn write_message(message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    write_line(&line)
}

/// One line, whole or not at all among the others.
pub fn write_line(line: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line)?;
    out.flush()
}

/// Reads one line and says what it is; none at the end. `line` is memory to read into.
pub fn read_frame(input: &mut impl BufRead, line: &mut Vec<u8>) -> Option<Frame> {
    match read_line(input, line) {
        Ok(Line::End) | Err(_) => None,
        Ok(Line::TooLong) => Some(Frame::Answer(too_long())),
        Ok(Line::Whole) => Some(frame::judge(line)),
    }
}

fn too_long() -> serde_json::Value {
    let limit = LONGEST / (1024 * 1024);
    frame::error_answer(None, INVALID_REQUEST, &format!("Invalid request: a line has at most {limit} MiB"))
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, whole.
    Whole,
    /// A line that is too long.
    TooLong,
    /// Nothing more.
    End,
}

/// Reads one line, however it ends; of one that is too long nothing is kept.
pub(crate) fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    line.shrink_to(KEPT);
    let mut read = Line::End;
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(read);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |at| at + 1);
        if read == Line::TooLong || line.len() + taken > LONGEST {
            read = Line::TooLong;
            *line = Vec::new();
        } else {
            read = Line::Whole;
            if line.len() + taken > line.capacity() && line.len() > STEP {
                line.reserve_exact(STEP);
            }
            line.extend_from_slice(&available[..taken]);
        }
        input.consume(taken);
        if end.is_some() {
            return Ok(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mut input: impl BufRead, expected: &[&str]) {
        let (mut seen, mut line) = (Vec::new(), Vec::new());
        while let Some(frame) = read_frame(&mut input, &mut line) {
            match frame {
                Frame::Message(_) => seen.push("message".to_owned()),
                Frame::Answer(answer) => seen.push(answer["error"]["code"].to_string()),
                Frame::Nothing => {}
            }
        }
        assert_eq!(seen, expected);
    }

    const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

    #[test]
    fn garbage_is_answered_and_what_follows_is_read() {
        let text = format!("{PING}\ngarbage\n\n\r\n{PING}\n{{}}\n{PING}");
        check(text.as_bytes(), &["message", "-32700", "message", "-32600", "message"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let mut text = vec![b'x'; LONGEST + 10];
        text.push(b'\n');
        text.extend_from_slice(PING.as_bytes());
        check(&text[..], &["-32600", "message"]);
    }
}
