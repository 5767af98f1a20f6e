//! `mcp`: the real binary, spoken to as a client speaks.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::Rig;

const PATIENCE: Duration = Duration::from_secs(30);

/// A client with a server of its own.
pub struct Client {
    pub child: Child,
    stdin: Option<ChildStdin>,
    pub lines: Receiver<String>,
    next: i64,
}

impl Client {
    /// Starts a server and comes together with it.
    #[track_caller]
    pub fn new(rig: &Rig, arguments: &[&str], capabilities: Value) -> Client {
        Client::with(rig, arguments, &[], capabilities)
    }

    /// The same in an environment.
    #[track_caller]
    pub fn with(rig: &Rig, arguments: &[&str], variables: &[(&str, String)], capabilities: Value) -> Client {
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut client = Client::silent(rig, arguments, &variables);
        let answer = client.request(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                   "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert_eq!(answer["result"]["serverInfo"]["name"], "verger", "{answer}");
        assert!(answer["result"]["instructions"].as_str().unwrap().contains("vault"), "{answer}");
        client.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    /// Starts a server and says nothing.
    pub fn silent(rig: &Rig, arguments: &[&str], variables: &[(&str, &str)]) -> Client {
        let mut child = rig
            .command(&[&["mcp"], arguments].concat())
            .env("VERGER_VAULT", rig.root())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Client { stdin: child.stdin.take(), child, lines, next: 0 }
    }

    pub fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush()).unwrap();
    }

