//! The page's routes for changes, graph, health and activity, asked of a real process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::Rig;

/// A server on a free port, and somebody who is logged in.
struct Page {
    child: Child,
    address: String,
    cookie: String,
}

impl Page {
    #[track_caller]
    fn open(rig: &Rig) -> Page {
        let mut child = rig
            .command(&["serve", "--address", "127.0.0.1:0"])
            .env("VERGER_VAULT", rig.root())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let link = lines.find_map(|line| {
            line.unwrap().split_once("http://").and_then(|(_, rest)| {
                rest.split_once("/login#")
                    .map(|(address, token)| (address.to_owned(), token.trim().to_owned()))
            })
        });
        let (address, token) = link.expect("a login link");
        std::thread::spawn(move || lines.for_each(drop));
        let mut page = Page { child, address, cookie: String::new() };
        let (status, head, _) = page.send("POST", "/api/login", Some(&json!({"token": token})));
        assert_eq!(status, 204);
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        page.cookie = cookie.split(';').next().unwrap().to_owned();
        page
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String, Value) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncookie: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address, self.cookie, body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null))
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let (status, _, body) = self.send("GET", path, None);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    #[track_caller]
    fn post(&self, path: &str, body: Value) -> Value {
        let (status, _, answer) = self.send("POST", path, Some(&body));
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }

    #[track_caller]
    fn refused(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
        let (status, _, answer) = self.send(method, path, body);
        assert!(answer["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{path}: {answer}");
        (status, answer["error"]["reason"].as_str().unwrap().to_owned())
    }

    /// Shows an undo and carries it out.
    #[track_caller]
    fn undo(&self, what: Value) -> Value {
        let shown = self.post("/api/undo", what.clone());
        let mut carried = what;
        carried["saw"] = shown["shown"]["saw"].clone();
        self.post("/api/undo", carried)["done"].clone()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_change_is_listed_opened_and_taken_back_after_it_was_shown() {
    let rig = Rig::tour();
    let before = rig.read("Inbox.md");
    rig.ok(&["append", "Inbox", "- from the terminal", "--yes"]);
    let page = Page::open(&rig);
    let listed = page.get("/api/changes");
    let change = &listed["changes"][0];
    assert_eq!((change["agent"].as_str(), change["approval"].as_str()), (Some("cli"), Some("once by --yes")));
    assert_eq!(
        change["steps"][0],
        json!({"kind": "replace", "path": "Inbox.md", "to": null, "added": 1, "removed": 0, "undone_by": null})
    );
    assert_eq!((change["undone"].as_bool(), change["state"].as_str()), (Some(false), Some("done")));
    let id = change["id"].as_str().unwrap();
    let opened = page.get(&format!("/api/changes/{id}"));
    assert_eq!(opened["files"][0]["before"], before.as_str());
    assert!(opened["files"][0]["diff"].as_str().unwrap().contains("+- from the terminal"));
    // Shown, not done.
    let shown = page.post("/api/undo", json!({"id": id}));
    assert_eq!(shown["shown"]["files"][0]["removed"], 1);
    assert!(rig.read("Inbox.md").ends_with("- from the terminal\n"));
    // Another plan than the one that was seen is not carried out.
    let wrong = json!({"id": id, "saw": "0123456789abcdef0123456789abcdef"});
    assert_eq!(page.refused("POST", "/api/undo", Some(&wrong)), (409, "changed_since".to_owned()));
    assert!(rig.read("Inbox.md").ends_with("- from the terminal\n"));
    let done = page.undo(json!({"id": id}));
    assert_eq!(rig.read("Inbox.md"), before);
    let listed = page.get("/api/changes");
    assert_eq!(listed["changes"][0]["takes_back"]["id"], id);
    assert_eq!(
        (listed["changes"][1]["undone"].as_bool(), &listed["changes"][1]["undone_by"]),
        (Some(true), &done["checkpoint"])
    );
    // The undo is a change like any other: it can be taken back, and then the change stands again.
    page.undo(json!({"id": done["checkpoint"]}));
    assert!(rig.read("Inbox.md").ends_with("- from the terminal\n"));
    assert_eq!(page.get("/api/changes")["changes"][2]["undone"], false);
    // The terminal agrees on what is left.
    rig.ok(&["undo", "--yes"]);
    assert_eq!(rig.read("Inbox.md"), before);
}

#[test]
fn what_was_changed_again_is_taken_back_only_by_force() {
    let rig = Rig::tour();
    let before = rig.read("Inbox.md");
    rig.ok(&["append", "Inbox", "- first", "--yes"]);
    let page = Page::open(&rig);
    let id = page.get("/api/changes")["changes"][0]["id"].clone();
    rig.write("Inbox.md", "written by hand");
    let (status, reason) = page.refused("POST", "/api/undo", Some(&json!({"id": id})));
    assert_eq!((status, reason.as_str()), (409, "restore_conflict"));
    assert_eq!(rig.read("Inbox.md"), "written by hand");
    page.undo(json!({"id": id, "force": true}));
    assert_eq!(rig.read("Inbox.md"), before);
}

#[test]
fn one_file_or_a_whole_task_is_taken_back_with_the_words_that_led_to_it() {
    let rig = Rig::tour();
    let (inbox, start) = (rig.read("Inbox.md"), rig.read("Start.md"));
    let script = rig.path("script.jsonl");
    let call = |path: &str| json!({"name": "append_to_file", "input": {"path": path, "content": "\n- by the model"}});
    let turns = [json!({"calls": [call("Inbox.md"), call("Start.md")]}), json!({"text": "done"})];
    std::fs::write(&script, turns.iter().map(|turn| format!("{turn}\n")).collect::<String>()).unwrap();
    let model = format!("script@{}", script.display());
    rig.ok(&["ask", "--model", &model, "--yes", "please add a line to two notes"]);
    let page = Page::open(&rig);
    let listed = page.get("/api/changes");
    let task = listed["changes"][0]["task"].as_str().unwrap();
    assert_eq!(listed["changes"].as_array().unwrap().len(), 2);
    assert_eq!(listed["tasks"][task]["why"], "please add a line to two notes");
    let id = listed["changes"][0]["id"].as_str().unwrap();
    assert_eq!(page.get(&format!("/api/changes/{id}"))["why"], "please add a line to two notes");
    let path = listed["changes"][0]["steps"][0]["path"].as_str().unwrap();
    page.undo(json!({"id": id, "path": path}));
    let row = &page.get("/api/changes")["changes"][1];
    assert_eq!((row["id"].as_str(), row["undone"].as_bool()), (Some(id), Some(true)), "{row}");
    page.undo(json!({"task": task}));
    assert_eq!((rig.read("Inbox.md"), rig.read("Start.md")), (inbox, start));
    let only = page.get(&format!("/api/changes?task={task}"));
    assert!(only["changes"].as_array().unwrap().iter().all(|change| change["undone"] == true), "{only}");
    assert_eq!(only["changes"].as_array().unwrap().len(), 2);
    // What the days say about it.
    let days = page.get("/api/activity?days=7");
    assert_eq!(days["days"].as_array().unwrap().len(), 7);
    assert!(days["days"][6]["changes"].as_u64().unwrap() >= 4, "{days}");
    assert!(
        days["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["name"] == "append_to_file" && tool["calls"] == 2)
    );
}

#[test]
fn changes_are_filtered_and_come_page_by_page() {
    let rig = Rig::tour();
    for number in 0..5 {
        rig.ok(&["append", if number % 2 == 0 { "Inbox" } else { "Start" }, "- line", "--yes"]);
    }
    let page = Page::open(&rig);
    let ids = |answer: &Value| -> Vec<String> {
        answer["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = ids(&page.get("/api/changes"));
    assert_eq!(all.len(), 5);
    let (mut found, mut before) = (Vec::new(), String::new());
    loop {
        let answer = page.get(&format!("/api/changes?limit=2{before}"));
        found.extend(ids(&answer));
        match answer["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    assert_eq!(found, all);
    assert_eq!(ids(&page.get("/api/changes?path=Start.md")).len(), 2);
    assert_eq!(ids(&page.get("/api/changes?agent=cli")).len(), 5);
    assert_eq!(ids(&page.get("/api/changes?agent=nobody")).len(), 0);
    assert_eq!(ids(&page.get("/api/changes?to_ms=1000")).len(), 0);
    assert_eq!(ids(&page.get("/api/changes?from_ms=1000")).len(), 5);
    assert_eq!(page.refused("GET", "/api/changes?path=../x", None).0, 400);
    assert_eq!(page.refused("GET", "/api/changes/ffffffffffff", None).0, 404);
    assert_eq!(page.refused("GET", &format!("/api/changes?task={}", "x".repeat(5000)), None).0, 400);
    assert_eq!(page.refused("POST", "/api/undo", Some(&json!({}))).0, 400);
    assert_eq!(page.refused("POST", "/api/undo", Some(&json!({"id": "a", "task": "b"}))).0, 400);
}

#[test]
fn what_is_ignored_shows_in_no_change_graph_or_finding() {
    let rig = Rig::tour();
    rig.write("Secret/Diary.md", "[[Inbox]] [[nowhere at all]]");
    rig.ok(&["append", "Secret/Diary", "more", "--yes"]);
    rig.ok(&["append", "Inbox", "[[Diary]]", "--yes"]);
    rig.write(".vergerignore", "Secret/\n");
    let page = Page::open(&rig);
    for path in [
        "/api/changes",
        "/api/graph",
        "/api/graph/around?path=Inbox.md&depth=4",
        "/api/health",
        "/api/health?deep=true",
    ] {
        let answer = page.get(path).to_string();
        assert!(!answer.contains("Secret") && !answer.contains("nowhere at all"), "{path}: {answer}");
    }
    assert_eq!(page.get("/api/changes")["changes"].as_array().unwrap().len(), 1);
    assert_eq!(page.refused("GET", "/api/graph/around?path=Secret/Diary.md", None).0, 404);
}

#[test]
fn the_graph_holds_each_pair_once_and_goes_around_a_note() {
    let rig = Rig::tour();
    let page = Page::open(&rig);
    let whole = page.get("/api/graph");
    let nodes = whole["nodes"].as_array().unwrap();
    let edges = whole["edges"].as_array().unwrap();
    assert_eq!(whole["total"].as_u64().unwrap() as usize, nodes.len());
    let pairs: std::collections::HashSet<String> = edges.iter().map(Value::to_string).collect();
    assert!(!edges.is_empty() && pairs.len() == edges.len());
    assert!(edges.iter().all(|edge| edge[0].as_u64() < edge[1].as_u64() && edge[1].as_u64().unwrap() < nodes.len() as u64));
    let near = page.get("/api/graph/around?path=Inbox.md&depth=1");
    assert!(near["nodes"].as_array().unwrap().len() < nodes.len());
    assert!(near["nodes"].as_array().unwrap().iter().any(|node| node["path"] == "Inbox.md"));
    let garden = page.get("/api/graph?folder=Garden");
    assert!(
        garden["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|node| node["path"].as_str().unwrap().starts_with("Garden/"))
    );
    let few = page.get("/api/graph?limit=3");
    assert_eq!((few["nodes"].as_array().unwrap().len(), few["cut"].as_bool()), (3, Some(true)));
    let linked = page.get("/api/graph?orphans=false");
    assert!(linked["nodes"].as_array().unwrap().iter().all(|node| node["links"].as_u64() > Some(0)));
}

#[test]
fn a_repair_is_shown_first_and_then_made_and_can_be_taken_back() {
    let rig = Rig::tour();
    rig.write("Tags.md", "#Shelf-life #shelf-life #shelf-life [[Inbox]]\n");
    let page = Page::open(&rig);
    let found = page.get("/api/health");
    let counts = found["counts"].as_array().unwrap();
    let tags = counts.iter().find(|kind| kind["kind"] == "tag_variant").unwrap();
    assert!(tags["repairable"].as_u64() > Some(0));
    let wanted = json!({"kind": "tag_variant", "paths": ["Tags.md"]});
    let shown = page.post("/api/health/repair", wanted.clone());
    assert_eq!(shown["shown"]["files"][0]["path"], "Tags.md");
    assert!(rig.read("Tags.md").contains("#Shelf-life"));
    let mut made = wanted;
    made["saw"] = shown["shown"]["saw"].clone();
    let done = page.post("/api/health/repair", made);
    assert!(!rig.read("Tags.md").contains("#Shelf-life"));
    page.undo(json!({"id": done["done"]["checkpoint"]}));
    assert!(rig.read("Tags.md").contains("#Shelf-life"));
    let (status, _) = page.refused("POST", "/api/health/repair", Some(&json!({"kind": "no_such_kind"})));
    assert_eq!(status, 422);
}
