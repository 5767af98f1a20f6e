//! Text search warm in the library: exact and ranked, and with `--features peers` beside ripgrep, SQLite and Tantivy.

use std::path::Path;

use anyhow::Result;
use vault::Vault;
use vault::index::RankedQuery;
use vault::policy::Scope;
use vault::search::{Pattern, Query};

use super::measure::{Times, goal_ms, repeat, resident};
use super::notes::{COMMON, NOHIT, PHRASE, RARE, Work, markdown};

const ROUNDS: usize = 41;

/// Exact searches: name, what, the goal in milliseconds.
const EXACT: [(&str, &str, u64); 5] = [
    ("rare", RARE, 1),
    ("phrase", PHRASE, 1),
    ("no hit", NOHIT, 1),
    ("common", COMMON, 10),
    ("the", "the", 10),
];
/// Ranked searches.
const RANKED: [(&str, &str); 4] = [
    ("one word", RARE),
    ("three words", PHRASE),
    ("words that all notes have", "the amber of"),
    ("a typo", "latice protokol"),
];

/// Measures and prints.
pub fn bench(vault: &Path, work: &Work) -> Result<()> {
    let notes = markdown(vault)?;
    println!("\ntext: a vault of {} notes, index open and watched, case ignored", notes.len());
    let opened = Vault::open(vault, &work.folder("text-data"))?;
    opened.watch(|_| {})?;
    opened.finder()?.text()?;
    let scope = Scope::default();
    let view = opened.view(&scope);
    let mut exact: Vec<(&str, &str, Times)> = Vec::new();
    for (name, text, goal) in EXACT {
        let query = Query::new(Pattern::Literal(text.to_owned()));
        let (times, found) = repeat(format!("exact, {name}"), ROUNDS, || Ok(view.search(&query)?))?;
        println!(
            "  {}   {} lines in {} notes",
            times.judged(goal_ms(goal)),
            found.total_matches,
            found.files_matched
        );
        exact.push((name, text, times));
    }
    for pattern in [r"quixot\w+", r"amber\s+lattice"] {
        let query = Query::new(Pattern::Regex(pattern.to_owned()));
        let (times, found) = repeat(format!("exact, regex {pattern}"), 11, || Ok(view.search(&query)?))?;
        println!("  {}   {} lines", times.line(), found.total_matches);
    }
    let index = opened.finder()?.text()?;
    for (name, text) in RANKED {
        let query = RankedQuery::new(text);
        let all = vault::catalog::Visible::all();
        let (times, found) =
            repeat(format!("ranked, {name}"), ROUNDS, || Ok(index.ranked(&query, all, 0)?.total))?;
        println!("  {}   {found} notes", times.judged(goal_ms(5)));
    }
    let (all, own) = resident()?;
    println!("  resident {all:.0} MiB, of that {own:.0} MiB its own");
    #[cfg(feature = "peers")]
    super::peers::bench(vault, work, &notes, &exact, &RANKED)?;
    #[cfg(not(feature = "peers"))]
    println!("  peers: not built (--features peers)");
    Ok(())
}
