//! Search by meaning: every note cut into chunks, every chunk a vector, the nearest ones found by looking at all.
//!
//! Called by views for `semantic_search` and for similar notes; hybrid search joins [`Meaning::scores`] with the ranked
//! list through [`fuse::fuse`]. The vectors are a cache in the data folder: opened, compared with the files, and only
//! what differs is embedded again, chunk by chunk. A note that could not be read or embedded is in
//! [`Meaning::problems`] until it could. No work grows with the square of anything: a question costs one pass over the
//! vectors. Deliberately not here: the ranked list, links, networks, the clock.

mod alike;
pub mod chunks;
mod dot;
pub mod embedder;
pub mod filters;
pub mod fuse;
mod letters;
mod refresh;
pub mod table;
pub mod vectors;
pub mod wordpiece;
mod work;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::catalog::Visible;
use crate::error::Result;
use crate::files::Files;
use crate::path::VaultPath;
use crate::store::vectors::{self as saved, Loaded, Saved};
pub use embedder::{EmbedError, Embedder, Pace};
pub use filters::Filters;
use fuse::{Scores, Spread};
pub use refresh::{Progress, Report};
use vectors::{Found, NoteRows, Query, Vectors};
use work::Desk;
pub use work::{Coverage, Step};

/// So many chunks of one note are shown; the others would only push different notes off the page.
const CHUNKS_PER_NOTE: usize = 2;
/// So many notes are looked at to learn how the scores of all are spread.
const SAMPLE: usize = 1_024;
/// A sample with fewer notes than this says nothing.
const SMALLEST_SAMPLE: usize = 64;
/// Characters of an excerpt.
const EXCERPT: usize = 240;

/// The vectors of one vault, shared by all who ask.
pub struct Meaning {
    files: Arc<dyn Files>,
    folder: PathBuf,
    embedder: Arc<dyn Embedder>,
    vectors: RwLock<Vectors>,
    problems: Mutex<BTreeMap<VaultPath, String>>,
    /// Why the saved vectors were not taken as they were, for the next report.
    notice: Mutex<Option<String>>,
    // One look at a time: of two looks at one note the later must also be taken in later.
    looking: Mutex<()>,
    /// How many wait for their look, so that a long catch-up lets them through.
    waiting: AtomicUsize,
    /// Notes that have changed since the vectors were saved.
    unsaved: AtomicUsize,
    /// Chunks that a slow model has embedded since.
    pieces_unsaved: AtomicUsize,
    desk: Mutex<Desk>,
    /// What went wrong with a slow model last.
    trouble: Mutex<Option<String>>,
}

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The note.
    pub path: VaultPath,
    /// The headings above the chunk, outermost first.
    pub heading: Vec<String>,
    /// The chunk's bytes in the note.
    pub span: Range<usize>,
    /// How near its meaning is; 1 is the same.
    pub score: f32,
    /// How the chunk begins.
    pub excerpt: String,
}

impl Meaning {
    /// Opens what was saved, without looking at the vault: fast, and answers what was true then. Call
    /// [`Meaning::catch_up`] next, in the background if you like.
    pub fn open(files: Arc<dyn Files>, folder: &Path, embedder: Arc<dyn Embedder>) -> Result<Meaning> {
        let width = embedder.dimensions();
        let (vectors, notice) = match saved::load(folder, embedder.name(), width)? {
            Loaded::Vectors { vectors, damage } => (
                vectors,
                damage.map(|damage| {
                    format!("the saved vectors were damaged ({damage}); embedding those notes again")
                }),
            ),
            Loaded::OtherModel(name) => {
                let notice = format!(
                    "the saved vectors are of `{name}`; embedding all notes with `{}`",
                    embedder.name()
                );
                (Vectors::new(width), Some(notice))
            }
            Loaded::Nothing => (Vectors::new(width), None),
        };
        Ok(Meaning {
            files,
            folder: folder.to_owned(),
            embedder,
            vectors: RwLock::new(vectors),
            problems: Mutex::default(),
            notice: Mutex::new(notice),
            looking: Mutex::default(),
            waiting: AtomicUsize::new(0),
            unsaved: AtomicUsize::new(0),
            pieces_unsaved: AtomicUsize::new(0),
            desk: Mutex::default(),
            trouble: Mutex::default(),
        })
    }

