//! A small HTTP server whose every byte and pause is told, and models that talk to it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use llm::chat::{Event, Message, Model, Request};
use llm::http::Patience;
use llm::{Dialect, Error, Limits, Models, Provider, ProviderSettings, Secret};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A key that must never be seen again.
pub const KEY: &str = "sk-canary-0123456789";

/// What the server does with a connection, one after the other.
#[derive(Clone)]
pub enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes in pieces of this size.
    Cut(Vec<u8>, usize),
    /// Waits.
    Wait(u64),
    /// Breaks the connection off.
    Reset,
    /// Sends this again and again until nobody takes it.
    Endless(Vec<u8>),
    /// Waits until the other side is gone.
    Listen,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub headers: String,
    pub body: Value,
}

pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    gone: Arc<AtomicUsize>,
}

impl Server {
    /// A server that does this at its n-th request.
    pub async fn start(acts: impl Fn(usize, &Seen) -> Vec<Act> + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, gone) = (Arc::<Mutex<Vec<Seen>>>::default(), Arc::<AtomicUsize>::default());
        let (all, closed) = (Arc::clone(&seen), Arc::clone(&gone));
        let acts = Arc::new(acts);
        tokio::spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                let (all, closed, acts) = (Arc::clone(&all), Arc::clone(&closed), Arc::clone(&acts));
                tokio::spawn(async move {
                    let mut connection = connection;
                    let Some(request) = receive(&mut connection).await else { return };
                    let number = {
                        let mut all = all.lock().unwrap();
                        all.push(request.clone());
                        all.len() - 1
                    };
                    if act(connection, acts(number, &request)).await {
                        closed.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        Server { url, seen, gone }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// How many clients went away while the server listened.
    pub fn gone(&self) -> usize {
        self.gone.load(Ordering::SeqCst)
    }
}

async fn receive(connection: &mut TcpStream) -> Option<Seen> {
    connection.set_nodelay(true).unwrap();
    let mut bytes = Vec::new();
    let head = loop {
        let mut part = [0; 16_384];
        let count = connection.read(&mut part).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
    };
    let headers = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let length =
        headers.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let length: usize = length.unwrap_or(0);
    while bytes.len() < head + 4 + length {
        let mut part = [0; 16_384];
        let count = connection.read(&mut part).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
    }
    let body = serde_json::from_slice(&bytes[head + 4..]).unwrap_or_default();
    let path = headers.split(' ').nth(1).unwrap_or_default().to_owned();
    Some(Seen { path, headers, body })
}

async fn act(mut connection: TcpStream, acts: Vec<Act>) -> bool {
    for act in acts {
        match act {
            Act::Send(bytes) => drop(connection.write_all(&bytes).await),
            Act::Cut(bytes, size) => {
                for piece in bytes.chunks(size) {
                    if connection.write_all(piece).await.is_err() {
                        return true;
                    }
                    tokio::task::yield_now().await;
                }
            }
            Act::Wait(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
            Act::Reset => {
                connection.set_zero_linger().unwrap();
                return false;
            }
            Act::Endless(bytes) => while connection.write_all(&bytes).await.is_ok() {},
            Act::Listen => {
                let mut rest = [0; 64];
                while connection.read(&mut rest).await.is_ok_and(|count| count > 0) {}
                return true;
            }
        }
    }
    connection.shutdown().await.ok();
    false
}

/// The head of an answer that ends when the connection does.
pub fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} x\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{head}\r\n").into_bytes()
}

/// A whole answer.
pub fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<Act> {
    vec![Act::Send(head(status, headers)), Act::Send(body.as_bytes().to_vec())]
}

pub fn stream() -> Vec<u8> {
    head(200, &[("content-type", "text/event-stream")])
}

/// Quick, so that the tests are.
pub fn limits() -> Limits {
    let patience = Patience { tries: 3, limit: Duration::from_secs(5), pause: Duration::from_secs(2) };
    Limits { patience, idle: Duration::from_millis(1_200), largest: 2 * 1024 * 1024 }
}

pub fn settings(url: &str, dialect: Option<Dialect>) -> ProviderSettings {
    ProviderSettings { url: Some(url.to_owned()), dialect, ..ProviderSettings::default() }
}

/// A model of a provider with these settings.
pub fn model(name: &str, settings: ProviderSettings, limits: Limits) -> Arc<dyn Model> {
    let (provider, _) = name.split_once('@').unwrap();
    let mut models = Models::default();
    models.provide(Provider::new(provider, settings, Some(Secret::new(KEY))).unwrap().limited(limits));
    models.find(name).unwrap()
}

/// The events of an answer, and the error at its end if there is one.
pub async fn ask(model: &dyn Model, request: Request) -> (Vec<Event>, Option<Error>) {
    let mut events = Vec::new();
    let mut stream = model.stream(request);
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "after an error nothing more comes");
                let shown = format!("{error} {error:?} {}", error.hint());
                assert!(!shown.contains(KEY), "{shown}");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

pub fn question() -> Request {
    let mut request = Request::new(vec![Message::user("Are the apples ripe?")]);
    request.conversation.id = "c1".to_owned();
    request
}

/// All text of some events.
pub fn text(events: &[Event]) -> String {
    events
        .iter()
        .filter_map(|event| if let Event::Text(text) = event { Some(text.as_str()) } else { None })
        .collect()
}
