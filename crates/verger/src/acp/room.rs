//! One conversation that a client has open: who speaks in it, and the one turn that may run.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::{Halt, Talk};
use agent_client_protocol::Error;

use super::fault;
use crate::talks::Chosen;

/// An open conversation.
pub struct Room {
    /// Its id.
    pub id: String,
    /// The spellings of the vault's folder that its client uses.
    pub roots: Vec<PathBuf>,
    /// The conversation; held by the turn that runs. `None`: there is no model, so nothing was begun.
    pub talk: tokio::sync::Mutex<Option<Talk>>,
    /// Why there is no conversation, as the person reads it.
    pub absent: Option<String>,
    state: Mutex<State>,
}

/// What is known of a conversation while a turn holds it.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// Who speaks, and who shall.
    pub chosen: Chosen,
    /// Stops the turn that runs.
    halt: Option<Halt>,
}

impl Room {
    /// A room for a conversation.
    pub fn new(
        id: String,
        roots: Vec<PathBuf>,
        talk: Option<Talk>,
        absent: Option<String>,
        agent: &str,
        model: &str,
    ) -> Arc<Room> {
        let chosen = Chosen { agent: agent.to_owned(), model: model.to_owned(), ..Chosen::default() };
        let state = State { chosen, halt: None };
        Arc::new(Room { id, roots, talk: tokio::sync::Mutex::new(talk), absent, state: Mutex::new(state) })
    }

    /// What is known of it.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a turn, unless one runs.
    pub fn begin(self: &Arc<Room>) -> Result<Turn, Error> {
        let mut state = self.state();
        if state.halt.is_some() {
            return Err(fault::now(
                "turn_runs",
                "a turn runs in this conversation",
                "wait for its end, or stop it with session/cancel",
            ));
        }
        let halt = Halt::default();
        state.halt = Some(halt.clone());
        Ok(Turn { room: Arc::clone(self), halt })
    }

    /// Stops the turn that runs.
    pub fn stop(&self) {
        if let Some(halt) = &self.state().halt {
            halt.stop();
        }
    }

    /// Whether a turn runs.
    pub fn is_busy(&self) -> bool {
        self.state().halt.is_some()
    }
}

/// A turn that runs. The room is free again when it is dropped, however the turn ended.
pub struct Turn {
    /// Where.
    pub room: Arc<Room>,
    /// The word that stops it.
    pub halt: Halt,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.room.state().halt = None;
    }
}
