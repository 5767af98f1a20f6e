//! What a scope hides stays hidden in checkpoints, restores and deletes.

use std::os::unix::ffi::OsStrExt;

use super::rig::*;
use vault::moves::plan_delete;
use vault::policy::{Limits, Rules, Scope};
use vault::restore::{Conflict, Undo};

fn ignoring(patterns: &str) -> Scope {
    Scope::new(Limits::default(), Rules::parse(&[("ignore", patterns.to_owned())], &[]).unwrap())
}

#[track_caller]
fn refused(rig: &Rig, scope: &Scope, undo: &Undo, reason: &str) {
    for conflict in [Conflict::Refuse, Conflict::Overwrite] {
        let error = rig.vault.view(scope).plan_restore(undo, conflict).unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
        assert!(!format!("{error} {}", error.hint()).contains("secret"), "{error}");
    }
}

#[test]
fn a_restore_neither_touches_nor_names_what_may_not_be_seen() {
    let rig = Rig::new(&[("a.md", b"1"), ("Private/secret.md", b"1"), ("F/x.md", b"x")]);
    let both =
        rig.commit_as("t", &[replace("a.md", "1", "2"), replace("Private/secret.md", "1", "2")]).unwrap().id;
    let only = rig.commit_as("u", &[replace("Private/secret.md", "2", "3")]).unwrap().id;
    let scope = ignoring("Private/\nsecret*");
    refused(&rig, &scope, &Undo::Call(both.clone()), "checkpoint_forbidden");
    refused(&rig, &scope, &Undo::Task("t".into()), "checkpoint_forbidden");
    refused(&rig, &scope, &Undo::Call(only), "checkpoint_missing");
    let error = rig
        .vault
        .view(&scope)
        .plan_restore(&Undo::File(both.clone(), path("Private/secret.md")), Conflict::Refuse);
    assert_eq!(error.unwrap_err().reason(), "checkpoint_missing");
    let plan =
        rig.vault.view(&scope).plan_restore(&Undo::File(both, path("a.md")), Conflict::Refuse).unwrap();
    assert_eq!(plan.changes.len(), 1);
    // A hidden file that came into a folder since would be carried back with it.
    let folder = rig.commit_as("v", &[mv("F", "G")]).unwrap().id;
    std::fs::write(rig.root().join("G/secret.md"), "s").unwrap();
    refused(&rig, &scope, &Undo::Call(folder), "checkpoint_forbidden");
}

#[test]
fn an_agent_with_a_folder_of_its_own_can_delete_in_it_and_take_it_back() {
    for (trash, files) in [
        ("a 1.md", &[("Mine/a.md", &b"a"[..]), (".trash/a.md", b"older")][..]),
        ("a.md", &[("Mine/a.md", b"a")]),
    ] {
        delete_and_take_back(&Rig::new(files), &format!(".trash/{trash}"));
    }
}

fn delete_and_take_back(rig: &Rig, trashed: &str) {
    let mine = Limits::parse_list("Mine").unwrap();
    let scope = Scope::new(Limits { read: mine.clone(), write: mine, ..Limits::default() }, Rules::default());
    let view = rig.vault.view(&scope);
    let changes = plan_delete(&view, &path("Mine/a.md")).unwrap();
    let id = rig.commit(&changes).unwrap().id;
    assert_eq!(rig.tree()[trashed], b"a");
    assert!(
        view.checkpoint(&id).unwrap().steps.iter().any(|step| step.paths().contains(&&path("Mine/a.md")))
    );
    let plan = view.plan_restore(&Undo::Call(id), Conflict::Refuse).unwrap();
    assert_eq!(vault::change::written(&plan.changes).into_iter().collect::<Vec<_>>(), [&path("Mine/a.md")]);
    rig.commit(&plan.changes).unwrap();
    assert_eq!(rig.tree()["Mine/a.md"], b"a");
}

#[test]
fn settings_are_read_for_the_engine_and_nothing_else_that_is_hidden() {
    let rig = Rig::new(&[
        (".obsidian/plugins/p/data.json", b"{}"),
        (".env", b"KEY"),
        ("Private/t.md", b"t"),
        ("T.md", b"t"),
    ]);
    let scope = ignoring("Private/");
    let view = rig.vault.view(&scope);
    for (name, readable) in [
        (".obsidian/plugins/p/data.json", true),
        ("T.md", true),
        (".env", false),
        ("Private/t.md", false),
        ("../x", false),
    ] {
        assert_eq!(view.machinery_text(name).is_some(), readable, "{name}");
    }
}

#[test]
fn the_contents_of_a_folder_are_told_whole_or_not_at_all() {
    let rig = Rig::new(&[("F/a.md", b"a"), ("F/.hid/b", b"b"), ("F/d/c.md", b"c")]);
    std::os::unix::fs::symlink("/etc", rig.root().join("F/link")).unwrap();
    let scope = scope();
    let view = rig.vault.view(&scope);
    let names: Vec<String> = view.contents(&path("F")).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["F/.hid", "F/.hid/b", "F/a.md", "F/d", "F/d/c.md", "F/link"]);
    assert_eq!(view.contents(&path("F/a.md")).unwrap(), []);
    for odd in [&b"back\\slash"[..], b"caf\xe9"] {
        let place = rig.root().join("F").join(std::ffi::OsStr::from_bytes(odd));
        std::fs::write(&place, "odd").unwrap();
        assert_eq!(view.contents(&path("F")).unwrap_err().reason(), "folder_unclear");
        std::fs::remove_file(place).unwrap();
    }
}

#[test]
fn a_view_over_drafts_shows_them_and_still_hides_what_is_hidden() {
    let rig = Rig::new(&[("a.md", b"old"), ("Private/s.md", b"s")]);
    let scope = ignoring("Private/");
    let drafts = vault::view::Drafts::default();
    drafts.put(path("a.md"), "new".to_owned());
    drafts.put(path("b.md"), "made".to_owned());
    drafts.put(path("Private/s.md"), "seen?".to_owned());
    let view = rig.vault.view(&scope).over(&drafts);
    assert_eq!(view.text(&path("a.md")).unwrap(), "new");
    assert_eq!(view.text_if_any(&path("b.md")).unwrap().as_deref(), Some("made"));
    assert_eq!(view.text(&path("Private/s.md")).unwrap_err().reason(), "note_missing");
    assert_eq!(view.look(&path("Private/s.md")).unwrap().map(|entry| entry.path), None);
    assert_eq!(rig.vault.view(&scope).text(&path("a.md")).unwrap(), "old");
}

#[test]
fn a_view_that_was_called_off_reads_no_more() {
    let rig = Rig::new(&[("a.md", b"x")]);
    let scope = ignoring("");
    static STOPPED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    let stop = || STOPPED.load(std::sync::atomic::Ordering::Relaxed);
    let view = rig.vault.view(&scope).unless(&stop);
    assert_eq!(view.text(&path("a.md")).unwrap(), "x");
    STOPPED.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(view.text(&path("a.md")).unwrap_err().reason(), "io");
}
