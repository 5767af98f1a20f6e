//! How long Verger takes, measured beside the plain way of doing the same, in one loop on one disk.
//!
//! `cargo run --release -p verger-benches -- [commit|road|catalog|fresh|search|all] [--vault DIR] [--work DIR] [--rounds N]`.
//! The vault is only read; what is changed are copies in the work folder, which should lie on a real disk. Without a
//! vault a small one is made there. Deliberately not here: judgement. `RESULTS.md` says what the numbers mean.
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark stands outside the fences: it makes vaults and starts git"
)]
#![allow(clippy::print_stdout, reason = "the numbers are its output")]

mod catalog;
mod commit;
mod fresh;
mod measure;
mod notes;
mod search;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

/// What to measure, and on what.
pub struct Settings {
    /// `commit`, `road`, `catalog`, `fresh`, `search`, `all`, or one of the steps that a bench starts in a process of its own.
    what: String,
    /// The vault to measure on.
    vault: Option<PathBuf>,
    /// Where copies and our own data lie while it runs.
    work: Option<PathBuf>,
    /// How many edits.
    rounds: usize,
}

/// Measures and prints.
pub fn main() -> Result<()> {
    let settings = settings(std::env::args().skip(1))?;
    if let Some(step) = settings.what.strip_prefix("step:") {
        return catalog::step(step, &settings.vault.context("a step needs --vault")?);
    }
    let work = notes::Work::make(settings.work)?;
    let vault = match settings.vault {
        Some(vault) => vault,
        None => work.synthetic(2_000)?,
    };
    println!("{}", measure::machine());
    let wanted = |name: &str| settings.what == name || settings.what == "all";
    let mut known = false;
    if wanted("commit") {
        known = true;
        commit::bench(&vault, &work, settings.rounds)?;
    }
    if settings.what == "road" {
        known = true;
        commit::only_the_road(&vault, &work, settings.rounds)?;
    }
    if wanted("catalog") {
        known = true;
        catalog::bench(&vault)?;
    }
    if wanted("fresh") {
        known = true;
        fresh::bench(&vault, &work, settings.rounds)?;
    }
    if wanted("search") {
        known = true;
        search::bench(&vault, &work)?;
    }
    if !known {
        bail!("`{}` is no bench; there are commit, road, catalog, fresh, search and all", settings.what);
    }
    Ok(())
}

fn settings(mut words: impl Iterator<Item = String>) -> Result<Settings> {
    let mut settings = Settings { what: "all".to_owned(), vault: None, work: None, rounds: 200 };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--vault" => settings.vault = Some(value()?.into()),
            "--work" => settings.work = Some(value()?.into()),
            "--rounds" => settings.rounds = value()?.parse().context("--rounds takes a number")?,
            // `cargo bench` says so to every bench.
            "--bench" => {}
            word if word.starts_with("--") => {
                bail!("`{word}` is not known; there are --vault, --work and --rounds")
            }
            word => settings.what = word.to_owned(),
        }
    }
    Ok(settings)
}
