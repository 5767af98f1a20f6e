//! Keeping the log small and whole: retention by age and size, verification, and repair of a damaged file.
//!
//! Each writes a new log beside the old one and swaps them by a rename, so that a crash leaves one or the other.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::blob::{self, Hash};
use super::log::{Log, LogEntry, encode};
use super::record::{BlobPlace, Ending, Record, Step};
use super::{Store, hold};
use crate::error::{Error, Result};

/// How long checkpoints are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// At most this old, in milliseconds.
    pub age_ms: i64,
    /// At most this many bytes of log.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { age_ms: 90 * 24 * 3_600 * 1_000, bytes: 1 << 30 }
    }
}

/// What a collection did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collected {
    /// Checkpoints that are gone.
    pub dropped: usize,
    /// Checkpoints that stay.
    pub kept: usize,
    /// The log's length before.
    pub bytes_before: u64,
    /// And after.
    pub bytes_after: u64,
}

/// Drops what is too old or too much, oldest first; the newest checkpoint always stays.
pub fn collect(store: &mut Store, retention: Retention, now_ms: i64) -> Result<Collected> {
    let lock = store.lock_handle();
    let _held = hold(&lock)?;
    store.log.catch_up()?;
    refuse_damage(&store.log)?;
    let bytes_before = store.log.length()?;
    let entries = store.log.entries().to_vec();
    let keep_from = first_kept(&entries, retention, now_ms);
    if keep_from > 0 {
        rewrite(store, &entries[keep_from..])?;
    }
    Ok(Collected {
        dropped: keep_from,
        kept: entries.len() - keep_from,
        bytes_before,
        bytes_after: store.log.length()?,
    })
}

fn refuse_damage(log: &Log) -> Result<()> {
    match log.damage() {
        Some(damage) => {
            Err(Error::Damaged { what: "the checkpoint log".to_owned(), detail: damage.to_owned() })
        }
        None => Ok(()),
    }
}

fn first_kept(entries: &[LogEntry], retention: Retention, now_ms: i64) -> usize {
    let mut bytes = 0u64;
    let mut first = entries.len();
    for (index, entry) in entries.iter().enumerate().rev() {
        let steps: u64 = entry.checkpoint.steps.iter().map(weight).sum();
        bytes = bytes.saturating_add(steps + 300);
        let too_old = now_ms.saturating_sub(entry.checkpoint.time_ms) > retention.age_ms;
        let newest = index + 1 == entries.len();
        if !newest && entry.ending.is_some() && (too_old || bytes > retention.bytes) {
            break;
        }
        first = index;
    }
    first
}

fn weight(step: &Step) -> u64 {
    match step {
        Step::Write { before, after, .. } => {
            before.as_ref().map_or(0, |side| side.size) + after.as_ref().map_or(0, |side| side.size)
        }
        Step::Move { kept, .. } => 64 + kept.as_ref().map_or(0, |side| side.size),
        Step::Make { .. } | Step::Remove { .. } => 64,
    }
}

/// Writes the entries and the blobs that they need into a new log and swaps it in.
fn rewrite(store: &mut Store, entries: &[LogEntry]) -> Result<()> {
    let fresh = store.folder().join("checkpoints.log.new");
    write_fresh(&fresh, &store.log, entries)?;
    swap(&fresh, store.log.path())?;
    store.log = Log::open(&store.folder().join("checkpoints.log"))?;
    Ok(())
}

fn write_fresh(fresh: &Path, log: &Log, entries: &[LogEntry]) -> Result<()> {
    let cannot = |error| Error::io("cannot write the new checkpoint log", error);
    let mut file = create(fresh)?;
    let mut written: HashSet<Hash> = HashSet::new();
    for entry in entries {
        let mut checkpoint = entry.checkpoint.clone();
        let mut bytes = Vec::new();
        checkpoint.blobs.clear();
        for hash in needed(entry) {
            if written.insert(hash) {
                let content = log.blob(&hash)?;
                let (packing, packed) = blob::pack(&content);
                let (size, stored) = (content.len() as u64, packed.len() as u64);
                checkpoint.blobs.push(BlobPlace { hash, size, stored, packing });
                bytes.extend_from_slice(&packed);
            }
        }
        let id = checkpoint.id.clone();
        file.write_all(&encode(&Record::Commit(Box::new(checkpoint)), &bytes)?).map_err(cannot)?;
        if let Some(ending) = entry.ending {
            file.write_all(&encode(&Record::End { id, ending }, &[])?).map_err(cannot)?;
        }
    }
    file.sync_all().map_err(cannot)
}

/// The stored files without which an entry is of no use; one that never took effect needs none.
fn needed(entry: &LogEntry) -> Vec<Hash> {
    if entry.ending == Some(Ending::Undone) { Vec::new() } else { hashes(&entry.checkpoint.steps) }
}

