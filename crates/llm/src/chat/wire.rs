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
