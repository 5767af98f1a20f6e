//! All vectors of a vault in memory, and the scan over them.
//!
//! Owned by [`super::Meaning`]. A vector is kept as int8 with one scale (so 4 + width bytes), the rows of one note lie
//! side by side, and a search looks at every row: at a hundred thousand notes that is some 60 MB and a few
//! milliseconds, which no approximate index beats by enough to be worth its upkeep. Deliberately not here: the inner loop
//! ([`super::dot`]), text, files, models.

use std::ops::Range;
use std::thread;

use super::dot::dot;
use crate::catalog::threads;
use crate::files::Stat;
use crate::path::{VaultFolder, VaultPath};

/// Below this many rows a second thread costs more than it brings.
const ALONE: usize = 20_000;
/// The query is kept in 12 bits: finer than the rows, and sums of up to 8,000 products still fit.
const QUERY_STEPS: f32 = 2_047.0;

/// One chunk's vector with what is known of the chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The hash of the text that was embedded.
    pub hash: u64,
    /// First byte in the note.
    pub start: u32,
    /// Bytes in the note.
    pub length: u32,
    /// What one step of `numbers` is worth.
    pub scale: f32,
    /// The vector in steps.
    pub numbers: Box<[i8]>,
}

impl Row {
    /// Keeps a vector; `None` if it is all zeros and says nothing.
    pub fn new(hash: u64, span: Range<usize>, vector: &[f32]) -> Option<Row> {
        let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        let scale = largest / 127.0;
        (scale.is_normal()).then(|| Row {
            hash,
            start: narrow(span.start),
            length: narrow(span.len()),
            scale,
            numbers: vector.iter().map(|number| (number / scale).round() as i8).collect(),
        })
    }

    /// The same text at another place.
    #[must_use]
    pub fn at(mut self, span: Range<usize>) -> Row {
        (self.start, self.length) = (narrow(span.start), narrow(span.len()));
        self
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// What is known of a row beside its vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// The hash of the text that was embedded.
    pub hash: u64,
    /// First byte in the note.
    pub start: u32,
    /// Bytes in the note.
    pub length: u32,
    /// What one step of the vector is worth.
    pub scale: f32,
}

/// A note that has vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct NoteRows {
    /// Where it lies.
    pub path: VaultPath,
    /// The version that was looked at.
    pub stat: Stat,
    /// How many of its chunks wait for their vector.
    pub missing: u32,
    first: u32,
    count: u32,
    /// How long the sum of its vectors is; comparing whole notes needs it.
    length: f32,
}

impl NoteRows {
    /// Its rows.
    pub fn rows(&self) -> Range<usize> {
        self.first as usize..self.first as usize + self.count as usize
    }
}

/// A row that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// How near, 1 is the same.
    pub score: f32,
    /// The note's number.
    pub note: u32,
    /// The row.
    pub row: u32,
}

/// The vectors of a vault.
#[derive(Debug, Default)]
pub struct Vectors {
    width: usize,
    numbers: Vec<i8>,
    facts: Vec<Facts>,
    notes: Vec<Option<NoteRows>>,
    free: Vec<u32>,
    /// The numbers of all notes in path order.
    order: Vec<u32>,
    /// Rows that no note has any more.
    dead: usize,
    /// Chunks of all notes that wait for their vector.
    missing: usize,
}

/// A vector to compare with.
#[derive(Debug, Clone)]
pub struct Query {
    steps: Vec<i16>,
    scale: f32,
}

impl Query {
    /// Of length 1, if it is not all zeros.
    pub fn new(vector: &[f32]) -> Query {
        let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        // Very wide vectors get coarser steps, so that no sum of products overflows.
        let steps = QUERY_STEPS.min(i32::MAX as f32 / 128.0 / vector.len().max(1) as f32);
        let scale = largest / steps;
        if !scale.is_normal() || !length.is_normal() {
            return Query { steps: vec![0; vector.len()], scale: 0.0 };
        }
        let steps = vector.iter().map(|number| (number / scale).round() as i16).collect();
        Query { steps, scale: scale / length }
    }

    /// Whether it is near to nothing.
    pub fn is_empty(&self) -> bool {
        self.scale == 0.0
    }
}

impl Vectors {
    /// No vectors yet, of so many numbers each.
    pub fn new(width: usize) -> Vectors {
        Vectors { width, ..Vectors::default() }
    }

    /// Makes room for what will be put in.
    pub fn reserve(&mut self, notes: usize, rows: usize) {
        self.notes.reserve_exact(notes);
        self.order.reserve_exact(notes);
        self.facts.reserve_exact(rows);
        self.numbers.reserve_exact(rows.saturating_mul(self.width));
    }

