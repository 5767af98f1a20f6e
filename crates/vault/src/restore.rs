//! Taking back: from the log's commits to the changes that bring earlier bytes back.
//!
//! A restore is planned like every other edit: this module only says which changes would do it. It walks the chosen
//! commits from the newest to the oldest and takes each step back in a picture of the vault; what differs between
//! the picture and the disk at the end is the plan. So a task comes back to the earliest version of each file,
//! created files go, deleted ones return, and moves are moved back, whatever lay in between.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::{Change, Stamp, Trash};
use crate::disk::{Disk, LARGEST_FILE};
use crate::error::{Error, Result};
use crate::files::Kind;
use crate::path::{VaultFolder, VaultPath};
use crate::store::Store;
use crate::store::blob::Hash;
use crate::store::record::{Ending, Side, Step};

/// What to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// One call, all its files.
    Call(String),
    /// One file of one call.
    File(String, VaultPath),
    /// Everything that a task did.
    Task(String),
}

/// What to do about a file that was changed by somebody else since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// Refuse, and name the files.
    Refuse,
    /// Take it back all the same; the newer text stays in the new checkpoint.
    Overwrite,
}

/// A planned restore.
#[derive(Debug)]
pub struct Restore {
    /// The changes that do it; empty if everything is as it was already.
    pub changes: Vec<Change>,
    /// The checkpoints that it takes back, newest first.
    pub of: Vec<String>,
}

/// Plans a restore against what is on disk now.
pub fn plan(disk: &Disk, store: &Store, undo: &Undo, conflict: Conflict) -> Result<Restore> {
    let chosen = choose(store, undo)?;
    let only = match undo {
        Undo::File(_, path) => Some(path),
        Undo::Call(_) | Undo::Task(_) => None,
    };
    let mut picture = Picture {
        disk,
        conflict,
        files: BTreeMap::new(),
        folders: BTreeMap::new(),
        conflicts: BTreeSet::new(),
    };
    let mut touched = false;
    for (_, steps) in &chosen {
        for step in steps.iter().rev() {
            if only.is_some_and(|path| !step.paths().contains(&path)) {
                continue;
            }
            touched = true;
            picture.take_back(step)?;
        }
    }
    if let (false, Some(path)) = (touched, only) {
        return Err(Error::Checkpoint {
            reason: "checkpoint_file_missing",
            message: format!("that checkpoint does not touch `{path}`"),
        });
    }
    if !picture.conflicts.is_empty() {
        let names: Vec<String> = picture.conflicts.iter().map(|path| format!("`{path}`")).collect();
        return Err(Error::Edit {
            reason: "restore_conflict",
            message: format!("changed by somebody else since: {}", names.join(", ")),
            hint: "look at the diff; repeat with force to take it back all the same (the newer text is checkpointed)"
                .to_owned(),
            candidates: picture.conflicts.iter().map(ToString::to_string).collect(),
        });
    }
    Ok(Restore { changes: picture.changes(store)?, of: chosen.into_iter().map(|(id, _)| id).collect() })
}

/// The commits to take back, newest first. Those that did not happen count for nothing.
fn choose(store: &Store, undo: &Undo) -> Result<Vec<(String, Vec<Step>)>> {
    let happened = |ending: Option<Ending>| matches!(ending, Some(Ending::Done | Ending::Finished));
    match undo {
        Undo::Call(id) | Undo::File(id, _) => {
            let entry = store.log.find(id)?;
            if !happened(entry.ending) {
                return Err(Error::Checkpoint {
                    reason: "checkpoint_undone",
                    message: format!("the commit {} never took effect", entry.checkpoint.id),
                });
            }
            Ok(vec![(entry.checkpoint.id.clone(), entry.checkpoint.steps.clone())])
        }
        Undo::Task(task) => {
            let found: Vec<_> = store
                .log
                .entries()
                .iter()
                .rev()
                .filter(|entry| entry.checkpoint.task == *task && happened(entry.ending))
                .map(|entry| (entry.checkpoint.id.clone(), entry.checkpoint.steps.clone()))
                .collect();
            if found.is_empty() {
                return Err(Error::Checkpoint {
                    reason: "task_missing",
                    message: format!("no checkpoint belongs to a task `{task}`"),
                });
            }
            Ok(found)
        }
    }
}

