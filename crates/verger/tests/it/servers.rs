//! Verger as a client of other MCP servers: the real binary, with itself as the other server.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::Rig;

/// A machine whose configuration names another Verger, over a vault of its own, as the server `other`.
fn rig() -> Rig {
    let rig = Rig::tour();
    let other = rig.path("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("There.md"), "# There\nfar away\n").unwrap();
    let config = format!(
        "[mcp.servers.other]\ncommand = {:?}\nargs = [\"mcp\", \"--vault\", {:?}]\nenv = {{ XDG_DATA_HOME = {:?}, KEY = \"secret\" }}\n",
        env!("CARGO_BIN_EXE_verger"),
        other,
        rig.path("other-data"),
    );
    put_config(&rig, &config);
    rig
}

fn put_config(rig: &Rig, text: &str) {
    std::fs::create_dir_all(rig.path("config/verger")).unwrap();
    std::fs::write(rig.path("config/verger/config.toml"), text).unwrap();
}

#[test]
fn another_server_is_listed_tested_read_and_called() {
    let rig = rig();
    assert_eq!(rig.ok(&["mcp", "list"]), "other  stdio  verger  ready\n");
    let tested = rig.json(&["mcp", "test", "other"]);
    assert_eq!((&tested["data"]["tools"], &tested["data"]["revision"]), (&json!(16), &json!("2025-11-25")));
    assert!(rig.ok(&["mcp", "tools", "other"]).contains("obsidian_get_note: "));
    let read = rig.ok(&["mcp", "tools", "other", "obsidian_get_note"]);
    assert!(read.contains("input schema:"), "{read}");
    let input = json!({"server_name": "other", "tool_name": "obsidian_get_note",
                       "arguments": {"format": "content", "target": {"type": "path", "path": "There.md"}}});
    let call = ["tool", "use_mcp_tool", "--input", &input.to_string()];
    let denied = rig.run(&call);
    assert_eq!(denied.code, 3, "nobody is there to ask: {denied:?}");
    let done = rig.ok(&[&call[..], &["--yes"]].concat());
    assert!(done.contains("far away"), "{done}");
    let audit = std::fs::read_to_string(rig.data().join("audit.jsonl")).unwrap();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<&str> = lines
        .iter()
        .filter(|line| line["tool"] == "use_mcp_tool")
        .map(|line| line["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["denied", "started", "done"]);
    assert!(!audit.contains("secret") && !rig.ok(&["mcp", "list", "--json"]).contains("secret"));
    assert_eq!(rig.run(&["check"]).code, 0);
}

#[test]
fn a_server_of_the_vault_runs_only_after_a_person_trusted_it() {
    let rig = Rig::tour();
    let marker = rig.path("started");
    let file = json!({"mcpServers": {"v": {"command": "sh", "args": ["-c", format!("touch {}", marker.display())]}}});
    rig.write(".mcp.json", &file.to_string());
    assert_eq!(rig.ok(&["mcp", "list"]), "v  stdio  sh  untrusted\n");
    for command in [&["mcp", "test", "v"][..], &["mcp", "tools", "v"]] {
        let said = rig.run(command);
        assert!(said.code == 1 && said.err.contains("verger mcp trust v"), "{said:?}");
    }
    assert_eq!(rig.run(&["mcp", "trust", "v"]).code, 3, "without a person nobody trusts it");
    assert!(!marker.exists(), "nothing was started");
    let trusted = rig.run(&["mcp", "trust", "v", "--yes"]);
    assert!(trusted.code == 0 && trusted.err.contains("touch"), "{trusted:?}");
    let said = rig.run(&["mcp", "test", "v"]);
    assert!(said.code == 1 && said.err.contains("ended before it answered"), "{said:?}");
    assert!(marker.exists());
}

#[test]
fn the_tools_of_other_servers_are_not_offered_where_nobody_asks() {
    let rig = rig();
    let listed = |arguments: &[&str]| {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let said = rig.with_stdin(&[&["mcp"], arguments].concat(), &format!("{hello}\n{ready}\n{list}\n"));
        said.out.contains("\"use_mcp_tool\"")
    };
    assert!(!listed(&["--surface", "agent"]));
    assert!(!listed(&["--ask"]));
    assert!(listed(&["--surface", "agent", "--ask"]));
}

/// What `ps` would say: whether a process of this id runs (a zombie does not).
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

#[test]
fn a_verger_that_is_killed_leaves_the_start_of_the_act_in_the_audit_and_no_server_behind() {
    if !std::path::Path::new("/proc/self/stat").exists() {
        println!("skipped: no /proc");
        return;
    }
    let rig = Rig::tour();
    let marker = rig.path("pid");
    // A server that never answers, and does not end when its stdin does.
    let script = format!("echo $$ > {}; exec sleep 300", marker.display());
    put_config(&rig, &format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n"));
    let mut verger =
        rig.command(&["mcp", "tools", "s"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    let process = loop {
        let text = std::fs::read_to_string(&marker).unwrap_or_default();
        if text.ends_with('\n') {
            break text.trim().to_owned();
        }
        assert!(start.elapsed() < Duration::from_secs(30), "the server was not started");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(runs(&process));
    verger.kill().unwrap();
    verger.wait().unwrap();
    let start = Instant::now();
    while runs(&process) {
        assert!(start.elapsed() < Duration::from_secs(10), "the server outlived verger");
        std::thread::sleep(Duration::from_millis(20));
    }
    let audit = std::fs::read_to_string(rig.data().join("audit.jsonl")).unwrap();
    let last: Value = serde_json::from_str(audit.lines().last().unwrap()).unwrap();
    assert_eq!((&last["tool"], &last["outcome"]), (&json!("read_mcp_tool"), &json!("started")));
    assert_eq!(rig.run(&["check"]).code, 0);
}
