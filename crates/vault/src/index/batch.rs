//! Indexes a handful of files into one segment in memory: the first build does so for thousands at a time, the watcher
//! for one. The tokens are collected as numbers, brought into the order of their terms by counting, and written down.

use std::io;

use memchr::memchr;

use super::field::Field;
use super::postings::{Streams, Written};
use super::segment::{Doc, Kind, Segment};
use super::token::{Token, line_tokens, tokens};
use super::writer::{Checksums, TermEntry, Writer};
use crate::files::{Entry, Files, Witness};

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
    /// Tokens that wait to be looked up, many at a time: then memory is waited for once and not for each.
    waiting: Vec<Waiting>,
    waiting_text: Vec<u8>,
    out: Vec<u8>,
}

struct Waiting {
    key: u64,
    place: u64,
    end: usize,
}

/// Tokens that are looked up together.
const TOGETHER: usize = 32;

struct Read<'a> {
    entry: &'a Entry,
    doc: Doc,
}

/// Reads and indexes files, at most [`MOST_DOCS`], which must be sorted by path.
pub(super) fn index(
    files: &dyn Files,
    entries: &[Entry],
    batch: &mut Batch,
    witness: &dyn Witness,
    keep: Keep<'_>,
) -> io::Result<Segment> {
    batch.clear();
    let mut docs = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().take(MOST_DOCS).enumerate() {
        witness.turn();
        let bytes = match entry.stat.size > LARGEST_TEXT {
            true => None,
            false => files.read(&entry.path).ok(),
        };
        docs.push(batch.read(entry, bytes.as_deref(), number as u64));
        witness.file(entry, bytes.as_deref());
    }
    batch.write(&docs)?;
    keep(&mut batch.out)
}

/// Where a segment's bytes go; what is left of them is used again.
pub(super) type Keep<'a> = &'a (dyn Fn(&mut Vec<u8>) -> io::Result<Segment> + Sync);

/// Keeps a segment in memory.
pub(super) fn in_memory(bytes: &mut Vec<u8>) -> io::Result<Segment> {
    Segment::own(std::mem::take(bytes)).map_err(io::Error::other)
}

impl Batch {
    fn read<'a>(&mut self, entry: &'a Entry, bytes: Option<&[u8]>, number: u64) -> Read<'a> {
        let doc = Doc { kind: Kind::Unread, words: 0, lines: 0, stat: entry.stat };
        let mut read = Read { entry, doc };
        self.name(entry, number);
        let Some(bytes) = bytes else { return read };
        // The file may have grown since it was looked at; lines and places have 24 bits.
        if bytes.len() as u64 > LARGEST_TEXT {
            return read;
        }
        if memchr(0, bytes).is_some() {
            read.doc.kind = Kind::Binary;
            return read;
        }
        read.doc.kind = Kind::Text;
        read.doc.lines = tokens(bytes, entry.path.is_note(), |token| {
            read.doc.words += u32::from(token.word);
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
        let place =
            doc << 51 | u64::from(token.line) << 27 | u64::from(token.place) << 3 | token.field as u64;
        self.waiting_text.extend_from_slice(token.text);
        self.waiting.push(Waiting { key: key(token.text), place, end: self.waiting_text.len() });
        if self.waiting.len() == TOGETHER {
            self.look_up();
        }
    }

    fn look_up(&mut self) {
        // Reads all places of the table that will be needed; the processor fetches them side by side.
        let touched = self.waiting.iter().fold(0, |touched, one| touched ^ self.words.touch(one.key));
        std::hint::black_box(touched);
        let mut start = 0;
        for one in self.waiting.drain(..) {
            self.terms.push(self.words.number(one.key, &self.waiting_text[start..one.end]));
            self.places.push(one.place);
            start = one.end;
        }
        self.waiting_text.clear();
    }

    fn clear(&mut self) {
        self.words.clear();
        self.terms.clear();
        self.places.clear();
        self.waiting.clear();
        self.waiting_text.clear();
    }

    fn write(&mut self, docs: &[Read<'_>]) -> io::Result<()> {
        self.look_up();
        let order = self.words.sorted();
        let counts = self.sort_by_term(&order);
        self.out.clear();
        let mut writer = Writer::new(std::mem::take(&mut self.out), Checksums::No)?;
        let mut written = Written::default();
        let mut start = 0;
        for term in &order {
            let end = start + counts[*term as usize] as usize;
            let here = self.sorted.get(start..end).unwrap_or_default();
            let docs = encode(here, &mut written);
            writer.term(&TermEntry {
                text: self.words.text(*term),
                docs,
                occurrences: here.len() as u32,
                last_doc: here.last().map_or(0, |place| (place >> 51) as u32),
                streams: Streams { docs: &written.docs, lines: &written.lines, places: &written.places },
            })?;
            start = end;
        }
        for read in docs {
            writer.doc(read.entry.path.as_str(), &read.doc)?;
        }
        self.out = writer.finish()?;
        Ok(())
    }

    /// Brings the places into the order of their terms, each term's in theirs; how many there are of each.
    fn sort_by_term(&mut self, order: &[u32]) -> Vec<u32> {
        let mut counts = vec![0; order.len()];
        self.terms.iter().for_each(|term| counts[*term as usize] += 1);
        let mut next = vec![0; order.len()];
        let mut start = 0;
        for term in order {
            next[*term as usize] = start;
            start += counts[*term as usize] as usize;
        }
        self.sorted.clear();
        self.sorted.resize(self.places.len(), 0);
        for (term, place) in self.terms.iter().zip(&self.places) {
            let at = &mut next[*term as usize];
            self.sorted[*at] = *place;
            *at += 1;
        }
        counts
    }
}

/// Writes a term's places into its streams; how many documents they are.
fn encode(all: &[u64], written: &mut Written) -> u32 {
    written.clear();
    let mut docs = 0;
    for here in all.chunk_by(|a, b| a >> 51 == b >> 51) {
        let occurrence = |place: &u64| {
            ((place >> 27 & 0xff_ffff) as u32, (place >> 3 & 0xff_ffff) as u32, (place & 7) as u8)
        };
        written.add((here[0] >> 51) as u32, here.iter().map(occurrence));
        docs += 1;
    }
    docs
}

/// Numbers for words, in the order in which they are first seen. A table of our own, because this is where a build spends
/// its time, waiting for memory: a short word is its own key, so a look-up touches one place.
struct Words {
    slots: Vec<Slot>,
    /// Where each word ends in `text`.
    ends: Vec<u32>,
    text: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    /// The number plus one; 0 where there is none.
    number: u32,
}

/// Words of up to seven bytes are in their key.
const SHORT: usize = 7;

impl Default for Words {
    fn default() -> Words {
        Words { slots: vec![Slot::default(); 1 << 10], ends: Vec::new(), text: Vec::new() }
    }
}

impl Words {
    fn clear(&mut self) {
        self.slots.fill(Slot::default());
        self.ends.clear();
        self.text.clear();
    }

    #[inline]
    fn touch(&self, key: u64) -> u64 {
        self.slots[mix(key) as usize & (self.slots.len() - 1)].key
    }

    #[inline]
    fn number(&mut self, key: u64, word: &[u8]) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = mix(key) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.number == 0 {
                return self.add(word, key, at);
            }
            if slot.key == key && (word.len() <= SHORT || self.text(slot.number - 1) == word) {
                return slot.number - 1;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, word: &[u8], key: u64, at: usize) -> u32 {
        self.text.extend(word);
        self.ends.push(self.text.len() as u32);
        let number = self.ends.len() as u32;
        self.slots[at] = Slot { key, number };
        if self.ends.len() * 3 > self.slots.len() * 2 {
            self.grow();
        }
        number - 1
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); size]);
        for slot in old.into_iter().filter(|slot| slot.number != 0) {
            let mut at = mix(slot.key) as usize & (size - 1);
            while self.slots[at].number != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }

    fn text(&self, number: u32) -> &[u8] {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.text[start..self.ends[at] as usize]
    }

    fn sorted(&self) -> Vec<u32> {
        // The first eight bytes decide nearly always.
        let first = |number| (first_eight(self.text(number)).swap_bytes(), number);
        let mut all: Vec<(u64, u32)> = (0..self.ends.len() as u32).map(first).collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.text(a.1).cmp(self.text(b.1))));
        all.into_iter().map(|(_, number)| number).collect()
    }
}

