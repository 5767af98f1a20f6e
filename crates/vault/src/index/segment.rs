//! One immutable piece of the index: documents in path order, terms in byte order, and where each term stands.
//!
//! The same bytes lie in a file that is mapped or in memory. A file carries the hash of every block of it: what every
//! question needs (documents, vocabulary) is checked when it is opened, and postings when they are first touched, so that
//! opening does not read the file and yet no damaged byte is ever believed. [`super::writer`] writes what is read here.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memmem;

use super::postings::{Docs, Streams};
use crate::files::Stat;
use crate::store::index_map::Map;

pub(super) const MAGIC: &[u8; 8] = b"VGRTEXT1";
/// Goes up whenever tokens, fields or the layout change.
pub(super) const VERSION: u32 = 2;
/// Bytes that are checked together.
pub(super) const BLOCK: usize = 32 * 1024;
pub(super) const FOOTER: usize = 96;
pub(super) const DOC: usize = 40;
pub(super) const TERM: usize = 32;

/// Why bytes are not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Damage(pub String);

/// Where a segment's bytes lie.
pub(crate) enum Bytes {
    Owned(Vec<u8>),
    Mapped(Map),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Mapped(map) => map.as_ref(),
        }
    }
}

/// What is known of a file without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text; all its tokens are here.
    Text,
    /// It holds NUL bytes and is not searched.
    Binary,
    /// It is too large or could not be read; whoever asks reads it himself.
    Unread,
}

/// A document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doc {
    pub kind: Kind,
    pub words: u32,
    pub lines: u32,
    pub stat: Stat,
}

/// A term's record.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Term {
    pub docs: u32,
    pub occurrences: u32,
    pub last_doc: u32,
    offset: u64,
    docs_bytes: u32,
    lines_bytes: u32,
}

/// A piece of the index, opened.
pub(crate) struct Segment {
    bytes: Bytes,
    vocabulary: Range<usize>,
    terms: Range<usize>,
    docs: Range<usize>,
    paths: Range<usize>,
    hashes: Range<usize>,
    /// Which blocks were found good; empty for bytes that we have made ourselves.
    checked: Vec<AtomicU64>,
    line_starts: OnceLock<Vec<u64>>,
    /// The hash that names this very content.
    pub(crate) identity: [u8; 8],
}

impl Segment {
    /// Opens bytes that this process has just written.
    pub(super) fn own(bytes: Vec<u8>) -> Result<Segment, Damage> {
        Segment::parse(Bytes::Owned(bytes))
    }

    /// Opens bytes that this process has just written to a file.
    pub(super) fn aside(map: Map) -> Result<Segment, Damage> {
        Segment::parse(Bytes::Mapped(map))
    }

    /// Gives back the memory of terms that a merge has passed, if that is worth it; from which term on it is still held.
    pub(super) fn let_go(&self, from: u32, to: u32) -> u32 {
        const WORTH_IT: usize = 1 << 16;
        let Bytes::Mapped(map) = &self.bytes else { return from };
        let place = |term: u32| match term < self.term_count() {
            true => (self.term(term).offset as usize, int(self.part(&self.terms, term, TERM), 0) as usize),
            false => (self.vocabulary.start, self.vocabulary.len()),
        };
        let ((start, word), (end, last_word)) = (place(from), place(to));
        if end.saturating_sub(start) < WORTH_IT {
            return from;
        }
        // Everything was looked up before: a look would bring back what was just given away.
        let record = |term: u32| self.terms.start + term as usize * TERM;
        map.let_go(start..end);
        map.let_go(record(from)..record(to));
        map.let_go(self.vocabulary.start + word..self.vocabulary.start + last_word);
        to
    }

    /// Gives back the memory of documents and their paths.
    pub(super) fn let_docs_go(&self) {
        if let Bytes::Mapped(map) = &self.bytes {
            map.let_go(self.docs.start..self.paths.end);
        }
    }

    /// Opens a file; checks everything but the postings.
    pub(crate) fn open(map: Map) -> Result<Segment, Damage> {
        let mut segment = Segment::parse(Bytes::Mapped(map))?;
        if segment.hashes.is_empty() {
            return Err(damage("there are no checksums"));
        }
        let blocks = segment.hashes.len() / 8;
        let bytes = segment.bytes.as_ref();
        if digest(&bytes[segment.hashes.clone()]) != bytes[bytes.len() - 24..][..8] {
            return Err(damage("the checksums are not those that were written"));
        }
        segment.checked = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        segment.check(0..MAGIC.len())?;
        segment.check(segment.vocabulary.start..segment.paths.end)?;
        Ok(segment)
    }

