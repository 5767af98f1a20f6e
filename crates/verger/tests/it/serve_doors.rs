//! The other doors of `verger serve`: MCP on the same port, encrypted connections, and the file that starts it at login.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};

use crate::rig::Rig;
use crate::serve_rig::{Answer, Serve};

fn token(rig: &Rig, name: &str, may: &str) -> String {
    format!("Bearer {}", rig.ok(&["serve", "--new-token", name, "--may", may]).trim())
}

/// A client of 2025-11-25 with its session.
struct Client<'s> {
    serve: &'s Serve,
    bearer: String,
    session: String,
}

fn post(serve: &Serve, bearer: &str, session: &str, body: &Value) -> Answer {
    let headers = [
        ("authorization", bearer),
        ("mcp-session-id", session),
        ("accept", "application/json, text/event-stream"),
        ("cookie", ""),
    ];
    serve.send("POST", "/mcp", &headers, &body.to_string())
}

impl<'s> Client<'s> {
    #[track_caller]
    fn new(serve: &'s Serve, bearer: &str) -> Client<'s> {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "seated", "version": "1"},
        }});
        let answer = post(serve, bearer, "", &hello);
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.header("mcp-session-id").unwrap().to_owned();
        let client = Client { serve, bearer: bearer.to_owned(), session };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(post(serve, bearer, &client.session, &ready).status, 202);
        client
    }

    fn ask(&self, method: &str, params: Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        post(self.serve, &self.bearer, &self.session, &body)
    }

    #[track_caller]
    fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        let lines = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut found = lines.filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok());
        let one = serde_json::from_str(&answer.body)
            .ok()
            .or_else(|| found.find(|value| value["result"].is_object()));
        one.unwrap_or_else(|| panic!("{answer:?}"))["result"].clone()
    }
}

#[test]
fn mcp_clients_read_with_one_token_and_write_with_another_on_the_same_road() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let (reads, edits) = (token(&rig, "reads", "read"), token(&rig, "edits", "edit"));
    let reader = Client::new(&serve, &reads);
    let names = |client: &Client<'_>| -> Vec<String> {
        let tools = client.result("tools/list", json!({}))["tools"].clone();
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let readable = names(&reader);
    assert!(readable.contains(&"obsidian_get_note".to_owned()), "{readable:?}");
    assert!(!readable.contains(&"obsidian_write_note".to_owned()), "{readable:?}");
    let read = json!({"name": "obsidian_get_note", "arguments": {"format": "content", "target": {"type": "path", "path": "Start.md"}}});
    let read = reader.ask("tools/call", read);
    assert!(read.status == 200 && read.body.contains("Start"), "{read:?}");
    let write = json!({"name": "obsidian_write_note", "arguments":
        {"target": {"type": "path", "path": "Garden/From MCP.md"}, "content": "new"}});
    let before = rig.bytes();
    let refused = reader.ask("tools/call", write.clone());
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.header("www-authenticate").is_some_and(|value| value.contains("insufficient_scope")));
    assert_eq!(rig.bytes(), before);

    let editor = Client::new(&serve, &edits);
    assert!(names(&editor).contains(&"obsidian_write_note".to_owned()));
    let written = editor.ask("tools/call", write);
    assert!(rig.has("Garden/From MCP.md"), "{written:?}");
    // The page sees it at once: it is the same vault in memory.
    let notes = serve.json("/api/about")["notes"].as_u64().unwrap();
    let again = json!({"name": "obsidian_write_note", "arguments":
        {"target": {"type": "path", "path": "Garden/One more.md"}, "content": "new"}});
    editor.ask("tools/call", again);
    assert_eq!(serve.json("/api/about")["notes"].as_u64().unwrap(), notes + 1);
    // Ignored notes are ignored here, too.
    let ignored = json!({"name": "obsidian_get_note", "arguments": {"format": "content", "target": {"type": "path", "path": "Private/diary.md"}}});
    rig.write("Private/diary.md", "canary-ignored");
    assert!(!editor.ask("tools/call", ignored).body.contains("canary-ignored"));
    serve.end();
    assert!(rig.ok(&["audit", "verify"]).len() < 10_000);
}

#[test]
fn a_session_belongs_to_its_token_and_no_token_is_no_entry() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    let (one, other) = (token(&rig, "one", "read"), token(&rig, "other", "read"));
    let chat = token(&rig, "chat", "chat");
    let client = Client::new(&serve, &one);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(post(&serve, &other, &client.session, &list).status, 404, "another token, another session");
    for wrong in ["", "Bearer nonsense", "Basic eDp5"] {
        let answer = post(&serve, wrong, &client.session, &list);
        assert_eq!(answer.status, 401, "{wrong}");
        assert!(
            answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")),
            "{answer:?}"
        );
    }
    assert_eq!(post(&serve, &chat, "", &list).status, 403);
    assert_eq!(serve.get("/.well-known/mcp.json").ok()["transport"]["endpoint"], "/mcp");
    assert_eq!(serve.delete("/api/tokens/one").status, 204);
    assert_eq!(post(&serve, &one, &client.session, &list).status, 401, "a revoked token ends at once");
    let many: Vec<u16> = (0..30).map(|_| post(&serve, "Bearer vgr_x", "", &list).status).collect();
    assert_eq!(many[29], 429);
}

