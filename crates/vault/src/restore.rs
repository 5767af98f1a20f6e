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
use crate::moves::is_trash;
use crate::path::VaultPath;
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
    /// Where something should be moved back from but is not any more, e.g. because the trash was emptied.
    pub lost: Vec<VaultPath>,
}

/// Plans a restore against what is on disk now. What touches a path that `sees` hides is not taken back: part of a
/// commit would be neither the old state nor the new one.
pub fn plan(
    disk: &Disk,
    store: &Store,
    undo: &Undo,
    conflict: Conflict,
    sees: &dyn Fn(&Step) -> bool,
) -> Result<Restore> {
    let chosen = choose(store, undo)?;
    check_visible(undo, &chosen, sees)?;
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
        lost: BTreeSet::new(),
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
            message: format!("changed again since: {}", names.join(", ")),
            hint: "look at the diff; repeat with force to take it back all the same (the newer text is checkpointed)"
                .to_owned(),
            candidates: picture.conflicts.iter().map(ToString::to_string).collect(),
        });
    }
    Ok(Restore {
        changes: picture.changes(store)?,
        of: chosen.into_iter().map(|(id, _)| id).collect(),
        lost: picture.lost.into_iter().collect(),
    })
}

/// One whose every step is hidden is simply not there.
fn check_visible(undo: &Undo, chosen: &[(String, Vec<Step>)], sees: &dyn Fn(&Step) -> bool) -> Result<()> {
    let steps = || {
        chosen.iter().flat_map(|(_, steps)| steps).filter(|step| match undo {
            Undo::File(_, path) => step.paths().contains(&path),
            Undo::Call(_) | Undo::Task(_) => true,
        })
    };
    if steps().all(sees) {
        return Ok(());
    }
    let name = match undo {
        Undo::Call(id) | Undo::File(id, _) | Undo::Task(id) => id,
    };
    Err(match steps().any(sees) {
        true => Error::Checkpoint {
            reason: "checkpoint_forbidden",
            message: format!("`{name}` also touches files that may not be read here"),
        },
        false => Error::Checkpoint {
            reason: "checkpoint_missing",
            message: format!("there is no checkpoint `{name}`"),
        },
    })
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
    /// The very file (or folder) that lies at this path on disk now, with these stored bytes in place of its own.
    Disk(VaultPath, Option<Side>),
    /// A new file of these stored bytes.
    Blob(Side),
}

struct Picture<'d> {
    disk: &'d Disk,
    conflict: Conflict,
    files: BTreeMap<VaultPath, Content>,
    folders: BTreeMap<VaultPath, bool>,
    conflicts: BTreeSet<VaultPath>,
    lost: BTreeSet<VaultPath>,
}

