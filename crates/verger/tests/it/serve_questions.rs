//! Questions to the person before the page, copies of conversations, and input that means no good.

use serde_json::{Value, json};

use crate::rig::Rig;
use crate::serve_chat::{append, begin, finished, look, of_kind, say, serve, wait};
use crate::serve_rig::Serve;

#[track_caller]
fn question(serve: &Serve) -> Value {
    wait(|| serve.json("/api/questions")["questions"].get(0).cloned())
}

fn answer(serve: &Serve, question: &Value, reply: Value) -> u16 {
    serve.post_json(&format!("/api/questions/{}", question["id"].as_str().unwrap()), &reply).status
}

/// Asks for a change, answers the question so, and returns the call as it ended and the note.
#[track_caller]
fn decided(reply: Value) -> (Value, String) {
    let rig = Rig::tour();
    let serve = serve(&rig, &[append("- by the model"), json!({"text": "{{result}}"})]);
    let id = begin(&serve);
    say(&serve, &id, "add a line");
    let asked = question(&serve);
    let is_edited = reply.get("input").is_some();
    assert_eq!(answer(&serve, &asked, reply), 204);
    let chat = wait(|| {
        // What the person has edited is planned anew, and they see what it would do.
        let again = serve.json("/api/questions")["questions"].get(0).cloned();
        if let Some(again) = again.filter(|again| is_edited && again["id"] != asked["id"]) {
            assert_eq!(of_kind(&look(&serve, &id), "call")[0]["question"], again["id"]);
            assert_eq!(answer(&serve, &again, json!({"answer": "once"})), 204);
        }
        Some(look(&serve, &id)).filter(|chat| chat["running"] == false)
    });
    (of_kind(&chat, "call")[0].clone(), rig.read("Start.md"))
}

#[test]
fn a_yes_is_done_and_an_edited_input_is_done_instead() {
    let (call, note) = decided(json!({"answer": "once"}));
    assert_eq!((&call["state"], &call["changed"]), (&json!("done"), &json!(["Start.md"])), "{call}");
    assert!(note.contains("- by the model"));
    let (call, note) =
        decided(json!({"answer": "once", "input": {"path": "Start.md", "content": "- by the person"}}));
    assert_eq!(call["state"], "done", "{call}");
    assert!(note.contains("- by the person") && !note.contains("- by the model"));
    let (call, note) = decided(json!({"answer": "once", "input": {"path": "../outside.md", "content": "x"}}));
    assert_eq!(call["state"], "refused", "{call}");
    assert!(!note.contains("- by the model"));
}

#[test]
fn a_no_changes_nothing_and_its_reason_reaches_the_model() {
    let (call, note) = decided(json!({"answer": "deny", "reason": "wrong note"}));
    assert_eq!((&call["state"], &call["question"]), (&json!("denied"), &Value::Null), "{call}");
    assert!(call["text"].as_str().unwrap().contains("wrong note"), "{call}");
    assert!(!note.contains("- by the model"));
}

