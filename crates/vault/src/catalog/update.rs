//! What has changed in the vault since the catalog last looked. Looking needs no write lock; taking it in does.

use std::collections::BTreeSet;

use super::info::FileInfo;
use super::intern::Interner;
use super::load::load;
use super::{Catalog, Visible};
use crate::error::{Error, Result};
use crate::files::{Entry, Files, Kind};
use crate::path::{VaultFolder, VaultPath};

/// Files read anew and paths that are gone.
#[derive(Debug, Default)]
pub struct Update {
    pub(super) found: Found,
    pub(super) loaded: Vec<FileInfo>,
}

impl Update {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        let found = &self.found;
        self.loaded.is_empty()
            && found.gone.is_empty()
            && found.gone_folders.is_empty()
            && found.folders.is_empty()
    }
}

/// What a look at the vault's entries has shown, before any file is read.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Files to read.
    pub(super) fresh: Vec<Entry>,
    /// Files that the catalog knows and that are there no more.
    pub(super) gone: Vec<VaultPath>,
    /// Folders that the catalog does not know.
    pub(super) folders: Vec<VaultPath>,
    /// Folders that are there no more.
    pub(super) gone_folders: Vec<VaultPath>,
}

impl Catalog {
    /// Reads these paths anew; folders stand for all that is in them.
    pub fn look_at(&self, files: &dyn Files, changed: &[VaultPath]) -> Result<Update> {
        let mut found = Found::default();
        let distinct: BTreeSet<&VaultPath> = changed.iter().filter(|path| !path.is_hidden()).collect();
        // A folder is walked with all that is in it. Walking those inside again, each with its own inside, would take
        // minutes for a few hundred new folders in each other, and whoever writes would wait for it.
        let mut walked: BTreeSet<VaultPath> = BTreeSet::new();
        for path in distinct {
            match stat(files, path)? {
                None => found.missing(self, files, path)?,
                Some(entry) if entry.kind == Kind::Folder => {
                    if !is_below(&walked, path) {
                        found.present(self, files, entry)?;
                    }
                    walked.insert(path.clone());
                }
                Some(entry) => found.present(self, files, entry)?,
            }
        }
        Ok(found.into_update(self, files))
    }

    /// Walks the vault and reads every file whose size, time or number differs.
    pub fn look_at_all(&self, files: &dyn Files) -> Result<Update> {
        Ok(Found::whole_vault(self, files)?.into_update(self, files))
    }
}

fn is_below(folders: &BTreeSet<VaultPath>, path: &VaultPath) -> bool {
    let mut above = path.parent().path().cloned();
    while let Some(folder) = above {
        if folders.contains(&folder) {
            return true;
        }
        above = folder.parent().path().cloned();
    }
    false
}

/// What lies at a path, where links, pipes and devices are nothing, as they are to a walk.
fn stat(files: &dyn Files, path: &VaultPath) -> Result<Option<Entry>> {
    match files.stat(path) {
        Err(
            Error::Symlink { .. } | Error::Special { .. } | Error::NotAFolder { .. } | Error::Missing { .. },
        ) => Ok(None),
        other => other,
    }
}

impl Found {
    pub(super) fn whole_vault(catalog: &Catalog, files: &dyn Files) -> Result<Found> {
        let mut found = Found::default();
        found.compare(catalog, &VaultFolder::root(), |each| files.walk(each))?;
        Ok(found)
    }

    pub(super) fn load(&self, files: &dyn Files, interner: &Interner, take: impl FnMut(FileInfo)) {
        load(files, &self.fresh, interner, take);
    }

    /// Reads the files. What turns out to be as it was known is left out, so that the echo of our own write by the
    /// watcher is no change; so is what was never known and is gone.
    fn into_update(mut self, catalog: &Catalog, files: &dyn Files) -> Update {
        let mut loaded = Vec::with_capacity(self.fresh.len());
        self.load(files, &catalog.interner, |info| {
            if catalog.get(&info.path, Visible::all()) != Some(&info) {
                loaded.push(info);
            }
        });
        self.gone.retain(|path| catalog.known(path).is_some());
        self.gone_folders.retain(|path| catalog.folders.contains(path));
        Update { found: self, loaded }
    }