impl Picture<'_> {
    fn get(&self, path: &VaultPath) -> Result<Content> {
        if let Some(content) = self.files.get(path) {
            return Ok(content.clone());
        }
        Ok(self.carried(path)?.map_or(Content::Nothing, |origin| Content::Disk(origin, None)))
    }

    /// Where the file lies now that will be at `path` after the picture's folders have moved, if there is one.
    fn carried(&self, path: &VaultPath) -> Result<Option<VaultPath>> {
        // The nearest folder decides; in this order it is the last.
        let above = self.files.iter().rev().find(|(folder, _)| path.is_in(&(*folder).clone().into()));
        let origin = match above {
            None => path.clone(),
            Some((folder, Content::Disk(origin, _))) => {
                let below = &path.as_str()[folder.as_str().len() + 1..];
                origin.join(below).map_err(|error| Error::Path { text: below.to_owned(), error })?
            }
            Some((_, Content::Nothing | Content::Blob(_))) => return Ok(None),
        };
        Ok(self.disk.look(&origin)?.is_some().then_some(origin))
    }

    fn hash(&self, content: &Content) -> Result<Option<Hash>> {
        match content {
            Content::Nothing => Ok(None),
            Content::Blob(side) | Content::Disk(_, Some(side)) => Ok(Some(side.hash)),
            Content::Disk(path, None) => Ok(Some(Hash::of(&self.bytes(path)?))),
        }
    }

    fn bytes(&self, path: &VaultPath) -> Result<Vec<u8>> {
        self.disk.read_up_to(path, crate::disk::LARGEST_FILE).map(|(bytes, _)| bytes)
    }

    fn take_back(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Write { path, before, after } => {
                let there = self.get(path)?;
                let now = self.hash(&there)?;
                if now != after.as_ref().map(|side| side.hash) && now != before.as_ref().map(|side| side.hash)
                {
                    self.conflict_at(path);
                }
                let content = match (before.clone(), there) {
                    (None, _) => Content::Nothing,
                    (Some(side), Content::Disk(origin, _)) => Content::Disk(origin, Some(side)),
                    (Some(side), Content::Nothing | Content::Blob(_)) => Content::Blob(side),
                };
                self.files.insert(path.clone(), content);
            }
            Step::Move { from, to, .. } => self.move_back(from, to)?,
            Step::Make { path } => {
                self.folders.insert(path.clone(), false);
            }
            Step::Remove { path } => {
                self.folders.insert(path.clone(), true);
            }
        }
        Ok(())
    }

    fn move_back(&mut self, from: &VaultPath, to: &VaultPath) -> Result<()> {
        let moved = self.get(to)?;
        if moved == Content::Nothing {
            self.conflict_at(to);
            self.lost.insert(to.clone());
            return Ok(());
        }
        if self.get(from)? != Content::Nothing {
            self.conflict_at(from);
            self.lost.insert(to.clone());
            return Ok(());
        }
        self.move_below(to, from);
        self.files.insert(to.clone(), Content::Nothing);
        self.files.insert(from.clone(), moved);
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
        for (path, there) in &self.folders {
            if *there && self.disk.look(path)?.is_none() {
                changes.push(Change::MakeFolder { path: path.clone() });
            }
        }
        let sources: BTreeSet<&VaultPath> = self.files.values().filter_map(Content::origin).collect();
        for (path, content) in &self.files {
            match content {
                Content::Disk(origin, side) => {
                    if self.carried(path)?.as_ref() != Some(origin) {
                        let (from, to) = (origin.clone(), path.clone());
                        let trash = through_trash(&from, &to);
                        changes.push(Change::Move { from, to, trash });
                    }
                    if let Some(side) = side {
                        changes.extend(self.replaced(store, path, origin, side)?);
                    }
                }
                Content::Blob(side) => {
                    let after = store.log.blob(&side.hash)?.into();
                    changes.push(Change::Create { path: path.clone(), after, stamp: side.stamp });
                }
                // What a task made and then deleted stays in the trash; only people empty it.
                Content::Nothing if is_trash(path) => {}
                Content::Nothing => {
                    let gone = self.carried(path)?.filter(|origin| !sources.contains(origin));
                    if let Some(origin) = gone {
                        changes
                            .push(Change::Delete { path: path.clone(), before: self.bytes(&origin)?.into() });
                    }
                }
            }
        }
        for (path, there) in self.folders.iter().rev() {
            // The trash stays, even if the first delete made it.
            if !*there && !is_trash(path) && self.would_be_empty(path, &changes)? {
                changes.push(Change::RemoveFolder { path: path.clone() });
            }
        }
        Ok(changes)
    }

    fn replaced(
        &self,
        store: &Store,
        path: &VaultPath,
        origin: &VaultPath,
        side: &Side,
    ) -> Result<Option<Change>> {
        let after: Vec<u8> = store.log.blob(&side.hash)?;
        let before = self.bytes(origin)?;
        if before == after {
            return Ok(None);
        }
        let stamp: Option<Stamp> = side.stamp;
        Ok(Some(Change::Replace { path: path.clone(), before: before.into(), after: after.into(), stamp }))
    }

    /// Whether a folder, where the moves have put it, holds nothing once the changes are made.
    fn would_be_empty(&self, folder: &VaultPath, changes: &[Change]) -> Result<bool> {
        let Content::Disk(now, _) = self.get(folder)? else { return Ok(false) };
        let leaves = |child: &VaultPath| {
            let after = folder.join(child.name()).ok();
            changes.iter().any(|change| match change {
                Change::Delete { path, .. } | Change::RemoveFolder { path } => Some(path) == after.as_ref(),
                Change::Move { from, .. } => from == child,
                _ => false,
            })
        };
        let arrives = changes.iter().any(|change| match change {
            Change::Create { path, .. } | Change::Replace { path, .. } => path.is_in(&folder.clone().into()),
            Change::Move { to, .. } => to.is_in(&folder.clone().into()),
            _ => false,
        });
        Ok(!arrives && self.disk.children(&now)?.iter().all(leaves))
    }
}

impl Content {
    fn origin(&self) -> Option<&VaultPath> {
        match self {
            Content::Disk(origin, _) => Some(origin),
            Content::Nothing | Content::Blob(_) => None,
        }
    }
}

fn through_trash(from: &VaultPath, to: &VaultPath) -> Trash {
    match (is_trash(from), is_trash(to)) {
        (true, false) => Trash::OutOf,
        (false, true) => Trash::Into,
        _ => Trash::No,
    }
}
