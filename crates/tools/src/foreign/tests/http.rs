//! Servers over HTTP on this machine: streamable HTTP, the old event stream, and those that may not be reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use super::rig::{Abroad, reason, text};

/// What the server saw.
#[derive(Default)]
struct Seen {
    calls: AtomicUsize,
    sessions: AtomicUsize,
}

async fn answer(State(seen): State<Arc<Seen>>, headers: HeaderMap, Json(message): Json<Value>) -> Response {
    if headers.get("x-key").and_then(|key| key.to_str().ok()) != Some("opensesame") {
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response();
    }
    let Some(id) = message.get("id").cloned() else { return StatusCode::ACCEPTED.into_response() };
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let number = seen.sessions.fetch_add(1, Ordering::SeqCst) + 1;
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                "serverInfo": {"name": "h", "version": "1"}});
            let body = json!({"jsonrpc": "2.0", "id": id, "result": result});
            return ([("mcp-session-id", format!("session-{number}"))], Json(body)).into_response();
        }
        "tools/list" => {
            json!({"tools": [{"name": "echo", "description": "d", "inputSchema": {"type": "object"}}]})
        }
        "tools/call" => {
            let number = seen.calls.fetch_add(1, Ordering::SeqCst) + 1;
            // The second call meets a server that was started again and knows no sessions.
            if number == 2 {
                return StatusCode::NOT_FOUND.into_response();
            }
            json!({"content": [{"type": "text", "text": format!("call {number}")}]})
        }
        _ => {
            return Json(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}))
                .into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
}

async fn serve(seen: Arc<Seen>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/mcp", post(answer)).with_state(seen);
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/mcp")
}

#[tokio::test(flavor = "multi_thread")]
async fn streamable_http_works_and_a_lost_session_is_an_error_that_is_not_repeated() {
    let seen = Arc::new(Seen::default());
    let url = serve(Arc::clone(&seen)).await;
    let abroad =
        Abroad::new(&[("s", json!({"url": url, "headers": {"X-Key": "${NO_KEY:-opensesame}"}}))], None);
    assert_eq!(text(&abroad.use_tool("echo", json!({})).await), "call 1");
    let lost = abroad.use_tool("echo", json!({})).await;
    assert!(lost.refusal().is_some(), "{lost:?}");
    assert_eq!(seen.calls.load(Ordering::SeqCst), 2, "the lost call was sent once");
    assert_eq!(text(&abroad.use_tool("echo", json!({})).await), "call 3");
    assert_eq!(seen.sessions.load(Ordering::SeqCst), 2, "a new session after the lost one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_a_login_or_cannot_be_reached_says_so() {
    let url = serve(Arc::default()).await;
    let free = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap();
    let abroad = Abroad::new(
        &[
            ("login", json!({"url": url})),
            ("dead", json!({"url": format!("http://{free}/mcp")})),
            ("file", json!({"url": "file:///etc/passwd"})),
            ("variable", json!({"url": "https://${NO_SUCH_VARIABLE}/mcp"})),
        ],
        None,
    );
    for (server, says) in [
        ("login", "mcp_login_needed"),
        ("dead", "mcp_server_unavailable"),
        ("file", "address_forbidden"),
        ("variable", "mcp_server_invalid"),
    ] {
        let outcome = abroad.call("read_mcp_tool", json!({"server": server})).await;
        assert_eq!(reason(&outcome), says, "{outcome:?}");
    }
}

/// A server whose answer to a call never ends, as JSON or as one event.
async fn endless(kind: &'static str) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = move |Json(message): Json<Value>| async move {
        let Some(id) = message.get("id").cloned() else { return StatusCode::ACCEPTED.into_response() };
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                   "serverInfo": {"name": "e", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
            "tools/call" => {
                let piece = axum::body::Bytes::from(vec![b'x'; 256 * 1024]);
                let endless = futures::stream::repeat_with(move || Ok::<_, std::io::Error>(piece.clone()));
                return ([("content-type", kind)], axum::body::Body::from_stream(endless)).into_response();
            }
            _ => return StatusCode::BAD_REQUEST.into_response(),
        };
        Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
    };
    let router = Router::new().route("/mcp", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/mcp")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_an_end_is_given_up_at_a_size() {
    for kind in ["application/json", "text/event-stream"] {
        let abroad = Abroad::new(&[("s", json!({"url": endless(kind).await, "timeout": 10}))], None);
        let outcome = abroad.use_tool("echo", json!({})).await;
        assert!(outcome.refusal().is_some(), "{kind}: {outcome:?}");
        #[expect(clippy::disallowed_methods, reason = "a test looks at its own memory")]
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak: u64 = peak.map_or(0, |peak| peak.trim().trim_end_matches(" kB").parse().unwrap());
        assert!(peak < 1024 * 1024, "{kind}: {peak} kB");
    }
}

/// A server of the old transport: one event stream, and posts that are answered on it.
async fn old_server(foreign_address: bool) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stream: Arc<Mutex<Option<TcpStream>>> = Arc::default();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let stream = Arc::clone(&stream);
            tokio::spawn(async move { old_request(socket, stream, foreign_address).await });
        }
    });
    format!("http://{address}/sse")
}

async fn old_request(socket: TcpStream, stream: Arc<Mutex<Option<TcpStream>>>, foreign_address: bool) {
    let mut socket = BufReader::new(socket);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        if socket.read_line(&mut first).await.unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            socket.read_line(&mut line).await.unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        if first.starts_with("GET") {
            let to = if foreign_address { "http://127.0.0.1:1/steal" } else { "/post?session=7" };
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let hello = format!("{head}event: endpoint\ndata: {to}\n\n");
            let mut socket = socket.into_inner();
            socket.write_all(hello.as_bytes()).await.unwrap();
            *stream.lock().await = Some(socket);
            return;
        }
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await.unwrap();
        socket.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap();
        let Some(id) = message.get("id") else { continue };
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                                   "serverInfo": {"name": "old", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
            _ => json!({"content": [{"type": "text", "text": "from the old days"}]}),
        };
        let event =
            format!("event: message\ndata: {}\n\n", json!({"jsonrpc": "2.0", "id": id, "result": result}));
        stream.lock().await.as_mut().unwrap().write_all(event.as_bytes()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_old_event_stream_works_and_cannot_send_us_elsewhere() {
    let abroad = Abroad::new(&[("s", json!({"type": "sse", "url": old_server(false).await}))], None);
    assert_eq!(text(&abroad.use_tool("echo", json!({})).await), "from the old days");
    let abroad = Abroad::new(&[("s", json!({"type": "sse", "url": old_server(true).await}))], None);
    let outcome = abroad.call("read_mcp_tool", json!({"server": "s"})).await;
    assert!(outcome.refusal().unwrap().message.contains("another server"), "{outcome:?}");
}
