//! One changed note taken in by the catalog, the text index and the vectors.

use std::path::Path;

use anyhow::Result;
use vault::{Vault, VaultPath};

use super::measure::{Times, goal_ms};
use super::notes::{Random, Work, markdown};

/// Measures and prints. The vault is copied, for notes are changed.
pub fn bench(vault: &Path, work: &Work, rounds: usize) -> Result<()> {
    let notes = markdown(vault)?;
    println!("\nupdate: one note changed, taken in by every index, vault of {} notes", notes.len());
    let root = work.copy(vault, "update")?;
    let opened = Vault::open(&root, &work.folder("update-data"))?;
    let live = opened.catalog()?.clone();
    let finder = opened.finder()?;
    let (text, meaning) = (finder.text()?, finder.meaning()?);
    let mut random = Random(5);
    let mut times = ["catalog", "text index", "vectors", "all three"].map(Times::new);
    for round in 0..rounds {
        let note = &notes[random.below(notes.len())];
        let mut bytes = std::fs::read(root.join(note))?;
        bytes.extend_from_slice(format!("\nchanged in round {round} #update\n").as_bytes());
        std::fs::write(root.join(note), bytes)?;
        let path = [VaultPath::parse(note).map_err(|error| anyhow::anyhow!("{note}: {error}"))?];
        let start = std::time::Instant::now();
        times[0].time(|| live.refresh(&path))?;
        times[1].time(|| text.refresh(&path))?;
        times[2].time(|| meaning.refresh(&path))?;
        times[3].push(start.elapsed());
    }
    let goals = [None, Some(goal_ms(2)), None, None];
    times.iter().zip(goals).for_each(|(times, goal)| println!("  {}", times.told(goal)));
    Ok(())
}
