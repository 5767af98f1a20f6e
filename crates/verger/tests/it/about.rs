//! `help`, `man`, `completions`, `tools`, `docs`, versions: about the program itself.

use crate::rig::Rig;

#[test]
fn completions_and_the_manual_are_there() {
    let rig = Rig::empty();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = rig.ok(&["completions", shell]);
        assert!(script.contains("verger") && script.contains("checkpoints"), "{shell}");
    }
    let man = rig.ok(&["man"]);
    for word in [".TH verger 1", "EXIT STATUS", "VERGER UNDO", "dry\\-run"] {
        assert!(man.contains(word), "{word}");
    }
}

#[test]
fn help_explains_every_command_and_the_exit_codes() {
    let rig = Rig::empty();
    let help = rig.ok(&["--help"]);
    for command in [
        "init",
        "doctor",
        "read",
        "ls",
        "search",
        "tags",
        "links",
        "daily",
        "health",
        "new",
        "append",
        "mv",
        "rm",
        "undo",
        "history",
        "diff",
        "checkpoints",
        "audit",
        "grants",
        "agents",
        "skills",
        "trust",
        "check",
        "tool",
        "tools",
        "mcp",
        "docs",
        "completions",
        "man",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        assert!(rig.ok(&["help", command]).contains("Usage: verger"), "{command}");
        assert!(rig.ok(&[command, "--help"]).contains("--json"), "{command}");
    }
    assert!(rig.ok(&["help", "exit-codes"]).contains("3  not approved"));
    assert!(rig.ok(&["--version"]).starts_with("verger "));
    let nothing = rig.run(&[]);
    assert_eq!((nothing.code, nothing.out.as_str()), (2, ""));
    assert!(nothing.err.contains("Usage"), "{nothing:?}");
}

#[test]
fn tools_and_docs_are_listed_without_a_vault() {
    let rig = Rig::empty();
    assert!(rig.ok(&["tools"]).contains("read_file  answers  path"));
    let tools = rig.json(&["tools"]);
    assert!(tools["data"]["tools"].as_array().unwrap().len() > 10);
    assert!(rig.ok(&["docs", "tools"]).starts_with("# Tools\n"));
    assert!(rig.ok(&["docs", "config"]).contains("| `limits.read_only` |"));
}

#[test]
fn a_full_disk_behind_stdout_is_an_error_and_a_closed_pipe_is_none() {
    let rig = Rig::tour();
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        let output = rig.command(&["read", "Inbox"]).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("could not be written"));
    }
    let mut child = rig.command(&["search", "e"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
