//! In how many lines of which documents a text inside one word stands: the count behind a first page.
//!
//! Called by the exact search. A word's own lines are written down with its documents, so one word is counted without
//! reading where it stands. Where several words hold the text (`the`: *the*, *other*, *there*), a line with two of them must
//! count once: the lines of such documents are marked in one long row of bits, one for each line of the segment.

use super::bits::Bits;
use super::postings::{Docs, lines_of, skip};
use super::segment::{Damage, Segment};

/// The documents that hold one of the terms in a line, in order, with the number of such lines.
pub(super) fn line_counts(segment: &Segment, terms: &[u32]) -> Result<Vec<(u32, u32)>, Damage> {
    if let [term] = terms {
        let docs = segment.docs(*term)?;
        return Ok(docs.filter(|entry| entry.lines > 0).map(|entry| (entry.doc, entry.lines)).collect());
    }
    let mut counts = vec![0u32; segment.doc_count() as usize];
    let mut several = Bits::new(segment.doc_count());
    for term in terms {
        for entry in segment.docs(*term)?.filter(|entry| entry.lines > 0) {
            let Some(count) = counts.get_mut(entry.doc as usize) else { continue };
            if *count > 0 {
                several.insert(entry.doc);
            }
            *count = count.saturating_add(entry.lines);
        }
    }
    if several.count() > 0 {
        let marks = mark(segment, terms, &several)?;
        let starts = segment.line_starts();
        for (doc, count) in counts.iter_mut().enumerate().filter(|(doc, _)| several.has(*doc as u32)) {
            *count = marks.between(starts[doc], starts[doc + 1]);
        }
    }
    let with_lines = counts.into_iter().zip(0..).filter(|(count, _)| *count > 0);
    Ok(with_lines.map(|(count, doc)| (doc, count)).collect())
}

/// The documents that hold one of the terms in a line, in order, each with a number of lines that is not 0.
pub(super) fn with_lines(segment: &Segment, terms: &[u32]) -> Result<Vec<(u32, u32)>, Damage> {
    /// Up to here sorting what was found is quicker than a look at every document.
    const FEW: u64 = 1 << 12;
    let all: u64 = terms.iter().map(|term| u64::from(segment.term(*term).docs)).sum();
    if terms.len() == 1 || all > FEW {
        return match terms {
            [_] => line_counts(segment, terms),
            _ => in_any(segment, terms),
        };
    }
    let mut found = Vec::with_capacity(all as usize);
    for term in terms {
        found.extend(
            segment.docs(*term)?.filter(|entry| entry.lines > 0).map(|entry| (entry.doc, entry.lines)),
        );
    }
    found.sort_unstable();
    found.dedup_by_key(|(doc, _)| *doc);
    Ok(found)
}

fn in_any(segment: &Segment, terms: &[u32]) -> Result<Vec<(u32, u32)>, Damage> {
    let mut found = Bits::new(segment.doc_count());
    for term in terms {
        for entry in segment.docs(*term)?.filter(|entry| entry.lines > 0) {
            found.insert(entry.doc);
        }
    }
    Ok(found.iter().map(|doc| (doc, 1)).collect())
}

/// Marks the lines of the documents in `among` in which a term stands.
fn mark(segment: &Segment, terms: &[u32], among: &Bits) -> Result<Row, Damage> {
    let starts = segment.line_starts();
    let mut row = Row::new(starts.last().copied().unwrap_or(0));
    for term in terms {
        let streams = segment.lines(*term)?;
        let mut lines = streams.lines;
        for entry in Docs::new(streams.docs) {
            if !among.has(entry.doc) {
                skip(&mut lines, entry.times);
                continue;
            }
            let (start, end) = (starts[entry.doc as usize], starts[entry.doc as usize + 1]);
            lines_of(&mut lines, &entry, |line| {
                // Line 0 is the name. A line behind the end can only be damage, and must not count for its neighbour.
                let at = start + u64::from(line);
                if line > 0 && at <= end {
                    row.set(at - 1);
                }
            });
        }
    }
    Ok(row)
}

/// A row of bits.
struct Row(Vec<u64>);

impl Row {
    fn new(length: u64) -> Row {
        Row(vec![0; length.div_ceil(64) as usize])
    }

    #[inline]
    fn set(&mut self, at: u64) {
        if let Some(word) = self.0.get_mut((at / 64) as usize) {
            *word |= 1 << (at % 64);
        }
    }

    /// How many are set from `start` up to `end`.
    fn between(&self, start: u64, end: u64) -> u32 {
        if start >= end {
            return 0;
        }
        let (first, last) = ((start / 64) as usize, ((end - 1) / 64) as usize);
        let word = |at: usize| {
            let mut word = self.0.get(at).copied().unwrap_or(0);
            if at == first {
                word &= u64::MAX << (start % 64);
            }
            if at == last {
                word &= u64::MAX >> (63 - (end - 1) % 64);
            }
            word.count_ones()
        };
        (first..=last).map(word).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_counted_between_any_two_places(set in prop::collection::btree_set(0u64..300, 0..40), start in 0u64..300, length in 0u64..300) {
            let mut row = Row::new(300);
            set.iter().for_each(|at| row.set(*at));
            let end = (start + length).min(300);
            let expected = set.iter().filter(|at| (start..end).contains(at)).count();
            prop_assert_eq!(row.between(start, end) as usize, expected);
        }
    }
}