    /// Opens what was saved and brings it up to date, or builds it.
    pub fn open_or_build(
        files: Arc<dyn Files>,
        folder: &Path,
        embedder: Arc<dyn Embedder>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Meaning, Report)> {
        let meaning = Meaning::open(files, folder, embedder)?;
        let report = meaning.catch_up(progress)?;
        Ok((meaning, report))
    }

    /// The chunks nearest to the query, best first, at most two of a note.
    pub fn search(
        &self,
        query: &str,
        filters: &Filters,
        count: usize,
        visible: Visible<'_>,
    ) -> Result<Vec<Hit>, EmbedError> {
        Ok(self.search_for(&self.question(query)?, filters, count, visible))
    }

    /// What a question means, for [`Meaning::search_for`] and [`Meaning::scores_for`]: a model is asked once.
    pub fn question(&self, text: &str) -> Result<Query, EmbedError> {
        Ok(Query::new(&embedder::query_checked(&*self.embedder, text)?))
    }

    /// Like [`Meaning::search`], for a question that is understood already.
    pub fn search_for(
        &self,
        query: &Query,
        filters: &Filters,
        count: usize,
        visible: Visible<'_>,
    ) -> Vec<Hit> {
        let chosen = {
            let vectors = self.read();
            let among = filters.among(&vectors);
            choose(&vectors, query, among.as_deref(), count, visible)
        };
        self.show(chosen)
    }

    /// The chunk of each of these notes that is nearest to the question. Costs no look at the others.
    pub fn best_pieces(&self, query: &Query, paths: &[VaultPath], visible: Visible<'_>) -> Vec<Hit> {
        let chosen = {
            let vectors = self.read();
            let best = |path: &VaultPath| {
                let number = vectors.number_of(path)?;
                let found = vectors.best_of(query, number, vectors.at(number)?)?;
                let facts = vectors.facts(found.row as usize)?;
                let (hash, start) = (facts.hash, facts.start as usize);
                Some(Chosen { path: path.clone(), hash, start, score: found.score })
            };
            paths.iter().filter(|path| visible.sees(path)).filter_map(best).collect()
        };
        self.show(chosen)
    }

    /// The notes nearest to the query by their best chunk, best first, with the exact scores of the notes in `also`
    /// (those of the ranked list) behind them: what [`fuse::fuse`] needs.
    pub fn scores(
        &self,
        query: &str,
        filters: &Filters,
        count: usize,
        also: &[VaultPath],
        visible: Visible<'_>,
    ) -> Result<Scores<VaultPath>, EmbedError> {
        Ok(self.scores_for(&self.question(query)?, filters, count, also, visible))
    }

    /// Like [`Meaning::scores`], for a question that is understood already.
    pub fn scores_for(
        &self,
        query: &Query,
        filters: &Filters,
        count: usize,
        also: &[VaultPath],
        visible: Visible<'_>,
    ) -> Scores<VaultPath> {
        let vectors = self.read();
        let among = filters.among(&vectors);
        let nearest = |keep| vectors.nearest_notes(query, among.as_deref(), keep);
        let mut notes: HashMap<VaultPath, f32> = HashMap::new();
        let mut sees = Sees::new(&vectors, visible);
        take_visible(vectors.notes(), count, nearest, |found| match sees.note(found.note) {
            Some(note) => notes.insert(note.path.clone(), found.score).is_none(),
            None => false,
        });
        for number in also.iter().filter_map(|path| vectors.number_of(path)) {
            if let Some(note) = sees.note(number).filter(|note| !notes.contains_key(&note.path)) {
                let found = vectors.best_of(query, number, note);
                notes.extend(found.map(|found| (note.path.clone(), found.score)));
            }
        }
        let spread = spread(&vectors, query, among.as_deref(), visible);
        let mut notes: Vec<(VaultPath, f32)> = notes.into_iter().collect();
        notes.sort_by(|(a, left), (b, right)| right.total_cmp(left).then_with(|| a.cmp(b)));
        Scores { notes, spread }
    }

    /// How near each of these notes is to the question by its best chunk; no look at the others.
    pub fn scores_of(
        &self,
        query: &Query,
        paths: &[VaultPath],
        visible: Visible<'_>,
    ) -> Vec<(VaultPath, f32)> {
        let vectors = self.read();
        let score = |path: &VaultPath| {
            let number = vectors.number_of(path)?;
            Some((path.clone(), vectors.best_of(query, number, vectors.at(number)?)?.score))
        };
        paths.iter().filter(|path| visible.sees(path)).filter_map(score).collect()
    }

