//! Keeps the vectors in step with the notes: all of them after a start, single ones after an edit.
//!
//! Only chunks whose text is new are embedded. Reading and embedding happen without the write lock, so a search waits
//! for results to be put in and for nothing else. With a slow model the new chunks are only counted here; they are
//! embedded in [`super::work`].

use std::collections::{BTreeSet, HashMap};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::Meaning;
use super::chunks;
use super::embedder::{EmbedError, Pace, embed_checked};
use super::vectors::{Row, Vectors};
use super::work::lay_out;
use crate::catalog::threads;
use crate::error::Result;
use crate::files::{Entry, Kind, Stat};
use crate::path::{VaultFolder, VaultPath};

/// Notes between two breaths of a catch-up: an edit waits for no more than these.
const BATCH: usize = 256;
/// Notes that one thread takes at a time.
const SHARE: usize = 16;

/// How far a catch-up has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Notes that are done.
    pub done: usize,
    /// Notes that had to be looked at.
    pub total: usize,
}

/// What a catch-up or refresh did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Notes that were read.
    pub notes: usize,
    /// Chunks that were embedded.
    pub embedded: usize,
    /// Chunks whose vector could stay.
    pub kept: usize,
    /// Notes that are gone.
    pub removed: usize,
    /// Notes that could not be read or embedded; [`Meaning::problems`] says why.
    pub failed: usize,
    /// Why the saved vectors could not be taken as they were.
    pub notice: Option<String>,
    /// The model went away; the rest is for the next catch-up.
    pub stopped: Option<EmbedError>,
}

/// A note as it will be put in.
struct Looked {
    path: VaultPath,
    outcome: Outcome,
}

enum Outcome {
    Gone,
    Unreadable(String),
    Rows { stat: Stat, rows: Vec<Row>, missing: usize, embedded: usize, error: Option<EmbedError> },
}

