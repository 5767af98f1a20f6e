//! Other engines over the same notes, in the same run: ripgrep as a process, SQLite FTS5, Tantivy.
//!
//! They answer by their own rules (ripgrep by bytes, the others by tokens), so their counts stand beside ours. Built only
//! with `--features peers`.

mod fts5;
mod ripgrep;
mod tantivy;

use std::path::Path;

use anyhow::Result;

use super::measure::Times;
use super::notes::Work;

/// Measures and prints. `exact` holds our own times for each exact search.
pub fn bench(
    vault: &Path,
    work: &Work,
    notes: &[String],
    exact: &[(&str, &str, Times)],
    ranked: &[(&str, &str)],
) -> Result<()> {
    ripgrep::bench(vault, exact)?;
    fts5::bench(vault, &work.folder("fts5"), notes, ranked)?;
    tantivy::bench(vault, &work.folder("tantivy"), notes, ranked)
}