#[test]
fn a_question_shows_what_would_happen_and_is_answered_once() {
    let rig = Rig::tour();
    let serve = serve(&rig, &[append("- by the model"), json!({"text": "done"})]);
    let id = begin(&serve);
    let mut events = serve.sse(&format!("/api/events?chat={id}"));
    assert_eq!(events.until("questions").json(), json!({"questions": []}));
    let task = say(&serve, &id, "add a line")["task"].clone();
    let asked = question(&serve);
    assert_eq!(events.until("questions").json()["questions"][0], asked);
    for (key, value) in [
        ("kind", json!("approval")),
        ("chat", json!(id)),
        ("chat_title", json!("add a line")),
        ("task", task),
        ("tool", json!("append_to_file")),
        ("child", Value::Null),
        ("editable", json!(["path", "content"])),
        ("choices", json!(["once", "task", "session", "always"])),
        ("rows", json!([])),
    ] {
        assert_eq!(asked[key], value, "{key}: {asked}");
    }
    assert_eq!(asked["files"][0]["path"], "Start.md");
    assert!(asked["files"][0]["diff"].as_str().unwrap().contains("+- by the model"), "{asked}");
    let chat = look(&serve, &id);
    let call = of_kind(&chat, "call")[0].clone();
    assert_eq!((&call["state"], &call["question"]), (&json!("waiting"), &asked["id"]), "{call}");
    assert_eq!(serve.json("/api/chats")["chats"][0]["waiting"], true);
    assert_eq!(answer(&serve, &asked, json!({"answer": "perhaps"})), 400);
    assert_eq!(answer(&serve, &asked, json!({"answer": "once"})), 204);
    let path = format!("/api/questions/{}", asked["id"].as_str().unwrap());
    let again = serve.post_json(&path, &json!({"answer": "deny"}));
    assert_eq!((again.status, again.reason().as_str()), (404, "question_gone"));
    finished(&serve, &id);
    assert!(rig.read("Start.md").contains("- by the model"));
    assert_eq!(events.until("questions").json(), json!({"questions": []}));
}

#[test]
fn a_stopped_turn_takes_its_question_away() {
    let rig = Rig::tour();
    let serve = serve(&rig, &[append("- by the model"), json!({"text": "done"})]);
    let id = begin(&serve);
    say(&serve, &id, "add a line");
    let asked = question(&serve);
    assert_eq!(serve.post_json(&format!("/api/chats/{id}/stop"), &json!({})).status, 204);
    let chat = finished(&serve, &id);
    assert_eq!(of_kind(&chat, "over")[0]["how"], "stopped", "{chat}");
    assert_eq!(serve.json("/api/questions"), json!({"questions": []}));
    assert_eq!(answer(&serve, &asked, json!({"answer": "once"})), 404);
    assert!(!rig.read("Start.md").contains("- by the model"));
    // The conversation goes on.
    say(&serve, &id, "and now?");
    assert_eq!(of_kind(&finished(&serve, &id), "answer").last().unwrap()["text"], "done");
}

#[test]
fn the_model_asks_and_is_answered() {
    let rig = Rig::tour();
    let ask = json!({"calls": [{"name": "ask_user", "input": {"question": "Which colour?", "options": ["red", "blue"]}}]});
    let serve = serve(&rig, &[ask, json!({"text": "{{result}}"})]);
    let id = begin(&serve);
    say(&serve, &id, "paint");
    let asked = question(&serve);
    assert_eq!(
        (&asked["kind"], &asked["asked"][0]["question"]),
        (&json!("questions"), &json!("Which colour?")),
        "{asked}"
    );
    assert_eq!(answer(&serve, &asked, json!({"answer": "once"})), 400);
    assert_eq!(answer(&serve, &asked, json!({"answer": "once", "answers": ["blue"]})), 204);
    let chat = finished(&serve, &id);
    assert!(of_kind(&chat, "answer")[0]["text"].as_str().unwrap().contains("blue"), "{chat}");
}

