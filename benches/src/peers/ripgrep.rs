//! ripgrep, one process for each search, as a shell would start it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::measure::{Times, repeat};

/// Measures and prints. Goals: a hundredth of ripgrep's time, a fortieth for common words.
pub fn bench(vault: &Path, exact: &[(&str, &str, Times)]) -> Result<()> {
    if Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("  ripgrep: not installed, left out");
        return Ok(());
    }
    for (name, text, ours) in exact {
        let (theirs, notes) = repeat(format!("ripgrep -i -F -l, {name}"), 5, || count(vault, text))?;
        println!("  {}   {notes} notes", theirs.line());
        let share = if matches!(*name, "common" | "the") { 40 } else { 100 };
        let met = ours.percentile(50) * share <= theirs.percentile(50);
        println!("    {}   goal 1/{share}: {}", theirs.against(ours), if met { "met" } else { "MISSED" });
    }
    Ok(())
}

fn count(vault: &Path, word: &str) -> Result<usize> {
    let output = Command::new("rg")
        .args(["--no-ignore", "--no-config", "-i", "-F", "-l", "-e", word])
        .arg(vault)
        .output()
        .context("cannot search")?;
    ensure!(output.status.code().is_some_and(|code| code < 2), "rg failed");
    Ok(output.stdout.iter().filter(|byte| **byte == b'\n').count())
}
