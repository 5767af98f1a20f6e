//! `verger serve` under load: 200 pages that listen, and 1,000 notes read in a second on connections that stay.
//!
//! `cargo build --release -p verger && cargo run --release -p verger-benches -- serve --vault DIR --seconds 60`. With `--seconds 5` it is
//! short enough for CI. The reads come at times that are fixed beforehand, whether earlier ones were answered or not, and a time is
//! taken from when the read was due: a server that stalls is not asked less, and every read that waited counts. Any error ends the bench
//! with one.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::measure::{Times, milliseconds};
use crate::notes::{self, Work};

/// Pages that listen.
const LISTENERS: usize = 200;
/// Reads in a second.
const RATE: u64 = 1_000;
/// The connections on which they come.
const CONNECTIONS: u64 = 50;
/// How long anything may take before it is an error.
const PATIENCE: Duration = Duration::from_secs(10);
/// The route of a note, and that of events.
const NOTE: &str = "/api/note";
const EVENTS: &str = "/api/events";

/// The server, and somebody who is logged in.
struct Served {
    child: Child,
    address: String,
    cookie: String,
}

/// Measures for so many seconds.
pub fn bench(vault: &Path, work: &Work, program: &Path, seconds: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(load(vault, work, program, seconds))
}

async fn load(vault: &Path, work: &Work, program: &Path, seconds: u64) -> Result<()> {
    let paths = notes::markdown(vault)?;
    let mut served = start(vault, work, program).await?;
    let paper = served.ask("/api/openapi.json").await?.1;
    let paper: Value = serde_json::from_slice(&paper)?;
    let has = |route: &str| paper["paths"][route]["get"].is_object();
    // A program without the route is measured by what it has, and says so.
    let targets: Arc<Vec<String>> = Arc::new(match has(NOTE) {
        true => paths.iter().map(|path| format!("{NOTE}?path={}", encoded(path))).collect(),
        false => vec!["/api/about".to_owned()],
    });
    let what = if has(NOTE) { NOTE } else { "/api/about (there is no /api/note)" };
    let listeners = if has(EVENTS) { LISTENERS } else { 0 };
    println!("serve: {} notes, {listeners} pages that listen, {RATE}/s {what} for {seconds} s", paths.len());

    let over = Arc::new(AtomicBool::new(false));
    let (lost, heard) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut listening = Vec::new();
    for _ in 0..listeners {
        let stream = served.listen().await?;
        let (over, lost, heard) = (Arc::clone(&over), Arc::clone(&lost), Arc::clone(&heard));
        listening.push(tokio::spawn(async move {
            if !listen(stream, &heard).await && !over.load(Ordering::SeqCst) {
                lost.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }
    let begin = Instant::now() + Duration::from_millis(200);
    let reading: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let (address, cookie) = (served.address.clone(), served.cookie.clone());
            tokio::spawn(read(address, cookie, Arc::clone(&targets), number, begin, seconds))
        })
        .collect();
    sleep_until(begin + Duration::from_secs(seconds.min(10))).await;
    let early = served.resident()?;
    let (mut times, mut errors, mut slowest) = (Times::new("note read"), Vec::new(), Duration::ZERO);
    for connection in reading {
        let (taken, wrong) = connection.await?;
        taken.into_iter().for_each(|time| {
            slowest = slowest.max(time);
            times.push(time);
        });
        errors.extend(wrong);
    }
    let late = served.resident()?;
    over.store(true, Ordering::SeqCst);
    listening.into_iter().for_each(|listener| listener.abort());
    served.child.kill().await.ok();
    let lost = lost.load(Ordering::SeqCst);
    println!(
        "  p50 {}  p99 {}  max {}",
        milliseconds(times.percentile(50)),
        milliseconds(times.percentile(99)),
        milliseconds(slowest)
    );
    println!("  memory {early:.1} MiB at {} s, {late:.1} MiB at the end", seconds.min(10));
    println!(
        "  errors {} of {} reads, {lost} of {listeners} streams lost, {} events heard",
        errors.len(),
        seconds * RATE,
        heard.load(Ordering::SeqCst)
    );
    match errors.first() {
        Some(error) => bail!("{} reads failed, the first: {error}", errors.len()),
        None if lost > 0 => bail!("{lost} streams were lost"),
        None => Ok(()),
    }
}

/// One connection's reads: every one that is due, when it is due or as soon as the one before it is answered.
async fn read(
    address: String,
    cookie: String,
    targets: Arc<Vec<String>>,
    number: u64,
    begin: Instant,
    seconds: u64,
) -> (Vec<Duration>, Vec<String>) {
    let (mut times, mut errors) = (Vec::new(), Vec::new());
    let mut connection = None;
    for turn in (number..seconds * RATE).step_by(CONNECTIONS as usize) {
        let due = begin + Duration::from_micros(turn * 1_000_000 / RATE);
        sleep_until(due).await;
        // Notes far apart, so that no cache of one is what is measured.
        let target = &targets[(turn as usize).wrapping_mul(7_919) % targets.len()];
        match timeout(PATIENCE, once(&mut connection, &address, &cookie, target)).await {
            Ok(Ok((200, _))) => times.push(due.elapsed()),
            Ok(Ok((status, _))) => errors.push(format!("{status} for {target}")),
            Ok(Err(error)) => {
                connection = None;
                errors.push(format!("{error:#} for {target}"));
            }
            Err(_) => {
                connection = None;
                errors.push(format!("no answer for {target}"));
            }
        }
    }
    (times, errors)
}

async fn once(
    connection: &mut Option<BufReader<TcpStream>>,
    address: &str,
    cookie: &str,
    target: &str,
) -> Result<(u16, Vec<u8>)> {
    if connection.is_none() {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        *connection = Some(BufReader::new(stream));
    }
    let stream = connection.as_mut().context("no connection")?;
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes()).await?;
    answer(stream).await
}

/// Reads one answer.
async fn answer(stream: &mut BufReader<TcpStream>) -> Result<(u16, Vec<u8>)> {
    let (status, head) = head(stream).await?;
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
    let mut body = Vec::new();
    if let Some(length) = length {
        body.resize(length, 0);
        stream.read_exact(&mut body).await?;
    } else if head.contains("transfer-encoding: chunked") {
        loop {
            let mut size = String::new();
            stream.read_line(&mut size).await?;
            let size = usize::from_str_radix(size.trim(), 16).context("a broken chunk")?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).await?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }
    Ok((status, body))
}

async fn head(stream: &mut BufReader<TcpStream>) -> Result<(u16, String)> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            bail!("the connection was closed");
        }
        if line == "\r\n" {
            break;
        }
        head += &line.to_lowercase();
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
    Ok((status, head))
}