    fn parse(bytes: Bytes) -> Result<Segment, Damage> {
        let all = bytes.as_ref();
        if all.len() < MAGIC.len() + FOOTER || !all.starts_with(MAGIC) {
            return Err(damage("it does not start like an index"));
        }
        let footer = &all[all.len() - FOOTER..];
        if digest(&footer[..FOOTER - 16]) != footer[FOOTER - 16..FOOTER - 8] || !footer.ends_with(MAGIC) {
            return Err(damage("its end is missing or changed"));
        }
        let number = |at: usize| long(footer, at * 8) as usize;
        if number(0) as u32 != VERSION {
            return Err(damage("it was written by another version"));
        }
        if number(7) != all.len() {
            return Err(damage("its length is not the one that was written"));
        }
        let marks = [number(1), number(2), number(3), number(4), number(5), all.len() - FOOTER];
        if !marks.is_sorted() || marks[0] < MAGIC.len() {
            return Err(damage("its parts do not fit"));
        }
        let mut identity = [0; 8];
        identity.copy_from_slice(&footer[FOOTER - 16..FOOTER - 8]);
        Ok(Segment {
            vocabulary: marks[0]..marks[1],
            terms: marks[1]..marks[2],
            docs: marks[2]..marks[3],
            paths: marks[3]..marks[4],
            hashes: marks[4]..marks[5],
            checked: Vec::new(),
            line_starts: OnceLock::new(),
            identity,
            bytes,
        })
    }

    /// Compares blocks with their hashes, each once.
    fn check(&self, range: Range<usize>) -> Result<(), Damage> {
        if self.checked.is_empty() || range.is_empty() {
            return Ok(());
        }
        for block in range.start / BLOCK..=(range.end - 1) / BLOCK {
            let Some(word) = self.checked.get(block / 64) else { return Err(damage("a part lies outside")) };
            let bit = 1 << (block % 64);
            if word.load(Ordering::Relaxed) & bit != 0 {
                continue;
            }
            let all = self.bytes.as_ref();
            let bytes = &all[block * BLOCK..((block + 1) * BLOCK).min(self.hashes.start)];
            let expected = all.get(self.hashes.start + block * 8..self.hashes.start + block * 8 + 8);
            if expected != Some(&digest(bytes)) {
                return Err(damage("bytes are not those that were written"));
            }
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks every byte; for `verger doctor` and tests.
    pub(super) fn check_all(&self) -> Result<(), Damage> {
        self.check(0..self.hashes.start)
    }

    /// How many bytes it takes.
    pub(super) fn size(&self) -> usize {
        self.bytes.as_ref().len()
    }

    /// Whether the bytes lie in a file.
    pub(super) fn is_mapped(&self) -> bool {
        matches!(self.bytes, Bytes::Mapped(_))
    }

    pub(super) fn doc_count(&self) -> u32 {
        (self.docs.len() / DOC) as u32
    }

    pub(super) fn term_count(&self) -> u32 {
        (self.terms.len() / TERM) as u32
    }

    pub(super) fn doc(&self, doc: u32) -> Doc {
        let record = self.part(&self.docs, doc, DOC);
        let kind = match int(record, 4) {
            0 => Kind::Text,
            1 => Kind::Binary,
            _ => Kind::Unread,
        };
        let stat = Stat {
            size: long(record, 16),
            modified_ns: long(record, 24).cast_signed(),
            inode: long(record, 32),
        };
        Doc { kind, words: int(record, 8), lines: int(record, 12), stat }
    }

    /// How many words a document has.
    #[inline]
    pub(super) fn words(&self, doc: u32) -> u32 {
        int(self.part(&self.docs, doc, DOC), 8)
    }

    /// Whether a document is a text.
    #[inline]
    pub(super) fn is_text(&self, doc: u32) -> bool {
        int(self.part(&self.docs, doc, DOC), 4) == 0
    }

    /// Where the lines of each document start if those of all are numbered through; one more at the end.
    pub(super) fn line_starts(&self) -> &[u64] {
        self.line_starts.get_or_init(|| {
            let ends = (0..self.doc_count()).scan(0, |sum, doc| {
                *sum += u64::from(int(self.part(&self.docs, doc, DOC), 12));
                Some(*sum)
            });
            std::iter::once(0).chain(ends).collect()
        })
    }

    /// A document's path.
    pub(super) fn path(&self, doc: u32) -> &str {
        let end = int(self.part(&self.docs, doc, DOC), 0) as usize;
        let start = doc.checked_sub(1).map_or(0, |doc| int(self.part(&self.docs, doc, DOC), 0) as usize);
        let path = self.bytes.as_ref()[self.paths.clone()].get(start..end).unwrap_or_default();
        std::str::from_utf8(path).unwrap_or_default()
    }

    /// The document at a path, or where it would stand.
    pub(super) fn find(&self, path: &str) -> Result<u32, u32> {
        let (mut low, mut high) = (0, self.doc_count());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.path(middle).cmp(path) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// All terms, each with a line end in front and one behind the last.
    fn vocabulary(&self) -> &[u8] {
        &self.bytes.as_ref()[self.vocabulary.clone()]
    }

    pub(super) fn text(&self, term: u32) -> &[u8] {
        let start = int(self.part(&self.terms, term, TERM), 0) as usize;
        let end = match term + 1 < self.term_count() {
            true => int(self.part(&self.terms, term + 1, TERM), 0) as usize,
            false => self.vocabulary.len(),
        };
        self.vocabulary().get(start..end.saturating_sub(1)).unwrap_or_default()
    }

    pub(super) fn term(&self, term: u32) -> Term {
        let record = self.part(&self.terms, term, TERM);
        Term {
            docs: int(record, 4),
            occurrences: int(record, 8),
            last_doc: int(record, 12),
            offset: long(record, 16),
            docs_bytes: int(record, 24),
            lines_bytes: int(record, 28),
        }
    }

    /// A term's streams.
    pub(super) fn postings(&self, term: u32) -> Result<Streams<'_>, Damage> {
        let end = match term + 1 < self.term_count() {
            true => self.term(term + 1).offset as usize,
            false => self.vocabulary.start,
        };
        self.streams(term, Some(end))
    }

    /// A term's documents and lines; the places are not touched.
    pub(super) fn lines(&self, term: u32) -> Result<Streams<'_>, Damage> {
        self.streams(term, None)
    }

    /// A term's documents; the other streams are not touched.
    pub(super) fn docs(&self, term: u32) -> Result<Docs<'_>, Damage> {
        let record = self.term(term);
        let start = record.offset as usize;
        let end = start.saturating_add(record.docs_bytes as usize);
        if end > self.vocabulary.start {
            return Err(damage("a term points outside"));
        }
        self.check(start..end)?;
        Ok(Docs::new(&self.bytes.as_ref()[start..end]))
    }

