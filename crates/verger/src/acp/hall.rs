//! What all conversations of one client share, and what each request of the protocol does.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agent::{Step, Talk, Trouble};
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, ClientCapabilities, ConfigOptionUpdate, CurrentModeUpdate, Implementation,
    InitializeResponse, ListSessionsResponse, LoadSessionResponse, NewSessionResponse, PromptCapabilities,
    ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionInfo, SessionListCapabilities, SessionResumeCapabilities, SessionUpdate,
    SetSessionConfigOptionResponse,
};
use agent_client_protocol::v1::{ConnectionTo, schema};
use agent_client_protocol::{Client, Error};
use pipeline::World;
use state::sessions::Filter;

use super::desk::{Abilities, Line};
use super::room::Room;
use super::{fault, replay, settings, turn};
use crate::place::Place;
use crate::study::Study;
use crate::world::RealWorld;

/// How many conversations may be open at once.
const MOST_ROOMS: usize = 64;
/// How many conversations one answer lists.
const LISTED: usize = 50;
/// How long turns may take to end when the client is gone.
const FAREWELL: Duration = Duration::from_secs(5);

/// What the conversations of one client share.
pub struct Hall {
    /// Where conversations are held.
    pub study: Study,
    /// Who speaks in a new conversation.
    agent: String,
    /// Whether the model was named when Verger was started; then it is nobody's own.
    model_named: bool,
    abilities: OnceLock<Abilities>,
    rooms: Mutex<HashMap<String, Arc<Room>>>,
}

impl Hall {
    /// A hall without a conversation.
    pub fn new(study: Study, agent: String, model_named: bool) -> Hall {
        Hall { study, agent, model_named, abilities: OnceLock::new(), rooms: Mutex::default() }
    }

    fn rooms(&self) -> MutexGuard<'_, HashMap<String, Arc<Room>>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open conversation of this id.
    pub fn room(&self, id: &str) -> Result<Arc<Room>, Error> {
        self.rooms().get(id).cloned().ok_or_else(|| fault::no_session(id))
    }

    /// The way to a conversation in the editor.
    pub fn line(&self, to: &ConnectionTo<Client>, session: &str) -> Line {
        let abilities = self.abilities.get().copied().unwrap_or_default();
        Line { to: to.clone(), session: session.to_owned(), abilities }
    }

    /// Comes together with a client.
    pub fn initialize(&self, client: &ClientCapabilities) -> InitializeResponse {
        let forms = client.elicitation.as_ref().is_some_and(|elicitation| elicitation.supports_form());
        let notices = client.session.as_ref().is_some_and(|session| session.notices.is_some());
        // A client that initializes twice keeps what it said first.
        let _ = self.abilities.set(Abilities { forms, notices });
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .session_capabilities(sessions);
        let verger = Implementation::new("verger", env!("CARGO_PKG_VERSION")).title("Verger".to_owned());
        // Version 1 is the only one that Verger speaks; a client of another one decides whether it does, too.
        InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(capabilities).agent_info(verger)
    }

    /// Whether a client came together with Verger.
    pub fn is_open(&self) -> bool {
        self.abilities.get().is_some()
    }

    /// Begins a conversation.
    pub async fn begin(&self, cwd: &Path) -> Result<NewSessionResponse, Error> {
        let roots = self.roots(cwd)?;
        self.has_space()?;
        let mind = &self.study.mind;
        let own = mind.cast.persona(&self.agent).model.filter(|_| !self.model_named);
        let model = match own {
            Some(model) => Ok(model),
            None => self.study.model().map(str::to_owned),
        };
        // Why nobody can answer is said when something is asked, where the person reads it.
        let (talk, absent) = match model {
            Ok(model) => match mind.begin(&self.agent, &model).await {
                Ok(talk) => (Some(talk), None),
                Err(Trouble::Model(error)) => (None, Some(format!("{error}\n{}", error.hint()))),
                Err(trouble) => return Err(fault::trouble(&trouble)),
            },
            Err(failure) => (None, Some(format!("{}\n{}", failure.refusal.message, failure.refusal.hint))),
        };
        let id = match &talk {
            Some(talk) => talk.conversation().id.clone(),
            None => mind.world.id().map_err(|error| fault::refusal(&error.into()))?,
        };
        let room = self.open(id, roots, talk, absent);
        let (modes, options) = self.choices(&room);
        Ok(NewSessionResponse::new(room.id.clone()).modes(modes).config_options(options))
    }

