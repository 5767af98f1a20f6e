//! The question at a real terminal (made by `script`; skipped where that is not installed).

use std::io::Write;
use std::process::{Command, Stdio};

use crate::rig::Rig;

/// Runs a command at a terminal and types; what the screen shows, or `None` without `script`.
fn at_terminal(rig: &Rig, arguments: &str, typed: &str) -> Option<String> {
    let plain = rig.command(&[]);
    let line = format!("{} {arguments}", plain.get_program().to_string_lossy());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(rig.root()).env_clear();
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap());
    }
    command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        println!("`script` is not here; skipped");
        return None;
    };
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}

#[test]
fn the_person_sees_the_diff_and_decides() {
    let rig = Rig::tour();
    let start = rig.read("Inbox.md");
    let append = "append Inbox '- asked'";
    let Some(screen) = at_terminal(&rig, append, "n wrong note\n") else { return };
    assert!(screen.contains("\u{1b}[32m+- asked\u{1b}[0m"), "{screen}");
    assert!(screen.contains("a = always for: append_to_file on /Inbox.md"), "{screen}");
    assert!(screen.contains("was not approved: wrong note"), "{screen}");
    assert_eq!(rig.read("Inbox.md"), start);
    for no in ["\n", "\u{1b}\n", "\u{4}", "what?\nhm\nso\n"] {
        let screen = at_terminal(&rig, append, no).unwrap();
        assert!(screen.contains("was not approved"), "{no:?}: {screen}");
        assert_eq!(rig.read("Inbox.md"), start, "{no:?}");
    }
    at_terminal(&rig, append, "y\n").unwrap();
    assert_eq!(rig.read("Inbox.md"), format!("{start}- asked\n"));
    assert_eq!(rig.run(&["append", "Inbox", "more"]).code, 3, "once is once");
    at_terminal(&rig, "undo", "y\n").unwrap();
    assert_eq!(rig.read("Inbox.md"), start);
}

#[test]
fn always_is_kept_as_a_grant_for_that_rule_only() {
    let rig = Rig::tour();
    if at_terminal(&rig, "append Inbox one", "a\n").is_none() {
        return;
    }
    rig.ok(&["append", "Inbox", "two"]);
    assert_eq!(rig.run(&["append", "Start", "two"]).code, 3);
    assert!(rig.ok(&["grants"]).contains("append_to_file on /Inbox.md"));
}

#[test]
fn plain_mode_asks_with_numbers_and_sends_no_escapes() {
    let rig = Rig::tour();
    let Some(screen) = at_terminal(&rig, "append Inbox one --plain", "1\n") else { return };
    assert!(screen.contains("1. yes\n2. no\n3. always for: append_to_file on /Inbox.md\n"), "{screen}");
    assert!(!screen.contains('\u{1b}'), "{screen}");
    assert!(rig.read("Inbox.md").ends_with("one\n"));
}