    /// The next message; everything on stdout must be one.
    #[track_caller]
    pub fn message(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the server says something");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    pub fn send(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        self.line(
            &json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}).to_string(),
        );
        self.next
    }

    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let is_news =
            |message: &Value| message["method"].as_str().is_some_and(|it| it.starts_with("notifications/"));
        let mut answer = self.message();
        while is_news(&answer) {
            answer = self.message();
        }
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take()
    }

    pub fn names(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The server's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Closes stdin and waits for a good end.
    #[track_caller]
    pub fn end(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn agent(rig: &Rig, more: &[&str]) -> Client {
    Client::new(rig, &[&["--surface", "agent"], more].concat(), json!({}))
}

#[test]
fn a_client_lists_reads_and_writes_and_the_change_can_be_taken_back() {
    let rig = Rig::empty();
    rig.write("a.md", "# A\nhello\n");
    let mut client = agent(&rig, &[]);
    let tools = client.request("tools/list", json!({}))["result"]["tools"].take();
    let find = |name: &str| tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned();
    let read = find("read_file").unwrap();
    assert_eq!(read["title"], "Read File");
    assert_eq!(read["annotations"]["readOnlyHint"], true);
    assert_eq!(read["inputSchema"]["type"], "object");
    assert_eq!(find("write_file").unwrap()["annotations"]["destructiveHint"], true);
    assert!(find("list_tags").is_none(), "deferred tools are not listed");
    assert!(find("read_resource").is_none());

    let read = client.call("read_file", json!({"path": "a.md"}));
    assert!(read["content"][0]["text"].as_str().unwrap().contains("hello"), "{read}");
    assert_eq!(read["isError"], false, "{read}");
    let written = client.call("write_file", json!({"path": "b.md", "content": "new"}));
    assert_eq!(written["isError"], false, "{written}");
    assert_eq!(rig.read("b.md"), "new");
    let id = written["_meta"]["verger/checkpoint"].as_str().unwrap().to_owned();
    client.end();
    rig.ok(&["undo", &id, "--yes", "--vault", "."]);
    assert!(!rig.has("b.md"));
}

#[test]
fn errors_have_the_envelope_and_mistakes_in_the_input_a_text() {
    let rig = Rig::tour();
    let mut client = agent(&rig, &[]);
    let missing = client.call("read_file", json!({"path": "no/such.md"}));
    assert_eq!(missing["isError"], true);
    let text = missing["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Error: ") && text.contains("\n\nRecovery: "), "{text}");
    let error = &missing["structuredContent"]["error"];
    assert_eq!(
        (&error["code"], &error["data"]["reason"]),
        (&json!(-32001), &json!("note_missing")),
        "{error}"
    );
    assert!(error["data"]["recovery"]["hint"].is_string());

    let wrong = client.call("read_file", json!({"paht": "a.md"}));
    assert_eq!(wrong["isError"], true);
    let text = wrong["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("MCP error -32602: Input validation error"), "{text}");
    assert!(wrong.get("structuredContent").is_none());

    let outside = client.call("read_file", json!({"path": "../x.md"}));
    assert_eq!(outside["structuredContent"]["error"]["data"]["reason"], "path_traversal");
    let unknown = client.request("tools/call", json!({"name": "raed_file", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let hidden = client
        .request("tools/call", json!({"name": "read_resource", "arguments": {"uri": "obsidian://tags"}}));
    assert_eq!(hidden["error"]["code"], -32602, "{hidden}");
}

#[test]
fn the_obsidian_surface_is_what_a_client_sees_by_default() {
    let rig = Rig::tour();
    let mut client = Client::new(&rig, &[], json!({}));
    let names = client.names();
    assert!(names.iter().all(|name| name.starts_with("obsidian_")), "{names:?}");
    let target = json!({"type": "path", "path": "New/x.md"});
    let written = client.call("obsidian_write_note", json!({"target": target, "content": "hello"}));
    assert_eq!(written["structuredContent"]["created"], true, "{written}");
    // Clients of the well-known server may ask again as often as they like.
    for _ in 0..5 {
        let read = client.call("obsidian_get_note", json!({"format": "content", "target": target}));
        assert_eq!(read["structuredContent"]["result"]["content"], "hello", "{read}");
    }
    let again = client.call("obsidian_write_note", json!({"target": target, "content": "other"}));
    assert_eq!(again["structuredContent"]["error"]["code"], -32002, "{again}");
    assert_eq!(client.request("logging/setLevel", json!({"level": "info"}))["result"], json!({}));
    assert_eq!(client.request("prompts/get", json!({"name": "x"}))["error"]["code"], -32602);
    client.end();
}

#[test]
fn a_client_of_the_newest_revision_needs_no_initialize() {
    let rig = Rig::tour();
    let mut client = Client::silent(&rig, &[], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.request("server/discover", json!({"_meta": meta}));
    assert!(found["result"]["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    let tools = client.request("tools/list", json!({"_meta": meta}));
    assert!(tools["result"]["tools"].as_array().unwrap().len() > 4, "{tools}");
    let target = json!({"type": "path", "path": "x.md"});
    let written = client.request(
        "tools/call",
        json!({"name": "obsidian_write_note", "arguments": {"target": target, "content": "x"}, "_meta": meta}),
    );
    assert_eq!(written["result"]["isError"], false, "{written}");
    assert_eq!(rig.read("x.md"), "x");
    client.end();
}

#[test]
fn a_deferred_tool_is_called_after_it_was_found() {
    let rig = Rig::tour();
    let mut client = agent(&rig, &[]);
    let early = client.call("list_tags", json!({}));
    assert_eq!(early["structuredContent"]["error"]["data"]["reason"], "tool_deferred", "{early}");
    client.call("find_tool", json!({"query": "list_tags"}));
    assert_eq!(client.call("list_tags", json!({}))["isError"], false);
}

#[test]
fn read_only_hides_what_writes_and_refuses_it() {
    let rig = Rig::tour();
    let before = rig.bytes();
    let mut by_flag = agent(&rig, &["--read-only"]);
    let mut by_variable = Client::silent(&rig, &["--surface", "agent"], &[("OBSIDIAN_READ_ONLY", "true")]);
    by_variable.request(
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
    );
    for client in [&mut by_flag, &mut by_variable] {
        let names = client.names();
        assert!(names.contains(&"read_file".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("write") || name.contains("delete")), "{names:?}");
        let answer = client.request(
            "tools/call",
            json!({"name": "write_file", "arguments": {"path": "x.md", "content": "x"}}),
        );
        assert!(answer["error"].is_object(), "{answer}");
    }
    assert_eq!(rig.bytes(), before);
}

#[test]
fn a_dry_run_shows_and_changes_nothing() {
    let rig = Rig::tour();
    let before = rig.bytes();
    let mut client = agent(&rig, &["--dry-run"]);
    let shown = client.call("write_file", json!({"path": "x.md", "content": "hello"}));
    assert_eq!(shown["structuredContent"]["dryRun"], true, "{shown}");
    assert!(shown["content"][0]["text"].as_str().unwrap().contains("+hello"), "{shown}");
    assert_eq!(rig.bytes(), before);
}

#[test]
fn with_ask_a_person_decides_and_without_one_nothing_is_written() {
    let rig = Rig::empty();
    rig.write("a.md", "a");
    let write = json!({"name": "write_file", "arguments": {"path": "b.md", "content": "b"}});
    let mut alone = agent(&rig, &["--ask"]);
    let denied = alone.request("tools/call", write.clone());
    assert_eq!(denied["result"]["structuredContent"]["error"]["data"]["reason"], "denied", "{denied}");
    for (answer, is_there) in [
        (json!({"action": "accept", "content": {"confirm": false}}), false),
        (json!({"action": "decline"}), false),
        (json!({"action": "accept", "content": {"confirm": true}}), true),
    ] {
        let mut client = Client::new(&rig, &["--surface", "agent", "--ask"], json!({"elicitation": {}}));
        let id = client.send("tools/call", write.clone());
        let question = client.message();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert_eq!(question["params"]["requestedSchema"]["required"], json!(["confirm"]), "{question}");
        client.line(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}).to_string());
        let done = client.message();
        assert_eq!((&done["id"], &done["result"]["isError"]), (&json!(id), &json!(!is_there)), "{done}");
        assert_eq!(rig.has("b.md"), is_there);
    }
}

#[test]
fn a_delete_is_asked_where_the_client_can_ask() {
    let rig = Rig::empty();
    rig.write("a.md", "a");
    let mut client = Client::new(&rig, &["--surface", "agent"], json!({"elicitation": {"form": {}}}));
    client.call("find_tool", json!({"query": "delete_file"}));
    client.send("tools/call", json!({"name": "delete_file", "arguments": {"path": "a.md"}}));
    let question = client.message();
    assert!(question["params"]["message"].as_str().unwrap().contains("a.md"), "{question}");
    client.line(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}}).to_string());
    let done = client.message();
    let error = &done["result"]["structuredContent"]["error"];
    assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32600), &json!("cancelled")), "{done}");
    assert!(rig.has("a.md"));
}

