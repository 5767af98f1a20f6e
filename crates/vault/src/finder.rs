//! Finding notes by words and by meaning: the text index and the vectors of one vault, opened when first asked for.
//!
//! `Vault` holds one and tells it what changed; views ask it. Both parts are caches in the data folder: what is missing or
//! damaged there is built anew from the notes, and said so ([`Finder::take_notices`]). A slow model embeds behind the
//! scenes ([`background`]); an answer says how far it has come, and when it is away the words are searched alone.
//! Deliberately not here: what may be seen (every question takes a [`Visible`]).

mod background;
mod missed;
mod model;
mod shown;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::catalog::{Live, Visible};
use crate::disk::Disk;
use crate::error::Result;
use crate::files::{Files, Nobody, Witness};
use crate::index::{Event, Hit, RankedQuery, Sight, Snippet, TextIndex};
use crate::meaning::fuse::{Scores, WEIGHT, fuse};
use crate::meaning::vectors::Query;
use crate::meaning::{Coverage, EmbedError, Embedder, Filters, Meaning};
use crate::path::{VaultFolder, VaultPath};
use crate::policy::Limits;
use background::Bell;
use missed::{Changed, Missed};
pub use model::Embedding;
pub(crate) use turns::{Patient, Turns};

/// What is told about a long piece of work: what it is, how far, of how much.
pub type OnProgress = Box<dyn Fn(&str, usize, usize) + Send + Sync>;

/// Opens an embedding model when it is first needed.
pub type OpenEmbedder = Box<dyn Fn() -> Result<Arc<dyn Embedder>, EmbedError> + Send + Sync>;

/// The ways to find notes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// By words and by meaning, joined.
    #[default]
    Hybrid,
    /// By words alone.
    Ranked,
    /// By meaning alone.
    Meaning,
}

/// What to find.
#[derive(Debug, Clone, PartialEq)]
pub struct FindQuery {
    /// The words or the question.
    pub text: String,
    /// Only in this folder, at any depth.
    pub folder: Option<VaultFolder>,
    /// Only these notes: what a tag has picked.
    pub only: Option<Vec<VaultPath>>,
    /// Only notes changed at this time or later, nanoseconds since 1970.
    pub since_ns: Option<i64>,
    /// How many notes.
    pub limit: usize,
    /// Which way.
    pub how: How,
}

/// A note that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct NoteFound {
    /// The note.
    pub path: VaultPath,
    /// Its first heading of level 1, or its name.
    pub title: String,
    /// How well it fits; comparable within one answer only.
    pub score: f32,
    /// Lines that hold the words.
    pub snippets: Vec<Snippet>,
    /// The piece that is nearest in meaning, with the headings above it.
    pub excerpt: Option<(Vec<String>, String)>,
}

