//! After a crash: every commit of the log without an ending is finished or declared undone, from the bytes in the log.
//!
//! Called with the lock held, before each commit and when a vault is opened, so a commit without an ending belongs to
//! a process that died. The rule: if no step took place, the commit is undone; if all did, it is done; if some did,
//! the rest is carried out (it was approved, and its bytes are safe in the log). A file that somebody changed since
//! is left as it is.

use crate::disk::{Disk, STAGED_PREFIX, Stage};
use crate::error::{Error, Result};
use crate::files::Kind;
use crate::path::VaultPath;
use crate::store::Store;
use crate::store::blob::Hash;
use crate::store::record::{Checkpoint, Ending, Record, Side, Step};

/// Ends whatever an interrupted process left. Returns the checkpoints that it dealt with.
pub fn finish_interrupted(disk: &Disk, store: &mut Store) -> Result<Vec<(String, Ending)>> {
    let open: Vec<Checkpoint> = store
        .log
        .entries()
        .iter()
        .rev()
        .take_while(|entry| entry.ending.is_none())
        .map(|entry| entry.checkpoint.clone())
        .collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let stage = stage(disk, store)?;
    let mut ended = Vec::new();
    for checkpoint in open {
        let ending = finish(disk, store, &stage, &checkpoint)?;
        store.log.append(Record::End { id: checkpoint.id.clone(), ending }, &[])?;
        ended.push((checkpoint.id, ending));
    }
    Ok(ended)
}

/// Where files are staged: in our data folder, or in the vault if that lies on another file system.
pub(crate) fn stage(disk: &Disk, store: &Store) -> Result<Stage> {
    let stage = Stage::open(&store.stage())?;
    if stage.is_beside(disk) { Ok(stage) } else { Stage::in_vault(disk) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Taken,
    /// Neither the one nor the other: somebody else was here.
    Foreign,
}

fn finish(disk: &Disk, store: &Store, stage: &Stage, checkpoint: &Checkpoint) -> Result<Ending> {
    let states: Vec<State> = checkpoint.steps.iter().map(|step| state(disk, step)).collect::<Result<_>>()?;
    // An empty folder that was made for a file to come is no change worth finishing.
    let real = |step: &Step| !matches!(step, Step::Make { .. });
    let lasting: Vec<State> = checkpoint
        .steps
        .iter()
        .zip(&states)
        .filter(|(step, _)| real(step) || checkpoint.steps.iter().all(|step| !real(step)))
        .map(|(_, state)| *state)
        .collect();
    if lasting.iter().all(|state| *state != State::Open) {
        return Ok(if lasting.contains(&State::Taken) { Ending::Done } else { Ending::Undone });
    }
    if !lasting.contains(&State::Taken) {
        for (step, state) in checkpoint.steps.iter().zip(&states).rev() {
            if let (Step::Make { path }, State::Taken) = (step, state) {
                unless_in_the_way(remove_if_empty(disk, path))?;
            }
        }
        return Ok(Ending::Undone);
    }
    for (index, step) in checkpoint.steps.iter().enumerate() {
        // Looked at anew: the step before may have made room for this one, or brought its folder.
        if state(disk, step)? == State::Open {
            let name = format!("{STAGED_PREFIX}{}-r{index}", checkpoint.id);
            unless_in_the_way(carry_out(disk, store, stage, step, &name))?;
        }
    }
    Ok(Ending::Finished)
}

/// What somebody put in the way since is left as it is, like a file that they changed; else no start would succeed again.
fn unless_in_the_way(answer: Result<()>) -> Result<()> {
    match answer {
        Err(
            Error::Exists { .. }
            | Error::Missing { .. }
            | Error::IsFolder { .. }
            | Error::NotAFolder { .. }
            | Error::NotEmpty { .. }
            | Error::Symlink { .. }
            | Error::Special { .. },
        ) => Ok(()),
        answer => answer,
    }
}

fn state(disk: &Disk, step: &Step) -> Result<State> {
    Ok(match step {
        Step::Make { path } => {
            if is_there(disk, path)? {
                State::Taken
            } else {
                State::Open
            }
        }
        Step::Remove { path } => {
            if is_there(disk, path)? {
                State::Open
            } else {
                State::Taken
            }
        }
        Step::Move { from, to, .. } => match (is_there(disk, from)?, is_there(disk, to)?) {
            (true, false) => State::Open,
            (false, true) => State::Taken,
            _ => State::Foreign,
        },
        Step::Write { path, before, after } => {
            let now = match disk.read_up_to(path, crate::disk::LARGEST_FILE) {
                Ok((bytes, _)) => Some(Hash::of(&bytes)),
                Err(Error::Missing { .. } | Error::NotAFolder { .. }) => None,
                Err(
                    Error::IsFolder { .. }
                    | Error::Symlink { .. }
                    | Error::Special { .. }
                    | Error::TooLarge { .. },
                ) => return Ok(State::Foreign),
                Err(error) => return Err(error),
            };
            let is = |side: &Option<Side>| side.as_ref().map(|side| side.hash) == now;
            // A file in a folder that has not moved yet is not at its new path: that is "not yet".
            if is(after) {
                State::Taken
            } else if is(before) || now.is_none() {
                State::Open
            } else {
                State::Foreign
            }
        }
    })
}

fn is_there(disk: &Disk, path: &VaultPath) -> Result<bool> {
    match disk.look(path) {
        Ok(found) => Ok(found.is_some()),
        Err(Error::Symlink { .. } | Error::Special { .. }) => Ok(true),
        Err(Error::NotAFolder { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn carry_out(disk: &Disk, store: &Store, stage: &Stage, step: &Step, name: &str) -> Result<()> {
    stage.remove(name);
    match step {
        Step::Make { path } => disk.make_folder(path)?,
        Step::Remove { path } => remove_if_empty(disk, path)?,
        Step::Move { from, to, .. } => disk.rename(from, to)?,
        Step::Write { path, before, after } => match (before, after) {
            (_, Some(after)) => {
                let bytes = store.log.blob(&after.hash)?;
                let permissions = before.as_ref().and_then(|side| side.stamp).map(|stamp| stamp.permissions);
                let staged = stage.write(name, &bytes, permissions)?;
                staged.sync()?;
                match disk.look(path)? {
                    None => disk.put_new(stage, &staged, path)?,
                    Some(_) => {
                        disk.put(stage, &staged, path)?;
                    }
                }
            }
            (Some(_), None) if is_there(disk, path)? => disk.take(stage, path, name)?,
            _ => {}
        },
    }
    for path in step.paths() {
        disk.sync_folder(&path.parent()).ok();
    }
    stage.remove(name);
    Ok(())
}

fn remove_if_empty(disk: &Disk, path: &VaultPath) -> Result<()> {
    match disk.look(path)? {
        Some((Kind::Folder, _)) if disk.is_empty_folder(path)? => disk.remove_folder(path),
        _ => Ok(()),
    }
}
