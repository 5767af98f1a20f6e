//! How the places of one term are written down, and read again.
//!
//! Two streams for each term. The first: for each document its distance from the one before with a bit for "once", how
//! often (unless once), and for each occurrence the distance of its line from the one before with a bit for "not plain
//! body", and then the field. Line 0 is the file's name. The second: the place in the line, for each occurrence.
//! Counting and ranking read the first only; phrases read both. Readers take any bytes: broken ones end early.

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

/// The start of an entry: document and how often.
#[inline]
pub(super) fn take_head(bytes: &mut &[u8], before: u32) -> (u32, u32) {
    let head = take(bytes);
    let times = if head & 1 == 1 { 1 } else { take(bytes) };
    (before.wrapping_add(head >> 1), times)
}

/// Writes the start of an entry.
pub(super) fn put_head(out: &mut Vec<u8>, distance: u32, times: u32) {
    put(out, distance << 1 | u32::from(times == 1));
    if times != 1 {
        put(out, times);
    }
}

/// One line of an occurrence: the distance and the field.
#[inline]
pub(super) fn take_line(bytes: &mut &[u8], before: u32) -> (u32, u8) {
    let step = take(bytes);
    let field = match (step & 1, *bytes) {
        (1, [field, rest @ ..]) => {
            *bytes = rest;
            *field
        }
        _ => 0,
    };
    (before.wrapping_add(step >> 1), field)
}

/// Writes the line of an occurrence.
pub(super) fn put_line(out: &mut Vec<u8>, distance: u32, field: u8) {
    put(out, distance << 1 | u32::from(field != 0));
    if field != 0 {
        out.push(field);
    }
}

/// One occurrence of a term.
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
pub(super) fn each_line(mut lines: &[u8], mut each: impl FnMut(u32, u32, u8)) {
    let mut doc = 0;
    while !lines.is_empty() {
        let times;
        (doc, times) = take_head(&mut lines, doc);
        let mut line = 0;
        for _ in 0..times {
            if lines.is_empty() {
                return;
            }
            let field;
            (line, field) = take_line(&mut lines, line);
            each(doc, line, field);
        }
    }
}

/// Calls `each` with every occurrence, in order.
pub(super) fn each_place(lines: &[u8], mut places: &[u8], mut each: impl FnMut(Place)) {
    each_line(lines, |doc, line, _| each(Place { doc, line, place: take(&mut places) }));
}

fn skip_lines(bytes: &mut &[u8], times: u32) {
    for _ in 0..times {
        if bytes.is_empty() {
            return;
        }
        take_line(bytes, 0);
    }
}

/// One document's part of both streams.
pub(super) struct Entry<'a> {
    pub doc: u32,
    pub times: u32,
    pub lines: &'a [u8],
    pub places: &'a [u8],
}

/// Walks both streams document by document, without reading what is inside.
pub(super) struct Entries<'a> {
    lines: &'a [u8],
    places: &'a [u8],
    doc: u32,
}

impl<'a> Entries<'a> {
    pub fn new(lines: &'a [u8], places: &'a [u8]) -> Entries<'a> {
        Entries { lines, places, doc: 0 }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        if self.lines.is_empty() {
            return None;
        }
        let (doc, times) = take_head(&mut self.lines, self.doc);
        self.doc = doc;
        let (lines, places) = (self.lines, self.places);
        skip_lines(&mut self.lines, times);
        for _ in 0..times {
            if self.places.is_empty() {
                break;
            }
            take(&mut self.places);
        }
        let lines = &lines[..lines.len() - self.lines.len()];
        let places = &places[..places.len() - self.places.len()];
        Some(Entry { doc, times, lines, places })
    }
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
        fn any_bytes_can_be_read(lines in prop::collection::vec(any::<u8>(), 0..40), places in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut count = 0;
            each_place(&lines, &places, |_| count += 1);
            prop_assert!(count <= lines.len());
            prop_assert!(Entries::new(&lines, &places).count() <= lines.len());
        }
    }
}
