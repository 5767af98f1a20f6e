//! `check` and `audit verify`: exit code 4 where something is wrong, and each problem named.

use crate::rig::Rig;

fn with_history() -> Rig {
    let rig = Rig::tour();
    for text in ["one", "two", "three"] {
        rig.ok(&["append", "Inbox", text, "-y"]);
    }
    rig
}

#[test]
fn a_healthy_store_passes() {
    let rig = with_history();
    assert!(rig.ok(&["check"]).starts_with("ok: 3 checkpoints"));
    assert!(rig.ok(&["check", "--read-data"]).starts_with("ok: 3 checkpoints"));
    assert_eq!(rig.json(&["check"])["data"]["problems"], serde_json::json!([]));
    assert!(rig.ok(&["audit", "verify"]).starts_with("ok: "));
}

#[test]
fn a_changed_and_a_missing_audit_line_are_found() {
    let rig = with_history();
    let file = rig.data().join("audit.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("Inbox.md", "Other.md", 1)).unwrap();
    for arguments in [&["check"][..], &["audit", "verify"]] {
        let said = rig.run(arguments);
        assert_eq!(said.code, 4, "{said:?}");
        assert!(said.out.contains("line 1 was changed"), "{said:?}");
        assert!(said.err.contains("error: ") && said.err.contains("hint: "), "{said:?}");
    }
    let json = rig.run(&["check", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, &value["error"]["reason"]), (4, &"problems_found".into()));
    assert!(!value["error"]["data"]["problems"].as_array().unwrap().is_empty(), "{value}");
    let without: String =
        text.lines().filter(|line| !line.contains("\"hash\"") || !line.contains("append")).collect();
    std::fs::write(&file, without).unwrap();
    assert_eq!(rig.run(&["history"]).code, 0, "the next start writes the missing lines again");
    std::fs::write(&file, text.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    assert!(rig.run(&["check"]).out.contains("does not follow from the line before"));
}

#[test]
fn an_audit_that_was_cut_at_its_end_is_found_by_the_next_commit_before_the_cut() {
    let rig = with_history();
    rig.run(&["read", "Nowhere"]);
    rig.ok(&["append", "Inbox", "four", "-y"]);
    let file = rig.data().join("audit.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let kept: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, kept).unwrap();
    let said = rig.run(&["check"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.out.contains("lines were cut off"), "{said:?}");
}

#[test]
fn a_damaged_store_is_named_refuses_writes_and_is_repaired() {
    let rig = with_history();
    let file = rig.data().join("checkpoints.log");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    let said = rig.run(&["check", "--read-data"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.contains("verger check --repair"), "{said:?}");
    assert_eq!(rig.run(&["append", "Inbox", "x", "-y"]).code, 1, "no checkpoint, no write");
    assert_eq!(rig.ok(&["read", "Inbox"]), rig.read("Inbox.md"), "reading still works");
    rig.run(&["check", "--repair"]);
    rig.ok(&["append", "Inbox", "x", "-y"]);
    rig.ok(&["undo", "-y"]);
}
