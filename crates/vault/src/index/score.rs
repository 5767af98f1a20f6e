//! Scores documents for the words of a query: BM25, every document that holds a word, exactly.
//!
//! Called by [`super::ranked`]. Only the first stream of a word is read (a document and its weight), which takes a few
//! nanoseconds a document; so nothing is left out, and there is no bound to get wrong.

use std::collections::HashSet;

use super::found::Sound;
use super::ranked::{Recency, Word};
use super::segment::Segment;
use super::state::{Among, State};
use crate::meaning::fuse::Spread;
use crate::path::VaultPath;

const K1: f32 = 1.2;
const B: f32 = 0.75;
/// How much of a score depends on how many of the words are there.
const COMPLETE: f32 = 0.2;

/// What scores depend on beside the words themselves.
pub(super) struct Weighing {
    /// How many words were asked for.
    pub words: usize,
    /// Whether young notes count more.
    pub recency: Option<Recency>,
    /// The present.
    pub now_ns: i64,
}

/// The scores of all documents, segment by segment.
pub(super) struct Scores<'a> {
    state: &'a State,
    among: &'a Among,
    slots: Vec<Scored>,
}

/// The scores in one segment.
struct Scored {
    scores: Vec<f32>,
    matched: Vec<u8>,
    /// The documents that hold a word.
    touched: Vec<u32>,
}

/// A document with its score: score, segment, number.
pub(super) type Best = (f32, usize, u32);

impl<'a> Scores<'a> {
    pub fn new(state: &'a State, among: &'a Among) -> Scores<'a> {
        let docs = state.slots.iter().map(|slot| slot.segment.doc_count() as usize);
        let slots =
            docs.map(|docs| Scored { scores: vec![0.0; docs], matched: vec![0; docs], touched: Vec::new() });
        Scores { state, among, slots: slots.collect() }
    }

    /// Adds one word; in how many documents it stands.
    pub fn add(&mut self, word: &Word) -> Sound<usize> {
        let mut weights = Vec::with_capacity(self.state.slots.len());
        for (at, slot) in self.state.slots.iter().enumerate() {
            let mut docs = weigh(&slot.segment, &word.terms(&slot.segment))?;
            if !self.among.is_every_text(self.state, at) {
                docs.retain(|(doc, _)| self.among.has(self.state, at, *doc) && slot.segment.is_text(*doc));
            }
            weights.push(docs);
        }
        let found: usize = weights.iter().map(Vec::len).sum();
        let all = self.among.tally.text as f32;
        let average = (self.among.tally.words as f32 / all.max(1.0)).max(1.0);
        let rarity = (1.0 + (all - found as f32 + 0.5) / (found as f32 + 0.5)).ln();
        for ((slot, scored), docs) in self.state.slots.iter().zip(&mut self.slots).zip(weights) {
            for (doc, weight) in docs {
                let bound = K1 * (1.0 - B + B * slot.segment.words(doc) as f32 / average);
                scored.add(doc, rarity * weight * (K1 + 1.0) / (weight + bound));
            }
        }
        Ok(found)
    }

    /// How many documents match, the best of them (the highest score first, of equals the smaller path), and how the
    /// scores spread over all documents.
    pub fn best(&self, weighing: &Weighing, limit: usize) -> (usize, Vec<Best>, Spread) {
        let mut best = Top { state: self.state, limit, found: Vec::new(), floor: f32::MIN };
        let slots = self.slots.iter().enumerate();
        let touched = slots.flat_map(|(slot, scored)| scored.touched.iter().map(move |doc| (slot, *doc)));
        let scores = touched.filter_map(|(slot, doc)| {
            let score = self.score(weighing, slot, doc)?;
            best.offer((score, slot, doc));
            Some(score)
        });
        let spread = Spread::of(scores, self.among.tally.text);
        (self.slots.iter().map(|scored| scored.touched.len()).sum(), best.finish(), spread)
    }

    /// The scores of those of these files that hold a word and are not among the best.
    pub fn also(&self, weighing: &Weighing, paths: &[VaultPath], best: &[Best]) -> Vec<(VaultPath, f32)> {
        let best: HashSet<(usize, u32)> = best.iter().map(|(_, slot, doc)| (*slot, *doc)).collect();
        let score = |path: &VaultPath| {
            let (slot, doc) = self.state.find(path.as_str()).filter(|place| !best.contains(place))?;
            Some((path.clone(), self.score(weighing, slot, doc)?))
        };
        paths.iter().filter_map(score).collect()
    }

    /// The score of a document that holds a word.
    fn score(&self, weighing: &Weighing, slot: usize, doc: u32) -> Option<f32> {
        let scored = self.slots.get(slot)?;
        let matched = *scored.matched.get(doc as usize).filter(|matched| **matched > 0)?;
        // A note with all the words is worth more than one with the rarest of them many times. Not by much: in a
        // question of many words most are common, and to hold them says little.
        let share = f32::from(matched) / weighing.words.max(1) as f32;
        let mut score = scored.scores.get(doc as usize)? * (1.0 - COMPLETE + COMPLETE * share);
        if let Some(recency) = weighing.recency {
            let changed = self.state.slots.get(slot)?.segment.doc(doc).stat.modified_ns;
            score *= bonus(recency, weighing.now_ns, changed);
        }
        Some(score)
    }
}

