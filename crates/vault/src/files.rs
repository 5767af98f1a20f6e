//! What the catalog and the search need from a vault's files: walk them, stat one, read one.
//!
//! The disk layer implements [`Files`] for real vaults; [`MemoryFiles`] is the one-string fixture of the tests, here
//! and in the crates above. Deliberately not here: writing to a real vault, opening by handle, policy.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::path::{VaultFolder, VaultPath};

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
}

/// What tells one version of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stat {
    /// Bytes.
    pub size: u64,
    /// Last change, nanoseconds since 1970.
    pub modified_ns: i64,
    /// The file's number on its file system, mixed with the time of the last change of any kind: another one for a file that
    /// was replaced, and for one whose text was changed and whose modification time was set back.
    pub inode: u64,
}

/// One file or folder of the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it lies.
    pub path: VaultPath,
    /// What it is.
    pub kind: Kind,
    /// Its size, time and number.
    pub stat: Stat,
}

/// The vault's files, as the catalog reads them.
pub trait Files: Send + Sync {
    /// Calls `each` for every file and folder, in any order, without hidden (dot) folders.
    fn walk(&self, each: &mut dyn FnMut(Entry)) -> Result<()>;

    /// Like [`Files::walk`], for what lies in one folder, at any depth; nothing where there is no such folder.
    /// Worth overriding: this one walks the whole vault.
    fn walk_in(&self, folder: &VaultFolder, each: &mut dyn FnMut(Entry)) -> Result<()> {
        self.walk(&mut |entry| {
            if entry.path.is_in(folder) {
                each(entry);
            }
        })
    }

    /// The bytes of one file.
    fn read(&self, path: &VaultPath) -> Result<Vec<u8>>;

    /// What lies at a path now, if anything does.
    fn stat(&self, path: &VaultPath) -> Result<Option<Entry>>;
}

/// The vault's files with a walk that was made already, for several who would each make one.
pub(crate) struct Walked<'a> {
    files: &'a dyn Files,
    entries: Vec<Entry>,
}

impl<'a> Walked<'a> {
    /// Walks.
    pub(crate) fn new(files: &'a dyn Files) -> Result<Walked<'a>> {
        let mut entries = Vec::new();
        files.walk(&mut |entry| entries.push(entry))?;
        Ok(Walked { files, entries })
    }

    /// What the walk has seen.
    pub(crate) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

impl Files for Walked<'_> {
    fn walk(&self, each: &mut dyn FnMut(Entry)) -> Result<()> {
        self.entries.iter().cloned().for_each(each);
        Ok(())
    }

    fn read(&self, path: &VaultPath) -> Result<Vec<u8>> {
        self.files.read(path)
    }

    fn stat(&self, path: &VaultPath) -> Result<Option<Entry>> {
        self.files.stat(path)
    }
}

/// Somebody who sees what another reads anyway, so that a first build reads the vault once for both.
pub trait Witness: Sync {
    /// A walk over everything starts.
    fn start(&self);

    /// The next file is about to be read: a moment to let others go first.
    fn turn(&self) {}

    /// A folder lies here.
    fn folder(&self, path: VaultPath);

    /// A file lies here, with its bytes if they were read. Called by many threads, in no order.
    fn file(&self, entry: &Entry, bytes: Option<&[u8]>);

    /// That was everything.
    fn end(&self);
}

/// Nobody looks on.
pub struct Nobody;

impl Witness for Nobody {
    fn start(&self) {}

    fn folder(&self, _: VaultPath) {}

    fn file(&self, _: &Entry, _: Option<&[u8]>) {}

    fn end(&self) {}
}

/// A vault in memory, for tests. Every change gets a new time and a new number, as an atomic replace on disk does.
#[derive(Debug, Default)]
pub struct MemoryFiles {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    files: BTreeMap<VaultPath, (Vec<u8>, Stat)>,
    folders: BTreeMap<VaultPath, Stat>,
    changes: u32,
}

impl MemoryFiles {
    /// Reads a fixture: `a.md: # A\n[[b]]\n--- b.md: text`. A line `--- PATH: text` starts the next file, the line end
    /// in front of it is dropped, and so is one space or line end behind the colon. `Folder/:` is an empty folder.
    pub fn parse(fixture: &str) -> Result<MemoryFiles> {
        let memory = MemoryFiles::default();
        let fixture = fixture.strip_prefix("--- ").unwrap_or(fixture);
        for piece in fixture.split("\n--- ").filter(|piece| !piece.trim().is_empty()) {
            let (path, text) = piece.split_once(':').unwrap_or((piece, ""));
            let text = text.strip_prefix([' ', '\n']).unwrap_or(text);
            let parsed =
                VaultPath::parse(path).map_err(|error| Error::Path { text: path.to_owned(), error })?;
            match path.ends_with('/') {
                true => memory.make_folder(&parsed),
                false => memory.write(&parsed, text),
            }
        }
        Ok(memory)
    }

    /// Creates or replaces a file, with the folders on the way.
    pub fn write(&self, path: &VaultPath, bytes: impl AsRef<[u8]>) {
        let mut held = self.held();
        held.make_folders(path);
        let stat = held.next_stat(bytes.as_ref().len());
        held.files.insert(path.clone(), (bytes.as_ref().to_vec(), stat));
    }

