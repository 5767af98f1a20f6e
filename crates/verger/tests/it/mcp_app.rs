//! The running Obsidian beside the vault: commands, the open note, opening a note; and what happens when it misbehaves.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::rest_api::{Fault, Plugin};
use crate::rig::Rig;

fn reason(answer: &Value) -> &str {
    answer["structuredContent"]["error"]["data"]["reason"].as_str().unwrap_or_default()
}

#[test]
fn commands_are_listed_and_run_once_somebody_enabled_them() {
    let rig = Rig::tour();
    let plugin = Plugin::start();
    let mut client = Client::with(&rig, &[], &plugin.variables(), json!({}));
    let listed = client.call("obsidian_list_commands", json!({"nameRegex": "bold"}));
    assert_eq!(
        listed["structuredContent"]["commands"],
        json!([{"id": "editor:toggle-bold", "name": "Toggle bold"}])
    );
    let ran = client.call("obsidian_execute_command", json!({"commandId": "editor:toggle-bold"}));
    assert_eq!(
        ran["structuredContent"],
        json!({"commandId": "editor:toggle-bold", "executed": true}),
        "{ran}"
    );
    assert!(plugin.requests().contains(&"POST /commands/editor:toggle-bold/".to_owned()));
    let unknown = client.call("obsidian_execute_command", json!({"commandId": "../vault/x.md"}));
    assert_eq!(reason(&unknown), "command_unknown", "{unknown}");
    assert!(plugin.requests().iter().all(|request| request.starts_with("GET /commands/")));
    // Without the switch they are not there at all.
    let without: Vec<_> =
        plugin.variables().into_iter().filter(|(name, _)| *name != "OBSIDIAN_ENABLE_COMMANDS").collect();
    let mut client = Client::with(&rig, &["--all-tools"], &without, json!({}));
    assert!(!client.names().iter().any(|name| name.contains("command")));
}

#[test]
fn a_command_after_notes_were_read_needs_a_person() {
    let rig = Rig::empty();
    rig.write("a.md", "private");
    let plugin = Plugin::start();
    let read = json!({"format": "content", "target": {"type": "path", "path": "a.md"}});
    let run = json!({"name": "obsidian_execute_command", "arguments": {"commandId": "app:reload"}});
    let mut alone = Client::with(&rig, &[], &plugin.variables(), json!({}));
    alone.call("obsidian_get_note", read.clone());
    let denied = alone.request("tools/call", run.clone());
    assert_eq!(reason(&denied["result"]), "denied", "{denied}");
    let mut asked = Client::with(&rig, &[], &plugin.variables(), json!({"elicitation": {}}));
    asked.call("obsidian_get_note", read);
    for (answer, runs) in [
        (json!({"action": "decline"}), false),
        (json!({"action": "accept", "content": {"confirm": true}}), true),
    ] {
        plugin.requests();
        asked.send("tools/call", run.clone());
        let question = asked.message();
        assert!(question["params"]["message"].as_str().unwrap().contains("app:reload"), "{question}");
        asked.line(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}).to_string());
        let done = asked.message();
        assert_eq!(done["result"]["isError"], !runs, "{done}");
        assert_eq!(plugin.requests().iter().any(|request| request.starts_with("POST")), runs);
    }
}

#[test]
fn the_open_note_is_the_one_that_the_app_shows_unless_it_is_hidden() {
    let rig = Rig::empty();
    rig.write("a.md", "old");
    rig.write("F/b c.md", "shown");
    rig.write("Private/s.md", "secret");
    rig.write(".verger/ignore", "Private/\n");
    rig.write(
        ".obsidian/workspace.json",
        r#"{"active": "l", "main": {"id": "l", "state": {"state": {"file": "a.md"}}}}"#,
    );
    let plugin = Plugin::start();
    let mut client = Client::with(&rig, &[], &plugin.variables(), json!({}));
    let mut read =
        || client.call("obsidian_get_note", json!({"format": "content", "target": {"type": "active"}}));
    for (shown, expected) in [
        (Some("F/b c.md"), "shown"),
        (None, "old"),
        (Some("Private/s.md"), "old"),
        (Some("gone.md"), "old"),
        (Some("../../etc/passwd"), "old"),
    ] {
        *plugin.active.lock().unwrap() = shown.map(str::to_owned);
        let answer = read();
        assert_eq!(answer["structuredContent"]["result"]["content"], expected, "{shown:?}: {answer}");
        assert!(!answer.to_string().contains("Private"), "{answer}");
    }
    assert!(plugin.requests().contains(&"GET /active/ application/vnd.olrapi.note+json".to_owned()));
}

