//! Sequences: what several calls leave on disk, and what comes back. The defects that the original had
//! (tools-and-agents 2.4, 6.2, 6.3) have their tests here, each named for the right behaviour.

use pipeline::approve::Beforehand;
use pipeline::approve::{Asker, Deciding, Question};
use pipeline::testing::Rig;
use pipeline::{Call, Decision, Lifetime, Nobody, Outcome, Registry};
use serde_json::{Value, json};

fn rig(fixture: &str) -> Rig {
    let registry = Registry::default();
    crate::table::add_edit(&registry);
    let rig = Rig::new(fixture, registry);
    let deferred = ["restore_checkpoint", "patch_note", "manage_tags", "replace_in_file"];
    rig.task.activate(&deferred.map(str::to_owned));
    rig
}

/// Makes a call that must be carried out; its checkpoint.
#[track_caller]
fn done(rig: &Rig, tool: &str, input: Value) -> String {
    match rig.call(tool, input, &Beforehand) {
        Outcome::Done { checkpoint: Some(id), .. } => id,
        other => panic!("{tool}: {other:?}"),
    }
}

/// Makes a call that must be refused; the reason.
#[track_caller]
fn refused(rig: &Rig, tool: &str, input: Value) -> String {
    match rig.call(tool, input, &Beforehand) {
        Outcome::Refused(refusal) => refusal.reason.to_string(),
        other => panic!("{tool}: {other:?}"),
    }
}

#[track_caller]
fn undo_task(rig: &Rig) {
    done(rig, "restore_checkpoint", json!({"commitOid": "task-1", "mode": "task"}));
}

#[test]
fn every_tool_is_in_the_table_and_says_what_it_does() {
    let registry = Registry::default();
    crate::table::add_edit(&registry);
    let tools = registry.list(&pipeline::Rights::all());
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec.name.as_ref()).collect();
    assert_eq!(
        names.join(" "),
        "append_to_file batch_files create_base create_folder delete_file edit_file manage_tags move_file patch_note \
         replace_in_file restore_checkpoint update_base update_frontmatter write_file"
    );
    for tool in &tools {
        assert!(tool.description.len() > 40, "{} has no description", tool.spec.name);
        let fields = tool.schema["properties"].as_object().unwrap();
        for (name, field) in fields {
            assert!(field.get("description").is_some(), "{}.{name} has no description", tool.spec.name);
        }
    }
}

#[test]
fn an_edit_is_taken_back_to_the_very_bytes() {
    let rig = rig("");
    let bytes = "\u{feff}---\r\nk: 'v' # c\r\n---\r\none\r\ntwo  \nthree".as_bytes();
    rig.put("a.md", bytes);
    let id = done(&rig, "edit_file", json!({"path": "a.md", "old_str": "two", "new_str": "2"}));
    assert_ne!(rig.bytes("a.md"), bytes);
    done(&rig, "restore_checkpoint", json!({"commitOid": &id[..12]}));
    assert_eq!(rig.bytes("a.md"), bytes);
}

#[test]
fn a_restore_can_be_taken_back() {
    let rig = rig("a.md: one");
    let id = done(&rig, "write_file", json!({"path": "a.md", "content": "two"}));
    let back = done(&rig, "restore_checkpoint", json!({"commitOid": id}));
    assert_eq!(rig.files(), "a.md: one");
    done(&rig, "restore_checkpoint", json!({"commitOid": back, "path": "a.md"}));
    assert_eq!(rig.files(), "a.md: two");
}

#[test]
fn a_deleted_binary_comes_back_byte_for_byte() {
    let rig = rig("a.md: ![[p.png]]");
    let bytes: Vec<u8> = (0..=255).rev().collect();
    rig.put("p.png", &bytes);
    let id = done(&rig, "delete_file", json!({"path": "p.png"}));
    assert!(!rig.root().join("p.png").try_exists().unwrap());
    assert_eq!(rig.bytes(".trash/p.png"), bytes);
    done(&rig, "restore_checkpoint", json!({"commitOid": id}));
    assert_eq!(rig.bytes("p.png"), bytes);
    assert!(!rig.root().join(".trash/p.png").try_exists().unwrap());
}

#[test]
fn a_move_with_its_links_is_one_checkpoint_and_one_undo() {
    let rig = rig(
        "a.md: self [[a#h]]\n--- b.md: [[a]] ![[a]]\n--- F/c.md: [x](../a.md)\n--- d.canvas: {\"nodes\":[{\"id\":\"1\",\"type\":\"file\",\"file\":\"a.md\"}]}",
    );
    let before = rig.files();
    let id = done(&rig, "move_file", json!({"source": "a.md", "destination": "New/z.md"}));
    assert_eq!(
        rig.files(),
        "F/c.md: [x](../New/z.md)\n--- New/z.md: self [[z#h]]\n--- b.md: [[z]] ![[z]]\n--- d.canvas: {\"nodes\":[{\"id\":\"1\",\"type\":\"file\",\"file\":\"New/z.md\"}]}"
    );
    done(&rig, "restore_checkpoint", json!({"commitOid": id}));
    assert_eq!(rig.files(), before);
    assert!(!rig.root().join("New").try_exists().unwrap(), "the folder that the move made goes too");
}

