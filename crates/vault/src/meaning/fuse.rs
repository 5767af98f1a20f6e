//! Joins the ranked list with the scores by meaning. Called by whoever answers a hybrid search.
//!
//! Each score is measured in standard deviations of its kind over all notes, and the two are added:
//! `ranked / σ(ranked) + weight × vector / σ(vectors)` (the means are the same for every note and change no order).
//! The vectors of a small model alone are worse than the ranked list, so they add to it and never replace it.
//!
//! How [`WEIGHT`] was chosen, with what a form of a word counts, how much length counts and how much it counts that all
//! words are there: on other text than it is reported on. `scripts/retrieval_set.py` made 3000 sections, 700 headings
//! and 700 sentences out of the Markdown in a cargo registry, a Rust toolchain, npm and a machine's documentation. nDCG@10
//! of the shipped search there, forms at 0.75:
//!
//! | weight | 0 | 0.3 | 0.6 | 0.8 | 1.0 | **1.2** | 1.5 | 2.0 |
//! |---|---|---|---|---|---|---|---|---|
//! | headings | .525 | .564 | .578 | .586 | .588 | .589 | .589 | .587 |
//! | sentences | .490 | .507 | .517 | .516 | .516 | .517 | .513 | .504 |
//!
//! Of some forty runs there, 1.2 with forms at 0.5 has the best sum (.590 and .518), by little: from 0.8 to 1.5 all is
//! within .004. Figures of the retrieval set had been seen before, so it is not untouched, though the choice does not
//! rest on it; `benches/RESULTS.md` lists every run on it.

use std::collections::HashMap;
use std::hash::Hash;

/// How much the vectors weigh beside the ranked list.
pub const WEIGHT: f32 = 1.2;

/// Scores by meaning: the best notes and any others that were asked for, with how the scores of all notes spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores<I> {
    /// Notes with their scores, best first.
    pub notes: Vec<(I, f32)>,
    /// The spread over all notes that could have been found.
    pub spread: Spread,
}

/// How scores are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// How many notes there are.
    pub count: usize,
    /// Their mean.
    pub mean: f32,
    /// Their standard deviation.
    pub deviation: f32,
}

impl Spread {
    /// Of these scores and of `count - scores` more that are 0.
    pub fn of(scores: impl IntoIterator<Item = f32>, count: usize) -> Spread {
        let (mut seen, mut sum, mut squares) = (0_usize, 0.0_f64, 0.0_f64);
        for score in scores {
            seen += 1;
            sum += f64::from(score);
            squares += f64::from(score) * f64::from(score);
        }
        let count = count.max(seen);
        let all = count.max(1) as f64;
        let mean = sum / all;
        let variance = (squares / all - mean * mean).max(0.0);
        Spread { count, mean: mean as f32, deviation: variance.sqrt() as f32 }
    }
}

/// The notes of both lists, best first; equal ones in the order of their ids. A note that the ranked list does not
/// name has 0 there; one that the vectors do not name has their lowest score (ask for the scores of all ranked notes
/// to be exact).
pub fn fuse<I: Clone + Eq + Hash + Ord>(
    ranked: &Scores<I>,
    vectors: &Scores<I>,
    weight: f32,
) -> Vec<(I, f32)> {
    let ranked_unit = unit(ranked.spread);
    let vector_unit = unit(vectors.spread) * weight;
    let lowest = vectors.notes.iter().map(|(_, score)| *score).fold(f32::INFINITY, f32::min);
    let lowest = if lowest.is_finite() { lowest } else { vectors.spread.mean };
    let mut fused: HashMap<&I, (f32, f32)> = HashMap::with_capacity(ranked.notes.len() + vectors.notes.len());
    for (id, score) in &vectors.notes {
        fused.insert(id, (0.0, *score));
    }
    for (id, score) in &ranked.notes {
        fused.entry(id).or_insert((0.0, lowest)).0 = *score;
    }
    let total =
        |(ranked, vector): (f32, f32)| ranked * ranked_unit + (vector - vectors.spread.mean) * vector_unit;
    let mut out: Vec<(I, f32)> = fused.into_iter().map(|(id, both)| (id.clone(), total(both))).collect();
    out.sort_by(|(a, left), (b, right)| right.total_cmp(left).then_with(|| a.cmp(b)));
    out
}

/// What one score is multiplied with; scores that are all the same say nothing.
fn unit(spread: Spread) -> f32 {
    if spread.deviation > f32::EPSILON { 1.0 / spread.deviation } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(notes: &[(u32, f32)]) -> Scores<u32> {
        Scores { notes: notes.to_vec(), spread: Spread::of(notes.iter().map(|(_, score)| *score), 0) }
    }

    #[track_caller]
    fn check(ranked: &[(u32, f32)], vectors: &[(u32, f32)], weight: f32, order: &[u32]) {
        let all = vectors
            .iter()
            .chain(ranked)
            .map(|(id, _)| *id)
            .collect::<std::collections::BTreeSet<u32>>()
            .len();
        let spread = Spread::of(ranked.iter().map(|(_, score)| *score), all);
        let fused = fuse(&Scores { notes: ranked.to_vec(), spread }, &scores(vectors), weight);
        assert_eq!(fused.iter().map(|(id, _)| *id).collect::<Vec<_>>(), order);
    }

    #[test]
    fn both_lists_count_by_their_weight() {
        let vectors = [(1, 0.1), (2, 0.9), (3, 0.5), (4, 0.1)];
        check(&[(1, 9.0), (3, 8.0)], &vectors, 0.0, &[1, 3, 2, 4]);
        check(&[(1, 9.0), (3, 8.0)], &vectors, 0.5, &[3, 1, 2, 4]);
        check(&[(1, 9.0), (3, 8.0)], &vectors, 1.0, &[3, 2, 1, 4]);
        check(&[(1, 9.0), (3, 8.0)], &vectors, 10.0, &[2, 3, 1, 4]);
    }

    #[test]
    fn one_list_alone_keeps_its_order() {
        check(&[], &[(1, 0.1), (2, 0.9)], 1.0, &[2, 1]);
        check(&[(1, 2.0), (2, 1.0)], &[], 1.0, &[1, 2]);
        check(&[], &[], 1.0, &[]);
        check(&[(7, 1.0)], &[(1, 0.5), (2, 0.5)], 1.0, &[7, 1, 2]);
    }

    #[test]
    fn the_sum_is_that_of_standard_scores() {
        let ranked = [(0, 3.0), (1, 1.0)];
        let vectors = [(0, 0.2), (1, 0.6), (2, 0.1), (3, 0.3)];
        // σ(3, 1, 0, 0) = 1.2247; mean and σ of the vectors are 0.3 and 0.18708.
        let spread = Spread::of([3.0, 1.0], 4);
        let fused = fuse(&Scores { notes: ranked.to_vec(), spread }, &scores(&vectors), 0.5);
        let expected = [(0, 3.0 / 1.2247 - 0.5 * 0.1 / 0.187_08), (1, 1.0 / 1.2247 + 0.5 * 0.3 / 0.187_08)];
        for ((id, score), (expected_id, expected)) in fused.iter().zip(expected) {
            assert_eq!(*id, expected_id);
            assert!((score - expected).abs() < 1e-3, "{score} {expected}");
        }
    }
}
