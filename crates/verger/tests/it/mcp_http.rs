//! `mcp --http`: what clients of both eras do, and how it ends.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_http_rig::{Answer, Seated, Web, initialize};
use crate::rig::Rig;

fn names(result: &Value) -> Vec<String> {
    result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn both_eras_are_served_on_one_endpoint() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &[], &[]);
    let seated = Seated::new(&web, json!({}));
    let old = names(&seated.ask("tools/list", json!({})).result());
    let new = names(&web.alone("tools/list", json!({})).result());
    assert_eq!(old, new);
    assert!(old.iter().any(|name| name == "obsidian_get_note"), "{old:?}");
    let discovered = web.alone("server/discover", json!({})).result();
    assert!(discovered["supportedVersions"].to_string().contains("2026-07-28"), "{discovered}");

    seated.call(
        "obsidian_write_note",
        json!({"target": {"type": "path", "path": "old.md"}, "content": "seated"}),
    );
    let read = json!({"name": "obsidian_get_note",
                      "arguments": {"format": "content", "target": {"type": "path", "path": "old.md"}}});
    let read = web.alone("tools/call", read).result();
    assert_eq!(read["structuredContent"]["result"]["content"], "seated", "one vault, one road: {read}");
    let write = json!({"name": "obsidian_append_to_note",
                       "arguments": {"target": {"type": "path", "path": "old.md"}, "content": "alone"}});
    assert_eq!(web.alone("tools/call", write).result()["isError"], false);
    assert_eq!(rig.read("old.md"), "seated\nalone");

    let gone = web.alone("ping", json!({}));
    assert_eq!((gone.status, gone.code()), (404, -32601), "2026-07-28 has no ping");
    let gone = web.alone("logging/setLevel", json!({"level": "info"}));
    assert_eq!((gone.status, gone.code()), (404, -32601));
    assert_eq!(seated.ask("ping", json!({})).result(), json!({}));
    web.end();
    let history = rig.json(&["history", "--vault", "."]);
    assert_eq!(history["data"]["checkpoints"].as_array().unwrap().len(), 2, "{history}");
}

#[test]
fn what_a_client_did_is_remembered_where_every_request_comes_alone() {
    let rig = Rig::empty();
    rig.write("long.md", &"a line of some length, many times over\n".repeat(5_000));
    let web = Web::start(&rig, &["--surface", "agent"], &[]);
    let call = |name: &str, arguments: Value| {
        web.alone("tools/call", json!({"name": name, "arguments": arguments})).result()
    };
    assert_eq!(
        call("read_result", json!({"id": "r1", "offset": 30_000}))["isError"],
        true,
        "nothing was read yet"
    );
    assert_eq!(call("read_file", json!({"path": "long.md"}))["isError"], false);
    let more = call("read_result", json!({"id": "r1", "offset": 30_000}));
    assert!(more["content"][0]["text"].as_str().unwrap().contains("of some length"), "{more}");
    web.end();
}

#[test]
fn a_session_ends_with_delete_and_an_unknown_one_is_not_found() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth"], &[]);
    let seated = Seated::new(&web, json!({}));
    assert_eq!(seated.ask("tools/list", json!({})).status, 200);
    assert_eq!(web.send("DELETE", "/mcp", &[("mcp-session-id", "no-such")], "").status, 404);
    let ended = web.send("DELETE", "/mcp", &seated.headers(), "");
    assert_eq!(ended.status, 204, "{ended:?}");
    assert_eq!(seated.ask("tools/list", json!({})).status, 404);
    assert_eq!(web.send("DELETE", "/mcp", &seated.headers(), "").status, 404);
    assert_eq!(web.send("GET", "/mcp", &seated.headers(), "").status, 404);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(web.post(&[("mcp-session-id", "00000000-0000-4000-8000-000000000000")], &request).status, 404);
    assert_eq!(web.post(&[], &request).status, 400, "a session is needed before 2026-07-28");
    web.end();
}

#[test]
fn a_quiet_session_expires() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth"], &[("MCP_STATEFUL_SESSION_STALE_TIMEOUT_MS", "1000")]);
    let quiet = Seated::new(&web, json!({}));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(quiet.ask("tools/list", json!({})).status, 404);
    assert_eq!(initialize(&web, json!({}), None).status, 200);
    web.end();
}

#[test]
fn there_are_only_so_many_sessions_and_one_that_ends_makes_place() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth"], &[]);
    let first = Seated::new(&web, json!({}));
    for _ in 1..256 {
        assert_eq!(initialize(&web, json!({}), None).status, 200);
    }
    let full = initialize(&web, json!({}), None);
    assert_eq!(full.status, 503, "{full:?}");
    assert!(full.header("retry-after").is_some());
    assert_eq!(first.ask("tools/list", json!({})).status, 200, "those who sit are served");
    assert_eq!(web.alone("tools/list", json!({})).status, 200, "and so are those who need no session");
    assert_eq!(web.send("DELETE", "/mcp", &first.headers(), "").status, 204);
    assert_eq!(initialize(&web, json!({}), None).status, 200);
    web.end();
}

