//! Watches the vault's folder and keeps the catalog fresh when somebody else (Obsidian, git, a sync client) writes.
//!
//! Started once per running program over a [`Live`] catalog. Events are collected for some ten milliseconds, because one
//! save is several events, and then the catalog looks at the paths itself: an event only says *where* to look.
//! When the system has lost events, everything is looked at. Deliberately not here: any judgement of what changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, CreateKind, EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::catalog::{Live, Visible};
use crate::error::{Error, Result};
use crate::path::VaultPath;

/// Silence after which a burst of events is over.
const QUIET: Duration = Duration::from_millis(8);
/// The longest that the first event of a burst waits.
const PATIENCE: Duration = Duration::from_millis(25);
/// When a new folder is looked at once more. The system starts to watch it only after it has told us of it, so a file
/// made in between is announced by nobody.
const SECOND_LOOK: Duration = Duration::from_millis(200);

/// Silence after which changes are worth saving: long enough that a person who types does not cause it all the time.
const SETTLED: Duration = Duration::from_secs(20);

/// What the watcher tells whoever started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The catalog has looked at these paths.
    Refreshed(Vec<VaultPath>),
    /// The catalog has looked at everything, because events were lost or a refresh had failed.
    RefreshedAll,
    /// There were changes, and then none for a while: a good moment to save.
    Quiet,
    /// Something went wrong; the catalog may be behind until the next `RefreshedAll`.
    Trouble(String),
}

/// Watches until it is dropped.
pub struct Watcher {
    system: Option<RecommendedWatcher>,
    stop: Sender<Signal>,
    thread: Option<JoinHandle<()>>,
}

enum Signal {
    Event(notify::Result<Event>),
    Stop,
}

impl Watcher {
    /// Watches `root`, the vault's folder by its real (symlink-free) path, and refreshes `live`.
    pub fn start(root: &Path, live: Arc<Live>, report: impl Fn(Report) + Send + 'static) -> Result<Watcher> {
        let (sender, receiver) = mpsc::channel();
        let events = sender.clone();
        let handler = move |event: notify::Result<Event>| {
            // Every read opens a file, and says nothing: nobody need wake up for it.
            if !event.as_ref().is_ok_and(is_mere_opening) {
                // A failed send means that the watcher is being dropped.
                drop(events.send(Signal::Event(event)));
            }
        };
        let failed = |error| Error::io(format!("watching `{}`", root.display()), into_io(error));
        let mut system = notify::recommended_watcher(handler).map_err(failed)?;
        system.watch(root, RecursiveMode::Recursive).map_err(failed)?;
        let mut desk = Desk { root: root.to_owned(), live, report, again: Vec::new(), settles: None };
        let name = thread::Builder::new().name("vault watcher".to_owned());
        let thread = name
            .spawn(move || desk.run(&receiver))
            .map_err(|error| Error::io("starting the watcher's thread", error))?;
        Ok(Watcher { system: Some(system), stop: sender, thread: Some(thread) })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.system = None;
        // Either the thread is there and takes the message, or it is gone already.
        drop(self.stop.send(Signal::Stop));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn is_mere_opening(event: &Event) -> bool {
    matches!(event.kind, EventKind::Access(AccessKind::Open(_))) && !event.need_rescan()
}

fn into_io(error: notify::Error) -> std::io::Error {
    match error.kind {
        notify::ErrorKind::Io(error) => error,
        _ => std::io::Error::other(error.to_string()),
    }
}

/// The watcher's thread.
struct Desk<R> {
    root: PathBuf,
    live: Arc<Live>,
    report: R,
    /// Folders to look at once more, and when.
    again: Vec<(Instant, VaultPath)>,
    /// When the last changes will have settled, if there were any since that was told.
    settles: Option<Instant>,
}

/// What one burst of events asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Burst {
    paths: BTreeSet<VaultPath>,
    may_be_folders: BTreeSet<VaultPath>,
    everything: bool,
    trouble: Vec<String>,
    stop: bool,
}

impl<R: Fn(Report)> Desk<R> {
    fn run(&mut self, signals: &Receiver<Signal>) {
        loop {
            let mut burst = self.collect(signals);
            if burst.stop {
                return;
            }
            let now = Instant::now();
            burst.paths.extend(self.again.extract_if(.., |(due, _)| *due <= now).map(|(_, path)| path));
            if burst.is_idle() {
                if self.settles.take_if(|due| *due <= now).is_some() {
                    (self.report)(Report::Quiet);
                }
                continue;
            }
            let new = std::mem::take(&mut burst.may_be_folders);
            self.work(burst);
            self.plan_second_looks(new);
            self.settles = Some(Instant::now() + SETTLED);
        }
    }

