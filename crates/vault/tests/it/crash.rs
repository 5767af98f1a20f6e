//! `kill -9` at any instant: every note is wholly old or wholly new, nothing is left behind, undo works.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::child::Random;
use super::rig::*;
use vault::restore::{Conflict, Undo};
use vault::store::blob::Hash;
use vault::store::gc::ReadData;
use vault::store::record::{Ending, Step};

/// 200 kills in the suite; `VERGER_CRASH_ROUNDS=5000` for the long run.
fn rounds() -> u64 {
    std::env::var("VERGER_CRASH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

pub fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", test, "--nocapture", "--test-threads=1"])
        .env("VERGER_CHILD_FOLDER", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

#[test]
fn killed_at_random_instants_every_note_is_old_or_new() {
    let rig = Rig::new(&[
        ("a.md", b"a"),
        ("b.md", b"b"),
        ("d/c.md", b"c"),
        ("d/e.md", b"e"),
        ("pic.png", &[0, 255, 7]),
    ]);
    let Rig { folder, vault } = rig;
    drop(vault);
    let start = tree(&folder.path().join("vault"));
    let mut expected: BTreeMap<String, Hash> = start
        .iter()
        .filter(|(name, _)| !name.ends_with('/'))
        .map(|(name, bytes)| (name.clone(), Hash::of(bytes)))
        .collect();
    let mut random = Random(20_261_115);
    let (mut replayed, mut finished, mut undone, mut slowest) = (0, 0, 0, Duration::ZERO);
    for round in 0..rounds() {
        kill_one(folder.path(), round + 1, Duration::from_micros(random.below(25_000) as u64));
        let begin = Instant::now();
        let vault = open(folder.path());
        slowest = slowest.max(begin.elapsed());
        for (_, ending) in vault.recovered() {
            match ending {
                Ending::Finished => finished += 1,
                Ending::Undone => undone += 1,
                Ending::Done => {}
            }
        }
        replayed = replay(&vault, replayed, &mut expected);
        let now: BTreeMap<String, Hash> = tree(&folder.path().join("vault"))
            .iter()
            .filter(|(name, _)| !name.ends_with('/'))
            .map(|(name, bytes)| (name.clone(), Hash::of(bytes)))
            .collect();
        assert_eq!(now, expected, "round {round}: the vault is not what the log says");
        assert!(
            std::fs::read_dir(folder.path().join("data/stage")).unwrap().next().is_none(),
            "round {round}: stage"
        );
        assert!(!now.keys().any(|name| name.contains("verger-staged")), "round {round}: {now:?}");
    }
    assert!(slowest < Duration::from_secs(1), "a restart took {slowest:?}");
    assert!(replayed as u64 > rounds() / 2, "only {replayed} commits in {} rounds", rounds());
    let vault = open(folder.path());
    assert_eq!(vault.verify(ReadData::Yes).unwrap().problems, Vec::<String>::new());
    let scope = scope();
    let plan = vault.view(&scope).plan_restore(&Undo::Task("crash".into()), Conflict::Refuse).unwrap();
    commit(&vault, "undo", &plan.changes).unwrap();
    assert_eq!(tree(&folder.path().join("vault")), start, "undo of everything");
    eprintln!(
        "{} kills, {replayed} commits, {finished} finished and {undone} taken back at restart, slowest restart {slowest:?}",
        rounds()
    );
}

fn kill_one(folder: &Path, seed: u64, after: Duration) {
    let mut process = child("it::child::commits_until_it_is_killed", folder)
        .env("VERGER_CHILD_SEED", seed.to_string())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let ready = lines.any(|line| line.is_ok_and(|line| line.contains("ready")));
    assert!(ready, "the child did not start");
    std::thread::sleep(after);
    process.kill().unwrap();
    let status = process.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9),
        "the child ended by itself: {status}"
    );
}

/// Applies the commits of the log, from `from` on, to the expected files. Returns how many there are now.
fn replay(vault: &vault::Vault, from: usize, expected: &mut BTreeMap<String, Hash>) -> usize {
    let scope = scope();
    let mut all = vault.view(&scope).checkpoints();
    all.reverse();
    for info in &all[from..] {
        assert!(info.ending.is_some(), "{} has no ending", info.id);
        if info.ending == Some(Ending::Undone) {
            continue;
        }
        for step in &info.steps {
            match step {
                Step::Write { path, after: Some(after), .. } => {
                    expected.insert(path.to_string(), after.hash);
                }
                Step::Write { path, after: None, .. } => {
                    expected.remove(path.as_str());
                }
                Step::Move { from, to, .. } => {
                    let moved: Vec<_> = expected
                        .keys()
                        .filter(|name| **name == from.as_str() || name.starts_with(&format!("{from}/")))
                        .cloned()
                        .collect();
                    for name in moved {
                        let hash = expected.remove(&name).unwrap();
                        expected.insert(format!("{to}{}", &name[from.as_str().len()..]), hash);
                    }
                }
                Step::Make { .. } | Step::Remove { .. } => {}
            }
        }
    }
    all.len()
}
