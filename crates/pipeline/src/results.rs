//! Long results: what does not fit into one answer is kept for the task, and `read_result` turns the pages.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::refusal::Refusal;

/// How many characters of one answer a model gets at once.
pub const PAGE: usize = 20_000;
/// How many bytes of long results one task keeps; the oldest go first.
const KEPT: usize = 64 * 1024 * 1024;

/// The long results of one task.
#[derive(Debug, Default)]
pub struct Results(Mutex<Shelf>);

#[derive(Debug, Default)]
struct Shelf {
    next: u64,
    /// How many notes were kept private when the texts were put here.
    hidden: usize,
    texts: BTreeMap<u64, String>,
}

/// One page of a long result.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Page {
    /// The characters from `offset` on.
    pub text: String,
    /// Where it starts, in characters.
    pub offset: usize,
    /// How long the whole is, in characters.
    pub total: usize,
    /// Where the next page starts, if there is one.
    pub next: Option<usize>,
}

impl Results {
    /// The text as it is if it fits, else its first page and how to get the rest.
    pub fn present(&self, text: &str) -> String {
        if text.chars().nth(PAGE).is_none() {
            return text.to_owned();
        }
        let id = self.keep(text);
        let page = page(text, 0, PAGE);
        let next = page.next.unwrap_or(page.total);
        format!(
            "{}\n[{} of {} characters shown. The rest: read_result {{\"id\": \"{id}\", \"offset\": {next}}}]",
            page.text, next, page.total
        )
    }

    /// Keeps a text and returns its name.
    pub fn keep(&self, text: &str) -> String {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.next += 1;
        let id = shelf.next;
        shelf.texts.insert(id, text.to_owned());
        let mut bytes: usize = shelf.texts.values().map(String::len).sum();
        while bytes > KEPT && shelf.texts.len() > 1 {
            let Some((_, dropped)) = shelf.texts.pop_first() else { break };
            bytes -= dropped.len();
        }
        format!("r{id}")
    }

    /// Forgets what was put here before so many notes were kept private: one of them may be in it.
    pub(crate) fn forget_before(&self, hidden: usize) {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shelf.hidden != hidden {
            shelf.hidden = hidden;
            shelf.texts.clear();
        }
    }

    /// A page of a kept text.
    pub fn read(&self, id: &str, offset: usize, limit: usize) -> Result<Page, Refusal> {
        let shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = id
            .strip_prefix('r')
            .and_then(|number| number.parse().ok())
            .and_then(|id: u64| shelf.texts.get(&id));
        match text {
            Some(text) => Ok(page(text, offset, limit.clamp(1, PAGE))),
            None => Err(Refusal::new(
                "result_missing",
                format!("there is no kept result `{id}` in this task"),
                "call the tool again; long results are kept for one task only",
            )),
        }
    }
}

fn page(text: &str, offset: usize, limit: usize) -> Page {
    let total = text.chars().count();
    let piece: String = text.chars().skip(offset).take(limit).collect();
    let end = (offset + piece.chars().count()).min(total);
    Page { text: piece, offset, total, next: (end < total).then_some(end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_put_together_are_the_whole_text() {
        let results = Results::default();
        let text: String = ('a'..='z').cycle().take(PAGE * 2 + 5).chain("é😀".chars()).collect();
        let shown = results.present(&text);
        assert!(shown.contains("read_result {\"id\": \"r1\", \"offset\": 20000}"), "{}", &shown[PAGE..]);
        let mut whole = String::new();
        let mut at = Some(0);
        while let Some(offset) = at {
            let page = results.read("r1", offset, PAGE).unwrap();
            whole.push_str(&page.text);
            at = page.next;
        }
        assert_eq!(whole, text);
    }

    #[test]
    fn a_short_text_is_shown_as_it_is_and_an_unknown_id_is_refused() {
        let results = Results::default();
        assert_eq!(results.present("short"), "short");
        assert_eq!(results.read("r9", 0, 10).unwrap_err().reason, "result_missing");
        assert_eq!(results.read("../x", 0, 10).unwrap_err().reason, "result_missing");
    }
}
