//! `mcp --http` as a process, and a client that speaks HTTP by hand, so that it can also speak it badly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::Rig;

pub const PATIENCE: Duration = Duration::from_secs(30);

/// A server.
pub struct Web {
    pub child: Child,
    pub address: SocketAddr,
    /// The token that it showed.
    pub token: Option<String>,
    /// What it said on stderr so far.
    pub said: Arc<Mutex<String>>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Web {
    /// Starts a server on a free port.
    #[track_caller]
    pub fn start(rig: &Rig, arguments: &[&str], variables: &[(&str, &str)]) -> Web {
        let mut child = rig
            .command(&[&["mcp", "--http", "127.0.0.1:0"], arguments].concat())
            .env("VERGER_VAULT", rig.root())
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn({
            let said = Arc::clone(&said);
            move || {
                for line in stderr.lines().map_while(Result::ok) {
                    *said.lock().unwrap() += &format!("{line}\n");
                }
            }
        });
        let mut web = Web { child, address: "127.0.0.1:0".parse().unwrap(), token: None, said };
        web.wait_for_address();
        web
    }

    fn wait_for_address(&mut self) {
        let begun = Instant::now();
        loop {
            let said = self.said.lock().unwrap().clone();
            let after =
                |words: &str| said.split_once(words).map(|(_, rest)| rest.lines().next().unwrap().trim());
            self.token = after("shown only now: ").map(str::to_owned);
            let wants_token = said.contains("bearer token") || self.is_up(&said);
            if let Some(url) = after("serving MCP at http://").filter(|_| wants_token) {
                self.address = url.split('/').next().unwrap().parse().unwrap();
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not start: {said}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The token's line comes right after the address; without one, the server answers.
    fn is_up(&self, said: &str) -> bool {
        let Some((_, rest)) = said.split_once("serving MCP at http://") else { return false };
        let address = rest.split('/').next().unwrap();
        let answer = TcpStream::connect(address).and_then(|mut stream| {
            stream.write_all(
                format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes(),
            )?;
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        });
        answer.is_ok_and(|text| text.contains("200 OK"))
            && !self.said.lock().unwrap().contains("shown only now")
    }

    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends these bytes and reads until the server closes.
    pub fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has refused may close before it has read everything.
        stream.write_all(bytes).ok();
        Answer::read(stream)
    }

    /// One request on a connection of its own. Headers that are given come on top of the usual ones or replace them.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.raw(self.request(method, path, headers, body).as_bytes())
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut all: Vec<(String, String)> = vec![
            ("host".into(), self.address.to_string()),
            ("connection".into(), "close".into()),
            ("accept".into(), "application/json, text/event-stream".into()),
        ];
        if method == "POST" {
            all.push(("content-type".into(), "application/json".into()));
            all.push(("content-length".into(), body.len().to_string()));
        }
        if let Some(token) = &self.token {
            all.push(("authorization".into(), format!("Bearer {token}")));
        }
        for (name, value) in headers {
            all.retain(|(known, _)| known != name);
            if !value.is_empty() {
                all.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        let head: String = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("{method} {path} HTTP/1.1\r\n{head}\r\n{body}")
    }

    pub fn post(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.send("POST", "/mcp", headers, &body.to_string())
    }

    /// A request of 2026-07-28, which comes alone.
    pub fn alone(&self, method: &str, params: Value) -> Answer {
        self.alone_with(&[], json!({}), method, params)
    }

    pub fn alone_with(
        &self,
        headers: &[(&str, &str)],
        capabilities: Value,
        method: &str,
        params: Value,
    ) -> Answer {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "alone", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        let own =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name.as_str())];
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.post(&[&own, headers].concat(), &body)
    }

    /// Asks the process to end.
    pub fn terminate(&self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    }

    /// Asks it to end and waits for a good end.
    #[track_caller]
    pub fn end(mut self) {
        self.terminate();
        assert!(self.wait().success(), "{}", self.said());
    }

    #[track_caller]
    pub fn wait(&mut self) -> std::process::ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Answer {
    pub fn read(mut stream: impl Read) -> Answer {
        let mut bytes = Vec::new();
        // A reset after the answer is no matter.
        stream.read_to_end(&mut bytes).ok();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let (head, body) = (head.to_lowercase(), body.to_owned());
        let body = if head.contains("transfer-encoding: chunked") { unchunked(&body) } else { body };
        Answer { status, head, body }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The messages: one as JSON, or those of a stream.
    pub fn messages(&self) -> Vec<Value> {
        if let Ok(one) = serde_json::from_str(&self.body) {
            return vec![one];
        }
        let lines = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.filter_map(|line| serde_json::from_str(line.trim()).ok()).collect()
    }

    /// The last message.
    #[track_caller]
    pub fn message(&self) -> Value {
        self.messages().pop().unwrap_or_else(|| panic!("no message: {self:?}"))
    }

    #[track_caller]
    pub fn result(&self) -> Value {
        let mut message = self.message();
        assert!(message["result"].is_object(), "{self:?}");
        message["result"].take()
    }

    #[track_caller]
    pub fn code(&self) -> i64 {
        self.message()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}"))
    }
}

fn unchunked(body: &str) -> String {
    let mut rest = body.as_bytes();
    let mut whole = Vec::new();
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap_or("0");
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        let Some(chunk) = rest.get(end + 2..end + 2 + size).filter(|chunk| !chunk.is_empty()) else { break };
        whole.extend_from_slice(chunk);
        rest = rest.get(end + 2 + size + 2..).unwrap_or_default();
    }
    String::from_utf8_lossy(&whole).into_owned()
}

/// A client of 2025-11-25 with its session.
pub struct Seated<'w> {
    pub web: &'w Web,
    pub id: String,
    pub token: Option<String>,
}

impl<'w> Seated<'w> {
    #[track_caller]
    pub fn new(web: &'w Web, capabilities: Value) -> Seated<'w> {
        Seated::with_token(web, capabilities, None)
    }

    #[track_caller]
    pub fn with_token(web: &'w Web, capabilities: Value, token: Option<&str>) -> Seated<'w> {
        let answer = initialize(web, capabilities, token);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.result()["serverInfo"]["name"], "verger");
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        let seated = Seated { web, id, token: token.map(str::to_owned) };
        let answer = seated.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(answer.status, 202, "{answer:?}");
        seated
    }

    pub fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers = vec![("mcp-session-id", self.id.as_str()), ("mcp-protocol-version", "2025-11-25")];
        headers.extend(self.token.as_deref().map(|token| ("authorization", token)));
        headers
    }

    pub fn post(&self, body: &Value) -> Answer {
        self.web.post(&self.headers(), body)
    }

    pub fn ask(&self, method: &str, params: Value) -> Answer {
        self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }

    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).result()
    }
}

pub fn initialize(web: &Web, capabilities: Value, token: Option<&str>) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "seated", "version": "1"},
    }});
    let headers: Vec<_> = token.map(|token| ("authorization", token)).into_iter().collect();
    web.post(&headers, &body)
}
