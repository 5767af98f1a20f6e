//! Embeds what waits for its vector, a batch at a time: the road of slow models.
//!
//! Called by the finder, in the background or while a person watches. A catch-up with a slow model only counts the
//! chunks that are new; here they are read again, embedded without any lock, and put in if their note is still the
//! same. So a search or an edit never waits for a model, and what is done stays done: [`Meaning::save_if_due`] writes it
//! in steps, and a killed process loses one step at most. Deliberately not here: threads, pauses, who may work.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::embedder::{EmbedError, embed_checked};
use super::refresh::known_rows;
use super::vectors::{Row, Vectors};
use super::{Meaning, chunks};
use crate::catalog::Visible;
use crate::error::Result;
use crate::files::Stat;
use crate::path::VaultPath;
use crate::store::vectors::{self as saved, Loaded, Saved, Working};

/// So many chunks are embedded before they are saved, or a twentieth of all: the file is written as a whole.
const STEP: usize = 256;
/// Vectors of notes that have gone, kept for the place where they turn up again.
const MOST_SPARE: usize = 50_000;

/// What is known between two batches.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// Chunks in which the model sees nothing.
    pub(super) nothing: HashSet<u64>,
    /// Chunks that the model refused.
    refused: HashSet<u64>,
    /// Notes with nothing left to try until they change.
    pub(super) stuck: HashSet<VaultPath>,
    /// Vectors of notes that have gone; a moved note need not be embedded again.
    spare: HashMap<u64, Row>,
}

impl Desk {
    /// Keeps the vectors of a note that goes.
    pub(super) fn spare(&mut self, vectors: &Vectors, path: &VaultPath) {
        if self.spare.len() < MOST_SPARE {
            let rows = known_rows(vectors, path).into_values().flatten();
            self.spare.extend(rows.map(|row| (row.hash, row)));
        }
    }
}

/// What one batch did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// So many chunks were sent to the model.
    Embedded(usize),
    /// Nothing waits, or nothing that could be tried.
    Idle,
    /// The model is away or unfit; what waits goes on waiting.
    Stopped(EmbedError),
}

/// How much of a vault has vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Coverage {
    /// Chunks with a vector.
    pub embedded: usize,
    /// Chunks there are.
    pub total: usize,
}

/// A note with chunks to embed.
struct Unfinished {
    path: VaultPath,
    stat: Stat,
    /// All its chunks.
    pieces: Vec<(u64, Range<usize>)>,
    /// Those that turned up again.
    found: Vec<Row>,
    /// Those to be embedded now.
    wanted: Vec<Wanted>,
}

struct Wanted {
    hash: u64,
    span: Range<usize>,
    text: String,
}

