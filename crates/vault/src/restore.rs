//! Taking back: from the log's commits to the changes that bring earlier bytes back.
//!
//! A restore is planned like every other edit: this module only says which changes would do it. It walks the chosen
//! commits from the newest to the oldest and takes each step back in a picture of the vault; what differs between
//! the picture and the disk at the end is the plan. So a task comes back to the earliest version of each file,
//! created files go, deleted ones return, and moves are moved back, whatever lay in between.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::{Change, Stamp, Trash, is_in_trash};
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
    /// What could not be moved back: it is gone (the trash was emptied) or its old place is taken.
    pub lost: Vec<VaultPath>,
}

/// Plans a restore against what is on disk now. What touches a path that `sees` hides is not taken back: part of a
/// commit would be neither the old state nor the new one.
pub fn plan(
    disk: &Disk,
    store: &Store,
    undo: &Undo,
    conflict: Conflict,
    sees: &dyn Fn(&VaultPath) -> bool,
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
        sees,
        unseen: false,
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
    if picture.unseen {
        return Err(Error::Checkpoint {
            reason: "checkpoint_forbidden",
            message: "taking that back would touch files that may not be read here".to_owned(),
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
fn check_visible(
    undo: &Undo,
    chosen: &[(String, Vec<Step>)],
    sees: &dyn Fn(&VaultPath) -> bool,
) -> Result<()> {
    let sees = |step: &Step| step.named().into_iter().all(sees);
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
    Err(match steps().any(|step| sees(step) && !is_of_trash(step)) {
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

/// Whether a step is only about the trash, so that it says nothing about what was done.
pub(crate) fn is_of_trash(step: &Step) -> bool {
    step.paths().into_iter().all(is_in_trash)
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
    /// The very file that lies at this path on disk now, with these stored bytes in place of its own.
    Disk(VaultPath, Option<Side>),
    /// These stored bytes.
    Blob(Side),
}

/// The vault as it would be: what differs from the disk. Folders that move are taken apart into their files.
struct Picture<'d> {
    disk: &'d Disk,
    conflict: Conflict,
    sees: &'d dyn Fn(&VaultPath) -> bool,
    unseen: bool,
    files: BTreeMap<VaultPath, Content>,
    folders: BTreeMap<VaultPath, bool>,
    conflicts: BTreeSet<VaultPath>,
    lost: BTreeSet<VaultPath>,
}

impl Picture<'_> {
    fn get(&self, path: &VaultPath) -> Result<Content> {
        match self.files.get(path) {
            Some(content) => Ok(content.clone()),
            None if self.is_file(path)? => Ok(Content::Disk(path.clone(), None)),
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
            Content::Blob(side) | Content::Disk(_, Some(side)) => Ok(Some(side.hash)),
            Content::Disk(path, None) => Ok(Some(Hash::of(&self.bytes(path)?))),
        }
    }

    fn bytes(&self, path: &VaultPath) -> Result<Vec<u8>> {
        self.disk.read_up_to(path, LARGEST_FILE).map(|(bytes, _)| bytes)
    }

    fn take_back(&mut self, step: &Step) -> Result<()> {
        self.unseen |= step.named().into_iter().any(|path| !(self.sees)(path));
        match step {
            Step::Write { path, before, after } => {
                let there = self.get(path)?;
                let now = self.hash(&there)?;
                let is = |side: &Option<Side>| side.as_ref().map(|side| side.hash) == now;
                if !is(after) && !is(before) {
                    self.conflict_at(path);
                }
                let content = match (before.clone(), there) {
                    (None, _) => Content::Nothing,
                    // A file that also moved goes back as itself, out of the trash too, and then gets its bytes.
                    (Some(side), Content::Disk(origin, _)) => Content::Disk(origin, Some(side)),
                    (Some(side), Content::Nothing | Content::Blob(_)) => Content::Blob(side),
                };
                self.files.insert(path.clone(), content);
            }
            Step::Move { from, to, size: Some(_), kept, .. } => {
                self.take_back_move(to, from, kept.as_ref())?
            }
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

    /// A file whose copy in the trash is gone comes back from the log.
    fn take_back_move(&mut self, from: &VaultPath, to: &VaultPath, kept: Option<&Side>) -> Result<()> {
        if let Some(side) = kept
            && self.get(from)? == Content::Nothing
            && self.get(to)? == Content::Nothing
        {
            self.files.insert(to.clone(), Content::Blob(side.clone()));
            return Ok(());
        }
        self.move_file(from, to)
    }

    fn move_file(&mut self, from: &VaultPath, to: &VaultPath) -> Result<()> {
        let moved = self.get(from)?;
        if moved == Content::Nothing {
            // Taken back already, or gone by another hand.
            if self.get(to)? == Content::Nothing {
                self.conflict_at(from);
                self.lost.insert(from.clone());
            }
            return Ok(());
        }
        if self.get(to)? != Content::Nothing {
            self.conflict_at(to);
            self.lost.insert(from.clone());
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
                let target = below(&file, from, to)?;
                self.unseen |= !(self.sees)(&file) || !(self.sees)(&target);
                self.move_file(&file, &target)?;
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
            if let Content::Disk(origin, _) = content
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
                Content::Disk(origin, None) if origin == path || moved_away.contains(origin) => {}
                Content::Disk(origin, Some(side)) if origin == path || moved_away.contains(origin) => {
                    let after = store.log.blob(&side.hash)?;
                    changes.extend(replaced(path, self.bytes(origin)?, after, side.stamp));
                }
                Content::Disk(_, Some(side)) => {
                    changes.extend(self.put(path, store.log.blob(&side.hash)?, side.stamp, occupied)?);
                }
                Content::Disk(origin, None) => {
                    let (bytes, state) = self.disk.read_up_to(origin, LARGEST_FILE)?;
                    let stamp = Stamp { permissions: state.permissions, modified_ns: state.modified_ns };
                    changes.extend(self.put(path, bytes, Some(stamp), occupied)?);
                }
                Content::Blob(side) => {
                    changes.extend(self.put(path, store.log.blob(&side.hash)?, side.stamp, occupied)?)
                }
                Content::Nothing if occupied => {
                    changes.push(Change::Delete { path: path.clone(), before: self.bytes(path)?.into() });
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
        Ok(replaced(path, self.bytes(path)?, after, stamp))
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
        match self.disk.children(folder) {
            Ok(children) => Ok(children.iter().all(leaves)),
            // A name that has no path is not among those that leave.
            Err(Error::Path { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn replaced(path: &VaultPath, before: Vec<u8>, after: Vec<u8>, stamp: Option<Stamp>) -> Option<Change> {
    let (before, after) = (before.into(), after.into());
    (before != after).then(|| Change::Replace { path: path.clone(), before, after, stamp })
}

/// The path that `file` has when `from` becomes `to`.
fn below(file: &VaultPath, from: &VaultPath, to: &VaultPath) -> Result<VaultPath> {
    let rest = &file.as_str()[from.as_str().len() + 1..];
    to.join(rest).map_err(|error| Error::Path { text: rest.to_owned(), error })
}

fn through_trash(from: &VaultPath, to: &VaultPath) -> Trash {
    match (is_in_trash(from), is_in_trash(to)) {
        (true, false) => Trash::OutOf,
        (false, true) => Trash::Into,
        _ => Trash::No,
    }
}