    /// Gives back the room that growing has left over, if it is more than a quarter.
    pub fn settle(&mut self) {
        if self.numbers.capacity() > self.numbers.len() + self.numbers.len() / 4 {
            self.numbers.shrink_to_fit();
            self.facts.shrink_to_fit();
            self.notes.shrink_to_fit();
            self.order.shrink_to_fit();
        }
    }

    /// How many notes have been embedded.
    pub fn notes(&self) -> usize {
        self.order.len()
    }

    /// How many chunks have a vector.
    pub fn rows(&self) -> usize {
        self.facts.len() - self.dead
    }

    /// How many chunks wait for their vector.
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// Bytes held in memory for the vectors and what is known of their chunks, paths left out.
    pub fn bytes(&self) -> usize {
        self.numbers.capacity()
            + self.facts.capacity() * size_of::<Facts>()
            + self.notes.capacity() * size_of::<Option<NoteRows>>()
            + self.order.capacity() * size_of::<u32>()
    }

    /// The notes in path order.
    pub fn iter(&self) -> impl Iterator<Item = &NoteRows> {
        self.order.iter().filter_map(|note| self.at(*note))
    }

    /// The notes in one folder, at any depth, in path order.
    pub fn iter_in<'v>(&'v self, folder: &'v VaultFolder) -> impl Iterator<Item = &'v NoteRows> {
        let start = folder.path().map_or("", |path| path.as_str());
        let first = folder.path().map_or(0, |path| self.place(path).unwrap_or_else(|place| place));
        let range = self.order[first..].iter().filter_map(|note| self.at(*note));
        let range = range.take_while(move |note| note.path.as_str().starts_with(start));
        range.filter(move |note| note.path.is_in(folder))
    }

    /// The note with this number.
    pub fn at(&self, note: u32) -> Option<&NoteRows> {
        self.notes.get(note as usize)?.as_ref()
    }

    /// The note at this path.
    pub fn get(&self, path: &VaultPath) -> Option<&NoteRows> {
        self.number_of(path).and_then(|note| self.at(note))
    }

    /// The number of the note at this path.
    pub fn number_of(&self, path: &VaultPath) -> Option<u32> {
        self.place(path).ok().map(|place| self.order[place])
    }

    /// One past the highest number of a note.
    pub fn numbers_end(&self) -> usize {
        self.notes.len()
    }

    /// What is known of a row.
    pub fn facts(&self, row: usize) -> Option<&Facts> {
        self.facts.get(row)
    }

    /// The vector of a row, in steps.
    pub fn numbers(&self, row: usize) -> &[i8] {
        self.numbers.get(row * self.width..(row + 1) * self.width).unwrap_or(&[])
    }

    /// A row as it was put in.
    pub fn row(&self, row: usize) -> Option<Row> {
        let Facts { hash, start, length, scale } = *self.facts.get(row)?;
        Some(Row { hash, start, length, scale, numbers: self.numbers(row).into() })
    }

    /// Puts a note in, in place of what was known of it; `missing` of its chunks have no vector yet. Rows of another
    /// width are left out.
    pub fn put(&mut self, path: VaultPath, stat: Stat, rows: &[Row], missing: usize) {
        self.remove(&path);
        self.missing += missing;
        let first = self.facts.len() as u32;
        let mut sum = vec![0.0_f32; self.width];
        for row in rows.iter().filter(|row| row.numbers.len() == self.width) {
            let Row { hash, start, length, scale, .. } = *row;
            self.facts.push(Facts { hash, start, length, scale });
            self.numbers.extend_from_slice(&row.numbers);
            sum.iter_mut().zip(&row.numbers).for_each(|(sum, step)| *sum += f32::from(*step) * scale);
        }
        let length = sum.iter().map(|number| number * number).sum::<f32>().sqrt();
        let count = self.facts.len() as u32 - first;
        let place = self.place(&path).unwrap_or_else(|place| place);
        let note = Some(NoteRows { path, stat, missing: narrow(missing), first, count, length });
        let number = match self.free.pop() {
            Some(number) => {
                self.notes[number as usize] = note;
                number
            }
            None => {
                self.notes.push(note);
                self.notes.len() as u32 - 1
            }
        };
        self.order.insert(place, number);
    }

    /// Forgets a note; whether it was known.
    pub fn remove(&mut self, path: &VaultPath) -> bool {
        let Ok(place) = self.place(path) else { return false };
        let number = self.order.remove(place);
        if let Some(note) = self.notes[number as usize].take() {
            self.dead += note.rows().len();
            self.missing -= (note.missing as usize).min(self.missing);
        }
        self.free.push(number);
        if self.dead > 1_000 + self.facts.len() / 4 {
            self.close_gaps();
        }
        true
    }

    /// The rows nearest to the query, best first, of the notes that `among` names (by number; `None`: all).
    pub fn nearest(&self, query: &Query, among: Option<&[bool]>, keep: usize) -> Vec<Found> {
        self.scan(among, keep, |number, note, best| {
            for row in note.rows() {
                best.push(Found { score: self.score(query, row), note: number, row: row as u32 });
            }
        })
    }

