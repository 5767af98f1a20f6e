//! The vault's files as an embedding model may see them: without what the ignore rules hide from everybody.
//!
//! Used by the finder for the vectors. A text may leave the machine on its way to a model, so the rules are asked before
//! a note is read, not when a result is shown; rules that cannot be read let nothing through. With a model that is not
//! built in, the person's own limits hold too. A rule that was written a moment ago counts within a second.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::files::{Entry, Files};
use crate::path::{VaultFolder, VaultPath};
use crate::policy::{Limits, Scope};
use crate::vault::read_rules;

/// Rules older than this are read again.
const FRESH: Duration = Duration::from_secs(1);

pub(super) struct Shown {
    disk: Arc<Disk>,
    limits: Limits,
    scope: Mutex<Option<(Instant, Arc<Scope>)>>,
}

impl Shown {
    pub(super) fn new(disk: Arc<Disk>, limits: Limits) -> Shown {
        Shown { disk, limits, scope: Mutex::default() }
    }

    fn scope(&self) -> Result<Arc<Scope>> {
        let mut held = self.scope.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, scope)) = &*held
            && read.elapsed() < FRESH
        {
            return Ok(Arc::clone(scope));
        }
        let scope = Arc::new(Scope::new(self.limits.clone(), read_rules(&self.disk)?));
        *held = Some((Instant::now(), Arc::clone(&scope)));
        Ok(scope)
    }
}

/// Folders pass: what lies in them is judged by itself.
fn passes(scope: &Scope, entry: &Entry) -> bool {
    entry.kind == crate::files::Kind::Folder || scope.may_read(&entry.path)
}

impl Files for Shown {
    fn walk(&self, each: &mut dyn FnMut(Entry)) -> Result<()> {
        let scope = self.scope()?;
        self.disk.walk(&mut |entry| {
            if passes(&scope, &entry) {
                each(entry);
            }
        })
    }

    fn walk_in(&self, folder: &VaultFolder, each: &mut dyn FnMut(Entry)) -> Result<()> {
        let scope = self.scope()?;
        self.disk.walk_in(folder, &mut |entry| {
            if passes(&scope, &entry) {
                each(entry);
            }
        })
    }

    fn read(&self, path: &VaultPath) -> Result<Vec<u8>> {
        if !self.scope()?.may_read(path) {
            return Err(Error::Missing { path: path.clone(), near: Vec::new() });
        }
        self.disk.read(path)
    }

    fn stat(&self, path: &VaultPath) -> Result<Option<Entry>> {
        let scope = self.scope()?;
        Ok(self.disk.stat(path)?.filter(|entry| passes(&scope, entry)))
    }
}