impl Scored {
    #[inline]
    fn add(&mut self, doc: u32, score: f32) {
        let at = doc as usize;
        let (Some(sum), Some(matched)) = (self.scores.get_mut(at), self.matched.get_mut(at)) else { return };
        if *matched == 0 {
            self.touched.push(doc);
        }
        *sum += score;
        *matched += 1;
    }
}

/// The best so far. What is below the worst of them is not kept.
struct Top<'a> {
    state: &'a State,
    limit: usize,
    found: Vec<Best>,
    floor: f32,
}

impl Top<'_> {
    #[inline]
    fn offer(&mut self, one: Best) {
        if one.0 < self.floor {
            return;
        }
        self.found.push(one);
        if self.found.len() > self.limit.saturating_mul(2).max(64) {
            self.prune();
        }
    }

    fn prune(&mut self) {
        let (state, limit) = (self.state, self.limit);
        if limit > 0 && limit < self.found.len() {
            self.found.select_nth_unstable_by(limit - 1, |a, b| order(state, a, b));
            self.floor = self.found[limit - 1].0;
        }
        self.found.truncate(limit);
    }

    fn finish(mut self) -> Vec<Best> {
        self.prune();
        self.found.sort_by(|a, b| order(self.state, a, b));
        self.found
    }
}

fn order(state: &State, a: &Best, b: &Best) -> std::cmp::Ordering {
    let name = |one: &Best| state.slots[one.1].segment.path(one.2);
    b.0.total_cmp(&a.0).then_with(|| name(a).cmp(name(b)))
}

/// How often the terms stand in each document, by the weight of where they stand.
fn weigh(segment: &Segment, terms: &[(u32, f32)]) -> Sound<Vec<(u32, f32)>> {
    let known = segment.doc_count();
    if let [(term, factor)] = terms {
        let docs = segment.docs(*term)?.filter(|entry| entry.doc < known);
        let mut out = Vec::with_capacity(segment.term(*term).docs.min(known) as usize);
        out.extend(docs.map(|entry| (entry.doc, factor * entry.weight as f32)));
        return Ok(out);
    }
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let mut sums = vec![0.0; known as usize];
    for (term, factor) in terms {
        for entry in segment.docs(*term)? {
            if let Some(sum) = sums.get_mut(entry.doc as usize) {
                *sum += factor * entry.weight as f32;
            }
        }
    }
    Ok(sums.into_iter().zip(0..).filter(|(sum, _)| *sum > 0.0).map(|(sum, doc)| (doc, sum)).collect())
}

fn bonus(recency: Recency, now_ns: i64, modified_ns: i64) -> f32 {
    let days = now_ns.saturating_sub(modified_ns).max(0) as f32 / 86_400e9;
    1.0 + recency.bonus.max(0.0) * (-days / recency.half_life_days.max(0.01)).exp2()
}
