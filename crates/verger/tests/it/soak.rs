//! Many mixed calls to one server while somebody else edits the vault: no error, no lost update, no growth.
//!
//! `VERGER_SOAK=100000 cargo test --release -p verger --test it soak -- --nocapture` is the long run; the suite does a short one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::rig::Rig;

const NOTES: usize = 400;
const OUTSIDE: usize = 50;

/// Same numbers every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// What the server's process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    kilobytes: usize,
    handles: usize,
    threads: usize,
}

fn held(process: u32) -> Held {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let number = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let handles = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    Held { kilobytes: number("VmRSS:"), handles, threads: number("Threads:") }
}

fn note(number: usize) -> String {
    format!("notes/n{number}.md")
}

/// One call of the mix; what was appended where.
fn call(client: &mut Client, dice: &mut Dice, round: usize) -> Option<(usize, String)> {
    let number = dice.roll(NOTES);
    let target = json!({"type": "path", "path": note(number)});
    let marker = format!("marker{round}x");
    let (tool, arguments, wrote) = match dice.roll(20) {
        0..=7 => ("obsidian_get_note", json!({"target": target, "format": "content"}), false),
        8..=10 => {
            ("obsidian_search_notes", json!({"mode": "text", "query": format!("word{number} ")}), false)
        }
        11 => ("obsidian_list_tags", json!({}), false),
        12 => ("obsidian_get_links", json!({"path": note(number)}), false),
        13 => ("obsidian_search_notes", json!({"mode": "text", "query": "outside edit"}), false),
        14 => {
            let set = json!({"operation": "set", "target": target, "key": "round", "value": round});
            ("obsidian_manage_frontmatter", set, false)
        }
        15 => {
            let section = json!({"type": "heading", "target": "Log"});
            let patch = json!({"target": target, "section": section, "operation": "append",
                "content": format!("{marker}\n")});
            ("obsidian_patch_note", patch, true)
        }
        _ => ("obsidian_append_to_note", json!({"target": target, "content": format!("{marker}\n")}), true),
    };
    let answer = client.call(tool, arguments.clone());
    assert_eq!(answer["isError"], json!(false), "round {round}: {tool} {arguments}: {answer}");
    if tool == "obsidian_search_notes" {
        assert!(answer["structuredContent"].is_object(), "{answer}");
    }
    wrote.then_some((number, marker))
}

/// Tells the editor to stop when it goes.
struct Ended<'s>(&'s AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Edits notes of its own as an editor does, until it is told to stop; counts how often.
fn edit_outside(rig: &Rig, stop: &AtomicBool, edits: &AtomicUsize) {
    let mut dice = Dice(99);
    while !stop.load(Ordering::Relaxed) {
        let number = dice.roll(OUTSIDE);
        let (path, temporary) = (format!("outside/o{number}.md"), format!("outside/.o{number}.tmp"));
        let text = format!("{}outside edit\n", rig.read(&path));
        rig.write(&temporary, &text);
        std::fs::rename(rig.root().join(&temporary), rig.root().join(&path)).unwrap();
        edits.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn soak() {
    let rounds = std::env::var("VERGER_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(600);
    let rig = Rig::empty();
    for number in 0..NOTES {
        let next = (number + 1) % NOTES;
        rig.write(
            &note(number),
            &format!(
                "---\nround: 0\n---\n# N{number}\nword{number} #tag{} [[n{next}]]\n## Log\n## End\n",
                number % 7
            ),
        );
    }
    (0..OUTSIDE).for_each(|number| rig.write(&format!("outside/o{number}.md"), "# O\n"));
    let mut client = Client::new(&rig, &["--all-tools"], json!({}));
    let (stop, edits) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut markers: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut dice = Dice(7);
    let mut early = None;
    std::thread::scope(|scope| {
        scope.spawn(|| edit_outside(&rig, &stop, &edits));
        // A failed check must end the editor, too, or the test would wait for it for ever.
        let _ended = Ended(&stop);
        for round in 0..rounds {
            if let Some((number, marker)) = call(&mut client, &mut dice, round) {
                markers.entry(number).or_default().push(marker);
            }
            if round == rounds / 5 {
                early = Some(held(client.process()));
            }
        }
    });
    let (early, late) = (early.unwrap(), held(client.process()));
    println!(
        "{rounds} calls, {} outside edits; after a fifth {early:?}, at the end {late:?}",
        edits.load(Ordering::Relaxed)
    );
    for (number, markers) in &markers {
        let text = rig.read(&note(*number));
        for marker in markers {
            assert_eq!(text.matches(marker.as_str()).count(), 1, "{marker} in {}", note(*number));
        }
    }
    let outside: usize = (0..OUTSIDE)
        .map(|number| rig.read(&format!("outside/o{number}.md")).matches("outside edit").count())
        .sum();
    assert_eq!(outside, edits.load(Ordering::Relaxed), "no outside edit was written over");
    let found: Value = client.call("obsidian_search_notes", json!({"mode": "text", "query": "# O"}));
    assert_eq!(found["isError"], json!(false));
    assert!(late.handles <= early.handles + 4, "file handles grow: {early:?} {late:?}");
    assert!(late.threads <= 32, "threads grow: {early:?} {late:?}");
    // The list of checkpoints in memory grows by some hundred bytes with each write; nothing else may.
    let writes: usize = markers.values().map(Vec::len).sum();
    let room = 16 * 1024 + writes;
    assert!(late.kilobytes <= early.kilobytes + room, "memory grows: {early:?} {late:?}");
    client.end();
    rig.ok(&["check", "--vault", "."]);
}