#[test]
fn a_note_is_opened_by_the_app() {
    let rig = Rig::empty();
    rig.write("F/b c?.md", "x");
    let plugin = Plugin::start();
    let mut client = Client::with(&rig, &[], &plugin.variables(), json!({}));
    let opened = client.call("obsidian_open_in_ui", json!({"path": "F/b c?.md", "newLeaf": true}));
    assert_eq!(opened["structuredContent"]["opened"], true, "{opened}");
    assert_eq!(plugin.requests(), ["POST /open/F/b%20c%3F.md?newLeaf=true"]);
    let made = client.call("obsidian_open_in_ui", json!({"path": "new.md", "failIfMissing": false}));
    assert_eq!(made["structuredContent"]["createdIfMissing"], true, "{made}");
    let refused = client.call("obsidian_open_in_ui", json!({"path": "none.md"}));
    assert_eq!(reason(&refused), "note_missing");
    assert_eq!(plugin.requests(), ["POST /open/new.md"]);
}

#[test]
fn an_app_that_misbehaves_is_a_typed_error_and_the_vault_still_works() {
    let rig = Rig::empty();
    rig.write("a.md", "x");
    let plugin = Plugin::start();
    let mut client = Client::with(&rig, &[], &plugin.variables(), json!({}));
    for (fault, expected, code) in [
        (Fault::Slow, "timeout", -32004),
        (Fault::Garbage, "app_unreachable", -32000),
        (Fault::HangsUp, "app_unreachable", -32000),
        (Fault::Endless, "app_unreachable", -32000),
        (Fault::Fails, "app_unreachable", -32000),
    ] {
        *plugin.fault.lock().unwrap() = fault;
        let answer = client.call("obsidian_list_commands", json!({}));
        let found = (reason(&answer).to_owned(), answer["structuredContent"]["error"]["code"].clone());
        // An endless answer may run into the time limit before it is too large.
        let too_slow = fault == Fault::Endless && found.0 == "timeout";
        assert!(too_slow || found == (expected.to_owned(), json!(code)), "{fault:?}: {answer}");
        let active = json!({"format": "content", "target": {"type": "active"}});
        assert_eq!(reason(&client.call("obsidian_get_note", active)), "no_active_file", "{fault:?}");
        let read = json!({"format": "content", "target": {"type": "path", "path": "a.md"}});
        assert_eq!(client.call("obsidian_get_note", read)["isError"], false, "{fault:?}");
    }
    let mut wrong = plugin.variables();
    wrong[0].1 = "another".to_owned();
    *plugin.fault.lock().unwrap() = Fault::None;
    let mut client = Client::with(&rig, &[], &wrong, json!({}));
    let answer = client.call("obsidian_list_commands", json!({}));
    assert_eq!(reason(&answer), "app_unauthorized", "{answer}");
    assert!(!answer.to_string().contains("another"), "the key is in no message: {answer}");
    // Nobody is there at all.
    let mut gone = plugin.variables();
    gone[1].1 = "http://127.0.0.1:1".to_owned();
    let mut client = Client::with(&rig, &[], &gone, json!({}));
    assert_eq!(reason(&client.call("obsidian_list_commands", json!({}))), "app_unreachable");
}

#[test]
fn the_desktop_opens_an_address_only_with_a_screen_and_a_program_for_it() {
    let rig = Rig::empty();
    rig.write("a.md", "x");
    let bin = rig.path("bin");
    std::fs::create_dir(&bin).unwrap();
    let script = |name: &str, text: &str| {
        let file = bin.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let log = rig.path("opened");
    script("xdg-open", &format!("echo \"$@\" >> {}", log.display()));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for (display, handler, opens) in
        [(":0", "obsidian.desktop", true), (":0", "", false), ("", "obsidian.desktop", false)]
    {
        script("xdg-mime", &format!("echo {handler}"));
        std::fs::remove_file(&log).ok();
        let variables = [("PATH", path.clone()), ("DISPLAY", display.to_owned())];
        let mut client = Client::with(&rig, &[], &variables, json!({}));
        let answer = client.call("obsidian_open_in_ui", json!({"path": "a.md"}));
        let data = &answer["structuredContent"];
        assert_eq!(data["opened"], opens, "{display} {handler}: {answer}");
        assert_eq!(data["uri"], "obsidian://open?vault=vault&file=a.md");
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        assert_eq!(said, if opens { "obsidian://open?vault=vault&file=a.md\n" } else { "" });
    }
}
