//! `mcp --http`: who is turned away at the gate, and how.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_http_rig::{Answer, Web, initialize};
use crate::rig::Rig;

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
}

#[test]
fn nobody_comes_in_without_the_token() {
    let rig = Rig::tour();
    let before = rig.bytes();
    let web = Web::start(&rig, &[], &[]);
    let token = web.token.clone().unwrap();
    assert_eq!(token.len(), 43);
    for header in
        ["", "Bearer", "Bearer wrong", &format!("Bearer {token}x"), &format!("Basic {token}"), &token]
    {
        for method in ["POST", "GET", "DELETE", "PUT"] {
            let answer = web.send(method, "/mcp", &[("authorization", header)], &list().to_string());
            assert_eq!(answer.status, 401, "{method} {header}: {answer:?}");
            assert!(answer.header("www-authenticate").unwrap().starts_with("bearer"), "{answer:?}");
            assert!(!answer.body.contains(&token));
        }
    }
    let write = json!({"name": "obsidian_write_note",
                       "arguments": {"target": {"type": "path", "path": "x.md"}, "content": "x"}});
    assert_eq!(web.alone_with(&[("authorization", "")], json!({}), "tools/call", write).status, 401);
    assert_eq!(rig.bytes(), before);
    assert_eq!(web.alone("tools/list", json!({})).status, 200);
    web.end();
}

#[test]
fn logs_hold_no_token_no_argument_and_no_note() {
    let rig = Rig::tour();
    rig.write("secret.md", "the treasure lies under the quince");
    let web = Web::start(&rig, &[], &[]);
    let token = web.token.clone().unwrap();
    let read = json!({"name": "obsidian_get_note",
                      "arguments": {"format": "content", "target": {"type": "path", "path": "secret.md"}}});
    assert!(web.alone("tools/call", read).body.contains("treasure"));
    web.send("POST", "/mcp", &[], "{\"treasure\": ");
    web.alone_with(&[("authorization", "Bearer treasure")], json!({}), "tools/list", json!({}));
    web.terminate();
    std::thread::sleep(Duration::from_millis(300));
    let said = web.said();
    assert_eq!(said.matches(&token).count(), 1, "shown once: {said}");
    assert!(!said.contains("treasure") && !said.contains("secret.md"), "{said}");
}

