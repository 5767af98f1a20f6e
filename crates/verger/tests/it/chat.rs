//! Conversations through the real binary, with a script for a model.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::Rig;

/// A script of these turns; its name for `--model`.
fn script(rig: &Rig, name: &str, turns: &[Value]) -> String {
    let text: Vec<String> = turns.iter().map(Value::to_string).collect();
    let file = rig.path(name);
    std::fs::write(&file, text.join("\n")).unwrap();
    format!("script@{}", file.display())
}

fn append(text: &str) -> Value {
    json!({"calls": [{"name": "append_to_file", "input": {"path": "Start.md", "content": text}}]})
}

#[test]
fn a_question_is_answered_with_the_tools_and_only_the_answer_is_on_stdout() {
    let rig = Rig::tour();
    let model = script(
        &rig,
        "s.jsonl",
        &[
            json!({"text": "Let me look.", "calls": [{"name": "search_files", "input": {"path": "", "pattern": "quince"}}]}),
            append("- by the model"),
            json!({"text": "It is **done**."}),
        ],
    );
    let said = rig.run(&["ask", "--model", &model, "--yes", "add a line"]);
    assert_eq!((said.code, said.out.as_str()), (0, "It is **done**.\n"), "{said:?}");
    assert!(
        said.err.contains("✓ search_files answered") && said.err.contains("✓ append_to_file done Start.md")
    );
    assert!(std::fs::read_to_string(rig.root().join("Start.md")).unwrap().contains("- by the model"));
    rig.ok(&["undo", "--yes"]);
    assert!(!std::fs::read_to_string(rig.root().join("Start.md")).unwrap().contains("- by the model"));
}

#[test]
fn where_nobody_can_be_asked_nothing_is_changed_and_the_model_is_told() {
    let rig = Rig::tour();
    let model = script(&rig, "s.jsonl", &[append("- x"), json!({"text": "{{result}}"})]);
    let before = std::fs::read(rig.root().join("Start.md")).unwrap();
    let said = rig.run(&["ask", "--json", "--model", &model, "add a line"]);
    assert_eq!(said.code, 0, "{said:?}");
    let events: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = events.iter().find(|event| event["event"] == "call_ended").unwrap();
    assert_eq!(ended["outcome"], "denied");
    assert_eq!(events.last().unwrap()["event"], "over");
    assert_eq!(std::fs::read(rig.root().join("Start.md")).unwrap(), before);
}

