//! `verger mcp install`: the settings of every client, with what people have in them.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::rig::Rig;

/// A client, its file below the home or the configuration folder, what a user has there, and a part that must come out.
const CLIENTS: [(&str, &str, &str, &str); 8] = [
    (
        "claude-desktop",
        "config/Claude/claude_desktop_config.json",
        "{\n  \"globalShortcut\": \"\",\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"npx\", \"env\": {\"KEY\": \"s\\\"}{\"}}\n  }\n}\n",
        "\"mcpServers\": {\n    \"fs\"",
    ),
    (
        "claude-code",
        "home/.claude.json",
        "{\"numStartups\": 3, \"projects\": {\"/x\": {\"mcpServers\": {}}}}",
        "\"type\":\"stdio\"",
    ),
    ("cursor", "home/.cursor/mcp.json", "{\r\n\t\"mcpServers\": {}\r\n}", "\r\n\t\t\"verger\": {\r\n"),
    (
        "vscode",
        "config/Code/User/mcp.json",
        "// servers\n{\n    \"servers\": {\n        \"gh\": {\"url\": \"https://x\",}, // mine\n    },\n    \"inputs\": [],\n}\n",
        "\"type\": \"stdio\"",
    ),
    (
        "zed",
        "config/zed/settings.json",
        "// Zed\n{\n  \"theme\": \"One\", /* dark? */\n  \"lsp\": { \"rust-analyzer\": {} },\n}\n",
        "\"context_servers\": {",
    ),
    (
        "goose",
        "config/goose/config.yaml",
        "GOOSE_PROVIDER: x # mine\nextensions:\n  developer:\n    enabled: true # yes\n    type: builtin\n",
        "cmd: \"",
    ),
    (
        "codex",
        "home/.codex/config.toml",
        "model = \"o\" # mine\n\n[mcp_servers.docs]\ncommand = 'npx'\n\n[tui]\nx = 1\n",
        "[mcp_servers.verger]",
    ),
    (
        "windsurf",
        "home/.codeium/windsurf/mcp_config.json",
        "{\"mcpServers\": {\"a\": {\"serverUrl\": \"https://x\"}}}",
        ", \"verger\": {",
    ),
];

fn written(rig: &Rig, file: &str) -> String {
    std::fs::read_to_string(rig.path(file)).unwrap()
}

