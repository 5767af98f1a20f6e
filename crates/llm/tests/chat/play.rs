//! Every recorded answer gives the events that are written beside it, however its bytes are cut.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use expect_test::expect_file;
use futures::StreamExt;
use llm::chat::{CallInput, Collector, Event, ToolSpec, leaked_call};
use llm::http::Patience;
use llm::{Dialect, Limits, ProviderSettings};
use serde_json::json;

use super::rig::{Act, Server, ask, head, model, question, settings, stream, text};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/llm")
}

fn recorded() -> Vec<(Dialect, PathBuf)> {
    let mut all = Vec::new();
    for (folder, dialect) in [
        ("openai", Dialect::OpenAi),
        ("responses", Dialect::Responses),
        ("anthropic", Dialect::Anthropic),
        ("gemini", Dialect::Gemini),
        ("ollama", Dialect::Ollama),
    ] {
        for entry in std::fs::read_dir(fixtures().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending != "events") {
                all.push((dialect, path));
            }
        }
    }
    all.sort_by(|one, other| one.1.cmp(&other.1));
    all
}

fn once() -> Limits {
    let patience = Patience { tries: 1, limit: Duration::from_secs(20), pause: Duration::ZERO };
    Limits { patience, idle: Duration::from_secs(20), ..Limits::default() }
}

/// Plays an answer in pieces of this size.
async fn play(dialect: Dialect, path: &Path, size: usize) -> String {
    let bytes = std::fs::read(path).unwrap();
    let whole = path.extension().is_some_and(|ending| ending == "json");
    let kind = match (whole, dialect) {
        (true, _) => "application/json",
        (false, Dialect::Ollama) => "application/x-ndjson",
        (false, _) => "text/event-stream",
    };
    let server = Server::start(move |_, seen| match seen.path.as_str() {
        "/api/show" => vec![Act::Send(head(404, &[])), Act::Send(b"{}".to_vec())],
        _ => vec![Act::Send(head(200, &[("content-type", kind)])), Act::Cut(bytes.clone(), size)],
    })
    .await;
    let settings = ProviderSettings { stream: Some(!whole), ..settings(&server.url, Some(dialect)) };
    let name = if path.file_name().unwrap().to_str().unwrap().starts_with("openrouter") {
        "openrouter"
    } else {
        "mine"
    };
    let model = model(&format!("{name}@garden"), settings, once());
    let (events, error) = ask(model.as_ref(), question()).await;
    let mut lines: Vec<String> = events.iter().map(line).collect();
    // The port is another one each time.
    let port = server.url.trim_start_matches("http://");
    lines.extend(error.map(|error| format!("error: {error}").replace(port, "SERVICE")));
    lines.join("\n") + "\n"
}

fn line(event: &Event) -> String {
    match event {
        Event::CallEnded { index, call } => {
            let input = match &call.input {
                CallInput::Object(value) => value.to_string(),
                CallInput::Broken(text) => format!("BROKEN {text}"),
            };
            let proof = call.proof.as_ref().map(|proof| format!(" proof {} {}", proof.dialect, proof.value));
            format!("call {index} ended: {} {} {input}{}", call.id, call.name, proof.unwrap_or_default())
        }
        Event::CallStarted { index, id, name } => format!("call {index} started: {id} {name}"),
        Event::CallInput { index, text } => format!("call {index} input: {text:?}"),
        Event::ThinkingEnded(Some(proof)) => format!("thinking ended: {} {}", proof.dialect, proof.value),
        Event::ThinkingEnded(None) => "thinking ended".to_owned(),
        Event::Text(text) => format!("text: {text:?}"),
        Event::Thinking(text) => format!("thinking: {text:?}"),
        Event::Started { model } => format!("started: {}", model.as_deref().unwrap_or("?")),
        Event::Usage(usage) => format!("usage: {usage:?}"),
        Event::Stopped(reason) => format!("stopped: {reason:?}"),
    }
}

#[tokio::test]
async fn a_recorded_answer_gives_the_events_beside_it() {
    for (dialect, path) in recorded() {
        let events = play(dialect, &path, usize::MAX).await;
        expect_file![path.with_extension("events")].assert_eq(&events);
        assert!(
            events.contains("stopped: ") != events.contains("error: "),
            "{}: it ends, or it is an error, never both",
            path.display()
        );
    }
}