    /// Compares a walk below `folder` with what the catalog knows there.
    fn compare(
        &mut self,
        catalog: &Catalog,
        folder: &VaultFolder,
        walk: impl FnOnce(&mut dyn FnMut(Entry)) -> Result<()>,
    ) -> Result<()> {
        let mut seen = BTreeSet::new();
        walk(&mut |entry| {
            if entry.path.is_hidden() {
                return;
            }
            seen.insert(entry.path.clone());
            match entry.kind {
                Kind::Folder => self.see_folder(catalog, entry.path),
                Kind::File if catalog.differs(&entry) => self.fresh.push(entry),
                Kind::File => {}
            }
        })?;
        let files = catalog.files_in(folder, Visible::all()).map(|info| &info.path);
        self.gone.extend(files.filter(|path| !seen.contains(*path)).cloned());
        let folders = catalog.folders.iter().filter(|path| path.is_in(folder));
        self.gone_folders.extend(folders.filter(|path| !seen.contains(*path)).cloned());
        self.settle_kinds(catalog);
        Ok(())
    }

    /// A path that was a file and is a folder now (or the other way round) is seen, but its old self is gone.
    fn settle_kinds(&mut self, catalog: &Catalog) {
        self.gone.extend(self.folders.iter().filter(|path| catalog.known(path).is_some()).cloned());
        let fresh = self.fresh.iter().map(|entry| &entry.path);
        self.gone_folders.extend(fresh.filter(|path| catalog.folders.contains(*path)).cloned());
    }

    fn see_folder(&mut self, catalog: &Catalog, path: VaultPath) {
        if !catalog.folders.contains(&path) {
            self.folders.push(path);
        }
    }

    fn see_folders_above(&mut self, catalog: &Catalog, path: &VaultPath) {
        let mut above = path.parent();
        while let Some(folder) = above.path().cloned() {
            above = folder.parent();
            self.see_folder(catalog, folder);
        }
    }

    fn present(&mut self, catalog: &Catalog, files: &dyn Files, entry: Entry) -> Result<()> {
        self.see_folders_above(catalog, &entry.path);
        let folder = VaultFolder::from(entry.path.clone());
        match entry.kind {
            Kind::Folder => {
                self.see_folder(catalog, entry.path);
                self.compare(catalog, &folder, |each| files.walk_in(&folder, each))
            }
            Kind::File => {
                self.forget_below(catalog, &folder);
                self.fresh.push(entry);
                self.settle_kinds(catalog);
                Ok(())
            }
        }
    }

    /// Nothing there any more; the folders above may have gone with it, or be new.
    fn missing(&mut self, catalog: &Catalog, files: &dyn Files, path: &VaultPath) -> Result<()> {
        let mut gone = path.clone();
        loop {
            self.gone.push(gone.clone());
            self.gone_folders.push(gone.clone());
            self.forget_below(catalog, &gone.clone().into());
            let Some(above) = gone.parent().path().cloned() else { return Ok(()) };
            match stat(files, &above)? {
                None => gone = above,
                Some(entry) if entry.kind == Kind::Folder => {
                    self.see_folders_above(catalog, &gone);
                    return Ok(());
                }
                Some(_) => return Ok(()),
            }
        }
    }

    fn forget_below(&mut self, catalog: &Catalog, folder: &VaultFolder) {
        self.gone.extend(catalog.files_in(folder, Visible::all()).map(|info| info.path.clone()));
        self.gone_folders.extend(catalog.folders_in(folder).cloned());
    }
}

impl Catalog {
    fn differs(&self, entry: &Entry) -> bool {
        self.known(&entry.path).is_none_or(|info| info.stat != entry.stat || info.is_unreadable())
    }

    fn folders_in<'a>(&'a self, folder: &'a VaultFolder) -> impl Iterator<Item = &'a VaultPath> {
        self.folders.iter().filter(move |path| path.is_in(folder))
    }
}
