//! The index at one moment: its segments, and which of their documents are gone. Never changed, only replaced.
//!
//! Searches take the state as it is and go on with it, whatever the watcher does meanwhile. Each path is alive in at
//! most one segment.

use std::sync::{Arc, OnceLock};

use super::bits::Bits;
use super::segment::{Kind, Segment};
use crate::catalog::Visible;
use crate::error::Result;
use crate::path::{VaultFolder, VaultPath};
use crate::search::Glob;

/// A segment and what is left of it.
#[derive(Clone)]
pub(super) struct Slot {
    pub segment: Arc<Segment>,
    pub dead: Arc<Bits>,
    /// Its number on disk, once it is there.
    pub number: Option<u64>,
    /// The paths as values, made when a question needs them.
    paths: Arc<OnceLock<Vec<Option<VaultPath>>>>,
    tally: Tally,
}

/// How many documents of each kind are alive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub text: usize,
    pub binary: usize,
    pub unread: usize,
    pub words: u64,
}

/// All segments.
#[derive(Clone, Default)]
pub(super) struct State {
    pub slots: Vec<Slot>,
    /// The generation on disk that this one goes back to.
    pub generation: u64,
}

impl Slot {
    pub fn new(segment: Segment, dead: Bits, number: Option<u64>) -> Slot {
        let mut slot = Slot {
            segment: Arc::new(segment),
            dead: Arc::new(dead),
            number,
            paths: Arc::default(),
            tally: Tally::default(),
        };
        (0..slot.segment.doc_count()).filter(|doc| !slot.dead.has(*doc)).for_each(|doc| {
            let known = slot.segment.doc(doc);
            slot.tally.add(known.kind, known.words);
        });
        slot
    }

    pub fn live(&self) -> u32 {
        self.segment.doc_count() - self.dead.count()
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// A document's path; `None` only if the bytes hold something that is no path.
    pub fn path(&self, doc: u32) -> Option<VaultPath> {
        match self.paths.get() {
            Some(paths) => paths.get(doc as usize)?.clone(),
            None => VaultPath::parse(self.segment.path(doc)).ok(),
        }
    }

    fn paths(&self) -> &[Option<VaultPath>] {
        let all = || (0..self.segment.doc_count()).map(|doc| VaultPath::parse(self.segment.path(doc)).ok());
        self.paths.get_or_init(|| all().collect())
    }

    /// The documents in a folder, those that are gone included.
    fn range(&self, folder: Option<&VaultFolder>) -> std::ops::Range<u32> {
        let Some(path) = folder.and_then(VaultFolder::path) else { return 0..self.segment.doc_count() };
        // `/` is followed by `0`, so this is exactly what starts with `path/`.
        let place = |text: String| self.segment.find(&text).unwrap_or_else(|place| place);
        place(format!("{path}/"))..place(format!("{path}0"))
    }

    /// Takes documents out.
    pub fn without(&self, docs: impl IntoIterator<Item = u32>) -> Slot {
        let mut slot = self.clone();
        let mut dead = Bits::clone(&slot.dead);
        for doc in docs {
            if dead.insert(doc) {
                let known = slot.segment.doc(doc);
                slot.tally.remove(known.kind, known.words);
            }
        }
        slot.dead = Arc::new(dead);
        slot
    }
}

impl Tally {
    fn add(&mut self, kind: Kind, words: u32) {
        *self.of(kind) += 1;
        self.words += u64::from(words);
    }

    fn remove(&mut self, kind: Kind, words: u32) {
        *self.of(kind) -= 1;
        self.words -= u64::from(words);
    }

    fn of(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Text => &mut self.text,
            Kind::Binary => &mut self.binary,
            Kind::Unread => &mut self.unread,
        }
    }
}

/// Which documents a question is about, segment by segment.
pub(super) struct Among {
    slots: Vec<Option<Bits>>,
    pub tally: Tally,
}

impl Among {
    /// Everything alive that the asker sees and that fits folder and glob.
    pub fn new(
        state: &State,
        folder: Option<&VaultFolder>,
        glob: Option<&str>,
        visible: Visible<'_>,
    ) -> Result<Among> {
        let folder = folder.filter(|folder| folder.path().is_some());
        if folder.is_none() && glob.is_none() && visible.is_all() {
            let mut tally = Tally::default();
            state.slots.iter().for_each(|slot| tally.join(slot.tally()));
            return Ok(Among { slots: state.slots.iter().map(|_| None).collect(), tally });
        }
        let glob = glob.map(Glob::new).transpose()?;
        let mut among = Among { slots: Vec::new(), tally: Tally::default() };
        for slot in &state.slots {
            let mut bits = Bits::new(slot.segment.doc_count());
            let ask = glob.is_some() || !visible.is_all();
            for doc in slot.range(folder).filter(|doc| !slot.dead.has(*doc)) {
                let fits =
                    |path: &VaultPath| glob.as_ref().is_none_or(|glob| glob.fits(path)) && visible.sees(path);
                if !ask || slot.paths()[doc as usize].as_ref().is_some_and(fits) {
                    bits.insert(doc);
                    let known = slot.segment.doc(doc);
                    among.tally.add(known.kind, known.words);
                }
            }
            among.slots.push(Some(bits));
        }
        Ok(among)
    }

    /// Whether a document is one of them.
    pub fn has(&self, state: &State, slot: usize, doc: u32) -> bool {
        match self.slots.get(slot) {
            Some(Some(bits)) => bits.has(doc),
            Some(None) => state.slots.get(slot).is_some_and(|slot| !slot.dead.has(doc)),
            None => false,
        }
    }
}

impl Tally {
    fn join(&mut self, other: Tally) {
        self.text += other.text;
        self.binary += other.binary;
        self.unread += other.unread;
        self.words += other.words;
    }
}

impl State {
    /// Where a path is alive.
    pub fn find(&self, path: &str) -> Option<(usize, u32)> {
        self.slots.iter().enumerate().find_map(|(at, slot)| {
            let doc = slot.segment.find(path).ok()?;
            (!slot.dead.has(doc)).then_some((at, doc))
        })
    }

    /// Every document that is alive in a folder, as segment and number.
    pub fn docs_in<'a>(&'a self, folder: &'a VaultFolder) -> impl Iterator<Item = (usize, u32)> + 'a {
        self.slots.iter().enumerate().flat_map(move |(at, slot)| {
            slot.range(Some(folder)).filter(|doc| !slot.dead.has(*doc)).map(move |doc| (at, doc))
        })
    }

    /// The documents of one kind among some, in path order.
    pub fn of_kind(&self, kind: Kind, among: &Among) -> Vec<VaultPath> {
        let count = match kind {
            Kind::Text => among.tally.text,
            Kind::Binary => among.tally.binary,
            Kind::Unread => among.tally.unread,
        };
        let mut out = Vec::with_capacity(count);
        if count == 0 {
            return out;
        }
        for (at, slot) in self.slots.iter().enumerate() {
            let docs = (0..slot.segment.doc_count()).filter(|doc| among.has(self, at, *doc));
            let docs = docs.filter(|doc| slot.segment.doc(*doc).kind == kind);
            out.extend(docs.filter_map(|doc| slot.path(doc)));
        }
        out.sort();
        out
    }
}
