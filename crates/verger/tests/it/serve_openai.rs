//! `/v1` of `verger serve`: the vault's agents for programs that speak OpenAI's chat format, with a script for a model.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::Rig;
use crate::serve_rig::{Answer, Event, Serve};

struct Caller {
    rig: Rig,
    serve: Serve,
    bearer: String,
}

impl Caller {
    /// A server whose model plays these turns, and a token that may this.
    fn new(turns: &[Value], may: &[&str]) -> Caller {
        let rig = Rig::tour();
        let script = rig.path("script.jsonl");
        let lines: Vec<String> = turns.iter().map(Value::to_string).collect();
        std::fs::write(&script, lines.join("\n")).unwrap();
        let serve = Serve::start(&rig, &["--model", &format!("script@{}", script.display())]);
        let bearer = token(&rig, "caller", may);
        Caller { rig, serve, bearer }
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        self.serve.send(method, path, &[("authorization", &self.bearer), ("cookie", "")], body)
    }

    fn complete(&self, body: &Value) -> Answer {
        self.send("POST", "/v1/chat/completions", &body.to_string())
    }

    fn stream(&self, body: &Value) -> Vec<Event> {
        let headers = [("authorization", self.bearer.as_str()), ("cookie", "")];
        let events = self.serve.sse_by("POST", "/v1/chat/completions", &headers, &body.to_string());
        assert_eq!(events.status, 200, "{}", events.head);
        assert!(events.head.contains("content-type: text/event-stream"), "{}", events.head);
        events.all()
    }

    fn sessions(&self) -> usize {
        self.rig.json(&["sessions"])["data"]["sessions"].as_array().unwrap().len()
    }
}

fn token(rig: &Rig, name: &str, may: &[&str]) -> String {
    let may = may.iter().flat_map(|may| ["--may", may]);
    let arguments: Vec<&str> = ["serve", "--new-token", name].into_iter().chain(may).collect();
    format!("Bearer {}", rig.ok(&arguments).trim())
}

