//! Cuts the bytes of an answer into frames: server-sent events, or lines.
//!
//! Bytes come cut anywhere, also inside a letter; a frame is made into text only when it is whole.

/// How an answer is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One line each.
    Lines,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The name of the event, if it has one.
    pub event: String,
    /// What it says.
    pub data: String,
}

/// Takes bytes and gives frames.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    line: Vec<u8>,
    after_return: bool,
    begun: bool,
    event: String,
    data: Option<String>,
}

impl Frames {
    pub(crate) fn new(framing: Framing) -> Frames {
        Frames {
            framing,
            line: Vec::new(),
            after_return: false,
            begun: false,
            event: String::new(),
            data: None,
        }
    }

    /// The frames that these bytes complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => frames.extend(self.line_ended()),
                other => self.line.push(*other),
            }
        }
        frames
    }

    /// What was begun and not ended when the bytes ended. Some servers leave out the last line end.
    pub(crate) fn finish(&mut self) -> Option<Frame> {
        let last = if self.line.is_empty() { None } else { self.line_ended() };
        last.or_else(|| self.frame())
    }

    fn line_ended(&mut self) -> Option<Frame> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&bytes).into_owned();
        if !std::mem::replace(&mut self.begun, true)
            && let Some(rest) = line.strip_prefix('\u{feff}')
        {
            line = rest.to_owned();
        }
        match self.framing {
            Framing::Lines if line.trim().is_empty() => None,
            Framing::Lines => Some(Frame { event: String::new(), data: line }),
            Framing::Events if line.is_empty() => self.frame(),
            Framing::Events => {
                self.field(&line);
                None
            }
        }
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => self.data(value),
            // Not in the standard; llama.cpp has said its errors like this.
            "error" => {
                "error".clone_into(&mut self.event);
                self.data(value);
            }
            _ => {}
        }
    }

    fn data(&mut self, value: &str) {
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
    }

    fn frame(&mut self) -> Option<Frame> {
        let event = std::mem::take(&mut self.event);
        self.data.take().map(|data| Frame { event, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(framing: Framing, text: &[u8], size: usize) -> Vec<(String, String)> {
        let mut frames = Frames::new(framing);
        let mut all: Vec<Frame> = text.chunks(size).flat_map(|bytes| frames.push(bytes)).collect();
        all.extend(frames.finish());
        all.into_iter().map(|frame| (frame.event, frame.data)).collect()
    }

    #[test]
    fn frames_are_the_same_wherever_the_bytes_are_cut() {
        let text =
            "\u{feff}: hello\n\nevent: a\ndata: {\"ü\":\ndata:1}\r\n\r\n:\rid: 7\rdata: 🦀\r\rdata: last";
        let whole = cut(Framing::Events, text.as_bytes(), usize::MAX);
        let pair = |event: &str, data: &str| (event.to_owned(), data.to_owned());
        assert_eq!(whole, [pair("a", "{\"ü\":\n1}"), pair("", "🦀"), pair("", "last")]);
        for size in 1..text.len() {
            assert_eq!(cut(Framing::Events, text.as_bytes(), size), whole, "{size}");
        }
        for end in ["\n", "\r\n", "\r"] {
            let text = ["event: a", "data: 1", "data: 2", "", "data: 3", "", ""].join(end);
            for size in 1..text.len() {
                let found = cut(Framing::Events, text.as_bytes(), size);
                assert_eq!(found, [pair("a", "1\n2"), pair("", "3")], "{end:?} {size}");
            }
        }
        let lines = "{\"a\":1}\r\n\n{\"ß\":2}\n{\"c\"";
        for size in 1..lines.len() {
            let found = cut(Framing::Lines, lines.as_bytes(), size);
            assert_eq!(found, [pair("", "{\"a\":1}"), pair("", "{\"ß\":2}"), pair("", "{\"c\"")], "{size}");
        }
    }

    #[test]
    fn lines_that_say_nothing_make_no_frame() {
        assert_eq!(cut(Framing::Events, b"nonsense\n\nevent: x\n\nretry: 5\n\n\n\n", 3), []);
        assert_eq!(cut(Framing::Events, b"data\n\n", 2), [(String::new(), String::new())]);
        assert_eq!(cut(Framing::Lines, b"\n  \n", 1), []);
    }
}
