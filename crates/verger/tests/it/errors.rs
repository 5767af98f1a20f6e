//! Seeded mistakes: each names its cause and the next step, ends with its code, and shows no panic.

use crate::rig::{Rig, Said};

/// What was typed, the exit code, and words that the message and the hint must hold.
const MISTAKES: [(&[&str], i32, &str, &str); 39] = [
    (&["raed", "Inbox"], 2, "raed", "read"),
    (&["read"], 2, "<NOTE>", "usage: verger read"),
    (&["read", "Inbox", "--jsn"], 2, "--jsn", "--json"),
    (&["read", "Inbx"], 1, "no `Inbx", "Inbox.md"),
    (&["read", "Nothing like it at all"], 1, "there is no", "search"),
    (&["read", ""], 1, "not a path", ""),
    (&["read", "../outside.md"], 1, "outside.md", ""),
    (&["read", "/etc/passwd"], 1, "passwd", ""),
    (&["read", ".env"], 1, "may not be read", "hidden"),
    (&["read", "Attachments/bed-plan.png"], 1, "not a text file", "moved or deleted"),
    (&["read", "Start#No such heading"], 1, "No such heading", ""),
    (&["read", "Attachments"], 1, "is a folder", "list the folder"),
    (&["ls", "Gardn"], 1, "Gardn", ""),
    (&["ls", "Inbox.md"], 1, "not a folder", "name a folder"),
    (&["search", "-e", "("], 1, "regular expression", ""),
    (&["search", "x", "--in", "Nowhere"], 1, "Nowhere", ""),
    (&["health", "--kind", "brokn"], 1, "brokn", "kind"),
    (&["daily", "--offset", "soon"], 2, "soon", "verger help daily"),
    (&["new", "a/../../b", "-y"], 1, "path", ""),
    (&["new", ".git/hooks/x.md", "-y"], 1, "hidden", "version control"),
    (&["new", "Inbox", "-y"], 1, "exists already", "verger append"),
    (&["append", "Inbx", "x", "-y"], 1, "Inbx", "Inbox.md"),
    (&["append", "Inbox"], 2, "<TEXT>", "usage"),
    (&["mv", "Slugs", "Inbox.md", "-y"], 1, "exists already", "another name"),
    (&["mv", "Sluggs", "x", "-y"], 1, "Sluggs", ""),
    (&["rm", "Garden/", "-y"], 1, "not empty", ""),
    (&["undo", "ffff", "-y"], 1, "no checkpoint", ""),
    (&["undo", "--task", "nope", "-y"], 1, "nope", ""),
    (&["undo", "--last", "0"], 2, "0", "verger help undo"),
    (&["undo", "ab", "--last", "2"], 2, "--last", "usage"),
    (&["diff", "ffff"], 1, "no checkpoint", ""),
    (&["tool", "raed_file"], 1, "no tool `raed_file`", "did you mean `read_file`?"),
    (&["tool", "xyzzy"], 1, "no tool `xyzzy`", "verger tools"),
    (&["tool", "read_file", "--input", "{path}"], 2, "not JSON", "--input"),
    (&["tool", "read_file", "--input", "{\"pth\":\"a\"}"], 1, "pth", "did you mean `path`?"),
    (&["tool", "read_file", "--input", "@/no/such/file"], 2, "/no/such/file", "path behind @"),
    (&["grants", "add", "--tool", "read_file", "--paths", "**"], 2, "needs no grant", "verger tools"),
    (&["grants", "add", "--tool", "write_file", "--paths", "**", "--expires", "soon"], 2, "soon", "7d"),
    (&["grants", "revoke", "ffff"], 1, "no grant `ffff`", "list the grants"),
];

#[track_caller]
fn check(what: &str, said: &Said, code: i32, cause: &str, hint: &str) {
    assert_eq!(problem(said, code, cause, hint), None, "{what}: {said:?}");
}

