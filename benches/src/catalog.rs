//! Reading a whole vault into the catalog, beside `cat` of the same files and a plain read of each of them.
//!
//! Every way runs in a process of its own, so that processor time and peak memory are its own too.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use vault::catalog::{Live, Visible};
use vault::disk::Disk;

use super::measure::{cpu, milliseconds, peak};
use super::notes::markdown;

const ROUNDS: usize = 3;

/// Measures and prints.
pub fn bench(vault: &Path) -> Result<()> {
    let notes = markdown(vault)?;
    println!("\ncatalog: a vault of {} notes, files in the page cache, {ROUNDS} rounds", notes.len());
    // The first read may come from the disk; it is not counted.
    cat(vault, &notes)?;
    for _ in 0..ROUNDS {
        println!("  cat of all files              {}", cat(vault, &notes)?);
        for name in ["read", "build"] {
            println!("  {}", in_own_process(name, vault)?);
        }
    }
    Ok(())
}

/// What `bench` starts in a process of its own.
pub fn step(name: &str, vault: &Path) -> Result<()> {
    let start = Instant::now();
    let what = match name {
        "read" => read_all(vault)?,
        "build" => {
            let live = Live::build(Arc::new(Disk::open(vault)?))?;
            let stats = live.read().stats(Visible::all());
            format!("Live::build ({} notes)", stats.notes)
        }
        "text" | "meaning" | "together" => super::build::step(name, vault)?,
        other => bail!("there is no step `{other}`"),
    };
    println!(
        "{what:<29} {}   cpu {:>8.0} ms   peak {:>6.1} MiB",
        milliseconds(start.elapsed()),
        cpu()?.as_secs_f64() * 1e3,
        peak()?
    );
    Ok(())
}

fn read_all(vault: &Path) -> Result<String> {
    let mut bytes = 0;
    for note in markdown(vault)? {
        bytes += std::fs::read(vault.join(note))?.len();
    }
    Ok(format!("read in Rust ({:.1} MiB)", bytes as f64 / f64::from(1 << 20)))
}

/// Starts a step in a process of its own, and gives what it printed.
pub fn in_own_process(name: &str, vault: &Path) -> Result<String> {
    let output = Command::new(std::env::current_exe()?)
        .arg(format!("step:{name}"))
        .arg("--vault")
        .arg(vault)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the step `{name}` failed");
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// `xargs -0 cat > /dev/null`, with the names ready beforehand.
fn cat(vault: &Path, notes: &[String]) -> Result<String> {
    let mut names = String::new();
    for note in notes {
        write!(names, "{note}\0")?;
    }
    let start = Instant::now();
    let mut process = Command::new("xargs")
        .args(["-0", "cat", "--"])
        .current_dir(vault)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("xargs is not installed")?;
    if let Some(mut input) = process.stdin.take() {
        std::io::Write::write_all(&mut input, names.as_bytes())?;
    }
    ensure!(process.wait()?.success(), "cat failed");
    Ok(milliseconds(start.elapsed()))
}
