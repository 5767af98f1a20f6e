//! Conversations through the page: streams, snapshots, restarts, copies. A script stands for the model.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::Rig;
use crate::serve_rig::{Events, PATIENCE, Serve};

/// A server whose model plays these turns.
#[track_caller]
pub fn serve(rig: &Rig, turns: &[Value]) -> Serve {
    let text: Vec<String> = turns.iter().map(Value::to_string).collect();
    let file = rig.path("script.jsonl");
    std::fs::write(&file, text.join("\n")).unwrap();
    Serve::start(rig, &["--model", &format!("script@{}", file.display())])
}

pub fn append(text: &str) -> Value {
    json!({"calls": [{"name": "append_to_file", "input": {"path": "Start.md", "content": text}}]})
}

/// A new conversation.
#[track_caller]
pub fn begin(serve: &Serve) -> String {
    serve.post_json("/api/chats", &json!({})).ok()["id"].as_str().unwrap().to_owned()
}

#[track_caller]
pub fn say(serve: &Serve, id: &str, text: &str) -> Value {
    serve.post_json(&format!("/api/chats/{id}/say"), &json!({ "text": text })).ok()
}

pub fn look(serve: &Serve, id: &str) -> Value {
    serve.json(&format!("/api/chats/{id}"))
}

/// The conversation, once no turn runs in it.
#[track_caller]
pub fn finished(serve: &Serve, id: &str) -> Value {
    wait(|| Some(look(serve, id)).filter(|chat| chat["running"] == false))
}

#[track_caller]
pub fn wait<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(ready) = ready() {
            return ready;
        }
        assert!(begun.elapsed() < PATIENCE, "it did not come");
        std::thread::sleep(Duration::from_millis(15));
    }
}

pub fn of_kind<'c>(chat: &'c Value, kind: &str) -> Vec<&'c Value> {
    chat["items"].as_array().unwrap().iter().filter(|item| item["kind"] == kind).collect()
}

/// What a page knows that reads a stream.
#[derive(Default)]
struct Page {
    items: BTreeMap<u64, Value>,
    cursor: String,
    head: Value,
    resets: usize,
    events: usize,
}

impl Page {
    fn from(chat: &Value) -> Page {
        let mut page = Page { cursor: chat["cursor"].as_str().unwrap().to_owned(), ..Page::default() };
        page.take(&chat["items"]);
        page
    }

    fn take(&mut self, items: &Value) {
        for item in items.as_array().unwrap() {
            self.items.retain(|_, known| known["id"] != item["id"]);
            self.items.insert(item["at"].as_u64().unwrap(), item.clone());
        }
    }

    /// Reads until this holds.
    #[track_caller]
    fn read(&mut self, events: &mut Events, mut until: impl FnMut(&Page) -> bool) {
        while !until(self) {
            let event = events.next_event().expect("the stream goes on");
            match event.name.as_str() {
                "items" => {
                    self.events += 1;
                    self.cursor = event.id.clone();
                    self.take(&event.json()["items"]);
                }
                "chat" => self.head = event.json(),
                "reset" => {
                    self.resets += 1;
                    self.items.clear();
                }
                _ => {}
            }
        }
    }

    fn is_over(&self) -> bool {
        self.head["running"] == false && self.items.values().any(|item| item["kind"] == "over")
    }

    fn all(&self) -> Vec<Value> {
        self.items.values().cloned().collect()
    }
}

