//! One commit: compare, stage, write down, put in place, sync. The only caller of what changes the vault in `disk.rs`.
//!
//! The order is the promise. Nothing in the vault changes before the log holds the bytes of both sides on disk;
//! the commit is not acknowledged before every new file and its folder are on disk. When a step fails, what was
//! done is put back from the files that were swapped out; when the process dies, `recover.rs` does it at the next start.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::change::{Bytes, Change, Stamp, Trash};
use crate::disk::{Disk, Replaced, STAGED_PREFIX, Stage, Staged, State};
use crate::error::{Error, Result};
use crate::files::Kind;
use crate::path::{VaultFolder, VaultPath};
use crate::recover;
use crate::store::blob::{self, Hash};
use crate::store::record::{BlobPlace, Checkpoint, CheckpointId, Ending, Kept, Record, Side, Step};
use crate::store::{self, Store};

/// What is to be committed, and in whose name.
#[derive(Debug)]
pub struct Commit<'c> {
    /// The changes; every `before` is the state at the start, every path the one after the moves.
    pub changes: &'c [Change],
    /// The task to which the checkpoint belongs.
    pub task: &'c str,
    /// The tool that planned it.
    pub tool: &'c str,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// Kept with the checkpoint, durable with it.
    pub note: Option<serde_json::Value>,
    /// The checkpoint's name; must be new.
    pub id: CheckpointId,
}

/// A commit that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The checkpoint from which it can be undone.
    pub id: CheckpointId,
    /// The paths that changed.
    pub paths: Vec<VaultPath>,
}

/// A new random name for a checkpoint.
pub fn new_id() -> Result<CheckpointId> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::io("cannot get random bytes", std::io::Error::other(error.to_string())))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Carries out the changes, all or none.
pub fn commit(disk: &Disk, store: &mut Store, commit: &Commit<'_>) -> Result<Receipt> {
    let lock = store.lock_handle();
    let _held = store::hold(&lock)?;
    store.log.catch_up()?;
    if store.log.knows(&commit.id) {
        return Err(Error::Checkpoint {
            reason: "checkpoint_exists",
            message: format!("there is a checkpoint {} already", commit.id),
        });
    }
    recover::finish_interrupted(disk, store)?;
    let work = compare(disk, commit.changes)?;
    let stage = recover::stage(disk, store)?;
    match carry_out(disk, store, &stage, commit, &work) {
        Err(Error::Io { source, .. })
            if source.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error()) =>
        {
            // Same device number, yet no rename across (a bind mount, an overlay): stage inside the vault instead.
            carry_out(disk, store, &Stage::in_vault(disk)?, commit, &work)
        }
        answer => answer,
    }
}

/// The changes, sorted into the order in which they are made, compared with the disk.
#[derive(Debug, Default)]
struct Work {
    folders: Vec<VaultPath>,
    moves: Vec<(Move, Option<u64>)>,
    writes: Vec<WriteWork>,
    removals: Vec<VaultPath>,
}

#[derive(Debug, Clone)]
struct Move {
    from: VaultPath,
    to: VaultPath,
    trash: Trash,
}

#[derive(Debug)]
struct WriteWork {
    path: VaultPath,
    /// The bytes there now and their file's state.
    before: Option<(Bytes, State)>,
    after: Option<Bytes>,
    stamp: Option<Stamp>,
}

