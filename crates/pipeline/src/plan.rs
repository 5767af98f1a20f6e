//! What a tool returns: a plan. Only the road carries it out.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vault::Change;

use crate::refusal::Refusal;
use crate::tells::Tells;
use crate::tool::Group;

/// A plan.
#[derive(Debug)]
pub enum Plan {
    /// An answer; nothing to carry out.
    Answer(Output),
    /// Changes to vault files.
    Edit(Edit),
    /// Something outside the vault.
    Act(Action),
    /// A word to the loop that called.
    Steer(Control, Output),
}

/// What a tool says: text for a person or model, data for a program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// Readable text.
    pub text: String,
    /// The same as data.
    pub data: Value,
    /// Where text of others in it comes from; it is wrapped before a model sees it.
    pub source: Option<Source>,
    /// Of which notes it tells; said where a person wants to see that first.
    pub tells: Tells,
}

/// Where text that Verger did not write comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "from", content = "name")]
pub enum Source {
    /// The user's own notes: private, and possibly clipped from elsewhere.
    Vault(String),
    /// The web, mail, foreign tools, documents.
    Outside(String),
}

impl Output {
    /// An answer in Verger's own words.
    pub fn new(text: impl Into<String>, data: impl Serialize) -> Output {
        Output::of(text, serde_json::to_value(data).unwrap_or(Value::Null))
    }

    /// The same with data that is a tree already: it need not be made again.
    pub fn of(text: impl Into<String>, data: Value) -> Output {
        Output { text: text.into(), data, source: None, tells: Tells::Unsaid }
    }

    /// An answer that carries note text from here.
    #[must_use]
    pub fn from_vault(mut self, name: impl Into<String>) -> Output {
        self.source = Some(Source::Vault(name.into()));
        self
    }

    /// An answer that carries text from outside.
    #[must_use]
    pub fn from_outside(mut self, name: impl Into<String>) -> Output {
        self.source = Some(Source::Outside(name.into()));
        self
    }
}

/// Changes to vault files, and the answer to give once they are made.
#[derive(Debug)]
pub struct Edit {
    /// The changes, one note or a thousand.
    pub changes: Vec<Change>,
    /// One line for whoever approves: `append 2 lines to Log.md`.
    pub summary: String,
    /// The answer once it is done.
    pub output: Output,
}

impl Plan {
    /// An edit with its summary and its answer.
    pub fn edit(changes: Vec<Change>, summary: impl Into<String>, output: Output) -> Plan {
        Plan::Edit(Edit { changes, summary: summary.into(), output })
    }

    /// An answer with nothing to do.
    pub fn answer(text: impl Into<String>, data: impl Serialize) -> Plan {
        Plan::Answer(Output::new(text, data))
    }
}

type Fired = Pin<Box<dyn Future<Output = Result<Output, Refusal>> + Send>>;

/// Something outside the vault: a summary to approve, and a closure that only the road can fire.
pub struct Action {
    /// One line for whoever approves.
    pub summary: String,
    /// What it reaches, e.g. a host or a program.
    pub target: String,
    /// Whether something leaves this machine.
    pub leaves: Leaves,
    /// How long it may take.
    pub time_limit: Duration,
    /// Behind a lock that nobody waits for, so that a call in progress can be handed to another thread.
    fire: Mutex<Box<dyn FnOnce() -> Fired + Send>>,
}

/// Whether an action sends something off this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// It stays here.
    Nothing,
    /// Something is sent.
    Something,
}

impl Action {
    /// An action; `fire` runs only if the road gets that far. Dropping its future cancels it.
    pub fn new<F>(
        summary: impl Into<String>,
        target: impl Into<String>,
        leaves: Leaves,
        time_limit: Duration,
        fire: impl FnOnce() -> F + Send + 'static,
    ) -> Action
    where
        F: Future<Output = Result<Output, Refusal>> + Send + 'static,
    {
        Action {
            summary: summary.into(),
            target: target.into(),
            leaves,
            time_limit,
            fire: Mutex::new(Box::new(move || Box::pin(fire()))),
        }
    }

