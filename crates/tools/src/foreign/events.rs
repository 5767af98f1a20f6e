//! Server-sent events, cut out of a stream of bytes. An event is bounded; what has no end is an error.

use std::collections::VecDeque;

/// The most bytes of one event.
const LARGEST: usize = 16 * 1024 * 1024;

/// An event without an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one of its events is larger than {LARGEST} bytes")]
pub struct TooLarge;

/// An event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name; none is `message`.
    pub name: String,
    /// What it carries.
    pub data: Option<String>,
    /// From where the stream can be taken up again.
    pub id: Option<String>,
    /// After how many milliseconds to come back.
    pub retry: Option<u64>,
}

/// Cuts a stream of bytes into events.
#[derive(Debug, Default)]
pub struct Parser {
    waiting: Vec<u8>,
    searched: usize,
    event: Event,
    size: usize,
    ready: VecDeque<Event>,
}

impl Parser {
    /// Takes in the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        self.waiting.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(end) = self.waiting[self.searched..].iter().position(|byte| *byte == b'\n') {
            let end = self.searched + end;
            let line = String::from_utf8_lossy(&self.waiting[start..end]).into_owned();
            self.size += end - start;
            self.line(line.trim_end_matches('\r'));
            start = end + 1;
            self.searched = start;
        }
        self.waiting.drain(..start);
        self.searched = self.waiting.len();
        if self.waiting.len() + self.size > LARGEST { Err(TooLarge) } else { Ok(()) }
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            self.size = 0;
            let event = std::mem::take(&mut self.event);
            if event != (Event { name: event.name.clone(), ..Event::default() }) {
                self.ready.push_back(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => match &mut self.event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                none => *none = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            _ => {}
        }
    }

    /// The next whole event.
    pub fn next_event(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_however_the_bytes_are_cut() {
        let stream = "event: endpoint\ndata: /post?id=1\n\n: a comment\r\ndata: {\r\ndata: \"é\"}\r\n\r\nid: 7\nretry: 500\ndata: \n\nevent: x\n\n";
        for size in 1..stream.len() {
            let mut parser = Parser::default();
            stream.as_bytes().chunks(size).for_each(|piece| parser.feed(piece).unwrap());
            let all: Vec<Event> = std::iter::from_fn(|| parser.next_event()).collect();
            let event = |name: &str, data: &str| Event {
                name: name.into(),
                data: Some(data.into()),
                ..Event::default()
            };
            let primed = Event { id: Some("7".into()), retry: Some(500), ..event("", "") };
            assert_eq!(
                all,
                [event("endpoint", "/post?id=1"), event("", "{\n\"é\"}"), primed],
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn an_event_without_an_end_is_too_large_at_some_point() {
        for piece in [vec![b'x'; 1024 * 1024], b"data: x\n".repeat(100_000)] {
            let mut parser = Parser::default();
            assert!((0..40).any(|_| parser.feed(&piece).is_err()));
        }
        let mut parser = Parser::default();
        let whole = b"data: x\n\n".repeat(100_000);
        assert!(
            (0..40).all(|_| parser.feed(&whole).is_ok()
                && std::iter::from_fn(|| parser.next_event()).count() == 100_000)
        );
    }
}