    /// Opens a kept conversation.
    pub async fn resume(&self, id: &str, cwd: &Path) -> Result<Arc<Room>, Error> {
        let roots = self.roots(cwd)?;
        if let Ok(room) = self.room(id) {
            return match room.is_busy() {
                true => Err(fault::now(
                    "turn_runs",
                    "a turn runs in this conversation",
                    "wait for its end, or stop it with session/cancel",
                )),
                false => Ok(room),
            };
        }
        self.has_space()?;
        let (sessions, wanted) = (self.study.mind.sessions.clone(), id.to_owned());
        // By its whole id: the beginning of one, or a title, is for people who type.
        blocking(move || sessions.header(&wanted)).await?;
        let talk = self.study.mind.resume(id).await.map_err(|trouble| fault::trouble(&trouble))?;
        Ok(self.open(id.to_owned(), roots, Some(talk), None))
    }

    fn open(&self, id: String, roots: Vec<PathBuf>, talk: Option<Talk>, absent: Option<String>) -> Arc<Room> {
        let (agent, model) = match &talk {
            Some(talk) => (talk.conversation().agent.clone(), talk.conversation().model.clone()),
            None => (self.agent.clone(), String::new()),
        };
        let room = Room::new(id, roots, talk, absent, &agent, &model);
        self.rooms().insert(room.id.clone(), Arc::clone(&room));
        room
    }

    /// The answer to `session/load`, after everything was shown again.
    pub async fn load(
        &self,
        id: &str,
        cwd: &Path,
        to: &ConnectionTo<Client>,
    ) -> Result<LoadSessionResponse, Error> {
        let room = self.resume(id, cwd).await?;
        let line = self.line(to, id);
        let steps = self.steps(id).await?;
        let registry = &self.study.mind.road.registry;
        replay::updates(&steps, registry, &self.study.place.root)
            .into_iter()
            .for_each(|update| line.show(update));
        if room.talk.lock().await.as_ref().is_some_and(Talk::is_half_way) {
            line.notice("a turn was left half way; /continue goes on with it");
        }
        let (modes, options) = self.choices(&room);
        Ok(LoadSessionResponse::new().modes(modes).config_options(options))
    }

    /// The answer to `session/resume`: nothing is shown again.
    pub async fn reopen(&self, id: &str, cwd: &Path) -> Result<ResumeSessionResponse, Error> {
        let room = self.resume(id, cwd).await?;
        let (modes, options) = self.choices(&room);
        Ok(ResumeSessionResponse::new().modes(modes).config_options(options))
    }

    /// The kept conversations of this vault, the newest first.
    pub async fn list(
        &self,
        cwd: Option<&Path>,
        cursor: Option<&str>,
    ) -> Result<ListSessionsResponse, Error> {
        let start: usize = match cursor {
            Some(cursor) => cursor
                .parse()
                .ok()
                .filter(|start| *start < 1_000_000)
                .ok_or_else(|| fault::params("the cursor is none of ours", "begin again without one"))?,
            None => 0,
        };
        if cwd.is_some_and(|cwd| self.roots(cwd).is_err()) {
            return Ok(ListSessionsResponse::new(Vec::new()));
        }
        let sessions = self.study.mind.sessions.clone();
        let filter = Filter { limit: start + LISTED + 1, include_children: false, text: None };
        let found = blocking(move || sessions.list(&filter)).await?;
        let more = found.len() > start + LISTED;
        let info = |header: state::sessions::Header| {
            let updated =
                jiff::Timestamp::from_millisecond(header.updated_ms).ok().map(|time| time.to_string());
            SessionInfo::new(header.id, self.study.place.root.clone()).title(header.title).updated_at(updated)
        };
        let next = more.then(|| (start + LISTED).to_string());
        Ok(ListSessionsResponse::new(found.into_iter().skip(start).take(LISTED).map(info).collect())
            .next_cursor(next))
    }

    /// Closes a conversation; it stays kept.
    pub fn close(&self, id: &str) -> Result<(), Error> {
        let room = self.rooms().remove(id).ok_or_else(|| fault::no_session(id))?;
        room.stop();
        Ok(())
    }