    fn streams(&self, term: u32, end: Option<usize>) -> Result<Streams<'_>, Damage> {
        let record = self.term(term);
        let start = record.offset as usize;
        let lines = start.saturating_add(record.docs_bytes as usize);
        let places = lines.saturating_add(record.lines_bytes as usize);
        let end = end.unwrap_or(places);
        if places > end || end > self.vocabulary.start {
            return Err(damage("a term points outside"));
        }
        self.check(start..end)?;
        let bytes = self.bytes.as_ref();
        Ok(Streams { docs: &bytes[start..lines], lines: &bytes[lines..places], places: &bytes[places..end] })
    }

    /// The term with exactly this text.
    pub(super) fn find_term(&self, text: &[u8]) -> Option<u32> {
        let at = self.first_term(|term| term < text);
        (at < self.term_count() && self.text(at) == text).then_some(at)
    }

    /// All terms that start so.
    pub(super) fn starting(&self, text: &[u8]) -> Range<u32> {
        let first = self.first_term(|term| term < text);
        let end = self.first_term(|term| term < text || term.starts_with(text));
        first..end.max(first)
    }

    /// All terms that contain this text, in order.
    pub(super) fn containing(&self, text: &[u8]) -> Vec<u32> {
        self.hits(text, text.len())
    }

    /// All terms that end so, in order.
    pub(super) fn ending(&self, text: &[u8]) -> Vec<u32> {
        let mut needle = text.to_vec();
        needle.push(b'\n');
        self.hits(&needle, text.len())
    }

    fn hits(&self, needle: &[u8], keep: usize) -> Vec<u32> {
        let vocabulary = self.vocabulary();
        let mut out: Vec<u32> = Vec::new();
        if keep == 0 || self.term_count() == 0 {
            return out;
        }
        let finder = memmem::Finder::new(needle);
        let mut at = 0;
        while let Some(found) = vocabulary.get(at..).and_then(|rest| finder.find(rest)) {
            let place = at + found;
            let from = out.last().copied().unwrap_or(0);
            let term = self.term_at(place, from);
            out.push(term);
            // On with the next term: one hit in each is enough.
            at = match term + 1 < self.term_count() {
                true => int(self.part(&self.terms, term + 1, TERM), 0) as usize,
                false => break,
            };
        }
        out
    }

    /// The term that covers a byte of the vocabulary; gallops from `from`.
    fn term_at(&self, place: usize, from: u32) -> u32 {
        let starts_behind = |term: u32| int(self.part(&self.terms, term, TERM), 0) as usize > place;
        let (mut low, mut step) = (from, 1);
        while low.saturating_add(step) < self.term_count() && !starts_behind(low + step) {
            low += step;
            step = step.saturating_mul(2);
        }
        let mut high = low.saturating_add(step).min(self.term_count());
        low += 1;
        while low < high {
            let middle = low + (high - low) / 2;
            match starts_behind(middle) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        low - 1
    }

    fn first_term(&self, before: impl Fn(&[u8]) -> bool) -> u32 {
        let (mut low, mut high) = (0, self.term_count());
        while low < high {
            let middle = low + (high - low) / 2;
            match before(self.text(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    fn part(&self, section: &Range<usize>, at: u32, size: usize) -> &[u8] {
        let start = section.start + at as usize * size;
        match start + size <= section.end {
            true => &self.bytes.as_ref()[start..start + size],
            false => &[],
        }
    }
}

fn damage(why: &str) -> Damage {
    Damage(why.to_owned())
}

/// The first bytes of the BLAKE3 of something.
pub(super) fn digest(bytes: &[u8]) -> [u8; 8] {
    let mut out = [0; 8];
    out.copy_from_slice(&blake3::hash(bytes).as_bytes()[..8]);
    out
}

#[inline]
fn int(record: &[u8], at: usize) -> u32 {
    record.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

#[inline]
fn long(record: &[u8], at: usize) -> u64 {
    record.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::count::line_counts;
    use super::super::postings::{each_place, parts};
    use super::super::{batch, writer};
    use super::*;
    use crate::files::{Files, MemoryFiles, Nobody};
    use proptest::prelude::*;

    fn bytes() -> Vec<u8> {
        let fixture =
            "a.md: # Amber\nthe lattice, the Amber\n--- b.md: amber of amber\n--- x/c.md: ambers\n\nthe end";
        let files = MemoryFiles::parse(fixture).unwrap();
        let mut entries = Vec::new();
        files.walk(&mut |entry| entries.push(entry)).unwrap();
        entries.retain(|entry| entry.path.is_note());
        let segment =
            batch::index(&files, &entries, &mut batch::Batch::default(), &Nobody, &batch::in_memory).unwrap();
        let none = crate::index::bits::Bits::new(segment.doc_count());
        let part = crate::index::merge::Part { segment: &segment, dead: &none };
        let writer = writer::Writer::new(Vec::new(), writer::Checksums::Yes).unwrap();
        crate::index::merge::merge(&[part], writer).unwrap()
    }

    /// Reads everything that can be read.
    fn read_all(segment: &Segment) {
        let terms: Vec<u32> = (0..segment.term_count()).collect();
        for term in &terms {
            segment.text(*term);
            if let Ok(docs) = segment.docs(*term) {
                docs.for_each(drop);
            }
            if let Ok(streams) = segment.postings(*term) {
                each_place(streams, |_| ());
                parts(streams).for_each(drop);
            }
        }
        for doc in 0..segment.doc_count() {
            segment.path(doc);
            assert_eq!(segment.doc(doc).words, segment.words(doc));
            assert_eq!(segment.doc(doc).kind == Kind::Text, segment.is_text(doc));
        }
        for text in [&b"amber"[..], b"e", b"\n", b"zz"] {
            (segment.containing(text), segment.ending(text), segment.starting(text), segment.find_term(text))
                .0
                .len();
        }
        line_counts(segment, &terms).ok();
        segment.find("b.md").ok();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Without the hashes, which would notice all of this, so that every reader meets the damage.
        #[test]
        fn damaged_bytes_are_read_without_a_panic(at in any::<prop::sample::Index>(), bit in 0u8..8, more in prop::collection::vec(any::<u8>(), 0..9), marks in any::<bool>()) {
            let mut damaged = bytes();
            let footer = damaged.len() - FOOTER;
            let at = if marks { footer + at.index(FOOTER - 16) } else { at.index(footer) };
            damaged[at] ^= 1 << bit;
            for (place, byte) in damaged[at..footer.max(at)].iter_mut().skip(1).zip(&more) {
                *place = *byte;
            }
            let hash = digest(&damaged[footer..footer + FOOTER - 16]);
            damaged[footer + FOOTER - 16..footer + FOOTER - 8].copy_from_slice(&hash);
            if let Ok(segment) = Segment::own(damaged) {
                read_all(&segment);
            }
        }

        #[test]
        fn every_cut_is_noticed(length in any::<prop::sample::Index>()) {
            let whole = bytes();
            let cut = whole[..length.index(whole.len())].to_vec();
            prop_assert!(Segment::own(cut).is_err());
        }
    }
}
