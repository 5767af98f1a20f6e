//! What a conversation leaves on disk: one step after the other, each written before the next is taken.
//!
//! The steps are the only truth; [`crate::Conversation`] is what they add up to. A kind of step is never changed in
//! meaning, only new ones are added; one that is not known is skipped when it is read.

use llm::chat::{Message, Part, Usage};
use pipeline::ledger::Legs;
use pipeline::plan::TodoItem;
use serde::{Deserialize, Serialize};
use state::{NewStep, Said};

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Step {
    /// What was said before this conversation began, where it is kept elsewhere: in a chat note.
    Seeded {
        /// What was said, in order.
        messages: Vec<Message>,
        /// What holds for the whole conversation, besides what every conversation is told.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        system: Vec<String>,
        /// Which legs it brings along.
        #[serde(default)]
        legs: Legs,
    },
    /// The person says something, and a turn begins.
    Asked {
        /// The task under which its calls run, and by which they are undone.
        task: String,
        /// What is said, pictures included.
        parts: Vec<Part>,
    },
    /// The person says something while the turn runs.
    Added {
        /// What.
        text: String,
    },
    /// The model answers.
    Answered {
        /// What it says, calls included.
        message: Message,
        /// Which model.
        model: String,
        /// What it cost.
        usage: Usage,
        /// In US dollars, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dollars: Option<f64>,
    },
    /// A call has ended.
    Ended {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// What the model is told.
        text: String,
        /// Whether that is an error.
        failed: bool,
        /// From what it can be undone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<String>,
        /// Which legs stand now.
        legs: Legs,
        /// How it ended, for people who look at it later; older steps do not say.
        #[serde(default, skip_serializing_if = "Ending::is_unknown")]
        ending: Ending,
    },
    /// The beginning was replaced by a summary.
    Condensed {
        /// What it says.
        summary: String,
        /// How many messages from the start it stands for.
        messages: usize,
        /// How many tokens there were, by estimate.
        before: u64,
        /// How many there are.
        after: u64,
        /// What making it cost.
        usage: Usage,
        /// In US dollars, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dollars: Option<f64>,
    },
    /// The list of what is to be done.
    Todo {
        /// The whole list.
        items: Vec<TodoItem>,
    },
    /// Another agent takes over.
    Agent {
        /// Its slug.
        slug: String,
    },
    /// Another model answers from now on.
    Model {
        /// Its full name.
        name: String,
    },
    /// Deferred tools were made callable.
    Activated {
        /// Their names.
        tools: Vec<String>,
    },
    /// A child was made.
    Child {
        /// By which call.
        call: String,
        /// Its place among the children of that call.
        index: usize,
        /// Its own conversation.
        session: String,
        /// What it is called.
        name: String,
    },
    /// A child's work, or advice, was paid for.
    Spent {
        /// By whom.
        model: String,
        /// How much.
        usage: Usage,
        /// In US dollars, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dollars: Option<f64>,
    },
    /// Verger says something to the model that nobody typed.
    Told {
        /// What.
        text: String,
    },
    /// The turn is over.
    Over {
        /// How it ended.
        how: Over,
    },
}

/// What people want to know of a call that has ended, and the model does not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ending {
    /// `answered`, `done`, `steered`, `shown`, `refused`, `denied`; empty where nobody wrote it down.
    #[serde(default)]
    pub outcome: String,
    /// The notes that it changed, the first of them where there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// How long it took.
    #[serde(default)]
    pub milliseconds: u64,
}

impl Ending {
    /// How many changed notes are named.
    pub const MOST: usize = 200;

    fn is_unknown(&self) -> bool {
        self.outcome.is_empty()
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "over")]
pub enum Over {
    /// The model had nothing more to do.
    Done,
    /// The model said so itself.
    Completed {
        /// What came of it.
        result: String,
    },
    /// There was nothing at all in its answer.
    Empty,
    /// The person stopped it.
    Stopped,
    /// It made as many rounds as it may.
    Rounds {
        /// How many.
        limit: u32,
    },
    /// It took as long as it may.
    Time {
        /// Seconds.
        limit: u64,
    },
    /// It used as many tokens as it may.
    Tokens {
        /// How many.
        limit: u64,
    },
    /// It cost as much as it may.
    Money {
        /// In hundredths of a US cent.
        limit: u64,
    },
    /// One mistake after the other.
    Mistakes {
        /// How many in a row.
        limit: u32,
    },
    /// The model will not answer.
    Refused {
        /// What it said.
        why: String,
    },
    /// The model could not be asked.
    Failed {
        /// Why.
        why: String,
        /// What to do.
        hint: String,
    },
}

impl Over {
    /// Whether the work came to an end of its own.
    pub fn is_done(&self) -> bool {
        matches!(self, Over::Done | Over::Completed { .. })
    }

    /// In words.
    pub fn describe(&self) -> String {
        match self {
            Over::Done => "done".to_owned(),
            Over::Completed { result } => format!("done: {result}"),
            Over::Empty => "the model said nothing".to_owned(),
            Over::Stopped => "stopped".to_owned(),
            Over::Rounds { limit } => format!("stopped after {limit} rounds, the most that are allowed"),
            Over::Time { limit } => format!("stopped after {limit} s, the longest that is allowed"),
            Over::Tokens { limit } => format!("stopped after {limit} tokens, the most that are allowed"),
            Over::Money { limit } => {
                format!("stopped after ${:.2}, the most that may be spent", *limit as f64 / 10_000.0)
            }
            Over::Mistakes { limit } => format!("stopped after {limit} mistakes in a row"),
            Over::Refused { why } => format!("the model will not answer: {why}"),
            Over::Failed { why, hint } => format!("{why} ({hint})"),
        }
    }
}

impl Step {
    /// The name by which it is kept.
    pub fn kind(&self) -> &'static str {
        match self {
            Step::Seeded { .. } => "seeded",
            Step::Asked { .. } => "asked",
            Step::Added { .. } => "added",
            Step::Answered { .. } => "answered",
            Step::Ended { .. } => "ended",
            Step::Condensed { .. } => "condensed",
            Step::Todo { .. } => "todo",
            Step::Agent { .. } => "agent",
            Step::Model { .. } => "model",
            Step::Activated { .. } => "activated",
            Step::Child { .. } => "child",
            Step::Spent { .. } => "spent",
            Step::Told { .. } => "told",
            Step::Over { .. } => "over",
        }
    }

    /// The step as it is kept.
    pub fn kept(&self) -> NewStep {
        let said = match self {
            Step::Asked { parts, .. } => {
                let message = Message { role: llm::chat::Role::User, parts: parts.clone() };
                Some(("user", message.text()))
            }
            Step::Added { text } => Some(("user", text.clone())),
            Step::Answered { message, .. } => Some(("assistant", message.text())),
            Step::Ended { text, .. } => Some(("tool", text.clone())),
            _ => None,
        };
        let said = said.filter(|(_, text)| !text.trim().is_empty());
        NewStep {
            kind: self.kind(),
            body: serde_json::to_value(self).unwrap_or_default(),
            said: said.map(|(role, text)| Said { role: role.to_owned(), text }),
        }
    }

    /// Reads a kept step; `None` for one of a kind that this program does not know.
    pub fn read(step: &state::Step) -> Option<Step> {
        serde_json::from_value(step.body.clone()).ok()
    }
}
