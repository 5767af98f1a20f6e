//! The Local REST API plugin of Obsidian, as far as Verger speaks to it: a real server on this machine, with faults.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

pub const KEY: &str = "0123456789abcdef";

/// How the plugin behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// It takes its time.
    Slow,
    /// It says something that is no JSON.
    Garbage,
    /// It breaks off in the middle of an answer.
    HangsUp,
    /// It answers without end.
    Endless,
    /// It has an error of its own.
    Fails,
}

/// A running plugin.
pub struct Plugin {
    pub port: u16,
    /// The requests so far: method, path, and what the client takes.
    pub seen: Arc<Mutex<Vec<String>>>,
    pub fault: Arc<Mutex<Fault>>,
    pub active: Arc<Mutex<Option<String>>>,
}

impl Plugin {
    pub fn start() -> Plugin {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plugin = Plugin {
            port: listener.local_addr().unwrap().port(),
            seen: Arc::default(),
            fault: Arc::new(Mutex::new(Fault::None)),
            active: Arc::default(),
        };
        let (seen, fault, active) =
            (Arc::clone(&plugin.seen), Arc::clone(&plugin.fault), Arc::clone(&plugin.active));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, fault, active) = (Arc::clone(&seen), Arc::clone(&fault), Arc::clone(&active));
                std::thread::spawn(move || {
                    let (fault, active) = (*fault.lock().unwrap(), active.lock().unwrap().clone());
                    serve(stream, &seen, fault, active.as_deref());
                });
            }
        });
        plugin
    }

    /// The environment in which a client of it is started.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("OBSIDIAN_API_KEY", KEY.to_owned()),
            ("OBSIDIAN_BASE_URL", format!("http://127.0.0.1:{}", self.port)),
            ("OBSIDIAN_REQUEST_TIMEOUT_MS", "700".to_owned()),
            ("OBSIDIAN_ENABLE_COMMANDS", "true".to_owned()),
        ]
    }

    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>, fault: Fault, active: Option<&str>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    reader.read_line(&mut first).ok();
    let (mut key, mut accept, mut length) = (String::new(), String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_lowercase().as_str() {
            "authorization" => key = value.trim().to_owned(),
            "accept" => accept = value.trim().to_owned(),
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
    }
    reader.take(length).read_to_end(&mut Vec::new()).ok();
    let words: Vec<&str> = first.split(' ').collect();
    let (method, path) = (words[0], words.get(1).copied().unwrap_or_default());
    seen.lock().unwrap().push(format!("{method} {path} {accept}").trim_end_matches(" */*").to_owned());
    let answer = |status: &str, body: String| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let unknown = |code: i32, text: &str| json!({"errorCode": code, "message": text}).to_string();
    let text = if key != format!("Bearer {KEY}") {
        answer("401 Unauthorized", unknown(40101, "Authorization required."))
    } else {
        match (method, path) {
            ("GET", "/commands/") => answer(
                "200 OK",
                json!({"commands": [
                    {"id": "editor:toggle-bold", "name": "Toggle bold"},
                    {"id": "app:reload", "name": "Reload app without saving"},
                ]})
                .to_string(),
            ),
            ("POST", "/commands/editor:toggle-bold/" | "/commands/app:reload/") => {
                "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".to_owned()
            }
            ("GET", "/active/") => match active {
                Some(path) => answer("200 OK", json!({"path": path, "content": "", "tags": [], "frontmatter": {}, "stat": {"ctime": 1, "mtime": 1, "size": 0}}).to_string()),
                None => answer("404 Not Found", unknown(40461, "No active file")),
            },
            ("POST", path) if path.starts_with("/open/") => answer("200 OK", String::new()),
            _ => answer("404 Not Found", unknown(40400, "Not Found")),
        }
    };
    match fault {
        Fault::None => drop(stream.write_all(text.as_bytes())),
        Fault::Slow => {
            std::thread::sleep(Duration::from_secs(3));
            stream.write_all(text.as_bytes()).ok();
        }
        Fault::Garbage => drop(stream.write_all(answer("200 OK", "<html>".to_owned()).as_bytes())),
        Fault::HangsUp => drop(stream.write_all(&text.as_bytes()[..text.len() / 2])),
        Fault::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[").ok();
            let block = vec![b'1'; 64 * 1024];
            while stream.write_all(&block).is_ok() {}
        }
        Fault::Fails => {
            drop(stream.write_all(answer("500 Internal Server Error", "oh".to_owned()).as_bytes()))
        }
    }
}