    /// The notes whose best row is nearest, best first.
    pub fn nearest_notes(&self, query: &Query, among: Option<&[bool]>, keep: usize) -> Vec<Found> {
        self.scan(among, keep, |number, note, best| {
            if let Some(found) = self.best_of(query, number, note) {
                best.push(found);
            }
        })
    }

    /// The notes that are nearest as wholes, best first.
    pub fn nearest_wholes(&self, query: &Query, keep: usize) -> Vec<Found> {
        self.scan(None, keep, |number, note, best| {
            if note.length > 0.0 {
                let sum: f32 = note.rows().map(|row| self.score(query, row)).sum();
                best.push(Found { score: sum / note.length, note: number, row: note.first });
            }
        })
    }

    /// The best row of one note.
    pub fn best_of(&self, query: &Query, number: u32, note: &NoteRows) -> Option<Found> {
        let rows =
            note.rows().map(|row| Found { score: self.score(query, row), note: number, row: row as u32 });
        rows.reduce(|best, found| if found.score > best.score { found } else { best })
    }

    /// The sum of a note's vectors.
    pub fn whole(&self, note: &NoteRows) -> Vec<f32> {
        let mut sum = vec![0.0; self.width];
        for row in note.rows() {
            let scale = self.facts.get(row).map_or(0.0, |facts| facts.scale);
            sum.iter_mut().zip(self.numbers(row)).for_each(|(sum, step)| *sum += f32::from(*step) * scale);
        }
        sum
    }

    fn score(&self, query: &Query, row: usize) -> f32 {
        let Some(facts) = self.facts.get(row) else { return 0.0 };
        dot(self.numbers(row), &query.steps) as f32 * facts.scale * query.scale
    }

    fn scan(
        &self,
        among: Option<&[bool]>,
        keep: usize,
        look: impl Fn(u32, &NoteRows, &mut Best) + Sync,
    ) -> Vec<Found> {
        let part = |notes: Range<usize>| {
            let mut best = Best::new(keep);
            for number in notes.filter(|number| among.is_none_or(|among| among.get(*number) == Some(&true))) {
                if let Some(Some(note)) = self.notes.get(number) {
                    look(number as u32, note, &mut best);
                }
            }
            best
        };
        let end = self.notes.len();
        if self.facts.len() < ALONE || threads() == 1 {
            return part(0..end).finish();
        }
        thread::scope(|scope| {
            let other = scope.spawn(|| part(end / 2..end));
            let mut best = part(0..end / 2);
            match other.join() {
                Ok(other) => other.held.into_iter().for_each(|found| best.push(found)),
                // A panic over there would have been one here.
                Err(panic) => std::panic::resume_unwind(panic),
            }
            best.finish()
        })
    }

    fn place(&self, path: &VaultPath) -> Result<usize, usize> {
        // Notes mostly come in path order, behind all others.
        match self.order.last().and_then(|last| self.at(*last)) {
            Some(last) if last.path < *path => Err(self.order.len()),
            _ => self.order.binary_search_by(|note| self.at(*note).map(|note| &note.path).cmp(&Some(path))),
        }
    }

    /// Moves all rows together again.
    fn close_gaps(&mut self) {
        let mut facts = Vec::with_capacity(self.facts.len() - self.dead);
        let mut numbers = Vec::with_capacity((self.facts.len() - self.dead) * self.width);
        for note in self.notes.iter_mut().flatten() {
            let rows = note.rows();
            note.first = facts.len() as u32;
            facts.extend_from_slice(&self.facts[rows.clone()]);
            numbers.extend_from_slice(&self.numbers[rows.start * self.width..rows.end * self.width]);
        }
        self.facts = facts;
        self.numbers = numbers;
        self.dead = 0;
    }
}

/// The best of many, without keeping them all.
struct Best {
    keep: usize,
    held: Vec<Found>,
    floor: f32,
}

impl Best {
    fn new(keep: usize) -> Best {
        Best { keep: keep.max(1), held: Vec::new(), floor: f32::NEG_INFINITY }
    }

