//! `acp`: conversations that are kept, taken up, held and closed, and what a client does wrong.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::acp::EDIT;
use crate::acp_rig::Editor;
use crate::rig::Rig;

#[test]
fn a_conversation_is_shown_again_after_its_process_was_killed() {
    let rig = Rig::tour();
    let mut editor = Editor::new(&rig, EDIT);
    let session = editor.begin(&rig);
    let prompt = editor.prompt(&session, "Put it into the inbox");
    editor.question();
    let _ = prompt;
    editor.kill();
    let mut editor = Editor::new(&rig, EDIT);
    let listed = editor.request("session/list", json!({"cwd": rig.root()}));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], json!(session), "{listed}");
    let unknown = editor
        .request("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}));
    assert_eq!(unknown["error"]["code"], -32002, "it is not open here: {unknown}");
    let loaded =
        editor.request("session/load", json!({"sessionId": session, "cwd": rig.root(), "mcpServers": []}));
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "agent", "{loaded}");
    assert_eq!(editor.text("user_message_chunk"), "Put it into the inbox");
    let calls: Vec<String> =
        editor.of("tool_call").map(|call| call["title"].as_str().unwrap().to_owned()).collect();
    assert_eq!(calls, ["read_file Inbox.md", "append_to_file Inbox.md"]);
    let ends: Vec<&Value> = editor.of("tool_call_update").map(|update| &update["status"]).collect();
    assert_eq!(ends, ["completed", "failed"], "what did not come to its end does not run for ever");
    assert!(editor.text("agent_thought_chunk").contains("/continue"), "{:?}", editor.updates);
    let prompt = editor.prompt(&session, "/continue");
    let question = editor.question();
    editor.choose(&question, "allow_once");
    assert_eq!(editor.wait(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "It is in the inbox.");
    assert!(rig.read("Inbox.md").ends_with("- from the editor\n"));
    assert_eq!(editor.say(&session, "/continue"), "end_turn");
    assert!(editor.text("agent_message_chunk").contains("nothing to go on with"));
}

