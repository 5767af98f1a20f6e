//! One message type, one event stream, for every chat model.
//!
//! Used by the agent's loop, and by the providers, one file for each wire format, which turn [`Request`] into their own
//! words and their answers into [`Event`]s. Deliberately not here: what a tool does, when to ask again, what a
//! conversation is.

mod adjust;
mod anthropic;
mod calls;
mod collect;
mod fault;
mod frames;
mod gemini;
mod ids;
mod leak;
mod ollama;
mod openai;
mod remote;
mod responses;
mod script;
mod wire;

use std::sync::Arc;

use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
pub(crate) use anthropic::address as anthropic_address;
pub use collect::{Answer, Collector};
pub use leak::leaked_call;
pub(crate) use openai::root;
pub(crate) use remote::Remote;
pub use script::Script;
pub(crate) use wire::headers;

/// One message of a conversation. Kept on disk as it is, so its form only grows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

/// Who speaks. What tools answered is said by the user's side; what holds for the whole conversation is in
/// [`Request::system`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, and the tools.
    User,
    /// The model.
    Assistant,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture, from the user's side.
    Image {
        /// `image/png` …
        media_type: String,
        /// Its bytes in base64.
        base64: String,
    },
    /// What the model thought. Some providers demand it back, with its proof.
    Thinking {
        /// What can be read of it; may be empty.
        text: String,
        /// What only the provider can read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
    },
    /// A tool that the model calls.
    Call {
        /// The call.
        #[serde(flatten)]
        call: ToolCall,
    },
    /// What a tool answered, from the user's side.
    Result {
        /// The id of the call.
        id: String,
        /// The tool's name.
        name: String,
        /// The answer.
        text: String,
        /// Whether it is an error.
        #[serde(default)]
        failed: bool,
    },
}

/// A call as the model made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id; made up by us where the provider gives none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its input.
    pub input: CallInput,
    /// What only the provider can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

/// The input of a call. What is no JSON object is never taken for an empty one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallInput {
    /// An object.
    Object(Value),
    /// Not an object; the text as it came.
    Broken(String),
}

impl CallInput {
    /// Reads the text of an input. An empty one is an empty object, as all providers mean it.
    pub fn parse(text: &str) -> CallInput {
        if text.trim().is_empty() {
            return CallInput::Object(Value::Object(serde_json::Map::new()));
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value @ Value::Object(_)) => CallInput::Object(value),
            // Some servers send the object once more as text.
            Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
                Ok(value @ Value::Object(_)) => CallInput::Object(value),
                _ => CallInput::Broken(text.to_owned()),
            },
            _ => CallInput::Broken(text.to_owned()),
        }
    }
}

/// Something of the provider's own that must go back unchanged: a signature, an encrypted thought. It is sent back to the
/// same wire format only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The wire format from which it came.
    pub dialect: String,
    /// The thing itself.
    pub value: Value,
}

impl Message {
    /// What the user says.
    pub fn user(text: impl Into<String>) -> Message {
        Message { role: Role::User, parts: vec![Part::Text { text: text.into() }] }
    }

    /// What the model says.
    pub fn assistant(text: impl Into<String>) -> Message {
        Message { role: Role::Assistant, parts: vec![Part::Text { text: text.into() }] }
    }

    /// All its text, without thoughts.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("")
    }

    /// The calls in it.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call { call } => Some(call),
            _ => None,
        })
    }
}

/// A tool as a model knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// What holds for the whole conversation, the unchanging parts first: a provider that keeps prompts is told to keep the
    /// first part.
    pub system: Vec<String>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools. The list stays the same through a conversation, or the provider's cache is lost.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it may call them.
    pub choice: ToolChoice,
    /// At most this many tokens come back.
    pub max_tokens: Option<u32>,
    /// How freely it speaks; absent: the model's own way.
    pub temperature: Option<f32>,
    /// The share of likely words; absent: the model's own way.
    pub top_p: Option<f32>,
    /// Texts at which to stop.
    pub stop: Vec<String>,
    /// How long it should think.
    pub effort: Effort,
    /// To which conversation this belongs, and how many requests it has made before. Providers use the first to find what
    /// they kept; the script provider needs both.
    pub conversation: Conversation,
}

/// To which conversation a request belongs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation {
    /// Its id.
    pub id: String,
    /// How many requests of this purpose it has made before.
    pub turn: u32,
    /// What the request is for.
    pub purpose: Purpose,
    /// The first thing that the user said in it, if the caller knows it.
    pub began_with: String,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// To go on with the conversation.
    #[default]
    Answer,
    /// To make it shorter.
    Condense,
    /// To name it.
    Title,
    /// To ask a stronger model.
    Advice,
}

impl Request {
    /// A question, with nothing else.
    pub fn new(messages: Vec<Message>) -> Request {
        Request {
            system: Vec::new(),
            messages,
            tools: Arc::from([]),
            choice: ToolChoice::Auto,
            max_tokens: None,
            temperature: None,
            top_p: None,
            stop: Vec::new(),
            effort: Effort::Usual,
            conversation: Conversation::default(),
        }
    }
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// Not now; they stay listed.
    None,
    /// It must call one.
    Required,
}

