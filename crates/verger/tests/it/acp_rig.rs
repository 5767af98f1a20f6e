//! A small client of the Agent Client Protocol: one JSON object a line, everything that comes kept in order.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::Rig;

const PATIENCE: Duration = Duration::from_secs(60);

/// A client with a Verger of its own.
pub struct Editor {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next: i64,
    /// Updates since they were last taken.
    pub updates: Vec<Value>,
    /// Requests of Verger that wait for an answer.
    pub asked: Vec<Value>,
    /// Answers to our requests that nobody has taken yet.
    answers: Vec<Value>,
}

impl Editor {
    /// Starts Verger with a script for a model, and comes together with it.
    #[track_caller]
    pub fn new(rig: &Rig, script: &str) -> Editor {
        Editor::with(rig, script, json!({}))
    }

    /// The same for a client that says what it can do.
    #[track_caller]
    pub fn with(rig: &Rig, script: &str, capabilities: Value) -> Editor {
        std::fs::write(rig.path("script.jsonl"), script).unwrap();
        let model = format!("script@{}", rig.path("script.jsonl").display());
        let mut editor = Editor::silent(rig, &["--model", &model]);
        let answer = editor.initialize(capabilities);
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        editor
    }

    /// Starts Verger and says nothing.
    pub fn silent(rig: &Rig, arguments: &[&str]) -> Editor {
        let mut child = rig
            .command(&[&["acp"], arguments].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let stdin = child.stdin.take();
        let (updates, asked, answers) = (Vec::new(), Vec::new(), Vec::new());
        Editor { child, stdin, lines, next: 0, updates, asked, answers }
    }

    #[track_caller]
    pub fn initialize(&mut self, capabilities: Value) -> Value {
        self.request("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities}))
    }

    /// Begins a conversation in the vault.
    #[track_caller]
    pub fn begin(&mut self, rig: &Rig) -> String {
        let answer = self.request("session/new", json!({"cwd": rig.root(), "mcpServers": []}));
        answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Sends a line as it is.
    pub fn raw(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub fn line(&mut self, value: &Value) {
        self.raw(value.to_string().as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and does not wait.
    pub fn send(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        self.line(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.wait(id)
    }

    pub fn prompt(&mut self, session: &str, text: &str) -> i64 {
        self.send("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    /// Prompts and waits; why it stopped.
    #[track_caller]
    pub fn say(&mut self, session: &str, text: &str) -> String {
        let id = self.prompt(session, text);
        let answer = self.wait(id);
        answer["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub fn wait(&mut self, id: i64) -> Value {
        self.until(|editor| {
            editor.answers.iter().position(|answer| answer["id"] == id).map(|at| editor.answers.remove(at))
        })
    }

    /// Waits for an answer that belongs to no request of ours.
    #[track_caller]
    pub fn stray(&mut self) -> Value {
        self.until(|editor| {
            editor
                .answers
                .iter()
                .position(|answer| answer["id"].is_null())
                .map(|at| editor.answers.remove(at))
        })
    }

    /// Waits until Verger asks something.
    #[track_caller]
    pub fn question(&mut self) -> Value {
        self.until(|editor| (!editor.asked.is_empty()).then(|| editor.asked.remove(0)))
    }

    /// Waits for an update of this kind.
    #[track_caller]
    pub fn update(&mut self, kind: &str) -> Value {
        self.until(|editor| {
            let fits = |update: &Value| update["update"]["sessionUpdate"] == kind;
            editor.updates.iter().position(fits).map(|at| editor.updates.remove(at))
        })
    }

    pub fn answer(&mut self, question: &Value, result: Value) {
        self.line(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    }

    /// Chooses an option of a dialog.
    pub fn choose(&mut self, question: &Value, option: &str) {
        self.answer(question, json!({"outcome": {"outcome": "selected", "optionId": option}}));
    }

    #[track_caller]
    fn until<T>(&mut self, mut found: impl FnMut(&mut Editor) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|error| {
                panic!(
                    "{error}; updates: {:?}; asked: {:?}; answers: {:?}",
                    self.updates, self.asked, self.answers
                )
            });
            self.sort(&line);
        }
    }

    #[track_caller]
    fn sort(&mut self, line: &str) {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(value["jsonrpc"], "2.0", "{value}");
        match (value["method"].as_str(), value.get("id").is_some()) {
            (Some("session/update"), false) => self.updates.push(value["params"].clone()),
            (Some(_), true) => self.asked.push(value),
            (Some(method), false) => assert!(method.starts_with("$/"), "{value}"),
            (None, _) => self.answers.push(value),
        }
    }

    /// What was said so far in the pieces of one kind, joined.
    pub fn text(&self, kind: &str) -> String {
        self.of(kind).filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// The updates of one kind.
    pub fn of<'e>(&'e self, kind: &'e str) -> impl Iterator<Item = &'e Value> + 'e {
        self.updates
            .iter()
            .map(|update| &update["update"])
            .filter(move |update| update["sessionUpdate"] == kind)
    }

    /// Closes stdin; the exit code.
    #[track_caller]
    pub fn end(mut self) -> i32 {
        drop(self.stdin.take());
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it did not end");
    }

    /// Kills it as nobody could prevent.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
