//! Who is let in by `verger serve`, and what becomes of those who try it otherwise.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::rig::Rig;
use crate::serve_rig::{Answer, Serve};

#[test]
fn whoever_has_the_link_comes_in_once_and_stays_until_they_leave() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    assert_eq!(serve.json("/api/about")["vault"], "vault");
    let token = serve.link.split_once('#').unwrap().1;
    let again = serve.post_json("/api/login", &json!({ "token": token }));
    assert_eq!((again.status, again.reason().as_str()), (401, "link_stale"));
    assert_eq!(serve.post_json("/api/logout", &json!({})).status, 204);
    assert_eq!(serve.get("/api/about").status, 401);
    serve.end();
}

#[test]
fn a_page_that_was_named_may_call_what_is_for_programs_and_nothing_else() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &["--allow-origin", "app://obsidian.md"]);
    let (named, other) = (("origin", "app://obsidian.md"), ("origin", "https://evil.example"));
    let asked = serve.send("OPTIONS", "/v1/chat/completions", &[named, ("sec-fetch-site", "cross-site")], "");
    assert_eq!(asked.status, 204);
    assert_eq!(asked.header("access-control-allow-origin"), Some("app://obsidian.md"));
    assert!(asked.header("access-control-allow-headers").unwrap().contains("authorization"));
    // It is let through to where a token is asked for; a cookie is none.
    let without = serve.send("GET", "/v1/models", &[named], "");
    assert_eq!(without.status, 401);
    assert_eq!(without.header("access-control-allow-origin"), Some("app://obsidian.md"));
    for (path, origin) in [("/v1/models", other), ("/api/about", named), ("/", named), ("/v1x/models", named)]
    {
        let answer = serve.send("GET", path, &[origin], "");
        assert_eq!(answer.status, 403, "{path} {origin:?}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path} {origin:?}");
    }
    serve.end();
}

#[test]
fn a_cookie_that_is_missing_forged_stale_or_for_another_port_opens_nothing() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let (name, value) = serve.cookie.split_once('=').unwrap();
    let (body, seal) = value.rsplit_once('.').unwrap();
    let longer = body.replacen(|c: char| c.is_ascii_digit(), "9", 1);
    let other_port = format!("verger-1={value}");
    let forged = format!("{name}={longer}.{seal}");
    let unsigned = format!("{name}={body}.");
    let long = format!("{name}={}", "a.".repeat(4_000));
    let link = format!("{name}={}", serve.link.split_once('#').unwrap().1);
    let twice = format!("{name}=x; {}", serve.cookie);
    for cookie in ["", "verger=1", name, &other_port, &forged, &unsigned, &long, &link, &twice] {
        let answer = serve.send("GET", "/api/about", &[("cookie", cookie)], "");
        assert_eq!(answer.status, 401, "{cookie}");
        assert_eq!(answer.reason(), "not_logged_in", "{cookie}");
    }
    let among = format!("a=b; {}; c=d", serve.cookie);
    assert_eq!(serve.send("GET", "/api/about", &[("cookie", &among)], "").status, 200);
    // A token for programs is no cookie, and a cookie opens no door for programs.
    let token = rig.ok(&["serve", "--new-token", "x"]).trim().to_owned();
    let bearer = format!("Bearer {token}");
    let headers = [("cookie", ""), ("authorization", bearer.as_str())];
    assert_eq!(serve.send("GET", "/api/about", &headers, "").status, 401);
    for door in ["/v1/models", "/mcp"] {
        assert_eq!(serve.get(door).status, 401, "{door}");
    }
}

#[test]
fn guessing_links_has_to_wait() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let statuses: Vec<u16> = (0..14)
        .map(|guess| serve.post_json("/api/login", &json!({ "token": format!("{guess}.x.y") })).status)
        .collect();
    assert_eq!(statuses[..10], [401; 10]);
    assert_eq!(statuses[10..], [429; 4]);
    assert_eq!(serve.get("/api/about").status, 200, "whoever is in stays in");
}

