//! Verger as a client of other MCP servers: the real binary, with itself as the other server.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::Rig;

/// A machine whose configuration names another Verger, over a vault of its own, as the server `other`.
fn rig() -> Rig {
    let rig = Rig::tour();
    let other = rig.path("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("There.md"), "# There\nfar away\n").unwrap();
    let config = format!(
        "[mcp.servers.other]\ncommand = {:?}\nargs = [\"mcp\", \"--vault\", {:?}]\nenv = {{ XDG_DATA_HOME = {:?}, KEY = \"secret\" }}\n",
        env!("CARGO_BIN_EXE_verger"),
        other,
        rig.path("other-data"),
    );
    put_config(&rig, &config);
    rig
}

fn put_config(rig: &Rig, text: &str) {
    std::fs::create_dir_all(rig.path("config/verger")).unwrap();
    std::fs::write(rig.path("config/verger/config.toml"), text).unwrap();
}

#[test]
fn another_server_is_listed_tested_read_and_called() {
    let rig = rig();
    assert_eq!(rig.ok(&["mcp", "list"]), "other  stdio  verger  ready\n");
    let tested = rig.json(&["mcp", "test", "other"]);
    assert_eq!((&tested["data"]["tools"], &tested["data"]["revision"]), (&json!(14), &json!("2025-11-25")));
    assert!(rig.ok(&["mcp", "tools", "other"]).contains("obsidian_get_note: "));
    let read = rig.ok(&["mcp", "tools", "other", "obsidian_get_note"]);
    assert!(read.contains("input schema:"), "{read}");
    let input = json!({"server_name": "other", "tool_name": "obsidian_get_note",
                       "arguments": {"format": "content", "target": {"type": "path", "path": "There.md"}}});
    let call = ["tool", "use_mcp_tool", "--input", &input.to_string()];
    let denied = rig.run(&call);
    assert_eq!(denied.code, 3, "nobody is there to ask: {denied:?}");
    let done = rig.ok(&[&call[..], &["--yes"]].concat());
    assert!(done.contains("far away"), "{done}");
    let audit = std::fs::read_to_string(rig.data().join("audit.jsonl")).unwrap();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<&str> = lines
        .iter()
        .filter(|line| line["tool"] == "use_mcp_tool")
        .map(|line| line["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["denied", "started", "done"]);
    let called = lines.iter().rfind(|line| line["tool"] == "use_mcp_tool").unwrap();
    assert_eq!(
        (&called["input"]["server_name"], &called["input"]["tool_name"]),
        (&json!("other"), &json!("obsidian_get_note"))
    );
    assert!(!audit.contains("secret") && !rig.ok(&["mcp", "list", "--json"]).contains("secret"));
    assert_eq!(rig.run(&["check"]).code, 0);
}

#[test]
fn a_server_of_the_vault_runs_only_after_a_person_trusted_it() {
    let rig = Rig::tour();
    let marker = rig.path("started");
    let file = json!({"mcpServers": {"v": {"command": "sh", "args": ["-c", format!("touch {}", marker.display())]}}});
    rig.write(".mcp.json", &file.to_string());
    assert_eq!(rig.ok(&["mcp", "list"]), "v  stdio  sh  untrusted\n");
    for command in [&["mcp", "test", "v"][..], &["mcp", "tools", "v"]] {
        let said = rig.run(command);
        assert!(said.code == 1 && said.err.contains("verger mcp trust v"), "{said:?}");
    }
    assert_eq!(rig.run(&["mcp", "trust", "v"]).code, 3, "without a person nobody trusts it");
    assert!(!marker.exists(), "nothing was started");
    let trusted = rig.run(&["mcp", "trust", "v", "--yes"]);
    assert!(trusted.code == 0 && trusted.err.contains("touch"), "{trusted:?}");
    let said = rig.run(&["mcp", "test", "v"]);
    assert!(said.code == 1 && said.err.contains("ended before it answered"), "{said:?}");
    assert!(marker.exists());
}

#[test]
fn the_tools_of_other_servers_are_not_offered_where_nobody_asks() {
    let rig = rig();
    let listed = |arguments: &[&str]| {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let said = rig.with_stdin(&[&["mcp"], arguments].concat(), &format!("{hello}\n{ready}\n{list}\n"));
        said.out.contains("\"use_mcp_tool\"")
    };
    assert!(!listed(&["--surface", "agent"]));
    assert!(!listed(&["--ask"]));
    assert!(listed(&["--surface", "agent", "--ask"]));
}

/// What `ps` would say: whether a process of this id runs (a zombie does not).
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

#[test]
fn a_verger_that_is_killed_leaves_the_start_of_the_act_in_the_audit_and_no_server_behind() {
    if !std::path::Path::new("/proc/self/stat").exists() {
        println!("skipped: no /proc");
        return;
    }
    let rig = Rig::tour();
    let marker = rig.path("pid");
    // A server that never answers, and does not end when its stdin does.
    let script = format!("echo $$ > {}; exec sleep 300", marker.display());
    put_config(&rig, &format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n"));
    let mut verger =
        rig.command(&["mcp", "tools", "s"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    let process = loop {
        let text = std::fs::read_to_string(&marker).unwrap_or_default();
        if text.ends_with('\n') {
            break text.trim().to_owned();
        }
        assert!(start.elapsed() < Duration::from_secs(30), "the server was not started");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(runs(&process));
    verger.kill().unwrap();
    verger.wait().unwrap();
    let start = Instant::now();
    while runs(&process) {
        assert!(start.elapsed() < Duration::from_secs(10), "the server outlived verger");
        std::thread::sleep(Duration::from_millis(20));
    }
    let audit = std::fs::read_to_string(rig.data().join("audit.jsonl")).unwrap();
    let last: Value = serde_json::from_str(audit.lines().last().unwrap()).unwrap();
    assert_eq!((&last["tool"], &last["outcome"]), (&json!("read_mcp_tool"), &json!("started")));
    assert_eq!(rig.run(&["check"]).code, 0);
}

/// A server that wants a login and is its own login server; one request for each connection.
fn office() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let here = origin.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), &here);
        }
    });
    origin
}

fn answer(mut stream: std::net::TcpStream, origin: &str) {
    use std::io::{BufRead, BufReader, Read, Write};
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let allowed = lower.contains("authorization: bearer good");
    let (status, more, body) = match path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => (
            "200 OK",
            String::new(),
            json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}),
        ),
        "/.well-known/oauth-authorization-server" => (
            "200 OK",
            String::new(),
            json!({
            "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
            "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}),
        ),
        "/register" => ("201 Created", String::new(), json!({"client_id": "c", "redirect_uris": []})),
        "/token" => ("200 OK", String::new(), json!({"access_token": "good", "token_type": "Bearer"})),
        "/mcp" if allowed => ("200 OK", String::new(), mcp(&serde_json::from_slice(&body).unwrap())),
        "/mcp" => ("401 Unauthorized", "www-authenticate: Bearer\r\n".to_owned(), json!({})),
        _ => ("404 Not Found", String::new(), json!({})),
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n{more}");
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
}

fn mcp(message: &Value) -> Value {
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "o", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "stamp", "inputSchema": {"type": "object"}}]}),
        _ => {
            return json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}});
        }
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