impl Meaning {
    /// Walks the vault and embeds what is new or changed since; then saves, if that is worth a write. Searches go on
    /// meanwhile and find what is there already.
    pub fn catch_up(&self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report> {
        let mut report = Report { notice: self.take_notice(), ..Report::default() };
        let (fresh, gone) = self.differences()?;
        let total = fresh.len() + gone.len();
        let mut done = 0;
        progress(Progress { done, total });
        for batch in gone.chunks(BATCH).chain(fresh.chunks(BATCH)) {
            self.let_others_look();
            self.look_at(batch, &mut report);
            done += batch.len();
            progress(Progress { done, total });
            if report.stopped.is_some() {
                break;
            }
        }
        self.write().settle();
        let unsaved = self.unsaved.load(Ordering::Relaxed);
        if unsaved > self.size().0 / 100 || (report.notice.is_some() && unsaved > 0) {
            self.save()?;
        }
        Ok(report)
    }

    /// Looks again at these paths: notes, or folders with all that is in them. Whoever has written calls this.
    pub fn refresh(&self, changed: &[VaultPath]) -> Result<Report> {
        let mut report = Report::default();
        let mut paths = BTreeSet::new();
        for path in changed.iter().filter(|path| !path.is_hidden()) {
            let below = VaultFolder::from(path.clone());
            paths.extend(self.read().iter_in(&below).map(|note| note.path.clone()));
            match self.files.stat(path)? {
                Some(Entry { kind: Kind::Folder, .. }) => self.files.walk_in(&below, &mut |entry| {
                    if is_note(&entry) {
                        paths.insert(entry.path);
                    }
                })?,
                _ if path.is_note() => drop(paths.insert(path.clone())),
                _ => {}
            }
        }
        let paths: Vec<VaultPath> = paths.into_iter().collect();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.look_at(&paths, &mut report);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        Ok(report)
    }

    /// Notes to look at, in path order, and notes that are gone.
    fn differences(&self) -> Result<(Vec<VaultPath>, Vec<VaultPath>)> {
        let mut found: Vec<(VaultPath, Stat)> = Vec::new();
        self.files.walk(&mut |entry| {
            if is_note(&entry) {
                found.push((entry.path, entry.stat));
            }
        })?;
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let vectors = self.read();
        let known = |path: &VaultPath| found.binary_search_by(|(found, _)| found.cmp(path)).is_ok();
        let gone = vectors.iter().filter(|note| !known(&note.path)).map(|note| note.path.clone()).collect();
        let is_fresh =
            |(path, stat): &(VaultPath, Stat)| vectors.get(path).is_none_or(|note| note.stat != *stat);
        let fresh = found.iter().filter(|found| is_fresh(found)).map(|(path, _)| path.clone()).collect();
        Ok((fresh, gone))
    }

    /// Reads, embeds and puts in.
    pub(super) fn look_at(&self, paths: &[VaultPath], report: &mut Report) {
        let _one_at_a_time = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let looked = self.look_on_all_cores(paths);
        let mut vectors = self.write();
        let mut desk = self.desk();
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        for Looked { path, outcome } in looked {
            problems.remove(&path);
            desk.stuck.remove(&path);
            match outcome {
                Outcome::Gone => {
                    desk.spare(&vectors, &path);
                    report.removed += usize::from(vectors.remove(&path));
                }
                Outcome::Unreadable(why) => {
                    vectors.remove(&path);
                    report.failed += 1;
                    problems.insert(path, why);
                }
                Outcome::Rows { stat, rows, missing, embedded, error } => {
                    report.notes += 1;
                    report.embedded += embedded;
                    report.kept += rows.len() - embedded.min(rows.len());
                    if let Some(error) = error {
                        report.failed += 1;
                        problems.insert(path.clone(), error.to_string());
                        if !matches!(error, EmbedError::Text(_)) {
                            report.stopped = Some(error);
                        }
                    }
                    vectors.put(path, stat, &rows, missing);
                }
            }
            self.unsaved.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn look_on_all_cores(&self, paths: &[VaultPath]) -> Vec<Looked> {
        if paths.len() <= SHARE {
            return paths.iter().map(|path| self.look(path)).collect();
        }
        let next = AtomicUsize::new(0);
        let shares: Vec<&[VaultPath]> = paths.chunks(SHARE).collect();
        let work = || {
            let mut done = Vec::new();
            while let Some(share) = shares.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.extend(share.iter().map(|path| self.look(path)));
            }
            done
        };
        let mut looked = thread::scope(|scope| {
            let others: Vec<_> = (1..threads()).map(|_| scope.spawn(work)).collect();
            let mut looked = work();
            for other in others {
                match other.join() {
                    Ok(done) => looked.extend(done),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            looked
        });
        looked.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        looked
    }

    fn look(&self, path: &VaultPath) -> Looked {
        let outcome = match self.files.stat(path) {
            Ok(Some(entry)) if is_note(&entry) => self.look_inside(path, entry.stat),
            Ok(_) => Outcome::Gone,
            Err(error) => Outcome::Unreadable(error.to_string()),
        };
        Looked { path: path.clone(), outcome }
    }

    fn look_inside(&self, path: &VaultPath, stat: Stat) -> Outcome {
        let bytes = match self.files.read(path) {
            Ok(bytes) => bytes,
            Err(error) => return Outcome::Unreadable(error.to_string()),
        };
        let text = String::from_utf8_lossy(&bytes);
        let chunks = chunks::split(path, &text);
        let mut known = known_rows(&self.read(), path);
        if self.embedder.pace() == Pace::Slow {
            let pieces: Vec<_> = chunks.iter().map(|chunk| (chunk.hash, chunk.span.clone())).collect();
            let (rows, missing) = lay_out(&pieces, &known, &self.desk().nothing);
            return Outcome::Rows { stat, rows, missing, embedded: 0, error: None };
        }
        let fresh: Vec<&chunks::Chunk<'_>> =
            chunks.iter().filter(|chunk| !known.contains_key(&chunk.hash)).collect();
        let texts: Vec<&str> = fresh.iter().map(|chunk| &*chunk.text).collect();
        let (embedded, error) = match embed_checked(&*self.embedder, &texts) {
            Ok(vectors) => (vectors, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let count = embedded.len();
        for (chunk, vector) in fresh.iter().zip(&embedded) {
            known.insert(chunk.hash, Row::new(chunk.hash, chunk.span.clone(), vector));
        }
        let rows = chunks.iter().filter_map(|chunk| {
            let row = known.get(&chunk.hash)?.clone()?;
            Some(row.at(chunk.span.clone()))
        });
        // Without its stat the note counts as changed, and the next catch-up tries again.
        let stat = if error.is_some() { Stat::default() } else { stat };
        Outcome::Rows { stat, rows: rows.collect(), missing: 0, embedded: count, error }
    }

    /// A catch-up takes its next look at once; without this, whoever has written would wait for all of it.
    fn let_others_look(&self) {
        while self.waiting.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
    }

    fn take_notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The note's vectors by the hash of what was embedded.
pub(super) fn known_rows(vectors: &Vectors, path: &VaultPath) -> HashMap<u64, Option<Row>> {
    let rows = vectors.get(path).map_or(0..0, |note| note.rows());
    rows.filter_map(|row| vectors.row(row)).map(|row| (row.hash, Some(row))).collect()
}

fn is_note(entry: &Entry) -> bool {
    entry.kind == Kind::File && entry.path.is_note() && !entry.path.is_hidden()
}