/// A turn of everything: thoughts, reading, a list, a child that reads, a call that is refused, a long answer.
fn rich() -> Vec<Value> {
    vec![
        json!({"thinking": "First I look around.", "text": "Let me look.", "calls": [
            {"name": "read_file", "input": {"path": "Start.md"}},
            {"name": "read_file", "input": {"path": "../outside.md"}},
            {"name": "no_such_tool", "input": {}},
            {"name": "read_file", "input": {"path": "Start.md", "offset": 2}},
            {"name": "read_file", "raw": "{\"path\": "}], "pause_ms": 5, "usage": {"input": 100, "output": 20}}),
        json!({"calls": [{"name": "update_todo_list", "input": {"todos": "- [x] look\n- [ ] write"}}]}),
        json!({"calls": [{"name": "find_tool", "input": {"query": "spawn_agent"}}]}),
        json!({"calls": [{"name": "spawn_agent", "input": {"agents": [{"name": "one", "task": "child-one work"}]}}]}),
        json!({"text": "# Done\n\nIt **is** done, see [[Start]].\n\n<script>alert(1)</script> ", "chunk": 5, "pause_ms": 5}),
        json!({"for": "child-one", "thinking": "hm", "calls": [{"name": "read_file", "input": {"path": "Start.md"}}]}),
        json!({"for": "child-one", "text": "child-one is ready"}),
    ]
}