/// Compares before writing: the user may have had the note open in Obsidian while the dialog was up.
fn compare(disk: &Disk, changes: &[Change]) -> Result<Work> {
    let mut work = Work::default();
    let mut made: BTreeSet<VaultPath> = BTreeSet::new();
    let moves: Vec<Move> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Move { from, to, trash } => {
                Some(Move { from: from.clone(), to: to.clone(), trash: *trash })
            }
            _ => None,
        })
        .collect();
    work.moves = order_moves(disk, moves.clone())?;
    for change in changes {
        match change {
            Change::MakeFolder { path } => {
                if disk.look(path)?.is_some() {
                    return Err(Error::Exists { path: path.clone() });
                }
                make_parents(disk, path, &moves, &mut made, &mut work.folders)?;
                if made.insert(path.clone()) {
                    work.folders.push(path.clone());
                }
            }
            Change::Create { path, after, stamp } => {
                if !is_vacated(path, &moves) && disk.look(path)?.is_some() {
                    return Err(Error::Exists { path: path.clone() });
                }
                make_parents(disk, path, &moves, &mut made, &mut work.folders)?;
                work.writes.push(WriteWork {
                    path: path.clone(),
                    before: None,
                    after: Some(after.clone()),
                    stamp: *stamp,
                });
            }
            Change::Replace { path, before, after, stamp } => {
                let stat = unchanged(disk, path, before, &moves)?;
                work.writes.push(WriteWork {
                    path: path.clone(),
                    before: Some((before.clone(), stat)),
                    after: Some(after.clone()),
                    stamp: *stamp,
                });
            }
            Change::Delete { path, before } => {
                let stat = unchanged(disk, path, before, &moves)?;
                work.writes.push(WriteWork {
                    path: path.clone(),
                    before: Some((before.clone(), stat)),
                    after: None,
                    stamp: None,
                });
            }
            Change::Move { to, .. } => make_parents(disk, to, &moves, &mut made, &mut work.folders)?,
            Change::RemoveFolder { path } => work.removals.push(path.clone()),
        }
    }
    // Deepest first, so that a tree of empty folders can go in one commit.
    work.removals.sort_by_key(|path| std::cmp::Reverse(path.segments().count()));
    Ok(work)
}

fn is_vacated(path: &VaultPath, moves: &[Move]) -> bool {
    moves.iter().any(|step| step.from == *path)
}

/// Where a path of the plan lies before the moves are made: the move of the file itself decides, then of the nearest
/// folder.
fn before_moves(path: &VaultPath, moves: &[Move]) -> Result<VaultPath> {
    let moved = |step: &&Move| *path == step.to || is_below(path, &step.to);
    match moves.iter().filter(moved).max_by_key(|step| step.to.as_str().len()) {
        None => Ok(path.clone()),
        Some(step) if *path == step.to => Ok(step.from.clone()),
        Some(step) => {
            let below = &path.as_str()[step.to.as_str().len() + 1..];
            step.from.join(below).map_err(|error| Error::Path { text: path.to_string(), error })
        }
    }
}

fn is_below(path: &VaultPath, folder: &VaultPath) -> bool {
    path.as_str().strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
}

fn unchanged(disk: &Disk, path: &VaultPath, before: &Bytes, moves: &[Move]) -> Result<State> {
    let now = before_moves(path, moves)?;
    match disk.read_up_to(&now, crate::disk::LARGEST_FILE) {
        Ok((bytes, stat)) if bytes[..] == before[..] => Ok(stat),
        Ok(_) | Err(Error::Missing { .. }) => Err(Error::Stale { path: path.clone() }),
        Err(error) => Err(error),
    }
}

fn make_parents(
    disk: &Disk,
    path: &VaultPath,
    moves: &[Move],
    made: &mut BTreeSet<VaultPath>,
    folders: &mut Vec<VaultPath>,
) -> Result<()> {
    let mut missing = Vec::new();
    let mut folder = path.parent();
    while let Some(parent) = folder.path().cloned() {
        if made.contains(&parent) {
            break;
        }
        match disk.look(&before_moves(&parent, moves)?)? {
            Some((Kind::Folder, _)) => break,
            Some((Kind::File, _)) => return Err(Error::NotAFolder { path: parent }),
            None => missing.push(parent.clone()),
        }
        folder = parent.parent();
    }
    for parent in missing.into_iter().rev() {
        made.insert(parent.clone());
        folders.push(parent);
    }
    Ok(())
}

/// A move waits for the one that frees its target; for what leaves its folder first; for the folder that it goes into.
fn order_moves(disk: &Disk, moves: Vec<Move>) -> Result<Vec<(Move, Option<u64>)>> {
    let mut waiting: BTreeSet<VaultPath> = moves.iter().map(|step| step.from.clone()).collect();
    let mut targets = BTreeSet::new();
    let mut left = Vec::with_capacity(moves.len());
    for step in moves {
        let alias = step.from.folded() == step.to.folded();
        let taken = !waiting.contains(&step.to) && !alias && disk.look(&step.to)?.is_some();
        if taken || !targets.insert(step.to.clone()) {
            return Err(Error::Exists { path: step.to.clone() });
        }
        let size = match disk.look(&step.from)? {
            Some((Kind::File, stat)) => Some(stat.size),
            Some((Kind::Folder, _)) => None,
            None => return Err(Error::Missing { path: step.from.clone(), near: Vec::new() }),
        };
        left.push((step, size));
    }
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let Some(index) = left.iter().position(|(step, size)| is_ready(step, *size, &waiting, &left)) else {
            return Err(Error::Edit {
                reason: "move_cycle",
                message: "the moves form a circle: each target is the source of another".to_owned(),
                hint: "move one of them to a third name first".to_owned(),
                candidates: waiting.iter().map(ToString::to_string).collect(),
            });
        };
        let next = left.remove(index);
        waiting.remove(&next.0.from);
        ordered.push(next);
    }
    Ok(ordered)
}