    /// The notes that are like this one as a whole, best first. Nothing for a note that is not there for the asker.
    pub fn similar_to(&self, path: &VaultPath, count: usize, visible: Visible<'_>) -> Vec<(VaultPath, f32)> {
        let vectors = self.read();
        let Some(note) = vectors.get(path).filter(|note| visible.sees(&note.path)) else { return Vec::new() };
        let query = Query::new(&vectors.whole(note));
        if query.is_empty() {
            return Vec::new();
        }
        let mut sees = Sees::new(&vectors, visible);
        let mut similar = Vec::new();
        let nearest = |keep| vectors.nearest_wholes(&query, keep);
        take_visible(vectors.notes(), count, nearest, |found| {
            let other = sees.note(found.note).filter(|other| other.path != *path);
            similar.extend(other.map(|other| (other.path.clone(), found.score)));
            other.is_some()
        });
        similar
    }

    /// Pairs of notes that are at least this near as wholes, the nearest first; 1 is the same. Not every pair is
    /// compared, and at most a thousand are named.
    pub fn alike(&self, least: f32, visible: Visible<'_>) -> Vec<(VaultPath, VaultPath, f32)> {
        alike::pairs(&self.read(), least, visible)
    }

    /// Notes that have no vectors, or not all of theirs, and why.
    pub fn problems(&self, visible: Visible<'_>) -> Vec<(VaultPath, String)> {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = problems.iter().filter(|(path, _)| visible.sees(path));
        seen.map(|(path, why)| (path.clone(), why.clone())).collect()
    }

    /// How many notes and chunks have vectors.
    pub fn size(&self) -> (usize, usize) {
        let vectors = self.read();
        (vectors.notes(), vectors.rows())
    }

    /// Bytes that the vectors take in memory.
    pub fn bytes(&self) -> usize {
        self.read().bytes()
    }

    /// Writes the vectors to the data folder. Changes that were never saved cost the next start an embedding each.
    pub fn save(&self) -> Result<Saved> {
        let vectors = self.read();
        let saved = saved::save(&self.folder, self.embedder.name(), self.embedder.dimensions(), &vectors)?;
        if saved == Saved::Written {
            self.unsaved.store(0, std::sync::atomic::Ordering::Relaxed);
            self.pieces_unsaved.store(0, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(saved)
    }

    /// The same, unless nothing has changed since.
    pub fn save_if_changed(&self) -> Result<()> {
        if self.unsaved.load(std::sync::atomic::Ordering::Relaxed) > 0 {
            self.save()?;
        }
        Ok(())
    }

    /// Reads the chosen chunks out of their notes. A note that has gone meanwhile is left out.
    fn show(&self, chosen: Vec<Chosen>) -> Vec<Hit> {
        let mut texts: HashMap<VaultPath, Option<String>> = HashMap::new();
        let mut hits = Vec::with_capacity(chosen.len());
        for chosen in chosen {
            let read = |path: &VaultPath| {
                self.files.read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            };
            let text = texts.entry(chosen.path.clone()).or_insert_with_key(read);
            hits.extend(text.as_deref().map(|text| hit(chosen, text)));
        }
        hits
    }

    fn read(&self) -> RwLockReadGuard<'_, Vectors> {
        self.vectors.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vectors> {
        self.vectors.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model.
    pub fn embedder(&self) -> &dyn Embedder {
        &*self.embedder
    }
}

/// A chunk that will be shown.
struct Chosen {
    path: VaultPath,
    hash: u64,
    start: usize,
    score: f32,
}

fn choose(
    vectors: &Vectors,
    query: &Query,
    among: Option<&[bool]>,
    count: usize,
    visible: Visible<'_>,
) -> Vec<Chosen> {
    if query.is_empty() {
        return Vec::new();
    }
    let mut sees = Sees::new(vectors, visible);
    let mut shown: HashMap<u32, usize> = HashMap::new();
    let mut chosen = Vec::new();
    let nearest = |keep| vectors.nearest(query, among, keep);
    take_visible(vectors.rows(), count, nearest, |found| {
        let (Some(note), Some(facts)) = (sees.note(found.note), vectors.facts(found.row as usize)) else {
            return false;
        };
        let shown = shown.entry(found.note).or_default();
        *shown += 1;
        if *shown > CHUNKS_PER_NOTE {
            return false;
        }
        let (path, start) = (note.path.clone(), facts.start as usize);
        chosen.push(Chosen { path, hash: facts.hash, start, score: found.score });
        true
    });
    chosen
}

/// Gives `take` the nearest, best first, until it has taken `count`. Whether the asker sees a note is only asked of
/// those: asking it of every note would take longer than the search. If too many were refused, more are looked for.
fn take_visible(
    all: usize,
    count: usize,
    nearest: impl Fn(usize) -> Vec<Found>,
    mut take: impl FnMut(Found) -> bool,
) {
    let (mut keep, mut done, mut taken) = (count.saturating_mul(4).max(64), 0, 0);
    while taken < count && done < all {
        let found = nearest(keep);
        for found in found.iter().skip(done) {
            taken += usize::from(take(*found));
            if taken == count {
                return;
            }
        }
        if found.len() < keep {
            return;
        }
        done = found.len();
        keep = keep.saturating_mul(16).min(all);
    }
}

/// Remembers which notes the asker sees; asking may be slow, and a note has many chunks.
struct Sees<'v> {
    vectors: &'v Vectors,
    visible: Visible<'v>,
    known: HashMap<u32, bool>,
}

impl<'v> Sees<'v> {
    fn new(vectors: &'v Vectors, visible: Visible<'v>) -> Sees<'v> {
        Sees { vectors, visible, known: HashMap::new() }
    }

    fn note(&mut self, number: u32) -> Option<&'v NoteRows> {
        let note = self.vectors.at(number)?;
        let visible = self.visible;
        self.known.entry(number).or_insert_with(|| visible.sees(&note.path)).then_some(note)
    }
}