    /// Waits for an event, and then until it has been quiet for a moment.
    fn collect(&self, signals: &Receiver<Signal>) -> Burst {
        let mut burst = Burst::default();
        let first = match self.again.iter().map(|(due, _)| *due).chain(self.settles).min() {
            Some(due) => signals.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => signals.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let started = Instant::now();
        let mut next = first;
        loop {
            match next {
                Ok(signal) => burst.take(&self.root, signal),
                Err(RecvTimeoutError::Timeout) => return burst,
                Err(RecvTimeoutError::Disconnected) => burst.stop = true,
            }
            let left = PATIENCE.saturating_sub(started.elapsed());
            if burst.stop || left.is_zero() {
                return burst;
            }
            // Opening and closing files makes many events that ask for nothing; they do not prolong the wait.
            next = if burst.is_idle() { return burst } else { signals.recv_timeout(QUIET.min(left)) };
        }
    }

    fn plan_second_looks(&mut self, new: BTreeSet<VaultPath>) {
        let due = Instant::now() + SECOND_LOOK;
        let catalog = self.live.read();
        let is_folder = |path: &VaultPath| catalog.has_folder(&path.clone().into(), Visible::all());
        self.again.extend(new.into_iter().filter(is_folder).map(|path| (due, path)));
    }

    fn work(&self, burst: Burst) {
        for trouble in burst.trouble {
            (self.report)(Report::Trouble(trouble));
        }
        let paths: Vec<VaultPath> = burst.paths.into_iter().collect();
        let mut everything = burst.everything;
        if !everything && !paths.is_empty() {
            match self.live.refresh(&paths) {
                Ok(()) => return (self.report)(Report::Refreshed(paths)),
                Err(error) => (self.report)(Report::Trouble(error.to_string())),
            }
            everything = true;
        }
        if everything {
            match self.live.refresh_all() {
                Ok(()) => (self.report)(Report::RefreshedAll),
                Err(error) => (self.report)(Report::Trouble(error.to_string())),
            }
        }
    }
}

impl Burst {
    fn is_idle(&self) -> bool {
        self.paths.is_empty() && !self.everything && self.trouble.is_empty()
    }

    fn take(&mut self, root: &Path, signal: Signal) {
        match signal {
            Signal::Stop => self.stop = true,
            Signal::Event(Err(error)) => {
                // Whatever failed, events may be missing from now on.
                self.trouble.push(error.to_string());
                self.everything = true;
            }
            Signal::Event(Ok(event)) if event.need_rescan() => self.everything = true,
            Signal::Event(Ok(event)) => self.take_event(root, &event),
        }
    }

    fn take_event(&mut self, root: &Path, event: &Event) {
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        let may_be_folder = matches!(
            event.kind,
            EventKind::Create(CreateKind::Folder | CreateKind::Any | CreateKind::Other)
                | EventKind::Modify(ModifyKind::Name(_))
                | EventKind::Any
        );
        for path in &event.paths {
            if path == root {
                // The root itself was moved, removed or touched; only the last is harmless, and all are rare.
                self.everything |= !matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_)));
                continue;
            }
            let Some(path) = inside(root, path) else { continue };
            if may_be_folder {
                self.may_be_folders.insert(path.clone());
            }
            self.paths.insert(path);
        }
    }
}

/// The path inside the vault. Hidden files and names that no [`VaultPath`] can hold are not in the catalog either.
fn inside(root: &Path, path: &Path) -> Option<VaultPath> {
    let text = path.strip_prefix(root).ok()?.to_str()?;
    VaultPath::parse(text).ok().filter(|path| !path.is_hidden())
}

#[cfg(test)]
mod tests;
