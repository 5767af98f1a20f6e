//! Exact search through a view, beside ripgrep (or grep) over the same files.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use vault::Vault;
use vault::policy::Scope;
use vault::search::{Pattern, Query};

use super::measure::Times;
use super::notes::{COMMON, RARE, Work, markdown};

const ROUNDS: usize = 15;

/// Measures and prints.
pub fn bench(vault: &Path, work: &Work) -> Result<()> {
    let count = markdown(vault)?.len();
    println!("\nsearch: a vault of {count} notes, files in the page cache, case ignored");
    let opened = Vault::open(vault, &work.folder("search-data"))?;
    let scope = Scope::default();
    let grep = if Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_ok() {
        "rg"
    } else {
        "grep"
    };
    for (kind, word) in [("rare", RARE), ("common", COMMON)] {
        let query = Query::new(Pattern::Literal(word.to_owned()));
        let view = opened.view(&scope);
        let mut ours = Times::new(format!("verger, {kind} term, first page and count"));
        let mut theirs = Times::new(format!("{grep} -i -c, {kind} term, own process"));
        let (mut lines, mut counted) = (0, 0);
        for _ in 0..ROUNDS {
            lines = ours.time(|| view.search(&query))?.total_matches;
            counted = theirs.time(|| count_with(grep, vault, word))?;
        }
        println!("  {}\n  {}", ours.line(), theirs.line());
        println!("  lines found: verger {lines}, {grep} {counted};   {}", ours.against(&theirs));
    }
    Ok(())
}

fn count_with(grep: &str, vault: &Path, word: &str) -> Result<usize> {
    let mut command = Command::new(grep);
    if grep == "grep" {
        command.arg("-r");
    } else {
        command.args(["--no-ignore", "--no-config"]);
    }
    // With a path and not in the folder, because rg would read its standard input otherwise.
    let output = command.args(["-i", "-c", "-F", "-e", word]).arg(vault).output().context("cannot search")?;
    ensure!(output.status.code().is_some_and(|code| code < 2), "{grep} failed");
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.rsplit_once(':')?.1.trim().parse::<usize>().ok()).sum())
}
