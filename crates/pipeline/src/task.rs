//! One task: a conversation, a command, a scheduled run. What the road must remember between its calls.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use vault::policy::Limits;

use crate::kept::{Kept, Review};
use crate::ledger::Ledger;
use crate::registry::Rights;
use crate::repeat::Repetition;
use crate::results::Results;

/// A task and all that belongs to it.
#[derive(Debug)]
pub struct Task {
    /// Its name; checkpoints carry it, so that a whole task can be undone.
    pub id: String,
    /// The session (one run of the program) in which it happens.
    pub session: String,
    /// Who acts: an agent's slug, `cli`, an MCP client's name.
    pub agent: String,
    /// What it may call.
    pub rights: Rights,
    /// Where it may read and write, within the vault's own rules.
    pub limits: Limits,
    /// The three legs; a child has those of its parent.
    pub ledger: Arc<Ledger>,
    /// Its last calls.
    pub repetition: Repetition,
    /// Its long results.
    pub results: Arc<Results>,
    /// Which answers a person wants to see before a model does.
    pub review: Review,
    /// What they have kept private; a child has what its parent has.
    pub kept: Arc<Kept>,
    active: Mutex<BTreeSet<String>>,
}

impl Task {
    /// A new task with all rights.
    pub fn new(id: impl Into<String>, session: impl Into<String>, agent: impl Into<String>) -> Task {
        Task {
            id: id.into(),
            session: session.into(),
            agent: agent.into(),
            rights: Rights::all(),
            limits: Limits::default(),
            ledger: Arc::default(),
            repetition: Repetition::default(),
            results: Arc::default(),
            review: Review::default(),
            kept: Arc::default(),
            active: Mutex::new(BTreeSet::new()),
        }
    }

    /// Makes deferred tools callable in this task.
    pub fn activate(&self, tools: &[String]) {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).extend(tools.iter().cloned());
    }

    /// The deferred tools that were made callable.
    pub fn active(&self) -> Vec<String> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Whether a deferred tool was made callable.
    pub fn is_active(&self, tool: &str) -> bool {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).contains(tool)
    }
}
