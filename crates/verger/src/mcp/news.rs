//! What clients are told without asking: notes that changed, came or went, and trouble.
//!
//! The vault's watcher reports; what belongs together is told once, a fifth of a second later. A client hears only of notes
//! that it may read. Called by `server.rs`. Deliberately not here: how files are watched (`vault::watch`).

#![expect(deprecated, reason = "revisions before 2026-07-28 have logging")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use pipeline::Road;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParam,
    ResourceUpdatedNotificationParam, ServerNotification,
};
use rmcp::service::SubscriptionSink;
use rmcp::{Peer, RoleServer};
use serde_json::json;
use vault::VaultPath;
use vault::policy::{Limits, Scope};
use vault::watch::Report;

use super::hall::complain;
use super::resource;
use super::vaults::{Vaults, scope};

/// How long news are collected.
const COLLECTED: Duration = Duration::from_millis(200);
/// Addresses that one client may subscribe to.
const MOST: usize = 1_000;
/// Changes of one burst that are told one by one; beyond that, clients are told to list anew.
const MOST_CHANGED: usize = 10_000;

/// One client that listens.
#[derive(Default)]
pub struct Listener {
    peer: OnceLock<Peer<RoleServer>>,
    subscribed: Mutex<BTreeSet<String>>,
    level: AtomicU8,
}

impl Listener {
    /// The client is there from now on.
    pub fn arrive(&self, peer: Peer<RoleServer>) {
        self.peer.set(peer).ok();
    }

    /// Subscribes to an address; false if it has too many.
    pub fn subscribe(&self, uri: String) -> bool {
        let mut subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        subscribed.contains(&uri) || (subscribed.len() < MOST && subscribed.insert(uri))
    }

    /// No more of this address.
    pub fn unsubscribe(&self, uri: &str) {
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    /// From which level on it wants to hear of trouble.
    pub fn set_level(&self, level: LoggingLevel) {
        self.level.store(rank(level) + 1, Ordering::Relaxed);
    }

    fn wants(&self, level: LoggingLevel) -> bool {
        let set = self.level.load(Ordering::Relaxed);
        // Until it says otherwise, a client hears warnings and worse.
        rank(level) >= if set == 0 { rank(LoggingLevel::Warning) } else { set - 1 }
    }

    /// Tells this client, if it wants to know.
    async fn log(&self, level: LoggingLevel, text: &str) {
        let Some(peer) = self.peer.get().filter(|_| self.wants(level)) else { return };
        let message = LoggingMessageNotificationParam::new(level, json!(text)).with_logger("verger");
        let message = LoggingMessageNotification::new(message);
        peer.send_notification(ServerNotification::LoggingMessageNotification(message)).await.ok();
    }

    /// Tells this client what was done.
    pub async fn inform(&self, text: &str) {
        self.log(LoggingLevel::Info, text).await;
    }

    fn has(&self, uri: &str) -> bool {
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}

/// Everybody who listens, and what they have not been told yet.
#[derive(Default)]
pub struct News {
    listeners: Mutex<Vec<Weak<Listener>>>,
    /// Those of 2026-07-28, who keep a request open for it.
    sinks: Mutex<Vec<(u64, Sink)>>,
    next: AtomicU64,
    waiting: Mutex<Waiting>,
    planned: AtomicBool,
}

/// A client that keeps a request open, and of which addresses it may hear.
#[derive(Clone)]
struct Sink {
    to: SubscriptionSink,
    may_hear: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

#[derive(Default)]
struct Waiting {
    /// By address, as a client would subscribe.
    changed: BTreeSet<String>,
    list: bool,
}

/// One vault's part of the news: what changed, as its clients may know it.
struct Desk {
    news: Arc<News>,
    road: Weak<Road>,
    limits: Limits,
    address: Box<dyn Fn(&VaultPath) -> String + Send + Sync>,
    /// How many notes there were; none before the first look.
    known: Mutex<Option<usize>>,
    runtime: tokio::runtime::Handle,
}

impl News {
    /// A client listens as long as it lives.
    pub fn join(&self, listener: &Arc<Listener>) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|other| other.strong_count() > 0);
        listeners.push(Arc::downgrade(listener));
    }

    /// A client keeps a request open until it leaves its place.
    pub fn listen(
        &self,
        to: SubscriptionSink,
        may_hear: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> u64 {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let sink = Sink { to, may_hear: Arc::new(may_hear) };
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).push((place, sink));
        place
    }

    /// It has gone.
    pub fn leave(&self, place: u64) {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, _)| *other != place);
    }

    fn everybody(&self) -> Vec<Arc<Listener>> {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().filter_map(Weak::upgrade).collect()
    }

    /// Tells every client that wants to know.
    async fn log(&self, level: LoggingLevel, text: &str) {
        for listener in self.everybody() {
            listener.log(level, text).await;
        }
    }

    fn take(self: &Arc<News>, news: impl FnOnce(&mut Waiting), runtime: &tokio::runtime::Handle) {
        news(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if self.planned.swap(true, Ordering::Relaxed) {
            return;
        }
        let all = Arc::clone(self);
        runtime.spawn(async move {
            tokio::time::sleep(COLLECTED).await;
            all.planned.store(false, Ordering::Relaxed);
            all.tell().await;
        });
    }

    async fn tell(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        for listener in self.everybody() {
            let Some(peer) = listener.peer.get() else { continue };
            for uri in waiting.changed.iter().filter(|uri| listener.has(uri)) {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.clone())).await.ok();
            }
            if waiting.list {
                peer.notify_resource_list_changed().await.ok();
            }
        }
        let sinks = self.sinks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (_, sink) in sinks {
            // What a client did not ask for is held back by its sink.
            for uri in waiting.changed.iter().filter(|uri| (sink.may_hear)(uri)) {
                sink.to.notify_resource_updated(uri.clone()).await.ok();
            }
            if waiting.list {
                sink.to.notify_resource_list_changed().await.ok();
            }
        }
    }
}

