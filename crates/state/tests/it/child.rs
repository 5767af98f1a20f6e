//! Another process: this test binary once more, with its orders in variables. It says on stdout what it has done.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::json;
use state::{NewStep, Sessions, holder};

use super::rig::says;

/// A process that was started.
pub struct Process {
    pub child: Child,
    pub lines: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a process that does this on the file.
    pub fn start(order: &str, file: &Path, session: &str) -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["it::child::the_other_process", "--exact", "--nocapture", "--test-threads=1"])
            .env("VERGER_STATE_ORDER", order)
            .env("VERGER_STATE_FILE", file)
            .env("VERGER_STATE_SESSION", session)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Process { child, lines }
    }

    /// The next thing that it says; none when it is gone.
    pub fn next(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            // The test harness prints in front of our words, on the same line.
            match self.lines.read_line(&mut line) {
                Ok(0) | Err(_) => return None,
                Ok(_) => match line.trim_end_matches('\n').rsplit_once("did: ") {
                    // A killed process may leave half a line.
                    Some((_, words)) if line.ends_with('\n') => return Some(words.to_owned()),
                    _ => {}
                },
            }
        }
    }

    /// Ends it without a word of warning (SIGKILL), and waits until it is gone.
    pub fn kill(mut self) -> Option<String> {
        self.child.kill().unwrap();
        let mut last = None;
        while let Some(line) = self.next() {
            last = Some(line);
        }
        self.child.wait().unwrap();
        last
    }
}

fn tell(words: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "did: {words}").unwrap();
    out.flush().unwrap();
}

/// Not a test of its own: does nothing unless it was started by one.
#[test]
fn the_other_process() {
    let Ok(order) = std::env::var("VERGER_STATE_ORDER") else { return };
    let file = PathBuf::from(std::env::var_os("VERGER_STATE_FILE").unwrap());
    let session = std::env::var("VERGER_STATE_SESSION").unwrap();
    let sessions = Sessions::open(&file).unwrap();
    match order.split_once(' ').unwrap_or((&order, "")) {
        ("batches", _) => batches(&sessions, &session),
        ("append", count) => {
            for number in 1..=count.parse::<u64>().unwrap() {
                let step = says("user", &format!("{session} says {number}"));
                assert_eq!(sessions.append(&session, &[step], number as i64).unwrap(), number);
            }
            tell("all");
        }
        ("lease", _) => {
            let _lease = sessions.lease(&session, &holder::this_process(), 1_000, 3_600).unwrap();
            sessions.append(&session, &[says("user", "mine")], 1_000).unwrap();
            tell(holder::this_process());
            std::thread::sleep(std::time::Duration::from_secs(120));
        }
        other => panic!("{other:?}"),
    }
}

/// Writes batches of three steps for ever, and says the number of the last step of each once it is acknowledged.
fn batches(sessions: &Sessions, session: &str) {
    let mut number = sessions.header(session).unwrap().steps;
    loop {
        let steps: Vec<NewStep> = (1..=3)
            .map(|more| NewStep {
                kind: "batch",
                body: json!({"number": number + more, "padding": "x".repeat((number % 7 * 900) as usize)}),
                said: None,
            })
            .collect();
        number = sessions.append(session, &steps, 1).unwrap();
        tell(number);
    }
}