impl Meaning {
    /// Embeds the next batch, the notes that were changed last first.
    pub fn embed_next(&self) -> Step {
        let batch = self.embedder.batch().max(1);
        let notes = loop {
            let candidates = self.waiting_notes(batch);
            if candidates.is_empty() {
                return Step::Idle;
            }
            let notes = self.gather(&candidates, batch);
            if !notes.is_empty() {
                break notes;
            }
        };
        let texts: Vec<&str> = notes.iter().flat_map(|note| &note.wanted).map(|piece| &*piece.text).collect();
        let outcome = self.embed_each(&texts);
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(vectors) => {
                *trouble = None;
                let count = texts.len();
                self.put_in(&notes, vectors);
                Step::Embedded(count)
            }
            Err(error) => {
                *trouble = Some(error.to_string());
                Step::Stopped(error)
            }
        }
    }

    /// How many of the chunks that the asker may see have a vector.
    pub fn coverage(&self, visible: Visible<'_>) -> Coverage {
        let vectors = self.read();
        if visible.is_all() || vectors.missing() == 0 {
            return Coverage { embedded: vectors.rows(), total: vectors.rows() + vectors.missing() };
        }
        let seen = vectors.iter().filter(|note| visible.sees(&note.path));
        seen.fold(Coverage::default(), |sum, note| {
            let embedded = note.rows().len();
            Coverage {
                embedded: sum.embedded + embedded,
                total: sum.total + embedded + note.missing as usize,
            }
        })
    }

    /// How many chunks wait for their vector.
    pub fn missing(&self) -> usize {
        self.read().missing()
    }

    /// What went wrong with the model last, until it works again.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Saves if a step is full.
    pub fn save_if_due(&self) -> Result<()> {
        if self.pieces_unsaved.load(Ordering::Relaxed) >= STEP.max(self.size().1 / 20) {
            self.save()?;
        }
        Ok(())
    }

    /// Saves if there is anything that the file lacks.
    pub fn save_rest(&self) -> Result<Saved> {
        match self.pieces_unsaved.load(Ordering::Relaxed) {
            0 => Ok(Saved::Written),
            _ => self.save(),
        }
    }

    /// The right to embed for all processes, unless another has it.
    pub fn try_to_work(&self) -> Result<Option<Working>> {
        saved::try_to_work(&self.folder, self.embedder.name())
    }

    /// Takes over what another process has embedded and saved.
    pub fn adopt(&self) -> Result<()> {
        let loaded = saved::load(&self.folder, self.embedder.name(), self.embedder.dimensions())?;
        let Loaded::Vectors { vectors: theirs, .. } = loaded else { return Ok(()) };
        let _one_at_a_time = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut vectors = self.write();
        let taken: Vec<_> = vectors
            .iter()
            .filter(|mine| mine.missing > 0)
            .filter_map(|mine| {
                let other = theirs.get(&mine.path)?;
                (other.stat == mine.stat && other.missing < mine.missing).then_some(other)
            })
            .collect();
        for note in taken {
            let rows: Vec<Row> = note.rows().filter_map(|row| theirs.row(row)).collect();
            vectors.put(note.path.clone(), note.stat, &rows, note.missing as usize);
        }
        Ok(())
    }

    /// Notes that wait, the youngest first.
    fn waiting_notes(&self, count: usize) -> Vec<VaultPath> {
        let vectors = self.read();
        if vectors.missing() == 0 {
            return Vec::new();
        }
        let desk = self.desk();
        let waits = vectors.iter().filter(|note| note.missing > 0 && !desk.stuck.contains(&note.path));
        let mut notes: Vec<_> = waits.map(|note| (note.stat.modified_ns, &note.path)).collect();
        notes.sort_unstable_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.cmp(right)));
        notes.into_iter().take(count).map(|(_, path)| path.clone()).collect()
    }

    fn gather(&self, candidates: &[VaultPath], batch: usize) -> Vec<Unfinished> {
        let mut notes: Vec<Unfinished> = Vec::new();
        let mut room = batch;
        for path in candidates {
            if room == 0 {
                break;
            }
            if let Some(note) = self.unfinished(path, room) {
                room -= note.wanted.len();
                notes.push(note);
            }
        }
        notes
    }

    /// Reads a note again; `None` if it is not what was counted, or if there is nothing to try in it.
    fn unfinished(&self, path: &VaultPath, room: usize) -> Option<Unfinished> {
        let entry = self.files.stat(path).ok().flatten();
        let same = self.read().get(path).map(|note| note.stat);
        let (Some(entry), Some(stat)) = (entry, same) else { return self.look_again(path) };
        let bytes = self.files.read(path).ok().filter(|_| entry.stat == stat);
        let Some(bytes) = bytes else { return self.look_again(path) };
        let text = String::from_utf8_lossy(&bytes);
        let chunks = chunks::split(path, &text);
        let mut known: HashSet<u64> = known_rows(&self.read(), path).into_keys().collect();
        let mut desk = self.desk();
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        for chunk in &chunks {
            let out = desk.nothing.contains(&chunk.hash) || desk.refused.contains(&chunk.hash);
            if out || wanted.len() == room || !known.insert(chunk.hash) {
                continue;
            }
            match desk.spare.get(&chunk.hash) {
                Some(row) => found.push(row.clone()),
                None => wanted.push(Wanted {
                    hash: chunk.hash,
                    span: chunk.span.clone(),
                    text: chunk.text.clone().into_owned(),
                }),
            }
        }
        if found.is_empty() && wanted.is_empty() {
            desk.stuck.insert(path.clone());
            return None;
        }
        let pieces = chunks.iter().map(|chunk| (chunk.hash, chunk.span.clone())).collect();
        Some(Unfinished { path: path.clone(), stat, pieces, found, wanted })
    }

    /// The note has changed or gone since it was counted.
    fn look_again(&self, path: &VaultPath) -> Option<Unfinished> {
        self.look_at(std::slice::from_ref(path), &mut super::Report::default());
        None
    }

    /// All texts at once; if the model refuses some of them, one by one, to learn which.
    fn embed_each(&self, texts: &[&str]) -> Result<Vec<Result<Vec<f32>, String>>, EmbedError> {
        match embed_checked(&*self.embedder, texts) {
            Ok(vectors) => Ok(vectors.into_iter().map(Ok).collect()),
            Err(EmbedError::Text(why)) if texts.len() <= 1 => {
                Ok(texts.iter().map(|_| Err(why.clone())).collect())
            }
            Err(EmbedError::Text(_)) => {
                let (left, right) = texts.split_at(texts.len() / 2);
                let mut all = self.embed_each(left)?;
                all.extend(self.embed_each(right)?);
                Ok(all)
            }
            Err(error) => Err(error),
        }
    }

    fn put_in(&self, notes: &[Unfinished], results: Vec<Result<Vec<f32>, String>>) {
        let _one_at_a_time = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut results = results.into_iter();
        let mut vectors = self.write();
        let mut desk = self.desk();
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        for note in notes {
            let mine: Vec<_> = note.wanted.iter().zip(results.by_ref().take(note.wanted.len())).collect();
            // Edited meanwhile: it was counted anew, and its turn comes again.
            if vectors.get(&note.path).is_none_or(|known| known.stat != note.stat) {
                continue;
            }
            let mut known = known_rows(&vectors, &note.path);
            known.extend(note.found.iter().map(|row| (row.hash, Some(row.clone()))));
            for (piece, result) in mine {
                match result.map(|vector| Row::new(piece.hash, piece.span.clone(), &vector)) {
                    Ok(Some(row)) => drop(known.insert(piece.hash, Some(row))),
                    Ok(None) => drop(desk.nothing.insert(piece.hash)),
                    Err(why) => {
                        desk.refused.insert(piece.hash);
                        problems.insert(note.path.clone(), EmbedError::Text(why).to_string());
                    }
                }
            }
            let (rows, missing) = lay_out(&note.pieces, &known, &desk.nothing);
            vectors.put(note.path.clone(), note.stat, &rows, missing);
            self.pieces_unsaved.fetch_add(note.wanted.len().max(1), Ordering::Relaxed);
        }
    }
}

/// The rows of a note's chunks in their order, and how many chunks have none.
pub(super) fn lay_out(
    pieces: &[(u64, Range<usize>)],
    known: &HashMap<u64, Option<Row>>,
    nothing: &HashSet<u64>,
) -> (Vec<Row>, usize) {
    let row = |(hash, span): &(u64, Range<usize>)| Some(known.get(hash)?.clone()?.at(span.clone()));
    let rows = pieces.iter().filter_map(row).collect();
    let missing =
        pieces.iter().filter(|(hash, _)| !known.contains_key(hash) && !nothing.contains(hash)).count();
    (rows, missing)
}
