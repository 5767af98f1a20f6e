//! What a conversation consists of for the page: flat items, each with an id that stays the same while it changes.

use std::sync::OnceLock;

use pipeline::plan::TodoItem;
use serde::Serialize;
use serde_json::{Value, json};

/// One thing in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// The person said something.
    User {
        /// What.
        text: String,
        /// What was sent along.
        attachments: Vec<Attachment>,
        /// The task of the turn that it began; none for words in the middle of one.
        task: Option<String>,
        /// The step by which it is kept; none for words in the middle of a turn.
        step: Option<u64>,
    },
    /// The model says something.
    Answer {
        /// What, as Markdown.
        text: String,
        /// Whether that is all of it.
        done: bool,
        /// Which model.
        model: String,
    },
    /// The model thinks.
    Thinking {
        /// What.
        text: String,
        /// Whether that is all of it.
        done: bool,
    },
    /// A call of a tool.
    Call(Box<Called>),
    /// Somebody who does a part of the work.
    Child {
        /// What it is called.
        name: String,
        /// `running`, `gone`, or how its turn ended.
        state: String,
        /// Which agent it is.
        agent: Option<String>,
    },
    /// What is to be done.
    Todo {
        /// The whole list.
        items: Vec<TodoItem>,
    },
    /// Something that the person should know.
    Notice {
        /// What.
        text: String,
        /// How bad it is.
        tone: Tone,
    },
    /// The turn is over.
    Over {
        /// How: `done`, `stopped`, `failed` …
        how: String,
        /// In words.
        text: String,
        /// Whether somebody can go on with it.
        half_way: bool,
    },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Called {
    /// The tool.
    pub tool: String,
    /// What the person reads of it.
    pub title: String,
    /// Its input; null as long as it is being written, or where it is no JSON.
    pub input: Value,
    /// How far it is.
    pub state: CallState,
    /// What it answered, the beginning of it.
    pub text: String,
    /// Whether the end of that is missing.
    pub cut: bool,
    /// The notes that it changed.
    pub changed: Vec<String>,
    /// From what it can be taken back.
    pub checkpoint: Option<String>,
    /// How long it took.
    pub milliseconds: Option<u64>,
    /// The question that it waits for.
    pub question: Option<String>,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallState {
    /// The model writes it.
    Named,
    /// It is made.
    Running,
    /// It waits for the person.
    Waiting,
    /// It ended well.
    Done,
    /// It ended with an error.
    Failed,
    /// The person said no.
    Denied,
    /// A rule said no.
    Refused,
    /// The turn ended before it.
    Stopped,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Good to know.
    Info,
    /// Worth a look.
    Warn,
    /// Something broke.
    Bad,
}

/// What was sent along with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// What kind of file it is.
    pub media_type: String,
}

/// How Markdown becomes HTML.
pub type Renderer<'r> = &'r (dyn Fn(&str) -> String + Sync);

/// An item as it was at one moment. Its JSON is made once, whoever asks for it.
#[derive(Debug)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// Its place.
    pub at: u64,
    /// The child whose item it is.
    pub parent: Option<String>,
    /// What it is.
    pub body: Body,
    json: OnceLock<String>,
}

impl Sent {
    /// An item as it is now.
    pub fn new(id: String, at: u64, parent: Option<String>, body: Body) -> Sent {
        Sent { id, at, parent, body, json: OnceLock::new() }
    }

    /// As JSON, with the HTML of what people and models wrote.
    pub fn json(&self, renderer: Renderer<'_>) -> &str {
        self.json.get_or_init(|| self.value(renderer).to_string())
    }

    /// The length of its text, for whoever decides how often it is sent.
    pub fn length(&self) -> usize {
        match &self.body {
            Body::User { text, .. } | Body::Answer { text, .. } | Body::Thinking { text, .. } => text.len(),
            _ => 0,
        }
    }

    fn value(&self, renderer: Renderer<'_>) -> Value {
        let mut value = json!({ "id": self.id, "at": self.at, "parent": self.parent });
        let body = serde_json::to_value(&self.body).unwrap_or_default();
        if let (Some(value), Value::Object(body)) = (value.as_object_mut(), body) {
            value.extend(body);
            if let Body::User { text, .. } | Body::Answer { text, .. } = &self.body {
                value.insert("html".to_owned(), renderer(text).into());
            }
        }
        value
    }
}