    /// Carries it out. Private to the road: `a_tool_cannot_fire_its_own_action` is held by the compiler.
    pub(crate) async fn fire(self) -> Result<Output, Refusal> {
        let fire = self.fire.into_inner().unwrap_or_else(PoisonError::into_inner);
        match tokio::time::timeout(self.time_limit, fire()).await {
            Ok(answer) => answer,
            Err(_) => Err(Refusal::new(
                "timeout",
                format!("{} took longer than {} s and was stopped", self.target, self.time_limit.as_secs()),
                "try again, or ask for less at once",
            )),
        }
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Action")
            .field("summary", &self.summary)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

/// A word to the loop that called; a closed list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "control")]
pub enum Control {
    /// These deferred tools may be called from now on in this task.
    Activate {
        /// Their names.
        tools: Vec<String>,
    },
    /// Ask the person, and give back what they say.
    Ask {
        /// The questions, shown together.
        questions: Vec<Asked>,
    },
    /// The work is done.
    Complete {
        /// What came of it.
        result: String,
    },
    /// The list of what is to be done is now this.
    Todo {
        /// The whole list.
        items: Vec<TodoItem>,
    },
    /// Another agent takes over.
    SwitchAgent {
        /// Its slug.
        agent: String,
        /// Why.
        reason: String,
    },
    /// Others do a part of the work, and their results come back.
    Spawn {
        /// Who, and what.
        children: Vec<Child>,
    },
    /// A stronger model is asked for its advice.
    Consult {
        /// The question, with all that it needs.
        question: String,
    },
    /// The text of a skill is wanted.
    ReadSkill {
        /// Its name.
        name: String,
    },
    /// A skill is carried out by a child.
    RunSkill {
        /// Its name.
        name: String,
        /// What to do with it.
        arguments: String,
        /// At most this many rounds.
        turns: Option<u32>,
    },
}

/// A question for the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The question.
    pub question: String,
    /// A word or two that name it, where several are shown together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Answers to choose from; none: free text.
    #[serde(default)]
    pub options: Vec<String>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub several: bool,
    /// Whether an answer of their own is welcome beside the options.
    #[serde(default)]
    pub free_text: bool,
}

/// One line of what is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    /// What.
    pub text: String,
    /// How far it is.
    pub state: TodoState,
}

/// How far something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TodoState {
    /// Not begun.
    Open,
    /// Begun.
    Begun,
    /// Done.
    Done,
}

/// Somebody who does a part of the work. What is absent is taken from the role, then from the parent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Child {
    /// What to call it.
    pub name: String,
    /// What it shall do.
    pub task: String,
    /// What it should know beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Which agent it is; its rights are cut to those of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// In which role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// A model, an alias or a tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// At most these tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// More words about who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// At most this many rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// At most this many tokens, in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// At most this many US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
    /// At most this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Whether it knows nothing of what is remembered.
    #[serde(default)]
    pub isolated: bool,
}

/// What a child is for, and so what it may do at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads and searches, in the vault and the web; changes nothing.
    Researcher,
    /// Reads and writes notes; nothing outside the vault.
    Creator,
    /// Works with what lies outside the vault; does not write notes.
    Operator,
    /// Asks the person and reads; changes nothing.
    Collector,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 4] = [Role::Researcher, Role::Creator, Role::Operator, Role::Collector];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Researcher => "researcher",
            Role::Creator => "creator",
            Role::Operator => "operator",
            Role::Collector => "collector",
        }
    }

    /// The groups of tools that it may have at most.
    pub fn groups(self) -> &'static [Group] {
        match self {
            Role::Researcher => &[Group::Read, Group::Vault, Group::Web, Group::Agent],
            Role::Creator => &[Group::Read, Group::Vault, Group::Edit, Group::Agent],
            Role::Operator => {
                &[Group::Read, Group::Vault, Group::Web, Group::Mcp, Group::Skill, Group::Agent]
            }
            Role::Collector => &[Group::Read, Group::Agent],
        }
    }
}