#[test]
fn foreign_hosts_and_pages_are_turned_away_before_anything_else() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth"], &[("MCP_ALLOWED_ORIGINS", "https://app.example")]);
    let port = web.address.port();
    let answer = |name: &str, value: &str| web.send("GET", "/healthz", &[(name, value)], "");
    for host in
        ["evil.example.com", "evil.example.com:3010", "localhost.evil.com", "192.0.2.1", "0.0.0.0", "a b"]
    {
        let status = answer("host", host).status;
        assert!(status == 403 || status == 400, "{host}: {status}");
        assert_eq!(web.post(&[("host", host)], &list()).status, status);
    }
    for origin in ["http://evil.example.com", "null", "https://app.example.evil.com", "http://app.example"] {
        assert_eq!(answer("origin", origin).status, 403, "{origin}");
    }
    for host in
        [format!("localhost:{port}"), format!("[::1]:{port}"), "127.0.0.1".to_owned(), "LocalHost".to_owned()]
    {
        assert_eq!(answer("host", &host).status, 200, "{host}");
    }
    let local = answer("origin", &format!("http://localhost:{port}"));
    assert_eq!((local.status, local.header("access-control-allow-origin")), (200, None));
    let named = web.send("OPTIONS", "/mcp", &[("origin", "https://app.example")], "");
    assert_eq!(
        (named.status, named.header("access-control-allow-origin")),
        (204, Some("https://app.example"))
    );
    let twice = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\nConnection: close\r\n\r\n";
    assert_eq!(web.raw(twice).status, 400);
    let elsewhere = b"GET http://evil.com/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(web.raw(elsewhere).status, 403);
    assert_eq!(web.raw(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").status, 400);
    web.end();
}

#[test]
fn a_body_that_is_too_large_is_not_read() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth"], &[("MCP_HTTP_MAX_BODY_BYTES", "1000")]);
    let large =
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y".repeat(1000)}}).to_string();
    assert_eq!(web.send("POST", "/mcp", &[], &large).status, 413);
    let chunked = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let answer =
        web.send("POST", "/mcp", &[("content-length", ""), ("transfer-encoding", "chunked")], &chunked);
    assert_eq!(answer.status, 413);
    let announced = web.send("POST", "/mcp", &[("content-length", "99999999999")], "{");
    assert_eq!(announced.status, 413, "refused before it arrives");
    let head = web.send("GET", "/healthz", &[("x-large", &"z".repeat(200_000))], "");
    assert!(head.status == 431 || head.status == 0, "{head:?}");
    let many: String = (0..200).map(|number| format!("x-{number}: y\r\n")).collect();
    let many = web.raw(format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n").as_bytes());
    assert!(many.status == 431 || many.status == 0, "{many:?}");
    assert_eq!(web.send("GET", "/healthz", &[], "").status, 200);
    web.end();
}

#[test]
fn a_slow_client_is_let_go_and_holds_up_nobody() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth"], &[]);
    let begun = Instant::now();
    let slow = |head: String| {
        let mut stream = web.connect();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let heads: Vec<_> =
        (0..50).map(|_| slow("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-".to_owned())).collect();
    let body = web.request("POST", "/mcp", &[("content-length", "500")], "{\"jsonrpc\"");
    let bodies: Vec<_> = (0..50).map(|_| slow(body.clone())).collect();
    assert_eq!(web.send("GET", "/healthz", &[], "").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(8), "others are not held up");
    for stream in heads {
        assert_ne!(Answer::read(stream).status, 200);
    }
    for stream in bodies {
        assert_eq!(Answer::read(stream).status, 408);
    }
    assert!(begun.elapsed() < Duration::from_secs(28), "{:?}", begun.elapsed());
    web.end();
}

#[test]
fn hostile_bodies_get_an_answer_and_break_nothing() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &["--no-auth"], &[]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: [(&str, i64); 12] = [
        ("", -32600),
        ("   ", -32600),
        ("{", -32700),
        ("NaN", -32700),
        ("[]", -32600),
        ("null", -32600),
        ("{}", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}", -32602),
        (&deep, -32700),
    ];
    for (body, code) in cases {
        let answer = web.send("POST", "/mcp", &[], body);
        assert_eq!((answer.status, answer.code()), (400, code), "{}", &body[..body.len().min(80)]);
    }
    let mut bytes = web.request("POST", "/mcp", &[("content-length", "4")], "").into_bytes();
    bytes.extend(b"\xff\xfe{\0");
    assert_eq!(web.raw(&bytes).status, 400);
    assert_eq!(web.send("POST", "/mcp", &[("content-type", "text/plain")], "{}").status, 415);
    assert_eq!(web.send("POST", "/mcp", &[("content-type", "")], "{}").status, 415);
    assert_eq!(web.send("POST", "/mcp", &[("accept", "text/html")], &list().to_string()).status, 406);
    for garbage in
        [&b"\x16\x03\x01\x02\x00"[..], b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0\0"]
    {
        assert!(matches!(web.raw(garbage).status, 0 | 400 | 505), "{garbage:?}");
    }
    let broken =
        web.send("POST", "/mcp", &[("content-length", ""), ("transfer-encoding", "chunked")], "zz\r\n{}");
    assert!(matches!(broken.status, 0 | 400), "{broken:?}");
    let bom = format!("\u{feff}{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(
        web.send("POST", "/mcp", &[], &bom).status,
        400,
        "a session is missing, the text is understood"
    );
    assert_eq!(initialize(&web, json!({}), None).status, 200);
    web.end();
}

#[test]
fn anybody_on_the_machine_may_ask_whether_it_lives() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &[], &[]);
    let health = web.send("GET", "/healthz", &[("authorization", "")], "");
    assert_eq!((health.status, health.body.as_str()), (200, "{\"status\":\"ok\"}"));
    let card = web.send("GET", "/.well-known/mcp.json", &[("authorization", "")], "");
    assert_eq!(card.message()["transport"]["endpoint"], "/mcp");
    assert_eq!(web.send("GET", "/.well-known/oauth-protected-resource", &[], "").status, 404);
    assert_eq!(web.send("GET", "/", &[], "").status, 404);
    assert_eq!(web.send("POST", "/healthz", &[], "{}").status, 405);
    web.end();
}

#[test]
fn a_setting_that_does_not_make_sense_stops_the_start() {
    let rig = Rig::tour();
    let run = |arguments: &[&str], name: &str, value: &str| {
        let output = rig.command(&[&["mcp"], arguments].concat()).env(name, value).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (name, value) in
        [("MCP_HTTP_PORT", "x"), ("MCP_AUTH_MODE", "x"), ("MCP_AUTH_DISABLE_SCOPE_CHECKS", "maybe")]
    {
        let (code, said) = run(&["--http"], name, value);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(name), "{said}");
    }
    let (code, said) = run(&[], "MCP_TRANSPORT_TYPE", "pigeon");
    assert!(code == Some(2) && said.contains("MCP_TRANSPORT_TYPE"), "{said}");
    let (code, said) = run(&["--http", "0.0.0.0:0", "--no-auth"], "X", "x");
    assert!(code == Some(2) && said.contains("reached by others"), "{said}");
}

#[test]
fn a_port_that_is_taken_is_passed_over() {
    let rig = Rig::tour();
    let first = Web::start(&rig, &["--no-auth"], &[]);
    let port = first.address.port().to_string();
    let mut child = rig
        .command(&["mcp", "--no-auth"])
        .envs([
            ("MCP_TRANSPORT_TYPE", "http"),
            ("MCP_HTTP_PORT", &port),
            ("MCP_HTTP_PORT_RETRY_DELAY_MS", "1"),
        ])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut lines = std::io::BufReader::new(child.stderr.take().unwrap());
    while !said.contains("serving MCP at") {
        assert_ne!(std::io::BufRead::read_line(&mut lines, &mut said).unwrap(), 0, "{said}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        said.contains(&format!("port {port} is taken")) && !said.contains(&format!(":{port}/")),
        "{said}"
    );
    let output = rig
        .command(&["mcp", "--no-auth", "--http", &format!("127.0.0.1:{port}")])
        .env("MCP_HTTP_MAX_PORT_RETRIES", "0")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    first.end();
}
