//! `undo`, `history`, `diff`, `checkpoints`: taking back, byte by byte.

use crate::rig::Rig;

#[test]
fn undo_restores_every_byte_and_goes_further_back_each_time() {
    let rig = Rig::tour();
    let start = rig.bytes();
    rig.ok(&["append", "Inbox", "one", "-y"]);
    let after_one = rig.bytes();
    rig.ok(&["mv", "Slugs", "Library/Snails", "-y"]);
    let after_two = rig.bytes();
    rig.ok(&["rm", "Compost", "-y"]);
    rig.ok(&["undo", "-y"]);
    assert_eq!(rig.bytes(), after_two);
    rig.ok(&["undo", "-y"]);
    assert_eq!(rig.bytes(), after_one);
    rig.ok(&["undo", "-y"]);
    assert_eq!(rig.bytes(), start);
    let said = rig.run(&["undo", "-y"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("no change left") && said.err.contains("hint: `verger history`"), "{said:?}");
}

#[test]
fn an_undo_is_undone_by_its_id_and_then_the_change_stands_again() {
    let rig = Rig::tour();
    rig.ok(&["append", "Inbox", "one", "-y"]);
    let changed = rig.bytes();
    let undone = rig.json(&["undo", "-y"]);
    rig.ok(&["undo", undone["checkpoint"].as_str().unwrap(), "-y"]);
    assert_eq!(rig.bytes(), changed);
    rig.ok(&["undo", "-y"]);
    assert_ne!(rig.bytes(), changed, "the change can be taken back once more");
}

#[test]
fn several_changes_and_whole_tasks_are_taken_back() {
    let rig = Rig::tour();
    let start = rig.bytes();
    for text in ["one", "two", "three"] {
        rig.ok(&["append", "Inbox", text, "-y"]);
    }
    rig.ok(&["undo", "--last", "3", "-y"]);
    assert_eq!(rig.bytes(), start);
    rig.ok(&["daily", "--append", "made and added to", "-y"]);
    let history = rig.json(&["history"]);
    let newest = &history["data"]["checkpoints"][0];
    assert_eq!((newest["tool"].as_str(), newest["agent"].as_str()), (Some("append_to_file"), Some("cli")));
    rig.ok(&["undo", "--task", newest["task"].as_str().unwrap(), "-y"]);
    assert_eq!(rig.bytes(), start, "both steps of the one command");
    assert_eq!(rig.run(&["undo", "-y"]).code, 1, "the task counts as taken back");
}

#[test]
fn an_undo_without_approval_or_as_a_dry_run_changes_nothing() {
    let rig = Rig::tour();
    rig.ok(&["append", "Inbox", "one", "-y"]);
    let changed = rig.bytes();
    assert_eq!(rig.run(&["undo"]).code, 3);
    assert!(rig.ok(&["undo", "-n"]).contains("\n-one\n"));
    assert_eq!(rig.bytes(), changed);
}

#[test]
fn a_note_that_somebody_changed_since_is_not_overwritten_unless_forced() {
    let rig = Rig::tour();
    let start = rig.read("Inbox.md");
    rig.ok(&["append", "Inbox", "one", "-y"]);
    rig.write("Inbox.md", "typed in Obsidian\n");
    let said = rig.run(&["undo", "-y"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("since: `Inbox.md`") && said.err.contains("--force"), "{said:?}");
    assert_eq!(rig.read("Inbox.md"), "typed in Obsidian\n");
    rig.ok(&["undo", "--force", "-y"]);
    assert_eq!(rig.read("Inbox.md"), start);
}

#[test]
fn history_and_diff_tell_what_was_done() {
    let rig = Rig::tour();
    let done = rig.json(&["append", "Inbox", "one", "-y"]);
    let id = done["checkpoint"].as_str().unwrap();
    rig.ok(&["append", "Garden/Bees.md", "two", "-y"]);
    let history = rig.ok(&["history"]);
    assert_eq!(history.lines().count(), 2, "{history}");
    let line = history.lines().nth(1).unwrap();
    assert!(
        line.starts_with(id) && line.contains("append_to_file by cli (") && line.contains("~ Inbox.md"),
        "{line}"
    );
    assert_eq!(rig.ok(&["history", "Bees"]).lines().count(), 1);
    let diff = rig.ok(&["diff", &id[..8]]);
    assert!(diff.contains("+++ b/Inbox.md") && diff.ends_with("+one\n"), "{diff}");
    assert_eq!(rig.ok(&["diff", id, "Inbox.md"]), diff);
    assert_eq!(rig.json(&["diff", id])["data"]["files"][0]["added"], 1);
    assert_eq!(rig.run(&["diff", id, "Garden/Bees.md"]).code, 1);
    rig.ok(&["rm", "Inbox", "-y"]);
    assert_eq!(rig.ok(&["history", "Inbox.md"]).lines().count(), 2, "a note that is gone has a history");
    assert_eq!(rig.ok(&["checkpoints"]).lines().count(), 3);
    assert!(rig.ok(&["checkpoints", "verify"]).starts_with("ok: 3 checkpoints"));
    assert_eq!(rig.json(&["checkpoints", "gc"])["data"]["dropped"], 0);
}
