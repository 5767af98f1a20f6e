//! The last few changes of the catalog: enough for a remembered answer to be brought up to date instead of counted anew.
//!
//! [`super::remembered`] asks what has changed since its answer was given. Where that is too much, or too long ago to be
//! known, the answer is forgotten. Deliberately not here: what has become of a file, which the catalog itself knows.

use std::collections::VecDeque;

use super::info::{FileInfo, TagInfo};
use super::keys::Id;
use crate::path::VaultPath;

/// So many changes are kept; after more, counting anew is not much slower.
const MOST: usize = 64;

/// Changes by the generation that they led to.
#[derive(Debug, Default)]
pub(super) struct Changes {
    log: VecDeque<(u64, Changed)>,
    /// All changes behind this generation are in the log.
    since: u64,
}

/// A place of the catalog with something else in it than before.
#[derive(Debug)]
pub(super) struct Changed {
    /// The place.
    pub(super) id: Id,
    /// What was there, if anything was.
    pub(super) old: Option<Old>,
}

/// What was known of a file.
#[derive(Debug)]
pub(super) struct Old {
    /// Its path.
    pub(super) path: VaultPath,
    /// Its tags.
    pub(super) tags: Box<[TagInfo]>,
}

impl Changes {
    /// A place was filled, or is about to be emptied of what was in it.
    pub(super) fn add(&mut self, generation: u64, id: Id, old: Option<FileInfo>) {
        let old = old.map(|info| Old { path: info.path, tags: info.tags });
        self.log.push_back((generation, Changed { id, old }));
        if self.log.len() > MOST
            && let Some((generation, _)) = self.log.pop_front()
        {
            self.since = generation;
        }
    }

    /// Everything is another now.
    pub(super) fn all(&mut self, generation: u64) {
        self.log.clear();
        self.since = generation;
    }

    /// The places that have changed behind a generation, each once with what was there then; `None` if that is not known.
    pub(super) fn behind(&self, generation: u64) -> Option<Vec<&Changed>> {
        if generation < self.since {
            return None;
        }
        let mut out: Vec<&Changed> = Vec::new();
        for (_, changed) in self.log.iter().filter(|(then, _)| *then > generation) {
            if out.iter().all(|known| known.id != changed.id) {
                out.push(changed);
            }
        }
        Some(out)
    }
}
