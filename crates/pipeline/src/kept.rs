//! What a person keeps from a conversation: which answers they want to see before a model does, and the notes that they
//! have kept private. Shared by a conversation and its children, like the ledger.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use vault::VaultPath;
use vault::policy::Hidden;

/// Which answers a person wants to see before a model does. The default is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Review {
    /// Those that hold text of notes.
    pub reads: bool,
    /// Those that list what a search found.
    pub results: bool,
}

impl Review {
    /// Whether there are any.
    pub fn is_on(self) -> bool {
        self.reads || self.results
    }
}

/// What a question of a review is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sharing {
    /// Text of notes.
    Reads,
    /// Rows of a search.
    Results,
    /// Whatever a tool answers that does not say of what notes it tells.
    Unsaid,
}

/// The notes that a person has kept private in a conversation. They only become more.
#[derive(Debug, Default)]
pub struct Kept {
    state: Mutex<State>,
    /// Whoever reviews holds it: what one answer hides must not be in the next question.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    paths: BTreeSet<VaultPath>,
    /// The same for a scope.
    hidden: Option<Arc<Hidden>>,
    /// Tasks in which nobody wants to be asked again.
    spared: BTreeSet<(String, Sharing)>,
}

impl Kept {
    /// Keeps these notes private from now on.
    pub fn keep(&self, paths: impl IntoIterator<Item = VaultPath>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.paths.len();
        state.paths.extend(paths);
        if state.paths.len() > before {
            state.hidden = Hidden::new(&state.paths);
        }
    }

    /// All of them.
    pub fn paths(&self) -> Vec<VaultPath> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).paths.iter().cloned().collect()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).paths.len()
    }

    pub(crate) fn hidden(&self) -> Option<Arc<Hidden>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).hidden.clone()
    }

    pub(crate) fn spare(&self, task: &str, sharing: Sharing) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.spared.insert((task.to_owned(), sharing));
    }

    pub(crate) fn is_spared(&self, task: &str, sharing: Sharing) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.spared.iter().any(|(spared, of)| spared == task && *of == sharing)
    }
}
