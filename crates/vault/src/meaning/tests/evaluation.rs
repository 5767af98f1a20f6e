//! What the built-in table is worth on the retrieval set, with a ranked list of our own: BM25, k1 1.2, b 0.75, light
//! stemmer. The weight is not chosen here (see [`crate::meaning::fuse`]).

use std::collections::HashMap;
use std::path::Path;

use crate::files::Stat;
use crate::meaning::fuse::{Scores, Spread, WEIGHT, fuse};
use crate::meaning::table::Table;
use crate::meaning::vectors::{Query, Row, Vectors};
use crate::path::VaultPath;

const SET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/retrieval.json");

#[derive(serde::Deserialize)]
struct Set {
    docs: Vec<String>,
    heading_queries: Vec<(usize, String)>,
    sentence_queries: Vec<(usize, String)>,
}

/// Counted words of all documents.
struct Ranked {
    postings: HashMap<String, Vec<(usize, f32)>>,
    lengths: Vec<f32>,
}

impl Ranked {
    fn new(documents: &[String]) -> Ranked {
        let mut ranked = Ranked { postings: HashMap::new(), lengths: Vec::new() };
        for (document, text) in documents.iter().enumerate() {
            let stems = stems(text);
            ranked.lengths.push(stems.len() as f32);
            let mut counts: HashMap<String, f32> = HashMap::new();
            stems.into_iter().for_each(|stem| *counts.entry(stem).or_default() += 1.0);
            counts.into_iter().for_each(|(stem, count)| {
                ranked.postings.entry(stem).or_default().push((document, count));
            });
        }
        ranked
    }

    fn scores(&self, query: &str) -> Vec<(usize, f32)> {
        let count = self.lengths.len() as f32;
        let mean = self.lengths.iter().sum::<f32>() / count;
        let mut stems = stems(query);
        stems.sort();
        stems.dedup();
        let mut scores: HashMap<usize, f32> = HashMap::new();
        for postings in stems.iter().filter_map(|stem| self.postings.get(stem)) {
            let found = postings.len() as f32;
            let rarity = (1.0 + (count - found + 0.5) / (found + 0.5)).ln();
            for (document, uses) in postings {
                let length = 1.2 * (0.25 + 0.75 * self.lengths[*document] / mean);
                *scores.entry(*document).or_default() += rarity * uses * 2.2 / (uses + length);
            }
        }
        scores.into_iter().collect()
    }
}

fn stems(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| stem(word).to_owned()).collect()
}

fn stem(word: &str) -> &str {
    let endings = ["ing", "edly", "ed", "ies", "es", "s", "ly"];
    let cut = endings.iter().filter_map(|ending| word.strip_suffix(ending)).find(|rest| rest.len() >= 3);
    cut.unwrap_or(word)
}

/// nDCG@10 and recall@10 with one right answer; those with the same score as it do not count against it.
fn quality(lists: &[(usize, Vec<(usize, f32)>)]) -> (f64, f64) {
    let (mut gain, mut recall) = (0.0, 0.0);
    for (right, list) in lists {
        let Some((_, score)) = list.iter().find(|(document, _)| document == right) else { continue };
        let above = list.iter().filter(|(_, other)| other > score).count();
        if above < 10 {
            gain += 1.0 / (above as f64 + 2.0).log2();
            recall += 1.0;
        }
    }
    (gain / lists.len() as f64, recall / lists.len() as f64)
}

/// The three lists for one kind of query: ranked, vectors, hybrid.
fn measure(
    ranked: &Ranked,
    vectors: &Vectors,
    table: &Table,
    queries: &[(usize, String)],
) -> [(f64, f64); 3] {
    let mut lists = [const { Vec::new() }; 3];
    for (right, query) in queries {
        let by_words = ranked.scores(query);
        let found = vectors.nearest_notes(&Query::new(&table.vector(query)), None, usize::MAX);
        let notes: Vec<(usize, f32)> = found.iter().map(|found| (found.note as usize, found.score)).collect();
        let spread = Spread::of(notes.iter().map(|(_, score)| *score), vectors.notes());
        let by_meaning = Scores { notes, spread };
        let spread = Spread::of(by_words.iter().map(|(_, score)| *score), vectors.notes());
        let by_words = Scores { notes: by_words, spread };
        lists[2].push((*right, fuse(&by_words, &by_meaning, WEIGHT)));
        lists[1].push((*right, by_meaning.notes));
        lists[0].push((*right, by_words.notes));
    }
    lists.map(|lists| quality(&lists))
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a corpus outside the repository")]
fn hybrid_is_better_than_ranked_alone() {
    let Ok(set) = std::fs::read(Path::new(SET)) else {
        println!("skipped: there is no {SET}");
        return;
    };
    let set: Set = serde_json::from_slice(&set).unwrap();
    let table = Table::built_in().unwrap();
    let mut vectors = Vectors::new(128);
    for (number, text) in set.docs.iter().enumerate() {
        let path = VaultPath::parse(&format!("{number:05}.md")).unwrap();
        let row = Row::new(0, 0..text.len(), &table.vector(text));
        vectors.put(path, Stat::default(), &Vec::from_iter(row), 0);
    }
    let ranked = Ranked::new(&set.docs);
    let rows = [("headings", &set.heading_queries, 0.460), ("sentences", &set.sentence_queries, 0.370)];
    let measured = std::thread::scope(|scope| {
        let (ranked, vectors, table) = (&ranked, &vectors, &*table);
        let started =
            rows.map(|(_, queries, _)| scope.spawn(move || measure(ranked, vectors, table, queries)));
        started.map(|measuring| measuring.join().unwrap())
    });
    for ((kind, queries, least), [by_words, by_meaning, hybrid]) in rows.into_iter().zip(measured) {
        println!("{kind}: nDCG@10 / recall@10 of {} queries", queries.len());
        for (name, (gain, recall)) in [("ranked", by_words), ("vectors", by_meaning), ("hybrid", hybrid)] {
            println!("  {name:8} {gain:.4} / {recall:.4}");
        }
        assert!(hybrid.0 >= least && hybrid.0 > by_words.0 && hybrid.1 > by_words.1, "{kind}");
        assert!(by_meaning.0 > 0.25 && by_meaning.0 < by_words.0, "{kind}: the table is another one");
    }
}
