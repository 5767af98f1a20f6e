//! Tantivy with its default tokeniser, ranked by its own BM25.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use tantivy::collector::{Count, TopDocs};
use tantivy::query::QueryParser;
use tantivy::schema::{STORED, STRING, Schema, TEXT};
use tantivy::{Index, IndexWriter, Term, doc};

use crate::measure::{cpu, repeat};

/// Builds, asks, updates; prints.
pub fn bench(vault: &Path, place: &Path, notes: &[String], ranked: &[(&str, &str)]) -> Result<()> {
    std::fs::create_dir_all(place)?;
    let mut schema = Schema::builder();
    let path = schema.add_text_field("path", STRING | STORED);
    let text = schema.add_text_field("text", TEXT);
    let index = Index::create_in_dir(place, schema.build())?;
    let (start, used) = (Instant::now(), cpu()?);
    let mut writer: IndexWriter = index.writer_with_num_threads(2, 100_000_000)?;
    for note in notes {
        let bytes = std::fs::read(vault.join(note))?;
        writer.add_document(doc!(path => note.as_str(), text => String::from_utf8_lossy(&bytes).as_ref()))?;
    }
    writer.commit()?;
    println!(
        "  Tantivy: built in {:.1} s wall, {:.1} s cpu, {:.0} MiB",
        start.elapsed().as_secs_f64(),
        (cpu()? - used).as_secs_f64(),
        size(place)? as f64 / f64::from(1 << 20)
    );
    let reader = index.reader()?;
    let parser = QueryParser::for_index(&index, vec![text]);
    for (name, words) in ranked {
        let query = parser.parse_query(words)?;
        let (times, found) = repeat(format!("Tantivy top 10 and count, {name}"), ROUNDS, || {
            let top = TopDocs::with_limit(10).order_by_score();
            Ok(reader.searcher().search(&query, &(top, Count))?.1)
        })?;
        println!("  {}   {found} notes", times.line());
    }
    let (times, _) = repeat("Tantivy update of one note and commit", 11, || {
        writer.delete_term(Term::from_field_text(path, &notes[0]));
        writer.add_document(doc!(path => notes[0].as_str(), text => "changed"))?;
        Ok(writer.commit()?)
    })?;
    println!("  {}", times.line());
    Ok(())
}

const ROUNDS: usize = 41;

fn size(place: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(place)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
