//! What a client can ask for besides tools, and what it is told without asking: prompts, completion, lists in pages,
//! subscriptions, log messages, progress, calling off.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::rig::Rig;

/// Messages until one fits; the others are dropped.
#[track_caller]
fn wait(client: &Client, fits: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        let message = client.message();
        if fits(&message) {
            return message;
        }
    }
    panic!("it never came");
}

fn is(method: &'static str) -> impl Fn(&Value) -> bool {
    move |message| message["method"] == method
}

#[test]
fn prompts_are_listed_filled_in_and_completed() {
    let rig = Rig::empty();
    rig.write("Garden/Quince.md", "#fruit/tree");
    rig.write("Queue.md", "#work");
    rig.write("Private/Quiet.md", "#quiet");
    rig.write(".verger/ignore", "Private/\n");
    let mut client = Client::new(&rig, &[], json!({}));
    let prompts = client.request("prompts/list", json!({}))["result"]["prompts"].take();
    let names: Vec<&str> =
        prompts.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["daily_review", "weekly_summary", "find_and_link", "inbox_triage"]);
    let text =
        client.request("prompts/get", json!({"name": "find_and_link", "arguments": {"note": "Queue.md"}}));
    assert!(
        text["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains("Queue.md"),
        "{text}"
    );
    assert_eq!(client.request("prompts/get", json!({"name": "find_and_link"}))["error"]["code"], -32602);
    assert_eq!(client.request("prompts/get", json!({"name": "nope"}))["error"]["code"], -32602);
    let mut complete = |reference: Value, name: &str, value: &str| {
        let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
        client.request("completion/complete", params)["result"]["completion"].take()
    };
    let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
    let note = complete(prompt("find_and_link"), "note", "qu");
    assert_eq!(
        note["values"],
        json!(["Queue.md", "Garden/Quince.md"]),
        "hidden notes are not offered: {note}"
    );
    assert_eq!(note["total"], 2);
    assert_eq!(complete(prompt("find_and_link"), "tag", "fr")["values"], json!(["fruit", "fruit/tree"]));
    assert_eq!(complete(prompt("find_and_link"), "tag", "quiet")["values"], json!([]));
    assert_eq!(complete(prompt("weekly_summary"), "period", "m")["values"], json!(["monthly"]));
    assert_eq!(complete(prompt("inbox_triage"), "folder", "")["values"], json!(["Garden"]));
    assert_eq!(complete(prompt("daily_review"), "date", "20")["values"].as_array().unwrap().len(), 30);
    let template = json!({"type": "ref/resource", "uri": "obsidian://vault/{+path}"});
    assert_eq!(complete(template, "path", "Gar")["values"], json!(["Garden/Quince.md"]));
    assert!(complete(prompt("nope"), "note", "q").is_null());
    assert!(complete(json!({"type": "ref/resource", "uri": "file:///{x}"}), "x", "q").is_null());
}

#[test]
fn notes_are_listed_as_resources_page_by_page_without_the_hidden_ones() {
    let rig = Rig::empty();
    (0..450).for_each(|number| rig.write(&format!("n/{number:03} ü.md"), "x"));
    rig.write("Private/s.md", "x");
    rig.write(".verger/ignore", "Private/\n");
    let mut client = Client::new(&rig, &[], json!({}));
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    for _ in 0..3 {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = client.request("resources/list", params)["result"].take();
        all.extend(
            page["resources"].as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap().to_owned()),
        );
        cursor = page["nextCursor"].clone();
    }
    assert!(cursor.is_null());
    assert_eq!(all.len(), 452);
    assert_eq!(all[..3], ["obsidian://tags", "obsidian://status", "obsidian://vault/n/000%20%C3%BC.md"]);
    assert!(!all.iter().any(|uri| uri.contains("Private")));
    let read = client.request("resources/read", json!({"uri": all[2]}));
    assert!(read["result"].is_object(), "{read}");
    for cursor in ["x", "-1", "0", "99999"] {
        let refused = client.request("resources/list", json!({"cursor": cursor}));
        assert_eq!(refused["error"]["code"], -32602, "{cursor}: {refused}");
    }
}

