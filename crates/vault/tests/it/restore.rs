//! Undo: one file, one call, a whole task; byte for byte, with permissions and times.

use super::rig::*;
use vault::Change;
use vault::change::Trash;
use vault::restore::{Conflict, Undo};

fn undo(rig: &Rig, undo: &Undo, conflict: Conflict) -> Result<usize, String> {
    let scope = scope();
    let plan = rig.vault.view(&scope).plan_restore(undo, conflict).map_err(|e| e.reason().to_owned())?;
    let count = plan.changes.len();
    if count > 0 {
        rig.commit_as("undo", &plan.changes).map_err(|e| e.to_string())?;
    }
    Ok(count)
}

/// The original restored one file only, and the last version instead of the first (tools-and-agents 6.2 #4).
#[test]
fn a_task_comes_back_to_the_earliest_version_of_each_file_and_created_files_go() {
    let png: Vec<u8> = vec![0x89, b'P', b'N', b'G', 0, 0xff, 0xfe];
    let rig = Rig::new(&[("x.md", b"x1"), ("y.md", b"y1"), ("pic.png", &png), ("f/deep/m.md", b"m")]);
    let before = rig.tree();
    let steps: [&[Change]; 7] = [
        &[replace("x.md", "x1", "x2")],
        &[replace("x.md", "x2", "x3"), replace("y.md", "y1", "y2")],
        &[create("new/n.md", "n")],
        &[Change::Delete { path: path("pic.png"), before: png.clone().into() }],
        &[mv("f/deep", "g/moved"), replace("g/moved/m.md", "m", "m2")],
        &[replace("new/n.md", "n", "n2")],
        &[Change::Move { from: path("y.md"), to: path(".trash/y.md"), trash: Trash::Into }],
    ];
    for step in steps {
        rig.commit_as("the-task", step).unwrap();
    }
    rig.commit_as("another", &[create("other.md", "o")]).unwrap();
    let rig = rig.reopen();
    undo(&rig, &Undo::Task("the-task".into()), Conflict::Refuse).unwrap();
    let mut after = rig.tree();
    after.remove("other.md");
    assert_eq!(after, before);
    // Undo is an ordinary commit, so it can be undone as well.
    undo(&rig, &Undo::Task("undo".into()), Conflict::Refuse).unwrap();
    assert_eq!(rig.tree()["x.md"], b"x3");
    assert_eq!(rig.tree()["g/moved/m.md"], b"m2");
    assert!(!rig.tree().contains_key("pic.png"));
}

#[test]
fn a_file_that_somebody_changed_since_is_a_conflict_that_is_named() {
    let rig = Rig::new(&[("a.md", b"1"), ("b.md", b"1")]);
    let receipt = rig.commit(&[replace("a.md", "1", "2"), replace("b.md", "1", "2")]).unwrap();
    std::fs::write(rig.root().join("a.md"), "by hand").unwrap();
    let call = Undo::Call(receipt.id.clone());
    assert_eq!(undo(&rig, &call, Conflict::Refuse).unwrap_err(), "restore_conflict");
    assert_eq!(rig.tree()["b.md"], b"2");
    // One file alone has no conflict.
    undo(&rig, &Undo::File(receipt.id[..6].into(), path("b.md")), Conflict::Refuse).unwrap();
    assert_eq!(rig.tree()["b.md"], b"1");
    undo(&rig, &call, Conflict::Overwrite).unwrap();
    assert_eq!(rig.tree()["a.md"], b"1");
}

#[test]
fn undoing_twice_changes_nothing_more() {
    let rig = Rig::new(&[("a.md", b"1")]);
    let receipt = rig.commit(&[replace("a.md", "1", "2")]).unwrap();
    assert_eq!(undo(&rig, &Undo::Call(receipt.id.clone()), Conflict::Refuse), Ok(1));
    assert_eq!(undo(&rig, &Undo::Call(receipt.id), Conflict::Refuse), Ok(0));
}

#[test]
fn time_and_permissions_come_back_too() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let rig = Rig::new(&[("a.md", b"1")]);
    let file = rig.root().join("a.md");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o604)).unwrap();
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    let receipt = rig.commit(&[delete("a.md", "1")]).unwrap();
    undo(&rig, &Undo::Call(receipt.id), Conflict::Refuse).unwrap();
    let data = std::fs::metadata(&file).unwrap();
    assert_eq!((data.mtime(), data.permissions().mode() & 0o777), (1_000_000_000, 0o604));
}

#[test]
fn unknown_ambiguous_and_foreign_ids_are_refused() {
    let rig = Rig::new(&[("a.md", b"1")]);
    let ids: Vec<String> =
        (0..40).map(|n| rig.commit(&[create(&format!("{n}.md"), "x")]).unwrap().id).collect();
    let first = &ids[0];
    let reason = |undo: &Undo| {
        let scope = scope();
        rig.vault.view(&scope).plan_restore(undo, Conflict::Refuse).err().map(|e| e.reason())
    };
    assert_eq!(reason(&Undo::Call("zzzz".into())), Some("checkpoint_missing"));
    assert_eq!(reason(&Undo::Call(String::new())), Some("checkpoint_missing"));
    let shared =
        (1..12).rev().map(|n| &first[..n]).find(|p| ids.iter().filter(|id| id.starts_with(p)).count() > 1);
    if let Some(prefix) = shared {
        assert_eq!(reason(&Undo::Call(prefix.to_owned())), Some("checkpoint_ambiguous"));
    }
    assert_eq!(reason(&Undo::Task("nobody".into())), Some("task_missing"));
    assert_eq!(reason(&Undo::File(first.clone(), path("a.md"))), Some("checkpoint_file_missing"));
}

/// Fifty random changes, then undo of everything: the tree is what it was, two hundred times.
#[test]
fn random_sessions_come_back_byte_for_byte() {
    let rounds = if std::env::var_os("VERGER_LONG").is_some() { 200 } else { 40 };
    for seed in 0..rounds {
        let rig = Rig::new(&[
            ("a.md", b"a"),
            ("b.md", b"b"),
            ("d/c.md", b"c"),
            ("d/e/f.md", b"f"),
            ("z.bin", &[0, 255]),
        ]);
        let before = rig.tree();
        let mut random = super::child::Random(seed + 1);
        for _ in 0..50 {
            let changes = super::child::random_changes(&rig.root(), &mut random);
            if let Err(error) = rig.commit_as("session", &changes) {
                assert_ne!(error.reason(), "io", "seed {seed}: {changes:?}: {error}");
            }
        }
        undo(&rig, &Undo::Task("session".into()), Conflict::Refuse)
            .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(rig.tree(), before, "seed {seed}");
    }
}
