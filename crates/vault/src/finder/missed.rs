//! What changes while a cache is being opened. Opening walks the vault and takes its time; a note that changes behind the
//! walk would be told to nobody, because the cache is not there yet. It is kept here and looked at when the cache is.

use std::sync::{Mutex, PoisonError};

use crate::path::VaultPath;

/// More paths than this are looked at by another walk.
const MOST: usize = 10_000;

/// Changes that nobody has taken in yet.
#[derive(Default)]
pub(super) struct Missed(Mutex<Option<Changed>>);

/// Paths to look at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Changed {
    /// None.
    #[default]
    Nothing,
    /// These.
    Paths(Vec<VaultPath>),
    /// Every one.
    All,
}

impl Missed {
    /// From now on changes are kept.
    pub fn start(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Changed::default());
    }

    /// What has been kept. The cache must be in its place by now: from here on it is told itself.
    pub fn end(&self) -> Changed {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    /// The cache, if it is in its place; if not, the paths (`None` for all) are kept for it.
    pub fn cache_or_keep<'a, T>(
        &self,
        paths: Option<&[VaultPath]>,
        cache: impl FnOnce() -> Option<&'a T>,
    ) -> Option<&'a T> {
        // The lock is taken first. Whoever finds no cache here is heard by `end`, which comes after it was put there.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cache();
        if found.is_none()
            && let Some(kept) = kept.as_mut()
        {
            kept.add(paths);
        }
        found
    }
}

impl Changed {
    fn add(&mut self, paths: Option<&[VaultPath]>) {
        let known = match std::mem::take(self) {
            Changed::Nothing => Some(Vec::new()),
            Changed::Paths(known) => Some(known),
            Changed::All => None,
        };
        *self = match (known, paths) {
            (Some(mut known), Some(paths)) if known.len() + paths.len() <= MOST => {
                known.extend(paths.iter().cloned());
                Changed::Paths(known)
            }
            _ => Changed::All,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_kept_only_while_the_cache_is_missing() {
        let path = VaultPath::parse("a.md").unwrap();
        let paths = std::slice::from_ref(&path);
        let missed = Missed::default();
        assert_eq!(missed.cache_or_keep(Some(paths), || None::<&u8>), None);
        assert_eq!(missed.end(), Changed::Nothing, "nobody is opening anything");
        missed.start();
        missed.cache_or_keep(Some(paths), || None::<&u8>);
        assert_eq!(missed.cache_or_keep(Some(paths), || Some(&7)), Some(&7));
        assert_eq!(missed.end(), Changed::Paths(vec![path.clone()]));
        missed.start();
        missed.cache_or_keep(Some(&vec![path.clone(); MOST + 1]), || None::<&u8>);
        missed.cache_or_keep(Some(paths), || None::<&u8>);
        assert_eq!(missed.end(), Changed::All);
    }
}