#[test]
fn a_batch_of_twenty_renames_is_one_checkpoint_and_one_undo() {
    let note = |n: usize| {
        format!(
            "Inbox/Draft {n:02}.md: [[Draft {:02}]] and [m](<Draft {:02}.md>)",
            (n + 1) % 20,
            (n + 7) % 20
        )
    };
    let rig = rig(&(0..20).map(note).collect::<Vec<_>>().join("\n--- "));
    let before = rig.files();
    let operations = json!([
        {"op": "rename", "glob": "/Inbox/*.md", "find": "^Draft (\\d+)$", "replace": "Note $1"},
        {"op": "move", "glob": "/Inbox/*.md", "destination": "Done"}]);
    let id = done(&rig, "batch_files", json!({"operations": operations}));
    let after = rig.files();
    assert!(after.starts_with("Done/Note 00.md: [[Note 01]] and [m](<Note 07.md>)"), "{after}");
    assert!(!after.contains("Draft"), "{after}");
    done(&rig, "restore_checkpoint", json!({"commitOid": id}));
    assert_eq!(rig.files(), before);
}

#[test]
fn a_whole_task_is_undone_to_the_first_version_of_every_file() {
    let rig = rig("a.md: 1\n--- b.md: [[a]]\n--- c.md: c\n--- F/d.md: d [[c]]\n--- F/e.md: e");
    let before = rig.files();
    done(&rig, "write_file", json!({"path": "a.md", "content": "2"}));
    done(&rig, "write_file", json!({"path": "a.md", "content": "3"}));
    done(&rig, "write_file", json!({"path": "New/x.md", "content": "new"}));
    done(&rig, "move_file", json!({"source": "F", "destination": "G"}));
    done(&rig, "write_file", json!({"path": "G/made.md", "content": "in a moved folder"}));
    done(&rig, "append_to_file", json!({"path": "G/e.md", "content": "more"}));
    done(&rig, "move_file", json!({"source": "c.md", "destination": "G/"}));
    done(&rig, "delete_file", json!({"path": "G/e.md"}));
    done(&rig, "delete_file", json!({"path": "b.md"}));
    done(&rig, "move_file", json!({"source": "G", "destination": "H"}));
    done(&rig, "create_folder", json!({"path": "Empty/Inner"}));
    undo_task(&rig);
    assert_eq!(rig.files(), before);
    for folder in ["New", "G", "H", "Empty"] {
        assert!(!rig.root().join(folder).try_exists().unwrap(), "{folder} is left");
    }
    let again = rig.call(
        "restore_checkpoint",
        json!({"commitOid": "task-1", "mode": "task", "force": false}),
        &Beforehand,
    );
    assert!(matches!(again, Outcome::Answered(_)), "{again:?}");
}

#[test]
fn a_note_edited_and_then_deleted_comes_back_as_it_was_first() {
    let rig = rig("a.md: one");
    done(&rig, "write_file", json!({"path": "a.md", "content": "two"}));
    done(&rig, "move_file", json!({"source": "a.md", "destination": "b.md"}));
    done(&rig, "delete_file", json!({"path": "b.md"}));
    undo_task(&rig);
    assert_eq!(rig.files(), "a.md: one");
}

#[test]
fn a_note_made_and_then_deleted_leaves_nothing_behind() {
    let rig = rig("a.md: one");
    done(&rig, "write_file", json!({"path": "b.md", "content": "new"}));
    done(&rig, "delete_file", json!({"path": "b.md"}));
    undo_task(&rig);
    assert_eq!(rig.files(), "a.md: one");
    assert!(!rig.root().join(".trash").try_exists().unwrap());
}

#[test]
fn a_note_that_somebody_changed_since_is_not_overwritten_without_a_word() {
    let rig = rig("a.md: one");
    let id = done(&rig, "write_file", json!({"path": "a.md", "content": "two"}));
    rig.put("a.md", b"by hand");
    assert_eq!(refused(&rig, "restore_checkpoint", json!({"commitOid": id})), "restore_conflict");
    assert_eq!(rig.files(), "a.md: by hand");
    let forced = done(&rig, "restore_checkpoint", json!({"commitOid": id, "force": true}));
    assert_eq!(rig.files(), "a.md: one");
    done(&rig, "restore_checkpoint", json!({"commitOid": forced}));
    assert_eq!(rig.files(), "a.md: by hand");
}