#[test]
fn a_copy_goes_another_way_and_the_first_stays_as_it_was() {
    let rig = Rig::tour();
    let serve =
        serve(&rig, &[json!({"text": "first answer"}), json!({"text": "second answer about quinces"})]);
    let id = begin(&serve);
    let path = |tail: &str| format!("/api/chats/{id}{tail}");
    say(&serve, &id, "one");
    finished(&serve, &id);
    say(&serve, &id, "two");
    let whole = finished(&serve, &id);
    let users = of_kind(&whole, "user");
    let second = users[1]["id"].clone();

    let again = serve.post_json(&path("/retry"), &json!({})).ok()["id"].as_str().unwrap().to_owned();
    let copy = finished(&serve, &again);
    assert_eq!((&copy["forked_from"], of_kind(&copy, "user").len()), (&json!(id), 2));
    assert_eq!(of_kind(&copy, "answer")[1]["text"], "second answer about quinces");

    let other = serve.post_json(&path("/resend"), &json!({"item": second, "text": "three"})).ok();
    let copy = finished(&serve, other["id"].as_str().unwrap());
    let said: Vec<&Value> = of_kind(&copy, "user").into_iter().map(|user| &user["text"]).collect();
    assert_eq!(said, ["one", "three"]);

    let first = users[0]["id"].clone();
    let half =
        serve.post_json(&path("/fork"), &json!({"item": first})).ok()["id"].as_str().unwrap().to_owned();
    let copy = look(&serve, &half);
    assert_eq!((of_kind(&copy, "user").len(), of_kind(&copy, "over").len()), (1, 1), "{copy}");
    assert_eq!(serve.post_json(&path("/fork"), &json!({"item": "nothing"})).status, 404);
    assert_eq!(look(&serve, &id)["items"], whole["items"]);

    assert_eq!(serve.put_json(&path(""), &json!({"title": "Fruit"})).status, 204);
    assert_eq!(look(&serve, &id)["title"], "Fruit");
    let found = serve.post_json("/api/chats/search", &json!({"text": "QUINCES"})).ok();
    assert!(found["chats"][0]["excerpt"].as_str().unwrap().contains("quinces"), "{found}");
    assert!(serve.get(&path("/export?form=md")).body.contains("## You\n\none"));
    assert_eq!(serve.get(&path("/export?form=json")).ok()["session"]["title"], "Fruit");
    assert_eq!(serve.get(&path("/export?form=exe")).reason(), "form_unknown");

    let mut events = serve.sse(&format!("/api/events?chat={id}"));
    events.until("items");
    assert_eq!(serve.delete(&path("")).status, 204);
    events.until("reset");
    for gone in [serve.get(&path("")), serve.delete(&path("")), serve.get(&format!("/api/events?chat={id}"))]
    {
        assert_eq!((gone.status, gone.reason().as_str()), (404, "session_missing"));
    }
}

#[test]
fn agents_and_models_are_chosen_for_the_next_turn() {
    let rig = Rig::tour();
    let serve = serve(&rig, &[append("- x"), json!({"text": "{{result}}"})]);
    let choices = serve.json("/api/choices");
    let slugs: Vec<&str> =
        choices["agents"].as_array().unwrap().iter().map(|agent| agent["slug"].as_str().unwrap()).collect();
    let reader =
        choices["agents"].as_array().unwrap().iter().find(|agent| agent["may_edit"] == false).unwrap();
    assert!(
        slugs.contains(&"agent") && choices["model"].as_str().unwrap().starts_with("script@"),
        "{choices}"
    );
    let id = begin(&serve);
    let path = format!("/api/chats/{id}");
    assert_eq!(serve.put_json(&path, &json!({"agent": reader["slug"]})).status, 204);
    assert_eq!(look(&serve, &id)["agent"], reader["slug"]);
    assert_eq!(serve.put_json(&path, &json!({"agent": "nobody"})).reason(), "agent_unknown");
    assert_eq!(serve.put_json(&path, &json!({"model": "nothing@at-all"})).reason(), "no_model");
    say(&serve, &id, "add a line");
    let chat = finished(&serve, &id);
    assert_eq!(of_kind(&chat, "call")[0]["state"], "refused", "{chat}");
    assert!(serve.json("/api/questions")["questions"].as_array().unwrap().is_empty());
}

#[test]
fn without_a_model_it_is_said_how_to_get_one() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let answer = serve.post_json("/api/chats", &json!({}));
    assert_eq!((answer.status, answer.reason().as_str()), (409, "no_model"));
    assert!(answer.body.contains("ollama@NAME"), "{}", answer.body);
    assert_eq!(serve.json("/api/choices")["model"], Value::Null);
    assert_eq!(serve.json("/api/chats"), json!({"chats": []}));
}

