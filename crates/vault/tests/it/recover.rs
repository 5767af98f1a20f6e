//! Commits that a dead process left half way, written into the log by hand: states that a kill at random rarely hits.

use super::rig::*;
use vault::Vault;
use vault::store::blob::{Hash, Packing};
use vault::store::log::Log;
use vault::store::record::{BlobPlace, Checkpoint, Ending, Record, Side, Step, TrashMark};

fn side(text: &str) -> Option<Side> {
    Some(Side { hash: Hash::of(text.as_bytes()), size: text.len() as u64, stamp: None })
}

fn write(at: &str, before: Option<Side>, after: Option<Side>) -> Step {
    Step::Write { path: path(at), before, after }
}

fn moved(from: &str, to: &str) -> Step {
    Step::Move { from: path(from), to: path(to), trash: TrashMark::No, size: Some(1), kept: None }
}

/// Writes a commit without an ending; `stored` are the bytes as they lie behind it, under the names of `named`.
fn announce(rig: &Rig, steps: Vec<Step>, named: &[&str], stored: &[u8]) {
    let place = |text: &&str| BlobPlace {
        hash: Hash::of(text.as_bytes()),
        size: text.len() as u64,
        stored: text.len() as u64,
        packing: Packing::Raw,
    };
    let checkpoint = Checkpoint {
        id: "0123456789ab".into(),
        task: "t".into(),
        tool: "test".into(),
        time_ms: 0,
        steps,
        blobs: named.iter().map(place).collect(),
        note: None,
    };
    let mut log = Log::open(&rig.folder.path().join("data/checkpoints.log")).unwrap();
    log.append(Record::Commit(Box::new(checkpoint)), stored).unwrap();
}

fn text(rig: &Rig, name: &str) -> Option<String> {
    rig.tree().get(name).map(|bytes| String::from_utf8(bytes.clone()).unwrap())
}

#[test]
fn a_chain_of_moves_is_finished_link_by_link() {
    let rig = Rig::new(&[("a.md", b"a"), ("b.md", b"b"), ("z.md", b"z")]);
    announce(&rig, vec![moved("b.md", "c.md"), moved("a.md", "b.md"), moved("z.md", "a.md")], &[], b"");
    std::fs::rename(rig.root().join("b.md"), rig.root().join("c.md")).unwrap();
    let rig = rig.reopen();
    assert_eq!(rig.vault.recovered()[0].1, Ending::Finished);
    assert_eq!(
        ["a.md", "b.md", "c.md", "z.md"].map(|name| text(&rig, name)),
        [Some("z".into()), Some("a".into()), Some("b".into()), None]
    );
}

#[test]
fn a_delete_in_a_folder_that_had_not_moved_yet_is_not_forgotten() {
    let rig = Rig::new(&[("A/x.md", b"x"), ("A/y.md", b"y")]);
    let folder = Step::Move { from: path("A"), to: path("B"), trash: TrashMark::No, size: None, kept: None };
    announce(&rig, vec![folder, write("B/x.md", side("x"), None)], &["x"], b"x");
    let rig = rig.reopen();
    let now = (text(&rig, "A/x.md"), text(&rig, "B/x.md"), text(&rig, "B/y.md"));
    assert_eq!(now, (None, None, Some("y".into())), "{:?}", rig.vault.recovered());
}

#[test]
fn what_somebody_put_in_the_way_does_not_keep_the_vault_shut() {
    let rig = Rig::new(&[("a.md", b"new"), ("sub", b"a file where the folder was to be")]);
    let steps = vec![
        Step::Make { path: path("sub") },
        write("a.md", side("old"), side("new")),
        write("sub/n.md", None, side("new")),
    ];
    announce(&rig, steps, &["old", "new"], b"oldnew");
    let rig = rig.reopen();
    assert_eq!(rig.vault.recovered()[0].1, Ending::Finished);
    assert_eq!(text(&rig, "sub").as_deref(), Some("a file where the folder was to be"));
    rig.commit(&[replace("a.md", "new", "newer")]).unwrap();
}

