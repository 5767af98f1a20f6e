//! SQLite's full-text search (unicode61), ranked by its own BM25.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use rusqlite::{Connection, params};

use crate::measure::{cpu, repeat};

/// Builds, asks, updates; prints.
pub fn bench(vault: &Path, place: &Path, notes: &[String], ranked: &[(&str, &str)]) -> Result<()> {
    std::fs::create_dir_all(place)?;
    let file = place.join("fts5.db");
    let mut database = Connection::open(&file)?;
    database.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         CREATE VIRTUAL TABLE notes USING fts5(path UNINDEXED, text, tokenize = 'unicode61');",
    )?;
    let (start, used) = (Instant::now(), cpu()?);
    let all = database.transaction()?;
    for note in notes {
        let text = std::fs::read(vault.join(note))?;
        all.execute("INSERT INTO notes VALUES (?1, ?2)", params![note, String::from_utf8_lossy(&text)])?;
    }
    all.commit()?;
    println!(
        "  FTS5: built in {:.1} s wall, {:.1} s cpu, {:.0} MiB",
        start.elapsed().as_secs_f64(),
        (cpu()? - used).as_secs_f64(),
        std::fs::metadata(&file)?.len() as f64 / f64::from(1 << 20)
    );
    let top = "SELECT path, snippet(notes, 1, '', '', '…', 12) FROM notes WHERE notes MATCH ?1 ORDER BY rank LIMIT 10";
    for (name, text) in ranked {
        let words =
            text.split_whitespace().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
        let (times, found) = repeat(format!("FTS5 top 10 with snippets, {name}"), 11, || {
            let mut asked = database.prepare_cached(top)?;
            let rows = asked.query_map([&words], |row| row.get::<_, String>(0))?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?.len())
        })?;
        println!("  {}   {found} notes", times.line());
    }
    let (times, _) = repeat("FTS5 update of one note", 41, || {
        let text = String::from_utf8_lossy(&std::fs::read(vault.join(&notes[0]))?).into_owned() + " changed";
        Ok(database.execute("UPDATE notes SET text = ?1 WHERE rowid = 1", params![text])?)
    })?;
    println!("  {}", times.line());
    Ok(())
}
