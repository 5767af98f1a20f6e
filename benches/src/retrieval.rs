//! How good the shipped search is: nDCG@10 and recall@10 on a set of documents and queries with one right answer each.
//!
//! The documents become notes of a vault, and the product's own index, vectors and fusion answer. Nothing is tuned here.

use std::path::Path;

use anyhow::{Context as _, Result};
use vault::Vault;
use vault::finder::{FindQuery, How};
use vault::policy::Scope;
use vault::view::View;

use super::notes::Work;

#[derive(serde::Deserialize)]
struct Set {
    docs: Vec<String>,
    heading_queries: Vec<(usize, String)>,
    sentence_queries: Vec<(usize, String)>,
}

/// nDCG@10 and recall@10.
type Quality = (f64, f64);

/// Measures and prints.
pub fn bench(set: &Path, work: &Work) -> Result<()> {
    let text = std::fs::read(set).with_context(|| format!("cannot read {}", set.display()))?;
    let set: Set = serde_json::from_slice(&text).context("the set is not understood")?;
    println!("\nretrieval: {} documents as notes, the shipped index, vectors and fusion", set.docs.len());
    let root = work.folder("retrieval");
    std::fs::create_dir_all(&root)?;
    for (number, text) in set.docs.iter().enumerate() {
        std::fs::write(root.join(name(number)), text)?;
    }
    let opened = Vault::open(&root, &work.folder("retrieval-data"))?;
    opened.watch(|_| {})?;
    let scope = Scope::default();
    for (kind, queries, least) in
        [("headings", &set.heading_queries, 0.460), ("sentences", &set.sentence_queries, 0.370)]
    {
        println!("  {kind}: nDCG@10 / recall@10 of {} queries", queries.len());
        let ranked = quality(opened.view(&scope), queries, How::Ranked)?;
        let vectors = quality(opened.view(&scope), queries, How::Meaning)?;
        let hybrid = quality(opened.view(&scope), queries, How::Hybrid)?;
        for (list, (gain, recall)) in [("ranked", ranked), ("vectors", vectors), ("hybrid", hybrid)] {
            println!("    {list:<8} {gain:.4} / {recall:.4}");
        }
        let verdict = |good: bool| if good { "met" } else { "MISSED" };
        println!("    goal: hybrid at least {least:.3}: {}", verdict(hybrid.0 >= least));
        println!(
            "    goal: hybrid better than ranked on both: {}",
            verdict(hybrid.0 > ranked.0 && hybrid.1 > ranked.1)
        );
    }
    Ok(())
}

fn name(number: usize) -> String {
    format!("{number:05}.md")
}

fn quality(view: View<'_>, queries: &[(usize, String)], how: How) -> Result<Quality> {
    let (mut gain, mut recall) = (0.0, 0.0);
    for (right, text) in queries {
        let query =
            FindQuery { text: text.clone(), folder: None, only: None, since_ns: None, limit: 10, how };
        let found = view.find_notes(&query, 0)?.notes;
        let right = name(*right);
        if let Some(place) = found.iter().position(|note| note.path.as_str() == right) {
            gain += 1.0 / (place as f64 + 2.0).log2();
            recall += 1.0;
        }
    }
    let count = queries.len().max(1) as f64;
    Ok((gain / count, recall / count))
}
