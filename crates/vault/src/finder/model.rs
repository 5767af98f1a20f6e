//! The finder's embedding model: opened when it is first needed, caught up, and asked how far it is.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::missed::Changed;
use super::shown::Shown;
use super::{Finder, NotesFound, OpenEmbedder, background};
use crate::catalog::Visible;
use crate::error::{Error, Result};
use crate::meaning::table::Table;
use crate::meaning::{Coverage, EmbedError, Embedder, Meaning, Pace, Step};
use crate::path::VaultPath;
use crate::policy::Limits;

/// A program that does not stay embeds so many chunks before it answers; more are for `embed`.
const FEW: usize = 32;
/// A model that could not be opened is not tried again before this.
const TRY_AGAIN: Duration = Duration::from_secs(20);
/// How often in a row a person who watches waits for a model that asks for patience.
const WAITS: usize = 10;

/// What [`Finder::embed_all`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedding {
    /// Chunks that were embedded.
    pub embedded: usize,
    /// Chunks with a vector, of all.
    pub coverage: Coverage,
    /// The model's name.
    pub model: String,
    /// Why it ended before all was done.
    pub stopped: Option<String>,
    /// Notes that the model refused, and why.
    pub problems: Vec<(VaultPath, String)>,
}

impl Finder {
    /// Another model than the built-in one. Notes outside the limits are not shown to it. The first one stays.
    pub fn use_embedder(&self, open: OpenEmbedder, limits: Limits) {
        self.model.set((open, limits)).ok();
    }

    /// This program stays: a slow model embeds in the background from now on.
    pub(crate) fn stay(self: &Arc<Self>) {
        if self.model.get().is_some() && !self.staying.swap(true, Ordering::SeqCst) {
            background::start(self);
        }
    }

    /// The vectors, opened and brought up to date on first use.
    pub fn meaning(&self) -> Result<&Meaning> {
        if let Some(meaning) = self.meaning.get() {
            return Ok(meaning);
        }
        let _one = self.opening_meaning.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(meaning) = self.meaning.get() {
            return Ok(meaning);
        }
        let model = self.open_model().map_err(embedding)?;
        let limits = self.model.get().map(|(_, limits)| limits.clone()).unwrap_or_default();
        let files = Arc::new(Shown::new(Arc::clone(&self.disk), limits));
        let slow = model.pace() == Pace::Slow;
        self.meaning_missed.start();
        let meaning = Meaning::open(files, &self.folder.join("meaning"), model)?;
        if !(slow && self.staying.load(Ordering::SeqCst)) {
            self.catch_up_once(&meaning)?;
        }
        let few = (1..=FEW).contains(&meaning.missing());
        if slow
            && few
            && !self.staying.load(Ordering::SeqCst)
            && let Some(_working) = meaning.try_to_work()?
        {
            while let Step::Embedded(_) = meaning.embed_next() {}
            meaning.save_rest()?;
        }
        let meaning = self.meaning.get_or_init(|| meaning);
        match self.meaning_missed.end() {
            Changed::Nothing => {}
            Changed::Paths(paths) => drop(meaning.refresh(&paths)?),
            Changed::All => drop(meaning.catch_up(&|_| {})?),
        }
        Ok(meaning)
    }

    /// Embeds all that waits, while a person watches.
    pub fn embed_all(&self) -> Result<Embedding> {
        let meaning = self.meaning()?;
        let Some(_working) = meaning.try_to_work()? else {
            return Err(Error::Edit {
                reason: "embedding_elsewhere",
                message: "another process embeds this vault just now".to_owned(),
                hint: "let it finish, or stop it; what it has done is saved in steps".to_owned(),
                candidates: Vec::new(),
            });
        };
        meaning.adopt()?;
        let (mut embedded, mut waits) = (0, 0);
        let stopped = loop {
            match meaning.embed_next() {
                Step::Idle => break None,
                Step::Embedded(count) => {
                    (embedded, waits) = (embedded + count, 0);
                    self.tell("embedding", embedded, embedded + meaning.missing());
                    meaning.save_if_due()?;
                }
                Step::Stopped(error) => match background::patience(&error).filter(|_| waits < WAITS) {
                    Some(patience) => {
                        meaning.save_rest()?;
                        waits += 1;
                        std::thread::sleep(patience);
                    }
                    None => break Some(error.to_string()),
                },
            }
        };
        meaning.save_rest()?;
        let (coverage, problems) = (meaning.coverage(Visible::all()), meaning.problems(Visible::all()));
        Ok(Embedding { embedded, coverage, model: meaning.embedder().name().to_owned(), stopped, problems })
    }

    /// Compares the vectors with the files, unless that has been done.
    pub(super) fn catch_up_once(&self, meaning: &Meaning) -> Result<()> {
        if self.caught_up.load(Ordering::SeqCst) {
            return Ok(());
        }
        let tell = |at: crate::meaning::Progress| self.tell("reading for meaning", at.done, at.total);
        let report = meaning.catch_up(&tell)?;
        report.notice.into_iter().for_each(|notice| self.notice(notice));
        self.caught_up.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// A model that is away may take long to say so; it is not asked again at once.
    fn open_model(&self) -> Result<Arc<dyn Embedder>, EmbedError> {
        let Some((open, _)) = self.model.get() else { return Ok(Table::built_in()?) };
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, error)) = &*failed
            && when.elapsed() < TRY_AGAIN
        {
            return Err(error.clone());
        }
        let opened = open();
        *failed = opened.as_ref().err().map(|error| (Instant::now(), error.clone()));
        opened
    }

    /// What an answer out of the vectors must say, if they are not as they should be.
    pub fn caution(&self, visible: Visible<'_>) -> Result<Option<String>> {
        Ok(self.state(self.meaning()?, visible, NotesFound::default()).caution())
    }

    /// The answer with what must be said about the vectors behind it.
    pub(super) fn state(&self, meaning: &Meaning, visible: Visible<'_>, found: NotesFound) -> NotesFound {
        let coverage = meaning.coverage(visible);
        if !self.caught_up.load(Ordering::SeqCst) {
            let counting = "the notes are still being counted for the embedding model".to_owned();
            return NotesFound { coverage: Some(coverage), trouble: Some(counting), ..found };
        }
        let unfinished = coverage.embedded < coverage.total;
        let trouble = if unfinished { meaning.trouble() } else { None };
        NotesFound { coverage: unfinished.then_some(coverage), trouble, ..found }
    }
}

/// The vault's error for the model's.
pub(super) fn embedding(error: EmbedError) -> Error {
    Error::Edit {
        reason: "embedding_failed",
        message: format!("the meaning of the text could not be worked out: {error}"),
        hint: "search by words instead (how: ranked)".to_owned(),
        candidates: Vec::new(),
    }
}