fn is_ready(
    step: &Move,
    size: Option<u64>,
    waiting: &BTreeSet<VaultPath>,
    left: &[(Move, Option<u64>)],
) -> bool {
    let freed = step.from == step.to || !waiting.contains(&step.to);
    let left_by_all = size.is_some() || !waiting.iter().any(|from| is_below(from, &step.from));
    freed && left_by_all && !left.iter().any(|(other, size)| size.is_none() && is_below(&step.to, &other.to))
}

fn carry_out(
    disk: &Disk,
    store: &mut Store,
    stage: &Stage,
    commit: &Commit<'_>,
    work: &Work,
) -> Result<Receipt> {
    let start = store.log.end();
    let names: Vec<String> =
        (0..work.writes.len()).map(|index| format!("{STAGED_PREFIX}{}-{index}", commit.id)).collect();
    let mut staged = Vec::new();
    let prepared = stage_all(stage, &names, work, &mut staged)
        .and_then(|()| write_down(disk, store, commit, work))
        .and_then(|()| sync_both(store, &staged));
    if let Err(error) = prepared {
        store.log.retract(&commit.id, start);
        discard(stage, &names);
        return Err(error);
    }
    let mut done = Vec::new();
    let applied =
        apply(disk, stage, work, &staged, &names, &mut done).and_then(|()| sync_folders(disk, work));
    if let Err(error) = applied {
        let ending = put_back(disk, stage, done);
        discard(stage, &names);
        if ending.is_ok() {
            // Without this line the next start works it out from the files; the vault is as it was either way.
            store.log.append(Record::End { id: commit.id.clone(), ending: Ending::Undone }, &[]).ok();
        }
        return Err(error);
    }
    discard(stage, &names);
    store.log.append(Record::End { id: commit.id.clone(), ending: Ending::Done }, &[]).ok();
    Ok(Receipt { id: commit.id.clone(), paths: paths(work) })
}

fn stage_all(stage: &Stage, names: &[String], work: &Work, staged: &mut Vec<Option<Staged>>) -> Result<()> {
    for (write, name) in work.writes.iter().zip(names) {
        let Some(after) = &write.after else {
            staged.push(None);
            continue;
        };
        let permissions = match (&write.stamp, &write.before) {
            (Some(stamp), _) => Some(stamp.permissions),
            (None, Some((_, stat))) => Some(stat.permissions),
            (None, None) => None,
        };
        let file = stage.write(name, after, permissions)?;
        if let Some((_, state)) = &write.before {
            file.set_owner(state.owner);
        }
        let stamped = write.stamp.map_or(Ok(()), |stamp| file.set_modified(stamp.modified_ns));
        staged.push(Some(file));
        stamped?;
    }
    Ok(())
}

/// Appends the checkpoint: what will happen, and the bytes of both sides that the log does not hold yet.
fn write_down(disk: &Disk, store: &mut Store, commit: &Commit<'_>, work: &Work) -> Result<()> {
    let mut blobs = Blobs::default();
    let mut steps: Vec<Step> = work.folders.iter().map(|path| Step::Make { path: path.clone() }).collect();
    for (step, size) in &work.moves {
        let kept = match (step.trash, size) {
            (Trash::Into, Some(_)) => blobs.kept(disk, store, &step.from)?,
            _ => None,
        };
        let (from, to) = (step.from.clone(), step.to.clone());
        steps.push(Step::Move { from, to, trash: step.trash.into(), size: *size, kept });
    }
    for write in &work.writes {
        let before = write.before.as_ref().map(|(bytes, stat)| {
            let stamp = Stamp { permissions: stat.permissions, modified_ns: stat.modified_ns };
            blobs.side(store, bytes, Some(stamp))
        });
        let after = write.after.as_ref().map(|bytes| blobs.side(store, bytes, None));
        steps.push(Step::Write { path: write.path.clone(), before, after });
    }
    steps.extend(work.removals.iter().map(|path| Step::Remove { path: path.clone() }));
    let checkpoint = Checkpoint {
        id: commit.id.clone(),
        task: commit.task.to_owned(),
        tool: commit.tool.to_owned(),
        time_ms: commit.time_ms,
        steps,
        blobs: blobs.places,
        note: commit.note.as_ref().map(Kept::of),
    };
    store.log.append(Record::Commit(Box::new(checkpoint)), &blobs.bytes)
}

