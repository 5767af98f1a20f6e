//! The loop against a provider that breaks in every way: the real binary, a real socket, every wire format.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::rig::Rig;

/// What the server does with one request.
#[derive(Clone)]
enum Play {
    /// A status with a body and perhaps a header.
    Status(u16, &'static str, &'static str),
    /// A stream, in pieces of so many bytes.
    Stream(Vec<u8>, usize),
    /// A part of a stream, then the connection is reset.
    Reset(Vec<u8>),
}

/// Plays one after the other, whatever is asked; anything that is not a question gets 404.
fn serve(plays: Vec<Play>, kind: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = Arc::clone(&heard);
    std::thread::spawn(move || {
        let mut plays = plays.into_iter();
        for socket in listener.incoming() {
            let Ok(mut socket) = socket else { return };
            let Some((path, body)) = request(&mut socket) else { continue };
            if body.is_empty() || path.contains("/api/show") {
                answer(&mut socket, &Play::Status(404, "", "{}"), kind);
                continue;
            }
            asked.lock().unwrap().push(body);
            match plays.next() {
                Some(play) => answer(&mut socket, &play, kind),
                None => return,
            }
        }
    });
    (address, heard)
}

fn request(socket: &mut TcpStream) -> Option<(String, String)> {
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 65_536];
    loop {
        let read = socket.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length:").map(str::to_owned));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if body.len() >= length {
            return Some((path, body.to_owned()));
        }
    }
}

fn answer(socket: &mut TcpStream, play: &Play, kind: &str) {
    let head = |status: u16, more: &str, length: Option<usize>| {
        let length = length
            .map_or("transfer-encoding: chunked".to_owned(), |length| format!("content-length: {length}"));
        let more = if more.is_empty() { String::new() } else { format!("{more}\r\n") };
        format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n{more}{length}\r\n\r\n")
    };
    let chunk = |socket: &mut TcpStream, bytes: &[u8]| {
        let mut piece = format!("{:x}\r\n", bytes.len()).into_bytes();
        piece.extend_from_slice(bytes);
        piece.extend_from_slice(b"\r\n");
        socket.write_all(&piece).is_ok()
    };
    match play {
        Play::Status(status, header, body) => {
            socket.write_all((head(*status, header, Some(body.len())) + body).as_bytes()).ok();
        }
        Play::Stream(bytes, size) => {
            socket.write_all(head(200, "", None).as_bytes()).ok();
            socket.set_nodelay(true).ok();
            for piece in bytes.chunks(*size) {
                if !chunk(socket, piece) {
                    return;
                }
            }
            socket.write_all(b"0\r\n\r\n").ok();
        }
        Play::Reset(bytes) => {
            socket.write_all(head(200, "", None).as_bytes()).ok();
            chunk(socket, &bytes[..bytes.len() / 2]);
            std::thread::sleep(Duration::from_millis(50));
            // Without the end of the chunks the connection is cut in the middle.
            socket.shutdown(std::net::Shutdown::Both).ok();
        }
    }
}

fn fixture(dialect: &str, name: &str) -> Vec<u8> {
    let ending = if dialect == "ollama" { "ndjson" } else { "sse" };
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/llm");
    std::fs::read(root.join(dialect).join(format!("{name}.{ending}"))).unwrap()
}

/// How many calls the recorded answer holds.
fn recorded_calls(dialect: &str) -> usize {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/llm");
    let events = std::fs::read_to_string(root.join(dialect).join("calls.events")).unwrap();
    let calls = events.lines().filter(|line| line.starts_with("call ") && line.contains(" ended: ")).count();
    assert!(calls > 1, "{dialect}");
    calls
}

fn ask(dialect: &str, plays: Vec<Play>) -> (i32, Vec<Value>, usize) {
    let kind = if dialect == "ollama" { "application/x-ndjson" } else { "text/event-stream" };
    let (address, heard) = serve(plays, kind);
    let rig = Rig::tour();
    std::fs::create_dir_all(rig.path("config/verger")).unwrap();
    let config =
        format!("[models]\nmain = \"it@m\"\n[providers.it]\ndialect = \"{dialect}\"\nurl = \"{address}\"\n");
    std::fs::write(rig.path("config/verger/config.toml"), config).unwrap();
    let said = rig.run(&["ask", "--json", "hello"]);
    let events = said.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let asked = heard.lock().unwrap().len();
    (said.code, events, asked)
}

const DIALECTS: [&str; 5] = ["openai", "responses", "anthropic", "gemini", "ollama"];

#[test]
fn a_turn_survives_a_provider_that_is_busy_breaks_off_and_stammers() {
    for dialect in DIALECTS {
        let (text, calls) = (fixture(dialect, "text"), fixture(dialect, "calls"));
        let (code, events, asked) = ask(
            dialect,
            vec![
                Play::Status(
                    429,
                    "retry-after: 0",
                    r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#,
                ),
                Play::Status(
                    529,
                    "",
                    r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                ),
                Play::Reset(text.clone()),
                Play::Stream(calls, 3),
                Play::Stream(text, 1),
            ],
        );
        assert_eq!((code, asked), (0, 5), "{dialect}: {events:?}");
        let of = |name: &str| events.iter().filter(|event| event["event"] == name).count();
        // The calls of the recorded answer were made once each, refused by name, and told to the model.
        let recorded = recorded_calls(dialect);
        assert_eq!(of("call_ended"), recorded, "{dialect}: {events:?}");
        assert!(of("text") > 0 && of("over") == 1, "{dialect}: {events:?}");
        assert_eq!(events.last().unwrap()["how"]["over"], "done", "{dialect}");
    }
}

#[test]
fn what_cannot_be_mended_ends_the_turn_with_its_reason() {
    for dialect in DIALECTS {
        let (code, events, asked) =
            ask(dialect, vec![Play::Status(401, "", r#"{"error":{"message":"no such key"}}"#)]);
        assert_eq!((code, asked), (1, 1), "{dialect}");
        let over = events.iter().find(|event| event["event"] == "over").unwrap();
        assert!(over["text"].as_str().unwrap().contains("no such key"), "{dialect}: {over}");
        // An answer that is always cut off ends, too.
        let cut = fixture(dialect, "cut");
        let plays = vec![Play::Stream(cut, 7); 12];
        let (code, events, asked) = ask(dialect, plays);
        assert_eq!(code, 1, "{dialect}: {events:?}");
        assert!((2..=8).contains(&asked), "{dialect}: asked {asked} times");
    }
}
