//! The text index of a vault: finds lines and ranks notes without reading the notes.
//!
//! `Vault` holds one behind an `Arc`; the watcher tells it which paths changed, searches ask it. It is a cache in the
//! data folder (see [`crate::store::index`]): what is deleted or damaged there is noticed, built anew from the notes, and
//! reported as [`Event::Healed`]. One word list with the lines and places of every word, in segments that never change:
//! a change makes a new small segment and strikes the old version out; small ones are merged now and then.
//! Deliberately not here: what may be seen (every question takes a [`Visible`]), meaning, queries over properties.

mod batch;
mod beside;
mod bits;
mod build;
mod count;
mod exact;
mod field;
mod forms;
mod found;
mod holders;
mod letters;
mod merge;
mod names;
mod plan;
mod postings;
mod ranked;
mod save;
mod score;
mod segment;
mod snippet;
mod state;
mod token;
mod update;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

pub use holders::{Holders, WordsQuery};
pub use ranked::{Hit, Ranked, RankedQuery, Recency};
pub(crate) use segment::Damage;
pub use snippet::Snippet;

use crate::catalog::Visible;
use crate::error::{Error, Result};
use crate::files::{Entry, Files, Kind, Nobody, Witness};
use crate::path::VaultPath;
use crate::search::{self, Found, Query};
use crate::store::index::IndexFolder;
pub use state::Sight;
use state::{Among, State};

/// The text index of one vault.
pub struct TextIndex {
    files: Arc<dyn Files>,
    folder: Option<IndexFolder>,
    state: RwLock<Arc<State>>,
    // One change at a time: of two looks at one path the later must also be taken in later.
    changing: Mutex<()>,
    events: Mutex<Vec<Event>>,
}

/// Something that whoever runs the program should be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// There was no index, and it was built.
    Built {
        /// Files that it covers.
        files: usize,
    },
    /// The index was damaged and has been built anew from the notes. Nothing is lost.
    Healed {
        /// What was wrong with it.
        why: String,
    },
    /// The index works, but could not be saved; the next start builds it again.
    NotSaved {
        /// What the system said.
        why: String,
    },
}

/// How far a build has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Files that are indexed.
    pub done: usize,
    /// Files in all.
    pub total: usize,
}

/// What the index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Text files.
    pub texts: usize,
    /// Files with NUL bytes; they are not searched.
    pub binaries: usize,
    /// Files that each search reads itself, because they are too large or could not be read.
    pub unread: usize,
    /// Words in all texts.
    pub words: u64,
    /// Pieces of the index.
    pub segments: usize,
    /// Bytes on disk.
    pub bytes_on_disk: u64,
    /// Bytes in memory that are not on disk yet.
    pub bytes_in_memory: u64,
}

