//! The process that the crash tests start and kill, and the random changes that it makes.

use std::path::Path;

use super::rig::*;
use vault::change::{Change, Trash};

/// A small random number generator (xorshift), so that a failing seed can be run again.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
    fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        if list.is_empty() { None } else { Some(&list[self.below(list.len())]) }
    }
}

/// One to six changes that fit what is on disk now.
pub fn random_changes(root: &Path, random: &mut Random) -> Vec<Change> {
    let tree = tree(root);
    let files: Vec<&String> =
        tree.keys().filter(|name| !name.ends_with('/') && !name.starts_with('.')).collect();
    let folders: Vec<&String> =
        tree.keys().filter(|name| name.ends_with('/') && !name.starts_with('.')).collect();
    let mut changes = Vec::new();
    let mut touched = std::collections::BTreeSet::new();
    for _ in 0..=random.below(5) {
        let fresh = format!("n{}{}.md", random.below(1_000), ["", "x", "ü"][random.below(3)]);
        let Some(file) = random.pick(&files).map(|name| name.to_string()) else { break };
        let before = tree[&file].clone();
        let change = match random.below(6) {
            0 => Some(Change::create(path(&format!("new{}/{fresh}", random.below(3))), body(random))),
            1 => Some(Change::Delete { path: path(&file), before: before.into() }),
            2 => Some(Change::Move {
                from: path(&file),
                to: path(&format!("m{}/{fresh}", random.below(3))),
                trash: Trash::No,
            }),
            3 => Some(Change::Move {
                from: path(&file),
                to: path(&format!(".trash/{fresh}")),
                trash: Trash::Into,
            }),
            _ => Some(Change::replace(path(&file), before, body(random))),
        };
        if let Some(change) = change.filter(|_| touched.insert(file)) {
            changes.push(change);
        }
    }
    if random.below(8) == 0
        && let Some(folder) = random.pick(&folders)
    {
        // A folder move goes alone: the other changes were made for the old paths.
        let from = path(folder.trim_end_matches('/'));
        return vec![Change::Move {
            from,
            to: path(&format!("moved{}", random.below(10_000))),
            trash: Trash::No,
        }];
    }
    changes
}

fn body(random: &mut Random) -> Vec<u8> {
    let tag = random.below(1_000_000);
    let mut text = format!("# {tag}\n");
    for _ in 0..random.below(400) {
        text.push_str(&format!("line of version {tag}\n"));
    }
    text.push_str(&format!("end {tag}"));
    text.into_bytes()
}

/// Commits random changes until it is killed.
#[test]
#[ignore = "the process that the crash tests start and kill"]
fn commits_until_it_is_killed() {
    let Some(folder) = std::env::var_os("VERGER_CHILD_FOLDER") else { return };
    let folder = Path::new(&folder);
    let seed = std::env::var("VERGER_CHILD_SEED").unwrap().parse().unwrap();
    let mut random = Random(seed);
    let vault = open(folder);
    println!("ready");
    loop {
        let changes = random_changes(&folder.join("vault"), &mut random);
        // Refusals (a name that is taken) are fine here; I/O errors are not.
        if let Err(error) = commit(&vault, "crash", &changes) {
            assert!(!matches!(error.reason(), "io" | "store_damaged"), "{error}");
        }
    }
}

/// Replaces `n.md` once and says how it went. For fault injection.
#[test]
#[ignore = "the process that the fault tests start"]
fn replaces_one_note() {
    let Some(folder) = std::env::var_os("VERGER_CHILD_FOLDER") else { return };
    let folder = Path::new(&folder);
    let answer = vault::Vault::open(&folder.join("vault"), &folder.join("data")).and_then(|vault| {
        let before = std::fs::read(folder.join("vault/n.md")).unwrap();
        let (a, b) = (Change::replace(path("n.md"), before, NEW.repeat(3_000)), create("sub/second.md", NEW));
        commit(&vault, "fault", &[a, b])
    });
    match answer {
        Ok(receipt) => std::fs::write(folder.join("answer"), format!("ok {}", receipt.id)).unwrap(),
        Err(error) => std::fs::write(folder.join("answer"), format!("error {error}")).unwrap(),
    }
}

pub const NEW: &str = "new line\n";
