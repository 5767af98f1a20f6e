//! The conversations that are open for the page. One is opened when somebody looks at it, and let go when nobody has for
//! some minutes. Looking takes nothing away from others; only a turn takes a conversation up, so that a terminal and the
//! page can go on with the same one in turns.

pub mod desk;
pub mod item;
pub mod live;
pub mod replay;
pub mod room;
mod speaker;
pub mod transcript;
pub mod turn;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::Conversation;
use vault::policy::Scope;

use super::house::House;
use super::problem::Problem;
use super::render::{self, Place};
use crate::study::Study;
use crate::talks;
use item::Sent;
use live::Meter;
use room::{Held, Room};

/// How many conversations may be open at once.
const MOST: usize = 512;
/// How many turns may run at once.
const MOST_TURNS: usize = 128;
/// After so many seconds without anybody a conversation is let go.
const IDLE: u64 = 300;
/// How often that is looked at.
const ROUND: Duration = Duration::from_secs(30);
/// How long turns may take to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// The open conversations, by their ids.
#[derive(Default)]
pub struct Rooms(Mutex<HashMap<String, Arc<Room>>>);

impl Rooms {
    fn rooms(&self) -> MutexGuard<'_, HashMap<String, Arc<Room>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation of this id, if it is open.
    pub fn find(&self, id: &str) -> Option<Arc<Room>> {
        self.rooms().get(id).cloned()
    }

    /// The conversation of this whole id, opened from the disk if it is not open, or if somebody else went on with it.
    pub async fn open(house: &Arc<House>, id: &str) -> Result<Arc<Room>, Problem> {
        if let Some(room) = house.rooms.find(id).filter(|room| room.is_busy()) {
            return Ok(room);
        }
        let id = id.to_owned();
        house.look(move |house| house.rooms.open_now(house, &id)).await
    }

    fn open_now(&self, house: &House, id: &str) -> Result<Arc<Room>, Problem> {
        let study = house.study();
        let sessions = &study.mind.sessions;
        if let Some(room) = self.find(id) {
            let header = sessions.header(id)?;
            if room.is_busy() || header.steps == room.steps.load(Ordering::SeqCst) {
                room.touch();
                room.live.set_head(|head| head.title = header.title);
                return Ok(room);
            }
        }
        let mut read = replay::read(sessions, id)?;
        read.head.meter.window = window(&study, &read.head.model, read.last_input);
        let room = Arc::new(Room::new(read));
        let mut rooms = self.rooms();
        if let Some(other) = rooms.get(id) {
            // Somebody opened it, or began to speak in it, meanwhile.
            let shown = other.steps.load(Ordering::SeqCst);
            if other.is_busy() || shown >= room.steps.load(Ordering::SeqCst) {
                return Ok(Arc::clone(other));
            }
        }
        if rooms.len() >= MOST {
            rooms.retain(|_, room| room.is_busy() || room.live.is_watched());
        }
        if rooms.len() >= MOST {
            return Err(too_many("conversations are open", MOST));
        }
        if let Some(stale) = rooms.insert(id.to_owned(), Arc::clone(&room)) {
            stale.live.close();
        }
        Ok(room)
    }

    /// Begins a turn in this conversation; `None` where one runs.
    pub fn may_run(&self) -> Result<(), Problem> {
        match self.rooms().values().filter(|room| room.is_busy()).count() < MOST_TURNS {
            true => Ok(()),
            false => Err(too_many("turns run", MOST_TURNS)),
        }
    }