    #[inline]
    fn push(&mut self, found: Found) {
        if found.score >= self.floor {
            self.held.push(found);
            if self.held.len() >= self.keep.saturating_mul(2).max(64) {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        if self.held.len() > self.keep {
            self.held.select_nth_unstable_by(self.keep - 1, nearer);
            self.held.truncate(self.keep);
            self.floor = self.held.iter().map(|found| found.score).fold(f32::INFINITY, f32::min);
        }
    }

    fn finish(mut self) -> Vec<Found> {
        self.shrink();
        self.held.sort_unstable_by(nearer);
        self.held
    }
}

/// Best first; equal ones by their place, so that the order is always the same.
fn nearer(a: &Found, b: &Found) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then_with(|| (a.note, a.row).cmp(&(b.note, b.row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 48;

    fn path(number: usize) -> VaultPath {
        VaultPath::parse(&format!("n/{number:06}.md")).unwrap()
    }

    /// A vector that looks random and is the same every time.
    fn vector(seed: usize) -> Vec<f32> {
        let mut state = (seed as u32).wrapping_mul(2_654_435_761).wrapping_add(1);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        let numbers: Vec<f32> = (0..WIDTH).map(|_| next()).collect();
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        numbers.into_iter().map(|number| number / length).collect()
    }

    fn row(seed: usize) -> Row {
        Row::new(seed as u64, 0..1, &vector(seed)).unwrap()
    }

    fn filled(notes: usize, rows: usize) -> Vectors {
        let mut vectors = Vectors::new(WIDTH);
        for note in 0..notes {
            let rows: Vec<Row> = (0..rows).map(|at| row(note * rows + at)).collect();
            vectors.put(path(note), Stat::default(), &rows, 0);
        }
        vectors
    }

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn scores_are_cosines() {
        let vectors = filled(100, 3);
        let wanted = vector(12_345);
        let found = vectors.nearest(&Query::new(&wanted), None, 300);
        assert_eq!(found.len(), 300);
        for Found { score, row, .. } in &found {
            assert!((score - cosine(&wanted, &vector(*row as usize))).abs() < 0.01);
        }
        assert!(found.is_sorted_by(|a, b| a.score >= b.score));
    }

    #[test]
    fn the_best_are_the_best_of_all_with_one_thread_and_with_two() {
        for notes in [50, ALONE / 3 + 10] {
            let vectors = filled(notes, 3);
            let query = Query::new(&vector(777_777));
            let all = vectors.nearest(&query, None, usize::MAX);
            assert_eq!(all.len(), notes * 3);
            assert_eq!(vectors.nearest(&query, None, 10), all[..10]);
            assert_eq!(vectors.nearest(&query, None, 0).len(), 1);
        }
    }

    #[test]
    fn what_is_left_out_is_not_found() {
        let vectors = filled(10, 2);
        let among: Vec<bool> = (0..10).map(|number| number % 2 == 0).collect();
        let found = vectors.nearest(&Query::new(&vector(3)), Some(&among), 100);
        assert_eq!(found.len(), 10);
        assert!(found.iter().all(|found| found.note % 2 == 0));
    }

    #[test]
    fn whole_notes_are_compared_by_their_sums() {
        let vectors = filled(20, 4);
        let note = vectors.get(&path(5)).unwrap();
        let found = vectors.nearest_wholes(&Query::new(&vectors.whole(note)), 3);
        assert_eq!(found[0].note, 5);
        assert!((found[0].score - 1.0).abs() < 0.01);
        let (five, other) = (vectors.whole(note), vectors.whole(vectors.at(found[1].note).unwrap()));
        let length = |sum: &[f32]| cosine(sum, sum).sqrt();
        let expected = cosine(&five, &other) / length(&five) / length(&other);
        assert!((found[1].score - expected).abs() < 0.01);
    }

    #[test]
    fn changes_leave_what_a_fresh_fill_would_hold() {
        let mut vectors = filled(2_000, 2);
        for note in 0..1_500 {
            assert!(vectors.remove(&path(note)));
        }
        assert!(!vectors.remove(&path(0)));
        for note in 0..1_000 {
            vectors.put(path(note), Stat::default(), &[row(note)], 0);
        }
        assert_eq!((vectors.notes(), vectors.rows()), (1_500, 2_000));
        assert!(vectors.facts.len() < 2_000 + 1_000 + 2_000 / 2, "gaps are closed");
        let paths: Vec<&VaultPath> = vectors.iter().map(|note| &note.path).collect();
        assert!(paths.is_sorted());
        for note in 0..1_000 {
            let known = vectors.get(&path(note)).unwrap();
            assert_eq!(vectors.row(known.first as usize).unwrap(), row(note));
        }
    }

    #[test]
    fn a_vector_of_nothing_has_no_row_and_finds_nothing_better() {
        assert!(Row::new(0, 0..1, &[0.0; WIDTH]).is_none());
        assert!(Row::new(0, 0..1, &[f32::NAN; WIDTH]).is_none());
        assert!(Query::new(&[0.0; WIDTH]).is_empty());
        assert!(!Query::new(&vector(1)).is_empty());
    }

    #[test]
    fn rows_of_another_width_are_left_out() {
        let mut vectors = Vectors::new(7);
        vectors.put(path(1), Stat::default(), &[row(1)], 0);
        assert_eq!((vectors.notes(), vectors.rows()), (1, 0));
    }
}
