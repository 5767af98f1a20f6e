//! Scores documents for the words of a query: BM25, every document that holds a word, exactly.
//!
//! Called by [`super::ranked`]. Only the first stream of a word is read (a document and its weight), which takes a few
//! nanoseconds a document; so nothing is left out, and there is no bound to get wrong.

use super::found::Sound;
use super::ranked::{RankedQuery, Recency, Word};
use super::segment::Segment;
use super::state::{Among, State};

const K1: f32 = 1.2;
const B: f32 = 0.6;

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

    /// How many documents match, and the best of them: the highest score first, of equals the smaller path.
    pub fn best(&self, query: &RankedQuery, words: usize, now_ns: i64) -> (usize, Vec<Best>) {
        let mut best = Top { state: self.state, limit: query.limit, found: Vec::new(), floor: f32::MIN };
        for (slot, scored) in self.slots.iter().enumerate() {
            for doc in &scored.touched {
                // A note with all the words is worth more than one with the rarest of them many times.
                let share = f32::from(scored.matched[*doc as usize]) / words.max(1) as f32;
                let mut score = scored.scores[*doc as usize] * (0.4 + 0.6 * share);
                if let Some(recency) = query.recency {
                    let changed = self.state.slots[slot].segment.doc(*doc).stat.modified_ns;
                    score *= bonus(recency, now_ns, changed);
                }
                best.offer((score, slot, *doc));
            }
        }
        (self.slots.iter().map(|scored| scored.touched.len()).sum(), best.finish())
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
