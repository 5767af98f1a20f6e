//! Ranks notes by how well they fit some words: BM25 over title, aliases, headings, tags and body.
//!
//! Called for `verger search` and by the fusion with meaning. Forms of a word count as the word
//! ([`super::forms`]), the last word may be unfinished, a word that nobody wrote is taken for one that differs in a letter
//! or two, and young notes may count more. Everything that is counted here
//! (in how many notes a word stands, how long notes are) is counted over what the asker sees, so that the order tells
//! nothing about the rest.

use super::forms;
use super::found::Sound;
use super::score::{Scores, Weighing};
use super::segment::Segment;
use super::snippet::{self, Snippet};
use super::state::{Among, Picked, Sight, State};
use super::token::line_tokens;
use crate::catalog::Visible;
use crate::error::Result;
use crate::files::Files;
use crate::meaning::fuse::Spread;
use crate::path::{VaultFolder, VaultPath};

/// What to rank for. Filters beyond the folder (tags, dates) belong into `visible`'s place: see [`RankedQuery::only`].
#[derive(Debug, Clone, PartialEq)]
pub struct RankedQuery {
    /// The words.
    pub text: String,
    /// Only files in this folder, at any depth.
    pub folder: Option<VaultFolder>,
    /// Only these files, in path order: what a tag, a date or any other query has picked. The words are weighed as if
    /// there were no others.
    pub only: Option<Vec<VaultPath>>,
    /// How many hits to return.
    pub limit: usize,
    /// Whether young notes count more.
    pub recency: Option<Recency>,
    /// Whether to read each hit for its title and its lines; without, [`super::TextIndex::lines_of`] does so later.
    pub lines: bool,
    /// Files whose scores are wanted even if they are not among the best: see [`Ranked::also`].
    pub also: Vec<VaultPath>,
}

/// How much the age of a note counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recency {
    /// The days after which the bonus is half of what it was.
    pub half_life_days: f32,
    /// The bonus of a note changed just now; 1 doubles its score.
    pub bonus: f32,
}

impl RankedQuery {
    /// Words in all notes, ten hits.
    pub fn new(text: &str) -> RankedQuery {
        RankedQuery {
            text: text.to_owned(),
            folder: None,
            only: None,
            limit: 10,
            recency: None,
            lines: true,
            also: Vec::new(),
        }
    }
}

/// The best notes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranked {
    /// The best first; of equals the one with the smaller path.
    pub hits: Vec<Hit>,
    /// Notes that hold at least one of the words.
    pub total: usize,
    /// Words that nobody wrote, with those that were looked for instead.
    pub corrected: Vec<(String, Vec<String>)>,
    /// The scores of those files of [`RankedQuery::also`] that hold a word and are not among the hits.
    pub also: Vec<(VaultPath, f32)>,
    /// How the scores spread over all texts that were looked at; those without any of the words have 0.
    pub spread: Spread,
    /// What was looked for.
    pub(super) words: Vec<Word>,
}

/// A note that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The note.
    pub path: VaultPath,
    /// How well it fits; comparable within one answer only.
    pub score: f32,
    /// Its first heading of level 1, or its name.
    pub title: String,
    /// The lines that say most about why.
    pub snippets: Vec<Snippet>,
}

/// Words of a query that are looked at.
const MOST_WORDS: usize = 32;
/// An unfinished word has at least so many letters.
const SHORTEST_PREFIX: usize = 3;
/// What another form of a word counts beside the word as it was asked for.
const FORM: f32 = 0.5;

/// A word of the query and what counts as it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub text: Vec<u8>,
    /// What its forms have in common.
    pub stem: Option<Vec<u8>>,
    pub is_last: bool,
    /// Other words that stand in for one that nobody wrote.
    pub instead: Vec<Vec<u8>>,
}

impl Word {
    /// Whether a folded word of a text counts as this one.
    pub fn fits(&self, word: &[u8]) -> bool {
        word == self.text
            || (self.stem.is_some() && forms::stem(word) == self.stem)
            || (self.is_last && self.text.len() >= SHORTEST_PREFIX && word.starts_with(&self.text))
            || (has_no_spaces(&self.text) && memchr::memmem::find(word, &self.text).is_some())
            || self.instead.iter().any(|instead| instead == word)
    }

    /// The terms of a segment that count, and how much.
    pub fn terms(&self, segment: &Segment) -> Vec<(u32, f32)> {
        let mut out: Vec<(u32, f32)> =
            segment.find_term(&self.text).map(|term| (term, 1.0)).into_iter().collect();
        let exact = out.first().map(|(term, _)| *term);
        if let Some(stem) = &self.stem {
            let others = forms::terms(segment, stem).filter(|term| Some(*term) != exact);
            out.extend(others.map(|term| (term, FORM)));
        }
        if has_no_spaces(&self.text) {
            let others = segment.containing(&self.text).into_iter().filter(|term| Some(*term) != exact);
            out.extend(others.map(|term| (term, 0.8)));
        } else if self.is_last && self.text.len() >= SHORTEST_PREFIX {
            let known: Vec<u32> = out.iter().map(|(term, _)| *term).collect();
            let others = segment.starting(&self.text).filter(|term| !known.contains(term));
            out.extend(others.map(|term| (term, 0.5)));
        }
        out.extend(self.instead.iter().filter_map(|text| segment.find_term(text)).map(|term| (term, 0.5)));
        out
    }
}