#[test]
fn garbage_is_answered_and_survived() {
    let rig = Rig::tour();
    let mut client = Client::silent(&rig, &[], &[]);
    // What comes before `initialize` must not end the connection either.
    client.line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    client.line("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}");
    client.line("garbage");
    assert_eq!(client.message()["error"]["code"], -32700);
    assert!(client.request("initialize", json!({}))["error"].is_object());
    client.line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
    let params = json!({"protocolVersion": "9999-99-99", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    assert!(client.request("initialize", params)["result"].is_object());
    for (line, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", -32601),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}", -32602),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}", -32602),
    ] {
        client.line(line);
        assert_eq!(client.message()["error"]["code"], code, "{line}");
    }
    let large = "x".repeat(3 * 1024 * 1024);
    client.line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{large}\"}}"));
    assert_eq!(client.message()["error"]["code"], -32602);
    let params = json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    assert_eq!(client.request("initialize", params)["error"]["code"], -32600, "only once");
    assert!(client.request("ping", json!({}))["result"].is_object());
    client.end();
}

#[test]
fn notes_and_tags_are_read_by_address() {
    let rig = Rig::empty();
    rig.write("Sub/a b.md", "---\ntitle: T\n---\n#x hello");
    rig.write(".verger/ignore", "Private/\n");
    rig.write("Private/s.md", "secret #hidden");
    let mut client = agent(&rig, &[]);
    let read = |client: &mut Client, uri: &str| client.request("resources/read", json!({"uri": uri}));
    let note = read(&mut client, "obsidian://vault/Sub/a%20b.md");
    let note: Value = serde_json::from_str(note["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(note["path"], "Sub/a b.md");
    assert_eq!(note["frontmatter"], json!({"title": "T"}));
    assert_eq!(note["tags"], json!(["x"]));
    let tags = read(&mut client, "obsidian://tags");
    assert_eq!(tags["result"]["contents"][0]["text"], "{\"tags\":[{\"name\":\"x\",\"count\":1}]}");
    for uri in [
        "obsidian://vault/no.md",
        "obsidian://vault/Private/s.md",
        "file:///etc/passwd",
        "obsidian://vault/../x",
    ] {
        let refused = read(&mut client, uri);
        assert!(refused["error"]["data"]["reason"].is_string(), "{refused}");
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "obsidian://vault/{+path}");
}

#[test]
fn after_kill_9_every_acknowledged_write_is_there_and_undo_works() {
    let rig = Rig::empty();
    rig.write("a.md", "start");
    let mut client = agent(&rig, &[]);
    client.call("write_file", json!({"path": "a.md", "content": "first"}));
    // The second one is under way when the end comes.
    client.send(
        "tools/call",
        json!({"name": "write_file", "arguments": {"path": "a.md", "content": "second"}}),
    );
    client.child.kill().unwrap();
    drop(client);
    let text = rig.read("a.md");
    assert!(["start", "first", "second"].contains(&text.as_str()), "{text}");
    let mut again = agent(&rig, &[]);
    assert_eq!(again.call("read_file", json!({"path": "a.md"}))["isError"], false);
    again.end();
    rig.ok(&["check", "--vault", "."]);
}

#[test]
fn edits_are_made_in_the_order_in_which_they_came() {
    let rig = Rig::empty();
    rig.write("a.md", "");
    let mut client = agent(&rig, &[]);
    for number in 0..20 {
        let arguments = json!({"path": "a.md", "content": format!("{number}\n")});
        client.send("tools/call", json!({"name": "append_to_file", "arguments": arguments}));
    }
    let errors: Vec<Value> =
        (0..20).map(|_| client.message()).filter(|done| done["result"]["isError"] != false).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let numbers: Vec<u32> =
        rig.read("a.md").split_whitespace().map(|number| number.parse().unwrap()).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
}

#[test]
fn what_was_indexed_is_saved_when_the_client_goes_and_when_the_server_is_told_to_end() {
    let rig = Rig::empty();
    rig.write("a.md", "zebra");
    for (name, ending) in [("b.md", "end of input"), ("c.md", "SIGTERM")] {
        let mut client = agent(&rig, &[]);
        let search = json!({"query": "zebra", "how": "ranked"});
        // Waits until the index is there.
        assert_eq!(client.call("semantic_search", search)["isError"], false);
        let saved = || std::fs::read(rig.data().join("index/segments")).unwrap();
        let before = saved();
        client.call("write_file", json!({"path": name, "content": "zebra again"}));
        assert_eq!(saved(), before, "one note is not worth a file yet");
        match ending {
            "SIGTERM" => {
                let process = client.child.id().to_string();
                assert!(
                    std::process::Command::new("kill").args(["-TERM", &process]).status().unwrap().success()
                );
                assert!(client.child.wait().unwrap().success());
            }
            _ => client.end(),
        }
        assert_ne!(saved(), before, "{ending}");
    }
}

#[test]
fn a_text_search_by_the_index_finds_what_reading_the_notes_finds() {
    let rig = Rig::empty();
    let words =
        ["amber", "Lattice", "foo-bar", "naïve", "C++", "x_y", "über", "[[link]]", "tea.time", "zwölf"];
    for number in 0..120 {
        let text: String = words
            .iter()
            .enumerate()
            .filter(|(at, _)| number % (at + 2) == 0)
            .map(|(_, word)| format!("{word} "))
            .collect();
        rig.write(
            &format!("F{}/{} {number}.md", number % 3, words[number % 3]),
            &format!("# Note {number}\n\n{text}\n"),
        );
    }
    rig.write("data.txt", "amber lattice");
    let queries = [
        "amber",
        "AMBER lattice",
        "foo-bar",
        "oo-b",
        "naïve über",
        "c++",
        "x_y amber",
        "[[link",
        "tea.time",
        "12",
        "zwölf amber 6",
        "nowhere",
        "mber",
    ];
    let ask = |client: &mut Client| -> Vec<Value> {
        let call = |query: &&str| {
            client.call("obsidian_search_notes", json!({"mode": "text", "query": query}))["structuredContent"]
                .take()
        };
        queries.iter().map(call).collect()
    };
    let mut client = Client::new(&rig, &[], json!({}));
    let read = ask(&mut client);
    client.end();
    rig.ok(&["search", "amber", "--vault", "."]);
    let mut client = Client::new(&rig, &[], json!({}));
    let indexed = ask(&mut client);
    client.end();
    for ((query, read), indexed) in queries.iter().zip(read).zip(indexed) {
        assert_eq!(read, indexed, "{query}");
    }
}
