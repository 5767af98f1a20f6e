//! How the places of one term are written down, and read again.
//!
//! Three streams for each term. The documents: for each its distance from the one before, how often the term stands in
//! it, in how many lines, and what it weighs when notes are ranked. The lines: one number for each occurrence, the distance
//! of its line from the one before with its field; line 0 is the file's name. The places in the line, one number each.
//! Counting and ranking read the first alone, which is why a word of a million places is counted in the time of its
//! documents. A number is an occurrence, so that many can be skipped eight bytes at a time. Readers take any bytes: broken
//! ones end early.

use super::field::Field;

/// Appends a number, seven bits a byte.
pub(super) fn put(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front; 0 where there is none.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> u32 {
    match bytes {
        [byte, rest @ ..] if *byte < 0x80 => {
            *bytes = rest;
            u32::from(*byte)
        }
        _ => take_long(bytes),
    }
}

fn take_long(bytes: &mut &[u8]) -> u32 {
    let (mut number, mut shift) = (0u32, 0);
    while let [byte, rest @ ..] = *bytes {
        *bytes = rest;
        number |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if *byte < 0x80 || shift > 28 {
            break;
        }
        shift += 7;
    }
    number
}

/// Passes over so many numbers.
pub(super) fn skip(bytes: &mut &[u8], mut count: u32) {
    const LAST: u64 = 0x8080_8080_8080_8080;
    // The last byte of a number is the one without the high bit.
    while count >= 8 {
        let Some((chunk, rest)) = bytes.split_first_chunk::<8>() else { break };
        count -= (!u64::from_le_bytes(*chunk) & LAST).count_ones();
        *bytes = rest;
    }
    let mut at = 0;
    // Where a chunk ended within a number, its other bytes come first; they belong to what is still counted.
    while count > 0 && at < bytes.len() {
        count -= u32::from(bytes[at] < 0x80);
        at += 1;
    }
    *bytes = &bytes[at..];
}

/// What the first stream says of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The document.
    pub doc: u32,
    /// How often the term stands in it.
    pub times: u32,
    /// In how many of its lines; the name is none.
    pub lines: u32,
    /// How much that is worth.
    pub weight: u32,
}

/// Once, in plain text.
const ONCE: u32 = 0;
/// Several times, each in a line of plain text of its own.
const PLAIN: u32 = 1;
/// Anything else.
const FULL: u32 = 2;

/// Takes the next document.
#[inline]
fn take_entry(docs: &mut &[u8], before: u32) -> Entry {
    let head = take(docs);
    let doc = before.wrapping_add(head >> 2);
    match head & 3 {
        ONCE => Entry { doc, times: 1, lines: 1, weight: 1 },
        PLAIN => {
            let times = take(docs);
            Entry { doc, times, lines: times, weight: times }
        }
        _ => Entry { doc, times: take(docs), lines: take(docs), weight: take(docs) },
    }
}

/// Writes a document; `before` is the one in front of it, 0 for the first.
pub(super) fn put_entry(out: &mut Vec<u8>, entry: &Entry, before: u32) {
    let distance = entry.doc.wrapping_sub(before) << 2;
    let Entry { times, lines, weight, .. } = *entry;
    match (times, lines == times && weight == times) {
        (1, true) => put(out, distance | ONCE),
        (_, true) => {
            put(out, distance | PLAIN);
            put(out, times);
        }
        _ => {
            put(out, distance | FULL);
            [times, lines, weight].into_iter().for_each(|number| put(out, number));
        }
    }
}

/// The documents of a term, in order.
pub(super) struct Docs<'a> {
    bytes: &'a [u8],
    before: u32,
}

impl<'a> Docs<'a> {
    pub fn new(bytes: &'a [u8]) -> Docs<'a> {
        Docs { bytes, before: 0 }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }
}

impl Iterator for Docs<'_> {
    type Item = Entry;

    #[inline]
    fn next(&mut self) -> Option<Entry> {
        if self.bytes.is_empty() {
            return None;
        }
        let entry = take_entry(&mut self.bytes, self.before);
        self.before = entry.doc;
        Some(entry)
    }
}

/// One line of an occurrence: the line and the field.
#[inline]
pub(super) fn take_line(bytes: &mut &[u8], before: u32) -> (u32, u8) {
    let step = take(bytes);
    match step & 1 {
        0 => (before.wrapping_add(step >> 1), 0),
        _ => (before.wrapping_add(step >> 4), (step >> 1 & 7) as u8),
    }
}

/// Writes the line of an occurrence.
fn put_line(out: &mut Vec<u8>, distance: u32, field: u8) {
    match field {
        0 => put(out, distance << 1),
        _ => put(out, distance << 4 | u32::from(field & 7) << 1 | 1),
    }
}

/// A term's streams.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Streams<'a> {
    pub docs: &'a [u8],
    pub lines: &'a [u8],
    pub places: &'a [u8],
}

/// The streams of a term as they are written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub docs: Vec<u8>,
    pub lines: Vec<u8>,
    pub places: Vec<u8>,
    last: u32,
}

impl Written {
    pub fn clear(&mut self) {
        self.docs.clear();
        self.lines.clear();
        self.places.clear();
        self.last = 0;
    }

    /// Adds a document with its occurrences in order: line, place and field of each.
    pub fn add(&mut self, doc: u32, occurrences: impl Iterator<Item = (u32, u32, u8)>) {
        let mut entry = Entry { doc, times: 0, lines: 0, weight: 0 };
        let mut before = 0;
        for (line, place, field) in occurrences {
            put_line(&mut self.lines, line - before, field);
            put(&mut self.places, place);
            entry.times += 1;
            entry.lines += u32::from(line > before);
            entry.weight += Field::weight(field);
            before = line;
        }
        self.entry(&entry);
    }