    /// The conversation itself, taken up if it is not; anew where settings have changed since.
    pub async fn take_up<'t>(
        house: &House,
        room: &Room,
        slot: &'t mut Option<Held>,
    ) -> Result<&'t mut Held, Problem> {
        let study = house.study();
        if slot.as_ref().is_some_and(|held| !Arc::ptr_eq(&held.study, &study)) {
            // Only one of the two can have it.
            *slot = None;
        }
        if slot.is_none() {
            let talk = study.mind.resume(&room.id).await?;
            *slot = Some(Held { study, talk });
        }
        let held = slot.as_mut().ok_or_else(Problem::broken)?;
        let (agent, model) = room.take_choice();
        talks::settle(&mut held.talk, (agent.clone(), model.clone())).await?;
        room.live.change(|stage| {
            if let Some(slug) = &agent {
                live::agent_changed(&mut stage.main, &mut stage.transcript, slug);
            }
            if model.is_some() {
                let name = &held.talk.conversation().model;
                live::model_changed(&mut stage.main, &mut stage.transcript, name);
            }
        });
        let conversation = held.talk.conversation();
        room.choose(|chosen| {
            chosen.agent.clone_from(&conversation.agent);
            chosen.model.clone_from(&conversation.model);
        });
        Ok(held)
    }

    /// What a conversation has cost, and how full its model's window is.
    pub fn meter(study: &Study, conversation: &Conversation) -> Meter {
        let spent = conversation.spent;
        Meter {
            tokens: spent.tokens(),
            dollars: spent.dollars,
            unpriced: spent.unpriced,
            window: window(study, &conversation.model, conversation.last_input),
        }
    }

    /// A conversation is not open any more; whoever watches it looks for it anew.
    pub fn close(&self, id: &str) {
        if let Some(room) = self.rooms().remove(id) {
            room.live.close();
        }
    }

    /// Lets go what nobody needs, from time to time.
    pub async fn tidy(house: &Arc<House>) {
        loop {
            tokio::select! {
                () = house.ended() => return,
                () = tokio::time::sleep(ROUND) => {}
            }
            let idle: Vec<Arc<Room>> =
                house.rooms.rooms().values().filter(|room| room.is_idle_for(IDLE)).cloned().collect();
            for room in idle {
                // Somebody may look at it and say nothing: others can go on with it then.
                if let Ok(mut held) = room.talk.try_lock() {
                    let held = held.take();
                    // A lease is given back on the disk.
                    let _ = tokio::task::spawn_blocking(move || drop(held)).await;
                }
                if !room.live.is_watched() && room.is_idle_for(IDLE) {
                    house.rooms.close(&room.id);
                }
            }
        }
    }

    /// Stops what runs and waits until it is written down.
    pub async fn end(&self) {
        let rooms: Vec<Arc<Room>> = self.rooms().drain().map(|(_, room)| room).collect();
        rooms.iter().for_each(|room| {
            room.stop();
        });
        let ended = async {
            for room in &rooms {
                while room.is_busy() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                let held = room.talk.lock().await.take();
                let _ = tokio::task::spawn_blocking(move || drop(held)).await;
            }
        };
        // What does not end now ends with the process; the steps until then are on disk.
        let _ = tokio::time::timeout(FAREWELL, ended).await;
    }
}

fn too_many(what: &str, most: usize) -> Problem {
    let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
    Problem::new(status, "too_many", format!("{most} {what}"), "wait until one of them has ended")
}

fn window(study: &Study, model: &str, tokens: u64) -> Option<u64> {
    let size = study.mind.models.find(model).ok()?.abilities().window.filter(|size| *size > 0)?;
    Some((tokens * 100 / size).min(100))
}

/// Items as JSON, ready to be sent. Renders what nobody has rendered yet; waits for the disk.
pub fn papers(study: &Study, items: &[Arc<Sent>]) -> String {
    let limits = study.config.limits.clone();
    // Without the rules nothing may be looked up, and everything can be shown as it is.
    let scope = study.mind.road.vault().rules().ok().map(|rules| Scope::new(limits, rules));
    let rendered = |text: &str| match &scope {
        Some(scope) => {
            let view = study.mind.road.vault().view(scope);
            render::answer(text, &Place { view: &view, from: None })
        }
        None => format!("<p>{}</p>", render::marked(text, &[])),
    };
    let all: Vec<&str> = items.iter().map(|item| item.json(&rendered)).collect();
    format!("[{}]", all.join(","))
}
