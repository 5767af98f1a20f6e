//! What Verger adds to a conversation: the way of a word from the provider's socket to the screen, a tool's round trip, many
//! conversations at once, and what an idle one weighs.
//!
//! The provider is a small HTTP server in this process that speaks OpenAI's wire format over a real socket.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent::{Cast, Door, Halt, Limits, Mind, News, Over, Persona, SkillText};
use anyhow::{Context as _, Result, ensure};
use llm::chat::Part;
use llm::{Dialect, Models, Provider, ProviderSettings, Tier};
use pipeline::audit::Audit;
use pipeline::grants::Grants;
use pipeline::{
    Asker, Call, Effect, Group, Nobody, Plan, Refusal, Registry, Rights, Road, Spec, Task, Tool, View, World,
};
use schemars::JsonSchema;
use serde::Deserialize;
use state::Sessions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use vault::Vault;

use crate::measure::Times;
use crate::notes::Work;

/// Pieces of text in one answer.
const PIECES: usize = 40;
/// Conversations at once.
const MANY: usize = 64;
/// Conversations that lie idle.
const IDLE: usize = 500;

/// Measures all of it.
pub fn bench(work: &Work, rounds: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(all(work, rounds))
}

async fn all(work: &Work, rounds: usize) -> Result<()> {
    let sent: Sent = Arc::default();
    let address = serve(Arc::clone(&sent)).await?;
    let mind = Arc::new(mind(work, &address)?);
    word_to_screen(&mind, &sent, rounds).await?;
    round_trip(&mind, rounds).await?;
    many_at_once(&mind).await?;
    idle(&mind).await
}

/// When pieces were written to the socket, by the number in them.
type Sent = Arc<Mutex<VecDeque<(u64, Instant)>>>;

/// A provider on loopback: first a call of the idle tool if the question wants one, then pieces with numbers in them.
async fn serve(sent: Sent) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    let number = Arc::new(AtomicU64::new(0));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            socket.set_nodelay(true).ok();
            let (sent, number) = (Arc::clone(&sent), Arc::clone(&number));
            tokio::spawn(async move { answer(socket, &sent, &number).await });
        }
    });
    Ok(address)
}

async fn answer(mut socket: TcpStream, sent: &Sent, number: &AtomicU64) -> Result<()> {
    loop {
        let body = request(&mut socket).await?;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes()).await?;
        let calls = body.contains("use the tool") && !body.contains("\"role\":\"tool\"");
        if calls {
            let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"idle","arguments":"{}"}}]},"finish_reason":null}]}"#;
            piece(&mut socket, call).await?;
        } else {
            for _ in 0..PIECES {
                let own = number.fetch_add(1, Ordering::Relaxed);
                let text = format!(
                    r#"{{"choices":[{{"index":0,"delta":{{"content":"{own} "}},"finish_reason":null}}]}}"#
                );
                sent.lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .push_back((own, Instant::now()));
                piece(&mut socket, &text).await?;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        let reason = if calls { "tool_calls" } else { "stop" };
        piece(
            &mut socket,
            &format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#),
        )
        .await?;
        piece(&mut socket, "[DONE]").await?;
        socket.write_all(b"0\r\n\r\n").await?;
    }
}

async fn piece(socket: &mut TcpStream, data: &str) -> Result<()> {
    let line = format!("data: {data}\n\n");
    socket.write_all(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes()).await?;
    Ok(())
}

/// Reads one request to its end.
async fn request(socket: &mut TcpStream) -> Result<String> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 65_536];
    loop {
        let read = socket.read(&mut buffer).await?;
        ensure!(read > 0, "closed");
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length:").map(str::to_owned));
        let length: usize = length.context("no length")?.trim().parse()?;
        if body.len() >= length {
            return Ok(body.to_owned());
        }
    }
}

/// When each piece came to the screen.
#[derive(Default)]
struct Screen {
    sent: Sent,
    late: Mutex<Vec<Duration>>,
    last: Mutex<Option<Instant>>,
}

impl Door for Screen {
    fn show(&self, news: &News) {
        let News::Text { text } = news else { return };
        let now = Instant::now();
        *self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(now);
        let mut sent = self.sent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for number in text.split_whitespace().filter_map(|number| number.parse::<u64>().ok()) {
            if let Some(at) = sent.iter().position(|(own, _)| *own == number)
                && let Some((_, when)) = sent.remove(at)
            {
                self.late.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(now - when);
            }
        }
    }
    fn asker(&self) -> Arc<dyn Asker> {
        Arc::new(Nobody)
    }
}

/// A tool without any work of its own.
struct Idle;

/// Do nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Tool for Idle {
    const SPEC: Spec = Spec::new("idle", Group::Read, Effect::Answers);
    type Input = Nothing;
    async fn plan(&self, _: Nothing, _: &View<'_>) -> Result<Plan, Refusal> {
        Ok(Plan::answer("nothing", ()))
    }
}

struct One;

