//! Texts that stand in many notes (tags, link targets, property names, short headings and values), kept once.
//!
//! Asked by the threads that parse, with the text where it stands in the note: what is known already is not copied first.

use crate::text::Text;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Longer texts than this are mostly written once, and then the table costs more than it saves.
const SHORT: usize = 16;
/// So many tables, each with its own lock, so that threads seldom wait for each other.
const TABLES: usize = 32;

/// The shared texts. Two shared texts are equal exactly when they are the same allocation.
#[derive(Debug)]
pub(super) struct Interner {
    tables: [Mutex<HashSet<Text>>; TABLES],
}

impl Default for Interner {
    fn default() -> Interner {
        Interner { tables: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl Interner {
    /// The shared copy of a text.
    pub(super) fn shared(&self, text: &str) -> Text {
        let mut table = self.table(text).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = table.get(text) {
            return Text::clone(shared);
        }
        let shared: Text = text.into();
        table.insert(Text::clone(&shared));
        shared
    }

    /// The same for texts that recur only if they are short: headings like `Tasks`, values like `draft`.
    pub(super) fn shared_if_short(&self, text: &str) -> Text {
        if text.len() <= SHORT { self.shared(text) } else { text.into() }
    }

    /// Forgets what nobody else holds any more.
    pub(super) fn sweep(&self) {
        for table in &self.tables {
            let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
            table.retain(|text| Text::strong_count(text).is_none_or(|holders| holders > 1));
        }
    }

    fn table(&self, text: &str) -> &Mutex<HashSet<Text>> {
        let bytes = text.as_bytes();
        let byte = |at: usize| bytes.get(at).copied().map_or(0, usize::from);
        &self.tables[(bytes.len() + byte(0) + 3 * byte(bytes.len() / 2)) % TABLES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_become_one_and_unused_ones_go() {
        let interner = Interner::default();
        let (one, other) = (interner.shared("tag"), interner.shared_if_short("tag"));
        assert!(Text::ptr_eq(&one, &other));
        drop((one, other));
        interner.sweep();
        assert!(interner.tables.iter().all(|table| table.lock().unwrap().is_empty()));
    }
}