fn put(rig: &Rig, file: &str, text: &str) -> PathBuf {
    let path = rig.path(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn every_client_gets_its_entry_and_keeps_everything_else() {
    for (client, file, before, part) in CLIENTS {
        let rig = Rig::tour();
        let path = put(&rig, file, before);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        rig.ok(&["mcp", "install", client, "--read-only"]);
        let after = written(&rig, file);
        assert!(after.contains(part), "{client}: {after}");
        for word in ["verger", "mcp", "--vault", "--read-only", rig.root().to_str().unwrap()] {
            assert!(after.contains(word), "{client}: no {word} in {after}");
        }
        // Every line that the user wrote is still there, but for a comma behind it.
        let lines: Vec<&str> = after.lines().collect();
        for line in before.lines().filter(|_| before.lines().count() > 1) {
            let is = |other: &&str| {
                *other == line
                    || *other == format!("{line},")
                    || other.starts_with(line.trim_end_matches(['{', '}', ' ']))
            };
            assert!(lines.iter().any(&is), "{client}: {line:?} is gone from {after}");
        }
        assert_eq!(written(&rig, &format!("{file}.before-verger")), before, "{client}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640, "{client}");
        // Twice is as once, and the backup is still that of the change.
        rig.ok(&["mcp", "install", client, "--read-only"]);
        assert_eq!(written(&rig, file), after, "{client}");
        assert_eq!(written(&rig, &format!("{file}.before-verger")), before, "{client}");
        // Other flags replace the entry; there are never two.
        rig.ok(&["mcp", "install", client]);
        let changed = written(&rig, file);
        assert!(!changed.contains("--read-only") && changed.contains("--vault"), "{client}: {changed}");
        rig.ok(&["mcp", "install", client, "--remove"]);
        let removed = written(&rig, file);
        assert!(!removed.contains("verger"), "{client}: {removed}");
        if !["zed", "claude-code", "cursor"].contains(&client) {
            assert_eq!(removed.trim_end(), before.trim_end(), "{client}: the old bytes are back");
        }
        rig.ok(&["mcp", "install", client, "--remove"]);
        assert_eq!(written(&rig, file), removed, "{client}");
    }
}

#[test]
fn a_client_without_settings_gets_a_new_file_that_it_can_read() {
    for (client, file, ..) in CLIENTS {
        let rig = Rig::tour();
        rig.ok(&["mcp", "install", client, "--name", "notes"]);
        let text = written(&rig, file);
        assert!(text.contains("notes") && text.ends_with('\n'), "{client}: {text}");
        if file.ends_with("json") {
            let value: Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{client}: {error}: {text}"));
            let entry = value.as_object().unwrap().values().next().unwrap()["notes"].clone();
            assert!(entry["command"].as_str().unwrap().ends_with("verger"), "{client}: {text}");
            assert_eq!(entry["args"][0], "mcp");
        }
        assert!(!rig.path(&format!("{file}.before-verger")).exists(), "{client}");
    }
}

#[test]
fn print_changes_nothing_and_needs_no_file() {
    for (client, file, before, part) in CLIENTS {
        let rig = Rig::tour();
        put(&rig, file, before);
        let shown = rig.ok(&["mcp", "install", client, "--print"]);
        assert!(shown.contains("--vault"), "{client}: {shown} {part}");
        assert_eq!(written(&rig, file), before, "{client}");
        assert!(!rig.path(&format!("{file}.before-verger")).exists(), "{client}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone_and_the_place_is_named() {
    for (client, broken, place) in [
        ("claude-desktop", "{\"mcpServers\": {},}", "line 1, column 19"),
        ("claude-code", "// no comments here\n{}", "line 1, column 1"),
        ("cursor", "{\n  \"mcpServers\": {\n", "line 3, column 1"),
        ("vscode", "{ /* open", "line 1, column 3"),
        ("zed", "{\"context_servers\": 3}", "line 1, column 21"),
        ("goose", "extensions: [1\nx: 2\n", "line"),
        ("codex", "a = 1\na = 2\n", "line 2"),
        ("windsurf", "null", "line 1, column 1"),
    ] {
        let rig = Rig::tour();
        let file = CLIENTS.iter().find(|(name, ..)| *name == client).unwrap().1;
        put(&rig, file, broken);
        for more in [&[][..], &["--remove"]] {
            let said = rig.run(&[&["mcp", "install", client], more].concat());
            assert_eq!(said.code, 1, "{client}: {said:?}");
            assert!(said.err.contains(place) && said.err.contains("--print"), "{client}: {said:?}");
            assert_eq!(written(&rig, file), broken, "{client}");
        }
        let left: Vec<_> = std::fs::read_dir(rig.path(file).parent().unwrap()).unwrap().collect();
        assert!(
            left.iter().all(|entry| !entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .contains("verger"))
        );
    }
    let rig = Rig::tour();
    let path = put(&rig, "home/.cursor/mcp.json", "");
    std::fs::write(&path, b"{\"a\": \"\xff\"}").unwrap();
    assert!(rig.run(&["mcp", "install", "cursor"]).err.contains("byte 7"));
}

#[test]
fn links_several_vaults_and_odd_names_are_taken_care_of() {
    let rig = Rig::tour();
    // Settings kept in a folder of dot files stay there.
    let real = put(&rig, "dots/mcp.json", "{}");
    std::fs::create_dir_all(rig.path("home/.cursor")).unwrap();
    std::os::unix::fs::symlink(&real, rig.path("home/.cursor/mcp.json")).unwrap();
    let other = rig.path("Other \"vault\"");
    std::fs::create_dir(&other).unwrap();
    let root = rig.root();
    rig.ok(&[
        "mcp",
        "install",
        "cursor",
        "--vault",
        root.to_str().unwrap(),
        "--vault",
        other.to_str().unwrap(),
    ]);
    assert!(std::fs::symlink_metadata(rig.path("home/.cursor/mcp.json")).unwrap().is_symlink());
    let value: Value = serde_json::from_str(&std::fs::read_to_string(&real).unwrap()).unwrap();
    assert_eq!(value["mcpServers"]["verger"]["args"][4], other.to_str().unwrap());
    for name in ["", "a b", "x\"y", "ü"] {
        assert_eq!(rig.run(&["mcp", "install", "cursor", "--name", name]).code, 2, "{name}");
    }
    assert_eq!(rig.run(&["mcp", "install", "nope"]).code, 2);
    assert_eq!(rig.run(&["mcp", "install", "cursor", "--vault", "/no/such/vault"]).code, 1);
    rig.ok(&["mcp", "install", "zed", "--config", rig.path("z.json").to_str().unwrap()]);
    assert!(rig.path("z.json").exists());
}

#[test]
fn what_was_installed_starts_and_serves() {
    let rig = Rig::tour();
    rig.ok(&["mcp", "install", "claude-desktop"]);
    let text = written(&rig, "config/Claude/claude_desktop_config.json");
    let entry = serde_json::from_str::<Value>(&text).unwrap()["mcpServers"]["verger"].take();
    let arguments: Vec<&str> =
        entry["args"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert_eq!(entry["command"], env!("CARGO_BIN_EXE_verger"));
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let said = rig.with_stdin(&arguments, ping);
    assert!(said.out.contains("\"id\":1"), "{said:?}");
}
