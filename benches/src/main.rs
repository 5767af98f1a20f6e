//! How long Verger takes, measured beside the plain way of doing the same, in one loop on one disk.
//!
//! `cargo run --release -p verger-benches -- WHAT [--vault DIR] [--work DIR] [--rounds N] [--set FILE] [--seconds N]`; what there is to
//! measure is in [`BENCHES`]. With `--features peers`, `text` measures ripgrep, SQLite FTS5 and Tantivy in the same run.
//! The vault is only read; what is changed are copies in the work folder, which should lie on a real disk. Without a
//! vault a small one is made there. Deliberately not here: judgement. `RESULTS.md` says what the numbers mean.
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark stands outside the fences: it makes vaults and starts git"
)]
#![allow(clippy::print_stdout, reason = "the numbers are its output")]

mod build;
mod catalog;
mod commit;
mod fresh;
mod meaning;
mod measure;
mod notes;
mod open;
#[cfg(feature = "peers")]
mod peers;
mod query;
mod retrieval;
mod search;
mod serve;
mod talk;
mod text;
mod update;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// What can be measured; `all` stands for all but the last three.
const BENCHES: [&str; 14] = [
    "commit",
    "catalog",
    "fresh",
    "search",
    "text",
    "query",
    "meaning",
    "update",
    "open",
    "build",
    "talk",
    "road",
    "serve",
    "retrieval",
];

/// What to measure, and on what.
pub struct Settings {
    /// One of [`BENCHES`], `all`, or one of the steps that a bench starts in a process of its own.
    what: String,
    /// The vault to measure on.
    vault: Option<PathBuf>,
    /// Where copies and our own data lie while it runs.
    work: Option<PathBuf>,
    /// How many edits.
    rounds: usize,
    /// The documents and queries of `retrieval`.
    set: Option<PathBuf>,
    /// Of `query`, only what has this in it: for a profile.
    only: Option<String>,
    /// How long `serve` is under load, in seconds.
    seconds: u64,
    /// The program that `serve` starts.
    program: PathBuf,
}

/// Measures and prints.
pub fn main() -> Result<()> {
    let settings = settings(std::env::args().skip(1))?;
    if let Some(step) = settings.what.strip_prefix("step:") {
        return catalog::step(step, &settings.vault.context("a step needs --vault")?);
    }
    let wanted: Vec<&str> = match settings.what.as_str() {
        "all" => BENCHES[..BENCHES.len() - 3].to_vec(),
        one if BENCHES.contains(&one) => vec![one],
        other => bail!("`{other}` is no bench; there are {} and all", BENCHES.join(", ")),
    };
    let work = notes::Work::make(settings.work.clone())?;
    println!("{}", measure::machine());
    if wanted == ["retrieval"] {
        return retrieval::bench(&settings.set.context("retrieval needs --set FILE")?, &work);
    }
    let vault = match &settings.vault {
        Some(vault) => vault.clone(),
        None => work.synthetic(2_000)?,
    };
    wanted.into_iter().try_for_each(|what| bench(what, &vault, &work, &settings))
}

fn bench(what: &str, vault: &Path, work: &notes::Work, settings: &Settings) -> Result<()> {
    let rounds = settings.rounds;
    match what {
        "commit" => commit::bench(vault, work, rounds),
        "road" => commit::only_the_road(vault, work, rounds),
        "catalog" => catalog::bench(vault),
        "fresh" => fresh::bench(vault, work, rounds),
        "search" => search::bench(vault, work),
        "text" => text::bench(vault, work),
        "query" => query::bench(vault, work, settings.only.as_deref()),
        "meaning" => meaning::bench(vault, work),
        "update" => update::bench(vault, work, rounds),
        "open" => open::bench(vault, work),
        "build" => build::bench(vault),
        "talk" => talk::bench(work, rounds),
        "serve" => serve::bench(vault, work, &settings.program, settings.seconds),
        other => bail!("`{other}` is no bench"),
    }
}

fn settings(mut words: impl Iterator<Item = String>) -> Result<Settings> {
    let mut settings = Settings {
        what: "all".to_owned(),
        vault: None,
        work: None,
        rounds: 200,
        set: None,
        only: None,
        seconds: 60,
        program: "target/release/verger".into(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--vault" => settings.vault = Some(value()?.into()),
            "--only" => settings.only = Some(value()?),
            "--set" => settings.set = Some(value()?.into()),
            "--work" => settings.work = Some(value()?.into()),
            "--seconds" => settings.seconds = value()?.parse().context("--seconds takes a number")?,
            "--program" => settings.program = value()?.into(),
            "--rounds" => settings.rounds = value()?.parse().context("--rounds takes a number")?,
            // `cargo bench` says so to every bench.
            "--bench" => {}
            word if word.starts_with("--") => {
                bail!(
                    "`{word}` is not known; there are --vault, --work, --rounds, --set, --only, --seconds and --program"
                )
            }
            word => settings.what = word.to_owned(),
        }
    }
    Ok(settings)
}
