//! What all wire formats have in common: where a request goes, what it says, who reads the answer.

use serde_json::{Value, json};

use super::frames::{Frame, Framing};
use super::{CallInput, Event, Message, Part, Request, Role, anthropic, gemini, ollama, openai, responses};
use crate::Error;
use crate::http::Base;
use crate::models::{Dialect, Provider};

/// A model of a provider.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub provider: &'a Provider,
    pub model: &'a str,
    /// Tokens for which Ollama is to make room.
    pub window: u64,
}

/// Whether more is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    Done,
}

/// Reads one answer. After an error it is asked nothing more.
pub(crate) trait Reader: Send {
    /// Takes a frame of a streamed answer.
    fn frame(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<Flow, Error>;
    /// Takes an answer that came in one piece.
    fn whole(&mut self, body: &Value, out: &mut Vec<Event>) -> Result<(), Error>;
    /// The bytes have ended. What did not come to its end is an error.
    fn end(&mut self, out: &mut Vec<Event>) -> Result<(), Error>;
}

impl Target<'_> {
    /// Where the request goes.
    pub(crate) fn address(&self) -> Base {
        match self.provider.dialect {
            Dialect::OpenAi => openai::address(self, "chat/completions"),
            Dialect::Responses => openai::address(self, "responses"),
            Dialect::Anthropic => anthropic::address(self.provider, "messages"),
            Dialect::Gemini => gemini::address(self),
            Dialect::Ollama => self.provider.base.at("", "api/chat"),
        }
    }

    /// Headers of the dialect's own.
    pub(crate) fn headers(&self) -> &'static [(&'static str, &'static str)] {
        headers(self.provider.dialect)
    }

    /// What the request says.
    pub(crate) fn body(&self, request: &Request) -> Value {
        match self.provider.dialect {
            Dialect::OpenAi => openai::body(self, request),
            Dialect::Responses => responses::body(self, request),
            Dialect::Anthropic => anthropic::body(self, request),
            Dialect::Gemini => gemini::body(self, request),
            Dialect::Ollama => ollama::body(self, request),
        }
    }

    /// Who reads the answer.
    pub(crate) fn reader(&self, request: &Request) -> Box<dyn Reader> {
        let service = self.provider.host();
        match self.provider.dialect {
            Dialect::OpenAi => Box::new(openai::Reading::new(service, self, request)),
            Dialect::Responses => Box::new(responses::Reading::new(service, request)),
            Dialect::Anthropic => Box::new(anthropic::Reading::new(service, request)),
            Dialect::Gemini => Box::new(gemini::Reading::new(service, request)),
            Dialect::Ollama => Box::new(ollama::Reading::new(service, request)),
        }
    }

    /// How the answer is cut.
    pub(crate) fn framing(&self) -> Framing {
        match self.provider.dialect {
            Dialect::Ollama => Framing::Lines,
            _ => Framing::Events,
        }
    }
}

/// Headers of a dialect's own.
pub(crate) fn headers(dialect: Dialect) -> &'static [(&'static str, &'static str)] {
    match dialect {
        Dialect::Anthropic => &[("anthropic-version", "2023-06-01")],
        _ => &[],
    }
}

/// The input of a call as an object, for the way back. What was none is quoted in one, so that the model sees what it did.
pub(super) fn as_object(input: &CallInput) -> Value {
    match input {
        CallInput::Object(value) => value.clone(),
        CallInput::Broken(text) => json!({ "unreadable_input": text }),
    }
}

/// A picture as an address that holds it.
pub(super) fn data_url(media_type: &str, base64: &str) -> String {
    format!("data:{media_type};base64,{base64}")
}

/// The place of the first message after the last one that a person wrote: what was thought from there on belongs to
/// the work that is still going on.
pub(super) fn work_begins(messages: &[Message]) -> usize {
    let spoken = |message: &Message| {
        message.role == Role::User && message.parts.iter().any(|part| matches!(part, Part::Text { .. }))
    };
    messages.iter().rposition(spoken).map_or(0, |place| place + 1)
}

/// A number that may be missing.
pub(super) fn number(value: &Value, place: &str) -> u64 {
    value.pointer(place).and_then(Value::as_u64).unwrap_or_default()
}

