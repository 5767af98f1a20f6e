//! `verger query`: tables for people, and queries that stay.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::rig::Rig;

const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_table_is_aligned_and_cut_to_the_columns() {
    let rig = empty_vault();
    rig.write(
        "a.md",
        "---\nrank: 10\nwhy: because of many words that do not fit into a narrow terminal\n---\n",
    );
    rig.write("b.md", "---\nrank: 2\n---\n");
    let text = "TABLE rank, why SORT rank";
    assert_eq!(
        rig.ok(&["query", text, "--format", "table"]),
        "File  rank  why\nb     2\na     10    because of many words that do not fit into a narrow terminal\n2 rows\n"
    );
    let narrow = rig.command(&["query", text, "--format", "table"]).env("COLUMNS", "30").output().unwrap();
    let narrow = String::from_utf8(narrow.stdout).unwrap();
    assert!(narrow.contains("a     10    because of many w…\n"), "{narrow}");
    assert!(
        rig.ok(&["query", text]).starts_with("| File | rank | why |\n"),
        "elsewhere than on a terminal: Markdown"
    );
}

#[test]
fn a_rule_with_a_mistake_shows_where() {
    let rig = empty_vault();
    rig.write("a.md", "x\n");
    let said = rig.run(&["query", "--jsonlogic", "{\"and\": [true, {\"fly\": 1}]}"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err.contains("at and[1].fly\n{\"and\":[true,{\"fly\":1}]}\n              ^"),
        "{}",
        said.err
    );
}

/// An empty vault.
fn empty_vault() -> Rig {
    let rig = Rig::empty();
    rig.write(".obsidian/app.json", "{}");
    rig
}

/// A command that stays, with the lines that it prints.
struct Staying {
    child: Child,
    lines: Receiver<String>,
}

impl Staying {
    fn start(rig: &Rig, arguments: &[&str]) -> Staying {
        let mut command = rig.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line).ok());
        });
        Staying { child, lines }
    }

    #[track_caller]
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(LONG).expect("nothing was printed");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    #[track_caller]
    fn signal(&mut self, name: &str) -> Option<i32> {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
        self.end()
    }

    #[track_caller]
    fn end(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < LONG, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Staying {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn names(answer: &Value) -> Vec<&str> {
    let values = answer["data"]["values"].as_array().unwrap();
    values.iter().map(|value| value["$link"]["path"].as_str().unwrap()).collect()
}

#[test]
fn a_watched_query_prints_again_only_when_its_answer_changes() {
    let rig = empty_vault();
    rig.write("a.md", "#seen\n");
    let mut staying = Staying::start(&rig, &["query", "LIST FROM #seen", "--watch", "--json"]);
    assert_eq!(names(&staying.next()), ["a.md"]);
    rig.write("other.md", "nothing of interest\n");
    std::thread::sleep(Duration::from_millis(600));
    rig.write("b.md", "#seen\n");
    assert_eq!(names(&staying.next()), ["a.md", "b.md"], "and nothing for the other note");
    std::fs::remove_file(rig.root().join("a.md")).unwrap();
    assert_eq!(names(&staying.next()), ["b.md"]);
    for number in 0..50 {
        rig.write(&format!("many/{number}.md"), "#seen\n");
    }
    let mut prints = 1;
    while names(&staying.next()).len() < 51 {
        prints += 1;
    }
    assert!(prints <= 10, "many changes at once are printed together, not {prints} times");
    assert_eq!(staying.signal("INT"), Some(0), "Ctrl-C is how it ends");
}

#[test]
fn a_watched_query_ends_with_its_reader_and_with_a_signal() {
    let rig = empty_vault();
    rig.write("a.md", "#seen\n");
    let mut asked = rig.command(&["query", "LIST FROM #seen", "--watch", "--format", "csv"]);
    let mut child = asked.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "item\r\n");
    drop(out);
    rig.write("b.md", "#seen\n");
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < LONG, "it goes on for nobody");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut staying = Staying::start(&rig, &["query", "LIST FROM #seen", "--watch", "--json"]);
    staying.next();
    assert_eq!(staying.signal("TERM"), Some(0));
    let wrong = rig.run(&["query", "LIST FORM #seen", "--watch"]);
    assert_eq!(wrong.code, 1, "a mistake is no reason to stay: {wrong:?}");
}