/// What is wrong with how a mistake was told.
fn problem(said: &Said, code: i32, cause: &str, hint: &str) -> Option<&'static str> {
    let line = |start: &str| said.err.lines().find(|line| line.starts_with(start));
    let (error, way) = (line("error: ").unwrap_or_default(), line("hint: ").unwrap_or_default());
    let alarming = ["panicked", "RUST_BACKTRACE", "called `", "Os {", "unwrap"];
    match () {
        () if said.code != code => Some("the exit code"),
        () if error.is_empty() || !error.contains(cause) => Some("the cause"),
        () if way.len() < "hint: ".len() + 5 || !way.contains(hint) => Some("the hint"),
        () if alarming.iter().any(|word| said.err.contains(word)) => Some("an alarming word"),
        () => None,
    }
}

#[test]
fn each_mistake_names_its_cause_and_the_next_step() {
    let rig = Rig::tour();
    let before = rig.bytes();
    let mut problems = Vec::new();
    for (arguments, code, cause, hint) in MISTAKES {
        let what = arguments.join(" ");
        let said = rig.run(arguments);
        let told = problem(&said, code, cause, hint).or((!said.out.is_empty()).then_some("stdout is data"));
        problems.extend(told.map(|problem| format!("{what}: {problem}: {said:?}")));
        let json = rig.run(&[arguments, &["--json"]].concat());
        let value: serde_json::Value = serde_json::from_str(&json.out).unwrap_or_default();
        let message = value["error"]["message"].as_str().unwrap_or_default();
        if json.code != code || value["ok"] != false || !message.contains(cause) {
            problems.push(format!("{what} --json: {json:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(rig.bytes(), before, "no mistake changed anything");
}

#[test]
fn an_argument_that_is_no_text_is_a_mistake_like_any_other() {
    use std::os::unix::ffi::OsStrExt;
    let rig = Rig::tour();
    for before in [&["read"][..], &["--vault"], &[]] {
        let odd = std::ffi::OsStr::from_bytes(b"x\xff");
        let said = Said::from(rig.command(before).arg(odd).output().unwrap());
        assert_eq!(problem(&said, 2, "", ""), None, "{before:?}: {said:?}");
    }
}

#[test]
fn mistakes_in_the_surroundings_are_named_too() {
    let rig = Rig::tour();
    let with = |name: &str, value: &str, arguments: &[&str]| {
        Said::from(rig.command(arguments).env(name, value).output().unwrap())
    };
    check("missing vault", &rig.run(&["ls", "--vault", "/no/such"]), 1, "does not exist", "--vault");
    check("vault is a file", &rig.run(&["ls", "--vault", "Inbox.md"]), 1, "not a folder", "--vault");
    check("relative data", &with("VERGER_DATA_DIR", "x", &["ls"]), 2, "VERGER_DATA_DIR", "whole path");
    check("read paths", &with("OBSIDIAN_READ_PATHS", "/etc", &["ls"]), 2, "OBSIDIAN_READ_PATHS", "commas");
    let lost = Said::from(rig.command(&["ls"]).current_dir(rig.path("home")).output().unwrap());
    check("no vault", &lost, 2, "no vault", "verger init PATH");
    std::fs::create_dir_all(rig.path("config/verger")).unwrap();
    for (text, cause, hint) in [
        ("vaults = \"x\"", "vaults", "did you mean `vault`?"),
        ("[limits]\nread = \"Notes\"", "limits.read", "verger docs config"),
        ("vault = ", "config.toml", "mend"),
    ] {
        std::fs::write(rig.path("config/verger/config.toml"), text).unwrap();
        check(text, &rig.run(&["ls"]), 2, cause, hint);
    }
    std::fs::remove_file(rig.path("config/verger/config.toml")).unwrap();
    rig.write(".verger/ignore", "[z-a]");
    check("broken rules", &rig.run(&["ls"]), 1, ".verger/ignore", "");
    std::fs::write(rig.path("data/verger"), "a file in the way").ok();
    let said = rig.with_stdin(&["tool", "read_file", "--input", "-"], "\u{0}");
    check("NUL on stdin", &said, 2, "not JSON", "--input");
}