#[test]
fn a_page_from_elsewhere_can_neither_call_nor_read() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let port = serve.address.port();
    let (own, sibling) = (format!("http://127.0.0.1:{port}"), format!("http://localhost:{port}"));
    let other_port = format!("http://127.0.0.1:{}", port.wrapping_add(1));
    let (other_scheme, inside) =
        (format!("ftp://127.0.0.1:{port}"), format!("http://127.0.0.1:{port}.evil.example"));
    for origin in [
        "https://evil.example",
        "null",
        "file://",
        &sibling,
        &other_port,
        &other_scheme,
        &inside,
        "http://127.0.0.1",
    ] {
        for (method, path) in [
            ("POST", "/api/login"),
            ("POST", "/api/logout"),
            ("GET", "/api/about"),
            ("POST", "/v1/chat/completions"),
            ("POST", "/mcp"),
            ("GET", "/"),
        ] {
            let answer = serve.send(method, path, &[("origin", origin)], "{}");
            assert_eq!(
                (answer.status, answer.reason().as_str()),
                (403, "origin_refused"),
                "{origin} {method} {path}"
            );
            assert!(!answer.head.contains("access-control"), "{answer:?}");
        }
    }
    assert_eq!(serve.send("GET", "/api/about", &[("origin", &own)], "").status, 200);
    for site in ["cross-site", "same-site"] {
        let fetch = [("sec-fetch-site", site), ("sec-fetch-mode", "cors")];
        assert_eq!(serve.send("GET", "/api/about", &fetch, "").status, 403, "{site}");
        let open = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate")];
        assert_eq!(serve.send("GET", "/", &open, "").status, 200, "a link may open the page");
        assert_eq!(serve.send("POST", "/api/logout", &open, "{}").status, 403, "a form may do nothing");
    }
    // What a browser sends without asking first is not taken for JSON.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
    ] {
        let answer = serve.send("POST", "/api/login", &[("content-type", kind)], r#"{"token":"x"}"#);
        assert_eq!(answer.status, 415, "{kind}");
    }
    let asked = [("origin", "https://evil.example"), ("access-control-request-method", "POST")];
    let preflight = serve.send("OPTIONS", "/api/login", &asked, "");
    assert_eq!(preflight.status, 403);
    assert!(!preflight.head.contains("access-control"), "{preflight:?}");
    assert_eq!(serve.get("/api/about").status, 200, "nobody was logged out");
}

#[test]
fn a_host_that_is_not_ours_is_not_served() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let port = serve.address.port();
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.0.2.1",
        "[::1",
        "a b",
        "127.0.0.1:x",
    ] {
        let host = format!("{host}:{port}");
        let answer = serve.send("GET", "/api/about", &[("host", &host)], "");
        assert!(matches!(answer.status, 400 | 421), "{host}: {answer:?}");
        assert!(!answer.body.contains("\"vault\""), "{host}");
    }
    let none = serve.raw(b"GET /api/about HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert!(matches!(none.status, 400 | 421), "{none:?}");
    let named = format!(
        "GET http://evil.example/api/about HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
        serve.address, serve.cookie
    );
    let named = serve.raw(named.as_bytes());
    assert!(matches!(named.status, 400 | 421), "the first line names another host: {named:?}");
    let two = format!(
        "GET /api/about HTTP/1.1\r\nHost: {0}\r\nHost: {0}\r\nConnection: close\r\n\r\n",
        serve.address
    );
    assert_eq!(serve.raw(two.as_bytes()).status, 400);
}

