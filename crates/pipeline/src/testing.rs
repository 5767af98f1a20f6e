//! So that a tool's test reads like a sentence: a vault in one string, a call, what a person or a model will see.
//!
//! The vault is real (a temporary folder), the road is the real one, and the asker says yes; only time and chance are
//! made up. A world that stands still: 14 March 2026, 9:26, in Berlin; ids count up.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Zoned;
use serde_json::Value;
use vault::Vault;
use vault::files::{Files, Kind, MemoryFiles};
pub use vault::{Change, VaultPath};

use crate::approve::{Asker, Beforehand};
use crate::audit::Audit;
use crate::grants::Grants;
use crate::registry::Registry;
use crate::run::{Call, Outcome, Road};
use crate::task::Task;
use crate::tool::Tool;
use crate::world::World;

/// Time stands still, ids count up.
#[derive(Debug, Default)]
pub struct StillWorld(AtomicU64);

impl World for StillWorld {
    fn now(&self) -> Zoned {
        "2026-03-14T09:26:53+01:00[Europe/Berlin]".parse().unwrap_or_default()
    }
    fn id(&self) -> Result<String, vault::Error> {
        Ok(format!("{:012x}", self.0.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

/// A vault in a temporary folder with a road over it.
pub struct Rig {
    /// Keeps the folder; `vault` and `data` lie in it.
    pub folder: tempfile::TempDir,
    /// The road.
    pub road: Road,
    /// The task in which calls are made.
    pub task: Task,
}

impl Rig {
    /// A vault from a fixture (`a.md: # A\n--- b.md: …`) with these tools.
    #[track_caller]
    pub fn new(fixture: &str, registry: Registry) -> Rig {
        Rig::try_new(fixture, registry).unwrap_or_else(|problem| fail(&problem))
    }

    fn try_new(fixture: &str, registry: Registry) -> Result<Rig, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let root = folder.path().join("vault");
        write_fixture(&root, fixture)?;
        let data = folder.path().join("data");
        let vault = Vault::open(&root, &data).map_err(|error| error.to_string())?;
        let audit = Audit::open(&data.join("audit.jsonl")).map_err(|refusal| refusal.to_string())?;
        let grants = Grants::open(&data.join("grants.json"));
        let road = Road::new(vault, registry, grants, audit, Box::new(StillWorld::default()))
            .map_err(|refusal| refusal.to_string())?;
        Ok(Rig { folder, road, task: Task::new("task-1", "session-1", "test") })
    }

    /// Where the vault lies.
    pub fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("vault")
    }

    /// Makes a call with an asker.
    #[track_caller]
    pub fn call(&self, tool: &str, input: Value, asker: &dyn Asker) -> Outcome {
        self.run(Call::new(tool, input), asker)
    }

    /// Makes a call that may be dry.
    #[track_caller]
    pub fn run(&self, call: Call, asker: &dyn Asker) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        match runtime {
            Ok(runtime) => runtime.block_on(self.road.run(&self.task, call, asker)),
            Err(error) => fail(&error.to_string()),
        }
    }

    /// Writes a file behind the road's back, as a person's editor would.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "somebody else writes, not the road")]
    pub fn put(&self, path: &str, bytes: &[u8]) {
        let place = self.root().join(path);
        let made = place.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = made.and_then(|()| std::fs::write(&place, bytes)) {
            fail(&error.to_string());
        }
    }

    /// Removes a file behind the road's back.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "somebody else removes, not the road")]
    pub fn remove(&self, path: &str) {
        if let Err(error) = std::fs::remove_file(self.root().join(path)) {
            fail(&error.to_string());
        }
    }

    /// The bytes of a file.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "a test looks at the disk itself")]
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root().join(path)).unwrap_or_else(|error| fail(&error.to_string()))
    }

    /// Every file of the vault with its text, as one string in the fixture's form.
    #[track_caller]
    pub fn files(&self) -> String {
        let disk = vault::disk::Disk::open(&self.root()).unwrap_or_else(|error| fail(&error.to_string()));
        let mut paths = Vec::new();
        if let Err(error) = disk.walk(&mut |entry| paths.push(entry)) {
            fail(&error.to_string());
        }
        paths.sort_by(|a, b| a.path.cmp(&b.path));
        let show = |entry: &vault::files::Entry| match entry.kind {
            Kind::Folder => None,
            Kind::File => {
                let bytes = disk.read(&entry.path).unwrap_or_default();
                Some(format!("{}: {}", entry.path, String::from_utf8_lossy(&bytes)))
            }
        };
        paths.iter().filter_map(show).collect::<Vec<_>>().join("\n--- ")
    }
}

/// Runs one tool on a fixture and compares what is seen: the answer, the refusal, or the changes as a diff.
#[track_caller]
pub fn check<T: Tool>(tool: T, fixture: &str, input: Value, expected: expect_test::Expect) {
    let registry = Registry::default();
    let deferred = T::SPEC.deferred.then(|| T::SPEC.name.to_string());
    registry.add(tool);
    let rig = Rig::new(fixture, registry);
    rig.task.activate(&deferred.into_iter().collect::<Vec<_>>());
    let outcome = rig.call(T::SPEC.name.as_ref(), input, &Beforehand);
    expected.assert_eq(&show(&outcome));
}

/// An outcome as a person or a model sees it.
pub fn show(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered(output) | Outcome::Steered(_, output) => output.text.clone(),
        Outcome::Done { output, changes, .. } => {
            let diffs: String =
                changes.iter().map(|change| change.headline() + "\n" + &body(change)).collect();
            format!("{}\n{diffs}", output.text)
        }
        Outcome::Shown { summary, .. } => format!("would: {summary}"),
        Outcome::Refused(refusal) => format!("refused: {refusal}"),
        Outcome::Denied(refusal) => format!("denied: {refusal}"),
    }
}

/// A diff without its file headers; the headline says the path. Where there is no text, the headline says it all.
fn body(change: &vault::Change) -> String {
    let diff = if change.texts().is_some() { change.diff() } else { String::new() };
    let lines = diff
        .lines()
        .filter(|line| !line.starts_with("--- ") && !line.starts_with("+++ ") && !line.starts_with("@@"));
    let kept: Vec<&str> = lines.filter(|line| line.starts_with(['+', '-', ' '])).collect();
    kept.iter().map(|line| format!("{line}\n")).collect()
}

#[expect(clippy::disallowed_methods, reason = "tests build their vault on disk before the road exists")]
fn write_fixture(root: &Path, fixture: &str) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(root).map_err(text)?;
    let memory = MemoryFiles::parse(fixture).map_err(|error| error.to_string())?;
    let mut entries = Vec::new();
    memory.walk_hidden_too(&mut |entry| entries.push(entry));
    for entry in entries {
        let place = root.join(entry.path.as_str());
        match entry.kind {
            Kind::Folder => std::fs::create_dir_all(&place).map_err(text)?,
            Kind::File => {
                if let Some(parent) = place.parent() {
                    std::fs::create_dir_all(parent).map_err(text)?;
                }
                let bytes = memory.read(&entry.path).map_err(|error| error.to_string())?;
                std::fs::write(&place, bytes).map_err(text)?;
            }
        }
    }
    Ok(())
}

#[track_caller]
#[expect(clippy::panic, reason = "a test that cannot be set up has failed")]
fn fail(problem: &str) -> ! {
    panic!("{problem}")
}
