//! The embedding services against a real server on this machine, with everything that can go wrong on the way.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use llm::embed::ollama::Ollama;
use llm::embed::openai::OpenAi;
use llm::http::{Base, Patience};
use llm::{Error, Secret};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const KEY: &str = "sk-very-secret-1234";

/// Quick, so that the tests are.
const PATIENCE: Patience =
    Patience { tries: 3, limit: Duration::from_secs(2), pause: Duration::from_secs(3) };

type Answer = Box<dyn Fn(usize, &Value) -> Response + Send + Sync>;

struct Service {
    answer: Answer,
    calls: AtomicUsize,
    seen: Mutex<Vec<(String, Value)>>,
}

/// A server that answers like this; its address, and what it saw.
async fn serve(answer: impl Fn(usize, &Value) -> Response + Send + Sync + 'static) -> (Base, Arc<Service>) {
    let service =
        Arc::new(Service { answer: Box::new(answer), calls: AtomicUsize::new(0), seen: Mutex::default() });
    let handle = |State(service): State<Arc<Service>>, headers: HeaderMap, body: String| async move {
        let call = service.calls.fetch_add(1, Ordering::SeqCst);
        let key = headers.get("authorization").map_or("", |key| key.to_str().unwrap()).to_owned();
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        service.seen.lock().unwrap().push((key, body.clone()));
        (service.answer)(call, &body)
    };
    let tags = || async {
        axum::Json(json!({"models": [{"name": "m:latest", "digest": "sha256:0123456789abcdef"}]}))
    };
    let router = Router::new()
        .route("/v1/embeddings", post(handle))
        .route("/api/embed", post(handle))
        .route("/api/tags", get(tags))
        .with_state(Arc::clone(&service));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = Base::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (base, service)
}

/// A server that reads a request and then does this with the connection.
async fn raw(bytes: &'static [u8]) -> Base {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = Base::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = [0; 4_096];
            let _ = connection.read(&mut request).await;
            let _ = connection.write_all(bytes).await;
        }
    });
    base
}

fn openai(base: &Base) -> OpenAi {
    OpenAi::new(base.clone(), "m", Some(Secret::new(KEY)), None).unwrap()
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("text {at}")).collect()
}

fn reply(status: u16, body: impl ToString) -> Response {
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}

/// The vectors of a good answer; the last text first, as services may.
fn good(body: &Value) -> Response {
    let inputs = body["input"].as_array().unwrap();
    let data: Vec<Value> = (0..inputs.len())
        .rev()
        .map(|at| json!({"object": "embedding", "index": at, "embedding": [at as f32 + 1.0, 0.0, 0.0]}))
        .collect();
    reply(200, json!({"object": "list", "data": data, "usage": {"total_tokens": 3}}))
}

async fn failed(answer: impl Fn(usize, &Value) -> Response + Send + Sync + 'static) -> (Error, usize) {
    let (base, service) = serve(answer).await;
    let error = openai(&base).embed(&texts(2), PATIENCE).await.unwrap_err();
    let shown = format!("{error} {error:?} {:?}", openai(&base));
    assert!(!shown.contains(KEY), "{shown}");
    (error, service.calls.load(Ordering::SeqCst))
}

#[tokio::test]
async fn openai_vectors_come_in_the_order_of_the_texts() {
    let (base, service) = serve(|_, body| {
        let inputs = body["input"].as_array().unwrap().len();
        let data: Vec<Value> = (0..inputs)
            .rev()
            .map(|at| json!({"index": at, "embedding": if at == 0 { [3.0, 4.0] } else { [0.0, 2.0] }}))
            .collect();
        reply(200, json!({ "data": data }))
    })
    .await;
    let model = OpenAi::new(base, "m", Some(Secret::new(KEY)), Some(2)).unwrap();
    let vectors = model.embed(&texts(2), PATIENCE).await.unwrap();
    assert_eq!(vectors, [[0.6, 0.8], [0.0, 1.0]]);
    let seen = service.seen.lock().unwrap().clone();
    assert_eq!(seen[0].0, format!("Bearer {KEY}"));
    assert_eq!(
        seen[0].1,
        json!({"model": "m", "input": ["text 0", "text 1"], "encoding_format": "float", "dimensions": 2})
    );
    assert_eq!(model.embed(&[], PATIENCE).await.unwrap(), Vec::<Vec<f32>>::new());
}