#[test]
fn a_deleted_note_comes_back_although_somebody_emptied_the_trash() {
    let rig = rig("a.md: one\n--- b.md: two");
    let id = done(&rig, "delete_file", json!({"path": "a.md"}));
    done(&rig, "write_file", json!({"path": "b.md", "content": "2"}));
    rig.remove(".trash/a.md");
    done(&rig, "restore_checkpoint", json!({"commitOid": id}));
    assert_eq!(rig.files(), "a.md: one\n--- b.md: 2");
    done(&rig, "restore_checkpoint", json!({"commitOid": "task-1", "mode": "task"}));
}

#[test]
fn a_denied_write_leaves_the_file_alone() {
    let rig = rig("a.md: one\n--- b.md: [[a]]");
    let before = rig.files();
    for (tool, input) in [
        ("write_file", json!({"path": "a.md", "content": "two"})),
        ("edit_file", json!({"path": "a.md", "old_str": "one", "new_str": "two"})),
        ("append_to_file", json!({"path": "a.md", "content": "two"})),
        ("create_folder", json!({"path": "F"})),
        ("delete_file", json!({"path": "a.md"})),
        ("move_file", json!({"source": "a.md", "destination": "c.md"})),
        ("update_frontmatter", json!({"path": "a.md", "updates": {"k": 1}})),
        ("batch_files", json!({"operations": [{"op": "rename", "path": "a.md", "new_name": "c"}]})),
        ("manage_tags", json!({"path": "a.md", "operation": "add", "tags": ["t"]})),
    ] {
        let outcome = rig.call(tool, input, &Nobody);
        assert!(matches!(outcome, Outcome::Denied(_)), "{tool}: {outcome:?}");
        assert_eq!(rig.files(), before, "{tool}");
    }
}

#[test]
fn a_dry_run_changes_nothing_and_shows_all_changes() {
    let rig = rig("a.md: one\n--- b.md: [[a]]");
    let before = rig.files();
    let call = Call::new("move_file", json!({"source": "a.md", "destination": "F/c.md"})).dry();
    let Outcome::Shown { changes, summary, .. } = rig.run(call, &Nobody) else { panic!("not shown") };
    assert_eq!(summary, "move a.md to F/c.md and rewrite its links in 1 file");
    let lines: Vec<String> = changes.iter().map(vault::Change::headline).collect();
    assert_eq!(lines, ["> a.md -> F/c.md", "~ b.md (5 -> 5 bytes)"]);
    assert_eq!(rig.files(), before);
}

/// Says yes, but only after somebody else has changed the note.
struct Meddler<'r>(&'r Rig);

impl Asker for Meddler<'_> {
    fn ask<'a>(&'a self, _: &'a Question<'a>) -> Deciding<'a> {
        self.0.put("b.md", b"[[a]] by hand");
        Box::pin(async { Decision::Yes(Lifetime::Once) })
    }
    fn name(&self) -> &str {
        "meddler"
    }
    fn is_person(&self) -> bool {
        true
    }
}

#[test]
fn a_note_that_changed_while_the_user_was_thinking_is_not_overwritten() {
    let rig = rig("a.md: one\n--- b.md: [[a]]");
    for (tool, input) in [
        ("write_file", json!({"path": "b.md", "content": "mine"})),
        ("move_file", json!({"source": "a.md", "destination": "c.md"})),
    ] {
        rig.put("b.md", b"[[a]]");
        let outcome = rig.call(tool, input, &Meddler(&rig));
        assert_eq!(
            outcome.refusal().map(|refusal| refusal.reason.as_ref()),
            Some("stale"),
            "{tool}: {outcome:?}"
        );
        assert_eq!(rig.files(), "a.md: one\n--- b.md: [[a]] by hand");
    }
}

#[test]
fn the_version_of_one_answer_fits_the_next_edit() {
    let rig = rig("a.md: one");
    let outcome = rig.call("append_to_file", json!({"path": "a.md", "content": "two"}), &Beforehand);
    let data = outcome.output().unwrap().data.clone();
    assert_eq!(
        (&data["path"], &data["created"], &data["previousSizeInBytes"], &data["currentSizeInBytes"]),
        (&json!("a.md"), &json!(false), &json!(3), &json!(7))
    );
    let version = data["version"].as_str().unwrap();
    assert_eq!(version, vault::note::outline::version("one\ntwo"));
    done(&rig, "edit_file", json!({"path": "a.md", "old_str": "one", "new_str": "1", "ifMatch": version}));
    let stale = json!({"path": "a.md", "updates": {"k": 1}, "ifMatch": version});
    assert_eq!(refused(&rig, "update_frontmatter", stale), "version_mismatch");
}