#[derive(Default)]
struct Blobs {
    names: HashSet<Hash>,
    places: Vec<BlobPlace>,
    bytes: Vec<u8>,
}

impl Blobs {
    /// The bytes of a file that goes to the trash. One too large to hold stays in the trash alone.
    fn kept(&mut self, disk: &Disk, store: &Store, path: &VaultPath) -> Result<Option<Side>> {
        match disk.read_up_to(path, crate::disk::LARGEST_FILE) {
            Ok((bytes, state)) => {
                let stamp = Stamp { permissions: state.permissions, modified_ns: state.modified_ns };
                Ok(Some(self.side(store, &bytes, Some(stamp))))
            }
            Err(Error::TooLarge { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn side(&mut self, store: &Store, bytes: &[u8], stamp: Option<Stamp>) -> Side {
        let hash = Hash::of(bytes);
        let size = bytes.len() as u64;
        if !store.log.has(&hash) && self.names.insert(hash) {
            let (packing, packed) = blob::pack(bytes);
            self.places.push(BlobPlace { hash, size, stored: packed.len() as u64, packing });
            self.bytes.extend_from_slice(&packed);
        }
        Side { hash, size, stamp }
    }
}

/// Both before anything in the vault changes: a failure here has cost nothing. The log and the staged files go to the
/// disk at the same time, because the file system then needs one journal commit where it would need one each.
fn sync_both(store: &Store, staged: &[Option<Staged>]) -> Result<()> {
    let start = Instant::now();
    let few = staged.iter().flatten().count() <= 1;
    let synced = match few && store.syncs_quickly() {
        // A disk that is done sooner than a thread is started needs none.
        true => store.log.sync().and_then(|()| staged.iter().flatten().try_for_each(Staged::sync)),
        false => sync_together(store, staged),
    };
    if few && synced.is_ok() {
        store.synced_in(start.elapsed());
    }
    synced
}

fn sync_together(store: &Store, staged: &[Option<Staged>]) -> Result<()> {
    let waiting = Mutex::new(staged.iter().flatten());
    // Taken out first: the lock must not be held while the disk works.
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let sync_files = || {
        while let Some(file) = next() {
            file.sync()?;
        }
        Ok(())
    };
    let threads = staged.iter().flatten().count().min(MOST_SYNCS);
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..threads)
            .map(|_| {
                std::thread::Builder::new().name("vault sync".to_owned()).spawn_scoped(scope, sync_files)
            })
            .collect();
        let mut answer = store.log.sync();
        for helper in helpers {
            let synced = match helper.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(synced)) => synced,
                Ok(Err(_)) => {
                    Err(Error::io("cannot sync the staged text", std::io::Error::other("its thread died")))
                }
                // Where no thread can be had, this one does the work.
                Err(_) => sync_files(),
            };
            answer = answer.and(synced);
        }
        answer
    })
}

/// How many files are synced at a time: enough to share journal commits, few enough for any disk.
const MOST_SYNCS: usize = 8;

/// Something that was done, and how to take it back.
enum Done {
    Folder(VaultPath),
    Moved(VaultPath, VaultPath),
    Created(VaultPath, String),
    Swapped(VaultPath, String),
    Overwritten(VaultPath, Bytes, State),
    Taken(VaultPath, String),
    FolderRemoved(VaultPath),
}