/// Reads events until the stream ends, which it should not; whether it ended well.
async fn listen(mut stream: BufReader<TcpStream>, heard: &AtomicU64) -> bool {
    match head(&mut stream).await {
        Ok((200, _)) => {}
        _ => return false,
    }
    let mut line = String::new();
    while let Ok(1..) = stream.read_line(&mut line).await {
        if line.starts_with("event:") {
            heard.fetch_add(1, Ordering::Relaxed);
        }
        line.clear();
    }
    false
}

async fn start(vault: &Path, work: &Work, program: &Path) -> Result<Served> {
    let mut child = Command::new(program)
        .arg("--vault")
        .arg(vault)
        .args(["serve", "--address", "127.0.0.1:0"])
        .env("VERGER_DATA_DIR", work.folder("serve-data"))
        .env("VERGER_CONFIG_DIR", work.folder("serve-config"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| {
            format!("{} cannot be started; build it, or name it with --program", program.display())
        })?;
    let mut lines = BufReader::new(child.stderr.take().context("no stderr")?).lines();
    let link = loop {
        let line = timeout(Duration::from_secs(60), lines.next_line()).await??.context("it ended at once")?;
        if let Some(at) = line.find("http").filter(|_| line.contains("/login#")) {
            break line[at..].trim().to_owned();
        }
    };
    // What it says later is read, so that it never waits for us.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let (base, token) = link.split_once("/login#").context("no link")?;
    let address = base.trim_start_matches("http://").to_owned();
    let body = serde_json::json!({ "token": token }).to_string();
    let mut stream = BufReader::new(TcpStream::connect(&address).await?);
    let request = format!(
        "POST /api/login HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.get_mut().write_all(request.as_bytes()).await?;
    // The cookie's value knows large and small letters, so the head is read as it comes.
    let mut cookie = None;
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 2 {
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("set-cookie") {
            cookie = value.split(';').next().map(|value| value.trim().to_owned());
        }
        line.clear();
    }
    let mut served = Served { child, address, cookie: cookie.context("it does not let us in")? };
    // The first answers of a new vault wait for its catalog.
    for _ in 0..600 {
        if served.ask("/api/about").await?.0 == 200 {
            return Ok(served);
        }
        sleep(Duration::from_millis(100)).await;
    }
    bail!("it does not come up")
}

impl Served {
    async fn ask(&mut self, target: &str) -> Result<(u16, Vec<u8>)> {
        once(&mut None, &self.address, &self.cookie, target).await
    }

    async fn listen(&self) -> Result<BufReader<TcpStream>> {
        let mut stream = TcpStream::connect(&self.address).await?;
        let (address, cookie) = (&self.address, &self.cookie);
        let request = format!(
            "GET {EVENTS} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\nAccept: text/event-stream\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        Ok(BufReader::new(stream))
    }

    /// The memory that it holds, in MiB.
    fn resident(&self) -> Result<f64> {
        let process = self.child.id().context("it has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kib / 1024.0)
    }
}

fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
