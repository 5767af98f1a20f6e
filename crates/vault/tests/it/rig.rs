//! A vault in a temporary folder, and what the tests look at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use vault::change::{Change, Trash};
use vault::commit::{Commit, Receipt, new_id};
use vault::policy::{Limits, Rules, Scope};
use vault::{Error, Vault, VaultPath};

pub struct Rig {
    pub folder: tempfile::TempDir,
    pub vault: Vault,
}

pub fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

pub fn scope() -> Scope {
    Scope::new(Limits::default(), Rules::default())
}

impl Rig {
    pub fn new(files: &[(&str, &[u8])]) -> Rig {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let place = folder.path().join("vault").join(name);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, bytes).unwrap();
        }
        std::fs::create_dir_all(folder.path().join("vault")).unwrap();
        let vault = open(folder.path());
        Rig { folder, vault }
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("vault")
    }

    pub fn commit(&self, changes: &[Change]) -> Result<Receipt, Error> {
        self.commit_as("task", changes)
    }

    pub fn commit_as(&self, task: &str, changes: &[Change]) -> Result<Receipt, Error> {
        commit(&self.vault, task, changes)
    }

    pub fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        tree(&self.root())
    }

    pub fn reopen(self) -> Rig {
        let Rig { folder, vault } = self;
        drop(vault);
        let vault = open(folder.path());
        Rig { folder, vault }
    }

    pub fn stage_is_empty(&self) -> bool {
        std::fs::read_dir(self.folder.path().join("data/stage")).unwrap().next().is_none()
    }
}

pub fn open(folder: &Path) -> Vault {
    Vault::open(&folder.join("vault"), &folder.join("data")).unwrap()
}

pub fn commit(vault: &Vault, task: &str, changes: &[Change]) -> Result<Receipt, Error> {
    let id = new_id().unwrap();
    vault.commit(&Commit { changes, task, tool: "test", time_ms: 1_000, note: None, id })
}

pub fn create(name: &str, text: &str) -> Change {
    Change::create(path(name), text)
}

pub fn replace(name: &str, before: &str, after: &str) -> Change {
    Change::replace(path(name), before, after)
}

pub fn delete(name: &str, before: &str) -> Change {
    Change::Delete { path: path(name), before: before.as_bytes().into() }
}

pub fn mv(from: &str, to: &str) -> Change {
    Change::Move { from: path(from), to: path(to), trash: Trash::No }
}

/// Every file and folder (with a trailing slash) below a folder, hidden ones included.
pub fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if entry.file_type().unwrap().is_dir() {
                all.insert(format!("{name}/"), Vec::new());
                waiting.push(entry.path());
            } else {
                all.insert(name, std::fs::read(entry.path()).unwrap_or_default());
            }
        }
    }
    all
}