#[test]
fn what_is_piped_in_is_part_of_the_question() {
    let rig = Rig::tour();
    let model = script(&rig, "s.jsonl", &[json!({"for": "from the pipe", "text": "heard"})]);
    let mut child = rig
        .command(&["ask", "--model", &model, "what is this?"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a line from the pipe").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "heard\n");
}

#[test]
fn without_a_model_two_lines_say_how_to_connect_one() {
    let rig = Rig::tour();
    let said = rig.run(&["ask", "hello"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("no model is connected") && said.err.contains("ollama@NAME"), "{said:?}");
    let said = rig.run(&["ask", "--model", "anthropic@x", "hello"]);
    assert!(said.err.contains("ANTHROPIC_API_KEY is not set"), "{said:?}");
    let said = rig.run(&["ask", "--model", "antropic@x", "hello"]);
    assert!(said.err.contains("anthropic@x"), "{said:?}");
    let said = rig.run(&["ask", "--model", "script@/nowhere.jsonl", "hello"]);
    assert!(said.err.contains("there is no script"), "{said:?}");
}

#[test]
fn a_chat_without_a_model_still_lets_a_person_call_tools() {
    let rig = Rig::tour();
    let said =
        chat(&rig, &[], "/tool read_file {\"path\": \"Start.md\"}\nhello\n/tol\n/quit\n/tool list_tags\n");
    assert!(said.0.contains("Welcome to Little Marrow"), "{said:?}");
    assert!(said.1.contains("no model is connected") && said.1.contains("did you mean /tool?"), "{said:?}");
    assert!(!said.0.contains("#start"), "nothing comes behind the end");
}

fn chat(rig: &Rig, arguments: &[&str], typed: &str) -> (String, String) {
    let mut child = rig
        .command(&[&["chat"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn a_chat_goes_on_is_undone_exported_and_found_again() {
    let rig = Rig::tour();
    let model = script(
        &rig,
        "s.jsonl",
        &[
            append("- one"),
            json!({"text": "first answer about gooseberries"}),
            json!({"text": "second answer"}),
        ],
    );
    let (out, err) =
        chat(&rig, &["--yes", "--model", &model], "add a line\n/undo\nand now?\n/cost\n/export\n/sessions\n");
    assert!(out.contains("first answer about gooseberries") && out.contains("second answer"), "{out}\n{err}");
    assert!(out.contains("## You\n\nadd a line") && out.contains("tokens in"), "{out}");
    assert!(err.contains("the model is a script"), "{err}");
    assert!(!std::fs::read_to_string(rig.root().join("Start.md")).unwrap().contains("- one"));
    let found = rig.json(&["sessions", "search", "gooseberries"]);
    let id = found["data"]["found"][0]["session"].as_str().unwrap().to_owned();
    assert!(rig.ok(&["sessions", "show", &id[..6]]).contains("second answer"));
    let (out, _) = chat(&rig, &["--model", &model, "--session", &id], "/cost\nmore\n");
    assert!(out.contains("script has ended") || out.contains("ended"), "{out}");
}

/// The key of a provider never reaches a log, an error or a session.
#[test]
fn a_key_is_nowhere_on_disk_or_screen() {
    const KEY: &str = "sk-canary-0123456789abcdef";
    let rig = Rig::tour();
    // Nobody listens there: the request fails with all its words.
    std::fs::create_dir_all(rig.path("config/verger")).unwrap();
    std::fs::write(
        rig.path("config/verger/config.toml"),
        "[models]\nmain = \"mine@m\"\n[providers.mine]\ndialect = \"openai\"\nurl = \"http://127.0.0.1:9\"\nkey_env = \"MY_KEY\"\n",
    )
    .unwrap();
    let output = rig.command(&["ask", "--json", "hello"]).env("MY_KEY", KEY).output().unwrap();
    assert!(!output.status.success());
    let mut seen = vec![output.stdout, output.stderr];
    let mut waiting = vec![rig.folder.path().to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => seen.push(std::fs::read(path).unwrap_or_default()),
            }
        }
    }
    let key = KEY.as_bytes();
    assert!(seen.iter().all(|bytes| !bytes.windows(key.len()).any(|window| window == key)));
}

/// Sixty answers, three children, a summary on the way.
fn long_script() -> Vec<Value> {
    let mut turns = vec![json!({"calls": [{"name": "find_tool", "input": {"query": "spawn_agent"}}]})];
    turns.push(json!({"calls": [{"name": "spawn_agent", "input": {"agents": [
        {"name": "one", "task": "child-one work"}, {"name": "two", "task": "child-two work"}, {"name": "three", "task": "child-three work"}]}}]}));
    for number in 0..56 {
        let path = format!("Long/note {number:02}.md");
        turns.push(json!({"calls": [
            {"name": "read_file", "input": {"path": "Start.md", "offset": number + 1, "limit": 3}},
            {"name": "write_file", "input": {"path": path, "content": format!("# Note {number}\n{}\n", "word ".repeat(400))}}],
            "usage": {"input": 2000 * (number % 8 + 1), "output": 50}}));
    }
    turns.push(json!({"calls": [{"name": "delete_file", "input": {"path": "Long/note 03.md"}}]}));
    turns.push(json!({"text": "sixty turns are over"}));
    for (child, letter) in [("child-one", "a"), ("child-two", "b"), ("child-three", "c")] {
        turns.push(json!({"for": child, "calls": [{"name": "write_file", "input": {"path": format!("Children/{letter}.md"), "content": child}}]}));
        turns.push(json!({"for": child, "calls": [{"name": "append_to_file", "input": {"path": format!("Children/{letter}.md"), "content": "more"}}]}));
        turns.push(json!({"for": child, "text": format!("{child} is ready")}));
    }
    for _ in 0..20 {
        turns.push(json!({"purpose": "condense", "text": "Notes were written."}));
    }
    turns
}

fn notes(rig: &Rig) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![rig.root()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(rig.root()).unwrap().display().to_string();
            match path.is_dir() {
                true if name != ".trash" => waiting.push(path),
                true => {}
                false => found.push((name, std::fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

/// The long conversation, killed this often at moments that differ, and taken up again each time.
fn long_run(kills: u32) -> Vec<(String, Vec<u8>)> {
    let rig = Rig::tour();
    std::fs::create_dir_all(rig.path("config/verger")).unwrap();
    std::fs::write(rig.path("config/verger/config.toml"), "[chat]\nrounds = 100\ncondense_at = 10\n")
        .unwrap();
    let model = script(&rig, "s.jsonl", &long_script());
    let mut session: Option<String> = None;
    for round in 0..=kills {
        let mut arguments = vec!["ask", "--json", "--yes", "--model", &model];
        match &session {
            Some(id) => arguments.extend(["--go-on", id.as_str()]),
            None => arguments.push("go"),
        }
        let mut child = rig.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let start = Instant::now();
        let mut seen = 0;
        let mut over = false;
        while let Some(Ok(line)) = lines.next() {
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == "turn" && session.is_none() {
                session = event["session"].as_str().map(str::to_owned);
            }
            over |= event["event"] == "over";
            seen += 1;
            // Somewhere in the middle of things: after so many events and a little time of its own.
            if round < kills && seen > 25 + 17 * round {
                std::thread::sleep(Duration::from_micros(u64::from(round) * 613 % 4_000));
                child.kill().unwrap();
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(120));
        }
        let status = child.wait().unwrap();
        if round == kills {
            assert!(over && status.success(), "round {round}");
        }
    }
    let shown = rig.ok(&["sessions", "show", &session.unwrap()]);
    assert!(
        shown.contains("sixty turns are over") && shown.contains("made shorter here"),
        "{}",
        &shown[shown.len().saturating_sub(3_000)..]
    );
    let audit = rig.ok(&["audit", "verify"]);
    assert!(!audit.is_empty());
    notes(&rig)
}

#[test]
fn a_long_conversation_that_is_killed_and_taken_up_ends_with_the_same_vault() {
    let whole = long_run(0);
    assert!(whole.iter().any(|(name, _)| name == "Long/note 55.md"));
    assert!(whole.iter().any(|(name, text)| name == "Children/b.md" && text.starts_with(b"child-two")));
    assert!(!whole.iter().any(|(name, _)| name == "Long/note 03.md"));
    let killed = long_run(6);
    let names = |notes: &[(String, Vec<u8>)]| notes.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&whole), names(&killed));
    for (one, other) in whole.iter().zip(&killed) {
        assert!(one == other, "{} differs", one.0);
    }
}

#[test]
fn the_prompt_and_the_tools_together_stay_small() {
    let rig = Rig::tour();
    let text = rig.ok(&["dev", "prompt"]);
    let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&text).len();
    println!("the default system prompt and tools have {tokens} tokens (o200k)");
    assert!(tokens < 6_000, "{tokens}");
}