fn apply(
    disk: &Disk,
    stage: &Stage,
    work: &Work,
    staged: &[Option<Staged>],
    names: &[String],
    done: &mut Vec<Done>,
) -> Result<()> {
    for path in &work.folders {
        disk.make_folder(path)?;
        done.push(Done::Folder(path.clone()));
    }
    for (step, _) in &work.moves {
        disk.rename(&step.from, &step.to)?;
        done.push(Done::Moved(step.from.clone(), step.to.clone()));
    }
    for ((write, file), name) in work.writes.iter().zip(staged).zip(names) {
        match (&write.before, file) {
            (None, Some(file)) => {
                disk.put_new(stage, file, &write.path)?;
                done.push(Done::Created(write.path.clone(), file.name.clone()));
            }
            (Some((bytes, stat)), Some(file)) => match disk.put(stage, file, &write.path)? {
                Replaced::Kept => {
                    done.push(Done::Swapped(write.path.clone(), file.name.clone()));
                    is_what_we_compared(disk, stage, &file.name, bytes, stat, &write.path)?;
                }
                Replaced::Gone => done.push(Done::Overwritten(write.path.clone(), bytes.clone(), *stat)),
            },
            (Some((bytes, stat)), None) => {
                disk.take(stage, &write.path, name)?;
                done.push(Done::Taken(write.path.clone(), name.clone()));
                is_what_we_compared(disk, stage, name, bytes, stat, &write.path)?;
            }
            (None, None) => {}
        }
    }
    for path in &work.removals {
        disk.remove_folder(path)?;
        done.push(Done::FolderRemoved(path.clone()));
    }
    Ok(())
}

/// The file that we swapped out must be the one that we compared; somebody may have written in between.
fn is_what_we_compared(
    disk: &Disk,
    stage: &Stage,
    name: &str,
    bytes: &Bytes,
    stat: &State,
    path: &VaultPath,
) -> Result<()> {
    if stage.stat(name).is_some_and(|now| {
        now.size == stat.size && now.modified_ns == stat.modified_ns && now.inode == stat.inode
    }) {
        return Ok(());
    }
    match disk.read_staged(stage, name) {
        Ok(found) if found[..] == bytes[..] => Ok(()),
        _ => Err(Error::Stale { path: path.clone() }),
    }
}

/// Takes back what was done, last first.
fn put_back(disk: &Disk, stage: &Stage, done: Vec<Done>) -> Result<()> {
    let mut answer = Ok(());
    for step in done.into_iter().rev() {
        let back = match step {
            Done::Folder(path) => disk.remove_folder(&path),
            Done::Moved(from, to) => disk.rename(&to, &from),
            Done::Created(path, name) => disk.take(stage, &path, &name),
            Done::Swapped(path, name) | Done::Taken(path, name) => disk.give_back(stage, &name, &path),
            Done::Overwritten(path, bytes, stat) => stage
                .write(&format!("{STAGED_PREFIX}back-{}", stat.inode), &bytes, Some(stat.permissions))
                .and_then(|file| {
                    file.set_modified(stat.modified_ns)?;
                    file.sync()?;
                    disk.give_back(stage, &file.name, &path)
                }),
            Done::FolderRemoved(path) => disk.make_folder(&path),
        };
        if answer.is_ok() {
            answer = back;
        }
    }
    answer
}

/// Removes what lies in the stage: new files that did not make it, or old ones that were swapped out.
fn discard(stage: &Stage, names: &[String]) {
    for name in names {
        stage.remove(name);
    }
}

fn sync_folders(disk: &Disk, work: &Work) -> Result<()> {
    let mut folders: BTreeSet<VaultFolder> = BTreeSet::new();
    folders.extend(work.folders.iter().map(VaultPath::parent));
    folders.extend(work.moves.iter().flat_map(|(step, _)| [step.from.parent(), step.to.parent()]));
    folders.extend(work.writes.iter().map(|write| write.path.parent()));
    folders.extend(work.removals.iter().map(VaultPath::parent));
    for folder in folders {
        match disk.sync_folder(&folder) {
            // The folder itself may have moved or gone in this very commit; its parent is in the list.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            answer => answer?,
        }
    }
    Ok(())
}

fn paths(work: &Work) -> Vec<VaultPath> {
    let mut all: BTreeSet<VaultPath> = work.folders.iter().cloned().collect();
    all.extend(work.moves.iter().flat_map(|(step, _)| [step.from.clone(), step.to.clone()]));
    all.extend(work.writes.iter().map(|write| write.path.clone()));
    all.extend(work.removals.iter().cloned());
    all.into_iter().collect()
}
