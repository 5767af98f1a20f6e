//! Taking back: from the log's commits to the changes that bring earlier bytes back.
//!
//! A restore is planned like every other edit: this module only says which changes would do it. It walks the chosen
//! commits from the newest to the oldest and takes each step back in a picture of the vault; what differs between
//! the picture and the disk at the end is the plan. So a task comes back to the earliest version of each file,
//! created files go, deleted ones return, and moves are moved back, whatever lay in between.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::{Change, Stamp, Trash};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::path::VaultPath;
use crate::store::Store;
use crate::store::blob::Hash;
use crate::store::record::{Ending, Side, Step, TrashMark};

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
    /// The very file (or folder) that lies at this path on disk now.
    Disk(VaultPath),
    /// These stored bytes.
    Blob(Side),
}

struct Picture<'d> {
    disk: &'d Disk,
    conflict: Conflict,
    files: BTreeMap<VaultPath, (Content, Trash)>,
    folders: BTreeMap<VaultPath, bool>,
    conflicts: BTreeSet<VaultPath>,
}

impl Picture<'_> {
    fn get(&self, path: &VaultPath) -> Result<Content> {
        if let Some((content, _)) = self.files.get(path) {
            return Ok(content.clone());
        }
        // A folder that moved takes along what is in it.
        for (folder, (content, _)) in &self.files {
            if path.is_in(&folder.clone().into()) {
                return match content {
                    Content::Disk(origin) => {
                        let below = &path.as_str()[folder.as_str().len() + 1..];
                        let path = origin
                            .join(below)
                            .map_err(|error| Error::Path { text: below.to_owned(), error })?;
                        Ok(if self.disk.look(&path)?.is_some() {
                            Content::Disk(path)
                        } else {
                            Content::Nothing
                        })
                    }
                    Content::Nothing | Content::Blob(_) => Ok(Content::Nothing),
                };
            }
        }
        Ok(if self.disk.look(path)?.is_some() { Content::Disk(path.clone()) } else { Content::Nothing })
    }

    fn hash(&self, content: &Content) -> Result<Option<Hash>> {
        match content {
            Content::Nothing => Ok(None),
            Content::Blob(side) => Ok(Some(side.hash)),
            Content::Disk(path) => {
                let (bytes, _) = self.disk.read_up_to(path, crate::disk::LARGEST_FILE)?;
                Ok(Some(Hash::of(&bytes)))
            }
        }
    }

    fn take_back(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Write { path, before, after } => {
                let now = self.hash(&self.get(path)?)?;
                if now != after.as_ref().map(|side| side.hash) && now != before.as_ref().map(|side| side.hash)
                {
                    self.conflict_at(path);
                }
                let content = before.clone().map_or(Content::Nothing, Content::Blob);
                self.files.insert(path.clone(), (content, Trash::No));
            }
            Step::Move { from, to, trash, .. } => {
                let moved = self.get(to)?;
                if moved == Content::Nothing {
                    self.conflict_at(to);
                    return Ok(());
                }
                if self.get(from)? != Content::Nothing {
                    self.conflict_at(from);
                    return Ok(());
                }
                let trash = match trash {
                    TrashMark::No => Trash::No,
                    TrashMark::Into => Trash::OutOf,
                    TrashMark::OutOf => Trash::Into,
                };
                self.move_below(to, from);
                self.files.insert(to.clone(), (Content::Nothing, trash));
                self.files.insert(from.clone(), (moved, trash));
            }
            Step::Make { path } => {
                self.folders.insert(path.clone(), false);
            }
            Step::Remove { path } => {
                self.folders.insert(path.clone(), true);
            }
        }
        Ok(())
    }

    /// What was already taken back inside a folder goes along when the folder itself is moved back.
    fn move_below(&mut self, from: &VaultPath, to: &VaultPath) {
        let inside: Vec<VaultPath> =
            self.files.keys().filter(|path| path.is_in(&from.clone().into())).cloned().collect();
        for path in inside {
            if let Ok(target) = to.join(&path.as_str()[from.as_str().len() + 1..])
                && let Some(content) = self.files.remove(&path)
            {
                self.files.insert(target, content);
            }
        }
    }

    fn conflict_at(&mut self, path: &VaultPath) {
        if self.conflict == Conflict::Refuse {
            self.conflicts.insert(path.clone());
        }
    }

    /// What differs between the picture and the disk.
    fn changes(&self, store: &Store) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        let sources: BTreeSet<&VaultPath> = self
            .files
            .iter()
            .filter_map(|(path, (content, _))| match content {
                Content::Disk(origin) if origin != path => Some(origin),
                _ => None,
            })
            .collect();
        for (path, there) in &self.folders {
            if *there && self.disk.look(path)?.is_none() {
                changes.push(Change::MakeFolder { path: path.clone() });
            }
        }
        for (path, (content, trash)) in &self.files {
            match content {
                Content::Disk(origin) if origin == path => {}
                Content::Disk(origin) => {
                    changes.push(Change::Move { from: origin.clone(), to: path.clone(), trash: *trash });
                }
                Content::Blob(side) => changes.extend(self.restore_bytes(store, path, side)?),
                Content::Nothing if sources.contains(path) => {}
                Content::Nothing => {
                    if self.disk.look(path)?.is_some() {
                        let (before, _) = self.disk.read_up_to(path, crate::disk::LARGEST_FILE)?;
                        changes.push(Change::Delete { path: path.clone(), before: before.into() });
                    }
                }
            }
        }
        for (path, there) in self.folders.iter().rev() {
            if !*there && self.would_be_empty(path, &changes)? {
                changes.push(Change::RemoveFolder { path: path.clone() });
            }
        }
        Ok(changes)
    }

    fn restore_bytes(&self, store: &Store, path: &VaultPath, side: &Side) -> Result<Option<Change>> {
        let after: Vec<u8> = store.log.blob(&side.hash)?;
        let stamp: Option<Stamp> = side.stamp;
        let origin = match self.origin_of(path)? {
            Some(origin) => origin,
            None => return Ok(Some(Change::Create { path: path.clone(), after: after.into(), stamp })),
        };
        let (before, _) = self.disk.read_up_to(&origin, crate::disk::LARGEST_FILE)?;
        if before == after {
            return Ok(None);
        }
        Ok(Some(Change::Replace { path: path.clone(), before: before.into(), after: after.into(), stamp }))
    }

    /// Where the file that will be at `path` after the plan's moves lies now.
    fn origin_of(&self, path: &VaultPath) -> Result<Option<VaultPath>> {
        for (folder, (content, _)) in &self.files {
            if let Content::Disk(origin) = content
                && path.is_in(&folder.clone().into())
            {
                let below = &path.as_str()[folder.as_str().len() + 1..];
                let origin =
                    origin.join(below).map_err(|error| Error::Path { text: below.to_owned(), error })?;
                return Ok(self.disk.look(&origin)?.is_some().then_some(origin));
            }
        }
        Ok(self.disk.look(path)?.is_some().then(|| path.clone()))
    }

    fn would_be_empty(&self, folder: &VaultPath, changes: &[Change]) -> Result<bool> {
        if self.disk.look(folder)?.is_none() {
            return Ok(false);
        }
        let leaves = |path: &VaultPath| {
            changes.iter().any(|change| match change {
                Change::Delete { path: gone, .. } | Change::RemoveFolder { path: gone } => gone == path,
                Change::Move { from, .. } => from == path || path.is_in(&from.clone().into()),
                _ => false,
            })
        };
        let arrives = changes.iter().any(|change| match change {
            Change::Create { path, .. } | Change::Replace { path, .. } => path.is_in(&folder.clone().into()),
            Change::Move { to, .. } => to.is_in(&folder.clone().into()),
            _ => false,
        });
        Ok(!arrives && self.disk.children(folder)?.iter().all(leaves))
    }
}