#[tokio::test]
async fn ollama_speaks_its_own_format_and_names_its_weights() {
    let (base, service) =
        serve(|_, _| reply(200, json!({"model": "m", "embeddings": [[2.0, 0.0], [0.0, 2.0]]}))).await;
    let model = Ollama::new(base.clone(), "m").unwrap();
    assert_eq!(model.embed(&texts(2), PATIENCE).await.unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
    let seen = service.seen.lock().unwrap().clone();
    assert_eq!(
        seen[0],
        (String::new(), json!({"model": "m", "input": ["text 0", "text 1"], "truncate": true}))
    );
    assert_eq!(model.digest(PATIENCE).await.unwrap(), "0123456789ab");
    assert_eq!(Ollama::new(base, "other").unwrap().digest(PATIENCE).await, None);
    let (base, _) =
        serve(|_, _| reply(404, json!({"error": "model \"m\" not found, try pulling it first"}))).await;
    let error = Ollama::new(base, "m").unwrap().embed(&texts(1), PATIENCE).await.unwrap_err();
    assert!(matches!(&error, Error::NotFound { message, .. } if message.contains("try pulling")), "{error}");
}

#[tokio::test]
async fn a_wrong_key_is_asked_once_and_not_repeated_in_the_error() {
    let (error, calls) = failed(|_, _| {
        reply(401, json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}}))
    })
    .await;
    assert_eq!(calls, 1);
    assert!(
        matches!(&error, Error::Auth { status: 401, message, .. } if message.ends_with("provided: [key]"))
    );
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_as_long_as_the_service_asks() {
    let (base, service) = serve(|call, body| match call {
        0 => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "1")], "slow down").into_response(),
        _ => good(body),
    })
    .await;
    let begun = Instant::now();
    assert_eq!(openai(&base).embed(&texts(2), PATIENCE).await.unwrap().len(), 2);
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(service.calls.load(Ordering::SeqCst), 2);
    // Longer than anybody wants to wait: said at once.
    let begun = Instant::now();
    let (error, calls) =
        failed(|_, _| (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "120")], "quota").into_response())
            .await;
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(calls, 1);
    assert!(matches!(error, Error::RateLimit { wait, .. } if wait == Duration::from_secs(120)));
}

#[tokio::test]
async fn a_failing_service_is_tried_again_and_then_given_up() {
    let (base, _) = serve(|call, body| if call == 0 { reply(503, "busy") } else { good(body) }).await;
    assert_eq!(openai(&base).embed(&texts(1), PATIENCE).await.unwrap(), [[1.0, 0.0, 0.0]]);
    let (error, calls) = failed(|_, _| reply(500, "boom")).await;
    assert_eq!(calls, 3);
    assert!(matches!(error, Error::Overloaded { status: 500, .. }));
}

#[tokio::test]
async fn a_request_that_is_refused_is_not_repeated() {
    let (error, calls) = failed(|_, _| reply(400, json!({"error": {"message": "input too long"}}))).await;
    assert!(matches!(&error, Error::BadRequest { status: 400, message, .. } if message == "input too long"));
    assert_eq!(calls, 1);
    let elsewhere = |_: usize, _: &Value| {
        (StatusCode::TEMPORARY_REDIRECT, [("location", "http://127.0.0.1:1/")], "").into_response()
    };
    let (error, calls) = failed(elsewhere).await;
    assert!(matches!(error, Error::NotFound { status: 307, .. }) && calls == 1, "no redirect is followed");
}

#[tokio::test]
async fn an_answer_that_is_none_is_an_error() {
    let vectors = |data: Value| move |_: usize, _: &Value| reply(200, json!({ "data": data }));
    let two = |a: Value, b: Value| json!([{"index": 0, "embedding": a}, {"index": 1, "embedding": b}]);
    for (answer, why) in [
        (vectors(json!([{"index": 0, "embedding": [1.0]}])), "1 vectors for 2 texts"),
        (vectors(two(json!([1.0]), json!([1.0, 2.0]))), "vectors of 1 and of 2 numbers"),
        (vectors(two(json!([]), json!([]))), "empty vector"),
        (vectors(two(json!([1.0]), json!([null]))), "holds no vectors"),
        (vectors(two(json!([1.0]), json!([1e39]))), "no number"),
        (vectors(json!([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}])), "too many"),
        (vectors(json!([{"index": 7, "embedding": [1.0]}])), "too many"),
        (vectors(json!("none")), "holds no vectors"),
    ] {
        let (error, _) = failed(answer).await;
        assert!(matches!(&error, Error::Answer { message, .. } if message.contains(why)), "{why}: {error}");
    }
    for body in ["{\"data\": [{\"embedding\": [NaN]}]}", "{\"data\": [{\"embedd", "", "<html>"] {
        let (error, _) = failed(move |_, _| reply(200, body)).await;
        assert!(matches!(&error, Error::Answer { message, .. } if message.contains("not JSON")), "{body}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_or_never_answers_ends_in_time() {
    let quick = Patience { tries: 2, limit: Duration::from_millis(300), pause: Duration::from_secs(1) };
    for bytes in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"data\"", b"nonsense\r\n\r\n"] {
        let base = raw(bytes).await;
        let error = openai(&base).embed(&texts(1), quick).await.unwrap_err();
        assert!(matches!(error, Error::Network { .. }), "{error}");
        assert!(!format!("{error:?}").contains(KEY));
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = Base::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        let _silent = listener.accept().await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    });
    let begun = Instant::now();
    let error = openai(&base).embed(&texts(1), quick).await.unwrap_err();
    assert!(matches!(error, Error::Slow { .. }) && begun.elapsed() < Duration::from_millis(900), "{error}");
    let nobody = Base::parse("http://127.0.0.1:1").unwrap();
    assert!(matches!(openai(&nobody).embed(&texts(1), quick).await, Err(Error::Network { .. })));
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = Base::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let _ = connection.read(&mut [0; 4_096]).await;
        connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let zeros = vec![b'0'; 1 << 20];
        while connection.write_all(&zeros).await.is_ok() {}
    });
    let patience = Patience { tries: 1, limit: Duration::from_secs(30), ..PATIENCE };
    let error = openai(&base).embed(&texts(1), patience).await.unwrap_err();
    assert!(matches!(error, Error::TooBig { .. }), "{error}");
}
