//! A look at the checkpoints, one after the other, without a copy of each: there may be very many, and most questions are
//! answered by the newest few. Called through [`crate::View::look_back`].

use std::ops::ControlFlow;

use crate::path::VaultPath;
use crate::store::log::LogEntry;
use crate::store::record::Ending;
use crate::view::{CheckpointInfo, View};

/// What is done with each checkpoint; a break ends the look. It must not ask the view or the vault meanwhile: they wait for the
/// same log.
pub type Each<'e> = dyn FnMut(&Glance<'_>) -> ControlFlow<()> + 'e;

/// A checkpoint at a glance. Only [`Glance::info`] and [`Glance::touches`] know what may be seen; the rest is for counting and
/// following, and is not to be shown of a checkpoint without info.
pub struct Glance<'l> {
    pub(crate) view: &'l View<'l>,
    pub(crate) entry: &'l LogEntry,
}

impl Glance<'_> {
    /// Its name.
    pub fn id(&self) -> &str {
        &self.entry.checkpoint.id
    }

    /// The task to which it belongs.
    pub fn task(&self) -> &str {
        &self.entry.checkpoint.task
    }

    /// The tool that planned it.
    pub fn tool(&self) -> &str {
        &self.entry.checkpoint.tool
    }

    /// Milliseconds since 1970.
    pub fn time_ms(&self) -> i64 {
        self.entry.checkpoint.time_ms
    }

    /// Whether its changes were made.
    pub fn took_effect(&self) -> bool {
        matches!(self.entry.ending, Some(Ending::Done | Ending::Finished))
    }

    /// Whether it touches this file, or something in this folder, where that may be seen.
    pub fn touches(&self, path: &VaultPath) -> bool {
        let folder = path.clone().into();
        let is_it = |touched: &VaultPath| touched == path || touched.is_in(&folder);
        let scope = self.view.scope();
        self.entry.checkpoint.steps.iter().any(|step| {
            step.paths().into_iter().any(is_it) && step.named().into_iter().all(|path| scope.may_read(path))
        })
    }

    /// The checkpoint as far as it may be seen; nothing if it may not.
    pub fn info(&self) -> Option<CheckpointInfo> {
        self.view.shown(self.entry)
    }

    /// What the caller kept with the commit.
    pub fn note(&self) -> Option<serde_json::Value> {
        self.entry.checkpoint.note.as_ref().map(crate::store::record::Kept::value)
    }
}
