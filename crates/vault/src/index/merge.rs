//! Makes one segment of several, without the documents that are gone. Nothing is read again: entries are copied.
//!
//! The batches of a first build lie one behind the other, so their lists are joined as they are; pieces of a life of
//! edits interleave and are taken document by document.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use super::batch::first_eight;
use super::bits::Bits;
use super::postings::{Docs, Streams, Written, parts};
use super::segment::Segment;
use super::writer::{TermEntry, Writer};

/// A segment and which of its documents are gone.
pub(super) struct Part<'a> {
    pub segment: &'a Segment,
    pub dead: &'a Bits,
}

/// Where the documents of one part go.
struct Moved {
    /// The new number of each document, `GONE` for none.
    numbers: Vec<u32>,
    /// The distance, if it is the same for all and none is gone.
    shift: Option<u32>,
}

const GONE: u32 = u32::MAX;

/// Writes everything alive in `parts` into `writer`.
pub(super) fn merge<W: Write>(parts: &[Part<'_>], mut writer: Writer<W>) -> io::Result<W> {
    let moved = number_docs(parts, &mut writer)?;
    // With one distance each, and each part wholly behind the one before, lists can be joined as they are.
    let in_order = moved.windows(2).all(|pair| match (pair[0].shift, pair[1].shift) {
        (Some(a), Some(b)) => a as usize + pair[0].numbers.len() <= b as usize || pair[0].numbers.is_empty(),
        _ => false,
    }) && moved.first().is_none_or(|first| first.shift.is_some());
    let mut cursors = vec![0u32; parts.len()];
    let mut still_held = cursors.clone();
    let mut heads: BinaryHeap<Reverse<(Head<'_>, usize)>> =
        parts.iter().zip(0..).filter_map(|(part, at)| Some(Reverse((head(part.segment, 0)?, at)))).collect();
    let (mut out, mut with) = (List::default(), Vec::new());
    while let Some(Reverse((least, at))) = heads.pop() {
        with.clear();
        with.push(at);
        while let Some(next) = heads.peek().filter(|next| next.0.0 == least) {
            with.push(next.0.1);
            heads.pop();
        }
        out.clear();
        match in_order {
            true => out.join(parts, &cursors, &moved, &with)?,
            false => out.interleave(parts, &cursors, &moved, &with)?,
        }
        if out.docs > 0 {
            writer.term(&out.entry(least.1))?;
        }
        for at in &with {
            cursors[*at] += 1;
            heads.extend(head(parts[*at].segment, cursors[*at]).map(|head| Reverse((head, *at))));
            still_held[*at] = parts[*at].segment.let_go(still_held[*at], cursors[*at]);
        }
    }
    writer.finish()
}

/// A term behind its first eight bytes, which decide nearly always which of many comes first.
type Head<'a> = (u64, &'a [u8]);

fn head(segment: &Segment, term: u32) -> Option<Head<'_>> {
    let text = (term < segment.term_count()).then(|| segment.text(term))?;
    Some((first_eight(text).swap_bytes(), text))
}

fn number_docs<W: Write>(parts: &[Part<'_>], writer: &mut Writer<W>) -> io::Result<Vec<Moved>> {
    let mut moved: Vec<Moved> = parts
        .iter()
        .map(|part| Moved { numbers: vec![GONE; part.segment.doc_count() as usize], shift: None })
        .collect();
    let mut alive: Vec<(&str, usize, u32)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let docs = (0..part.segment.doc_count()).filter(|doc| !part.dead.has(*doc));
        alive.extend(docs.map(|doc| (part.segment.path(doc), at, doc)));
    }
    // Each part is sorted, so this only merges runs.
    alive.sort();
    for (number, (path, at, doc)) in alive.into_iter().enumerate() {
        let known = parts[at].segment.doc(doc);
        writer.doc(path, &known)?;
        moved[at].numbers[doc as usize] = number as u32;
    }
    parts.iter().for_each(|part| part.segment.let_docs_go());
    for one in &mut moved {
        let first = one.numbers.first().copied().unwrap_or(0);
        let steady = |(at, number): (usize, &u32)| *number != GONE && *number as usize == first as usize + at;
        one.shift = one.numbers.iter().enumerate().all(steady).then_some(first);
    }
    Ok(moved)
}

/// One term's streams as they are put together.
#[derive(Default)]
struct List {
    written: Written,
    docs: u32,
    occurrences: u32,
}

impl List {
    fn clear(&mut self) {
        self.written.clear();
        (self.docs, self.occurrences) = (0, 0);
    }

    fn entry<'a>(&'a self, text: &'a [u8]) -> TermEntry<'a> {
        let Written { docs, lines, places, .. } = &self.written;
        TermEntry {
            text,
            docs: self.docs,
            occurrences: self.occurrences,
            last_doc: self.written.last(),
            streams: Streams { docs, lines, places },
        }
    }

    fn join(
        &mut self,
        parts: &[Part<'_>],
        cursors: &[u32],
        moved: &[Moved],
        with: &[usize],
    ) -> io::Result<()> {
        for at in with {
            let segment = parts[*at].segment;
            let streams = segment.postings(cursors[*at]).map_err(io::Error::other)?;
            let term = segment.term(cursors[*at]);
            let shift = moved[*at].shift.unwrap_or(0);
            let mut docs = Docs::new(streams.docs);
            let Some(mut first) = docs.next() else { continue };
            first.doc += shift;
            // Only the first distance is another one; the rest is copied.
            self.written.entry(&first);
            self.written.docs.extend(docs.rest());
            self.written.lines.extend(streams.lines);
            self.written.places.extend(streams.places);
            self.written.ends_with(term.last_doc + shift);
            self.docs += term.docs;
            self.occurrences = self.occurrences.saturating_add(term.occurrences);
        }
        Ok(())
    }

    fn interleave(
        &mut self,
        all: &[Part<'_>],
        cursors: &[u32],
        moved: &[Moved],
        with: &[usize],
    ) -> io::Result<()> {
        let mut sources = Vec::with_capacity(with.len());
        for at in with {
            let streams = all[*at].segment.postings(cursors[*at]).map_err(io::Error::other)?;
            let numbers = &moved[*at].numbers;
            let number = move |doc: u32| numbers.get(doc as usize).copied().unwrap_or(GONE);
            let alive = parts(streams).map(move |part| (number(part.entry.doc), part));
            sources.push(alive.filter(|(number, _)| *number != GONE).peekable());
        }
        loop {
            let heads = sources.iter_mut().enumerate();
            let heads = heads.filter_map(|(at, source)| source.peek().map(|(number, _)| (*number, at)));
            let Some((_, at)) = heads.min() else { return Ok(()) };
            let Some((number, mut part)) = sources[at].next() else { return Ok(()) };
            part.entry.doc = number;
            self.written.entry(&part.entry);
            self.written.lines.extend(part.lines);
            self.written.places.extend(part.places);
            self.docs += 1;
            self.occurrences = self.occurrences.saturating_add(part.entry.times);
        }
    }
}
