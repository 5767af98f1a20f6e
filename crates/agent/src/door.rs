//! What a conversation needs of whoever hosts it: somewhere to show what happens, somebody to ask.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use llm::chat::Usage;
use pipeline::approve::Deciding;
use pipeline::plan::{Asked, TodoItem};
use pipeline::{Asker, Question};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::purse::Purse;
use crate::step::Over;

/// What happens, as it happens.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum News {
    /// A turn begins; its changes can be undone by this task.
    Turn {
        /// The conversation.
        session: String,
        /// The task.
        task: String,
        /// The agent.
        agent: String,
        /// The model.
        model: String,
    },
    /// More of what the model thinks.
    Thinking {
        /// The piece.
        text: String,
    },
    /// More of what it says.
    Text {
        /// The piece.
        text: String,
    },
    /// What it said since its last answer is void: the answer broke off and is asked for again.
    Void,
    /// It begins to name a call.
    CallNamed {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's input, as it is written.
    CallInput {
        /// The call's id.
        id: String,
        /// The piece.
        text: String,
    },
    /// A call is made.
    CallBegan {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// Its input.
        input: Value,
    },
    /// A call has ended.
    CallEnded {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// How: `answered`, `done`, `steered`, `refused`, `denied`.
        outcome: &'static str,
        /// What the model is told.
        text: String,
        /// Whether that is an error.
        failed: bool,
        /// From what it can be undone.
        #[serde(skip_serializing_if = "Option::is_none")]
        checkpoint: Option<String>,
        /// The notes that it changed.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
        /// How long it took.
        milliseconds: u64,
    },
    /// An answer was paid for.
    Spent {
        /// The model that served.
        model: String,
        /// What it cost.
        usage: Usage,
        /// In US dollars, if its price is known.
        dollars: Option<f64>,
        /// The whole conversation so far, in tokens.
        total_tokens: u64,
        /// The whole conversation so far, in US dollars.
        total_dollars: f64,
        /// How full the model's window is, in percent, if that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        window: Option<u8>,
    },
    /// The model could not be asked just now, and will be asked again.
    Retry {
        /// Why.
        why: String,
        /// In how many milliseconds.
        milliseconds: u64,
    },
    /// The conversation was made shorter.
    Condensed {
        /// Tokens before, by estimate.
        before: u64,
        /// Tokens now.
        after: u64,
    },
    /// What is to be done.
    Todo {
        /// The whole list.
        items: Vec<TodoItem>,
    },
    /// Another agent took over.
    Agent {
        /// Its slug.
        slug: String,
    },
    /// Something that the person should know.
    Notice {
        /// What.
        text: String,
    },
    /// A child does something.
    Child {
        /// What it is called.
        name: String,
        /// What it does.
        news: Box<News>,
    },
    /// The turn is over.
    Over {
        /// How.
        how: Over,
        /// In words.
        text: String,
    },
}

/// What a person said to questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// One answer for each question.
    Given(Vec<String>),
    /// They would rather not.
    Cancelled,
    /// Nobody is there.
    Nobody,
}

/// An answer that is waited for.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Answers> + Send + 'a>>;

/// Whoever hosts a conversation.
pub trait Door: Send + Sync {
    /// Shows what happens. Must not wait.
    fn show(&self, news: &News);
    /// Who decides about changes.
    fn asker(&self) -> Arc<dyn Asker>;
    /// Puts questions before the person.
    fn answer<'a>(&'a self, _: &'a [Asked]) -> Answering<'a> {
        Box::pin(async { Answers::Nobody })
    }
    /// What the person has said since the turn began, once.
    fn added(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A door as a conversation and its children use it: one question at a time, and the time in which a person thinks is not
/// counted.
#[derive(Clone)]
pub(crate) struct Host {
    door: Arc<dyn Door>,
    turn: Arc<Mutex<()>>,
    names: Vec<String>,
}

impl Host {
    pub(crate) fn new(door: Arc<dyn Door>) -> Host {
        Host { door, turn: Arc::default(), names: Vec::new() }
    }

    /// The same for a child of this name.
    pub(crate) fn child(&self, name: &str) -> Host {
        let mut host = self.clone();
        host.names.push(name.to_owned());
        host
    }

    pub(crate) fn show(&self, news: News) {
        let told = self
            .names
            .iter()
            .rev()
            .fold(news, |news, name| News::Child { name: name.clone(), news: Box::new(news) });
        self.door.show(&told);
    }

    pub(crate) fn notice(&self, text: impl Into<String>) {
        self.show(News::Notice { text: text.into() });
    }

    /// Only a conversation that the person speaks with hears what they add.
    pub(crate) fn added(&self) -> Vec<String> {
        if self.names.is_empty() { self.door.added() } else { Vec::new() }
    }

    pub(crate) async fn answer(&self, questions: &[Asked], purse: &Purse) -> Answers {
        let _alone = self.turn.lock().await;
        let start = Instant::now();
        let answers = self.door.answer(questions).await;
        purse.waited(start.elapsed());
        answers
    }

    pub(crate) fn asker(&self, purse: &Purse) -> Arc<dyn Asker> {
        Arc::new(InTurn { asker: self.door.asker(), turn: Arc::clone(&self.turn), purse: purse.clone() })
    }
}

struct InTurn {
    asker: Arc<dyn Asker>,
    turn: Arc<Mutex<()>>,
    purse: Purse,
}

impl Asker for InTurn {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async move {
            let _alone = self.turn.lock().await;
            let start = Instant::now();
            let decision = self.asker.ask(question).await;
            self.purse.waited(start.elapsed());
            decision
        })
    }

    fn name(&self) -> &str {
        self.asker.name()
    }

    fn is_person(&self) -> bool {
        self.asker.is_person()
    }
}
