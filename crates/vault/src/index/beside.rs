//! In which lines the pieces of a text follow each other: `of` and `the` of `of the`.
//!
//! Called by the exact search. The places of the rarest piece are written down, each as one number; the other pieces are
//! read past them and only say which of them stay. So the most common words of a vault are read once and copied never.

use std::ops::Range;

use super::exact::Runs;
use super::postings::{Docs, Entry, lines_of, skip, take};
use super::segment::{Damage, Segment};

/// A piece of the text and the terms that could hold it.
pub(super) struct Piece {
    /// How many tokens behind the first.
    pub at: u32,
    /// Its terms.
    pub terms: Vec<u32>,
    /// How often they stand anywhere.
    pub occurrences: u64,
}

/// Reading a file costs about as much as reading so many places of a list.
const PLACES_PER_FILE: u64 = 2_000;
/// Bits of a place in its line; the line, counted through all documents, stands above them.
const PLACE_BITS: u32 = 24;

/// The lines in which the pieces follow each other, the document in the upper half of each; the rarest piece comes first.
/// Whether they are known to match, without looking.
pub(super) fn side_by_side(segment: &Segment, pieces: &[Piece]) -> Result<(Vec<u64>, bool), Damage> {
    let [rarest, others @ ..] = pieces else { return Ok((Vec::new(), true)) };
    let mut starts = places(segment, rarest)?;
    let mut exact = true;
    for piece in others {
        if starts.is_empty() {
            break;
        }
        if is_cheaper_to_look(segment, piece, &starts) {
            exact = false;
            break;
        }
        starts = those_with(segment, piece, starts)?;
    }
    Ok((by_document(segment, &starts), exact))
}

/// Where the text would start for the piece to stand where it does, in order.
fn places(segment: &Segment, piece: &Piece) -> Result<Vec<u64>, Damage> {
    let mut runs = Runs::default();
    for term in &piece.terms {
        let mut run = runs.start(segment.term(*term).occurrences as usize);
        let mut reader = Reader::new(segment, *term, piece.at)?;
        while let Some(entry) = reader.docs.next() {
            let Some(lines) = reader.lines_of(&entry) else { break };
            reader.read(&entry, &lines, |start| run.push(start));
        }
        runs.end(run);
    }
    Ok(runs.join())
}

/// Those of the starts at which the piece follows.
fn those_with(segment: &Segment, piece: &Piece, mut starts: Vec<u64>) -> Result<Vec<u64>, Damage> {
    let mut follows = vec![false; starts.len()];
    for term in &piece.terms {
        let mut reader = Reader::new(segment, *term, piece.at)?;
        let mut next = 0;
        while let Some(entry) = reader.docs.next() {
            let Some(lines) = reader.lines_of(&entry) else { break };
            next += less_than(&starts[next..], lines.start << PLACE_BITS);
            match starts.get(next) {
                None => break,
                Some(start) if *start >= lines.end << PLACE_BITS => reader.pass(&entry),
                Some(_) => reader.read(&entry, &lines, |start| {
                    while starts.get(next).is_some_and(|other| *other < start) {
                        next += 1;
                    }
                    if starts.get(next) == Some(&start) {
                        follows[next] = true;
                    }
                }),
            }
        }
    }
    let mut follows = follows.into_iter();
    starts.retain(|_| follows.next().unwrap_or(false));
    Ok(starts)
}

/// How many numbers at the front of a sorted list are less; quick where they are few.
fn less_than(sorted: &[u64], bound: u64) -> usize {
    let mut reach = 1;
    while sorted.get(reach - 1).is_some_and(|number| *number < bound) {
        reach *= 2;
    }
    let from = reach / 2;
    from + sorted[from..sorted.len().min(reach)].partition_point(|number| *number < bound)
}

/// The places of one term, document by document.
struct Reader<'a> {
    docs: Docs<'a>,
    lines: &'a [u8],
    places: &'a [u8],
    line_starts: &'a [u64],
    /// How many tokens behind the start of the text the term stands.
    at: u32,
}

impl<'a> Reader<'a> {
    fn new(segment: &'a Segment, term: u32, at: u32) -> Result<Reader<'a>, Damage> {
        let streams = segment.postings(term)?;
        let docs = Docs::new(streams.docs);
        Ok(Reader {
            docs,
            lines: streams.lines,
            places: streams.places,
            line_starts: segment.line_starts(),
            at,
        })
    }

    /// The lines of a document, counted through all; nothing for a document that is not there.
    fn lines_of(&self, entry: &Entry) -> Option<Range<u64>> {
        let at = entry.doc as usize;
        Some(*self.line_starts.get(at)?..*self.line_starts.get(at + 1)?)
    }

    fn pass(&mut self, entry: &Entry) {
        skip(&mut self.lines, entry.times);
        skip(&mut self.places, entry.times);
    }

    #[inline]
    fn read(&mut self, entry: &Entry, among: &Range<u64>, mut each: impl FnMut(u64)) {
        let (places, at) = (&mut self.places, self.at);
        lines_of(&mut self.lines, entry, |line| {
            let place = take(places);
            // Line 0 is the name. What is larger than was ever written can only be damage.
            let here = among.start + u64::from(line);
            if line > 0 && here <= among.end && place >= at && place >> PLACE_BITS == 0 {
                each((here - 1) << PLACE_BITS | u64::from(place - at));
            }
        });
    }
}

/// Whether reading the files with these starts costs less than reading where the piece stands.
fn is_cheaper_to_look(segment: &Segment, piece: &Piece, starts: &[u64]) -> bool {
    let enough = piece.occurrences.saturating_sub(1_000).div_ceil(PLACES_PER_FILE);
    let lines = segment.line_starts();
    let (mut docs, mut next) = (0, 0);
    while docs < enough {
        let Some(start) = starts.get(next) else { return true };
        let doc = lines.partition_point(|first| *first <= start >> PLACE_BITS);
        let end = lines.get(doc).copied().unwrap_or(u64::MAX >> PLACE_BITS);
        next += less_than(&starts[next..], end << PLACE_BITS).max(1);
        docs += 1;
    }
    false
}

/// The lines of the starts, each once: document and line in it.
fn by_document(segment: &Segment, starts: &[u64]) -> Vec<u64> {
    let lines = segment.line_starts();
    let (mut doc, mut out) = (0, Vec::new());
    for line in starts.iter().map(|start| start >> PLACE_BITS) {
        while lines.get(doc + 1).is_some_and(|end| *end <= line) {
            doc += 1;
        }
        let key = (doc as u64) << 32 | (line - lines[doc] + 1);
        if out.last() != Some(&key) {
            out.push(key);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn less_are_counted_wherever_they_end(mut numbers in prop::collection::vec(0u64..50, 0..40), bound in 0u64..60) {
            numbers.sort_unstable();
            let expected = numbers.iter().filter(|number| **number < bound).count();
            prop_assert_eq!(less_than(&numbers, bound), expected);
        }
    }
}