/// A power cut may leave a whole record with zeros where its blobs should be. The vault had not changed yet then.
#[test]
fn bytes_that_never_reached_the_disk_are_not_built_upon() {
    let rig = Rig::new(&[("a.md", b"old")]);
    announce(&rig, vec![write("a.md", side("old"), side("new"))], &["old", "new"], &[0; 6]);
    let rig = rig.reopen();
    assert_eq!(rig.vault.recovered()[0].1, Ending::Undone);
    let receipt = rig.commit(&[replace("a.md", "old", "new")]).unwrap();
    let rig = rig.reopen();
    let scope = scope();
    let (before, after) = rig.vault.view(&scope).checkpoint_file(&receipt.id, &path("a.md")).unwrap();
    assert_eq!((before.as_deref(), after.as_deref()), (Some(&b"old"[..]), Some(&b"new"[..])));
    assert_eq!(rig.vault.verify(vault::store::gc::ReadData::Yes).unwrap().problems, Vec::<String>::new());
    let all = vault::store::gc::Retention { age_ms: i64::MAX, bytes: u64::MAX };
    rig.vault.collect(all, 0).unwrap();
    let most = vault::store::gc::Retention { age_ms: i64::MAX, bytes: 1 };
    assert_eq!(rig.vault.collect(most, 0).unwrap().kept, 1);
}

#[test]
fn what_was_staged_in_the_vault_itself_is_swept_too() {
    let rig = Rig::new(&[("a.md", b"a")]);
    std::fs::write(rig.root().join(".verger-staged-0123456789ab-0"), "half").unwrap();
    let rig = rig.reopen();
    assert_eq!(rig.tree().into_keys().collect::<Vec<_>>(), ["a.md"]);
}

#[test]
fn an_id_is_used_once() {
    let rig = Rig::new(&[]);
    let again = |name: &str| {
        let changes = [create(name, "x")];
        let id = "0123456789ab".to_owned();
        rig.vault.commit(&vault::commit::Commit {
            changes: &changes,
            task: "t",
            tool: "x",
            time_ms: 0,
            note: None,
            id,
        })
    };
    again("a.md").unwrap();
    assert_eq!(again("b.md").unwrap_err().reason(), "checkpoint_exists");
    assert!(!rig.tree().contains_key("b.md"));
}

#[test]
fn data_in_the_vault_is_refused_by_whatever_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("vault");
    std::fs::create_dir(&root).unwrap();
    std::os::unix::fs::symlink(&root, folder.path().join("link")).unwrap();
    std::fs::create_dir(folder.path().join("beside")).unwrap();
    for (data, inside) in [
        (root.join("data"), true),
        (folder.path().join("link/data/deep"), true),
        (folder.path().join("beside/../vault/data"), true),
        (root.join("../data"), false),
        (folder.path().join("vault-data"), false),
    ] {
        assert_eq!(Vault::open(&root, &data).is_err(), inside, "{}", data.display());
        assert_eq!(tree(&root).len(), 0, "{}", data.display());
    }
    assert!(Vault::open(&folder.path().join("link"), &root.join("data")).is_err());
}

/// Another process reads the log while a commit is being announced, and the commit is taken back (a full disk).
#[test]
fn a_record_that_was_taken_back_does_not_look_like_damage_to_a_reader() {
    let rig = Rig::new(&[("a.md", b"old")]);
    rig.commit(&[replace("a.md", "old", "new")]).unwrap();
    let file = rig.folder.path().join("data/checkpoints.log");
    let mut writer = Log::open(&file).unwrap();
    let start = writer.end();
    announce(&rig, vec![write("a.md", side("new"), side("newer"))], &["newer"], b"newer");
    let mut reader = Log::open(&file).unwrap();
    assert_eq!(reader.entries().len(), 2);
    writer.catch_up().unwrap();
    writer.retract("0123456789ab", start);
    for text in ["", "a longer text than the one before, so that the file is longer too"] {
        if !text.is_empty() {
            announce(&rig, vec![write("a.md", side("new"), side(text))], &[text], text.as_bytes());
        }
        reader.catch_up().unwrap();
        assert_eq!(reader.damage(), None);
        assert_eq!(reader.entries().len(), if text.is_empty() { 1 } else { 2 });
        reader.entries().iter().for_each(|entry| assert!(!entry.checkpoint.id.is_empty()));
    }
    let mut late = Log::open(&file).unwrap();
    late.catch_up().unwrap();
    assert_eq!(late.end(), reader.end());
}