#[test]
fn without_sessions_old_clients_are_served_alone() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth"], &[("MCP_SESSION_MODE", "stateless")]);
    let answer = initialize(&web, json!({}), None);
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None), "{answer:?}");
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert!(!names(&web.post(&[("mcp-protocol-version", "2025-11-25")], &request).result()).is_empty());
    assert_eq!(web.send("DELETE", "/mcp", &[], "").status, 405);
    web.end();
}

#[test]
fn sixty_four_sessions_work_side_by_side() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &[], &[]);
    std::thread::scope(|scope| {
        for number in 0..64 {
            let web = &web;
            scope.spawn(move || {
                let seated = Seated::new(web, json!({}));
                let target = json!({"type": "path", "path": format!("many/{number}.md")});
                let text = format!("from {number}");
                let written = seated.call("obsidian_write_note", json!({"target": target, "content": text}));
                assert_eq!(written["isError"], false, "{written}");
                let read = seated.call("obsidian_get_note", json!({"target": target, "format": "content"}));
                assert_eq!(read["structuredContent"]["result"]["content"], text, "{read}");
                web.send("DELETE", "/mcp", &seated.headers(), "");
            });
        }
    });
    for number in 0..64 {
        assert_eq!(rig.read(&format!("many/{number}.md")), format!("from {number}"));
    }
    web.end();
    rig.ok(&["check", "--vault", "."]);
}

#[test]
fn a_call_in_flight_is_finished_before_the_end() {
    let rig = Rig::tour();
    let mut web = Web::start(&rig, &["--no-auth", "--conformance-fixtures"], &[]);
    let seated = Seated::new(&web, json!({}));
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                      "params": {"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": 1}}});
    let mut stream = web.connect();
    let request = web.request("POST", "/mcp", &seated.headers(), &body.to_string());
    stream.write_all(request.as_bytes()).unwrap();
    let mut listening = web.connect();
    let listen = web.request("GET", "/mcp", &seated.headers(), "");
    listening.write_all(listen.as_bytes()).unwrap();
    // Until the first byte: then the call has begun.
    let mut first = [0; 1];
    stream.read_exact(&mut first).unwrap();
    web.terminate();
    let answer = Answer::read(first.chain(stream));
    let messages = answer.messages();
    assert_eq!(messages.last().unwrap()["id"], 5, "{answer:?}");
    assert!(messages.iter().filter(|message| message["method"] == "notifications/progress").count() == 3);
    let begun = Instant::now();
    assert!(web.wait().success());
    assert!(begun.elapsed() < Duration::from_secs(5), "an open stream does not hold it up");
    Answer::read(listening);
}

#[test]
fn an_answer_waits_for_a_client_whose_connection_broke() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth", "--conformance-fixtures"], &[]);
    let seated = Seated::new(&web, json!({}));
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                      "params": {"name": "test_tool_with_progress", "arguments": {}}});
    let mut stream = web.connect();
    stream.write_all(web.request("POST", "/mcp", &seated.headers(), &body.to_string()).as_bytes()).unwrap();
    let mut text = String::new();
    let mut byte = [0; 1];
    while !(text.contains("\nid:") && text.ends_with("\n\n")) {
        stream.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    drop(stream);
    let event = text.lines().find_map(|line| line.strip_prefix("id:")).unwrap().trim().to_owned();
    let mut headers = seated.headers();
    headers.push(("last-event-id", &event));
    let mut again = web.connect();
    again.write_all(web.request("GET", "/mcp", &headers, "").as_bytes()).unwrap();
    let mut text = String::new();
    while !text.contains("executed successfully") {
        again.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    assert!(text.contains("\"id\":5"), "{text}");
    web.end();
}

#[test]
fn a_delete_is_asked_in_the_stream_of_an_old_client() {
    let rig = Rig::tour();
    rig.write("doomed.md", "x");
    let web = Web::start(&rig, &[], &[]);
    let delete = |answer: Value| {
        let seated = Seated::new(&web, json!({"elicitation": {}}));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "obsidian_delete_note", "arguments": {"target": {"type": "path", "path": "doomed.md"}}}});
        let mut stream = web.connect();
        stream
            .write_all(web.request("POST", "/mcp", &seated.headers(), &body.to_string()).as_bytes())
            .unwrap();
        let mut text = String::new();
        let mut byte = [0; 1];
        while !text.contains("elicitation/create") || !text.ends_with("\n\n") {
            stream.read_exact(&mut byte).unwrap();
            text.push(char::from(byte[0]));
        }
        let line = text.lines().find(|line| line.contains("elicitation/create")).unwrap();
        let asked: Value = serde_json::from_str(line.strip_prefix("data:").unwrap().trim()).unwrap();
        assert!(asked["params"]["message"].as_str().unwrap().contains("doomed.md"), "{asked}");
        let said = json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer});
        assert_eq!(seated.post(&said).status, 202);
        text += &Answer::read(text.clone().as_bytes().chain(stream)).body;
        text
    };
    delete(json!({"action": "decline"}));
    assert!(rig.has("doomed.md"));
    delete(json!({"action": "accept", "content": {"confirm": true}}));
    assert!(!rig.has("doomed.md"));
    web.end();
}

