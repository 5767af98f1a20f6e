//! Processes that are killed, and processes that write at the same time.

use std::time::Duration;

use state::{Filter, SearchHistory, Sessions};

use super::child::Process;
use super::rig::{Random, Room, new};

fn rounds(usual: u64) -> u64 {
    std::env::var("VERGER_CRASH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_in_order_and_no_batch_is_half() {
    let room = Room::new();
    room.sessions.create(&new("s", 1)).unwrap();
    let mut random = Random(0x5eed);
    for round in 0..rounds(25) {
        let mut process = Process::start("batches", &room.file(), "s");
        let mut acknowledged = None;
        for _ in 0..random.below(6) {
            acknowledged = process.next();
        }
        std::thread::sleep(Duration::from_micros(random.below(8_000)));
        let acknowledged = process.kill().or(acknowledged);
        let acknowledged: u64 = acknowledged.map_or(0, |words| words.parse().unwrap());

        // Through a new handle, as the next run of the program would.
        let steps = Sessions::open(&room.file()).unwrap().steps("s").unwrap();
        let there = steps.len() as u64;
        assert!(there >= acknowledged, "round {round}: {acknowledged} acknowledged, {there} there");
        assert_eq!(there % 3, 0, "round {round}: a batch is whole or not there");
        for (at, step) in steps.iter().enumerate() {
            assert_eq!(step.number, at as u64 + 1);
            assert_eq!(step.body["number"], step.number, "round {round}");
        }
    }
    assert!(room.sessions.header("s").unwrap().steps > 0, "the processes wrote nothing");
    assert_eq!(room.sessions.check().unwrap().problems, Vec::<String>::new());
}

#[test]
fn processes_write_to_their_conversations_at_the_same_time() {
    let room = Room::new();
    let names = ["one", "two", "three"];
    for name in names {
        room.sessions.create(&new(name, 0)).unwrap();
    }
    let mut processes: Vec<Process> =
        names.iter().map(|name| Process::start("append 60", &room.file(), name)).collect();
    // A reader is never in the way, and never sees half of anything.
    for _ in 0..20 {
        for header in room.sessions.list(&Filter::default()).unwrap() {
            assert!(room.sessions.steps(&header.id).unwrap().len() as u64 >= header.steps);
        }
    }
    for process in &mut processes {
        assert_eq!(process.next().as_deref(), Some("all"));
        assert!(process.child.wait().unwrap().success());
    }
    for name in names {
        let steps = room.sessions.steps(name).unwrap();
        assert_eq!(steps.len(), 60);
        assert_eq!(steps[59].body["text"], format!("{name} says 60"));
    }
    let query = SearchHistory { text: "says 60".into(), ..SearchHistory::default() };
    assert_eq!(room.sessions.search(&query).unwrap().len(), 3);
    assert_eq!(room.sessions.check().unwrap().problems, Vec::<String>::new());
}

#[test]
fn many_open_a_new_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/state.db");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let file = &file;
            scope.spawn(move || {
                let sessions = Sessions::open(file).unwrap();
                sessions.create(&new(&format!("s{number}"), number)).unwrap();
            });
        }
    });
    assert_eq!(Sessions::open(&file).unwrap().list(&Filter::default()).unwrap().len(), 8);
}
