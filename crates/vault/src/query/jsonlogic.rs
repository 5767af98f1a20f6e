//! JSONLogic over notes: a rule is JSON, a note is data, and the note is a hit where the rule's result is not empty.
//!
//! Called by the search tools. Values behave as in JavaScript (`"1" == 1`); `glob` and `regexp` are added. An operator
//! that does not exist is an error, never a silent miss. Bounded in depth and steps; patterns run in linear time.

mod coerce;
mod operators;
mod place;
mod search;
mod wants;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use regex::Regex;
use serde_json::{Map, Value as Json};

use super::dql::pattern;
pub use place::Place;
pub use search::{Hit, search};

/// How deep a rule may be nested.
const DEEPEST: u32 = 64;
/// Steps of work for one note: an operator, or sixteen bytes that are copied.
const MOST_STEPS: u64 = 1_000_000;
/// Steps for all notes together.
const MOST_STEPS_IN_ALL: u64 = 100_000_000;
/// How many compiled patterns are kept.
const MOST_PATTERNS: usize = 64;

/// Why a rule has no result.
#[derive(Debug, thiserror::Error)]
pub enum LogicError {
    /// No such operator.
    #[error("there is no operator `{name}`{place}\nThere are: {known}")]
    UnknownOperator {
        /// What was written.
        name: String,
        /// What could be.
        known: &'static str,
        /// Where it stands.
        place: Place,
    },
    /// A pattern that cannot be used.
    #[error(
        "`{pattern}` is not a pattern that can be used; look-around and back-references are not supported{place}"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Where it stands.
        place: Place,
    },
    /// Too much nesting.
    #[error("the rule is nested deeper than {DEEPEST}{place}")]
    TooDeep {
        /// Where it becomes too deep.
        place: Place,
    },
    /// Too much work.
    #[error(
        "the rule takes more than {MOST_STEPS} steps for one note, or {MOST_STEPS_IN_ALL} for all; make it smaller"
    )]
    TooLarge,
    /// The vault could not be read.
    #[error(transparent)]
    Vault(#[from] crate::Error),
}

/// The result of a rule on data.
pub fn evaluate(rule: &Json, data: &Json) -> Result<Json, LogicError> {
    Logic::default().run(rule, data)
}

impl LogicError {
    /// The same, with the place in the rule.
    fn placed(self, rule: &Json) -> LogicError {
        match self {
            LogicError::UnknownOperator { name, known, .. } => {
                let place = Place::of(rule, |operator, _| operator == name);
                LogicError::UnknownOperator { name, known, place }
            }
            LogicError::Pattern { pattern, .. } => {
                let written = Json::from(pattern.as_str());
                let is_it = |operator: &str, values: &Json| {
                    operator == "regexp" && (values.get(0) == Some(&written) || *values == written)
                };
                let place = Place::of(rule, is_it);
                LogicError::Pattern { pattern, place }
            }
            LogicError::TooDeep { .. } => LogicError::TooDeep { place: Place::deeper_than(rule, DEEPEST) },
            other => other,
        }
    }
}

/// Whether a result makes a note a hit: not null, false, 0, empty text, list or object.
pub fn is_hit(result: &Json) -> bool {
    match result {
        Json::Object(map) => !map.is_empty(),
        other => coerce::is_truthy(other),
    }
}

/// Computes rules; keeps the patterns that it compiled.
#[derive(Default)]
pub(crate) struct Logic {
    steps: Cell<u64>,
    before: Cell<u64>,
    depth: Cell<u32>,
    patterns: RefCell<HashMap<String, Option<Arc<Regex>>>>,
}

impl Logic {
    /// One rule on one note, with fresh limits.
    pub(crate) fn run(&self, rule: &Json, data: &Json) -> Result<Json, LogicError> {
        self.before.set(self.before.get() + self.steps.replace(0));
        self.depth.set(0);
        self.apply(rule, data).map_err(|error| error.placed(rule))
    }

    /// Counts work.
    fn charge(&self, steps: usize) -> Result<(), LogicError> {
        let sum = self.steps.get().saturating_add(steps as u64);
        self.steps.set(sum);
        if sum > MOST_STEPS || self.before.get() + sum > MOST_STEPS_IN_ALL {
            return Err(LogicError::TooLarge);
        }
        Ok(())
    }

