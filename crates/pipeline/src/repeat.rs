//! Repetition: a model that calls the same thing again and again is told so, in a way that it can recover from.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::refusal::Refusal;

/// How many calls back it looks.
const WINDOW: usize = 15;
/// The same call, or searches that overlap, this many times in the window: the next one is refused.
const LIMIT: usize = 3;
/// Fields that only turn the page do not make a call a different one in spirit, but they make progress.
const PAGING: [&str; 6] = ["cursor", "offset", "limit", "page", "after", "range"];

/// The last calls of one task.
#[derive(Debug, Default)]
pub struct Repetition {
    calls: Mutex<VecDeque<Seen>>,
    minds: Minds,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Minds {
    #[default]
    Repetition,
    Nothing,
}

#[derive(Debug)]
struct Seen {
    name: u64,
    words: Option<BTreeSet<String>>,
}

/// A call as it is remembered once it has succeeded: made before its input is used up.
#[derive(Debug)]
pub struct Trace(Option<Seen>);

impl Repetition {
    /// For whoever may ask again whenever they like: nothing is refused or remembered.
    pub fn never_minded() -> Repetition {
        Repetition { minds: Minds::Nothing, ..Repetition::default() }
    }

    /// Refuses a call that was made too often lately.
    pub fn check(&self, tool: &str, input: &Value) -> Result<Trace, Refusal> {
        if self.minds == Minds::Nothing {
            return Ok(Trace(None));
        }
        let call = Seen { name: name(tool, input), words: search_words(input) };
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.iter().filter(|seen| seen.name == call.name).count() >= LIMIT {
            return Err(Refusal::new(
                "repeated_call",
                format!("`{tool}` was called {LIMIT} times with this very input lately"),
                "use the earlier answer, change the input, or do something else",
            ));
        }
        let Some(words) = call.words.as_ref().filter(|_| !is_paging(input)) else {
            return Ok(Trace(Some(call)));
        };
        let alike =
            calls.iter().filter(|seen| seen.words.as_ref().is_some_and(|other| overlap(words, other) > 0.5));
        if alike.count() >= LIMIT {
            return Err(Refusal::new(
                "repeated_search",
                format!("{LIMIT} searches with mostly the same words were made lately"),
                "read what they found, or search for something else",
            ));
        }
        Ok(Trace(Some(call)))
    }

    /// Remembers a call that succeeded.
    pub fn record(&self, trace: Trace) {
        let Some(call) = trace.0 else { return };
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push_back(call);
        if calls.len() > WINDOW {
            calls.pop_front();
        }
    }

    /// Forgets everything (another agent took over).
    pub fn reset(&self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn name(tool: &str, input: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    tool.hash(&mut hasher);
    hash_into(&mut hasher, input);
    hasher.finish()
}

/// Names an input, whatever the order of its keys. Two inputs of one name are as unlikely as nothing else here, and would cost
/// no more than a hint to do something else.
fn hash_into(hasher: &mut DefaultHasher, value: &Value) {
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Bool(yes) => (1u8, yes).hash(hasher),
        Value::Number(number) => (2u8, number).hash(hasher),
        Value::String(text) => (3u8, text).hash(hasher),
        Value::Array(list) => {
            (4u8, list.len()).hash(hasher);
            list.iter().for_each(|item| hash_into(hasher, item));
        }
        Value::Object(map) => {
            (5u8, map.len()).hash(hasher);
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            for (key, value) in entries {
                key.hash(hasher);
                hash_into(hasher, value);
            }
        }
    }
}

fn is_paging(input: &Value) -> bool {
    input.as_object().is_some_and(|map| map.keys().any(|key| PAGING.contains(&key.as_str())))
}

/// What a search looks for: the words of `query`, `pattern` and `tags`.
fn search_words(input: &Value) -> Option<BTreeSet<String>> {
    let mut words = BTreeSet::new();
    for field in ["query", "pattern", "tags"] {
        match input.get(field) {
            Some(Value::String(text)) => add_words(&mut words, text),
            Some(Value::Array(list)) => {
                list.iter().filter_map(Value::as_str).for_each(|text| add_words(&mut words, text))
            }
            _ => {}
        }
    }
    (!words.is_empty()).then_some(words)
}

fn add_words(words: &mut BTreeSet<String>, text: &str) {
    words.extend(
        text.to_lowercase().split_whitespace().filter(|word| word.chars().count() > 2).map(str::to_owned),
    );
}

fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(calls: &[(&str, Value)], next: (&str, Value)) -> Option<String> {
        let repetition = Repetition::default();
        for (tool, input) in calls {
            let call = Seen { name: name(tool, input), words: search_words(input) };
            repetition.record(Trace(Some(call)));
        }
        repetition.check(next.0, &next.1).err().map(|refusal| refusal.reason.into_owned())
    }

    #[test]
    fn the_fourth_identical_call_is_refused_whatever_the_order_of_keys() {
        let call = |a: Value| ("read_file", a);
        let three =
            vec![call(json!({"a": 1, "b": 2})), call(json!({"b": 2, "a": 1})), call(json!({"a": 1, "b": 2}))];
        assert_eq!(refused(&three, call(json!({"b": 2, "a": 1}))).as_deref(), Some("repeated_call"));
        assert_eq!(refused(&three[..2], call(json!({"b": 2, "a": 1}))), None);
        assert_eq!(refused(&three, call(json!({"a": 1, "b": 3}))), None);
        assert_eq!(refused(&three, call(json!({"a": "1", "b": 2}))), None);
        assert_eq!(refused(&three, ("read_note", json!({"a": 1, "b": 2}))), None);
    }

    #[test]
    fn whoever_may_ask_again_is_never_refused() {
        let repetition = Repetition::never_minded();
        for _ in 0..20 {
            repetition.record(repetition.check("read_file", &json!({"query": "garden tools"})).unwrap());
        }
    }

    #[test]
    fn calls_older_than_the_window_do_not_count() {
        let mut calls: Vec<_> = (0..3).map(|_| ("x", json!({"q": 1}))).collect();
        calls.extend((0..13).map(|n| ("y", json!({"n": n}))));
        assert_eq!(refused(&calls, ("x", json!({"q": 1}))), None);
    }

    #[test]
    fn searches_with_mostly_the_same_words_are_refused_across_tools() {
        let calls = vec![
            ("search_files", json!({"pattern": "garden tools shed"})),
            ("semantic_search", json!({"query": "tools garden shed list"})),
            ("search_by_tag", json!({"tags": ["garden", "tools", "shed"]})),
        ];
        assert_eq!(
            refused(&calls, ("search_files", json!({"pattern": "the garden tools shed"}))).as_deref(),
            Some("repeated_search")
        );
        assert_eq!(refused(&calls, ("search_files", json!({"pattern": "winter wheat"}))), None);
        assert_eq!(
            refused(&calls, ("search_files", json!({"pattern": "garden tools shed", "cursor": "x"}))),
            None
        );
    }
}