    /// Forgets a conversation for good. What it changed in the vault can still be undone.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        if let Ok(room) = self.room(id) {
            if room.is_busy() {
                let hint = "stop it with session/cancel first";
                return Err(fault::now("turn_runs", "a turn runs in this conversation", hint));
            }
            self.rooms().remove(id);
        }
        let (sessions, id) = (self.study.mind.sessions.clone(), id.to_owned());
        let now = RealWorld.now().timestamp().as_millisecond();
        blocking(move || sessions.header(&id).and_then(|_| sessions.delete(&id, now))).await
    }

    /// Another agent speaks: at once, or from the next turn on where one runs.
    pub async fn use_agent(&self, id: &str, agent: &str, to: &ConnectionTo<Client>) -> Result<(), Error> {
        let room = self.room(id)?;
        let known = self.study.mind.cast.slugs();
        if !known.iter().any(|slug| slug == agent) {
            let hint = format!("there are: {}", known.join(", "));
            return Err(fault::params(&format!("there is no agent `{agent}`"), &hint));
        }
        room.state().chosen.next_agent = Some(agent.to_owned());
        self.settle(&room).await?;
        let line = self.line(to, id);
        line.show(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(agent.to_owned())));
        line.show(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(self.choices(&room).1)));
        Ok(())
    }

    /// Sets one of the options.
    pub async fn choose(
        &self,
        request: &schema::SetSessionConfigOptionRequest,
        to: &ConnectionTo<Client>,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let id = request.session_id.0.to_string();
        let room = self.room(&id)?;
        let value = request.value.as_value_id().map(|value| value.0.to_string()).unwrap_or_default();
        match &*request.config_id.0 {
            settings::AGENT => self.use_agent(&id, &value, to).await?,
            settings::MODEL => {
                let model = self.study.mind.models.find(&value);
                let model = model.map_err(|error| fault::params(&error.to_string(), error.hint()))?;
                room.state().chosen.next_model = Some(model.name().to_owned());
                self.settle(&room).await?;
            }
            other => {
                let hint = format!("there are: {}, {}", settings::AGENT, settings::MODEL);
                return Err(fault::params(&format!("there is no option `{other}`"), &hint));
            }
        }
        Ok(SetSessionConfigOptionResponse::new(self.choices(&room).1))
    }

    /// What was chosen holds now, unless a turn runs.
    async fn settle(&self, room: &Room) -> Result<(), Error> {
        let Ok(mut held) = room.talk.try_lock() else { return Ok(()) };
        match held.as_mut() {
            Some(talk) => turn::settle(talk, room).await.map_err(|trouble| fault::trouble(&trouble)),
            None => Ok(()),
        }
    }

    fn choices(&self, room: &Room) -> (schema::SessionModeState, Vec<schema::SessionConfigOption>) {
        let mind = &self.study.mind;
        let state = room.state();
        let modes = settings::modes(&*mind.cast, state.chosen.agent());
        (modes, settings::options(mind, &self.study.config, state.chosen.agent(), state.chosen.model()))
    }

    /// The steps of a kept conversation, as far as this program knows them.
    pub async fn steps(&self, id: &str) -> Result<Vec<Step>, Error> {
        let (sessions, id) = (self.study.mind.sessions.clone(), id.to_owned());
        let kept = blocking(move || sessions.steps(&id)).await?;
        Ok(kept.iter().filter_map(Step::read).collect())
    }

    /// The spellings of the vault's folder, if the client works in it.
    fn roots(&self, cwd: &Path) -> Result<Vec<PathBuf>, Error> {
        let root = &self.study.place.root;
        if !cwd.is_absolute() {
            return Err(fault::params(
                "`cwd` is not an absolute path",
                "send the vault's folder, from `/` on",
            ));
        }
        let here = Place::at(cwd, "send the vault's folder").map_err(|failure| fault::failure(&failure))?;
        let Ok(below) = here.root.strip_prefix(root) else {
            let message = format!("{} is not in the vault {}", cwd.display(), root.display());
            let hint = "open the vault's folder in the editor, or start another `verger acp --vault PATH` for this one";
            return Err(fault::params(&message, hint));
        };
        let mut roots = vec![root.clone()];
        // An editor may know the vault by a link to it.
        if cwd.ends_with(below)
            && let Some(spelled) = cwd.ancestors().nth(below.components().count())
            && spelled != root
        {
            roots.push(spelled.to_owned());
        }
        Ok(roots)
    }

    fn has_space(&self) -> Result<(), Error> {
        match self.rooms().len() < MOST_ROOMS {
            true => Ok(()),
            false => Err(fault::now(
                "too_many_sessions",
                &format!("{MOST_ROOMS} conversations are open"),
                "close one with session/close",
            )),
        }
    }

    /// Stops what runs and waits until it is written down.
    pub async fn farewell(&self) {
        let rooms: Vec<Arc<Room>> = self.rooms().drain().map(|(_, room)| room).collect();
        rooms.iter().for_each(|room| room.stop());
        let ended = async {
            for room in &rooms {
                drop(room.talk.lock().await);
            }
        };
        // What does not end now ends with the process; the steps until then are on disk.
        let _ = tokio::time::timeout(FAREWELL, ended).await;
    }
}

/// SQLite waits for the disk; the connection does not.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, state::Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| fault::trouble(&Trouble::State(error))),
        Err(_) => Err(fault::trouble(&Trouble::Broken)),
    }
}
