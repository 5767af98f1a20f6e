//! `new`, `append`, `mv`, `rm`, `tool`, `grants`: who may write, and what it does.

use crate::rig::Rig;

#[test]
fn without_a_terminal_and_without_yes_nothing_is_written() {
    let rig = Rig::tour();
    let before = rig.bytes();
    for arguments in [
        &["append", "Inbox", "x"][..],
        &["new", "Idea"],
        &["mv", "Slugs", "Snails"],
        &["rm", "Slugs"],
        &["daily", "--create"],
        &["tool", "write_file", "--input", r#"{"path":"Inbox.md","content":"gone"}"#],
    ] {
        let said = rig.run(arguments);
        assert_eq!(said.code, 3, "{arguments:?} {said:?}");
        assert_eq!(said.out, "", "{arguments:?}");
        assert!(said.err.contains("add --yes") && said.err.contains("verger grants add --tool"), "{said:?}");
        let json = rig.run(&[arguments, &["--json"]].concat());
        let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(
            (json.code, &value["ok"], &value["error"]["reason"]),
            (3, &false.into(), &"denied".into())
        );
    }
    assert_eq!(rig.bytes(), before);
}

#[test]
fn a_note_is_made_added_to_moved_and_removed() {
    let rig = Rig::tour();
    rig.ok(&["new", "Ideas/A thought", "--content", "# A thought\n", "--yes"]);
    assert_eq!(rig.read("Ideas/A thought.md"), "# A thought\n");
    rig.ok(&["append", "A thought", "- more", "-y"]);
    assert_eq!(rig.read("Ideas/A thought.md"), "# A thought\n- more\n");
    let said = rig.with_stdin(&["append", "A thought", "-", "-y"], "- from a pipe\n");
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(rig.read("Ideas/A thought.md"), "# A thought\n- more\n- from a pipe\n");
    rig.ok(&["append", "Inbox", "see [[A thought]]", "-y"]);
    rig.ok(&["mv", "A thought", "Garden/Another thought", "-y"]);
    assert!(!rig.has("Ideas/A thought.md"));
    assert!(rig.read("Inbox.md").contains("see [[Another thought]]"), "links follow");
    rig.ok(&["mv", "Another thought", "Ideas/", "-y"]);
    assert!(rig.has("Ideas/Another thought.md"));
    rig.ok(&["rm", "Another thought", "-y"]);
    assert!(!rig.has("Ideas/Another thought.md"));
    assert!(rig.has(".trash/Another thought.md") || rig.has(".trash/Ideas/Another thought.md"));
    let said = rig.with_stdin(&["new", "Piped.md", "--content", "-", "-y", "--json"], "all of it");
    let value: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(value["outcome"], "done");
    assert_eq!(value["changes"][0]["path"], "Piped.md");
    assert_eq!(rig.read("Piped.md"), "all of it");
}

#[test]
fn a_dry_run_shows_the_diff_and_changes_nothing() {
    let rig = Rig::tour();
    let before = rig.bytes();
    let shown = rig.ok(&["append", "Inbox", "- a new line", "--dry-run"]);
    assert!(shown.contains("+++ b/Inbox.md") && shown.contains("\n+- a new line\n"), "{shown}");
    let shown = rig.ok(&["mv", "Slugs", "Snails", "-n"]);
    assert!(shown.contains("> Garden/Slugs.md -> Snails.md") && shown.contains("[[Snails"), "{shown}");
    assert_eq!(rig.json(&["rm", "Slugs", "-n"])["outcome"], "shown");
    assert_eq!(rig.bytes(), before);
}

#[test]
fn a_note_that_is_there_is_not_made_again() {
    let rig = Rig::tour();
    let before = rig.bytes();
    let said = rig.run(&["new", "Inbox.md", "--content", "gone", "--yes"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("exists already") && said.err.contains("hint:"), "{said:?}");
    assert_eq!(rig.bytes(), before);
}

#[test]
fn a_grant_covers_its_tool_and_paths_until_it_is_taken_back() {
    let rig = Rig::tour();
    let added =
        rig.json(&["grants", "add", "--tool", "append_to_file", "--paths", "Journal/**", "--expires", "7d"]);
    let id = added["data"]["grant"]["id"].as_str().unwrap().to_owned();
    rig.ok(&["append", "Journal/2026-05-07.md", "- granted"]);
    assert_eq!(rig.run(&["append", "Inbox", "- not granted"]).code, 3);
    assert!(rig.ok(&["grants"]).contains("append_to_file on /Journal/**"));
    rig.ok(&["grants", "revoke", &id[..6]]);
    assert_eq!(rig.run(&["append", "Journal/2026-05-07.md", "- too late"]).code, 3);
    assert!(rig.ok(&["audit"]).contains(&format!("grant {id}")));
}

#[test]
fn what_the_protect_file_names_is_not_changed() {
    let rig = Rig::tour();
    let before = rig.bytes();
    let said = rig.run(&["append", "Templates/Daily.md", "x", "--yes"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("protected"), "{said:?}");
    assert_eq!(rig.bytes(), before);
}

#[test]
fn a_tool_takes_its_input_from_the_line_a_file_or_a_pipe() {
    let rig = Rig::tour();
    let input = r#"{"path": "Inbox.md"}"#;
    let direct = rig.json(&["tool", "read_file", "--input", input]);
    assert_eq!(direct["data"]["content"], rig.read("Inbox.md"));
    let piped = rig.with_stdin(&["tool", "read_file", "--input", "-", "--json"], input);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&piped.out).unwrap(), direct);
    std::fs::write(rig.path("home/call.json"), input).unwrap();
    let file = format!("@{}", rig.path("home/call.json").display());
    assert_eq!(rig.json(&["tool", "read_file", "-i", &file]), direct);
    assert!(rig.ok(&["tool", "get_vault_stats"]).contains("notes"), "a deferred tool works at once");
}

#[test]
fn the_vault_is_found_from_a_folder_in_it_by_option_and_by_config() {
    let rig = Rig::tour();
    let inside = rig.command(&["ls", "Journal"]).current_dir(rig.root().join("Garden")).output().unwrap();
    assert_eq!(inside.status.code(), Some(0));
    let root = rig.root().display().to_string();
    for arguments in [&["--vault", &root, "ls"][..], &["ls", "--vault", &root]] {
        let outside = rig.command(arguments).current_dir(rig.path("home")).output().unwrap();
        assert_eq!(outside.status.code(), Some(0), "{arguments:?}");
    }
    let lost = rig.command(&["ls"]).current_dir(rig.path("home")).output().unwrap();
    assert_eq!(lost.status.code(), Some(2));
    std::fs::create_dir_all(rig.path("config/verger")).unwrap();
    std::fs::write(rig.path("config/verger/config.toml"), format!("vault = {root:?}\n")).unwrap();
    let configured = rig.command(&["ls"]).current_dir(rig.path("home")).output().unwrap();
    assert_eq!(configured.status.code(), Some(0));
}
