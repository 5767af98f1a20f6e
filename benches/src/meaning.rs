//! Search by meaning and by both: the ten best notes, warm.

use std::path::Path;

use anyhow::Result;
use vault::Vault;
use vault::finder::{FindQuery, How};
use vault::policy::Scope;

use super::measure::{goal_ms, repeat, resident};
use super::notes::{Work, markdown};

const ROUNDS: usize = 41;
const QUESTIONS: [&str; 3] = ["amber lattice protocol", "how do I plan the work of next week", "quixotarnel"];

/// Measures and prints.
pub fn bench(vault: &Path, work: &Work) -> Result<()> {
    println!("\nmeaning: the ten best, a vault of {} notes, warm", markdown(vault)?.len());
    let opened = Vault::open(vault, &work.folder("meaning-data"))?;
    opened.watch(|_| {})?;
    let (notes, chunks) = opened.finder()?.meaning()?.size();
    println!("  {notes} notes in {chunks} chunks");
    let scope = Scope::default();
    for (how, name, goal) in [(How::Meaning, "vectors", Some(15)), (How::Hybrid, "hybrid", None)] {
        for text in QUESTIONS {
            let query =
                FindQuery { text: text.to_owned(), folder: None, only: None, since_ns: None, limit: 10, how };
            let (times, found) = repeat(format!("{name}: {text}"), ROUNDS, || {
                Ok(opened.view(&scope).find_notes(&query, 0)?.notes.len())
            })?;
            println!("  {}   {found} notes", times.told(goal.map(goal_ms)));
        }
    }
    let (all, own) = resident()?;
    println!("  resident {all:.0} MiB, of that {own:.0} MiB its own");
    Ok(())
}
