//! `verger serve` as a process, and a client that speaks HTTP by hand, so that it can also speak it badly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::rig::Rig;

pub const PATIENCE: Duration = Duration::from_secs(30);

/// A server, and somebody who is logged in.
pub struct Serve {
    pub child: Child,
    pub address: SocketAddr,
    /// `http://127.0.0.1:PORT`.
    pub base: String,
    /// `verger-PORT=…`, as a browser sends it.
    pub cookie: String,
    /// The login link that was printed; it was used.
    pub link: String,
    /// What the server said on stderr so far.
    pub said: Arc<Mutex<String>>,
}

/// An answer: `status`, headers in small letters, body.
#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Serve {
    /// Starts a server on a free port, and logs in with the link that it prints.
    #[track_caller]
    pub fn start(rig: &Rig, arguments: &[&str]) -> Serve {
        Serve::start_with(rig, arguments, &[])
    }

    #[track_caller]
    pub fn start_with(rig: &Rig, arguments: &[&str], variables: &[(&str, &str)]) -> Serve {
        let mut serve = Serve::start_at("127.0.0.1:0", rig, arguments, variables);
        serve.log_in();
        serve
    }

    /// Starts a server at this address; nobody is logged in.
    #[track_caller]
    pub fn start_at(at: &str, rig: &Rig, arguments: &[&str], variables: &[(&str, &str)]) -> Serve {
        let mut child = rig
            .command(&[&["serve", "--address", at], arguments].concat())
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
                for line in stderr.split(b'\n').map_while(Result::ok) {
                    *said.lock().unwrap() += &format!("{}\n", String::from_utf8_lossy(&line));
                }
            }
        });
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let (base, cookie, link) = (String::new(), String::new(), String::new());
        let mut serve = Serve { child, address, base, cookie, link, said };
        serve.wait_for_link();
        serve
    }

    #[track_caller]
    fn wait_for_link(&mut self) {
        let begun = Instant::now();
        loop {
            let said = self.said();
            let whole = |line: &str| line.find("http").map(|at| line[at..].trim().to_owned());
            if let Some(link) = said.lines().find(|line| line.contains("/login#")).and_then(whole) {
                self.base = link.split("/login#").next().unwrap().to_owned();
                let at = self.base.split_once("://").unwrap().1;
                self.address = at.parse().unwrap_or(self.address);
                self.link = link;
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not start: {said}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    fn log_in(&mut self) {
        let token = self.link.split_once('#').unwrap().1.to_owned();
        let answer = self.post_json("/api/login", &serde_json::json!({ "token": token }));
        assert_eq!(answer.status, 204, "{answer:?}");
        self.cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    }

    /// What the server said on stderr so far.
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

    /// One request on a connection of its own. Headers that are given come on top of the usual ones or replace them; an empty
    /// one takes the usual one away.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.raw(self.request(method, path, headers, body).as_bytes())
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut all: Vec<(String, String)> =
            vec![("host".into(), self.address.to_string()), ("connection".into(), "close".into())];
        if matches!(method, "POST" | "PUT" | "PATCH") {
            all.push(("content-type".into(), "application/json".into()));
            all.push(("content-length".into(), body.len().to_string()));
        }
        if !self.cookie.is_empty() {
            all.push(("cookie".into(), self.cookie.clone()));
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

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    pub fn post_json(&self, path: &str, value: &Value) -> Answer {
        self.send("POST", path, &[], &value.to_string())
    }

    pub fn put_json(&self, path: &str, value: &Value) -> Answer {
        self.send("PUT", path, &[], &value.to_string())
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], "")
    }

    /// The body of something that must work.
    #[track_caller]
    pub fn json(&self, path: &str) -> Value {
        self.get(path).ok()
    }

    /// Opens a stream of events.
    #[track_caller]
    pub fn sse(&self, path: &str) -> Events {
        self.sse_by("GET", path, &[], "")
    }

    #[track_caller]
    pub fn sse_by(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Events {
        let mut stream = self.connect();
        let accept = [("accept", "text/event-stream")];
        stream.write_all(self.request(method, path, &[&accept, headers].concat(), body).as_bytes()).unwrap();
        Events::open(stream)
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

impl Drop for Serve {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown: String = self.body.chars().take(2_000).collect();
        write!(f, "{}\n\n{shown}", self.head)
    }
}

impl Answer {
    pub fn read(mut stream: impl Read) -> Answer {
        let mut bytes = Vec::new();
        // A reset after the answer is no matter.
        stream.read_to_end(&mut bytes).ok();
        Answer::parse(&bytes)
    }

    pub fn parse(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        // Names of headers in small letters, values as they came.
        let small = |line: &str| match line.split_once(':') {
            Some((name, value)) => format!("{}:{value}", name.to_lowercase()),
            None => line.to_owned(),
        };
        let head = head.lines().map(small).collect::<Vec<_>>().join("\n");
        let rest = bytes.get(end + 4..).unwrap_or_default();
        let bytes = if head.contains("transfer-encoding: chunked") { unchunked(rest) } else { rest.to_vec() };
        Answer { status, head, body: String::from_utf8_lossy(&bytes).into_owned() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The body as JSON, whatever the status.
    #[track_caller]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body as JSON of an answer that must be a good one.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        self.value()
    }

    /// The reason of a problem.
    pub fn reason(&self) -> String {
        let value: Value = serde_json::from_str(&self.body).unwrap_or_default();
        value["error"]["reason"].as_str().unwrap_or_default().to_owned()
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap_or("0");
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        let Some(chunk) = rest.get(end + 2..end + 2 + size).filter(|chunk| !chunk.is_empty()) else { break };
        whole.extend_from_slice(chunk);
        rest = rest.get(end + 2 + size + 2..).unwrap_or_default();
    }
    whole
}

/// A stream of events that is read as it comes.
pub struct Events {
    pub status: u16,
    pub head: String,
    reader: BufReader<TcpStream>,
    /// What has come and was not handed out, without the marks of chunks.
    text: Vec<u8>,
    over: bool,
}

/// One event.
#[derive(Debug, Clone, Default)]
pub struct Event {
    pub name: String,
    pub id: String,
    pub data: String,
}

impl Event {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Events {
    #[track_caller]
    pub fn open(stream: TcpStream) -> Events {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
                break;
            }
            head += &line.to_lowercase();
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Events { status, head, reader, text: Vec::new(), over: false }
    }

    /// The next line without its end; `None` when the stream is over, broken, or silent for too long.
    pub fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.over || self.chunk().is_none() {
                self.over = true;
                let rest = std::mem::take(&mut self.text);
                return (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned());
            }
        }
    }

    fn chunk(&mut self) -> Option<()> {
        if !self.head.contains("transfer-encoding: chunked") {
            let some = self.reader.fill_buf().ok().filter(|some| !some.is_empty())?.to_vec();
            self.reader.consume(some.len());
            self.text.extend(some);
            return Some(());
        }
        let mut size = String::new();
        self.reader.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).ok()?;
        chunk.truncate(size);
        self.text.extend(chunk);
        Some(())
    }

    /// The next event; comments are passed over.
    pub fn next_event(&mut self) -> Option<Event> {
        let (mut event, mut any) = (Event { name: "message".to_owned(), ..Event::default() }, false);
        loop {
            let line = self.line()?;
            if line.is_empty() {
                match any {
                    true => return Some(event),
                    false => continue,
                }
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut event.name),
                "id" => value.clone_into(&mut event.id),
                "data" if any && !event.data.is_empty() => event.data += &format!("\n{value}"),
                "data" => value.clone_into(&mut event.data),
                _ => continue,
            }
            any = true;
        }
    }

    /// Reads on until an event of this name comes.
    #[track_caller]
    pub fn until(&mut self, name: &str) -> Event {
        let begun = Instant::now();
        while let Some(event) = self.next_event() {
            if event.name == name {
                return event;
            }
            assert!(begun.elapsed() < PATIENCE, "no event `{name}`");
        }
        panic!("the stream ended before an event `{name}`");
    }

    /// Everything until the end.
    pub fn all(mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next_event()).collect()
    }
}
