//! A commit changes all its files or none, and says why.

use std::os::unix::fs::PermissionsExt;

use super::rig::*;
use vault::Change;

#[test]
fn all_kinds_of_changes_in_one_commit() {
    let rig = Rig::new(&[("a.md", b"one"), ("old/b.md", b"two"), ("c.md", b"three"), ("gone/keep.md", b"k")]);
    rig.commit(&[
        replace("a.md", "one", "ONE"),
        create("new/deep/d.md", "four"),
        mv("old", "fresh/place"),
        replace("fresh/place/b.md", "two", "TWO"),
        delete("c.md", "three"),
        Change::MakeFolder { path: path("empty") },
    ])
    .unwrap();
    let names: Vec<_> =
        rig.tree().into_iter().map(|(n, b)| format!("{n}={}", String::from_utf8(b).unwrap())).collect();
    assert_eq!(
        names,
        [
            "a.md=ONE",
            "empty/=",
            "fresh/=",
            "fresh/place/=",
            "fresh/place/b.md=TWO",
            "gone/=",
            "gone/keep.md=k",
            "new/=",
            "new/deep/=",
            "new/deep/d.md=four"
        ]
    );
    assert!(rig.stage_is_empty());
}

#[test]
fn a_refused_commit_leaves_every_byte_as_it_was() {
    let rig = Rig::new(&[("a.md", b"one"), ("b.md", b"two"), ("dir/x.md", b"x"), ("file", b"f")]);
    let before = rig.tree();
    for (changes, reason) in [
        (vec![replace("b.md", "two", "2"), replace("a.md", "WRONG", "1")], "stale"),
        (vec![replace("a.md", "one", "1"), replace("missing.md", "x", "y")], "stale"),
        (vec![replace("a.md", "one", "1"), create("b.md", "new")], "file_exists"),
        (vec![replace("a.md", "one", "1"), delete("b.md", "not two")], "stale"),
        (vec![replace("a.md", "one", "1"), mv("b.md", "a.md")], "file_exists"),
        (vec![replace("a.md", "one", "1"), mv("none.md", "n.md")], "note_missing"),
        (vec![replace("a.md", "one", "1"), create("file/below.md", "x")], "path_is_file"),
        (vec![replace("a.md", "one", "1"), Change::RemoveFolder { path: path("dir") }], "folder_not_empty"),
        (vec![replace("a.md", "one", "1"), Change::MakeFolder { path: path("dir") }], "file_exists"),
        (vec![mv("a.md", "b.md"), mv("b.md", "a.md")], "move_cycle"),
        (vec![mv("a.md", "z.md"), mv("b.md", "z.md")], "file_exists"),
        (vec![replace("dir", "", "x")], "path_is_directory"),
    ] {
        let error = rig.commit(&changes).unwrap_err();
        assert_eq!(error.reason(), reason, "{changes:?}: {error}");
        assert_eq!(rig.tree(), before, "{changes:?}");
    }
    assert!(rig.stage_is_empty());
}

#[test]
fn moves_may_hand_a_name_on() {
    let rig = Rig::new(&[("a.md", b"1"), ("b.md", b"2")]);
    rig.commit(&[mv("a.md", "b.md"), mv("b.md", "c.md")]).unwrap();
    assert_eq!(rig.tree(), [("b.md".into(), b"1".to_vec()), ("c.md".into(), b"2".to_vec())].into());
}

#[test]
fn permissions_stay_and_hard_links_outside_are_not_written_through() {
    let rig = Rig::new(&[("a.md", b"one")]);
    let file = rig.root().join("a.md");
    let outside = rig.folder.path().join("outside.md");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::hard_link(&file, &outside).unwrap();
    rig.commit(&[replace("a.md", "one", "two")]).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(std::fs::read(outside).unwrap(), b"one");
    assert_eq!(std::fs::read(file).unwrap(), b"two");
}

/// A server that runs as root must not take people's notes away from them.
#[test]
fn a_note_stays_with_its_owner_when_root_writes() {
    use std::os::unix::fs::MetadataExt;
    let rig = Rig::new(&[("a.md", b"one")]);
    let file = rig.root().join("a.md");
    if std::os::unix::fs::chown(&file, Some(1_234), Some(1_235)).is_err() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    rig.commit(&[replace("a.md", "one", "two")]).unwrap();
    let data = std::fs::metadata(&file).unwrap();
    assert_eq!((data.uid(), data.gid()), (1_234, 1_235));
}

#[test]
fn bytes_that_are_no_text_are_committed_as_they_are() {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let rig = Rig::new(&[("a.bin", &bytes)]);
    let mut after = bytes.clone();
    after.reverse();
    rig.commit(&[Change::replace(path("a.bin"), bytes, after.clone())]).unwrap();
    assert_eq!(rig.tree()["a.bin"], after);
}

#[test]
fn the_data_folder_may_not_lie_in_the_vault() {
    let folder = tempfile::tempdir().unwrap();
    assert!(vault::Vault::open(folder.path(), &folder.path().join("data")).is_err());
}

/// Two processes (here: two opened vaults) on the same notes take turns; a stale plan is refused, nothing is lost.
#[test]
fn two_writers_never_lose_an_update() {
    let rig = Rig::new(&[("n.md", b"0")]);
    let folder = rig.folder.path();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let vault = open(folder);
                let mut done = 0;
                while done < 25 {
                    let now = std::fs::read_to_string(folder.join("vault/n.md")).unwrap();
                    let next = (now.parse::<u32>().unwrap() + 1).to_string();
                    match commit(&vault, "t", &[replace("n.md", &now, &next)]) {
                        Ok(_) => done += 1,
                        Err(error) => assert_eq!(error.reason(), "stale", "{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(rig.tree()["n.md"], b"100");
    let rig = rig.reopen();
    assert_eq!(rig.vault.verify(vault::store::gc::ReadData::Yes).unwrap().problems, Vec::<String>::new());
}

/// An editor that writes while we commit is noticed, or its text comes after ours; it is never overwritten unseen.
#[test]
fn an_outside_edit_in_the_middle_of_a_commit_is_not_lost() {
    let rig = Rig::new(&[("n.md", b"start")]);
    let file = rig.root().join("n.md");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let temp = rig.folder.path().join("editor-temp");
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for n in 0.. {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                // An atomic save, as Obsidian and most editors do it; its text must be seen by the next commit.
                std::fs::write(&temp, format!("editor {n}")).unwrap();
                std::fs::rename(&temp, &file).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        let (mut stale, mut done) = (0, 0);
        for n in 0..400 {
            let now = std::fs::read(&file).unwrap();
            match rig.commit(&[Change::replace(path("n.md"), now.clone(), format!("verger {n}"))]) {
                Ok(_) => done += 1,
                Err(error) => {
                    assert_eq!(error.reason(), "stale", "{error}");
                    stale += 1;
                }
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(stale > 0 && done > 0, "the race did not happen: {stale} stale, {done} done");
    });
    // Every text that a commit replaced is in its checkpoint: what the editor wrote last before it is there.
    let scope = scope();
    let view = rig.vault.view(&scope);
    for info in view.checkpoints() {
        let (before, _) = view.checkpoint_file(&info.id, &path("n.md")).unwrap();
        assert!(before.is_some());
    }
}