fn hashes(steps: &[Step]) -> Vec<Hash> {
    steps
        .iter()
        .flat_map(|step| match step {
            Step::Write { before, after, .. } => [before.as_ref(), after.as_ref()],
            Step::Move { kept, .. } => [kept.as_ref(), None],
            Step::Make { .. } | Step::Remove { .. } => [None, None],
        })
        .flatten()
        .map(|side| side.hash)
        .collect()
}

/// What `verify` found wrong; empty if nothing is.
#[derive(Debug, Default, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Checkpoints read.
    pub checkpoints: usize,
    /// Stored files whose bytes were read and compared with their names (with `read_data`).
    pub files_read: usize,
    /// What is wrong, each with what to do.
    pub problems: Vec<String>,
}

/// Whether stored bytes are read too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadData {
    /// Only the structure.
    No,
    /// Every byte.
    Yes,
}

/// Reads the whole log and says what is wrong with it.
pub fn verify(store: &mut Store, read_data: ReadData) -> Result<Report> {
    store.log.catch_up()?;
    let mut report = Report { checkpoints: store.log.entries().len(), ..Report::default() };
    if let Some(damage) = store.log.damage() {
        report.problems.push(format!("checkpoints: {damage}"));
    }
    let torn = store.log.torn_tail()?;
    if torn > 0 && store.log.damage().is_none() {
        report.problems.push(format!(
            "checkpoints: {torn} bytes at the end were left half written by a process that died; the next write removes them"
        ));
    }
    let mut seen = HashSet::new();
    for entry in store.log.entries() {
        if entry.ending.is_none() {
            report.problems.push(format!(
                "checkpoints: commit {} was interrupted; the next write finishes it or takes it back",
                entry.checkpoint.id
            ));
        }
        for hash in needed(entry) {
            if !seen.insert(hash) {
                continue;
            }
            if !store.log.has(&hash) {
                report.problems.push(format!(
                    "checkpoints: {} lacks the file {}",
                    entry.checkpoint.id,
                    hash.short()
                ));
            } else if read_data == ReadData::Yes {
                report.files_read += 1;
                if let Err(error) = store.log.blob(&hash) {
                    report.problems.push(format!("checkpoints: {}: {error}", entry.checkpoint.id));
                }
            }
        }
    }
    Ok(report)
}

/// Puts a damaged log aside (nothing of it is deleted) and starts a new one from all that can be read.
/// Returns where the damaged file lies now, or `None` if there was nothing to repair.
pub fn repair(store: &mut Store) -> Result<Option<PathBuf>> {
    let lock = store.lock_handle();
    let _held = hold(&lock)?;
    store.log.catch_up()?;
    let whole: Vec<LogEntry> =
        store.log.entries().iter().filter(|entry| is_whole(&store.log, entry)).cloned().collect();
    if store.log.damage().is_none() && whole.len() == store.log.entries().len() {
        return Ok(None);
    }
    let fresh = store.folder().join("checkpoints.log.new");
    write_fresh(&fresh, &store.log, &whole)?;
    let aside = free_name(store.folder());
    let cannot = |error| Error::io("cannot put the damaged checkpoint log aside", error);
    link(store.log.path(), &aside).map_err(cannot)?;
    swap(&fresh, store.log.path())?;
    store.log = Log::open(&store.folder().join("checkpoints.log"))?;
    Ok(Some(aside))
}

fn is_whole(log: &Log, entry: &LogEntry) -> bool {
    entry.ending != Some(Ending::Undone)
        && hashes(&entry.checkpoint.steps).iter().all(|hash| log.blob(hash).is_ok())
}

#[expect(clippy::disallowed_methods, reason = "the store's own files, outside the vault")]
fn free_name(folder: &Path) -> PathBuf {
    let mut number = 1;
    loop {
        let name = folder.join(format!("checkpoints.log.damaged-{number}"));
        if !name.exists() {
            return name;
        }
        number += 1;
    }
}

#[expect(clippy::disallowed_methods, reason = "the store's own files, outside the vault")]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::hard_link(from, to)
}

#[expect(clippy::disallowed_methods, reason = "the store's own files, outside the vault")]
fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|error| Error::io("cannot write the new checkpoint log", error))
}

#[expect(clippy::disallowed_methods, reason = "the store's own files, outside the vault")]
fn swap(fresh: &Path, old: &Path) -> Result<()> {
    let cannot = |error| Error::io("cannot put the new checkpoint log in place", error);
    std::fs::rename(fresh, old).map_err(cannot)?;
    let Some(folder) = old.parent() else { return Ok(()) };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(cannot)
}