#[test]
fn a_person_logs_in_with_their_browser_once() {
    use std::io::{BufRead, BufReader, Read, Write};
    let rig = Rig::tour();
    put_config(&rig, &format!("[mcp.servers.o]\nurl = \"{}/mcp\"\n", office()));
    let said = rig.run(&["mcp", "tools", "o"]);
    assert!(said.code == 1 && said.err.contains("verger mcp login o"), "{said:?}");
    let mut login =
        rig.command(&["mcp", "login", "o"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(login.stderr.take().unwrap()).lines().map_while(Result::ok);
    let page = lines.find(|line| line.contains("/authorize?")).expect("the page is named");
    let value = |name: &str| {
        let rest = page.split(&format!("{name}=")).nth(1).unwrap();
        rest.split('&').next().unwrap().replace("%3A", ":").replace("%2F", "/")
    };
    let (redirect, state) = (value("redirect_uri"), value("state"));
    let (address, path) = redirect.strip_prefix("http://").unwrap().split_once('/').unwrap();
    // Something else that knocks is not taken for the person.
    for path in ["favicon.ico".to_owned(), format!("{path}?code=x&state={state}")] {
        let mut browser = std::net::TcpStream::connect(address).unwrap();
        write!(browser, "GET /{path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut shown = String::new();
        browser.read_to_string(&mut shown).unwrap();
        assert!(shown.contains("close this page"), "{shown}");
    }
    assert!(login.wait().unwrap().success());
    assert_eq!(rig.ok(&["mcp", "tools", "o"]), "1 tool\nstamp\n");
    assert_eq!(rig.ok(&["mcp", "logout", "o"]), "forgot the login at o\n");
    assert_eq!(rig.run(&["mcp", "tools", "o"]).code, 1);
}
