//! One edit down the whole road, beside a plain write of the same bytes and beside git, in one loop.
//!
//! Everything lies in one work folder, so on one disk. Who goes first changes with every round: what one leaves
//! unsynced, the next one's sync has to carry.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use pipeline::approve::{Asker, Deciding, Decision, Lifetime, Question};
use pipeline::audit::Audit;
use pipeline::grants::Grants;
use pipeline::plan::{Output, Plan};
use pipeline::refusal::Refusal;
use pipeline::registry::Registry;
use pipeline::run::{Call, Outcome, Road};
use pipeline::task::Task;
use pipeline::tool::{Effect, Group, Spec, Tool};
use pipeline::view::View;
use pipeline::world::World;
use serde_json::json;
use vault::{Change, Vault, VaultPath};

use super::measure::Times;
use super::notes::{Random, Work, markdown};

/// Git takes its time; fewer rounds tell enough.
const GIT_EVERY: usize = 10;

/// Measures and prints.
pub fn bench(vault: &Path, work: &Work, rounds: usize) -> Result<()> {
    let notes = markdown(vault)?;
    println!("\ncommit: one edit of a note in a vault of {} notes", notes.len());
    let mut ways = Ways::make(vault, work)?;
    let mut random = Random(7);
    for round in 0..rounds {
        let note = &notes[random.below(notes.len())];
        let line = format!("- line {round}, added by the bench\n");
        for turn in 0..4 {
            match (round + turn) % 4 {
                0 => ways.plain(note, &line)?,
                1 => ways.plain_with_folder(note, &line)?,
                2 => ways.command(note, &line)?,
                _ => ways.server(note, &line)?,
            }
        }
        if round % GIT_EVERY == 0 {
            ways.git(note, &line)?;
        }
    }
    ways.report();
    Ok(())
}

/// Only the road, nothing beside it: for profilers.
pub fn only_the_road(vault: &Path, work: &Work, rounds: usize) -> Result<()> {
    let notes = markdown(vault)?;
    println!("\nroad: edits in a vault of {} notes, nothing beside them", notes.len());
    let (road, task, mut times) =
        road(vault, work, "command", Catalog::Without, "verger: road without a catalog")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut random = Random(7);
    for round in 0..rounds {
        let note = &notes[random.below(notes.len())];
        walk(&runtime, &road, &task, &mut times, note, &format!("- line {round}, added by the bench\n"))?;
    }
    println!("  {}", times.line());
    Ok(())
}

struct Ways {
    runtime: tokio::runtime::Runtime,
    plain: (PathBuf, Times),
    plain_with_folder: (PathBuf, Times),
    command: (Road, Task, Times),
    server: (Road, Task, Times),
    git: (PathBuf, Times),
}

impl Ways {
    fn make(vault: &Path, work: &Work) -> Result<Ways> {
        let ways = Ways {
            runtime: tokio::runtime::Builder::new_current_thread().build()?,
            plain: (work.copy(vault, "plain")?, Times::new("plain: temp, fsync, rename")),
            plain_with_folder: (
                work.copy(vault, "plain-folder")?,
                Times::new("plain: temp, fsync, rename, fsync folder"),
            ),
            command: road(vault, work, "command", Catalog::Without, "verger: road without a catalog")?,
            server: road(
                vault,
                work,
                "server",
                Catalog::Watched,
                "verger: road, catalog loaded and watched",
            )?,
            git: (repository(vault, work)?, Times::new("git add + git commit")),
        };
        // What the copies left unwritten belongs to nobody's time.
        ensure!(Command::new("sync").status()?.success(), "sync failed");
        Ok(ways)
    }

    fn plain(&mut self, note: &str, line: &str) -> Result<()> {
        let (folder, times) = &mut self.plain;
        let (place, bytes) = edited(folder, note, line)?;
        times.time(|| write_plainly(&place, &bytes))
    }

    fn plain_with_folder(&mut self, note: &str, line: &str) -> Result<()> {
        let (folder, times) = &mut self.plain_with_folder;
        let (place, bytes) = edited(folder, note, line)?;
        times.time(|| {
            write_plainly(&place, &bytes)?;
            Ok(File::open(place.parent().context("a note lies in a folder")?)?.sync_all()?)
        })
    }

    fn command(&mut self, note: &str, line: &str) -> Result<()> {
        let (road, task, times) = &mut self.command;
        walk(&self.runtime, road, task, times, note, line)
    }

    fn server(&mut self, note: &str, line: &str) -> Result<()> {
        let (road, task, times) = &mut self.server;
        walk(&self.runtime, road, task, times, note, line)
    }

