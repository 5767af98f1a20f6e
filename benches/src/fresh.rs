//! How long after an edit by somebody else (an editor, a sync) the catalog knows of it.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use vault::policy::Scope;
use vault::watch::Report;
use vault::{Vault, VaultPath};

use super::measure::Times;
use super::notes::{Random, Work, markdown};

/// Measures and prints.
pub fn bench(vault: &Path, work: &Work, rounds: usize) -> Result<()> {
    let notes = markdown(vault)?;
    println!("\nfresh: an outside edit until the catalog knows, vault of {} notes", notes.len());
    let root = work.copy(vault, "fresh")?;
    let vault = Vault::open(&root, &work.folder("fresh-data"))?;
    let (sender, reports) = channel();
    vault.watch(move |report| drop(sender.send(report)))?;
    let mut random = Random(11);
    let mut in_place = Times::new("written in place");
    let mut renamed = Times::new("temp, rename");
    for round in 0..rounds {
        let note = &notes[random.below(notes.len())];
        // Edits of people do not come in step with our own waiting.
        std::thread::sleep(Duration::from_millis(20 + random.below(60) as u64));
        while reports.try_recv().is_ok() {}
        let times = if round.is_multiple_of(2) { &mut in_place } else { &mut renamed };
        times.push(one_edit(&vault, &root, note, round, &reports)?);
    }
    println!("  {}", in_place.line());
    println!("  {}", renamed.line());
    Ok(())
}

fn one_edit(
    vault: &Vault,
    root: &Path,
    note: &str,
    round: usize,
    reports: &Receiver<Report>,
) -> Result<Duration> {
    let place = root.join(note);
    let mut text = std::fs::read(&place)?;
    text.extend_from_slice(format!("\n#fresh{round}\n").as_bytes());
    let start = Instant::now();
    if round.is_multiple_of(2) {
        std::fs::write(&place, text)?;
    } else {
        let temporary = place.with_extension("tmp");
        std::fs::write(&temporary, text)?;
        std::fs::rename(&temporary, &place)?;
    }
    let path = VaultPath::parse(note).map_err(|error| anyhow::anyhow!("{note}: {error}"))?;
    while !knows(vault, &path, round)? {
        let left = Duration::from_secs(5).saturating_sub(start.elapsed());
        ensure!(!left.is_zero(), "{note}: not seen within five seconds");
        reports.recv_timeout(left).context("the watcher said nothing")?;
    }
    Ok(start.elapsed())
}

/// Whether the catalog has the tag that the edit added.
fn knows(vault: &Vault, path: &VaultPath, round: usize) -> Result<bool> {
    let scope = Scope::default();
    let catalog = vault.view(&scope).catalog()?;
    let tag = format!("fresh{round}");
    Ok(catalog.ask(|catalog, visible| {
        catalog
            .get(path, visible)
            .is_some_and(|file| file.tag_names().iter().any(|name| name.trim_start_matches('#') == tag))
    }))
}