/// The first eight bytes as a number, the first one lowest; zeros behind the end.
#[inline]
pub(super) fn first_eight(word: &[u8]) -> u64 {
    if let Some(bytes) = word.first_chunk::<8>() {
        return u64::from_le_bytes(*bytes);
    }
    if let (Some(start), Some(end)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
        let (start, end) = (u32::from_le_bytes(*start), u32::from_le_bytes(*end));
        return u64::from(start) | u64::from(end) << ((word.len() - 4) * 8);
    }
    word.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A short word with its length, or the hash of a long one.
#[inline]
fn key(word: &[u8]) -> u64 {
    if word.len() <= SHORT {
        return first_eight(word) | (word.len() as u64) << 56;
    }
    let mut state = word.len() as u64;
    let (chunks, _) = word.as_chunks::<8>();
    for chunk in chunks {
        state = (state ^ state >> 29 ^ u64::from_le_bytes(*chunk)).wrapping_mul(ODD);
    }
    // Once more from the end: what the chunks have left over, whatever its length.
    let last = word.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    state = (state ^ state >> 31 ^ last).wrapping_mul(ODD);
    state ^ state >> 32 | 0xff << 56
}

#[inline]
fn mix(key: u64) -> u64 {
    let mixed = (key ^ key >> 32).wrapping_mul(ODD);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_have_one_number() {
        let mut words = Words::default();
        let texts: Vec<String> =
            (0..3_000).map(|n| "abcdefghijklmnopqrstuvwx"[..n % 25].to_owned() + &n.to_string()).collect();
        let numbers: Vec<u32> =
            texts.iter().map(|text| words.number(key(text.as_bytes()), text.as_bytes())).collect();
        assert_eq!(numbers, (0..3_000).collect::<Vec<u32>>());
        let again: Vec<u32> =
            texts.iter().map(|text| words.number(key(text.as_bytes()), text.as_bytes())).collect();
        assert_eq!(again, numbers);
        let sorted: Vec<&[u8]> = words.sorted().into_iter().map(|number| words.text(number)).collect();
        assert!(sorted.is_sorted());
        assert_eq!(sorted.len(), 3_000);
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
