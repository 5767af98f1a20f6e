//! Texts that stand in many notes (tags, link targets, property names, short headings and values), kept once.

use std::collections::HashSet;
use std::sync::Arc;

/// Longer texts than this are mostly written once, and then the table costs more than it saves.
const SHORT: usize = 16;

/// The shared texts. Two interned texts are equal exactly when they are the same allocation.
#[derive(Debug, Default)]
pub(super) struct Interner {
    texts: HashSet<Arc<str>>,
}

impl Interner {
    /// Puts the shared copy of the text in its place.
    pub(super) fn share(&mut self, text: &mut Arc<str>) {
        match self.texts.get(text) {
            Some(shared) => *text = shared.clone(),
            None => {
                self.texts.insert(text.clone());
            }
        }
    }

    /// The same for texts that recur only if they are short: headings like `Tasks`, values like `draft`.
    pub(super) fn share_short(&mut self, text: &mut Arc<str>) {
        if text.len() <= SHORT {
            self.share(text);
        }
    }

    /// Forgets what nobody else holds any more.
    pub(super) fn sweep(&mut self) {
        self.texts.retain(|text| Arc::strong_count(text) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_become_one_and_unused_ones_go() {
        let mut interner = Interner::default();
        let (mut one, mut other): (Arc<str>, Arc<str>) = ("tag".into(), "tag".into());
        interner.share(&mut one);
        interner.share(&mut other);
        assert!(Arc::ptr_eq(&one, &other));
        drop((one, other));
        interner.sweep();
        assert!(interner.texts.is_empty());
    }
}
