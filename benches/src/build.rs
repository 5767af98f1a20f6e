//! What building from nothing costs: catalog, text index and vectors, each in a process of its own, and all in one.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use vault::catalog::{Live, Visible};
use vault::disk::Disk;
use vault::files::Files;
use vault::index::TextIndex;
use vault::meaning::Meaning;
use vault::meaning::table::Table;

use super::catalog::in_own_process;
use super::notes::markdown;

/// Measures and prints.
pub fn bench(vault: &Path) -> Result<()> {
    println!("\nbuild: from nothing, a vault of {} notes, files in the page cache", markdown(vault)?.len());
    println!("  goal at 100,000 notes: catalog and text index together at most 7000 ms cpu");
    for name in ["read", "build", "text", "meaning", "together"] {
        println!("  {}", in_own_process(name, vault)?);
    }
    Ok(())
}

/// What `bench` starts in a process of its own. The index goes to a folder that is removed.
pub fn step(name: &str, vault: &Path) -> Result<String> {
    let place = std::env::temp_dir().join(format!("verger-benches-{}", std::process::id()));
    std::fs::create_dir_all(&place)?;
    let found = build(name, vault, &place);
    std::fs::remove_dir_all(&place)?;
    found
}

fn build(name: &str, vault: &Path, place: &Path) -> Result<String> {
    let files: Arc<dyn Files> = Arc::new(Disk::open(vault)?);
    let text = || TextIndex::open_or_build(Arc::clone(&files), &place.join("index"), &|_| {});
    Ok(match name {
        "text" => format!("text index ({} files)", text()?.stats().texts),
        "meaning" => {
            let (meaning, _) = Meaning::open_or_build(
                Arc::clone(&files),
                &place.join("meaning"),
                Table::built_in()?,
                &|_| {},
            )?;
            format!("vectors ({} chunks)", meaning.size().1)
        }
        _ => {
            let live = Live::build(Arc::clone(&files))?;
            let index = text()?;
            let notes = live.read().notes(Visible::all()).count();
            format!("catalog + text index ({notes}, {})", index.stats().texts)
        }
    })
}
