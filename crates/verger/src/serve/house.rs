//! What all requests share: the study with its road, who may come in, and the word that the end has come.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pipeline::approve::Deciding;
use pipeline::{Asker, Call, Decision, Lifetime, Outcome, Output, Question, Task, World as _};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use vault::Change;
use vault::policy::Scope;
use vault::watch::Report;

use super::gate;
use super::inbox::Inbox;
use super::keys::Keys;
use super::problem::Problem;
use super::rooms::Rooms;
use super::tokens::Tokens;
use crate::chat::ask::unknown_agent;
use crate::config::Config;
use crate::failure::Failure;
use crate::mcp::beside::Beside;
use crate::mcp::complain;
use crate::socket::origin::{Neighbours, Origin};
use crate::study::{Study, Wanted, models};
use crate::world::RealWorld;

/// What all requests share.
pub struct House {
    /// Links and cookies.
    pub keys: Keys,
    /// What programs come in with.
    pub tokens: Tokens,
    /// The conversations that are open.
    pub rooms: Rooms,
    /// Questions that wait for the person.
    pub inbox: Inbox,
    study: RwLock<Arc<Study>>,
    wanted: Wanted,
    public: Option<String>,
    /// Whether connections are encrypted by us.
    tls: bool,
    /// The MCP door; another one when the limits change.
    mcp: Arc<RwLock<Option<Arc<Beside>>>>,
    address: SocketAddr,
    neighbours: Neighbours,
    guests: Vec<Origin>,
    /// Who was named at the start to speak in new conversations.
    agent: Option<String>,
    ending: watch::Sender<bool>,
    pulse: watch::Sender<Pulse>,
    /// Held by whoever changes settings, from the reading to the taking up: what is in force is what was written last.
    settling: Mutex<()>,
    id: String,
}

/// How browsers reach it.
#[derive(Debug, Clone)]
pub struct Reached<'r> {
    /// Where it listens.
    pub address: SocketAddr,
    /// The address behind a proxy.
    pub public: Option<&'r str>,
    /// Whether connections are encrypted by us.
    pub tls: bool,
    /// Pages of others that may call what is for programs.
    pub guests: Vec<Origin>,
}

/// How often each thing changed that pages show. A page that sees a number grow asks again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Pulse {
    /// Files of the vault, by whomever.
    pub notes: u64,
    /// Conversations: begun, renamed, deleted, a turn begun or ended.
    pub chats: u64,
    /// Questions that wait for the person.
    pub questions: u64,
    /// Settings, agents, grants.
    pub settings: u64,
}

impl House {
    /// A house for this study, not open yet.
    pub fn new(
        study: Study,
        wanted: Wanted,
        agent: Option<String>,
        keys: Keys,
        reached: Reached<'_>,
    ) -> Arc<House> {
        let id = RealWorld.id().map_or_else(|_| "web".to_owned(), |id| format!("web-{id}"));
        let pulse = watch::Sender::default();
        Arc::new(House {
            keys,
            tokens: Tokens::at(&study.place),
            agent,
            rooms: Rooms::default(),
            inbox: Inbox::new(pulse.clone()),
            study: RwLock::new(Arc::new(study)),
            wanted,
            public: reached.public.map(str::to_owned),
            tls: reached.tls,
            guests: reached.guests,
            mcp: Arc::default(),
            address: reached.address,
            neighbours: Neighbours::new(reached.address, reached.public, Vec::new()),
            ending: watch::Sender::new(false),
            pulse,
            settling: Mutex::default(),
            id,
        })
    }