    /// Adds a document whose other streams are copied.
    pub fn entry(&mut self, entry: &Entry) {
        put_entry(&mut self.docs, entry, self.last);
        self.last = entry.doc;
    }

    /// The document that was added last.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// Says which document was added last, after others were copied.
    pub fn ends_with(&mut self, doc: u32) {
        self.last = doc;
    }
}

/// One occurrence of a term.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The document.
    pub doc: u32,
    /// The line, from 1; 0 is the file's name.
    pub line: u32,
    /// The token of the line.
    pub place: u32,
}

/// Calls `each` with every document and line, in order; a line as often as the term stands in it.
pub(super) fn each_line(streams: Streams<'_>, mut each: impl FnMut(u32, u32)) {
    let mut lines = streams.lines;
    for entry in Docs::new(streams.docs) {
        lines_of(&mut lines, &entry, |line| each(entry.doc, line));
        if lines.is_empty() {
            return;
        }
    }
}

/// Calls `each` with the lines of one document and goes on behind them.
#[inline]
pub(super) fn lines_of(lines: &mut &[u8], entry: &Entry, mut each: impl FnMut(u32)) {
    let mut line = 0;
    // Nearly always every number is one byte of plain text; then there is nothing to decide on the way.
    if let Some((now, rest)) = lines.split_at_checked(entry.times as usize)
        && now.iter().fold(0, |all, byte| all | byte) & 0x81 == 0
    {
        for byte in now {
            line += u32::from(byte >> 1);
            each(line);
        }
        *lines = rest;
        return;
    }
    for _ in 0..entry.times {
        if lines.is_empty() {
            return;
        }
        (line, _) = take_line(lines, line);
        each(line);
    }
}

/// Calls `each` with every occurrence, in order.
#[cfg(test)]
pub(super) fn each_place(streams: Streams<'_>, mut each: impl FnMut(Place)) {
    let mut places = streams.places;
    each_line(streams, |doc, line| each(Place { doc, line, place: take(&mut places) }));
}

/// One document's part of all streams.
pub(super) struct Part<'a> {
    pub entry: Entry,
    pub lines: &'a [u8],
    pub places: &'a [u8],
}

/// Walks the streams document by document, without reading what is inside.
pub(super) fn parts(streams: Streams<'_>) -> impl Iterator<Item = Part<'_>> {
    let Streams { docs, mut lines, mut places } = streams;
    Docs::new(docs).map(move |entry| Part {
        entry,
        lines: cut(&mut lines, entry.times),
        places: cut(&mut places, entry.times),
    })
}

/// Takes so many numbers off, as they are.
fn cut<'a>(bytes: &mut &'a [u8], count: u32) -> &'a [u8] {
    let all = *bytes;
    skip(bytes, count);
    &all[..all.len() - bytes.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers in prop::collection::vec(any::<u32>(), 0..20)) {
            let mut out = Vec::new();
            numbers.iter().for_each(|number| put(&mut out, *number));
            let mut bytes = out.as_slice();
            let back: Vec<u32> = numbers.iter().map(|_| take(&mut bytes)).collect();
            prop_assert_eq!(back, numbers);
            prop_assert!(bytes.is_empty());
        }

        #[test]
        fn numbers_are_skipped_one_by_one(numbers in prop::collection::vec(any::<u32>(), 0..60), small in any::<bool>(), count in 0u32..60) {
            let mut out = Vec::new();
            numbers.iter().for_each(|number| put(&mut out, if small { number % 300 } else { *number }));
            let (mut fast, mut slow) = (out.as_slice(), out.as_slice());
            skip(&mut fast, count);
            (0..count).for_each(|_| { take(&mut slow); });
            prop_assert_eq!(fast, slow);
        }

        #[test]
        fn occurrences_come_back(docs in prop::collection::btree_map(0u32..5_000, prop::collection::btree_map((0u32..300, 0u32..300), 0u8..5, 1..30), 0..20)) {
            let mut written = Written::default();
            for (doc, places) in &docs {
                written.add(*doc, places.iter().map(|((line, place), field)| (*line, *place, *field)));
            }
            let streams = Streams { docs: &written.docs, lines: &written.lines, places: &written.places };
            let mut found = Vec::new();
            each_place(streams, |place| found.push((place.doc, (place.line, place.place))));
            let expected: Vec<(u32, (u32, u32))> = docs.iter().flat_map(|(doc, places)| places.keys().map(|at| (*doc, *at))).collect();
            prop_assert_eq!(found, expected);
            for (entry, (doc, places)) in Docs::new(&written.docs).zip(&docs) {
                let lines: std::collections::BTreeSet<u32> = places.keys().map(|at| at.0).filter(|line| *line > 0).collect();
                let weight = places.values().map(|field| Field::weight(*field)).sum();
                prop_assert_eq!(entry, Entry { doc: *doc, times: places.len() as u32, lines: lines.len() as u32, weight });
            }
            let copied: usize = parts(streams).map(|part| part.lines.len() + part.places.len()).sum();
            prop_assert_eq!(copied, written.lines.len() + written.places.len());
        }

        #[test]
        fn any_bytes_can_be_read(docs in prop::collection::vec(any::<u8>(), 0..40), lines in prop::collection::vec(any::<u8>(), 0..40), places in prop::collection::vec(any::<u8>(), 0..40)) {
            let streams = Streams { docs: &docs, lines: &lines, places: &places };
            let mut count = 0;
            each_place(streams, |_| count += 1);
            prop_assert!(count <= lines.len());
            prop_assert!(parts(streams).count() <= docs.len());
        }
    }
}
