//! Indexes a handful of files into one segment in memory: the first build does so for thousands at a time, the watcher
//! for one. The tokens are collected as numbers, brought into the order of their terms by counting, and written down.

use std::io;

use memchr::memchr;

use super::field::Field;
use super::postings::{put, put_head, put_line};
use super::segment::{Kind, Segment};
use super::token::{Token, line_tokens, tokens};
use super::writer::{Checksums, TermEntry, Writer};
use crate::files::{Entry, Files};

/// Larger files are not indexed but read by each search that they could matter to.
pub(super) const LARGEST_TEXT: u64 = 16 << 20;
/// Documents in one batch at most: their number has 13 bits in a token.
pub(super) const MOST_DOCS: usize = 1 << 13;

/// Files on their way into a segment. Used again for the next ones: fresh memory costs more than what is done with it.
#[derive(Default)]
pub(super) struct Batch {
    words: Words,
    /// The term of each token and, beside it, where it stands: document, line, place, field.
    terms: Vec<u32>,
    places: Vec<u64>,
    sorted: Vec<u64>,
}

struct Read {
    entry: Entry,
    kind: Kind,
    words: u32,
}

/// Reads and indexes files, at most [`MOST_DOCS`], which must be sorted by path.
pub(super) fn index(files: &dyn Files, entries: &[Entry], batch: &mut Batch) -> io::Result<Segment> {
    batch.clear();
    let mut docs = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().take(MOST_DOCS).enumerate() {
        docs.push(batch.read(files, entry, number as u64));
    }
    batch.write(&docs)
}

impl Batch {
    fn read(&mut self, files: &dyn Files, entry: &Entry, number: u64) -> Read {
        let mut read = Read { entry: entry.clone(), kind: Kind::Unread, words: 0 };
        self.name(entry, number);
        if entry.stat.size > LARGEST_TEXT {
            return read;
        }
        let Ok(bytes) = files.read(&entry.path) else { return read };
        // The file may have grown since it was looked at; lines and places have 24 bits.
        if bytes.len() as u64 > LARGEST_TEXT {
            return read;
        }
        if memchr(0, &bytes).is_some() {
            read.kind = Kind::Binary;
            return read;
        }
        read.kind = Kind::Text;
        tokens(&bytes, entry.path.is_note(), |token| {
            read.words += u32::from(token.word);
            self.push(number, &token);
        });
        read
    }

    /// The words of the file's name stand in line 0.
    fn name(&mut self, entry: &Entry, number: u64) {
        let mut folded = Vec::new();
        line_tokens(entry.path.stem().as_bytes(), &mut folded, |text, place, word, _| {
            if word {
                self.push(number, &Token { text, line: 0, place, field: Field::Title, word });
            }
        });
    }

    #[inline]
    fn push(&mut self, doc: u64, token: &Token<'_>) {
        let term = self.words.number(token.text);
        self.terms.push(term);
        let place = doc << 51 | u64::from(token.line) << 27 | u64::from(token.place) << 3;
        self.places.push(place | token.field as u64);
    }

    fn clear(&mut self) {
        self.words.clear();
        self.terms.clear();
        self.places.clear();
    }

    fn write(&mut self, docs: &[Read]) -> io::Result<Segment> {
        let order = self.words.sorted();
        self.sort_by_term(&order);
        let mut writer = Writer::new(Vec::new(), Checksums::No)?;
        let (mut lines, mut places) = (Vec::new(), Vec::new());
        let mut start = 0;
        for term in &order {
            let end = start + self.words.count(*term);
            let here = self.sorted.get(start..end).unwrap_or_default();
            let docs = encode(here, &mut lines, &mut places);
            writer.term(&TermEntry {
                text: self.words.text(*term),
                docs,
                occurrences: here.len() as u32,
                last_doc: here.last().map_or(0, |place| (place >> 51) as u32),
                lines: &lines,
                places: &places,
            })?;
            start = end;
        }
        for read in docs {
            writer.doc(read.entry.path.as_str(), read.kind, read.words, read.entry.stat)?;
        }
        Segment::own(writer.finish()?).map_err(io::Error::other)
    }

    /// Brings the places into the order of their terms; each term's stay in theirs.
    fn sort_by_term(&mut self, order: &[u32]) {
        let mut next = vec![0; order.len()];
        let mut start = 0;
        for term in order {
            next[*term as usize] = start;
            start += self.words.count(*term);
        }
        self.sorted.clear();
        self.sorted.resize(self.places.len(), 0);
        for (term, place) in self.terms.iter().zip(&self.places) {
            let at = &mut next[*term as usize];
            self.sorted[*at] = *place;
            *at += 1;
        }
    }
}

/// Writes a term's places into the two streams; how many documents they are.
fn encode(all: &[u64], lines: &mut Vec<u8>, places: &mut Vec<u8>) -> u32 {
    lines.clear();
    places.clear();
    let (mut docs, mut before) = (0, 0);
    for here in all.chunk_by(|a, b| a >> 51 == b >> 51) {
        let doc = (here[0] >> 51) as u32;
        put_head(lines, doc - before, here.len() as u32);
        (docs, before) = (docs + 1, doc);
        let mut line_before = 0;
        for place in here {
            let line = (place >> 27 & 0xff_ffff) as u32;
            put_line(lines, line - line_before, (place & 7) as u8);
            put(places, (place >> 3 & 0xff_ffff) as u32);
            line_before = line;
        }
    }
    docs
}

