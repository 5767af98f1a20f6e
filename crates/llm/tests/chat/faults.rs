//! Everything that can go wrong on the way, and what comes of it.

use std::time::{Duration, Instant};

use futures::StreamExt;
use llm::chat::{Event, Model, StopReason, ToolSpec};
use llm::{Dialect, Error, Limits, ProviderSettings};
use serde_json::json;

use super::rig::{Act, Seen, Server, ask, head, limits, model, question, reply, settings, stream, text};

const HELLO: &str = concat!(
    "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n"
);

fn good() -> Vec<Act> {
    vec![Act::Send(stream()), Act::Send(HELLO.into())]
}

/// The first frame of a good answer: it has begun to speak.
fn half() -> Vec<u8> {
    HELLO.split_inclusive("\n\n").next().unwrap().into()
}

/// A first frame that says nothing yet.
fn silent() -> Vec<u8> {
    b"data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n".to_vec()
}

/// More calls than any model means.
fn flood() -> Vec<u8> {
    let call = |at: usize| json!({"index": at, "id": format!("c{at}"), "function": {"name": "t"}});
    let piece = |at: usize| json!({"choices": [{"delta": {"tool_calls": [call(at)]}}]});
    (0..600).flat_map(|at| format!("data: {}\n\n", piece(at)).into_bytes()).collect()
}

fn chat(server: &Server, limits: Limits) -> std::sync::Arc<dyn Model> {
    model("mine@m", settings(&server.url, Some(Dialect::OpenAi)), limits)
}

pub fn kind(error: Option<&Error>) -> &'static str {
    match error {
        None => "fine",
        Some(Error::Auth { .. }) => "auth",
        Some(Error::RateLimit { .. }) => "rate limit",
        Some(Error::Overloaded { .. }) => "overloaded",
        Some(Error::NotFound { .. }) => "not found",
        Some(Error::BadRequest { .. }) => "bad request",
        Some(Error::Network { .. }) => "network",
        Some(Error::Slow { .. }) => "slow",
        Some(Error::TooBig { .. }) => "too big",
        Some(Error::Answer { .. }) => "no sense",
        Some(Error::ContextFull { .. }) => "context",
        Some(Error::Refused { .. }) => "refused",
        Some(Error::NoTools { .. }) => "no tools",
        Some(Error::Cut { .. }) => "cut",
        Some(Error::Quota { .. }) => "quota",
        Some(_) => "other",
    }
}

struct Row {
    name: &'static str,
    /// What the server does, each try; the last one again and again.
    tries: Vec<Vec<Act>>,
    is: &'static str,
    said: &'static str,
    asked: usize,
}

fn row(name: &'static str, tries: Vec<Vec<Act>>, is: &'static str, said: &'static str, asked: usize) -> Row {
    Row { name, tries, is, said, asked }
}