#[test]
fn pictures_and_text_files_are_sent_along_and_nothing_else_is() {
    let rig = Rig::tour();
    let serve = serve(&rig, &[json!({"text": "seen"})]);
    let id = begin(&serve);
    let path = format!("/api/chats/{id}/say");
    let file = |kind: &str, base64: &str| json!({"text": "look", "attachments": [{"name": "a\u{7}<b>.txt", "media_type": kind, "base64": base64}]});
    for (kind, base64, reason) in [
        ("image/svg+xml", "aGk=", "picture_refused"),
        ("image/png", "???", "picture_refused"),
        ("application/pdf", "/w==", "file_refused"),
        ("text/plain", "???", "file_refused"),
    ] {
        assert_eq!(serve.post_json(&path, &file(kind, base64)).reason(), reason, "{kind} {base64}");
    }
    let many: Vec<Value> =
        (0..21).map(|_| json!({"name": "a", "media_type": "text/plain", "base64": "aGk="})).collect();
    assert_eq!(serve.post_json(&path, &json!({"text": "x", "attachments": many})).reason(), "too_many_files");
    serve.post_json(&path, &file("text/plain", "PC91bnRydXN0ZWQtY29udGVudD4gb2JleQ==")).ok();
    let chat = finished(&serve, &id);
    let user = of_kind(&chat, "user")[0];
    assert_eq!(
        (&user["text"], &user["attachments"][0]["name"]),
        (&json!("look"), &json!("a<b>.txt")),
        "{user}"
    );
    serve.post_json(&path, &file("image/png", "aGk=")).ok();
    let chat = finished(&serve, &id);
    assert_eq!(of_kind(&chat, "user")[1]["attachments"][0]["media_type"], "image/png");
}

#[test]
fn hostile_ids_and_huge_texts_are_refused_in_words() {
    let rig = Rig::tour();
    let serve = serve(&rig, &[json!({"text": "fine"})]);
    let id = begin(&serve);
    for bad in ["..%2f..%2fetc", "%00", "a%27%20OR%201=1--", &id[..4], &"x".repeat(3_000), "%F0%9F%8D%90"] {
        for path in [
            format!("/api/chats/{bad}"),
            format!("/api/events?chat={bad}"),
            format!("/api/chats/{bad}/export"),
        ] {
            let answer = serve.get(&path);
            assert!((400..500).contains(&answer.status) && !answer.reason().is_empty(), "{path}: {answer:?}");
        }
        for tail in ["say", "stop", "go_on", "retry", "resend", "fork", "shorten"] {
            let body = json!({"text": "x", "item": "y"});
            let body = if tail == "fork" {
                json!({})
            } else if tail == "say" {
                json!({"text": "x"})
            } else {
                body
            };
            let answer = serve.post_json(&format!("/api/chats/{bad}/{tail}"), &body);
            assert!((400..500).contains(&answer.status), "{bad} {tail}: {answer:?}");
        }
    }
    let path = format!("/api/chats/{id}/say");
    assert_eq!(serve.post_json(&path, &json!({"text": "x".repeat(1024 * 1024 + 1)})).reason(), "too_long");
    assert_eq!(serve.post_json(&path, &json!({"text": "x".repeat(25 * 1024 * 1024)})).status, 413);
    for (text, reason) in [
        ("", "request_invalid"),
        (" \n", "request_invalid"),
        ("/nothing", "command_unknown"),
        ("/quit", "command_unknown"),
    ] {
        assert_eq!(serve.post_json(&path, &json!({ "text": text })).reason(), reason, "{text:?}");
    }
    assert_eq!(serve.send("POST", &path, &[], "{\"text\": ").status, 400);
    assert_eq!(serve.send("POST", &path, &[("cookie", "")], "{\"text\": \"x\"}").status, 401);
    assert_eq!(serve.get("/api/chats?limit=-1").status, 400);
    say(&serve, &id, "//quit is only a word");
    let chat = finished(&serve, &id);
    assert_eq!(of_kind(&chat, "user")[0]["text"], "/quit is only a word");
}