/// Numbers for words, in the order in which they are first seen. A table of our own, because this is where a build spends
/// its time: short words are compared as one number and lie beside their count, so a look-up touches two places.
struct Words {
    /// Upper half: part of the hash; lower half: the number plus one.
    slots: Vec<u64>,
    known: Vec<Known>,
    text: Vec<u8>,
}

struct Known {
    /// The first eight bytes.
    first: u64,
    start: u32,
    length: u32,
    count: u32,
}

impl Default for Words {
    fn default() -> Words {
        Words { slots: vec![0; 1 << 10], known: Vec::new(), text: Vec::new() }
    }
}

impl Words {
    fn clear(&mut self) {
        self.slots.fill(0);
        self.known.clear();
        self.text.clear();
    }

    #[inline]
    fn number(&mut self, word: &[u8]) -> u32 {
        let first = first_eight(word);
        let hash = hash(first, word);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return self.add(word, first, hash, at);
            }
            let number = slot as u32 - 1;
            if slot >> 32 == hash >> 32 && self.is(number, first, word) {
                self.known[number as usize].count += 1;
                return number;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn is(&self, number: u32, first: u64, word: &[u8]) -> bool {
        let known = &self.known[number as usize];
        known.first == first
            && known.length as usize == word.len()
            && (word.len() <= 8 || self.text(number)[8..] == word[8..])
    }

    #[cold]
    fn add(&mut self, word: &[u8], first: u64, hash: u64, at: usize) -> u32 {
        let number = self.known.len() as u32;
        self.slots[at] = hash >> 32 << 32 | u64::from(number + 1);
        self.known.push(Known { first, start: self.text.len() as u32, length: word.len() as u32, count: 1 });
        self.text.extend(word);
        if self.known.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 4;
        let mut slots = vec![0; size];
        for (number, known) in self.known.iter().enumerate() {
            let hash = hash(known.first, self.text(number as u32));
            let mut at = hash as usize & (size - 1);
            while slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            slots[at] = hash >> 32 << 32 | (number as u64 + 1);
        }
        self.slots = slots;
    }

    fn text(&self, number: u32) -> &[u8] {
        let known = &self.known[number as usize];
        &self.text[known.start as usize..][..known.length as usize]
    }

    fn count(&self, number: u32) -> usize {
        self.known[number as usize].count as usize
    }

    fn sorted(&self) -> Vec<u32> {
        // The first eight bytes decide nearly always.
        let keys = self.known.iter().zip(0..).map(|(known, number)| (known.first.swap_bytes(), number));
        let mut all: Vec<(u64, u32)> = keys.collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.text(a.1).cmp(self.text(b.1))));
        all.into_iter().map(|(_, number)| number).collect()
    }
}

/// The first eight bytes as a number, the first one lowest; zeros behind the end.
#[inline]
fn first_eight(word: &[u8]) -> u64 {
    if let Some(bytes) = word.first_chunk::<8>() {
        return u64::from_le_bytes(*bytes);
    }
    if let (Some(start), Some(end)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
        let (start, end) = (u32::from_le_bytes(*start), u32::from_le_bytes(*end));
        return u64::from(start) | u64::from(end) << ((word.len() - 4) * 8);
    }
    word.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[inline]
fn hash(first: u64, word: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (first ^ word.len() as u64).wrapping_mul(ODD);
    if word.len() > 8 {
        let (chunks, _) = word[8..].as_chunks::<8>();
        for chunk in chunks {
            state = (state ^ state >> 29 ^ u64::from_le_bytes(*chunk)).wrapping_mul(ODD);
        }
        // Once more from the end: what the chunks have left over, whatever its length.
        let last = word.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        state = (state ^ state >> 31 ^ last).wrapping_mul(ODD);
    }
    (state ^ state >> 32).wrapping_mul(ODD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_have_one_number() {
        let mut words = Words::default();
        let texts: Vec<String> =
            (0..3_000).map(|n| "abcdefghijklmnopqrstuvwx"[..n % 25].to_owned() + &n.to_string()).collect();
        let numbers: Vec<u32> = texts.iter().map(|text| words.number(text.as_bytes())).collect();
        assert_eq!(numbers, (0..3_000).collect::<Vec<u32>>());
        let again: Vec<u32> = texts.iter().map(|text| words.number(text.as_bytes())).collect();
        assert_eq!(again, numbers);
        let sorted: Vec<&[u8]> = words.sorted().into_iter().map(|number| words.text(number)).collect();
        assert!(sorted.is_sorted());
        assert!((0..3_000).all(|number| words.count(number) == 2));
    }

    #[test]
    fn first_bytes_make_a_number() {
        for length in 0..12 {
            let word: Vec<u8> = (1..=length).collect();
            let mut padded = [0; 8];
            padded[..word.len().min(8)].copy_from_slice(&word[..word.len().min(8)]);
            assert_eq!(first_eight(&word), u64::from_le_bytes(padded), "{length}");
        }
    }
}