/// A text that may be missing.
pub(super) fn text<'a>(value: &'a Value, place: &str) -> &'a str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::frames::Frames;
    use crate::models::ProviderSettings;
    use proptest::prelude::*;
    use std::path::Path;

    const DIALECTS: [(Dialect, &str); 5] = [
        (Dialect::OpenAi, "openai"),
        (Dialect::Responses, "responses"),
        (Dialect::Anthropic, "anthropic"),
        (Dialect::Gemini, "gemini"),
        (Dialect::Ollama, "ollama"),
    ];

    /// Made once: an HTTP client is dear.
    fn provider(dialect: Dialect) -> &'static Provider {
        static ALL: std::sync::OnceLock<Vec<Provider>> = std::sync::OnceLock::new();
        let all = ALL.get_or_init(|| DIALECTS.iter().map(|(dialect, _)| made(*dialect)).collect());
        all.iter().find(|provider| provider.dialect == dialect).unwrap()
    }

    fn made(dialect: Dialect) -> Provider {
        let settings = ProviderSettings {
            dialect: Some(dialect),
            url: Some("https://e.org".to_owned()),
            ..ProviderSettings::default()
        };
        Provider::new("mine", settings, None).unwrap()
    }

    /// Reads pieces of bytes as the stream does.
    fn read(provider: &Provider, pieces: &[&[u8]]) -> (Vec<Event>, Result<(), Error>) {
        let target = Target { provider, model: "m", window: 0 };
        let request = Request::new(vec![Message::user("hi")]);
        let mut reader = target.reader(&request);
        let mut frames = Frames::new(target.framing());
        let mut events = Vec::new();
        for piece in pieces {
            for frame in frames.push(piece) {
                match reader.frame(&frame, &mut events) {
                    Ok(Flow::More) => {}
                    Ok(Flow::Done) => return (events, Ok(())),
                    Err(error) => return (events, Err(error)),
                }
            }
        }
        if let Some(frame) = frames.finish()
            && let Ok(Flow::Done) = reader.frame(&frame, &mut events)
        {
            return (events, Ok(()));
        }
        let end = reader.end(&mut events);
        (events, end)
    }

    fn recorded(folder: &str) -> Vec<(String, Vec<u8>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/llm").join(folder);
        #[expect(clippy::disallowed_methods, reason = "fixtures")]
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        #[expect(clippy::disallowed_methods, reason = "fixtures")]
        let read = |path: std::path::PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap());
        files
            .filter(|path| path.extension().is_some_and(|end| end == "sse" || end == "ndjson"))
            .map(read)
            .collect()
    }

    #[test]
    fn an_answer_is_the_same_split_at_every_byte() {
        for (dialect, folder) in DIALECTS {
            let provider = provider(dialect);
            for (file, bytes) in recorded(folder) {
                let whole = read(provider, &[&bytes]);
                for size in [1, 2, 3, 7] {
                    let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
                    assert_eq!(read(provider, &pieces), whole, "{file} in pieces of {size}");
                }
                for at in (0..bytes.len()).filter(|_| file.contains("calls.")) {
                    assert_eq!(read(provider, &[&bytes[..at], &bytes[at..]]), whole, "{file} at {at}");
                }
            }
        }
    }

    #[test]
    fn an_answer_that_is_cut_anywhere_ends_once_or_not_at_all() {
        for (dialect, folder) in DIALECTS {
            let provider = provider(dialect);
            for (file, bytes) in recorded(folder) {
                for at in (0..bytes.len()).step_by(if file.contains("calls.") { 1 } else { 17 }) {
                    let (events, end) = read(provider, &[&bytes[..at]]);
                    let stops = events.iter().filter(|event| matches!(event, Event::Stopped(_))).count();
                    assert_eq!(stops, usize::from(end.is_ok()), "{file} at {at}: {end:?}");
                }
            }
        }
    }

    /// Bytes that are nearly an answer: a recorded one with some of its bytes changed, left out or doubled.
    fn damaged(bytes: &[u8], places: &[(usize, u8, u8)]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for (place, kind, byte) in places {
            let place = place % bytes.len().max(1);
            match kind % 4 {
                _ if bytes.is_empty() => bytes.push(*byte),
                0 => bytes[place] = *byte,
                1 => drop(bytes.remove(place)),
                2 => bytes.insert(place, *byte),
                _ => bytes.extend_from_within(place..),
            }
            bytes.truncate(20_000);
        }
        bytes
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), sse in any::<bool>()) {
            for (dialect, _) in DIALECTS {
                let prefix: &[u8] = if sse { b"data: {\"a\":" } else { b"" };
                let (_, _) = read(provider(dialect), &[prefix, &bytes]);
                for json in [serde_json::from_slice::<Value>(&bytes).unwrap_or_default(), json!([[]]), json!({"choices": 5, "content": {}, "output": 1})] {
                    let request = Request::new(Vec::new());
                    let provider = provider(dialect);
                    let target = Target { provider, model: "m", window: 0 };
                    target.reader(&request).whole(&json, &mut Vec::new()).ok();
                }
            }
        }

        #[test]
        fn no_damaged_answer_makes_a_reader_panic(
            choice in any::<usize>(),
            places in proptest::collection::vec((any::<usize>(), any::<u8>(), any::<u8>()), 1..12),
        ) {
            for (dialect, folder) in DIALECTS {
                let all = recorded(folder);
                let (_, bytes) = &all[choice % all.len()];
                let (events, end) = read(provider(dialect), &[&damaged(bytes, &places)]);
                let stops = events.iter().filter(|event| matches!(event, Event::Stopped(_))).count();
                prop_assert_eq!(stops, usize::from(end.is_ok()));
            }
        }
    }
}