#[test]
fn every_answer_keeps_scripts_and_frames_of_others_out() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let of = |method: &str, path: &str, headers: &[(&str, &str)]| serve.send(method, path, headers, "{}");
    let answers = [
        of("GET", "/", &[]),
        of("GET", "/login", &[]),
        of("GET", "/page/js/app.js", &[]),
        of("GET", "/page/nothing.js", &[]),
        of("GET", "/nothing/at/all", &[]),
        of("GET", "/api/about", &[]),
        of("GET", "/api/about", &[("cookie", "")]),
        of("GET", "/api/openapi.json", &[]),
        of("POST", "/api/login", &[]),
        of("POST", "/api/about", &[]),
        of("DELETE", "/", &[]),
        of("GET", "/api/about", &[("origin", "null")]),
        of("GET", "/api/about", &[("host", "evil.example")]),
        of("GET", "/v1/models", &[]),
        of("GET", "/mcp", &[]),
        of("GET", "/.well-known/mcp.json", &[]),
    ];
    for answer in answers {
        let value = |name: &str| answer.header(name).unwrap_or_else(|| panic!("no {name}: {answer:?}"));
        let policy = value("content-security-policy");
        for word in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(word), "{word}: {answer:?}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(value("x-content-type-options"), "nosniff");
        assert_eq!(value("referrer-policy"), "no-referrer");
        assert_eq!(value("cross-origin-resource-policy"), "same-origin");
        assert_eq!(value("cross-origin-opener-policy"), "same-origin");
        assert!(value("cache-control").starts_with("no-"), "{answer:?}");
        assert!(!answer.head.contains("access-control"), "{answer:?}");
        assert!(answer.header("server").is_none(), "{answer:?}");
        assert!(answer.status < 500, "{answer:?}");
    }
}

#[test]
fn methods_that_a_route_does_not_have_do_nothing() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let head = serve.send("HEAD", "/api/about", &[], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    for method in ["PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "OPTIONS", "BREW"] {
        let answer = serve.send(method, "/api/about", &[], "{}");
        assert!((400..500).contains(&answer.status), "{method}: {answer:?}");
        assert!(!answer.body.contains("\"notes\""), "{method}: {answer:?}");
    }
}

#[test]
fn heads_and_bodies_that_are_too_large_are_refused() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let long = "x".repeat(300 * 1024);
    assert!(matches!(serve.send("GET", "/", &[("x-long", &long)], "").status, 0 | 400 | 431));
    assert!(matches!(serve.send("GET", &format!("/{long}"), &[], "").status, 0 | 400 | 404 | 414 | 431));
    let many: String = (0..200).map(|number| format!("X-{number}: 1\r\n")).collect();
    let many = format!("GET / HTTP/1.1\r\nHost: {}\r\n{many}Connection: close\r\n\r\n", serve.address);
    assert!(matches!(serve.raw(many.as_bytes()).status, 0 | 400 | 431));
    let announced = serve.send("POST", "/api/login", &[("content-length", "99999999999")], "{}");
    assert_eq!((announced.status, announced.reason().as_str()), (413, "too_large"));
    let body = format!("{{\"token\":\"{}\"}}", "x".repeat(2 * 1024 * 1024));
    let sent = serve.post_json("/api/login", &serde_json::from_str(&body).unwrap());
    assert!(matches!(sent.status, 0 | 413), "{}", sent.status);
    let chunk = format!("{:x}\r\n{}\r\n", 256 * 1024, "y".repeat(256 * 1024)).repeat(8);
    let head = format!(
        "POST /api/login HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        serve.address
    );
    let chunked = serve.raw(format!("{head}{chunk}0\r\n\r\n").as_bytes());
    assert!(matches!(chunked.status, 0 | 413), "{}", chunked.status);
    assert_eq!(serve.get("/api/about").status, 200);
}

