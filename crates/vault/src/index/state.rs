//! The index at one moment: its segments, and which of their documents are gone. Never changed, only replaced.
//!
//! Searches take the state as it is and go on with it, whatever the watcher does meanwhile. Each path is alive in at
//! most one segment.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::bits::Bits;
use super::names::Names;
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
    names: Arc<OnceLock<Option<Names>>>,
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
            names: Arc::default(),
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

    /// The names of its notes; `None` if they are too many to be numbered.
    pub fn names(&self) -> Option<&Names> {
        self.names.get_or_init(|| Names::of(&self.segment)).as_ref()
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
    slots: Vec<Option<Arc<Bits>>>,
    pub tally: Tally,
}

/// What a question picks, besides what the asker sees.
#[derive(Clone, Copy, Default)]
pub(super) struct Picked<'a> {
    /// Only files in this folder, at any depth.
    pub folder: Option<&'a VaultFolder>,
    /// Only files that fit.
    pub glob: Option<&'a str>,
    /// Only these files.
    pub only: Option<&'a [VaultPath]>,
}

impl Among {
    /// Everything alive that the asker sees and that is picked.
    pub fn new(state: &State, picked: &Picked<'_>, visible: Visible<'_>, sight: &Sight) -> Result<Among> {
        let glob = picked.glob.map(Glob::new).transpose()?;
        let folder = picked.folder.filter(|folder| folder.path().is_some());
        let mut among = Among { slots: Vec::new(), tally: Tally::default() };
        for slot in &state.slots {
            let (bits, tally) = match visible.is_all() {
                true => (None, slot.tally()),
                false => sight.of(slot, visible),
            };
            if folder.is_none() && glob.is_none() && picked.only.is_none() {
                among.tally.join(tally);
                among.slots.push(bits);
                continue;
            }
            let seen = |doc: &u32| bits.as_ref().map_or(!slot.dead.has(*doc), |bits| bits.has(*doc));
            let fits = |doc: &u32| match &glob {
                Some(glob) => slot.paths()[*doc as usize].as_ref().is_some_and(|path| glob.fits(path)),
                None => true,
            };
            let range = slot.range(folder);
            let mut found = Bits::new(slot.segment.doc_count());
            let mut pick = |doc: u32| {
                if range.contains(&doc) && seen(&doc) && fits(&doc) && found.insert(doc) {
                    among.tally.add_doc(&slot.segment, doc);
                }
            };
            match picked.only {
                Some(only) => {
                    only.iter().filter_map(|path| slot.segment.find(path.as_str()).ok()).for_each(&mut pick)
                }
                None => range.clone().for_each(&mut pick),
            }
            among.slots.push(Some(Arc::new(found)));
        }
        Ok(among)
    }

    /// Whether these are all documents of a segment, and all are texts.
    pub fn is_every_text(&self, state: &State, slot: usize) -> bool {
        let known = state.slots.get(slot);
        matches!(self.slots.get(slot), Some(None))
            && known.is_some_and(|known| known.tally().text == known.segment.doc_count() as usize)
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

/// What one asker sees, remembered from question to question: asking a policy about a hundred thousand paths takes far
/// longer than a search. For one asker with one set of rules only; when the rules change, start with a new one.
#[derive(Default)]
pub struct Sight(Mutex<Vec<Seen>>);

struct Seen {
    segment: Weak<Segment>,
    dead: Weak<Bits>,
    /// What the asker sees of the segment, those that are gone included.
    visible: Bits,
    alive: Arc<Bits>,
    tally: Tally,
}

impl Sight {
    /// The documents of a segment that are alive and seen. Only what is new is asked about.
    fn of(&self, slot: &Slot, visible: Visible<'_>) -> (Option<Arc<Bits>>, Tally) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|seen| seen.segment.strong_count() > 0);
        let known = all.iter().position(|seen| seen.segment.as_ptr() == Arc::as_ptr(&slot.segment));
        let at = known.unwrap_or_else(|| {
            all.push(Seen::new(slot, visible));
            all.len() - 1
        });
        let seen = &mut all[at];
        if seen.dead.as_ptr() != Arc::as_ptr(&slot.dead) {
            seen.count(slot);
        }
        (Some(Arc::clone(&seen.alive)), seen.tally)
    }
}

impl Seen {
    fn new(slot: &Slot, visible: Visible<'_>) -> Seen {
        let mut bits = Bits::new(slot.segment.doc_count());
        for (path, doc) in slot.paths().iter().zip(0..) {
            if path.as_ref().is_some_and(|path| visible.sees(path)) {
                bits.insert(doc);
            }
        }
        let (alive, tally) = (Arc::default(), Tally::default());
        let mut seen =
            Seen { segment: Arc::downgrade(&slot.segment), dead: Weak::new(), visible: bits, alive, tally };
        seen.count(slot);
        seen
    }

    fn count(&mut self, slot: &Slot) {
        let (mut alive, mut tally) = (Bits::new(slot.segment.doc_count()), Tally::default());
        let docs = 0..slot.segment.doc_count();
        for doc in docs.filter(|doc| self.visible.has(*doc) && !slot.dead.has(*doc)) {
            alive.insert(doc);
            tally.add_doc(&slot.segment, doc);
        }
        (self.alive, self.tally, self.dead) = (Arc::new(alive), tally, Arc::downgrade(&slot.dead));
    }
}

impl Tally {
    fn add_doc(&mut self, segment: &Segment, doc: u32) {
        let known = segment.doc(doc);
        self.add(known.kind, known.words);
    }

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
