//! Builds the whole index from the notes: batches on all cores, then one merge.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::batch::{self, Batch, Keep, MOST_DOCS};
use super::bits::Bits;
use super::segment::Segment;
use super::{Progress, TextIndex, cannot};
use crate::catalog::threads;
use crate::error::Result;
use crate::files::{Entry, Files, Kind, Witness};
use crate::store::index::{IndexFolder, Writing};

/// Memory that a core takes for each byte of a batch, and a merge for each part, as measured.
const OF_A_BYTE: u64 = 3;
const OF_A_PART: u64 = 1 << 19;

/// How much text is indexed together: where what the cores take while they work and what a merge of all parts takes are
/// the same, because the one falls as the other grows.
fn batch_size(entries: &[Entry]) -> u64 {
    let text: u64 = entries.iter().map(|entry| entry.stat.size.min(batch::LARGEST_TEXT)).sum();
    let best = text.saturating_mul(OF_A_PART) / (OF_A_BYTE * threads() as u64);
    best.isqrt().clamp(1 << 19, 8 << 20)
}

impl TextIndex {
    /// All files of the vault, indexed, in path order. Not in the state yet. Under the folder's lock the segments lie in
    /// files until they are merged: they are as large as the index, and would be most of what a first build takes.
    pub(super) fn index_all(
        &self,
        held: Option<(&IndexFolder, &Writing)>,
        progress: &(dyn Fn(Progress) + Sync),
        witness: &dyn Witness,
    ) -> Result<Vec<Segment>> {
        let mut entries = Vec::new();
        witness.start();
        self.files.walk(&mut |entry| match entry.kind {
            Kind::File => entries.push(entry),
            Kind::Folder => witness.folder(entry.path),
        })?;
        let keep = |bytes: &mut Vec<u8>| match held.map(|(folder, held)| folder.put_aside(held, bytes)) {
            Some(Ok(map)) => Segment::aside(map).map_err(io::Error::other),
            // No file is needed for it.
            Some(Err(_)) | None => batch::in_memory(bytes),
        };
        let segments = index(&*self.files, entries, progress, witness, &keep).map_err(cannot)?;
        witness.end();
        Ok(segments)
    }
}

/// Indexes files on all cores; the segments are in path order.
pub(super) fn index(
    files: &dyn Files,
    mut entries: Vec<Entry>,
    progress: &(dyn Fn(Progress) + Sync),
    witness: &dyn Witness,
    keep: Keep<'_>,
) -> io::Result<Vec<Segment>> {
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    entries.dedup_by(|a, b| a.path == b.path);
    let batches = batches(&entries);
    let results: Mutex<Vec<Option<io::Result<Segment>>>> = Mutex::new(batches.iter().map(|_| None).collect());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut scratch = Batch::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = batches.get(at) else { return };
            let segment = batch::index(files, batch, &mut scratch, witness, keep);
            let done = done.fetch_add(batch.len(), Ordering::Relaxed) + batch.len();
            progress(Progress { done, total: entries.len() });
            results.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(segment);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads().min(batches.len()) {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let lost = || Err(io::Error::other("indexing was interrupted"));
    results.into_iter().map(|result| result.unwrap_or_else(lost)).collect()
}

fn batches(entries: &[Entry]) -> Vec<&[Entry]> {
    let most = batch_size(entries);
    let mut out = Vec::new();
    let (mut start, mut size) = (0, 0);
    for (at, entry) in entries.iter().enumerate() {
        if at > start && (size + entry.stat.size > most || at - start == MOST_DOCS) {
            out.push(&entries[start..at]);
            (start, size) = (at, 0);
        }
        size += entry.stat.size.min(batch::LARGEST_TEXT);
    }
    if start < entries.len() {
        out.push(&entries[start..]);
    }
    out
}

/// No document of a fresh segment is gone.
pub(super) fn none_dead(segment: &Segment) -> Bits {
    Bits::new(segment.doc_count())
}