    fn git(&mut self, note: &str, line: &str) -> Result<()> {
        let (folder, times) = &mut self.git;
        let (place, bytes) = edited(folder, note, line)?;
        std::fs::write(&place, bytes)?;
        times.time(|| {
            git(folder, &["add", note])?;
            git(folder, &["commit", "-q", "-m", "one edit"])
        })
    }

    fn report(&self) {
        let plain = [&self.plain.1, &self.plain_with_folder.1];
        let verger = [&self.command.2, &self.server.2];
        for times in plain.into_iter().chain(verger).chain([&self.git.1]) {
            println!("  {}", times.line());
        }
        for ours in verger {
            for other in plain {
                println!("  {}", ours.against(other));
            }
        }
        for ours in verger {
            println!("  {}", self.git.1.against(ours));
        }
    }
}

/// What the note becomes, worked out before the clock starts.
fn edited(folder: &Path, note: &str, line: &str) -> Result<(PathBuf, Vec<u8>)> {
    let place = folder.join(note);
    let mut bytes = std::fs::read(&place)?;
    bytes.extend_from_slice(line.as_bytes());
    Ok((place, bytes))
}

fn write_plainly(place: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = place.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    Ok(std::fs::rename(&temporary, place)?)
}

fn walk(
    runtime: &tokio::runtime::Runtime,
    road: &Road,
    task: &Task,
    times: &mut Times,
    note: &str,
    line: &str,
) -> Result<()> {
    let call = Call::new("append", json!({ "path": note, "line": line }));
    match times.time(|| runtime.block_on(road.run(task, call, &Shown))) {
        Outcome::Done { checkpoint: Some(_), .. } => Ok(()),
        other => anyhow::bail!("the edit of {note} was not made: {other:?}"),
    }
}

enum Catalog {
    Without,
    Watched,
}

fn road(vault: &Path, work: &Work, name: &str, catalog: Catalog, title: &str) -> Result<(Road, Task, Times)> {
    let root = work.copy(vault, name)?;
    let data = work.folder(&format!("{name}-data"));
    let vault = Vault::open(&root, &data)?;
    if let Catalog::Watched = catalog {
        vault.watch(|_| {})?;
    }
    let registry = Registry::default();
    registry.add(Append);
    let audit = Audit::open(&data.join("audit.jsonl")).map_err(refused)?;
    let grants = Grants::open(&data.join("grants.json"));
    let road = Road::new(vault, registry, grants, audit, Box::new(RealWorld)).map_err(refused)?;
    Ok((road, Task::new("bench", "bench", "bench"), Times::new(title)))
}

fn refused(refusal: Refusal) -> anyhow::Error {
    anyhow::anyhow!("{refusal}")
}

/// Adds a line to a note.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Which note.
    path: VaultPath,
    /// What to add.
    line: String,
}

struct Append;

impl Tool for Append {
    const SPEC: Spec = Spec::new("append", Group::Edit, Effect::Edits);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let before = view.read(&input.path)?;
        let mut after = before.clone();
        after.extend_from_slice(input.line.as_bytes());
        let change = Change::replace(input.path, before, after);
        Ok(Plan::edit(vec![change], "add a line".to_owned(), Output::new("added", json!({}))))
    }
}

/// Says yes, but only after the diff was made: a person would have seen it.
struct Shown;

impl Asker for Shown {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async {
            std::hint::black_box(vault::change::diff_all(question.changes));
            Decision::Yes(Lifetime::Once)
        })
    }
    fn name(&self) -> &str {
        "bench"
    }
    fn is_person(&self) -> bool {
        false
    }
}

struct RealWorld;

impl World for RealWorld {
    fn now(&self) -> jiff::Zoned {
        jiff::Zoned::now()
    }
    fn id(&self) -> Result<String, vault::Error> {
        vault::commit::new_id()
    }
}

fn repository(vault: &Path, work: &Work) -> Result<PathBuf> {
    let folder = work.copy(vault, "git")?;
    git(&folder, &["init", "-q"])?;
    // Housekeeping in the background would be counted against somebody else.
    for (key, value) in [("gc.auto", "0"), ("user.name", "bench"), ("user.email", "bench@localhost")] {
        git(&folder, &["config", key, value])?;
    }
    git(&folder, &["add", "."])?;
    git(&folder, &["commit", "-q", "-m", "all notes"])?;
    Ok(folder)
}

fn git(folder: &Path, words: &[&str]) -> Result<()> {
    let status =
        Command::new("git").arg("-C").arg(folder).args(words).status().context("git is not installed")?;
    ensure!(status.success(), "git {words:?} failed");
    Ok(())
}
