//! What each asker may see, remembered from question to question: policy takes longer to ask than the index to answer.
//!
//! [`crate::view::View`] takes the memory that belongs to its scope. A memory is named by a hash of everything that decides
//! what may be read (the limits and the texts of the ignore files), and policy looks at nothing but the path. So a rule
//! that changes leads to another memory, and a note that comes, goes or moves is another path or another document.
//! `a_rule_that_changes_counts_at_once` and its neighbours in `tests/it/sights.rs` hold that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::catalog::Remembered;
use crate::index::Sight;
use crate::path::VaultPath;
use crate::policy::Scope;

/// Scopes that are remembered at once. An agent has one; the rest is for those who work side by side.
const MOST_SCOPES: usize = 8;
/// Paths that are remembered for one scope; more are asked about each time.
const MOST_PATHS: usize = 1 << 19;

/// The memories of a vault.
#[derive(Default)]
pub(crate) struct Sights {
    /// The one that was used last stands last.
    known: Mutex<Vec<Arc<Seen>>>,
}

/// What one scope lets see.
pub(crate) struct Seen {
    scope: [u8; 32],
    index: Sight,
    answers: Remembered,
    paths: RwLock<HashMap<VaultPath, bool>>,
}

impl Sights {
    /// The memory of a scope.
    pub fn of(&self, scope: &Scope) -> Arc<Seen> {
        let identity = scope.reading_identity();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|seen| seen.scope == identity);
        let seen = match place {
            Some(place) => known.remove(place),
            None => Arc::new(Seen {
                scope: identity,
                index: Sight::default(),
                answers: Remembered::default(),
                paths: RwLock::default(),
            }),
        };
        known.push(Arc::clone(&seen));
        if known.len() > MOST_SCOPES {
            known.remove(0);
        }
        seen
    }
}

impl Seen {
    /// What it knows of the documents of the index.
    pub fn index(&self) -> &Sight {
        &self.index
    }

    /// Answers of the catalog to this scope.
    pub fn answers(&self) -> &Remembered {
        &self.answers
    }

    /// Whether the scope, which must be the one of this memory, lets a path be read.
    pub fn sees(&self, scope: &Scope, path: &VaultPath) -> bool {
        let known = self.paths.read().unwrap_or_else(PoisonError::into_inner).get(path).copied();
        known.unwrap_or_else(|| {
            let may = scope.may_read(path);
            let mut paths = self.paths.write().unwrap_or_else(PoisonError::into_inner);
            if paths.len() < MOST_PATHS {
                paths.insert(path.clone(), may);
            }
            may
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Limits, Rules};

    fn scope(read: &str, ignore: &str) -> Scope {
        let limits = Limits { read: Limits::parse_list(read).unwrap(), ..Limits::default() };
        Scope::new(limits, Rules::parse(&[("ignore", ignore.to_owned())], &[]).unwrap())
    }

    #[test]
    fn scopes_that_differ_share_no_memory() {
        let sights = Sights::default();
        let rows = [("", ""), ("a", ""), ("a,b", ""), ("", "a"), ("", "a\n!a/b"), ("a", "a")];
        let all: Vec<Arc<Seen>> = rows.iter().map(|(read, ignore)| sights.of(&scope(read, ignore))).collect();
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| !Arc::ptr_eq(one, other)), "{:?}", rows[at]);
            assert!(Arc::ptr_eq(one, &sights.of(&scope(rows[at].0, rows[at].1))), "{:?}", rows[at]);
        }
    }

    #[test]
    fn only_so_many_scopes_are_remembered() {
        let sights = Sights::default();
        for number in 0..100 {
            sights.of(&scope("", &format!("x{number}")));
        }
        assert_eq!(sights.known.lock().unwrap().len(), MOST_SCOPES);
    }

    #[test]
    fn what_is_remembered_is_what_the_scope_says() {
        let (sights, scope) = (Sights::default(), scope("", "secret/"));
        let seen = sights.of(&scope);
        for _ in 0..2 {
            for (text, expected) in [("a.md", true), ("secret/a.md", false), ("Secret/b.md", false)] {
                assert_eq!(seen.sees(&scope, &VaultPath::parse(text).unwrap()), expected, "{text}");
            }
        }
    }
}