impl TextIndex {
    /// Opens the index in `folder` and brings it up to date; builds it if there is none or it is damaged.
    pub fn open_or_build(
        files: Arc<dyn Files>,
        folder: &Path,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<TextIndex> {
        TextIndex::open_or_build_before(files, folder, progress, &Nobody)
    }

    /// Whether something is saved in `folder`; it may be damaged or old.
    pub fn is_saved(folder: &Path) -> bool {
        IndexFolder::is_saved(folder)
    }

    /// Like [`TextIndex::open_or_build`], before a witness: if everything is read, he sees it too.
    pub fn open_or_build_before(
        files: Arc<dyn Files>,
        folder: &Path,
        progress: &(dyn Fn(Progress) + Sync),
        witness: &dyn Witness,
    ) -> Result<TextIndex> {
        let mut events = Vec::new();
        let folder = match IndexFolder::open(folder) {
            Ok(folder) => Some(folder),
            Err(error) => {
                events.push(Event::NotSaved { why: error.to_string() });
                None
            }
        };
        let index = TextIndex {
            files,
            folder,
            state: RwLock::default(),
            changing: Mutex::default(),
            events: Mutex::new(events),
        };
        index.open(progress, witness)?;
        Ok(index)
    }

    /// Looks again at these paths: files, or folders with all that is in them.
    pub fn refresh(&self, changed: &[VaultPath]) -> Result<()> {
        let _one_at_a_time = self.change();
        let state = self.state();
        let changes = update::look_at(&state, &*self.files, changed)?;
        self.take_in(State::clone(&state), changes)
    }

    /// Walks the vault and looks again at every file whose size, time or number differs.
    pub fn refresh_all(&self) -> Result<()> {
        let _one_at_a_time = self.change();
        self.refresh_all_held()
    }

    /// The same with a walk that somebody else makes, after changes have been stopped here.
    pub(crate) fn refresh_all_seen(&self, walk: impl FnOnce() -> Result<Vec<Entry>>) -> Result<()> {
        let _one_at_a_time = self.change();
        let entries = walk()?;
        self.refresh_seen(self.newer().unwrap_or_else(|| State::clone(&self.state())), entries)
    }

    /// Exact search: the same answer as [`search::search`] over all files that the asker sees.
    pub fn search(&self, query: &Query, visible: Visible<'_>) -> Result<Found> {
        self.search_as(query, visible, &Sight::default())
    }

    /// Like [`TextIndex::search`], for an asker who asks again: `sight` remembers what `visible` said.
    pub fn search_as(&self, query: &Query, visible: Visible<'_>, sight: &Sight) -> Result<Found> {
        for _ in 0..2 {
            let state = self.state();
            match found::search(&state, &*self.files, query, visible, sight)? {
                Ok(found) => return Ok(found),
                Err(damage) => self.heal(&state, &damage)?,
            }
        }
        let mut paths = Vec::new();
        self.files.walk(&mut |entry| {
            if entry.kind == Kind::File && visible.sees(&entry.path) {
                paths.push(entry.path);
            }
        })?;
        search::search(&*self.files, &paths, query)
    }

    /// Notes by how well they fit some words. `now_ns` is the present, for [`RankedQuery::recency`].
    pub fn ranked(&self, query: &RankedQuery, visible: Visible<'_>, now_ns: i64) -> Result<Ranked> {
        self.ranked_as(query, visible, &Sight::default(), now_ns)
    }

    /// Like [`TextIndex::ranked`], for an asker who asks again: `sight` remembers what `visible` said.
    pub fn ranked_as(
        &self,
        query: &RankedQuery,
        visible: Visible<'_>,
        sight: &Sight,
        now_ns: i64,
    ) -> Result<Ranked> {
        for _ in 0..2 {
            let state = self.state();
            match ranked::ranked(&state, &*self.files, query, (visible, sight), now_ns)? {
                Ok(ranked) => return Ok(ranked),
                Err(damage) => self.heal(&state, &damage)?,
            }
        }
        Err(Error::Damaged {
            what: "the text index".to_owned(),
            detail: "it was built anew and is damaged again; look at the disk".to_owned(),
        })
    }

    /// The title of a note and the lines that say most about why it was found.
    pub fn lines_of(&self, path: &VaultPath, ranked: &Ranked) -> (String, Vec<Snippet>) {
        snippet::snippets(&*self.files, path, &ranked.words)
    }

    /// The notes that hold all words of a query; `None` if the index cannot rule out any.
    pub fn holders(
        &self,
        query: &WordsQuery<'_>,
        visible: Visible<'_>,
        sight: &Sight,
    ) -> Result<Option<Holders>> {
        for _ in 0..2 {
            let state = self.state();
            let among = Among::new(&state, &state::Picked::default(), visible, sight)?;
            match holders::holders(&state, query, &among) {
                Ok(found) => return Ok(found),
                Err(damage) => self.heal(&state, &damage)?,
            }
        }
        Ok(None)
    }

    /// The files that a query has to look into, in path order; `None` if the index cannot rule out any.
    pub fn candidates(&self, query: &Query, visible: Visible<'_>) -> Result<Option<Vec<VaultPath>>> {
        let state = self.state();
        let among = Among::new(&state, &found::picked(query), visible, &Sight::default())?;
        let Ok(found::Candidates::These { docs, .. }) = found::candidates(&state, query, &among) else {
            return Ok(None);
        };
        let mut paths = state.of_kind(segment::Kind::Unread, &among);
        for (slot, docs) in state.slots.iter().zip(docs) {
            paths.extend(docs.iter().filter_map(|(doc, _)| slot.path(*doc)));
        }
        paths.sort();
        Ok(Some(paths))
    }

    /// Makes what every search needs and the first would make otherwise: for programs that stay.
    pub(crate) fn prepare(&self) {
        self.state().slots.iter().for_each(|slot| {
            slot.names();
        });
    }

    /// What the index holds.
    pub fn stats(&self) -> Stats {
        let state = self.state();
        let mut stats = Stats { segments: state.slots.len(), ..Stats::default() };
        for slot in &state.slots {
            let tally = slot.tally();
            stats.texts += tally.text;
            stats.binaries += tally.binary;
            stats.unread += tally.unread;
            stats.words += tally.words;
            match slot.segment.is_mapped() {
                true => stats.bytes_on_disk += slot.segment.size() as u64,
                false => stats.bytes_in_memory += slot.segment.size() as u64,
            }
        }
        stats
    }

    /// What has happened since this was last asked.
    pub fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads every byte of the index and builds it anew if one is wrong; whether all were right.
    pub fn verify(&self) -> Result<bool> {
        let state = self.state();
        match state.slots.iter().find_map(|slot| slot.segment.check_all().err()) {
            None => Ok(true),
            Some(damage) => self.heal(&state, &damage).map(|()| false),
        }
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Builds anew, unless somebody else has done so since `damaged` was looked at.
    fn heal(&self, damaged: &Arc<State>, damage: &Damage) -> Result<()> {
        let _one_at_a_time = self.change();
        if !Arc::ptr_eq(damaged, &self.state()) {
            return Ok(());
        }
        self.rebuild()?;
        self.tell(Event::Healed { why: damage.to_string() });
        Ok(())
    }
}

fn cannot(error: std::io::Error) -> Error {
    Error::io("cannot build the text index", error)
}

#[cfg(test)]
mod tests;
