//! What a turn may cost: rounds, time, tokens, money, mistakes. Children spend out of their parent's purse, too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use llm::chat::Usage;
use serde::{Deserialize, Serialize};

use crate::conversation::Spent;
use crate::step::Over;

/// How much one turn may take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Answers of the model.
    pub rounds: u32,
    /// Time, without the time in which a person was asked.
    pub time: Option<Duration>,
    /// Tokens in and out.
    pub tokens: Option<u64>,
    /// US dollars.
    pub dollars: Option<f64>,
    /// Mistakes in a row; 0: any number.
    pub mistakes: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { rounds: 25, time: None, tokens: None, dollars: None, mistakes: 3 }
    }
}

/// A purse. Whoever holds a clone spends from the same.
#[derive(Debug, Clone)]
pub struct Purse(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: Limits,
    started: Instant,
    state: Mutex<State>,
    parent: Option<Purse>,
}

#[derive(Debug, Default)]
struct State {
    spent: Spent,
    waited: Duration,
}

impl Purse {
    /// A purse of its own, from which `spent` is gone already (a turn that goes on after a crash).
    pub fn new(limits: Limits, spent: Spent) -> Purse {
        Purse(Arc::new(Inner {
            limits,
            started: Instant::now(),
            state: Mutex::new(State { spent, waited: Duration::ZERO }),
            parent: None,
        }))
    }

    /// A child's purse: what is taken out of it is missing in this one as well.
    #[must_use]
    pub fn child(&self, limits: Limits, spent: Spent) -> Purse {
        Purse(Arc::new(Inner {
            limits,
            started: Instant::now(),
            state: Mutex::new(State { spent, waited: Duration::ZERO }),
            parent: Some(self.clone()),
        }))
    }

    /// Its limits.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Takes out what an answer cost.
    pub fn spend(&self, usage: &Usage, dollars: Option<f64>) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).spent.add(usage, dollars);
        if let Some(parent) = &self.0.parent {
            parent.spend(usage, dollars);
        }
    }

    /// Time in which a person was asked does not count.
    pub fn waited(&self, how_long: Duration) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).waited += how_long;
        if let Some(parent) = &self.0.parent {
            parent.waited(how_long);
        }
    }

    /// What is used up, if something is: its own limits first, then those of whoever it works for.
    pub fn used_up(&self) -> Option<Over> {
        let limits = &self.0.limits;
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(limit) = limits.tokens.filter(|limit| state.spent.tokens() >= *limit) {
            return Some(Over::Tokens { limit });
        }
        if let Some(limit) = limits.dollars.filter(|limit| state.spent.dollars >= *limit) {
            return Some(Over::Money { limit: (limit * 10_000.0).round() as u64 });
        }
        let took = self.0.started.elapsed().saturating_sub(state.waited);
        if let Some(limit) = limits.time.filter(|limit| took >= *limit) {
            return Some(Over::Time { limit: limit.as_secs() });
        }
        drop(state);
        self.0.parent.as_ref().and_then(Purse::used_up)
    }

    /// How long it may still take, if that is limited.
    pub fn time_left(&self) -> Option<Duration> {
        let waited = self.0.state.lock().unwrap_or_else(PoisonError::into_inner).waited;
        let took = self.0.started.elapsed().saturating_sub(waited);
        let own = self.0.limits.time.map(|limit| limit.saturating_sub(took));
        let parent = self.0.parent.as_ref().and_then(Purse::time_left);
        match (own, parent) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Whether money is limited and cannot be counted, because the price is not known.
    pub fn needs_a_price(&self) -> bool {
        self.0.limits.dollars.is_some() || self.0.parent.as_ref().is_some_and(Purse::needs_a_price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_child_spends_is_missing_in_its_parent_s_purse() {
        let limits = |tokens, dollars| Limits { tokens, dollars, ..Limits::default() };
        let parent = Purse::new(limits(Some(100), None), Spent::default());
        let child = parent.child(limits(None, Some(0.5)), Spent::default());
        let usage = Usage { input: 60, ..Usage::default() };
        child.spend(&usage, Some(0.1));
        assert_eq!((parent.used_up(), child.used_up()), (None, None));
        parent.spend(&usage, None);
        assert_eq!(parent.used_up(), Some(Over::Tokens { limit: 100 }));
        assert_eq!(child.used_up(), Some(Over::Tokens { limit: 100 }), "a child ends with its parent");
        let other = Purse::new(limits(None, Some(0.5)), Spent::default());
        other.spend(&usage, Some(0.5));
        assert_eq!(other.used_up(), Some(Over::Money { limit: 5_000 }));
    }

    #[test]
    fn time_in_which_a_person_was_asked_does_not_count() {
        let limits = Limits { time: Some(Duration::from_millis(20)), ..Limits::default() };
        let purse = Purse::new(limits, Spent::default());
        std::thread::sleep(Duration::from_millis(25));
        assert!(purse.used_up().is_some());
        purse.waited(Duration::from_secs(1));
        assert!(purse.used_up().is_none());
    }
}
