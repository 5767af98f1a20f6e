//! The catalog that a running program shares: many readers, refreshed by our own writes and by the watcher.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use super::{Catalog, Update};
use crate::error::Result;
use crate::files::{Entry, Files, Walked};
use crate::finder::{Patient, Turns};
use crate::path::VaultPath;

/// A shared catalog with the files that it describes.
pub struct Live {
    files: Arc<dyn Files>,
    catalog: RwLock<Catalog>,
    // One look at a time: of two looks at one path the later must also be taken in later.
    looking: Mutex<()>,
}

impl Live {
    /// Reads the vault.
    pub fn build(files: Arc<dyn Files>) -> Result<Live> {
        let catalog = Catalog::build(&*files)?;
        Ok(Live::of(files, catalog))
    }

    /// The same, while others go first.
    pub(crate) fn build_in_turn(files: Arc<dyn Files>, turns: &Turns) -> Result<Live> {
        let catalog = Catalog::build(&Patient { files: &*files, turns })?;
        Ok(Live::of(files, catalog))
    }

    /// Shares a catalog of these files.
    pub(super) fn of(files: Arc<dyn Files>, catalog: Catalog) -> Live {
        Live { files, catalog: RwLock::new(catalog), looking: Mutex::new(()) }
    }

    /// The catalog as it is now. Readers do not wait for files to be read, only for results to be put in.
    pub fn read(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files that the catalog describes.
    pub fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    /// Looks again at these paths. Whoever has written calls this before answering, so the next reader sees it.
    pub fn refresh(&self, changed: &[VaultPath]) -> Result<()> {
        self.take_in(|catalog, files| catalog.look_at(files, changed))
    }

    /// Looks again at whatever differs in size, time or number.
    pub fn refresh_all(&self) -> Result<()> {
        self.take_in(|catalog, files| catalog.look_at_all(files))
    }

    /// The same, and what the walk for it has seen. Whoever uses that must have kept others from changing what they compare
    /// with it since before the call.
    pub(crate) fn refresh_all_and_say(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        self.take_in(|catalog, files| {
            let walked = Walked::new(files)?;
            let update = catalog.look_at_all(&walked)?;
            entries = walked.into_entries();
            Ok(update)
        })?;
        Ok(entries)
    }

    fn take_in(&self, look: impl FnOnce(&Catalog, &dyn Files) -> Result<Update>) -> Result<()> {
        let _one_at_a_time = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let update = look(&self.read(), &*self.files)?;
        // Readers are not stopped for nothing.
        if !update.is_empty() {
            self.catalog.write().unwrap_or_else(PoisonError::into_inner).apply(update);
        }
        Ok(())
    }
}
