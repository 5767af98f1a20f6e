//! Many steps, and how long one takes. The figures are printed, not judged: `cargo test -p verger-state speed -- --ignored --nocapture`.

use std::path::Path;
use std::time::Instant;

use state::{NewStep, SearchHistory, Sessions};

use super::rig::{Room, new, says};

#[test]
fn ten_thousand_steps_are_kept_and_searched() {
    let room = Room::new();
    room.sessions.create(&new("s", 1)).unwrap();
    for hundred in 0..100 {
        let steps: Vec<NewStep> =
            (0..100).map(|one| says("user", &format!("this is step {}", hundred * 100 + one + 1))).collect();
        assert_eq!(room.sessions.append("s", &steps, hundred), Ok((hundred as u64 + 1) * 100));
    }
    let steps = room.sessions.steps("s").unwrap();
    assert_eq!(steps.len(), 10_000);
    assert!(steps.iter().enumerate().all(|(at, step)| step.number == at as u64 + 1));
    assert_eq!(steps[9_998].body["text"], "this is step 9999");
    let query = SearchHistory { text: "STEP 42".into(), limit: 30, ..SearchHistory::default() };
    let found: Vec<u64> = room.sessions.search(&query).unwrap().iter().map(|found| found.number).collect();
    assert_eq!(found[..2], [4299, 4298], "newest first");
    assert_eq!(room.sessions.check().unwrap().steps, 10_000);
}

/// Appends single steps of 2 kB in this folder and says how long they took.
fn measure(folder: &Path) {
    let folder = tempfile::tempdir_in(folder).unwrap();
    let sessions = Sessions::open(&folder.path().join("state.db")).unwrap();
    sessions.create(&new("s", 1)).unwrap();
    let mut times = Vec::new();
    for number in 0..500 {
        let step = says("assistant", &format!("{number} {}", "some words ".repeat(90)));
        let start = Instant::now();
        sessions.append("s", &[step], number).unwrap();
        times.push(start.elapsed());
    }
    times.sort();
    println!("append: p50 {:?}, p95 {:?}, most {:?}", times[250], times[475], times[499]);
    let start = Instant::now();
    let steps = sessions.steps("s").unwrap().len();
    println!("{steps} steps read in {:?}", start.elapsed());
    let steps: Vec<NewStep> =
        (0..10_000).map(|number| says("user", &format!("{number} {}", "some words ".repeat(90)))).collect();
    sessions.append("s", &steps, 1_000).unwrap();
    let start = Instant::now();
    let query = SearchHistory { text: "nowhere at all".into(), ..SearchHistory::default() };
    assert_eq!(sessions.search(&query).unwrap(), []);
    println!("10,500 texts of 1 kB searched in {:?}", start.elapsed());
    let start = Instant::now();
    sessions.check().unwrap();
    println!("the whole file checked in {:?}", start.elapsed());
}

#[test]
#[ignore = "a measurement"]
fn how_long_a_step_takes() {
    let disk = std::env::var_os("VERGER_SPEED_FOLDER").map_or_else(std::env::temp_dir, Into::into);
    for folder in [Path::new("/dev/shm"), &disk] {
        println!("in {}:", folder.display());
        measure(folder);
    }
}
