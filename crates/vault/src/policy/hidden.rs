//! Notes that a person keeps from one conversation, whatever the vault's rules say.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::path::VaultPath;

/// Files that are not there for one conversation, each by its own path. Not empty, and shared: a scope is made in every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden(BTreeSet<String>);

impl Hidden {
    /// These files; `None` if there are none.
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p VaultPath>) -> Option<Arc<Hidden>> {
        let names: BTreeSet<String> = paths.into_iter().map(VaultPath::folded).collect();
        (!names.is_empty()).then(|| Arc::new(Hidden(names)))
    }

    /// Whether this file is one of them, also under another spelling that some file system takes for the same.
    pub fn holds(&self, path: &VaultPath) -> bool {
        self.0.contains(&path.folded())
    }

    /// Their folded names, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// What either of two hides.
pub(super) fn both(one: &Option<Arc<Hidden>>, other: &Option<Arc<Hidden>>) -> Option<Arc<Hidden>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Arc::new(Hidden(one.0.union(&other.0).cloned().collect()))),
        (Some(only), None) | (None, Some(only)) => Some(Arc::clone(only)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Limits, Rules, Scope};

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    fn scope(hidden: &[&str]) -> Scope {
        let paths: Vec<VaultPath> = hidden.iter().map(|text| path(text)).collect();
        Scope::new(Limits { hidden: Hidden::new(&paths), ..Limits::default() }, Rules::default())
    }

    #[test]
    fn a_note_that_is_kept_private_is_not_there_and_cannot_be_written() {
        let scope = scope(&["Diary/Mai.md"]);
        for (text, there) in [
            ("Diary/Mai.md", false),
            ("diary/MAI.md", false),
            ("Diary/Mai.md.md", true),
            ("Diary/Juni.md", true),
            ("Mai.md", true),
        ] {
            assert_eq!(scope.may_read(&path(text)), there, "{text}");
            assert_eq!(scope.check_write(&path(text)).is_ok(), there, "{text}");
        }
        assert!(scope.may_enter(&path("Diary")));
        assert!(!scope.hides_nothing());
        let error = scope.check_read(&path("Diary/Mai.md")).unwrap_err();
        assert!(
            matches!(error, crate::Error::Missing { .. }),
            "{error}: it must look like one that is not there"
        );
    }

    #[test]
    fn what_is_remembered_for_one_conversation_is_not_used_for_another() {
        let identity = |hidden: &[&str]| scope(hidden).reading_identity();
        assert_ne!(identity(&["a.md"]), identity(&[]));
        assert_ne!(identity(&["a.md"]), identity(&["b.md"]));
        assert_eq!(identity(&["a.md", "b.md"]), identity(&["b.md", "a.md"]));
    }

    #[test]
    fn narrowing_hides_what_either_hides() {
        let (one, other) = (scope(&["a.md"]), scope(&["b.md"]));
        let both = one.narrowed(other.limits());
        assert!(
            !both.may_read(&path("a.md")) && !both.may_read(&path("b.md")) && both.may_read(&path("c.md"))
        );
    }
}