    /// Creates a folder, with those on the way.
    pub fn make_folder(&self, path: &VaultPath) {
        let mut held = self.held();
        held.make_folders(path);
        let stat = held.next_stat(0);
        held.folders.entry(path.clone()).or_insert(stat);
    }

    /// Removes a file, or a folder with all that is in it.
    pub fn remove(&self, path: &VaultPath) {
        let mut held = self.held();
        let folder = VaultFolder::from(path.clone());
        held.files.retain(|at, _| at != path && !at.is_in(&folder));
        held.folders.retain(|at, _| at != path && !at.is_in(&folder));
    }

    /// Moves a file, or a folder with all that is in it; time and number stay, as on disk.
    pub fn rename(&self, from: &VaultPath, to: &VaultPath) {
        let mut held = self.held();
        held.make_folders(to);
        held.files = std::mem::take(&mut held.files)
            .into_iter()
            .map(|(at, file)| (moved(&at, from, to).unwrap_or(at), file))
            .collect();
        held.folders = std::mem::take(&mut held.folders)
            .into_iter()
            .map(|(at, stat)| (moved(&at, from, to).unwrap_or(at), stat))
            .collect();
    }

    /// Like [`Files::walk`], with hidden files: what a test writes to a real folder.
    pub fn walk_hidden_too(&self, each: &mut dyn FnMut(Entry)) {
        let held = self.held();
        held.folders.keys().chain(held.files.keys()).filter_map(|path| held.entry(path)).for_each(each);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where `at` lies after `from` has become `to`, if it moves at all.
fn moved(at: &VaultPath, from: &VaultPath, to: &VaultPath) -> Option<VaultPath> {
    let rest = at.as_str().strip_prefix(from.as_str())?;
    match rest.strip_prefix('/') {
        Some(below) => to.join(below).ok(),
        None if rest.is_empty() => Some(to.clone()),
        None => None,
    }
}

impl Held {
    fn next_stat(&mut self, size: usize) -> Stat {
        self.changes += 1;
        Stat { size: size as u64, modified_ns: i64::from(self.changes), inode: u64::from(self.changes) }
    }

    fn make_folders(&mut self, path: &VaultPath) {
        let mut folder = path.parent();
        while let Some(above) = folder.path().cloned() {
            let stat = self.next_stat(0);
            self.folders.entry(above.clone()).or_insert(stat);
            folder = above.parent();
        }
    }

    fn entry(&self, path: &VaultPath) -> Option<Entry> {
        let file = self.files.get(path).map(|(_, stat)| (Kind::File, *stat));
        let (kind, stat) = file.or_else(|| self.folders.get(path).map(|stat| (Kind::Folder, *stat)))?;
        Some(Entry { path: path.clone(), kind, stat })
    }
}

impl Files for MemoryFiles {
    fn walk(&self, each: &mut dyn FnMut(Entry)) -> Result<()> {
        let held = self.held();
        let paths = held.folders.keys().chain(held.files.keys()).filter(|path| !path.is_hidden());
        paths.filter_map(|path| held.entry(path)).for_each(each);
        Ok(())
    }

    fn read(&self, path: &VaultPath) -> Result<Vec<u8>> {
        let held = self.held();
        let file = held.files.get(path).map(|(bytes, _)| bytes.clone());
        file.ok_or_else(|| Error::Missing { path: path.clone(), near: Vec::new() })
    }

    fn stat(&self, path: &VaultPath) -> Result<Option<Entry>> {
        Ok(self.held().entry(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    fn listing(files: &MemoryFiles) -> Vec<String> {
        let mut out = Vec::new();
        files.walk(&mut |entry| out.push(format!("{:?} {}", entry.kind, entry.path))).unwrap();
        out
    }

    #[test]
    fn a_fixture_is_one_string() {
        let files =
            MemoryFiles::parse("a.md: # A\n[[b]]\n--- x/b.md:\n---\nk: v\n---\n--- e/:\n--- .h/c.md: no")
                .unwrap();
        assert_eq!(files.read(&path("a.md")).unwrap(), b"# A\n[[b]]");
        assert_eq!(files.read(&path("x/b.md")).unwrap(), b"---\nk: v\n---");
        assert_eq!(listing(&files), ["Folder e", "Folder x", "File a.md", "File x/b.md"]);
        assert!(MemoryFiles::parse("../a.md: x").is_err());
    }

    #[test]
    fn a_folder_moves_and_goes_with_what_is_in_it() {
        let files = MemoryFiles::parse("x/a.md: 1\n--- x/y/b.md: 2\n--- xz.md: 3").unwrap();
        let before = files.stat(&path("x/a.md")).unwrap().unwrap().stat;
        files.rename(&path("x"), &path("n/m"));
        assert_eq!(
            listing(&files),
            ["Folder n", "Folder n/m", "Folder n/m/y", "File n/m/a.md", "File n/m/y/b.md", "File xz.md"]
        );
        assert_eq!(files.stat(&path("n/m/a.md")).unwrap().unwrap().stat, before);
        files.remove(&path("n"));
        assert_eq!(listing(&files), ["File xz.md"]);
    }

    #[test]
    fn a_folder_is_walked_alone() {
        let files = MemoryFiles::parse("x/a.md: 1\n--- xz/b.md: 2").unwrap();
        let mut seen = Vec::new();
        files.walk_in(&path("x").into(), &mut |entry| seen.push(entry.path.to_string())).unwrap();
        assert_eq!(seen, ["x/a.md"]);
    }
}