fn rows() -> Vec<Row> {
    let quick = [("retry-after-ms", "10")];
    let refused = |status: u16, body: &str| vec![reply(status, &[], body)];
    let begun = |rest: Vec<Act>| [vec![Act::Send(stream()), Act::Send(half())], rest].concat();
    let silent = |rest: Vec<Act>| [vec![Act::Send(stream()), Act::Send(silent())], rest].concat();
    let in_chunks = [("transfer-encoding", "chunked"), ("content-type", "text/event-stream")];
    let chunk = [format!("{:x}\r\n", half().len()).into_bytes(), half(), b"\r\n".to_vec()].concat();
    let busy = "data: {\"error\":{\"message\":\"busy\",\"type\":\"server_error\"}}\n\n";
    let html = [("content-type", "text/html; charset=utf-8")];
    let json = [("content-type", "application/json")];
    vec![
        row("a good answer", vec![good()], "fine", "Hello", 1),
        row("429, then fine", vec![reply(429, &quick, "{}"), good()], "fine", "Hello", 2),
        row(
            "429 with a second in it",
            vec![reply(429, &[("retry-after", "1")], "{}"), good()],
            "fine",
            "Hello",
            2,
        ),
        row("429 for too long", vec![reply(429, &[("retry-after", "60")], "{}")], "rate limit", "", 1),
        row("429 for ever", vec![reply(429, &quick, "{}")], "rate limit", "", 3),
        row(
            "no money",
            refused(429, r#"{"error":{"code":"insufficient_quota","message":"m"}}"#),
            "quota",
            "",
            1,
        ),
        row(
            "529 twice, then fine",
            vec![reply(529, &quick, ""), reply(529, &quick, ""), good()],
            "fine",
            "Hello",
            3,
        ),
        row("500 for ever", vec![reply(500, &quick, "")], "overloaded", "", 3),
        row("500, and no use", vec![reply(500, &[("x-should-retry", "false")], "")], "overloaded", "", 1),
        row(
            "400, and try again",
            vec![reply(400, &[("x-should-retry", "true")], ""), good()],
            "fine",
            "Hello",
            2,
        ),
        row(
            "408, 409, then fine",
            vec![reply(408, &quick, ""), reply(409, &quick, ""), good()],
            "fine",
            "Hello",
            3,
        ),
        row("401", refused(401, "{}"), "auth", "", 1),
        row("404", refused(404, "{}"), "not found", "", 1),
        row("422", refused(422, "{}"), "bad request", "", 1),
        row("too long", refused(400, r#"{"error":{"code":"context_length_exceeded"}}"#), "context", "", 1),
        row(
            "sent elsewhere",
            vec![reply(307, &[("location", "http://127.0.0.1:1/")], "")],
            "not found",
            "",
            1,
        ),
        row("a web page", vec![reply(200, &html, "<html>please log in</html>")], "no sense", "", 1),
        row(
            "a whole answer to a streamed question",
            vec![reply(
                200,
                &json,
                r#"{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}"#,
            )],
            "fine",
            "Hello",
            1,
        ),
        row("events that are called JSON", vec![reply(200, &json, HELLO)], "fine", "Hello", 1),
        row("JSON that is cut", vec![reply(200, &json, r#"{"choices":[{"mess"#)], "no sense", "", 1),
        row(
            "an error as a good answer",
            vec![reply(200, &json, r#"{"error":{"code":401,"message":"m"}}"#)],
            "auth",
            "",
            1,
        ),
        row("reset before a word, then fine", vec![vec![Act::Reset], good()], "fine", "Hello", 2),
        row(
            "reset after the head, then fine",
            vec![silent(vec![Act::Wait(50), Act::Reset]), good()],
            "fine",
            "Hello",
            2,
        ),
        row("reset in the middle", vec![begun(vec![Act::Wait(50), Act::Reset])], "cut", "Hello", 1),
        row("the end is missing", vec![begun(vec![])], "cut", "Hello", 1),
        row(
            "the end is missing, in chunks",
            vec![vec![Act::Send(head(200, &in_chunks)), Act::Send(chunk)]],
            "cut",
            "Hello",
            1,
        ),
        row("nothing at all, for ever", vec![vec![Act::Send(stream())]], "cut", "", 3),
        row(
            "an error before a word, then fine",
            vec![silent(vec![Act::Send(busy.into())]), good()],
            "fine",
            "Hello",
            2,
        ),
        row("an error after a word", vec![begun(vec![Act::Send(busy.into())])], "overloaded", "Hello", 1),
        row("silence before the head", vec![vec![Act::Wait(20_000)]], "slow", "", 1),
        row("silence before a word", vec![silent(vec![Act::Wait(20_000)])], "slow", "", 1),
        row("silence in the middle", vec![begun(vec![Act::Wait(20_000)])], "slow", "Hello", 1),
        row(
            "slow, but never silent",
            vec![
                [
                    vec![Act::Send(stream())],
                    HELLO
                        .split_inclusive("\n\n")
                        .flat_map(|frame| {
                            [
                                Act::Wait(300),
                                Act::Send(b": still here\n\n".to_vec()),
                                Act::Wait(300),
                                Act::Send(frame.into()),
                            ]
                        })
                        .collect(),
                ]
                .concat(),
            ],
            "fine",
            "Hello",
            1,
        ),
        row("endless comments", vec![begun(vec![Act::Endless(vec![b':'; 65_536])])], "too big", "Hello", 1),
        row(
            "an endless frame",
            vec![begun(vec![Act::Send(b"data: ".to_vec()), Act::Endless(vec![b'x'; 65_536])])],
            "too big",
            "Hello",
            1,
        ),
        row(
            "an endless error",
            vec![vec![Act::Send(head(400, &[])), Act::Endless(vec![b'x'; 65_536])]],
            "bad request",
            "",
            1,
        ),
        row("junk", vec![begun(vec![Act::Send(b"data: junk\n\n".to_vec())])], "no sense", "Hello", 1),
        row(
            "bytes that are no text",
            vec![begun(vec![Act::Send(b"data: \xff\xfe\n\n".to_vec())])],
            "no sense",
            "Hello",
            1,
        ),
        row("a flood of calls", vec![vec![Act::Send(stream()), Act::Send(flood())]], "no sense", "", 1),
        row(
            "an error that is never told",
            vec![vec![Act::Send(head(404, &[])), Act::Wait(20_000)]],
            "not found",
            "",
            1,
        ),
        row("no HTTP", vec![vec![Act::Send(b"nonsense\r\n\r\n".to_vec())]], "network", "", 3),
        row(
            "what follows the end is not waited for",
            vec![[good(), vec![Act::Wait(20_000)]].concat()],
            "fine",
            "Hello",
            1,
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_trouble_has_its_outcome() {
    let checks = rows().into_iter().map(|Row { name, tries, is, said, asked }| async move {
        let server = Server::start(move |number, _| tries[number.min(tries.len() - 1)].clone()).await;
        let begun = Instant::now();
        let (events, error) = ask(chat(&server, limits()).as_ref(), question()).await;
        assert_eq!(kind(error.as_ref()), is, "{name}: {error:?}");
        assert_eq!(text(&events), said, "{name}");
        assert_eq!(server.seen().len(), asked, "{name}: how often it was asked");
        assert!(begun.elapsed() < Duration::from_secs(10), "{name}: {:?}", begun.elapsed());
        let starts = events.iter().filter(|event| matches!(event, Event::Started { .. })).count();
        assert!(starts <= 1, "{name}: it began {starts} times");
        let stopped = matches!(events.last(), Some(Event::Stopped(_)));
        assert_eq!(stopped, error.is_none(), "{name}: a broken answer never ends well");
    });
    // Some at a time: they wait more than they work.
    futures::stream::iter(checks).buffer_unordered(8).collect::<Vec<()>>().await;
}

#[tokio::test]
async fn a_service_is_left_alone_as_long_as_it_asks() {
    let server = Server::start(|number, _| match number {
        0 => reply(429, &[("retry-after", "0.7")], "{}"),
        _ => good(),
    })
    .await;
    let begun = Instant::now();
    let (_, error) = ask(chat(&server, limits()).as_ref(), question()).await;
    assert_eq!(error, None);
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn dropping_the_answer_stops_the_request() {
    let server = Server::start(|_, _| vec![Act::Send(stream()), Act::Send(half()), Act::Listen]).await;
    let patient = Limits { idle: Duration::from_secs(60), ..limits() };
    let model = chat(&server, patient);
    let mut events = model.stream(question());
    while !matches!(events.next().await, Some(Ok(Event::Text(_)))) {}
    assert_eq!(server.gone(), 0);
    drop(events);
    for _ in 0..100 {
        if server.gone() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server still talks to nobody");
}

#[tokio::test]
async fn what_a_server_rejects_is_left_out_once_and_for_all() {
    let rejects = |_: usize, seen: &Seen| {
        let sent = |name: &str| seen.body.get(name).is_some();
        let message = match () {
            () if sent("temperature") => {
                "Unsupported value: 'temperature' does not support 0.5 with this model."
            }
            () if sent("max_tokens") => {
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            }
            () => return good(),
        };
        reply(400, &[], &json!({"error": {"message": message, "code": "unsupported_parameter"}}).to_string())
    };
    let server = Server::start(rejects).await;
    let model = chat(&server, limits());
    let mut request = question();
    (request.temperature, request.max_tokens) = (Some(0.5), Some(77));
    for asked in [3, 4] {
        let (events, error) = ask(model.as_ref(), request.clone()).await;
        assert_eq!((error, text(&events).as_str()), (None, "Hello"));
        assert_eq!(server.seen().len(), asked, "what was learnt is kept");
    }
    assert_eq!(server.seen()[3].body["max_completion_tokens"], 77);
    let neither = |_: usize, seen: &Seen| {
        let name =
            ["max_tokens", "max_completion_tokens"].into_iter().find(|name| seen.body.get(name).is_some());
        name.map_or_else(good, |name| {
            let other = "max_completion_tokens";
            reply(400, &[], &json!({"error": format!("unsupported {name}, not {other}")}).to_string())
        })
    };
    let server = Server::start(neither).await;
    let (events, error) = ask(chat(&server, limits()).as_ref(), request.clone()).await;
    assert_eq!(
        (error, text(&events).as_str(), server.seen().len()),
        (None, "Hello", 3),
        "neither name is wanted"
    );
    let stubborn = Server::start(|_, _| reply(400, &[], r#"{"error":"unsupported temperature"}"#)).await;
    let (_, error) = ask(chat(&stubborn, limits()).as_ref(), request).await;
    assert_eq!((kind(error.as_ref()), stubborn.seen().len()), ("bad request", 2), "once more, not for ever");
}

#[tokio::test]
async fn a_model_without_tools_says_so_and_is_known_for_it() {
    let server = Server::start(|_, seen| match seen.path.as_str() {
        "/api/show" => reply(200, &[], r#"{"model_info":{"qwen.context_length":4096}}"#),
        _ => reply(400, &[], r#"{"error":"registry.ollama.ai/library/m does not support tools"}"#),
    })
    .await;
    let model = model("ollama@m", settings(&server.url, None), limits());
    assert!(model.abilities().tools);
    let mut request = question();
    let tool = ToolSpec { name: "t".into(), description: "d".into(), schema: json!({"type": "object"}) };
    request.tools = vec![tool].into();
    let (_, error) = ask(model.as_ref(), request).await;
    assert_eq!(kind(error.as_ref()), "no tools");
    assert!(!model.abilities().tools);
    assert_eq!(model.abilities().window, Some(4_096), "the window that Ollama was told to make room for");
    assert_eq!(server.seen()[1].body["options"]["num_ctx"], 4_096);
}

#[tokio::test]
async fn tools_and_pictures_are_not_offered_to_whom_they_are_no_use() {
    let server = Server::start(|_, _| good()).await;
    let settings = ProviderSettings {
        tools: Some(false),
        images: Some(false),
        ..settings(&server.url, Some(Dialect::OpenAi))
    };
    let model = model("mine@m", settings, limits());
    let mut request = super::bodies::conversation();
    request.choice = llm::chat::ToolChoice::Required;
    let (events, _) = ask(model.as_ref(), request).await;
    assert_eq!(events.last(), Some(&Event::Stopped(StopReason::End)));
    let body = server.seen()[0].body.clone();
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none(), "{body}");
    assert!(body.to_string().contains("cannot see") && !body.to_string().contains("image_url"), "{body}");
}