impl Cast for One {
    fn persona(&self, slug: &str) -> Persona {
        Persona {
            slug: slug.to_owned(),
            name: slug.to_owned(),
            role: "You wait.".to_owned(),
            instructions: String::new(),
            rights: Rights::all(),
            model: None,
            notice: None,
        }
    }
    fn slugs(&self) -> Vec<String> {
        vec!["agent".to_owned()]
    }
    fn skills(&self) -> String {
        String::new()
    }
    fn skill(&self, _: &str) -> Result<SkillText, Refusal> {
        Err(Refusal::new("skill_unknown", "there is none", "none"))
    }
    fn standing(&self) -> String {
        String::new()
    }
}

#[derive(Default)]
struct Clock(AtomicU64);

impl World for Clock {
    fn now(&self) -> jiff::Zoned {
        jiff::Zoned::now()
    }
    fn id(&self) -> Result<String, vault::Error> {
        Ok(format!("{:012x}", self.0.fetch_add(1, Ordering::Relaxed)))
    }
}

fn mind(work: &Work, address: &str) -> Result<Mind> {
    let folder = work.folder("talk");
    let (root, data) = (folder.join("vault"), folder.join("data"));
    std::fs::create_dir_all(&root)?;
    let registry = Registry::default();
    registry.add(Idle);
    let road = Road::new(
        Vault::open(&root, &data)?,
        registry,
        Grants::open(&data.join("grants.json")),
        Audit::open(&data.join("audit.jsonl"))?,
        Box::new(Clock::default()),
    )?;
    let settings = ProviderSettings {
        dialect: Some(Dialect::OpenAi),
        url: Some(address.to_owned()),
        ..ProviderSettings::default()
    };
    let mut models = Models::default();
    models.provide(Provider::new("fake", settings, None)?);
    models.tier(Tier::Main, "fake@m");
    Ok(Mind {
        road: Arc::new(road),
        models,
        sessions: Sessions::open(&data.join("state.db"))?,
        cast: Arc::new(One),
        world: Box::new(Clock::default()),
        limits: Limits::default(),
        reach: Default::default(),
        review: Default::default(),
        condense_at: 80,
        usual_window: 100_000,
        holder: state::holder::this_process(),
    })
}

fn text(words: &str) -> Vec<Part> {
    vec![Part::Text { text: words.to_owned() }]
}

async fn word_to_screen(mind: &Arc<Mind>, sent: &Sent, rounds: usize) -> Result<()> {
    let screen = Arc::new(Screen { sent: Arc::clone(sent), ..Screen::default() });
    let door: Arc<dyn Door> = Arc::clone(&screen) as Arc<dyn Door>;
    let mut talk = mind.begin("agent", "main").await?;
    for _ in 0..rounds.div_ceil(PIECES).max(5) {
        let over = talk.say(text("speak"), &door, &Halt::default()).await?;
        ensure!(over == Over::Done, "{over:?}");
    }
    let mut times = Times::new("provider's byte to screen");
    let late = screen.late.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    late.iter().for_each(|time| times.push(*time));
    println!("{}", times.judged(Duration::from_millis(1)));
    Ok(())
}

async fn round_trip(mind: &Arc<Mind>, rounds: usize) -> Result<()> {
    let mut times = Times::new("a tool's round trip through the road");
    for round in 0..rounds.max(1_000) {
        let task = Task::new(format!("t{round}"), "s", "bench");
        let start = Instant::now();
        let outcome = mind.road.run(&task, Call::new("idle", serde_json::json!({})), &Nobody).await;
        times.push(start.elapsed());
        ensure!(outcome.refusal().is_none(), "{outcome:?}");
    }
    println!("{}", times.judged(Duration::from_micros(100)));
    Ok(())
}

async fn many_at_once(mind: &Arc<Mind>) -> Result<()> {
    let before = memory();
    let start = Instant::now();
    let mut running = Vec::new();
    for _ in 0..MANY {
        let mind = Arc::clone(mind);
        running.push(tokio::spawn(async move {
            let screen = Arc::new(Screen::default());
            let door: Arc<dyn Door> = Arc::clone(&screen) as Arc<dyn Door>;
            let mut talk = mind.begin("agent", "main").await?;
            for _ in 0..3 {
                let over = talk.say(text("use the tool and speak"), &door, &Halt::default()).await?;
                ensure!(over == Over::Done, "{over:?}");
            }
            Ok(start.elapsed())
        }));
    }
    let mut times = Times::new(format!("{MANY} conversations at once, three turns each"));
    for one in running {
        times.push(one.await??);
    }
    println!("{}", times.line());
    println!("their memory: {:.2} MB more than before, all together", (memory() - before) as f64 / 1e6);
    Ok(())
}

async fn idle(mind: &Arc<Mind>) -> Result<()> {
    let door: Arc<dyn Door> = Arc::new(Screen::default());
    let before = memory();
    let mut talks = Vec::new();
    for _ in 0..IDLE {
        let mut talk = mind.begin("agent", "main").await?;
        talk.say(text("use the tool"), &door, &Halt::default()).await?;
        talks.push(talk);
    }
    let each = (memory() - before) as f64 / IDLE as f64 / 1e3;
    println!(
        "memory of an idle conversation ({} of them, one turn each): {each:.1} KB   goal 1000 KB",
        talks.len()
    );
    Ok(())
}

/// Resident bytes of this process.
fn memory() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident: i64 = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    resident * 4096
}
