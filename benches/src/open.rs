//! From a saved index to the first right answer, beside a walk that only asks the size and time of every file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use vault::Vault;
use vault::catalog::Visible;
use vault::disk::Disk;
use vault::files::{Files, Kind};
use vault::index::TextIndex;
use vault::policy::Scope;
use vault::search::{Pattern, Query};

use super::measure::Times;
use super::notes::{RARE, Work, markdown};

const ROUNDS: usize = 7;

/// Measures and prints.
pub fn bench(vault: &Path, work: &Work) -> Result<()> {
    println!("\nopen: a saved index of {} notes to the first right answer", markdown(vault)?.len());
    let data = work.folder("open-data");
    let first = Vault::open(vault, &data)?;
    let built = first.finder()?.text()?;
    let expected = built.search(&query(), Visible::all())?.total_matches;
    built.save()?;
    drop(first);
    let mut walks = Times::new("walk and stat");
    let mut opens = Times::new("open the index, first exact search");
    let mut whole = Times::new("open the vault, first exact search");
    for _ in 0..ROUNDS {
        let disk: Arc<dyn Files> = Arc::new(Disk::open(vault)?);
        let mut files = 0;
        walks.time(|| disk.walk(&mut |entry| files += usize::from(entry.kind == Kind::File)))?;
        let found = opens.time(|| -> Result<usize> {
            let index = TextIndex::open_or_build(Arc::clone(&disk), &data.join("index"), &|_| {})?;
            Ok(index.search(&query(), Visible::all())?.total_matches)
        })?;
        let again = whole.time(|| -> Result<usize> {
            let opened = Vault::open(vault, &data)?;
            opened.finder()?.text()?;
            let scope = Scope::default();
            Ok(opened.view(&scope).search(&query())?.total_matches)
        })?;
        ensure!(
            found == expected && again == expected,
            "the answer is another one: {found}, {again}, {expected}"
        );
    }
    println!("  {}", walks.line());
    println!("  {}", opens.judged(walks.percentile(50) * 2));
    println!("  {}", whole.judged(walks.percentile(50) * 2));
    println!("  {}", opens.against(&walks));
    Ok(())
}

fn query() -> Query {
    Query::new(Pattern::Literal(RARE.to_owned()))
}