    fn apply(&self, rule: &Json, data: &Json) -> Result<Json, LogicError> {
        self.charge(1)?;
        if self.depth.get() >= DEEPEST {
            return Err(LogicError::TooDeep { place: Place::default() });
        }
        self.depth.set(self.depth.get() + 1);
        let found = self.apply_here(rule, data);
        self.depth.set(self.depth.get() - 1);
        found
    }

    fn apply_here(&self, rule: &Json, data: &Json) -> Result<Json, LogicError> {
        if let Json::Array(items) = rule {
            return items.iter().map(|item| self.apply(item, data)).collect();
        }
        // Only an object with one key is an operator; all other values stand for themselves.
        let Some((name, values)) =
            rule.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next())
        else {
            return Ok(rule.clone());
        };
        let single;
        let values: &[Json] = match values {
            Json::Array(values) => values,
            other => {
                single = [other.clone()];
                &single
            }
        };
        match name.as_str() {
            "if" | "?:" => self.choose(values, data),
            "and" | "or" => self.connect(name, values, data),
            "filter" | "map" | "reduce" | "all" | "none" | "some" => self.over_list(name, values, data),
            _ => {
                let values: Vec<Json> =
                    values.iter().map(|value| self.apply(value, data)).collect::<Result<_, _>>()?;
                operators::apply(self, name, &values, data)
            }
        }
    }

    fn choose(&self, values: &[Json], data: &Json) -> Result<Json, LogicError> {
        let mut pairs = values.chunks_exact(2);
        for pair in pairs.by_ref() {
            if coerce::is_truthy(&self.apply(&pair[0], data)?) {
                return self.apply(&pair[1], data);
            }
        }
        match pairs.remainder() {
            [otherwise] => self.apply(otherwise, data),
            _ => Ok(Json::Null),
        }
    }

    fn connect(&self, name: &str, values: &[Json], data: &Json) -> Result<Json, LogicError> {
        let mut last = Json::Null;
        for value in values {
            last = self.apply(value, data)?;
            if coerce::is_truthy(&last) == (name == "or") {
                return Ok(last);
            }
        }
        Ok(last)
    }

    fn over_list(&self, name: &str, values: &[Json], data: &Json) -> Result<Json, LogicError> {
        let nothing = Json::Null;
        let list = self.apply(values.first().unwrap_or(&nothing), data)?;
        let rule = values.get(1).unwrap_or(&nothing);
        let items = match list {
            Json::Array(items) => items,
            _ => Vec::new(),
        };
        match name {
            "map" => items.iter().map(|item| self.apply(rule, item)).collect(),
            "filter" => {
                let mut kept = Vec::new();
                for item in items {
                    if coerce::is_truthy(&self.apply(rule, &item)?) {
                        kept.push(item);
                    }
                }
                Ok(Json::Array(kept))
            }
            "reduce" => {
                let mut sum = self.apply(values.get(2).unwrap_or(&nothing), data)?;
                for item in items {
                    self.charge(operators::weight(&sum))?;
                    let mut both = Map::new();
                    both.insert("current".to_owned(), item);
                    both.insert("accumulator".to_owned(), sum);
                    sum = self.apply(rule, &Json::Object(both))?;
                }
                Ok(sum)
            }
            _ => {
                let wanted = name != "all";
                for item in &items {
                    if coerce::is_truthy(&self.apply(rule, item)?) == wanted {
                        return Ok(Json::Bool(name == "some"));
                    }
                }
                Ok(Json::Bool(name == "none" || name == "all" && !items.is_empty()))
            }
        }
    }

    fn pattern(&self, text: &str) -> Result<Arc<Regex>, LogicError> {
        let mut patterns = self.patterns.borrow_mut();
        if !patterns.contains_key(text) {
            // Compiling is the dearest step there is, and a pattern may come from the notes.
            self.charge(10_000)?;
            if patterns.len() >= MOST_PATTERNS {
                patterns.clear();
            }
        }
        let known = patterns.entry(text.to_owned()).or_insert_with(|| pattern::compile(text).map(Arc::new));
        known.clone().ok_or_else(|| LogicError::Pattern { pattern: text.to_owned(), place: Place::default() })
    }
}

#[cfg(test)]
mod tests;