impl NoteFound {
    fn by_words(hit: Hit) -> NoteFound {
        let Hit { path, score, title, snippets } = hit;
        NoteFound { path, title, score, snippets, excerpt: None }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NotesFound {
    /// The best first.
    pub notes: Vec<NoteFound>,
    /// Notes that hold at least one of the words; absent when only meaning was asked.
    pub with_words: Option<usize>,
    /// Words that nobody wrote, with those that were looked for instead.
    pub corrected: Vec<(String, Vec<String>)>,
    /// How much of the vault has vectors, while that is not all of it.
    pub coverage: Option<Coverage>,
    /// Why meaning did not count, or is not getting on.
    pub trouble: Option<String>,
}

impl NotesFound {
    /// What an answer must say about the search by meaning, if it is not as it should be.
    pub fn caution(&self) -> Option<String> {
        let part = self.coverage.map(|Coverage { embedded, total }| {
            format!(
                "{embedded} of {total} pieces embedded so far; notes that are not are found by their words"
            )
        });
        match (part, &self.trouble) {
            (None, None) => None,
            (Some(part), None) => Some(part),
            (Some(part), Some(why)) => Some(format!("{part} ({why})")),
            (None, Some(why)) => Some(format!("searched by words alone: {why}")),
        }
    }
}

/// The index and the vectors of one vault.
pub struct Finder {
    disk: Arc<Disk>,
    folder: PathBuf,
    text: OnceLock<TextIndex>,
    meaning: OnceLock<Meaning>,
    opening_text: Mutex<()>,
    opening_meaning: Mutex<()>,
    text_missed: Missed,
    meaning_missed: Missed,
    /// When opening the model failed last, and how.
    failed: Mutex<Option<(Instant, EmbedError)>>,
    model: OnceLock<(OpenEmbedder, Limits)>,
    staying: AtomicBool,
    caught_up: AtomicBool,
    bell: Arc<Bell>,
    notices: Mutex<Vec<String>>,
    progress: OnceLock<OnProgress>,
    turns: Arc<Turns>,
}

/// So many candidates of each list are joined: enough that a note in the middle of both can come to the top.
const CANDIDATES: usize = 200;

impl Finder {
    pub(crate) fn new(disk: Arc<Disk>, data: &Path) -> Finder {
        Finder {
            disk,
            folder: data.to_owned(),
            text: OnceLock::new(),
            meaning: OnceLock::new(),
            opening_text: Mutex::default(),
            opening_meaning: Mutex::default(),
            text_missed: Missed::default(),
            meaning_missed: Missed::default(),
            failed: Mutex::default(),
            model: OnceLock::new(),
            staying: AtomicBool::new(false),
            caught_up: AtomicBool::new(false),
            bell: Arc::default(),
            notices: Mutex::default(),
            progress: OnceLock::new(),
            turns: Arc::default(),
        }
    }

    /// Who goes first while the caches are built.
    pub(crate) fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }

    /// Whom to tell about long work. The first one stays.
    pub fn on_progress(&self, progress: OnProgress) {
        self.progress.set(progress).ok();
    }

    /// What people should be told: built, healed, could not be saved.
    pub fn take_notices(&self) -> Vec<String> {
        if let Some(index) = self.text.get() {
            index.take_events().into_iter().for_each(|event| self.notice(say(&event)));
        }
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The text index, opened and brought up to date on first use.
    pub fn text(&self) -> Result<&TextIndex> {
        self.text_before(&Nobody)
    }

    /// The same before a witness, who sees every file if the index has to be built.
    pub(crate) fn text_before(&self, witness: &dyn Witness) -> Result<&TextIndex> {
        if let Some(index) = self.text.get() {
            return Ok(index);
        }
        let _one = self.opening_text.lock().unwrap_or_else(PoisonError::into_inner);
        self.open_text(witness)
    }

    /// The text index if it can answer soon: it is open, or saved and nobody is at it. Exact search works without it.
    pub fn text_if_ready(&self) -> Option<&TextIndex> {
        if let Some(index) = self.text.get() {
            return Some(index);
        }
        if !self.has_saved_text() {
            return None;
        }
        let _one = self.opening_text.try_lock().ok()?;
        // Whoever reads the vault for the catalog meanwhile has time; this one waits for an answer.
        let _first = self.turns.ask();
        // What fails here is read from the files, and said by whoever cannot do without the index.
        self.open_text(&Nobody).ok()
    }

    /// Whether an index was saved.
    pub(crate) fn has_saved_text(&self) -> bool {
        TextIndex::is_saved(&self.folder.join("index"))
    }

    fn open_text(&self, witness: &dyn Witness) -> Result<&TextIndex> {
        if let Some(index) = self.text.get() {
            return Ok(index);
        }
        let tell = |at: crate::index::Progress| self.tell("indexing", at.done, at.total);
        self.text_missed.start();
        let folder = self.folder.join("index");
        let index = TextIndex::open_or_build_before(self.files(), &folder, &tell, witness)?;
        if self.staying.load(Ordering::Relaxed) {
            index.prepare();
        }
        let index = self.text.get_or_init(|| index);
        let caught_up = match self.text_missed.end() {
            Changed::Nothing => Ok(()),
            Changed::Paths(paths) => index.refresh(&paths),
            Changed::All => index.refresh_all(),
        };
        caught_up.map(|()| index)
    }

    /// Looks again at these paths, in whatever is open.
    pub fn refresh(&self, changed: &[VaultPath]) {
        if let Some(index) = self.text_missed.cache_or_keep(Some(changed), || self.text.get())
            && let Err(error) = index.refresh(changed)
        {
            self.notice(format!("the text index could not be brought up to date: {error}"));
        }
        if let Some(meaning) = self.meaning_missed.cache_or_keep(Some(changed), || self.meaning.get())
            && let Err(error) = meaning.refresh(changed)
        {
            self.notice(format!("the vectors could not be brought up to date: {error}"));
        }
        self.bell.ring();
    }

    /// Compares everything that is open with the disk.
    pub fn refresh_all(&self) -> Result<()> {
        if let Some(index) = self.text_missed.cache_or_keep(None, || self.text.get()) {
            index.refresh_all()?;
        }
        self.refresh_meaning()
    }

    /// Compares the catalog and everything that is open with the disk, by one walk.
    pub(crate) fn refresh_all_with(&self, catalog: &Live) -> Result<()> {
        match self.text_missed.cache_or_keep(None, || self.text.get()) {
            Some(index) => index.refresh_all_seen(|| catalog.refresh_all_and_say())?,
            None => catalog.refresh_all()?,
        }
        self.refresh_meaning()
    }

    fn refresh_meaning(&self) -> Result<()> {
        if let Some(meaning) = self.meaning_missed.cache_or_keep(None, || self.meaning.get()) {
            meaning.catch_up(&|_| {})?;
        }
        self.bell.ring();
        Ok(())
    }

    /// Saves what is open and has changed, so that the next start need not do the work again.
    pub fn save(&self) -> Result<()> {
        if let Some(index) = self.text.get() {
            index.save()?;
        }
        if let Some(meaning) = self.meaning.get() {
            meaning.save_if_changed()?;
        }
        Ok(())
    }

    /// Finds notes. `sight` is what the index remembers of `visible`.
    pub fn find(
        &self,
        query: &FindQuery,
        visible: Visible<'_>,
        sight: &Sight,
        now_ns: i64,
    ) -> Result<NotesFound> {
        match query.how {
            How::Ranked => self.ranked(query, visible, sight, now_ns),
            How::Meaning => self.by_meaning(query, visible, sight, now_ns),
            How::Hybrid => self.hybrid(query, visible, sight, now_ns),
        }
    }

    fn ranked(
        &self,
        query: &FindQuery,
        visible: Visible<'_>,
        sight: &Sight,
        now_ns: i64,
    ) -> Result<NotesFound> {
        let words = self.words(query, query.limit, visible)?;
        let ranked = self.text()?.ranked_as(&words, visible, sight, now_ns)?;
        let notes = ranked.hits.into_iter().map(NoteFound::by_words).collect();
        let (with_words, corrected) = (Some(ranked.total), ranked.corrected);
        Ok(NotesFound { notes, with_words, corrected, ..NotesFound::default() })
    }

    fn words(&self, query: &FindQuery, limit: usize, visible: Visible<'_>) -> Result<RankedQuery> {
        let mut words = RankedQuery::new(&query.text);
        words.folder = query.folder.clone();
        words.only = self.only(query, visible)?;
        words.limit = limit;
        Ok(words)
    }

    /// What the question means, if there is a model that can say so.
    fn understood(&self, text: &str) -> Result<(&Meaning, Query)> {
        let meaning = self.meaning()?;
        Ok((meaning, meaning.question(text).map_err(model::embedding)?))
    }

    fn by_meaning(
        &self,
        query: &FindQuery,
        visible: Visible<'_>,
        sight: &Sight,
        now_ns: i64,
    ) -> Result<NotesFound> {
        let (meaning, question) = match self.understood(&query.text) {
            Ok(understood) => understood,
            Err(error) => {
                let ranked = self.ranked(query, visible, sight, now_ns)?;
                return Ok(NotesFound { trouble: Some(error.to_string()), ..ranked });
            }
        };
        let hits = meaning.search_for(&question, &filters(query), query.limit * 2, visible);
        let mut notes: Vec<NoteFound> = Vec::new();
        for hit in hits {
            if notes.len() < query.limit && notes.iter().all(|note| note.path != hit.path) {
                let title = hit.path.stem().to_owned();
                let excerpt = Some((hit.heading, hit.excerpt));
                notes.push(NoteFound {
                    path: hit.path,
                    title,
                    score: hit.score,
                    snippets: Vec::new(),
                    excerpt,
                });
            }
        }
        Ok(self.state(meaning, visible, NotesFound { notes, ..NotesFound::default() }))
    }

    /// The ranked list and the vectors, joined by weight: meaning never replaces the words.
    fn hybrid(
        &self,
        query: &FindQuery,
        visible: Visible<'_>,
        sight: &Sight,
        now_ns: i64,
    ) -> Result<NotesFound> {
        let (meaning, question) = match self.understood(&query.text) {
            Ok(understood) => understood,
            Err(error) => {
                let ranked = self.ranked(query, visible, sight, now_ns)?;
                return Ok(NotesFound { trouble: Some(error.to_string()), ..ranked });
            }
        };
        let mut near = meaning.scores_for(&question, &filters(query), CANDIDATES, &[], visible);
        // Each list is asked about the best of the other, so that no note is judged by a score that it does not have.
        let also = near.notes.iter().map(|(path, _)| path.clone()).collect();
        let words = RankedQuery { lines: false, also, ..self.words(query, CANDIDATES, visible)? };
        let index = self.text()?;
        let ranked = index.ranked_as(&words, visible, sight, now_ns)?;
        let known: BTreeSet<&VaultPath> = words.also.iter().collect();
        let hits = ranked.hits.iter().map(|hit| &hit.path).filter(|path| !known.contains(path));
        let hits: Vec<VaultPath> = hits.cloned().collect();
        near.notes.extend(meaning.scores_of(&question, &hits, visible));
        let mut list: Vec<(VaultPath, f32)> =
            ranked.hits.iter().map(|hit| (hit.path.clone(), hit.score)).collect();
        list.extend(ranked.also.iter().cloned());
        let list = Scores { notes: list, spread: ranked.spread };
        let with_words: BTreeSet<&VaultPath> = list.notes.iter().map(|(path, _)| path).collect();
        let best: Vec<(VaultPath, f32)> = fuse(&list, &near, WEIGHT).into_iter().take(query.limit).collect();
        let paths: Vec<VaultPath> = best.iter().map(|(path, _)| path.clone()).collect();
        let pieces = meaning.best_pieces(&question, &paths, visible).into_iter();
        let mut excerpts: BTreeMap<VaultPath, (Vec<String>, String)> =
            pieces.map(|hit| (hit.path, (hit.heading, hit.excerpt))).collect();
        let notes = best.into_iter().map(|(path, score)| {
            let excerpt = excerpts.remove(&path);
            // Only what is shown is read: cutting lines out of two hundred candidates took longer than finding them.
            let (title, snippets) = match with_words.contains(&path) {
                true => index.lines_of(&path, &ranked),
                false => (path.stem().to_owned(), Vec::new()),
            };
            NoteFound { path, title, score, snippets, excerpt }
        });
        let found = NotesFound {
            notes: notes.collect(),
            with_words: Some(ranked.total),
            corrected: ranked.corrected.clone(),
            ..NotesFound::default()
        };
        Ok(self.state(meaning, visible, found))
    }

    /// The notes that a date or a list leaves, for the ranked list, which knows neither.
    fn only(&self, query: &FindQuery, visible: Visible<'_>) -> Result<Option<Vec<VaultPath>>> {
        let Some(since) = query.since_ns else { return Ok(query.only.clone()) };
        let mut young = Vec::new();
        self.disk.walk(&mut |entry| {
            let listed = query.only.as_ref().is_none_or(|only| only.contains(&entry.path));
            if entry.stat.modified_ns >= since && listed && visible.sees(&entry.path) {
                young.push(entry.path);
            }
        })?;
        young.sort();
        Ok(Some(young))
    }

    fn files(&self) -> Arc<dyn Files> {
        Arc::clone(&self.disk) as Arc<dyn Files>
    }

    fn tell(&self, what: &str, done: usize, total: usize) {
        if let Some(progress) = self.progress.get() {
            progress(what, done, total);
        }
    }

    fn notice(&self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

impl Drop for Finder {
    fn drop(&mut self) {
        self.bell.stop();
    }
}

fn filters(query: &FindQuery) -> Filters {
    Filters {
        folders: query.folder.iter().cloned().collect(),
        since_ns: query.since_ns,
        only: query.only.clone(),
    }
}

fn say(event: &Event) -> String {
    match event {
        Event::Built { files } => format!("the text index was built ({files} files)"),
        Event::Healed { why } => {
            format!("the text index was damaged ({why}) and has been built anew; nothing is lost")
        }
        Event::NotSaved { why } => {
            format!("the text index could not be saved ({why}); the next start builds it again")
        }
    }
}

#[cfg(test)]
mod tests;
