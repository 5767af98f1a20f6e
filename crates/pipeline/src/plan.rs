//! What a tool returns: a plan. Only the road carries it out.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use vault::Change;

use crate::refusal::Refusal;

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
        Output { text: text.into(), data: serde_json::to_value(data).unwrap_or(Value::Null), source: None }
    }

    /// The same with data that is a tree already: it need not be made again.
    pub fn of(text: impl Into<String>, data: Value) -> Output {
        Output { text: text.into(), data, source: None }
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
    /// Behind a lock only so that an action can be looked at by several threads; it is fired once, by its owner.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "control")]
pub enum Control {
    /// These deferred tools may be called from now on in this task.
    Activate {
        /// Their names.
        tools: Vec<String>,
    },
}
