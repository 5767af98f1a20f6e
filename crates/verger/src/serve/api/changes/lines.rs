//! How many lines a change added and removed in each of its files. What a checkpoint holds never changes, so it is counted once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use vault::store::record::Step;
use vault::view::CheckpointInfo;
use vault::{Change, View};

/// Files larger than this are not compared for a list.
const LARGEST: u64 = 128 * 1024;
/// Counts that are remembered at most.
const MOST: usize = 20_000;

/// Lines added and removed; none where nobody counted.
pub type Count = Option<(usize, usize)>;

/// Counts that were made before, by checkpoint and path.
#[derive(Default)]
pub struct Lines(Mutex<HashMap<(String, String), Count>>);

impl Lines {
    /// The counts of the first few steps of a checkpoint, in their order.
    pub fn of(&self, view: &View<'_>, info: &CheckpointInfo, few: usize) -> Vec<Count> {
        info.steps.iter().take(few).map(|step| self.one(view, info, step)).collect()
    }

    fn one(&self, view: &View<'_>, info: &CheckpointInfo, step: &Step) -> Count {
        let Step::Write { path, before, after } = step else { return None };
        let size = |side: &Option<vault::store::record::Side>| side.as_ref().map_or(0, |side| side.size);
        if size(before).max(size(after)) > LARGEST {
            return None;
        }
        let key = (info.id.clone(), path.as_str().to_owned());
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return *known;
        }
        let (before, after) = view.checkpoint_file(&info.id, path).ok()?;
        let change = Change::replace(path.clone(), before.unwrap_or_default(), after.unwrap_or_default());
        let count = change.texts().is_some().then(|| change.lines());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, count);
        count
    }
}