/// How long a model should think, where it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// As it does by itself.
    #[default]
    Usual,
    /// Not at all, if that can be.
    None,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// What comes from a model, piece by piece.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It begins to answer.
    Started {
        /// The model that really serves, if it says so.
        model: Option<String>,
    },
    /// More text.
    Text(String),
    /// More of what it thinks.
    Thinking(String),
    /// The thought that ran so far is complete; this goes back with it.
    ThinkingEnded(Option<Proof>),
    /// A call begins. `index` names it until it ends.
    CallStarted {
        /// Its place.
        index: usize,
        /// Its id.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's input, as text.
    CallInput {
        /// Which call.
        index: usize,
        /// The piece.
        text: String,
    },
    /// A call is complete.
    CallEnded {
        /// Which call.
        index: usize,
        /// The whole of it.
        call: ToolCall,
    },
    /// What it cost so far; each one replaces the one before.
    Usage(Usage),
    /// The end. A stream that ends without it was cut, and the provider says so with an error.
    Stopped(StopReason),
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that went in and were not kept from before.
    pub input: u64,
    /// Tokens that came out, thoughts included.
    pub output: u64,
    /// Tokens that went in and were kept from before.
    pub cache_read: u64,
    /// Tokens that went in and are kept from now on.
    pub cache_write: u64,
    /// Of those that came out: thoughts.
    pub thinking: u64,
    /// US dollars, if the provider says so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
}

impl Usage {
    /// All tokens that went in.
    pub fn all_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            thinking: self.thinking + other.thinking,
            dollars: match (self.dollars, other.dollars) {
                (None, None) => None,
                (one, two) => Some(one.unwrap_or_default() + two.unwrap_or_default()),
            },
        }
    }
}

/// Why an answer ended. Whether tools are to be called is decided by the calls that came, not by the provider's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It had nothing more to say, or it wants its tools called.
    End,
    /// It reached the largest number of tokens.
    MaxTokens,
    /// It came to a text at which to stop.
    StopText,
    /// A filter cut it off.
    Filtered,
    /// It will not answer this.
    Refused(String),
    /// It wants to go on: send all of it back as it is.
    Paused,
    /// The conversation no longer fits.
    ContextFull,
    /// The model called a tool in a way that its provider could not read.
    BrokenCall,
    /// Something newer than this program.
    Other(String),
}

/// A stream of events. Dropping it stops the request. After an error nothing more comes.
pub type Events = BoxStream<'static, Result<Event, Error>>;

/// What a model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Whether it can call tools, as far as is known.
    pub tools: bool,
    /// Whether it can see pictures.
    pub images: bool,
    /// How many tokens a conversation may have, as far as is known.
    pub window: Option<u64>,
}

impl Default for Abilities {
    /// What is taken for granted of a model of which nothing is known.
    fn default() -> Abilities {
        Abilities { tools: true, images: true, window: None }
    }
}

/// What a million tokens cost, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Going in.
    pub input: f64,
    /// Coming out.
    pub output: f64,
    /// Going in, kept from before; absent: as going in.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Going in, kept from now on; absent: as going in.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What this much costs.
    pub fn of(&self, usage: &Usage) -> f64 {
        let tokens = |count: u64, price: f64| count as f64 * price / 1_000_000.0;
        tokens(usage.input, self.input)
            + tokens(usage.output, self.output)
            + tokens(usage.cache_read, self.cache_read.unwrap_or(self.input))
            + tokens(usage.cache_write, self.cache_write.unwrap_or(self.input))
    }
}

/// A chat model.
pub trait Model: Send + Sync {
    /// Its full name, `provider@model`.
    fn name(&self) -> &str;
    /// What it can do.
    fn abilities(&self) -> Abilities;
    /// What it costs, if that is known.
    fn price(&self) -> Option<Price>;
    /// Asks it. Trouble that may pass is tried again as long as nothing was said yet.
    fn stream(&self, request: Request) -> Events;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_input_that_is_no_object_is_never_an_empty_one() {
        let empty = CallInput::Object(json!({}));
        assert_eq!(CallInput::parse(""), empty);
        assert_eq!(CallInput::parse(" \n"), empty);
        assert_eq!(CallInput::parse(r#"{"a":1}"#), CallInput::Object(json!({"a": 1})));
        assert_eq!(CallInput::parse(r#""{\"a\":1}""#), CallInput::Object(json!({"a": 1})));
        for broken in [r#"{"path":"A"#, "[]", "null", "7", r#""x""#, "{}}"] {
            assert_eq!(CallInput::parse(broken), CallInput::Broken(broken.to_owned()));
        }
    }

    #[test]
    fn a_call_is_priced_by_what_went_in_came_out_and_was_kept() {
        let price = Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: None };
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 1_000_000,
            cache_write: 500_000,
            ..Usage::default()
        };
        assert!((price.of(&usage) - (3.0 + 1.5 + 0.3 + 1.5)).abs() < 1e-9);
    }

    #[test]
    fn a_message_comes_back_from_disk_as_it_was() {
        let message = Message {
            role: Role::Assistant,
            parts: vec![
                Part::Thinking {
                    text: "hm".into(),
                    proof: Some(Proof { dialect: "anthropic".into(), value: json!({"signature": "x"}) }),
                },
                Part::Text { text: "yes".into() },
                Part::Call {
                    call: ToolCall {
                        id: "1".into(),
                        name: "t".into(),
                        input: CallInput::Broken("{".into()),
                        proof: None,
                    },
                },
            ],
        };
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }
}