#[test]
fn a_subscribed_note_that_changes_is_told_and_a_hidden_one_is_not() {
    let rig = Rig::empty();
    rig.write("a b.md", "x");
    rig.write("c.md", "x");
    rig.write("Private/s.md", "x");
    rig.write(".verger/ignore", "Private/\n");
    let mut client = Client::new(&rig, &[], json!({}));
    for uri in ["obsidian://vault/a%20b.md", "obsidian://vault/Private/s.md"] {
        let subscribed = client.request("resources/subscribe", json!({"uri": uri}));
        assert!(subscribed["result"].is_object(), "{subscribed}");
    }
    let wrong = client.request("resources/subscribe", json!({"uri": "file:///etc/passwd"}));
    assert!(wrong["error"].is_object(), "{wrong}");
    // The watcher starts with the connection; the first sign of it is the first news.
    std::thread::sleep(Duration::from_millis(1_500));
    rig.write("Private/s.md", "y");
    rig.write("c.md", "y");
    rig.write("a b.md", "y");
    let told = wait(&client, is("notifications/resources/updated"));
    assert_eq!(told["params"]["uri"], "obsidian://vault/a%20b.md");
    rig.write("new.md", "x");
    wait(&client, is("notifications/resources/list_changed"));
    client.request("resources/unsubscribe", json!({"uri": "obsidian://vault/a%20b.md"}));
    rig.write("a b.md", "z");
    rig.write("Private/t.md", "new and hidden");
    std::thread::sleep(Duration::from_millis(1_000));
    let later: Vec<String> = client.lines.try_iter().collect();
    assert!(!later.iter().any(|line| line.contains("resources/")), "{later:?}");
}

#[test]
fn a_client_hears_of_changes_at_the_level_it_set() {
    let rig = Rig::empty();
    rig.write("a.md", "x");
    let append = json!({"name": "obsidian_append_to_note",
        "arguments": {"target": {"type": "path", "path": "a.md"}, "content": "y"}});
    let mut client = Client::new(&rig, &[], json!({}));
    assert!(
        client.request("tools/call", append.clone())["result"].is_object(),
        "nothing below a warning at first"
    );
    client.request("logging/setLevel", json!({"level": "info"}));
    client.send("tools/call", append);
    let told = wait(&client, is("notifications/message"));
    assert_eq!((&told["params"]["level"], &told["params"]["logger"]), (&json!("info"), &json!("verger")));
    assert!(told["params"]["data"].as_str().unwrap().contains("checkpoint"), "{told}");
    wait(&client, |message| message["result"]["isError"] == false);
    let bad = client.request("logging/setLevel", json!({"level": "loud"}));
    assert_eq!(bad["error"]["code"], -32602, "{bad}");
}

#[test]
fn a_long_call_shows_signs_of_life_and_can_be_called_off() {
    let rig = Rig::empty();
    rig.write("a.md", "x");
    rig.write(".verger/ignore", "");
    let before = rig.bytes();
    // Somebody is asked and thinks about it: the longest a call can take.
    let mut client = Client::new(&rig, &["--ask"], json!({"elicitation": {}}));
    let id = client.send(
        "tools/call",
        json!({"name": "obsidian_append_to_note", "_meta": {"progressToken": "p"},
               "arguments": {"target": {"type": "path", "path": "a.md"}, "content": "y"}}),
    );
    let question = wait(&client, is("elicitation/create"));
    let first = wait(&client, is("notifications/progress"));
    let second = wait(&client, is("notifications/progress"));
    assert_eq!(first["params"]["progressToken"], "p");
    assert!(second["params"]["progress"].as_f64() > first["params"]["progress"].as_f64(), "{first} {second}");
    client.line(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
            .to_string(),
    );
    std::thread::sleep(Duration::from_millis(300));
    // The yes comes too late.
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    client.line(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}).to_string());
    let id = client.send("ping", json!({}));
    let pong = wait(&client, |message| message["id"] == id);
    assert!(pong["result"].is_object());
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(rig.bytes(), before, "nothing is written after it was called off");
    client.end();
    let audit = rig.ok(&["audit"]);
    assert!(audit.contains("cancelled") || audit.contains("failed"), "{audit}");
}

#[test]
fn an_edit_that_is_called_off_before_its_turn_is_not_made() {
    let rig = Rig::empty();
    rig.write("a.md", "x");
    let mut client = Client::new(&rig, &["--ask"], json!({"elicitation": {}}));
    let append = |text: &str| {
        json!({"name": "obsidian_append_to_note",
               "arguments": {"target": {"type": "path", "path": "a.md"}, "content": text}})
    };
    client.send("tools/call", append("first"));
    let question = wait(&client, is("elicitation/create"));
    let second = client.send("tools/call", append("second"));
    client.line(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": second}})
            .to_string(),
    );
    std::thread::sleep(Duration::from_millis(200));
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    client.line(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}).to_string());
    wait(&client, |message| message["result"]["isError"] == false);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(rig.read("a.md"), "x\nfirst");
    let left: Vec<String> = client.lines.try_iter().collect();
    assert!(!left.iter().any(|line| line.contains("elicitation")), "nobody is asked about it: {left:?}");
}