#[test]
fn an_ignored_note_looks_like_one_that_is_not_there() {
    let with = rig("P/a.md: secret\n--- b.md: [[a]]\n--- .vergerignore: P/\n");
    let without = rig("b.md: [[a]]\n--- .vergerignore: P/\n");
    for (tool, input) in [
        ("edit_file", json!({"path": "P/a.md", "old_str": "secret", "new_str": "x"})),
        ("write_file", json!({"path": "P/a.md", "content": "x"})),
        ("append_to_file", json!({"path": "P/a.md", "content": "x"})),
        ("delete_file", json!({"path": "P/a.md"})),
        ("create_folder", json!({"path": "P"})),
        ("move_file", json!({"source": "P/a.md", "destination": "c.md"})),
        ("move_file", json!({"source": "b.md", "destination": "P/a.md"})),
        ("move_file", json!({"source": "b.md", "destination": "P"})),
        ("update_frontmatter", json!({"path": "P/a.md", "updates": {"k": 1}})),
        ("batch_files", json!({"operations": [{"op": "move", "glob": "a.md", "destination": "F"}]})),
        ("batch_files", json!({"operations": [{"op": "rename", "path": "P/a.md", "new_name": "c"}]})),
    ] {
        let answer = |rig: &Rig| match rig.call(tool, input.clone(), &Beforehand) {
            Outcome::Refused(refusal) => refusal.to_string(),
            other => panic!("{tool}: {other:?}"),
        };
        assert_eq!(answer(&with), answer(&without), "{tool} {input}");
    }
}

#[test]
fn what_is_out_of_scope_is_not_taken_back_in_part() {
    let mut rig = rig("a.md: 1\n--- P/b.md: 1\n--- P/c.md: 1");
    done(&rig, "write_file", json!({"path": "a.md", "content": "2"}));
    let hidden = done(&rig, "write_file", json!({"path": "P/b.md", "content": "2"}));
    let deleted = done(&rig, "delete_file", json!({"path": "P/c.md"}));
    rig.task.limits.read = vault::policy::Limits::parse_list("a.md").unwrap();
    assert_eq!(refused(&rig, "restore_checkpoint", json!({"commitOid": hidden})), "checkpoint_missing");
    assert_eq!(refused(&rig, "restore_checkpoint", json!({"commitOid": deleted})), "checkpoint_missing");
    let task = json!({"commitOid": "task-1", "mode": "task"});
    assert_eq!(refused(&rig, "restore_checkpoint", task), "checkpoint_forbidden");
    assert_eq!(rig.files(), "P/b.md: 2\n--- a.md: 2");
}

#[test]
fn a_delete_works_and_is_undone_where_the_trash_may_not_be_read() {
    let mut rig = rig("F/a.md: 1\n--- .trash/a.md: old");
    rig.task.limits.read = vault::policy::Limits::parse_list("F").unwrap();
    let id = done(&rig, "delete_file", json!({"path": "F/a.md"}));
    assert_eq!(rig.bytes(".trash/a 1.md"), b"1");
    done(&rig, "restore_checkpoint", json!({"commitOid": id}));
    assert_eq!(rig.bytes("F/a.md"), b"1");
}

#[test]
fn a_bad_restore_is_refused_with_what_to_do() {
    let rig = rig("a.md: 1");
    let id = done(&rig, "write_file", json!({"path": "a.md", "content": "2"}));
    for (input, reason) in [
        (json!({"commitOid": "zzz"}), "checkpoint_missing"),
        (json!({"commitOid": ""}), "checkpoint_missing"),
        (json!({"commitOid": id, "path": "b.md"}), "checkpoint_file_missing"),
        (json!({"commitOid": id, "mode": "file"}), "input_invalid"),
        (json!({"commitOid": id, "path": "a.md", "mode": "task"}), "input_invalid"),
        (json!({"commitOid": "other", "mode": "task"}), "task_missing"),
    ] {
        assert_eq!(refused(&rig, "restore_checkpoint", input.clone()), reason, "{input}");
    }
}

#[test]
fn a_thousand_renames_are_one_batch() {
    let note = |n: usize| format!("n{n}.md: [[n{}]]", (n + 1) % 1_000);
    let rig = rig(&(0..1_000).map(note).collect::<Vec<_>>().join("\n--- "));
    let before = rig.files();
    let rename = json!({"op": "rename", "glob": "*.md", "find": "^n", "replace": "note "});
    let id = done(&rig, "batch_files", json!({"operations": [rename]}));
    assert!(rig.files().contains("note 999.md: [[note 0]]"));
    done(&rig, "restore_checkpoint", json!({"commitOid": id}));
    assert_eq!(rig.files(), before);
}