/// Scripts without spaces between words: a run of letters is many words, so a query is looked for inside.
fn has_no_spaces(text: &[u8]) -> bool {
    let wide = |letter: char| matches!(letter, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{2e80}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}');
    std::str::from_utf8(text).is_ok_and(|text| text.chars().any(wide))
}

pub(super) fn ranked(
    state: &State,
    files: &dyn Files,
    query: &RankedQuery,
    (visible, sight): (Visible<'_>, &Sight),
    now_ns: i64,
) -> Result<Sound<Ranked>> {
    let picked = Picked { folder: query.folder.as_ref(), glob: None, only: query.only.as_deref() };
    let among = Among::new(state, &picked, visible, sight)?;
    let mut words = words_of(&query.text);
    let mut corrected = Vec::new();
    let mut scores = Scores::new(state, &among);
    let count = words.len();
    for word in &mut words {
        let added = match scores.add(word) {
            Ok(0) => {
                word.instead = alike(state, &among, &word.text);
                scores.add(word)
            }
            other => other,
        };
        match added {
            Err(damage) => return Ok(Err(damage)),
            Ok(0) => word.instead.clear(),
            Ok(_) if !word.instead.is_empty() => {
                let shown = |text: &Vec<u8>| String::from_utf8_lossy(text).into_owned();
                corrected.push((shown(&word.text), word.instead.iter().map(shown).collect()));
            }
            Ok(_) => {}
        }
    }
    let weighing = Weighing { words: count, recency: query.recency, now_ns };
    let (total, best, spread) = scores.best(&weighing, query.limit);
    let also = scores.also(&weighing, &query.also, &best);
    let hits = best.into_iter().filter_map(|(score, slot, doc)| {
        let path = state.slots.get(slot)?.path(doc)?;
        let (title, snippets) = match query.lines {
            true => snippet::snippets(files, &path, &words),
            false => (path.stem().to_owned(), Vec::new()),
        };
        Some(Hit { path, score, title, snippets })
    });
    let hits = hits.collect();
    Ok(Ok(Ranked { hits, total, corrected, also, spread, words }))
}

fn words_of(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let line = text.replace(['\n', '\r'], " ");
    let mut unfinished = false;
    line_tokens(line.as_bytes(), &mut Vec::new(), |text, _, word, _| {
        // A word with a full stop or a space behind it is finished.
        unfinished = word;
        if word {
            let stem = forms::stem(text);
            words.retain(|known| known.text != text && (stem.is_none() || known.stem != stem));
            words.push(Word { text: text.to_vec(), stem, is_last: false, instead: Vec::new() });
        }
    });
    words.truncate(MOST_WORDS);
    if let Some(last) = words.last_mut() {
        last.is_last = unfinished;
    }
    words
}

/// Words that differ in a letter (in two, if long) and start with the same one; the nearest only, of those that stand
/// somewhere the asker sees.
fn alike(state: &State, among: &Among, word: &[u8]) -> Vec<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(word) else { return Vec::new() };
    let letters: Vec<char> = text.chars().collect();
    let most = match letters.len() {
        0..=3 => return Vec::new(),
        4..=7 => 1,
        8..=32 => 2,
        _ => return Vec::new(),
    };
    let first = &text.as_bytes()[..letters[0].len_utf8()];
    let mut found: Vec<(usize, Vec<u8>)> = Vec::new();
    for (at, slot) in state.slots.iter().enumerate() {
        for term in slot.segment.starting(first) {
            let other = slot.segment.text(term);
            if other.len().abs_diff(word.len()) <= most * 3
                && let Some(distance) = distance(&letters, other, most)
                && is_seen(state, among, at, term)
            {
                found.push((distance, other.to_vec()));
            }
        }
    }
    let nearest = found.iter().map(|(distance, _)| *distance).min();
    let mut out: Vec<Vec<u8>> =
        found.into_iter().filter(|(distance, _)| Some(*distance) == nearest).map(|(_, text)| text).collect();
    out.sort();
    out.dedup();
    out
}

fn is_seen(state: &State, among: &Among, at: usize, term: u32) -> bool {
    let docs = state.slots.get(at).and_then(|slot| slot.segment.docs(term).ok());
    docs.is_some_and(|mut docs| docs.any(|entry| among.has(state, at, entry.doc)))
}

/// How many letters differ (put in, left out, changed, or two swapped), if they are at most `most`.
fn distance(a: &[char], b: &[u8], most: usize) -> Option<usize> {
    let b: Vec<char> = std::str::from_utf8(b).ok()?.chars().collect();
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let width = b.len() + 1;
    let (mut before, mut above, mut row) =
        (vec![0; width], (0..width).collect::<Vec<usize>>(), vec![0; width]);
    for (i, letter) in a.iter().enumerate() {
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = above[j] + usize::from(letter != other);
            row[j + 1] = changed.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        if row.iter().all(|distance| *distance > most) {
            return None;
        }
        std::mem::swap(&mut before, &mut above);
        std::mem::swap(&mut above, &mut row);
    }
    above.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_differ_are_counted() {
        let rows = [
            ("amber", "amber", Some(0)),
            ("amber", "ambre", Some(1)),
            ("amber", "amer", Some(1)),
            ("amber", "ambers", Some(1)),
            ("amber", "umbel", Some(2)),
            ("amber", "lattice", None),
            ("été", "ete", Some(2)),
        ];
        for (a, b, expected) in rows {
            let letters: Vec<char> = a.chars().collect();
            assert_eq!(distance(&letters, b.as_bytes(), 2), expected, "{a} {b}");
        }
    }
}