    /// Who may be named as host.
    pub fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }

    /// Who speaks in a new conversation: who was named at the start, else who the settings name now.
    pub fn agent(&self) -> String {
        self.agent.clone().unwrap_or_else(|| self.study().agent().to_owned())
    }

    /// Whether a page of this origin is the one that this house serves.
    pub fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        let public = self.public.as_deref().and_then(Origin::of_url);
        gate::is_same(origin, host) || (public.is_some() && public == Origin::parse(origin))
    }

    /// Whether a page of this origin may call what is for programs.
    pub fn is_guest(&self, origin: &str) -> bool {
        Origin::parse(origin).is_some_and(|origin| self.guests.contains(&origin))
    }

    /// Whether browsers reach it encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.tls || self.public.as_deref().is_some_and(|url| url.starts_with("https://"))
    }

    /// The cookie's name: browsers do not tell ports apart, so it names the port.
    pub fn cookie_name(&self) -> String {
        format!("verger-{}", self.address.port())
    }

    /// The study as it stands. Settings that are saved replace it; who holds one goes on with it.
    pub fn study(&self) -> Arc<Study> {
        Arc::clone(&self.study.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Work on the settings that ends in [`House::renew`]: one after the other.
    pub fn settle<T>(&self, work: impl FnOnce() -> T) -> T {
        let _alone = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        work()
    }

    /// Takes up what `config.toml` and the agents' folders say now.
    pub fn renew(&self) -> Result<(), Problem> {
        let before = self.study();
        let renewed = before.again(&self.wanted)?;
        let other_limits = renewed.config.limits != before.config.limits;
        *self.study.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(renewed);
        // Turns that run with servers of before lose them; what they call next says so.
        tokio::spawn(async move { before.foreign.close().await });
        if other_limits {
            self.open_mcp()?;
        }
        Ok(())
    }

    /// Whether the model was named when Verger was started; then it is nobody's own.
    pub fn model_is_named(&self) -> bool {
        self.wanted.model.is_some()
    }

    /// Whether this configuration could be taken up: its models are known, the one that speaks has its key, its agent is there.
    pub fn would_take(&self, config: &Config) -> Result<(), Problem> {
        models::open(config, self.wanted.model.as_deref())?;
        let known = self.study().mind.cast.slugs();
        match &config.chat.agent {
            Some(agent) if !known.contains(agent) => Err(unknown_agent(agent, &known).into()),
            _ => Ok(()),
        }
    }

    /// Opens the MCP door on the road of the study. One that was open ends with its sessions: its clients begin anew under the
    /// limits of now. To be called inside of the runtime.
    pub fn open_mcp(&self) -> Result<(), Failure> {
        let study = self.study();
        let door = Arc::new(Beside::open(&study.mind.road, &study.config, &study.place, self.address)?);
        let before = self.mcp.write().unwrap_or_else(PoisonError::into_inner).replace(door);
        if let Some(before) = before {
            tokio::spawn(async move { before.end().await });
        }
        Ok(())
    }

    /// The MCP door.
    pub fn mcp(&self) -> Option<Arc<Beside>> {
        self.mcp.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the vault is called.
    pub fn name(&self) -> String {
        let study = self.study();
        study.place.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// What the person may see now.
    pub fn scope(&self) -> Result<Scope, Problem> {
        let study = self.study();
        Ok(Scope::new(study.config.limits.clone(), study.mind.road.vault().rules()?))
    }

    /// Begins what runs beside the requests: the catalog is kept fresh, and conversations that nobody needs are let go.
    pub fn begin(self: &Arc<House>) {
        let house = Arc::clone(self);
        tokio::spawn(async move { Rooms::tidy(&house).await });
        let (study, pulse, mcp) = (self.study(), self.pulse.clone(), Arc::clone(&self.mcp));
        tokio::task::spawn_blocking(move || {
            let seen = move |report: Report| {
                match &report {
                    Report::Refreshed(_) | Report::RefreshedAll => {
                        pulse.send_modify(|pulse| pulse.notes += 1);
                    }
                    Report::Quiet => {}
                    Report::Trouble(why) => complain(&format!("watching the vault: {why}")),
                }
                let door = mcp.read().unwrap_or_else(PoisonError::into_inner).clone();
                // Trouble was told.
                if let Some(door) = door.filter(|_| !matches!(report, Report::Trouble(_))) {
                    door.report(report);
                }
            };
            if let Err(error) = study.mind.road.vault().watch(seen) {
                complain(&format!("changes by other programs are seen late: {error}"));
            }
        });
    }

    /// Tells the pages that something changed.
    pub fn beat(&self, what: impl FnOnce(&mut Pulse)) {
        self.pulse.send_modify(what);
    }

    /// Hears what changes.
    pub fn listen(&self) -> watch::Receiver<Pulse> {
        self.pulse.subscribe()
    }

    /// Streams and turns end.
    pub async fn end(&self) {
        self.ending.send_replace(true);
        self.rooms.end().await;
        if let Some(door) = self.mcp() {
            door.end().await;
        }
        self.study().foreign.close().await;
    }

    /// Waits for the end.
    pub async fn ended(&self) {
        // The sender lives as long as the house.
        let _ = self.ending.subscribe().wait_for(|ending| *ending).await;
    }

    /// Work that waits for the disk, on a thread of its own.
    pub async fn look<T: Send + 'static>(
        self: &Arc<House>,
        work: impl FnOnce(&House) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let house = Arc::clone(self);
        tokio::task::spawn_blocking(move || work(&house)).await.unwrap_or_else(|_| Err(Problem::broken()))
    }

    /// Makes a call for the person before the page. Call it inside of [`House::look`].
    pub fn call(&self, call: Call, asker: &dyn Asker) -> Outcome {
        let study = self.study();
        // A person may repeat themselves as often as they like, so the memory of repetitions starts anew. Each call is a task
        // of its own: nothing else is taken back with it.
        let id = RealWorld.id().map_or_else(|_| self.id.clone(), |id| format!("web-{id}"));
        let mut task = Task::new(id, self.id.clone(), "web");
        task.limits = study.config.limits.clone();
        task.activate(std::slice::from_ref(&call.tool));
        tokio::runtime::Handle::current().block_on(study.mind.road.run(&task, call, asker))
    }

    /// Makes a call that only reads. Call it inside of [`House::look`].
    pub fn answer(&self, tool: &str, input: Value) -> Result<Output, Problem> {
        match self.call(Call::new(tool, input), &pipeline::Nobody) {
            Outcome::Refused(refusal) | Outcome::Denied(refusal) => Err(refusal.into()),
            outcome => Ok(outcome.output().cloned().unwrap_or_default()),
        }
    }
}

/// A person who saw a plan in the page and said yes to exactly that: when the plan is another one by now, it is a no.
pub struct Saw(pub String);

impl Saw {
    /// What a person saw, in one word.
    pub fn word(changes: &[vault::Change]) -> String {
        let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
        for change in changes {
            hash.update(change.headline().as_bytes());
            hash.update(&[0]);
            for side in sides(change) {
                hash.update(ring::digest::digest(&ring::digest::SHA256, side).as_ref());
            }
        }
        hash.finish().as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The bytes before and after: what has no text to compare is seen by its size, and meant by its bytes.
fn sides(change: &Change) -> [&[u8]; 2] {
    match change {
        Change::Create { after, .. } => [&[], after],
        Change::Replace { before, after, .. } => [before, after],
        Change::Delete { before, .. } => [before, &[]],
        Change::Move { .. } | Change::MakeFolder { .. } | Change::RemoveFolder { .. } => [&[], &[]],
    }
}

impl Asker for Saw {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async move {
            // What reaches outside of the vault is never approved beforehand.
            match question.target.is_none() && Saw::word(question.changes) == self.0 {
                true => Decision::Yes(Lifetime::Once),
                false => Decision::No {
                    reason: Some("the notes changed after it was shown; look again".to_owned()),
                },
            }
        })
    }

    fn name(&self) -> &str {
        "web"
    }

    fn is_person(&self) -> bool {
        true
    }

    fn insists(&self) -> bool {
        true
    }
}
