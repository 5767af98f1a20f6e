//! One open conversation: what is shown of it, who speaks in it, and the one turn that may run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use agent::{Halt, Talk};

use super::item::{Body, Tone};
use super::live::Live;
use super::replay::Read;
use crate::study::Study;
use crate::talks::Chosen;

/// An open conversation.
pub struct Room {
    /// Its id.
    pub id: String,
    /// What is shown of it.
    pub live: Live,
    /// Of which conversation it is a copy.
    pub forked_from: Option<String>,
    /// How many children are not kept any more.
    pub deleted_children: usize,
    /// The conversation itself; held by the turn that runs, and let go when nobody needs it.
    pub talk: tokio::sync::Mutex<Option<Held>>,
    /// How many steps of it are shown.
    pub steps: AtomicU64,
    state: Mutex<State>,
}

/// A conversation that was taken up, and the study in which it was.
pub struct Held {
    /// Where.
    pub study: Arc<Study>,
    /// The conversation.
    pub talk: Talk,
}

struct State {
    chosen: Chosen,
    /// Stops the turn that runs.
    halt: Option<Halt>,
    /// How many turns have begun here.
    turns: u64,
    /// What the person said meanwhile and nobody has heard yet: the item and the words.
    added: Vec<(String, String)>,
    /// When somebody last needed it.
    used: Instant,
}

/// What becomes of words in an open conversation.
pub enum Begin {
    /// A turn begins with them.
    Turn(Running),
    /// One runs; it hears them.
    Added,
}

impl Room {
    /// A conversation as it was read.
    pub fn new(read: Read) -> Room {
        let chosen =
            Chosen { agent: read.head.agent.clone(), model: read.head.model.clone(), ..Chosen::default() };
        let state = State { chosen, halt: None, turns: 0, added: Vec::new(), used: Instant::now() };
        Room {
            id: read.head.id.clone(),
            live: Live::new(read.stage, read.head),
            forked_from: read.forked_from,
            deleted_children: read.deleted_children,
            talk: tokio::sync::Mutex::new(None),
            steps: AtomicU64::new(read.steps),
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who speaks, and who shall.
    pub fn choose(&self, work: impl FnOnce(&mut Chosen)) {
        let mut state = self.state();
        work(&mut state.chosen);
        let (agent, model) = (state.chosen.agent().to_owned(), state.chosen.model().to_owned());
        drop(state);
        self.live.set_head(|head| {
            head.agent = agent;
            head.model = model;
        });
    }

    /// What was chosen and does not hold yet, once.
    pub fn take_choice(&self) -> (Option<String>, Option<String>) {
        self.state().chosen.take()
    }

    /// Somebody needs it.
    pub fn touch(&self) {
        self.state().used = Instant::now();
    }

    /// Whether nobody has needed it for so long.
    pub fn is_idle_for(&self, seconds: u64) -> bool {
        let state = self.state();
        state.halt.is_none() && state.used.elapsed().as_secs() >= seconds
    }

    /// Begins a turn, unless one runs.
    pub fn begin(self: &Arc<Room>) -> Option<Running> {
        let mut state = self.state();
        if state.halt.is_some() {
            return None;
        }
        Some(self.run(&mut state))
    }

    /// Begins a turn; where one runs, that one hears the words.
    pub fn begin_or_add(self: &Arc<Room>, text: impl FnOnce() -> Option<String>) -> Option<Begin> {
        let mut state = self.state();
        if state.halt.is_none() {
            return Some(Begin::Turn(self.run(&mut state)));
        }
        let text = text()?;
        let item = self.live.change(|stage| stage.main.added(&mut stage.transcript, &text));
        state.added.push((item, text));
        Some(Begin::Added)
    }

    fn run(self: &Arc<Room>, state: &mut State) -> Running {
        let halt = Halt::default();
        state.halt = Some(halt.clone());
        state.turns += 1;
        state.used = Instant::now();
        Running { room: Arc::clone(self), halt, number: state.turns }
    }

    /// What the person said since it was last asked.
    pub fn heard(&self) -> Vec<String> {
        let added = std::mem::take(&mut self.state().added);
        self.live.change(|stage| added.iter().for_each(|(item, _)| stage.transcript.move_to_end(item)));
        added.into_iter().map(|(_, text)| text).collect()
    }

    /// What nobody heard before the turn ended; without any, the turn has ended for good.
    pub fn unheard(&self) -> Vec<String> {
        let mut state = self.state();
        let added = std::mem::take(&mut state.added);
        if added.is_empty() {
            state.halt = None;
        }
        drop(state);
        let items: Vec<String> = added.iter().map(|(item, _)| item.clone()).collect();
        self.live.change(|stage| stage.transcript.forget(&items));
        added.into_iter().map(|(_, text)| text).collect()
    }

    /// Stops the turn that runs. The answer is whether one did.
    pub fn stop(&self) -> bool {
        let state = self.state();
        let Some(halt) = &state.halt else { return false };
        halt.stop();
        true
    }

    /// Whether a turn runs.
    pub fn is_busy(&self) -> bool {
        self.state().halt.is_some()
    }

    /// What is on the screen is what is on the disk.
    pub fn has_shown(&self, steps: u64) {
        self.steps.store(steps, Ordering::SeqCst);
    }

    /// Says something that the person should know.
    pub fn notice(&self, text: String, tone: Tone) {
        self.live.change(|stage| stage.main.passing(&mut stage.transcript, text, tone));
    }

    /// The step of a user's message, by its item.
    pub fn step_of(&self, item: &str) -> Option<u64> {
        self.live.change(|stage| match stage.transcript.body(item) {
            Some(Body::User { step, .. }) => *step,
            _ => None,
        })
    }
}

/// A turn that runs. The room is free again when it is dropped, however the turn ended.
pub struct Running {
    /// Where.
    pub room: Arc<Room>,
    /// The word that stops it.
    pub halt: Halt,
    number: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.room.state();
        // The next one may have begun already.
        if state.turns == self.number {
            state.halt = None;
            state.used = Instant::now();
            self.room.live.set_head(|head| head.running = false);
        }
    }
}
