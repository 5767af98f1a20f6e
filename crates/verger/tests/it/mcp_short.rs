//! Plain calls over stdin, which go past the SDK: what a client sees is what it saw before, and somebody always reads.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::rig::Rig;

fn read(path: &str) -> Value {
    json!({"name": "obsidian_get_note", "arguments": {"target": {"type": "path", "path": path}, "format": "content"}})
}

fn append(text: &str) -> Value {
    let target = json!({"type": "path", "path": "a.md"});
    json!({"name": "obsidian_append_to_note", "arguments": {"target": target, "content": text}})
}

/// A client whose calls may go the short way: the server knows by its answer that the greeting is over.
fn client(rig: &Rig) -> Client {
    let mut client = Client::new(rig, &[], json!({}));
    client.request("ping", json!({}));
    client
}

#[test]
fn both_ways_give_the_same_answer() {
    let rig = Rig::tour();
    rig.write("a.md", "---\nk: v\n---\n\"é\"\t\\ \u{1}\u{2028}\n");
    let mut client = client(&rig);
    for plain in [
        read("a.md"),
        read("missing.md"),
        read("../a.md"),
        json!({"name": "obsidian_get_note", "arguments": {"wrong": 1}}),
        json!({"name": "obsidian_list_tags"}),
        json!({"name": "no_such_tool", "arguments": {}}),
    ] {
        let mut with_more = plain.clone();
        with_more["_meta"] = json!({"progressToken": "t"});
        let (mut short, mut long) =
            (client.request("tools/call", plain), client.request("tools/call", with_more));
        assert!(short["id"].take() != long["id"].take());
        assert_eq!(short.to_string(), long.to_string());
    }
    client.end();
}

#[test]
fn the_same_note_may_be_read_many_times_at_once_and_every_call_is_answered_and_written_down() {
    let rig = Rig::empty();
    rig.write("a.md", "text");
    let mut client = client(&rig);
    let sent: BTreeSet<i64> = (0..200).map(|_| client.send("tools/call", read("a.md"))).collect();
    let mut answered = BTreeSet::new();
    for _ in 0..200 {
        let answer = client.message();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answered.insert(answer["id"].as_i64().unwrap());
    }
    assert_eq!(answered, sent);
    client.end();
    let audit = std::fs::read_to_string(rig.data().join("audit.jsonl")).unwrap();
    assert_eq!(audit.lines().filter(|line| line.contains("obsidian_get_note")).count(), 200);
    rig.ok(&["--vault", rig.root().to_str().unwrap(), "check"]);
}

#[test]
fn what_was_asked_before_stdin_ended_is_answered() {
    let rig = Rig::empty();
    rig.write("a.md", "text");
    let mut client = client(&rig);
    for number in 0..40 {
        client.send("tools/call", if number % 4 == 0 { append("x\n") } else { read("a.md") });
    }
    let lines = std::mem::replace(&mut client.lines, std::sync::mpsc::channel().1);
    client.end();
    let answers: Vec<String> = lines.iter().filter(|line| line.contains("\"isError\":false")).collect();
    assert_eq!(answers.len(), 40);
    assert_eq!(rig.read("a.md").matches('x').count(), 11);
}

#[test]
fn a_rule_that_changes_between_two_calls_holds_for_the_second() {
    let rig = Rig::empty();
    rig.write("Private/a.md", "secret words");
    let mut client = client(&rig);
    let hidden =
        |client: &mut Client| client.request("tools/call", read("Private/a.md"))["result"]["isError"] == true;
    for _ in 0..3 {
        assert!(!hidden(&mut client));
        rig.write(".vergerignore", "Private/\n");
        assert!(hidden(&mut client));
        rig.write(".vergerignore", "Privata/\n");
        assert!(!hidden(&mut client));
        rig.write(".vergerignore", "Private/\n");
        assert!(hidden(&mut client));
        std::fs::remove_file(rig.root().join(".vergerignore")).unwrap();
    }
    client.end();
}

#[test]
fn an_edit_is_found_by_the_very_next_search() {
    let rig = Rig::empty();
    rig.write("a.md", "text\n");
    let mut client = client(&rig);
    let search =
        |word: &str| json!({"name": "obsidian_search_notes", "arguments": {"mode": "text", "query": word}});
    client.request("tools/call", search("text"));
    for round in 0..20 {
        let word = format!("quagga{round}x");
        client.request("tools/call", append(&format!("{word} #tag{round}\n")));
        let found = client.request("tools/call", search(&word)).to_string();
        assert!(found.contains("a.md"), "{round}: {found}");
        let tags = client.request("tools/call", json!({"name": "obsidian_list_tags", "arguments": {}}));
        assert!(
            tags.to_string().contains(&format!("tag{round}\\\""))
                || tags.to_string().contains(&format!("tag{round}\"")),
            "{tags}"
        );
    }
    client.end();
}

/// Whoever holds the lock of the vault keeps every edit waiting, and with it more threads than stay at the desk.
#[test]
fn while_edits_wait_others_are_answered_and_a_call_can_be_called_off() {
    let rig = Rig::empty();
    rig.write("a.md", "");
    let mut client = client(&rig);
    client.request("tools/call", append("first\n"));
    let lock = File::options().write(true).open(rig.data().join("lock")).unwrap();
    lock.lock().unwrap();
    let edits: Vec<i64> =
        (0..8).map(|number| client.send("tools/call", append(&format!("line {number}\n")))).collect();
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..3 {
        assert_eq!(client.request("tools/call", read("a.md"))["result"]["isError"], false);
    }
    let called_off = edits[4];
    let params = json!({"requestId": called_off, "reason": "no more wanted"});
    client
        .line(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string());
    client.request("ping", json!({}));
    lock.unlock().unwrap();
    let answered: Vec<i64> = (0..7).map(|_| client.message()["id"].as_i64().unwrap()).collect();
    let expected: Vec<i64> = edits.iter().copied().filter(|id| *id != called_off).collect();
    assert_eq!(answered, expected, "in order, without the one that was called off");
    let text = rig.read("a.md");
    assert!(!text.contains("line 4") && text.ends_with("line 7\n"), "{text}");
    client.end();
}