#[test]
fn the_end_of_stdin_stops_what_runs_and_it_can_be_taken_up() {
    let rig = Rig::tour();
    let long = format!(
        "{{\"text\":\"{}\",\"pause_ms\":50,\"chunk\":4}}\n{{\"text\":\"again\"}}\n",
        "word ".repeat(2_000)
    );
    let mut editor = Editor::new(&rig, &long);
    let session = editor.begin(&rig);
    editor.prompt(&session, "talk");
    editor.update("agent_message_chunk");
    let start = Instant::now();
    assert_eq!(editor.end(), 0);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let mut editor = Editor::new(&rig, &long);
    let resumed = editor.request("session/resume", json!({"sessionId": session, "cwd": rig.root()}));
    assert!(resumed["result"].is_object(), "{resumed}");
    assert_eq!(editor.of("user_message_chunk").count(), 0, "resume shows nothing again");
    assert_eq!(editor.say(&session, "and now?"), "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "again");
}

#[test]
fn two_conversations_run_at_once() {
    let rig = Rig::tour();
    let script = r#"{"for":"slow","text":"one two three four five six seven eight nine ten","pause_ms":40,"chunk":2}
{"for":"quick","text":"done"}
"#;
    let mut editor = Editor::new(&rig, script);
    let (slow, quick) = (editor.begin(&rig), editor.begin(&rig));
    assert_ne!(slow, quick);
    let running = editor.prompt(&slow, "slow");
    editor.update("agent_message_chunk");
    assert_eq!(editor.say(&quick, "quick"), "end_turn");
    let said = |editor: &Editor, session: &str| -> String {
        let mine = editor.updates.iter().filter(|update| update["sessionId"] == session);
        mine.filter(|update| update["update"]["sessionUpdate"] == "agent_message_chunk")
            .filter_map(|update| update["update"]["content"]["text"].as_str())
            .collect()
    };
    assert_eq!(said(&editor, &quick), "done");
    assert!(!said(&editor, &slow).contains("ten"), "the slow one still talks");
    assert_eq!(editor.wait(running)["result"]["stopReason"], "end_turn");
    assert!(said(&editor, &slow).ends_with("ten"));
}

#[test]
fn junk_is_answered_and_verger_stays_up() {
    let rig = Rig::tour();
    let mut editor = Editor::new(&rig, "{\"text\":\"still here\"}\n");
    let huge = vec![b'x'; 33 * 1024 * 1024];
    for (line, code) in [
        (&b"garbage"[..], -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (b"{}", -32600),
        (b"17", -32600),
        (&huge, -32600),
    ] {
        editor.raw(line);
        let answer = editor.stray();
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer.to_string().len() < 500, "nothing is echoed");
    }
    editor.raw(b"\n\r\n");
    assert_eq!(editor.request("no/such", json!({}))["error"]["code"], -32601);
    assert_eq!(editor.request("session/new", json!({"cwd": 7}))["error"]["code"], -32602);
    assert_eq!(editor.request("session/prompt", json!({}))["error"]["code"], -32602);
    editor.notify("session/cancel", json!({"sessionId": "nobody"}));
    editor.notify("no/such", json!({}));
    editor.line(&json!({"jsonrpc": "2.0", "id": 4_711, "result": {}}));
    let session = editor.begin(&rig);
    assert_eq!(editor.say(&session, "hello"), "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "still here");
    assert_eq!(editor.end(), 0);
}

#[test]
fn what_is_not_there_is_named_with_a_way_on() {
    let rig = Rig::tour();
    std::fs::create_dir(rig.path("elsewhere")).unwrap();
    let mut editor = Editor::new(&rig, "{\"text\":\"hi\"}\n");
    for method in ["session/prompt", "session/load", "session/resume", "session/close", "session/delete"] {
        let params = json!({"sessionId": "nobody", "cwd": rig.root(), "mcpServers": [],
                            "prompt": [{"type": "text", "text": "x"}]});
        let answer = editor.request(method, params);
        assert_eq!(answer["error"]["code"], -32002, "{method}: {answer}");
        assert_eq!(answer["error"]["data"]["sessionId"], "nobody", "{method}: {answer}");
    }
    for cwd in [rig.path("elsewhere"), rig.path("nowhere"), "relative".into(), "/".into()] {
        let answer = editor.request("session/new", json!({"cwd": cwd, "mcpServers": []}));
        assert!(
            answer["error"]["data"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
            "{cwd:?}: {answer}"
        );
    }
    let below = editor.request("session/new", json!({"cwd": rig.root().join(".obsidian"), "mcpServers": []}));
    assert!(below["result"]["sessionId"].is_string(), "a folder of the vault will do: {below}");
    let session = editor.begin(&rig);
    let empty = editor.request("session/prompt", json!({"sessionId": session, "prompt": []}));
    assert_eq!(empty["error"]["code"], -32602, "{empty}");
}

#[test]
fn a_conversation_can_be_closed_and_forgotten_and_is_held_by_one_process() {
    let rig = Rig::tour();
    let mut editor = Editor::new(&rig, "{\"text\":\"hi\"}\n");
    let session = editor.begin(&rig);
    editor.say(&session, "What is this?");
    assert_eq!(editor.update("session_info_update")["update"]["title"], "What is this?");
    let mut other = Editor::new(&rig, "{\"text\":\"hi\"}\n");
    let load = json!({"sessionId": session, "cwd": rig.root(), "mcpServers": []});
    let held = other.request("session/load", load.clone());
    assert!(held["error"]["data"]["hint"].is_string(), "{held}");
    assert!(editor.request("session/close", json!({"sessionId": session}))["result"].is_object());
    let listed = other.request("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"][0]["title"], "What is this?", "{listed}");
    assert!(other.request("session/load", load.clone())["result"].is_object());
    assert!(other.request("session/delete", json!({"sessionId": session}))["result"].is_object());
    assert_eq!(other.request("session/load", load)["error"]["code"], -32002);
    assert_eq!(other.request("session/list", json!({}))["result"]["sessions"], json!([]));
}

#[test]
fn a_client_that_goes_away_while_it_is_asked_has_said_no() {
    let rig = Rig::tour();
    let start = rig.read("Inbox.md");
    let mut editor = Editor::new(&rig, EDIT);
    let session = editor.begin(&rig);
    editor.prompt(&session, "Put it into the inbox");
    editor.question();
    assert_eq!(editor.end(), 0);
    assert_eq!(rig.read("Inbox.md"), start);
}

#[test]
fn closing_a_conversation_stops_its_turn() {
    let rig = Rig::tour();
    let long = format!("{{\"text\":\"{}\",\"pause_ms\":50,\"chunk\":4}}\n", "word ".repeat(2_000));
    let mut editor = Editor::new(&rig, &long);
    let session = editor.begin(&rig);
    let prompt = editor.prompt(&session, "talk");
    editor.update("agent_message_chunk");
    assert!(editor.request("session/close", json!({"sessionId": session}))["result"].is_object());
    assert_eq!(editor.wait(prompt)["result"]["stopReason"], "cancelled");
}

#[test]
fn a_vault_that_the_editor_knows_by_a_link_is_the_same_vault() {
    let rig = Rig::tour();
    std::os::unix::fs::symlink(rig.root(), rig.path("link")).unwrap();
    let mut editor = Editor::new(&rig, "{\"text\":\"seen\"}\n");
    let new = editor.request("session/new", json!({"cwd": rig.path("link"), "mcpServers": []}));
    let session = new["result"]["sessionId"].as_str().unwrap().to_owned();
    let uri = format!("file://{}/Inbox.md", rig.path("link").display());
    let prompt = json!([{"type": "resource_link", "uri": uri, "name": "Inbox"}]);
    editor.request("session/prompt", json!({"sessionId": session, "prompt": prompt}));
    editor.request("session/load", json!({"sessionId": session, "cwd": rig.root(), "mcpServers": []}));
    assert_eq!(editor.text("user_message_chunk"), " [mentioned by the user: `Inbox.md`] ");
}

#[test]
fn a_conversation_whose_model_is_gone_says_so_and_goes_on_with_another() {
    let rig = Rig::tour();
    let mut editor = Editor::new(&rig, "{\"text\":\"hi\"}\n");
    let session = editor.begin(&rig);
    editor.say(&session, "hello");
    assert_eq!(editor.end(), 0);
    std::fs::write(rig.path("other.jsonl"), "{\"text\":\"one\"}\n{\"text\":\"two\"}\n").unwrap();
    let other = format!("script@{}", rig.path("other.jsonl").display());
    let mut editor = Editor::silent(&rig, &["--model", &other]);
    editor.initialize(json!({}));
    let load = json!({"sessionId": session, "cwd": rig.root(), "mcpServers": []});
    assert!(editor.request("session/load", load)["result"].is_object());
    editor.updates.clear();
    assert_eq!(editor.say(&session, "still there?"), "end_turn");
    assert!(editor.text("agent_message_chunk").contains("script.jsonl"), "{:?}", editor.updates);
    let chosen = editor.request(
        "session/set_config_option",
        json!({"sessionId": session, "configId": "model", "value": other}),
    );
    assert_eq!(chosen["result"]["configOptions"][1]["currentValue"], json!(other), "{chosen}");
    editor.updates.clear();
    assert_eq!(editor.say(&session, "and now?"), "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "two");
}

#[test]
fn there_are_only_so_many_conversations_at_once() {
    let rig = Rig::tour();
    let mut editor = Editor::new(&rig, "{\"text\":\"hi\"}\n");
    let open: Vec<String> = (0..64).map(|_| editor.begin(&rig)).collect();
    let new = json!({"cwd": rig.root(), "mcpServers": []});
    let refused = editor.request("session/new", new.clone());
    assert_eq!(refused["error"]["data"]["reason"], "too_many_sessions", "{refused}");
    assert!(editor.request("session/close", json!({"sessionId": open[0]}))["result"].is_object());
    assert!(editor.request("session/new", new)["result"].is_object());
    let first = editor.request("session/list", json!({}));
    assert_eq!(first["result"]["sessions"].as_array().unwrap().len(), 50, "a page");
    let cursor = &first["result"]["nextCursor"];
    let rest = editor.request("session/list", json!({"cursor": cursor}));
    assert_eq!(rest["result"]["sessions"].as_array().unwrap().len(), 15, "{rest}");
    assert!(rest["result"].get("nextCursor").is_none_or(Value::is_null), "{rest}");
    let wrong = editor.request("session/list", json!({"cursor": "x"}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}