/// A file as it would be.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    /// Nothing there.
    Nothing,
    /// The very file that lies at this path on disk now.
    Disk(VaultPath),
    /// These stored bytes.
    Blob(Side),
}

/// The vault as it would be: what differs from the disk. Folders that move are taken apart into their files.
struct Picture<'d> {
    disk: &'d Disk,
    conflict: Conflict,
    files: BTreeMap<VaultPath, Content>,
    folders: BTreeMap<VaultPath, bool>,
    conflicts: BTreeSet<VaultPath>,
}

impl Picture<'_> {
    fn get(&self, path: &VaultPath) -> Result<Content> {
        match self.files.get(path) {
            Some(content) => Ok(content.clone()),
            None if self.is_file(path)? => Ok(Content::Disk(path.clone())),
            None => Ok(Content::Nothing),
        }
    }

    fn is_file(&self, path: &VaultPath) -> Result<bool> {
        match self.disk.look(path) {
            Ok(found) => Ok(matches!(found, Some((Kind::File, _)))),
            Err(Error::NotAFolder { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn hash(&self, content: &Content) -> Result<Option<Hash>> {
        match content {
            Content::Nothing => Ok(None),
            Content::Blob(side) => Ok(Some(side.hash)),
            Content::Disk(path) => {
                let (bytes, _) = self.disk.read_up_to(path, LARGEST_FILE)?;
                Ok(Some(Hash::of(&bytes)))
            }
        }
    }

    fn take_back(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Write { path, before, after } => {
                let now = self.hash(&self.get(path)?)?;
                let is = |side: &Option<Side>| side.as_ref().map(|side| side.hash) == now;
                if !is(after) && !is(before) {
                    self.conflict_at(path);
                }
                self.files.insert(path.clone(), before.clone().map_or(Content::Nothing, Content::Blob));
            }
            Step::Move { from, to, size: Some(_), .. } => self.move_file(to, from)?,
            Step::Move { from, to, size: None, .. } => self.move_folder(to, from)?,
            Step::Make { path } => {
                self.folders.insert(path.clone(), false);
            }
            Step::Remove { path } => {
                self.folders.insert(path.clone(), true);
            }
        }
        Ok(())
    }

    fn move_file(&mut self, from: &VaultPath, to: &VaultPath) -> Result<()> {
        let moved = self.get(from)?;
        if moved == Content::Nothing {
            // Taken back already, or gone by another hand.
            if self.get(to)? == Content::Nothing {
                self.conflict_at(from);
            }
            return Ok(());
        }
        if self.get(to)? != Content::Nothing {
            self.conflict_at(to);
            return Ok(());
        }
        self.files.insert(from.clone(), Content::Nothing);
        self.files.insert(to.clone(), moved);
        Ok(())
    }

    fn move_folder(&mut self, from: &VaultPath, to: &VaultPath) -> Result<()> {
        let inside = VaultFolder::from(from.clone());
        let mut files: BTreeSet<VaultPath> =
            self.files.keys().filter(|path| path.is_in(&inside)).cloned().collect();
        let mut folders: BTreeSet<VaultPath> =
            self.folders.keys().filter(|path| path.is_in(&inside)).cloned().collect();
        let mut waiting = vec![from.clone()];
        while let Some(folder) = waiting.pop() {
            if !matches!(self.disk.look(&folder)?, Some((Kind::Folder, _))) {
                continue;
            }
            for child in self.disk.children(&folder)? {
                match self.disk.look(&child)? {
                    Some((Kind::Folder, _)) => {
                        folders.insert(child.clone());
                        waiting.push(child);
                    }
                    Some((Kind::File, _)) => {
                        files.insert(child);
                    }
                    None => {}
                }
            }
        }
        for file in files {
            if self.get(&file)? != Content::Nothing {
                self.move_file(&file, &below(&file, from, to)?)?;
            }
        }
        for folder in folders {
            let there = self.folders.get(&folder).copied().unwrap_or(true);
            self.folders.insert(below(&folder, from, to)?, there);
            self.folders.insert(folder, false);
        }
        self.folders.insert(from.clone(), false);
        self.folders.insert(to.clone(), true);
        Ok(())
    }

    fn conflict_at(&mut self, path: &VaultPath) {
        if self.conflict == Conflict::Refuse {
            self.conflicts.insert(path.clone());
        }
    }

    /// What differs between the picture and the disk.
    fn changes(&self, store: &Store) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        let mut moved_away = BTreeSet::new();
        for (path, content) in &self.files {
            if let Content::Disk(origin) = content
                && origin != path
                && !self.is_file(path)?
            {
                moved_away.insert(origin.clone());
                changes.push(Change::Move {
                    from: origin.clone(),
                    to: path.clone(),
                    trash: through_trash(origin, path),
                });
            }
        }
        for (path, content) in &self.files {
            let occupied = self.is_file(path)? && !moved_away.contains(path);
            match content {
                Content::Disk(origin) if origin == path || moved_away.contains(origin) => {}
                Content::Disk(origin) => {
                    let (bytes, state) = self.disk.read_up_to(origin, LARGEST_FILE)?;
                    let stamp = Stamp { permissions: state.permissions, modified_ns: state.modified_ns };
                    changes.extend(self.put(path, bytes, Some(stamp), occupied)?);
                }
                Content::Blob(side) => {
                    changes.extend(self.put(path, store.log.blob(&side.hash)?, side.stamp, occupied)?)
                }
                Content::Nothing if occupied => {
                    let (before, _) = self.disk.read_up_to(path, LARGEST_FILE)?;
                    changes.push(Change::Delete { path: path.clone(), before: before.into() });
                }
                Content::Nothing => {}
            }
        }
        self.folder_changes(&mut changes)?;
        Ok(changes)
    }

    fn put(
        &self,
        path: &VaultPath,
        after: Vec<u8>,
        stamp: Option<Stamp>,
        occupied: bool,
    ) -> Result<Option<Change>> {
        if !occupied {
            return Ok(Some(Change::Create { path: path.clone(), after: after.into(), stamp }));
        }
        let (before, _) = self.disk.read_up_to(path, LARGEST_FILE)?;
        if before == after {
            return Ok(None);
        }
        Ok(Some(Change::Replace { path: path.clone(), before: before.into(), after: after.into(), stamp }))
    }

    fn folder_changes(&self, changes: &mut Vec<Change>) -> Result<()> {
        let arrives = |folder: &VaultPath, changes: &[Change]| {
            let inside = VaultFolder::from(folder.clone());
            changes.iter().any(|change| match change {
                Change::Create { path, .. } | Change::Replace { path, .. } | Change::MakeFolder { path } => {
                    path.is_in(&inside)
                }
                Change::Move { to, .. } => to.is_in(&inside),
                Change::Delete { .. } | Change::RemoveFolder { .. } => false,
            })
        };
        for (folder, there) in &self.folders {
            if *there && !self.is_there(folder)? && !arrives(folder, changes) {
                changes.push(Change::MakeFolder { path: folder.clone() });
            }
        }
        // Deeper paths sort behind their folder, so going backwards empties a tree from the leaves.
        for (folder, there) in self.folders.iter().rev() {
            if !*there
                && self.is_there(folder)?
                && !arrives(folder, changes)
                && self.empties(folder, changes)?
            {
                changes.push(Change::RemoveFolder { path: folder.clone() });
            }
        }
        Ok(())
    }

    fn is_there(&self, folder: &VaultPath) -> Result<bool> {
        Ok(matches!(self.disk.look(folder)?, Some((Kind::Folder, _))))
    }

    /// Whether everything that lies in the folder leaves it.
    fn empties(&self, folder: &VaultPath, changes: &[Change]) -> Result<bool> {
        let leaves = |path: &VaultPath| {
            changes.iter().any(|change| match change {
                Change::Delete { path: gone, .. } | Change::RemoveFolder { path: gone } => gone == path,
                Change::Move { from, .. } => from == path,
                _ => false,
            })
        };
        Ok(self.disk.children(folder)?.iter().all(leaves))
    }
}

/// The path that `file` has when `from` becomes `to`.
fn below(file: &VaultPath, from: &VaultPath, to: &VaultPath) -> Result<VaultPath> {
    let rest = &file.as_str()[from.as_str().len() + 1..];
    to.join(rest).map_err(|error| Error::Path { text: rest.to_owned(), error })
}

fn through_trash(from: &VaultPath, to: &VaultPath) -> Trash {
    let in_trash = |path: &VaultPath| path.segments().next() == Some(".trash");
    match (in_trash(from), in_trash(to)) {
        (true, false) => Trash::OutOf,
        (false, true) => Trash::Into,
        _ => Trash::No,
    }
}
