//! A note cannot speak to the terminal: what it holds is shown, not obeyed.

use crate::rig::{Rig, Said};

const EVIL: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}txt\rover\n";

fn forced(rig: &Rig, arguments: &[&str]) -> Said {
    Said::from(rig.command(arguments).env("CLICOLOR_FORCE", "1").output().unwrap())
}

/// Without our own colours, nothing that a terminal obeys may be left.
#[track_caller]
fn is_tame(text: &str) {
    let mut rest = text.to_owned();
    for code in ["0", "1", "2", "31", "32", "33", "36"] {
        rest = rest.replace(&format!("\u{1b}[{code}m"), "");
    }
    let bad: Vec<char> =
        rest.chars().filter(|c| (c.is_control() && *c != '\n' && *c != '\t') || *c == '\u{202e}').collect();
    assert!(bad.is_empty(), "{bad:?} in {rest:?}");
}

#[test]
fn control_characters_are_shown_on_a_terminal_and_in_plain_mode() {
    let rig = Rig::tour();
    rig.write("Evil.md", EVIL);
    rig.write("Linked.md", &format!("#evil\nneedle {EVIL}[[Evil]]\n"));
    for arguments in [
        &["read", "Evil"][..],
        &["search", "needle"],
        &["search", "over", "-C", "1"],
        &["append", "Evil", "\u{1b}[31mx", "--dry-run"],
        &["rm", "Evil", "-n"],
        &["links", "Linked"],
        &["health"],
        &["tool", "read_file", "--input", "{\"path\":\"Evil.md\"}"],
    ] {
        let said = forced(&rig, arguments);
        assert_eq!(said.code, 0, "{arguments:?} {said:?}");
        is_tame(&said.out);
        is_tame(&said.err);
        let plain = rig.run(&[arguments, &["--plain"]].concat());
        is_tame(&plain.out);
        assert!(!plain.out.contains('\u{1b}'), "{arguments:?}: no colour in plain mode");
    }
    assert!(
        forced(&rig, &["append", "Evil", "x", "-n"]).out.contains("\u{1b}[32m+x"),
        "our own colours are there"
    );
}

#[test]
fn a_program_that_reads_gets_every_byte() {
    let rig = Rig::tour();
    rig.write("Evil.md", EVIL);
    assert_eq!(rig.ok(&["read", "Evil"]), EVIL);
    assert_eq!(rig.json(&["read", "Evil"])["data"]["content"], EVIL);
    assert!(!rig.ok(&["read", "Evil", "--json"]).contains('\u{1b}'), "JSON escapes it");
}

#[test]
fn errors_that_name_a_note_are_tame() {
    let rig = Rig::tour();
    let said = forced(&rig, &["read", "no\u{1b}[31m such\u{7} note"]);
    assert_ne!(said.code, 0);
    is_tame(&said.err);
    let said = forced(&rig, &["tool", "no\u{1b}[31mtool"]);
    assert_ne!(said.code, 0);
    is_tame(&said.err);
    let said = forced(&rig, &["\u{1b}[31mfoo"]);
    assert_eq!(said.code, 2);
    is_tame(&said.err);
}

#[test]
fn colour_is_off_unless_wanted() {
    let rig = Rig::tour();
    assert!(!rig.ok(&["search", "quince"]).contains('\u{1b}'));
    assert!(forced(&rig, &["search", "quince"]).out.contains("\u{1b}["));
    let output =
        rig.command(&["search", "quince"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains('\u{1b}'));
    assert!(!forced(&rig, &["search", "quince", "--plain"]).out.contains('\u{1b}'));
}