fn hello(more: Value) -> Value {
    let mut body = json!({"model": "verger", "messages": [{"role": "user", "content": "Hello?"}]});
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

#[test]
fn the_agents_are_the_models() {
    let caller = Caller::new(&[], &["chat"]);
    let models = caller.send("GET", "/v1/models", "").ok();
    assert_eq!(models["object"], "list");
    let ids: Vec<&str> =
        models["data"].as_array().unwrap().iter().filter_map(|model| model["id"].as_str()).collect();
    assert_eq!(ids[0], "verger");
    assert!(ids.contains(&"verger/reader") && ids.contains(&"verger/agent"), "{ids:?}");
    assert_eq!(caller.send("GET", "/v1/models/verger/reader", "").ok()["object"], "model");
    let none = caller.send("GET", "/v1/models/gpt-4o", "");
    assert_eq!((none.status, none.value()["error"]["code"].as_str()), (404, Some("model_not_found")));
}

#[test]
fn an_answer_comes_whole() {
    let turn = json!({"thinking": "a greeting", "text": "Good day.", "usage": {"input": 11, "output": 3, "cache_read": 4, "thinking": 2}});
    let caller = Caller::new(&[turn], &["chat"]);
    let answer =
        caller.complete(&hello(json!({"temperature": 0.5, "max_tokens": 50, "user": "x", "seed": 1}))).ok();
    assert_eq!(answer["object"], "chat.completion");
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!(answer["model"], "verger");
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"]["role"], "assistant");
    assert_eq!(choice["message"]["content"], "Good day.");
    assert_eq!(choice["message"]["reasoning_content"], "a greeting");
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(answer["usage"]["completion_tokens"], 3);
    assert_eq!(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
    let total = answer["usage"]["prompt_tokens"].as_u64().unwrap() + 3;
    assert_eq!(answer["usage"]["total_tokens"], total);
    assert_eq!(caller.sessions(), 0, "a conversation that changed nothing is not kept");
}

#[test]
fn an_answer_comes_piece_by_piece_as_openai_sends_it() {
    let turn = json!({"thinking": "hm", "text": "One two three four five.", "chunk": 5, "usage": {"input": 7, "output": 5}});
    let caller = Caller::new(&[turn], &["chat"]);
    let events = caller.stream(&hello(json!({"stream": true, "stream_options": {"include_usage": true}})));
    assert_eq!(events.last().unwrap().data, "[DONE]");
    let chunks: Vec<Value> = events[..events.len() - 1].iter().map(Event::json).collect();
    let id = &chunks[0]["id"];
    assert!(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk" && chunk["id"] == *id));
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    let joined = |key: &str| -> String {
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"][key].as_str()).collect()
    };
    assert_eq!(joined("content"), "One two three four five.");
    assert_eq!(joined("reasoning_content"), "hm");
    let finished: Vec<&Value> =
        chunks.iter().filter(|chunk| chunk["choices"][0]["finish_reason"] == "stop").collect();
    assert_eq!(finished.len(), 1);
    assert_eq!(finished[0]["choices"][0]["delta"], json!({}));
    let last = chunks.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["total_tokens"], 12);
    assert!(chunks[..chunks.len() - 1].iter().all(|chunk| chunk["usage"].is_null()));
    let without = caller.stream(&hello(json!({"stream": true})));
    assert!(without.iter().all(|event| !event.data.contains("\"usage\"")), "{without:?}");
}

#[test]
fn what_was_said_before_is_the_conversation() {
    let reads = json!({"text": "I look.", "calls": [{"name": "read_file", "input": {"path": "Start.md"}}]});
    let caller = Caller::new(&[reads, json!({"text": "There it is: {{result}}"})], &["chat"]);
    let body = json!({"model": "verger/reader", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where do I begin?"},
        {"role": "assistant", "content": "Somewhere."},
        {"role": "user", "content": [{"type": "text", "text": "Where exactly?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]},
    ]});
    let answer = caller.complete(&body).ok();
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(text.starts_with("I look.\n\nThere it is: "), "{text}");
    assert!(text.contains("Start"), "the agent read the vault: {text}");
}

#[test]
fn a_token_without_edit_changes_nothing_and_one_with_it_only_what_a_grant_covers() {
    let write =
        json!({"calls": [{"name": "write_file", "input": {"path": "Garden/New.md", "content": "x"}}]});
    let caller = Caller::new(&[write, json!({"text": "Done: {{result}}"})], &["chat"]);
    let before = caller.rig.bytes();
    let refused = caller.complete(&hello(json!({})));
    assert_eq!(refused.status, 200, "{refused:?}");
    assert_eq!(caller.rig.bytes(), before, "{refused:?}");
    let editor = Caller { bearer: token(&caller.rig, "editor", &["chat", "edit"]), ..caller };
    let denied = editor.complete(&hello(json!({})));
    assert_eq!(denied.status, 200, "{denied:?}");
    assert_eq!(editor.rig.bytes(), before, "nobody is there to say yes: {denied:?}");
    editor.rig.ok(&["grants", "add", "--tool", "write_file", "--paths", "Garden/**"]);
    let granted = editor.complete(&hello(json!({}))).ok();
    assert!(editor.rig.has("Garden/New.md"), "{granted}");
    assert_eq!(
        editor.sessions(),
        1,
        "a conversation that changed something is kept, so that the change can be explained"
    );
}

#[test]
fn what_an_agent_cannot_do_is_refused_in_openais_envelope() {
    let caller = Caller::new(&[json!({"text": "x"})], &["chat"]);
    let tool = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
    for (more, status, param) in [
        (json!({"tools": tool}), 400, json!("tools")),
        (json!({"n": 2}), 400, json!("n")),
        (json!({"response_format": {"type": "json_object"}}), 400, json!("response_format")),
        (json!({"temperature": 3}), 400, json!("temperature")),
        (json!({"messages": []}), 400, json!("messages")),
        (json!({"model": "gpt-4o"}), 404, json!("model")),
        (json!({"model": "verger/nobody"}), 404, json!("model")),
        (json!({"model": "verger@script@/etc/passwd"}), 404, json!("model")),
        (json!({"messages": "x"}), 400, Value::Null),
    ] {
        let answer = caller.complete(&hello(more.clone()));
        let error = answer.value()["error"].clone();
        assert_eq!((answer.status, &error["param"]), (status, &param), "{more}: {answer:?}");
        assert_eq!(error["type"], "invalid_request_error", "{more}");
        assert!(error["message"].as_str().is_some_and(|message| message.len() > 10), "{more}");
        assert!(!answer.body.contains("root:"), "{answer:?}");
    }
    assert_eq!(caller.send("POST", "/v1/embeddings", "{}").status, 404);
    assert_eq!(caller.send("GET", "/v1/chat/completions", "").status, 405);
}

#[test]
fn a_model_that_fails_is_an_error_with_a_status_of_its_own() {
    let caller = Caller::new(&[json!({"fault": "auth", "times": 9, "text": "never"})], &["chat"]);
    for stream in [false, true] {
        let answer = caller.complete(&hello(json!({"stream": stream})));
        assert_eq!(answer.status, 502, "{answer:?}");
        assert_eq!(answer.value()["error"]["code"], "model_failed");
        assert_eq!(answer.value()["error"]["type"], "server_error");
    }
}

#[test]
fn without_a_model_it_says_how_to_get_one() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let bearer = token(&rig, "x", &["chat"]);
    let answer = serve.send(
        "POST",
        "/v1/chat/completions",
        &[("authorization", &bearer)],
        &hello(json!({})).to_string(),
    );
    assert_eq!(
        (answer.status, answer.value()["error"]["code"].as_str()),
        (503, Some("no_model")),
        "{answer:?}"
    );
}

#[test]
fn only_a_token_that_may_chat_is_let_in_and_guessing_has_to_wait() {
    let caller = Caller::new(&[json!({"text": "x"})], &["chat"]);
    let reader = token(&caller.rig, "reader", &["read"]);
    let ask = |bearer: &str| {
        let body = hello(json!({})).to_string();
        caller.serve.send("POST", "/v1/chat/completions", &[("authorization", bearer), ("cookie", "")], &body)
    };
    let short = ask(&reader);
    assert_eq!((short.status, short.value()["error"]["type"].as_str()), (403, Some("permission_error")));
    for wrong in ["", "Bearer", "Bearer x", "Basic dXNlcjpwYXNz", &caller.bearer[..caller.bearer.len() - 1]] {
        let answer = ask(wrong);
        assert_eq!(
            (answer.status, answer.value()["error"]["code"].as_str()),
            (401, Some("invalid_api_key")),
            "{wrong}"
        );
        assert!(answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")));
    }
    let guessed: Vec<u16> = (0..30).map(|_| ask("Bearer vgr_wrong").status).collect();
    assert_eq!(guessed[29], 429);
    assert_eq!(ask(&caller.bearer).status, 200, "a right one counts all the same");
    let listed = caller.serve.json("/api/tokens");
    let names: Vec<&str> =
        listed["tokens"].as_array().unwrap().iter().filter_map(|token| token["name"].as_str()).collect();
    assert_eq!(names, ["caller", "reader"]);
    assert!(listed["tokens"][0]["used"].is_string() && listed["tokens"][0].get("hash").is_none(), "{listed}");
    assert_eq!(caller.serve.delete("/api/tokens/caller").status, 204);
    assert_eq!(ask(&caller.bearer).status, 429, "it was revoked");
    let made = caller.serve.post_json("/api/tokens", &json!({"name": "page made", "may": ["chat"]})).ok();
    assert_eq!(ask(&format!("Bearer {}", made["token"].as_str().unwrap())).status, 200);
    let file = caller.rig.data().join("web-tokens.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(!std::fs::read_to_string(file).unwrap().contains(&made["token"].as_str().unwrap()[4..]));
}

#[test]
fn whoever_hangs_up_stops_the_turn() {
    let slow = json!({"text": "word ".repeat(2_000), "chunk": 5, "pause_ms": 100});
    for stream in [true, false] {
        let caller = Caller::new(std::slice::from_ref(&slow), &["chat"]);
        let headers = [("authorization", caller.bearer.as_str())];
        let body = hello(json!({"stream": stream})).to_string();
        let request = caller.serve.request("POST", "/v1/chat/completions", &headers, &body);
        let mut connection = caller.serve.connect();
        std::io::Write::write_all(&mut connection, request.as_bytes()).unwrap();
        wait_until(|| caller.sessions() == 1, "the turn begins");
        drop(connection);
        // The whole answer would take more than three minutes.
        wait_until(|| caller.sessions() == 0, "the turn is stopped");
        caller.serve.end();
    }
}

#[track_caller]
fn wait_until(holds: impl Fn() -> bool, what: &str) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}: never");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_end_of_the_server_ends_the_turns() {
    let slow = json!({"text": "word ".repeat(2_000), "chunk": 5, "pause_ms": 100});
    let caller = Caller::new(&[slow], &["chat"]);
    let headers = [("authorization", caller.bearer.as_str())];
    let body = hello(json!({"stream": true})).to_string();
    let mut events = caller.serve.sse_by("POST", "/v1/chat/completions", &headers, &body);
    assert!(events.next_event().is_some());
    let begun = Instant::now();
    caller.serve.end();
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let rest = events.all();
    assert!(rest.iter().all(|event| event.data != "[DONE]" && !event.data.contains("\"stop\"")), "{rest:?}");
}
