//! `kill -9` while the index is built, refreshed, saved and merged: the next opening answers like a fresh build.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::rig::*;
use vault::VaultPath;
use vault::index::Event;

#[test]
fn killed_at_random_instants_the_index_is_right_afterwards() {
    let rig = Rig::new();
    let mut random = Random(20_261_115);
    for number in 0..150 {
        rig.write(&format!("f{}/n{number}.md", number % 7), note(&mut random));
    }
    let (mut built, mut kept) = (0, 0);
    for round in 0..rounds(40, 400) {
        if random.below(3) == 0 {
            std::fs::remove_dir_all(rig.data()).ok();
        }
        kill_one(rig.folder.path(), round as u64 + 1, Duration::from_micros(random.below(40_000) as u64));
        let index = rig.open();
        check_all(&rig.root(), &index);
        for event in index.take_events() {
            assert!(matches!(event, Event::Built { .. }), "round {round}: a crash is no damage: {event:?}");
            built += 1;
        }
        kept += usize::from(index.stats().bytes_on_disk > 0);
        assert!(index.verify().unwrap(), "round {round}");
    }
    assert!(built > 2 && kept > 2, "built {built}, kept {kept}");
}

fn kill_one(folder: &Path, seed: u64, after: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "index::crash::changes_until_killed",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("VERGER_CHILD_FOLDER", folder)
        .env("VERGER_CHILD_SEED", seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("ready")), "the child did not start");
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Builds, then changes notes, refreshes and saves until it is killed.
#[test]
#[ignore = "the process that the crash test starts"]
fn changes_until_killed() {
    let Some(folder) = std::env::var_os("VERGER_CHILD_FOLDER") else { return };
    let folder = Path::new(&folder);
    let seed: u64 = std::env::var("VERGER_CHILD_SEED").unwrap().parse().unwrap();
    let mut random = Random(seed * 0x9e37_79b9);
    println!("ready");
    let index = open(&folder.join("vault"), &folder.join("data"));
    loop {
        let name = format!("f{}/n{}.md", random.below(7), random.below(150));
        match random.below(4) {
            0 => drop(std::fs::remove_file(folder.join("vault").join(&name))),
            _ => std::fs::write(folder.join("vault").join(&name), note(&mut random)).unwrap(),
        }
        index.refresh(&[VaultPath::parse(&name).unwrap()]).unwrap();
        if random.below(2) == 0 {
            index.save().unwrap();
        }
    }
}