#[test]
fn a_turn_is_streamed_to_its_end_and_adds_up_to_what_is_asked_for_later() {
    let rig = Rig::tour();
    let serve = serve(&rig, &rich());
    let id = begin(&serve);
    let mut events = serve.sse(&format!("/api/events?chat={id}"));
    assert_eq!(events.status, 200, "{}", events.head);
    assert!(events.head.contains("text/event-stream"), "{}", events.head);
    let task = say(&serve, &id, "look around @[[Start]]")["task"].as_str().unwrap().to_owned();
    let mut page = Page::default();
    page.read(&mut events, Page::is_over);
    let chat = finished(&serve, &id);
    assert_eq!(json!(page.all()), chat["items"]);
    assert_eq!((page.resets, &page.head["title"]), (0, &json!("look around @[[Start]]")));
    assert_eq!(page.head["meter"]["tokens"], 120, "{}", page.head);
    let user = of_kind(&chat, "user")[0];
    assert_eq!(
        (&user["text"], &user["task"], &user["step"]),
        (&json!("look around @[[Start]]"), &json!(task), &json!(1))
    );
    assert_eq!(user["attachments"], json!([{"name": "Start.md", "media_type": "text/plain"}]));
    let answers = of_kind(&chat, "answer");
    let last = answers.last().unwrap();
    assert!(last["done"] == true && last["model"].as_str().unwrap().starts_with("script@"), "{last}");
    assert!(!last["html"].as_str().unwrap().contains("<script>"), "{last}");
    let states: Vec<&str> = of_kind(&chat, "call")
        .iter()
        .filter(|call| call["parent"].is_null())
        .map(|call| call["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["done", "refused", "refused", "done", "refused", "done", "done", "done"]);
    let child = of_kind(&chat, "child")[0];
    assert_eq!((&child["name"], &child["state"]), (&json!("one"), &json!("done")));
    let below: Vec<&Value> = chat["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["parent"] == child["id"])
        .map(|item| &item["kind"])
        .collect();
    assert_eq!(below, ["thinking", "call", "answer"]);
    assert_eq!(of_kind(&chat, "todo")[0]["items"][0], json!({"text": "look", "state": "done"}));
    assert_eq!(of_kind(&chat, "over")[0]["how"], "done");
    assert_eq!(serve.json("/api/chats")["chats"][0]["title"], "look around @[[Start]]");
}

/// Items of each parent in their order; what passes is left out.
fn lasting(chat: &Value) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for item in chat["items"].as_array().unwrap() {
        if item["id"].as_str().unwrap().contains(".passing") {
            continue;
        }
        let mut item = item.clone();
        item.as_object_mut().unwrap().remove("at");
        all.entry(item["parent"].to_string()).or_default().push(item);
    }
    all
}

#[test]
fn a_conversation_that_is_read_again_looks_as_it_was_shown() {
    let rig = Rig::tour();
    let mut turns = rich();
    turns.insert(5, append("- by the page"));
    turns.insert(6, json!({"calls": [{"name": "attempt_completion", "input": {"result": "All is well."}}]}));
    let first = serve(&rig, &turns);
    let id = begin(&first);
    say(&first, &id, "look around");
    finished(&first, &id);
    say(&first, &id, "now write");
    let question = wait(|| first.json("/api/questions")["questions"][0]["id"].as_str().map(str::to_owned));
    assert_eq!(
        first.post_json(&format!("/api/questions/{question}"), &json!({"answer": "once"})).status,
        204
    );
    let shown = finished(&first, &id);
    first.end();
    let second = serve(&rig, &turns);
    let read = look(&second, &id);
    assert_eq!(lasting(&shown), lasting(&read));
    assert_ne!(shown["cursor"], read["cursor"]);
    assert_eq!((&shown["meter"], &read["half_way"]), (&read["meter"], &json!(false)));
    let changed: Vec<&Value> =
        of_kind(&read, "call").into_iter().filter(|call| !call["checkpoint"].is_null()).collect();
    assert_eq!(changed[0]["changed"], json!(["Start.md"]));
    assert!(changed[0]["milliseconds"].is_u64());
    assert!(of_kind(&read, "answer").iter().any(|answer| answer["text"] == "All is well."));
}

#[test]
fn who_comes_back_in_the_middle_is_sent_the_rest_and_all_see_the_same() {
    let rig = Rig::tour();
    let long: String = (0..200).map(|number| format!("word{number} ")).collect();
    let serve = serve(&rig, &[json!({"text": long, "chunk": 20, "pause_ms": 15})]);
    let id = begin(&serve);
    let mut other_events = serve.sse(&format!("/api/events?chat={id}"));
    say(&serve, &id, "tell me much");
    let chat = wait(|| Some(look(&serve, &id)).filter(|chat| !of_kind(chat, "answer").is_empty()));
    let mut page = Page::from(&chat);
    // The page is looked at, closed, and opened again by the browser itself.
    let path = format!("/api/events?chat={id}&after={}", page.cursor);
    let mut events = serve.sse(&path);
    page.read(&mut events, |page| page.events >= 2);
    drop(events);
    std::thread::sleep(Duration::from_millis(150));
    let cursor = page.cursor.clone();
    let mut events = serve.sse_by("GET", &path, &[("last-event-id", &cursor)], "");
    page.read(&mut events, Page::is_over);
    let mut other = Page::default();
    other.read(&mut other_events, Page::is_over);
    let last = finished(&serve, &id);
    assert_eq!(json!(page.all()), last["items"]);
    assert_eq!(json!(other.all()), last["items"]);
    assert_eq!((page.resets, other.resets), (0, 0));
    assert!(of_kind(&last, "answer")[0]["text"] == long.as_str());
    // A cursor of another life, or none at all, is a reason to begin anew.
    for after in ["other.5", "nonsense"] {
        let mut events = serve.sse(&format!("/api/events?chat={id}&after={after}"));
        let mut anew = Page::default();
        anew.read(&mut events, Page::is_over);
        assert_eq!((json!(anew.all()), anew.resets), (last["items"].clone(), 1), "{after}");
    }
}

#[test]
fn an_answer_that_breaks_off_is_not_shown_twice() {
    let rig = Rig::tour();
    let serve =
        serve(&rig, &[json!({"text": "the whole answer", "chunk": 4, "pause_ms": 30, "fault": "cut"})]);
    let id = begin(&serve);
    let mut events = serve.sse(&format!("/api/events?chat={id}"));
    say(&serve, &id, "hello");
    let mut page = Page::default();
    page.read(&mut events, Page::is_over);
    let chat = finished(&serve, &id);
    assert_eq!(json!(page.all()), chat["items"]);
    let answers: Vec<&Value> = of_kind(&chat, "answer").into_iter().map(|answer| &answer["text"]).collect();
    assert_eq!(answers, ["the whole answer"]);
    assert!(page.resets >= 1);
}

/// What each item says, with its kind.
fn told(chat: &Value) -> Vec<String> {
    let items = chat["items"].as_array().unwrap().iter();
    items
        .map(|item| format!("{}: {}", item["kind"].as_str().unwrap(), item["text"].as_str().unwrap_or("-")))
        .collect()
}

#[test]
fn what_is_said_while_a_turn_runs_is_heard_in_its_next_round_or_in_a_turn_of_its_own() {
    let rig = Rig::tour();
    let read = json!([{"name": "list_tags", "input": {}}]);
    let serve = serve(
        &rig,
        &[
            json!({"text": "the first answer", "chunk": 2, "pause_ms": 40, "calls": read}),
            json!({"text": "and the second", "chunk": 2, "pause_ms": 40}),
            json!({"text": "and the third"}),
        ],
    );
    let id = begin(&serve);
    say(&serve, &id, "hello");
    let there = |text: &str| {
        wait(|| {
            let chat = look(&serve, &id);
            let found =
                of_kind(&chat, "answer").iter().any(|item| item["text"].as_str().unwrap().starts_with(text));
            found.then_some(())
        });
    };
    there("th");
    assert_eq!(say(&serve, &id, "one more thing"), json!({"added": true}));
    there("an");
    assert_eq!(say(&serve, &id, "and one more"), json!({"added": true}));
    let chat = finished(&serve, &id);
    let call = of_kind(&chat, "call")[0]["text"].as_str().unwrap();
    let call = format!("call: {call}");
    let expected = [
        "user: hello",
        "answer: the first answer",
        &call,
        "user: one more thing",
        "answer: and the second",
        "over: done",
        "user: and one more",
        "answer: and the third",
        "over: done",
    ];
    assert_eq!(told(&chat), expected);
    serve.end();
    let again = Serve::start(&rig, &[]);
    assert_eq!(lasting(&look(&again, &id)), lasting(&chat));
}

#[test]
fn a_terminal_and_the_page_go_on_with_one_conversation_in_turns() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let rig = Rig::tour();
    let serve = serve(&rig, &[json!({"text": "for the terminal"}), json!({"text": "for the page"})]);
    let id = begin(&serve);
    look(&serve, &id);
    let model = format!("script@{}", rig.path("script.jsonl").display());
    let mut terminal = rig
        .command(&["chat", "--session", &id, "--model", &model])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut greeting = String::new();
    BufReader::new(terminal.stderr.take().unwrap()).read_line(&mut greeting).unwrap();
    assert!(greeting.contains(&id), "{greeting}");
    let path = format!("/api/chats/{id}/say");
    let busy = serve.post_json(&path, &json!({"text": "hello"}));
    assert_eq!((busy.status, busy.reason().as_str()), (409, "session_busy"));
    assert_eq!(look(&serve, &id)["items"], json!([]), "looking is free, and nothing was said");
    terminal.stdin.take().unwrap().write_all(b"hello from the terminal\n").unwrap();
    terminal.wait().unwrap();
    assert_eq!(
        told(&look(&serve, &id)),
        ["user: hello from the terminal", "answer: for the terminal", "over: done"]
    );
    say(&serve, &id, "hello");
    assert_eq!(of_kind(&finished(&serve, &id), "answer")[1]["text"], "for the page");
}

#[test]
fn more_pages_than_can_be_served_are_told_so() {
    let rig = Rig::tour();
    let serve = serve(&rig, &[json!({"text": "x"})]);
    let mut open: Vec<Events> = (0..400).map(|_| serve.sse("/api/events")).collect();
    assert!(open.iter().all(|events| events.status == 200));
    let refused = serve.get("/api/events");
    assert_eq!((refused.status, refused.reason().as_str()), (503, "too_many_streams"));
    assert_eq!(serve.get("/api/chats").status, 200);
    open.pop();
    wait(|| Some(serve.sse("/api/events")).filter(|events| events.status == 200));
}

#[test]
fn a_killed_server_leaves_a_turn_half_way_and_another_goes_on_with_it() {
    let turns = [
        append("- one"),
        json!({"calls": [{"name": "write_file", "input": {"path": "New.md", "content": "new\n"}}], "chunk": 1, "pause_ms": 300}),
        json!({"text": "it is done"}),
    ];
    let approve_all = |serve: &Serve, id: &str| {
        wait(|| {
            for question in serve.json("/api/questions")["questions"].as_array().unwrap() {
                let path = format!("/api/questions/{}", question["id"].as_str().unwrap());
                serve.post_json(&path, &json!({"answer": "once"}));
            }
            Some(look(serve, id)).filter(|chat| chat["running"] == false)
        })
    };
    let whole = Rig::tour();
    let unbroken = serve(&whole, &turns);
    let id = begin(&unbroken);
    say(&unbroken, &id, "write");
    approve_all(&unbroken, &id);
    unbroken.end();

    let rig = Rig::tour();
    let mut first = serve(&rig, &turns);
    let id = begin(&first);
    say(&first, &id, "write");
    let question = wait(|| first.json("/api/questions")["questions"][0]["id"].as_str().map(str::to_owned));
    first.post_json(&format!("/api/questions/{question}"), &json!({"answer": "once"}));
    wait(|| rig.read("Start.md").contains("- one").then_some(()));
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let second = serve(&rig, &turns);
    let chat = look(&second, &id);
    assert_eq!((&chat["half_way"], &chat["running"]), (&json!(true), &json!(false)));
    assert_eq!(of_kind(&chat, "over")[0]["half_way"], true);
    second.post_json(&format!("/api/chats/{id}/go_on"), &json!({})).ok();
    let chat = approve_all(&second, &id);
    assert_eq!(
        (&chat["half_way"], &of_kind(&chat, "over")[0]["how"]),
        (&json!(false), &json!("done")),
        "{chat}"
    );
    assert_eq!(of_kind(&chat, "over").len(), 1);
    assert_eq!(second.post_json(&format!("/api/chats/{id}/go_on"), &json!({})).reason(), "nothing_left");
    second.end();
    assert_eq!(rig.read("Start.md"), whole.read("Start.md"));
    assert_eq!(rig.read("New.md"), whole.read("New.md"));
}

#[test]
fn sixty_four_conversations_run_at_once_and_none_hears_another() {
    let rig = Rig::tour();
    let turns: Vec<Value> = (0..64)
        .map(|number| json!({"for": format!("<{number}>"), "text": format!("answer {number}"), "chunk": 3, "pause_ms": 50}))
        .collect();
    let serve = serve(&rig, &turns);
    let ids: Vec<String> = (0..64).map(|_| begin(&serve)).collect();
    std::thread::scope(|scope| {
        for (number, id) in ids.iter().enumerate() {
            let serve = &serve;
            scope.spawn(move || say(serve, id, &format!("question <{number}>")));
        }
    });
    for (number, id) in ids.iter().enumerate() {
        let chat = finished(&serve, id);
        assert_eq!(of_kind(&chat, "answer")[0]["text"], format!("answer {number}"));
    }
    assert_eq!(serve.json("/api/chats?limit=500")["chats"].as_array().unwrap().len(), 64);
    serve.end();
}

#[test]
fn the_end_of_the_server_stops_turns_and_streams() {
    let rig = Rig::tour();
    let serve = serve(&rig, &[json!({"text": "a very long answer", "chunk": 1, "pause_ms": 2000})]);
    let id = begin(&serve);
    let mut events = serve.sse(&format!("/api/events?chat={id}"));
    say(&serve, &id, "hello");
    events.until("items");
    let begun = Instant::now();
    serve.end();
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(events.all().len() < 100, "the stream has an end");
    let kept = rig.json(&["sessions", "list"]);
    assert!(kept.to_string().contains(&id), "{kept}");
}