/// How the scores of the notes that the asker sees are spread, from a sample of them.
fn spread(vectors: &Vectors, query: &Query, among: Option<&[bool]>, visible: Visible<'_>) -> Spread {
    let end = vectors.numbers_end();
    let sample = |step: usize| {
        let numbers = (0..end).step_by(step).filter(|number| among.is_none_or(|among| among[*number]));
        let notes = numbers.filter_map(|number| Some((number as u32, vectors.at(number as u32)?)));
        let seen = notes.filter(|(_, note)| visible.sees(&note.path));
        let scores = seen.filter_map(|(number, note)| vectors.best_of(query, number, note));
        Spread::of(scores.map(|found| found.score), 0)
    };
    let step = (end / SAMPLE).max(1);
    let part = sample(step);
    match part.count < SMALLEST_SAMPLE && step > 1 {
        true => sample(1),
        false => Spread { count: part.count * step, ..part },
    }
}

fn hit(chosen: Chosen, text: &str) -> Hit {
    let Chosen { path, hash, start, score } = chosen;
    let chunks = chunks::split(&path, text);
    let same = chunks.iter().filter(|chunk| chunk.hash == hash);
    let nearest = same.min_by_key(|chunk| chunk.span.start.abs_diff(start));
    // The note may have been edited a moment ago; then the chunk that now lies there is shown.
    let chunk = nearest.or_else(|| chunks.iter().find(|chunk| chunk.span.end > start)).or(chunks.last());
    let (heading, span) =
        chunk.map_or((Vec::new(), 0..0), |chunk| (chunk.heading.clone(), chunk.span.clone()));
    Hit { path, heading, excerpt: excerpt(&text[span.clone()]), span, score }
}

/// How a chunk begins, in one line, without the headings at its start.
fn excerpt(text: &str) -> String {
    let body = text.lines().skip_while(|line| line.trim().is_empty() || line.starts_with('#'));
    let body: String = body.flat_map(|line| [line, " "]).collect();
    let words = if body.trim().is_empty() { text } else { &body };
    let mut short = String::new();
    let mut letters = 0;
    for word in words.split_whitespace() {
        if !short.is_empty() {
            short.push(' ');
        }
        for letter in word.chars() {
            letters += 1;
            if letters > EXCERPT {
                short.truncate(short.trim_end().len());
                short.push('…');
                return short;
            }
            short.push(letter);
        }
        letters += 1;
    }
    short
}

#[cfg(test)]
mod tests;