#[tokio::test]
async fn where_the_bytes_are_cut_makes_no_difference() {
    let checks = recorded().into_iter().map(|(dialect, path)| async move {
        let whole = play(dialect, &path, usize::MAX).await;
        for size in [1, 2, 3, 7] {
            assert_eq!(play(dialect, &path, size).await, whole, "{} in pieces of {size}", path.display());
        }
    });
    futures::stream::iter(checks).buffer_unordered(16).collect::<Vec<()>>().await;
}

/// The streams that were recorded from a real server, where they lie beside the checkout.
#[tokio::test]
async fn answers_of_a_real_server_are_read_to_their_end() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/llm");
    if !corpus.is_dir() {
        return eprintln!("skipped: no recorded answers beside the checkout");
    }
    let path = json!({"path": "Daily/2026-01-01.md"});
    for (file, dialect, call, said) in [
        ("openai-chat-text.sse", Dialect::OpenAi, None, "Hello!"),
        ("openai-chat-toolcall-auto.sse", Dialect::OpenAi, Some(("vault_search", None)), ""),
        ("openai-chat-text-then-forced-toolcall.sse", Dialect::OpenAi, Some(("", None)), "You're welcome!"),
        ("openai-chat-json-schema.sse", Dialect::OpenAi, None, "{"),
        ("openai-chat-toolcall-leaked-as-fenced-text.sse", Dialect::OpenAi, None, "```json"),
        ("openai-responses-toolcall.sse", Dialect::Responses, Some(("read_note", Some(&path))), ""),
        ("anthropic-messages-toolcall.sse", Dialect::Anthropic, Some(("read_note", Some(&path))), ""),
        ("gemini-stream-toolcall-via-litellm.sse", Dialect::Gemini, Some(("read_note", Some(&path))), ""),
    ] {
        let bytes = std::fs::read(corpus.join(file)).unwrap();
        let mut all = Vec::new();
        for size in [usize::MAX, 7, 1] {
            let bytes = bytes.clone();
            let server =
                Server::start(move |_, _| vec![Act::Send(stream()), Act::Cut(bytes.clone(), size)]).await;
            let model = model("mine@m", settings(&server.url, Some(dialect)), once());
            let (events, error) = ask(model.as_ref(), question()).await;
            assert_eq!(error, None, "{file}");
            all.push(events);
        }
        assert!(all.iter().all(|events| *events == all[0]), "{file}");
        let mut collector = Collector::default();
        all[0].iter().for_each(|event| collector.take(event));
        let answer = collector.finish().unwrap();
        assert!(text(&all[0]).starts_with(said), "{file}");
        let found: Vec<_> = answer.message.calls().collect();
        assert_eq!(found.len(), usize::from(call.is_some()), "{file}");
        if let Some((name, input)) = call {
            assert!(found[0].name.contains(name) && matches!(found[0].input, CallInput::Object(_)), "{file}");
            assert!(input.is_none_or(|input| found[0].input == CallInput::Object(input.clone())), "{file}");
        }
        if file.contains("leaked") {
            let tools = ["vault_search", "read_note"].map(|name| ToolSpec {
                name: name.to_owned(),
                description: String::new(),
                schema: json!({}),
            });
            assert!(leaked_call(&text(&all[0]), &tools).is_some(), "{}", text(&all[0]));
        }
    }
    for (file, is) in [("error-bad-json.txt", "refused the request"), ("error-context-size.txt", "too long")]
    {
        let said = std::fs::read_to_string(corpus.join(file)).unwrap();
        let body = Arc::new(said.split_once('{').map(|(_, rest)| format!("{{{rest}")).unwrap());
        let server = Server::start(move |_, _| super::rig::reply(400, &[], &body)).await;
        let model = model("mine@m", settings(&server.url, Some(Dialect::OpenAi)), once());
        let (_, error) = ask(model.as_ref(), question()).await;
        assert!(error.unwrap().to_string().contains(is), "{file}");
    }
}