#[test]
fn a_request_that_can_be_read_in_two_ways_is_not_read() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let (host, cookie) = (serve.address, serve.cookie.clone());
    let hidden =
        format!("GET /api/about HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
    let head = format!("POST /api/login HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n");
    for framing in [
        "Content-Length: 2\r\nContent-Length: 60\r\n",
        "Content-Length: 2, 60\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: 0x2\r\n",
        "Content-Length: -2\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Content-Length : 2\r\n",
        " Content-Length: 2\r\n",
    ] {
        for body in ["{}", "0\r\n\r\n"] {
            let mut stream = serve.connect();
            stream.write_all(format!("{head}{framing}\r\n{body}{hidden}").as_bytes()).ok();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).ok();
            let text = String::from_utf8_lossy(&all);
            assert!(!text.contains("\"vault\""), "{framing:?} {body:?} smuggled a request: {text}");
            let status = Answer::parse(&all).status;
            assert!(status == 0 || (400..500).contains(&status), "{framing:?} {body:?}: {text}");
        }
    }
    assert_eq!(serve.get("/api/about").status, 200);
}

/// Everybody who is slow at once, and one who is not.
#[test]
fn who_is_slow_is_let_go_and_nobody_waits_for_them() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let closed_after = |mut stream: TcpStream, limit: u64| {
        let begun = Instant::now();
        stream.set_read_timeout(Some(Duration::from_secs(limit))).unwrap();
        let mut all = Vec::new();
        let ended = stream.read_to_end(&mut all);
        (ended.is_ok() || begun.elapsed() < Duration::from_secs(limit), Answer::parse(&all).status)
    };
    let said = |text: String| {
        let mut stream = serve.connect();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let host = serve.address;
    let silent = serve.connect();
    let slow_head = said(format!("GET / HTTP/1.1\r\nHost: {host}\r\nX-Slow: "));
    let slow_body = said(format!(
        "POST /api/login HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    ));
    let slow_chunk = said(format!(
        "POST /api/login HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{{"
    ));
    // Asks for much and takes nothing.
    let reader = serve.connect();
    let asks = format!("GET /page/css/base.css HTTP/1.1\r\nHost: {host}\r\n\r\n").repeat(200);
    let asking = std::thread::spawn({
        let mut stream = reader.try_clone().unwrap();
        move || {
            let begun = Instant::now();
            stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
            while begun.elapsed() < Duration::from_secs(90) {
                match stream.write_all(asks.as_bytes()) {
                    Ok(()) => {}
                    Err(error)
                        if matches!(
                            error.kind(),
                            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                        ) => {}
                    Err(_) => return begun.elapsed(),
                }
            }
            begun.elapsed()
        }
    });
    std::thread::scope(|scope| {
        let silent = scope.spawn(|| closed_after(silent, 20));
        let slow_head = scope.spawn(|| closed_after(slow_head, 20));
        let slow_body = scope.spawn(|| closed_after(slow_body, 40));
        let slow_chunk = scope.spawn(|| closed_after(slow_chunk, 40));
        for _ in 0..20 {
            let begun = Instant::now();
            assert_eq!(serve.get("/api/about").status, 200);
            assert!(begun.elapsed() < Duration::from_secs(5), "others wait: {:?}", begun.elapsed());
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(silent.join().unwrap().0, "a connection that says nothing stays");
        assert!(slow_head.join().unwrap().0, "a slow head stays");
        assert_eq!(slow_body.join().unwrap(), (true, 408));
        assert_eq!(slow_chunk.join().unwrap(), (true, 408));
    });
    assert!(asking.join().unwrap() < Duration::from_secs(80), "one who reads nothing stays");
    assert_eq!(serve.get("/api/about").status, 200);
    serve.end();
}

#[test]
fn six_hundred_who_say_nothing_do_not_lock_others_out() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let idle: Vec<TcpStream> = (0..600).filter_map(|_| TcpStream::connect(serve.address).ok()).collect();
    assert!(idle.len() > 500, "{}", idle.len());
    let begun = Instant::now();
    assert_eq!(serve.get("/api/about").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    drop(idle);
    serve.end();
}

#[test]
fn the_end_does_not_wait_for_those_who_stay() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let _idle: Vec<TcpStream> = (0..20).map(|_| serve.connect()).collect();
    let mut half = serve.connect();
    half.write_all(b"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n").unwrap();
    let begun = Instant::now();
    serve.end();
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}