/// Watches every vault from now on, each in a thread of its own: a large one takes its time.
pub fn watch(vaults: &Arc<Vaults>, news: &Arc<News>, limits: &Limits) {
    for (index, _) in vaults.all().enumerate() {
        let (vaults, news, limits) = (Arc::clone(vaults), Arc::clone(news), limits.clone());
        tokio::task::spawn_blocking(move || {
            let Some((road, desk)) = desk(&vaults, index, news, limits) else { return };
            let reporter = Arc::clone(&desk);
            match road.vault().watch(move |report| reporter.report(report)) {
                // Only now: without the watcher, counting would compare the whole vault with the disk once more.
                Ok(()) => desk.look(),
                Err(error) => {
                    complain(&format!("the vault is not watched, so every answer looks at it anew: {error}"));
                }
            }
        });
    }
}

/// Tells clients of the first vault what somebody else's watcher saw.
pub fn reporter(
    vaults: &Arc<Vaults>,
    news: &Arc<News>,
    limits: &Limits,
) -> impl Fn(Report) + Send + Sync + use<> {
    let desk = desk(vaults, 0, Arc::clone(news), limits.clone());
    move |report| {
        if let Some((_, desk)) = &desk {
            desk.report(report);
        }
    }
}

/// The road and the desk of one vault.
fn desk(
    vaults: &Arc<Vaults>,
    index: usize,
    news: Arc<News>,
    limits: Limits,
) -> Option<(Arc<Road>, Arc<Desk>)> {
    let road = Arc::clone(&vaults.all().nth(index)?.road);
    let vaults = Arc::clone(vaults);
    let desk = Desk::new(news, &road, limits, move |path| {
        let uri = resource::address(path);
        match vaults.all().nth(index) {
            Some(served) => vaults.address(served, uri),
            None => uri,
        }
    });
    Some((road, Arc::new(desk)))
}

impl Desk {
    /// The desk of one vault.
    fn new(
        news: Arc<News>,
        road: &Arc<Road>,
        limits: Limits,
        address: impl Fn(&VaultPath) -> String + Send + Sync + 'static,
    ) -> Desk {
        Desk {
            news,
            road: Arc::downgrade(road),
            limits,
            address: Box::new(address),
            known: Mutex::default(),
            runtime: tokio::runtime::Handle::current(),
        }
    }

    /// Remembers how many notes there are.
    fn look(&self) {
        if let Some(road) = self.road.upgrade()
            && let Ok(scope) = scope(&road, &self.limits)
        {
            let count = count(&road, &scope);
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = count;
        }
    }

    /// The watcher saw something.
    fn report(&self, report: Report) {
        match report {
            Report::Trouble(trouble) => {
                complain(&trouble);
                let news = Arc::clone(&self.news);
                self.runtime.spawn(async move { news.log(LoggingLevel::Warning, &trouble).await });
            }
            Report::Refreshed(paths) => self.changed(&paths),
            Report::Quiet => {}
            Report::RefreshedAll => self.news.take(|waiting| waiting.list = true, &self.runtime),
        }
    }

    fn changed(&self, paths: &[VaultPath]) {
        let Some(road) = self.road.upgrade() else { return };
        // Without rules to judge by, nobody hears anything.
        let Ok(scope) = scope(&road, &self.limits) else { return };
        let seen: Vec<&VaultPath> =
            paths.iter().filter(|path| scope.may_read(path)).take(MOST_CHANGED).collect();
        if seen.is_empty() {
            return;
        }
        let view = road.vault().view(&scope);
        let gone = seen.iter().any(|path| matches!(view.look(path), Ok(None)));
        let count = count(&road, &scope);
        let before =
            std::mem::replace(&mut *self.known.lock().unwrap_or_else(PoisonError::into_inner), count);
        let list = gone || before != count;
        let uris: Vec<String> = seen.iter().map(|path| (self.address)(path)).collect();
        self.news.take(
            |waiting| {
                waiting.changed.extend(uris);
                waiting.list |= list;
            },
            &self.runtime,
        );
    }
}

/// How many notes may be seen.
fn count(road: &Road, scope: &Scope) -> Option<usize> {
    let catalog = road.vault().view(scope).catalog().ok()?;
    Some(catalog.ask(|catalog, visible| catalog.notes(visible).count()))
}
