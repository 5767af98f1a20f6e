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

/// Files on their way into a segment.
#[derive(Default)]
struct Batch {
    words: Words,
    /// The term of each token and, beside it, where it stands: document, line, place, field.
    terms: Vec<u32>,
    places: Vec<u64>,
}

struct Read {
    entry: Entry,
    kind: Kind,
    words: u32,
}

/// Reads and indexes files, at most [`MOST_DOCS`], which must be sorted by path.
pub(super) fn index(files: &dyn Files, entries: &[Entry]) -> io::Result<Segment> {
    let mut batch = Batch::default();
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

    fn write(self, docs: &[Read]) -> io::Result<Segment> {
        let order = self.words.sorted();
        let sorted = self.by_term(&order);
        let mut writer = Writer::new(Vec::new(), Checksums::No)?;
        let (mut lines, mut places) = (Vec::new(), Vec::new());
        let mut start = 0;
        for term in &order {
            let end = start + self.words.count(*term);
            let here = sorted.get(start..end).unwrap_or_default();
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

    /// The places, those of the first term first, each term's in their order.
    fn by_term(&self, order: &[u32]) -> Vec<u64> {
        let mut next = vec![0; order.len()];
        let mut start = 0;
        for term in order {
            next[*term as usize] = start;
            start += self.words.count(*term);
        }
        let mut sorted = vec![0; self.places.len()];
        for (term, place) in self.terms.iter().zip(&self.places) {
            let at = &mut next[*term as usize];
            sorted[*at] = *place;
            *at += 1;
        }
        sorted
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

/// Numbers for words, in the order in which they are first seen. A table of our own, because a map of the standard
/// library would allocate each word or hash it twice.
struct Words {
    /// Upper half: part of the hash; lower half: the number plus one.
    slots: Vec<u64>,
    text: Vec<u8>,
    ends: Vec<u32>,
    counts: Vec<u32>,
}

impl Default for Words {
    fn default() -> Words {
        Words { slots: vec![0; 1 << 10], text: Vec::new(), ends: Vec::new(), counts: Vec::new() }
    }
}

impl Words {
    #[inline]
    fn number(&mut self, word: &[u8]) -> u32 {
        let hash = hash(word);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return self.add(word, hash, at);
            }
            let number = slot as u32 - 1;
            if slot >> 32 == hash >> 32 && self.text(number) == word {
                self.counts[number as usize] += 1;
                return number;
            }
            at = (at + 1) & mask;
        }
    }

    fn add(&mut self, word: &[u8], hash: u64, at: usize) -> u32 {
        let number = self.ends.len() as u32;
        self.slots[at] = hash >> 32 << 32 | u64::from(number + 1);
        self.text.extend(word);
        self.ends.push(self.text.len() as u32);
        self.counts.push(1);
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 4;
        let mut slots = vec![0; size];
        for number in 0..self.ends.len() as u32 {
            let hash = hash(self.text(number));
            let mut at = hash as usize & (size - 1);
            while slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            slots[at] = hash >> 32 << 32 | u64::from(number + 1);
        }
        self.slots = slots;
    }

    #[inline]
    fn text(&self, number: u32) -> &[u8] {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.text[start..self.ends[at] as usize]
    }

    fn count(&self, number: u32) -> usize {
        self.counts[number as usize] as usize
    }

    fn sorted(&self) -> Vec<u32> {
        // The first eight bytes decide nearly always; comparing them as one number is what makes this fast.
        let key = |number: u32| {
            let text = self.text(number);
            let mut first = [0; 8];
            let length = text.len().min(8);
            first[..length].copy_from_slice(&text[..length]);
            (u64::from_be_bytes(first), number)
        };
        let mut all: Vec<(u64, u32)> = (0..self.ends.len() as u32).map(key).collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.text(a.1).cmp(self.text(b.1))));
        all.into_iter().map(|(_, number)| number).collect()
    }
}

#[inline]
fn hash(word: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = word.len() as u64;
    let (chunks, rest) = word.as_chunks::<8>();
    for chunk in chunks {
        state = (state ^ u64::from_le_bytes(*chunk)).wrapping_mul(ODD);
        state ^= state >> 29;
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        state = (state ^ u64::from_le_bytes(last)).wrapping_mul(ODD);
    }
    let mixed = (state ^ state >> 32).wrapping_mul(ODD);
    mixed ^ mixed >> 29
}