/// A certificate for 127.0.0.1, if openssl is there to make it.
fn certificate(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=verger test", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    made.is_ok_and(|made| made.status.success()).then_some((certificate, key))
}

#[test]
fn with_a_certificate_connections_are_encrypted_and_the_cookie_is_for_such_only() {
    let rig = Rig::tour();
    let Some((certificate, key)) = certificate(rig.folder.path()) else {
        println!("skipped: openssl cannot make a certificate here");
        return;
    };
    let files = [certificate.to_str().unwrap(), key.to_str().unwrap()];
    let serve = Serve::start_at("127.0.0.1:0", &rig, &["--tls-cert", files[0], "--tls-key", files[1]], &[]);
    assert!(serve.base.starts_with("https://127.0.0.1:"), "{}", serve.base);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let send = |request: &str| {
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let client = rustls::ClientConnection::new(Arc::clone(&config), name).unwrap();
        let mut stream = rustls::StreamOwned::new(client, serve.connect());
        stream.write_all(request.as_bytes()).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).ok();
        Answer::parse(&all)
    };
    let token = serve.link.split_once('#').unwrap().1;
    let login = serve.request(
        "POST",
        "/api/login",
        &[("origin", &serve.base)],
        &json!({ "token": token }).to_string(),
    );
    let login = send(&login);
    assert_eq!(login.status, 204, "{login:?}");
    let cookie = login.header("set-cookie").unwrap();
    assert!(cookie.contains("; Secure") && cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    let about = serve.request("GET", "/api/about", &[("cookie", cookie.split(';').next().unwrap())], "");
    assert_eq!(send(&about).status, 200);
    // Plain words on an encrypted line are no request, and whoever says nothing is let go.
    let plain = serve.raw(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert_eq!(plain.status, 0, "{plain:?}");
    let silent = serve.connect();
    assert_eq!(Answer::read(silent).status, 0);
    serve.end();
}

#[test]
fn other_machines_are_let_in_only_encrypted_or_by_your_own_word() {
    let rig = Rig::tour();
    let said = rig.run(&["serve", "--address", "0.0.0.0:0"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("--tls-cert") && said.err.contains("--without-tls"), "{said:?}");
    for arguments in [
        vec!["--tls-cert", "a.pem"],
        vec!["--tls-key", "a.pem"],
        vec!["--tls-cert", "missing.pem", "--tls-key", "missing.pem"],
        vec!["--tls-cert", "Start.md", "--tls-key", "Start.md"],
        vec!["--may", "read"],
        vec!["--new-token", "a/b"],
        vec!["--new-token", "x", "--may", "everything"],
        vec!["--print-service", "cron"],
    ] {
        let said = rig.run(&[&["serve", "--address", "127.0.0.1:0"][..], &arguments].concat());
        assert_eq!(said.code, 2, "{arguments:?}: {said:?}");
    }
}

#[test]
fn the_printed_service_is_one_that_systemd_takes_also_for_an_odd_vault() {
    let rig = Rig::empty();
    for name in ["plain", "my notes", "50% of $HOME", "it's \"odd\"", "back\\slash", "ünïcødé ☃"] {
        let vault = rig.path(name);
        std::fs::create_dir_all(vault.join(".obsidian")).unwrap();
        let vault = vault.to_str().unwrap();
        let unit = rig.ok(&["--vault", vault, "serve", "--print-service", "systemd", "--agent", "ask"]);
        let starts = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert!(starts.contains("\"serve\"") && starts.contains("\"--agent\" \"ask\""), "{starts}");
        assert!(!starts.contains("$HOME") || starts.contains("$$HOME"), "{starts}");
        for line in
            ["Restart=on-failure", "NoNewPrivileges=yes", "ProtectSystem=strict", "WantedBy=default.target"]
        {
            assert!(unit.lines().any(|known| known == line), "{line}: {unit}");
        }
        let file = rig.path("verger.service");
        std::fs::write(&file, &unit).unwrap();
        match Command::new("systemd-analyze")
            .args(["--user", "verify"])
            .arg(&file)
            .env("XDG_RUNTIME_DIR", rig.path("home"))
            .output()
        {
            Ok(said) => assert!(
                said.status.success() && said.stderr.is_empty(),
                "{name}: {}",
                String::from_utf8_lossy(&said.stderr)
            ),
            Err(_) => println!("skipped: systemd-analyze is not here"),
        }
        let list = rig.ok(&["--vault", vault, "serve", "--print-service", "launchd"]);
        assert!(list.contains("<key>ProgramArguments</key>") && list.contains("<string>serve</string>"));
    }
}
