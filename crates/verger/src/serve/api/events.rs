//! The one stream of a page: what changed in the house, questions, and the conversation that is looked at.
//!
//! A stream sends state, not a log: whoever is slow is sent the newest form of what changed, and whoever comes back says what
//! they saw last.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::area::Area;
use super::body::Asked;
use super::questions;
use crate::serve::gate;
use crate::serve::house::{House, Pulse};
use crate::serve::problem::Problem;
use crate::serve::rooms::live::Head;
use crate::serve::rooms::room::Room;
use crate::serve::rooms::transcript::Cursor;
use crate::serve::rooms::{Rooms, papers};

/// How many streams may be open.
const MOST: usize = 400;
/// How often a sign of life is sent.
const ALIVE: Duration = Duration::from_secs(15);
/// The pause behind what was sent.
const PAUSE: Duration = Duration::from_millis(40);

/// What a stream shall tell of.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Wanted {
    /// The conversation to follow.
    chat: Option<String>,
    /// The cursor of what was seen of it last. The header `Last-Event-ID` counts more.
    after: Option<String>,
}

/// The stream.
pub fn area() -> Area {
    let about = "A stream of events: `pulse`, `questions`, `chat`, `items` and `reset`.";
    Area::default().get::<Wanted, _, _>("/api/events", about, events)
}

async fn events(
    State(house): State<Arc<House>>,
    headers: HeaderMap,
    Asked(wanted): Asked<Wanted>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    static PLACES: OnceLock<Arc<Semaphore>> = OnceLock::new();
    let places = PLACES.get_or_init(|| Arc::new(Semaphore::new(MOST)));
    let place = Arc::clone(places).try_acquire_owned().map_err(|_| {
        let message = format!("{MOST} pages are open");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", message, "close one of them")
    })?;
    let room = match wanted.chat.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => Some(Rooms::open(&house, id).await?),
        None => None,
    };
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = seen.or(wanted.after.as_deref()).filter(|after| !after.is_empty()).map(str::to_owned);
    let (sender, receiver) = mpsc::channel(1);
    let cookie = gate::cookie(&house, &headers).unwrap_or_default().to_owned();
    let teller = Teller { pulse: house.listen(), house, sender, cookie, _place: place };
    tokio::spawn(teller.tell(room, after));
    Ok(Sse::new(Told(receiver)).keep_alive(KeepAlive::new().interval(ALIVE)))
}

/// The events as they come.
struct Told(mpsc::Receiver<Event>);

impl Stream for Told {
    type Item = Result<Event, Infallible>;
    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// Whoever reads the stream is gone.
struct Gone;

/// Tells one page.
struct Teller {
    house: Arc<House>,
    pulse: watch::Receiver<Pulse>,
    sender: mpsc::Sender<Event>,
    /// Whoever logs out hears no more.
    cookie: String,
    _place: OwnedSemaphorePermit,
}

/// The conversation that is followed.
struct Followed {
    room: Arc<Room>,
    newest: watch::Receiver<Cursor>,
    head: watch::Receiver<Head>,
    closed: watch::Receiver<bool>,
    /// What was sent last.
    seen: Option<Cursor>,
    /// Whether it was deleted.
    is_gone: bool,
}

impl Followed {
    fn new(room: Arc<Room>, seen: Option<Cursor>) -> Followed {
        let (newest, mut head, closed) = room.live.watch();
        head.mark_changed();
        Followed { room, newest, head, closed, seen, is_gone: false }
    }

    /// Waits until there is something to tell.
    async fn changed(&mut self) {
        if self.is_gone {
            return std::future::pending().await;
        }
        tokio::select! {
            _ = self.newest.changed() => {}
            _ = self.head.changed() => self.head.mark_changed(),
            _ = self.closed.wait_for(|closed| *closed) => {}
        }
    }
}

impl Teller {
    async fn tell(mut self, room: Option<Arc<Room>>, after: Option<String>) {
        let (house, reader) = (Arc::clone(&self.house), self.sender.clone());
        tokio::select! {
            () = house.ended() => {}
            () = reader.closed() => {}
            _ = self.all(room, after) => {}
        }
    }

    async fn all(&mut self, room: Option<Arc<Room>>, after: Option<String>) -> Result<(), Gone> {
        // A word that is no cursor is one of another life.
        let seen =
            after.map(|after| Cursor::parse(&after).unwrap_or(Cursor { epoch: String::new(), seq: 0 }));
        let mut followed = room.map(|room| Followed::new(room, seen));
        self.pulse.mark_changed();
        let mut questions = None;
        loop {
            if self.pulse.has_changed().unwrap_or(false) {
                let now = *self.pulse.borrow_and_update();
                self.send("pulse", json!(now).to_string(), None).await?;
                if questions.replace(now.questions) != Some(now.questions) {
                    self.send("questions", questions::listed(&self.house).to_string(), None).await?;
                }
            }
            let length = match &mut followed {
                Some(followed) => self.follow(followed).await?,
                None => 0,
            };
            // Whoever follows a long answer is sent the whole of it each time, so less often.
            let longer = u64::try_from(length / 1024).unwrap_or(u64::MAX).min(2_000);
            tokio::time::sleep(PAUSE + Duration::from_millis(longer)).await;
            match &mut followed {
                Some(followed) => tokio::select! {
                    _ = self.pulse.changed() => self.pulse.mark_changed(),
                    () = followed.changed() => {}
                },
                None => {
                    let _ = self.pulse.changed().await;
                    self.pulse.mark_changed();
                }
            }
        }
    }

    /// Tells what is new of the conversation. The answer is the length of the longest text that was sent.
    async fn follow(&self, followed: &mut Followed) -> Result<usize, Gone> {
        if followed.is_gone {
            return Ok(0);
        }
        if *followed.closed.borrow() {
            self.send("reset", "{}".to_owned(), None).await?;
            match Rooms::open(&self.house, &followed.room.id).await {
                Ok(room) => *followed = Followed::new(room, None),
                // It was deleted; there is nothing more to tell of it.
                Err(_) => {
                    followed.is_gone = true;
                    return Ok(0);
                }
            }
        }
        if followed.head.has_changed().unwrap_or(false) {
            let head = followed.head.borrow_and_update().clone();
            self.send("chat", json!(head).to_string(), None).await?;
        }
        followed.newest.borrow_and_update();
        let seen = followed.seen.take();
        let (now, items) = followed.room.live.newer(seen.as_ref().map_or(0, |seen| seen.seq));
        let (now, items) = match &seen {
            Some(seen) if seen.epoch != now.epoch => {
                self.send("reset", "{}".to_owned(), None).await?;
                followed.room.live.newer(0)
            }
            _ => (now, items),
        };
        let length = items.iter().map(|item| item.length()).max().unwrap_or(0);
        if !items.is_empty() {
            let study = self.house.study();
            let told = tokio::task::spawn_blocking(move || papers(&study, &items)).await;
            let Ok(papers) = told else { return Err(Gone) };
            self.send("items", format!("{{\"items\":{papers}}}"), Some(&now)).await?;
        }
        followed.seen = Some(now);
        Ok(length)
    }

    async fn send(&self, kind: &str, data: String, cursor: Option<&Cursor>) -> Result<(), Gone> {
        if !self.house.keys.is_cookie(&self.cookie) {
            return Err(Gone);
        }
        let mut event = Event::default().event(kind).data(data);
        if let Some(cursor) = cursor {
            event = event.id(cursor.to_string());
        }
        self.sender.send(event).await.map_err(|_| Gone)
    }
}