#[test]
fn a_delete_of_a_new_client_is_asked_by_a_result_and_done_by_the_second_call() {
    let rig = Rig::tour();
    rig.write("doomed.md", "x");
    rig.write("other.md", "y");
    let web = Web::start(&rig, &[], &[]);
    let call = |path: &str, state: Option<&str>, said: Option<Value>| {
        let mut params =
            json!({"name": "obsidian_delete_note", "arguments": {"target": {"type": "path", "path": path}}});
        if let Some(state) = state {
            params["requestState"] = state.into();
        }
        if let Some(said) = said {
            params["inputResponses"] = json!({"confirm": said});
        }
        web.alone_with(&[], json!({"elicitation": {}}), "tools/call", params).result()
    };
    let yes = || Some(json!({"action": "accept", "content": {"confirm": true}}));
    let asked = call("doomed.md", None, None);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(
        asked["inputRequests"]["confirm"]["params"]["message"].as_str().unwrap().contains("doomed.md"),
        "{asked}"
    );
    let state = asked["requestState"].as_str().unwrap();
    let mut forged = state.to_owned();
    forged.replace_range(4..5, if &state[4..5] == "A" { "B" } else { "A" });

    assert_eq!(call("doomed.md", None, yes())["resultType"], "input_required", "a yes to nothing is no yes");
    assert_eq!(call("doomed.md", Some(&forged), yes())["resultType"], "input_required");
    assert_eq!(
        call("other.md", Some(state), yes())["resultType"],
        "input_required",
        "a yes to something else"
    );
    assert!(rig.has("doomed.md") && rig.has("other.md"));
    let declined = call("doomed.md", Some(state), Some(json!({"action": "decline"})));
    assert_eq!(declined["structuredContent"]["error"]["data"]["reason"], "cancelled", "{declined}");
    assert!(rig.has("doomed.md"));
    assert_eq!(call("doomed.md", Some(state), yes())["isError"], false);
    assert!(!rig.has("doomed.md") && rig.has("other.md"));
    web.end();
}

#[test]
fn a_yes_counts_for_the_change_that_was_shown_and_no_other() {
    let rig = Rig::tour();
    rig.write("a.md", "one");
    let web = Web::start(&rig, &["--ask"], &[]);
    let call = |state: Option<&str>| {
        let arguments = json!({"target": {"type": "path", "path": "a.md"}, "content": "two"});
        let mut params = json!({"name": "obsidian_append_to_note", "arguments": arguments});
        if let Some(state) = state {
            params["requestState"] = state.into();
            params["inputResponses"] = json!({"confirm": {"action": "accept", "content": {"confirm": true}}});
        }
        web.alone_with(&[], json!({"elicitation": {}}), "tools/call", params).result()
    };
    let first = call(None)["requestState"].as_str().unwrap().to_owned();
    rig.write("a.md", "changed while the dialog was up");
    let again = call(Some(&first));
    assert_eq!(again["resultType"], "input_required", "{again}");
    assert_eq!(rig.read("a.md"), "changed while the dialog was up");
    assert_eq!(call(again["requestState"].as_str())["isError"], false);
    assert_eq!(rig.read("a.md"), "changed while the dialog was up\ntwo");
    let blind = web.alone(
        "tools/call",
        json!({"name": "obsidian_append_to_note",
        "arguments": {"target": {"type": "path", "path": "a.md"}, "content": "three"}}),
    );
    assert_eq!(blind.result()["isError"], true, "a client that cannot ask gets nothing");
    web.end();
}

#[test]
fn the_fixtures_of_the_suites_are_not_there_otherwise() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth"], &[]);
    let listed = names(&web.alone("tools/list", json!({})).result());
    assert!(!listed.iter().any(|name| name.starts_with("test_")), "{listed:?}");
    let call = web.alone("tools/call", json!({"name": "test_simple_text", "arguments": {}}));
    assert_eq!(call.code(), -32602);
    let read = web.alone("resources/read", json!({"uri": "test://static-text"}));
    assert!(read.message()["error"].is_object(), "{read:?}");
    assert!(!rig.ok(&["help", "mcp"]).contains("conformance"));
    web.end();
}
