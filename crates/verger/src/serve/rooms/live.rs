//! A conversation as it is shown while it happens: news become items, and whoever watches is told that there are some.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::{Ending, News};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use super::item::{Body, CallState, Called, Sent, Tone};
use super::speaker::{self, Ended, Speaker};
use super::transcript::{Cursor, Transcript};

/// The items of a conversation with everybody who speaks in it.
#[derive(Debug, Default)]
pub struct Stage {
    /// The items.
    pub transcript: Transcript,
    /// The conversation itself.
    pub main: Speaker,
    /// Its children, by their conversations.
    pub children: HashMap<String, Speaker>,
    /// Which child is meant, by the names on the way to it.
    paths: HashMap<Vec<String>, String>,
}

/// What it has cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Meter {
    /// Tokens in and out.
    pub tokens: u64,
    /// US dollars, as far as prices are known.
    pub dollars: f64,
    /// Whether a part of it has no known price.
    pub unpriced: bool,
    /// How full the model's window is, in percent.
    pub window: Option<u64>,
}

/// What is known of a conversation besides its items.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Head {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub title: Option<String>,
    /// Who speaks, or will.
    pub agent: String,
    /// Which model answers, or will.
    pub model: String,
    /// Whether a turn runs.
    pub running: bool,
    /// Whether a turn was left half way.
    pub half_way: bool,
    /// What it has cost.
    pub meter: Meter,
}

/// Whether a call is the one that is meant.
pub type Fits<'f> = dyn Fn(&Called) -> bool + Send + Sync + 'f;

/// A conversation that can be watched.
pub struct Live {
    stage: Mutex<Stage>,
    newest: watch::Sender<Cursor>,
    head: watch::Sender<Head>,
    closed: watch::Sender<bool>,
}

impl Live {
    /// A conversation as it was read.
    pub fn new(stage: Stage, head: Head) -> Live {
        let newest = watch::Sender::new(stage.transcript.cursor());
        Live {
            stage: Mutex::new(stage),
            newest,
            head: watch::Sender::new(head),
            closed: watch::Sender::new(false),
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something, and tells those who watch.
    pub fn change<T>(&self, work: impl FnOnce(&mut Stage) -> T) -> T {
        let mut stage = self.stage();
        let done = work(&mut stage);
        let now = stage.transcript.cursor();
        drop(stage);
        self.newest.send_if_modified(|newest| {
            let differs = *newest != now;
            *newest = now;
            differs
        });
        done
    }

    /// Everything that changed after this moment, and the moment up to which that is all.
    pub fn newer(&self, seq: u64) -> (Cursor, Vec<Arc<Sent>>) {
        let mut stage = self.stage();
        (stage.transcript.cursor(), stage.transcript.newer(seq))
    }

    /// Everything, and what is known besides.
    pub fn all(&self) -> (Cursor, Vec<Arc<Sent>>, Head) {
        let (cursor, items) = self.newer(0);
        (cursor, items, self.head())
    }

    /// What is known besides its items.
    pub fn head(&self) -> Head {
        self.head.borrow().clone()
    }

    /// Changes what is known. The answer is whether that is something else than before.
    pub fn set_head(&self, work: impl FnOnce(&mut Head)) -> bool {
        self.head.send_if_modified(|head| {
            let before = head.clone();
            work(head);
            *head != before
        })
    }

    /// Hears of newer items, of what is known, and of the end.
    pub fn watch(&self) -> (watch::Receiver<Cursor>, watch::Receiver<Head>, watch::Receiver<bool>) {
        (self.newest.subscribe(), self.head.subscribe(), self.closed.subscribe())
    }

    /// Whether somebody watches.
    pub fn is_watched(&self) -> bool {
        self.newest.receiver_count() > 0
    }

    /// Whoever watches looks for the conversation anew.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Something happened.
    pub fn tell(&self, news: &News) {
        self.change(|stage| stage.tell(&mut Vec::new(), news));
        match news {
            News::Spent { dollars, total_tokens, total_dollars, window, .. } => {
                self.set_head(|head| {
                    let unpriced = head.meter.unpriced || dollars.is_none();
                    let window = window.map(u64::from);
                    head.meter = Meter { tokens: *total_tokens, dollars: *total_dollars, unpriced, window };
                });
            }
            News::Agent { slug } => {
                self.set_head(|head| head.agent.clone_from(slug));
            }
            _ => {}
        }
    }

    /// The call that a question is about waits for it: one that fits the first description, or else the next. The answer is
    /// its item, and the child that makes it.
    pub fn waits(&self, question: &str, fits: &[&Fits<'_>]) -> (Option<String>, Option<String>) {
        self.change(|stage| {
            let Stage { transcript, main, children, .. } = stage;
            let speakers: Vec<&Speaker> = std::iter::once(&*main).chain(children.values()).collect();
            let found =
                |fits: &&Fits<'_>| speakers.iter().find_map(|speaker| speaker.asked_about(transcript, *fits));
            let Some(item) = fits.iter().find_map(found) else { return (None, None) };
            speaker::call(transcript, &item, |called| {
                called.state = CallState::Waiting;
                called.question = Some(question.to_owned());
            });
            let child = transcript.parent(&item).and_then(|parent| match transcript.body(parent) {
                Some(Body::Child { name, .. }) => Some(name.clone()),
                _ => None,
            });
            (Some(item), child)
        })
    }

    /// It waits no longer.
    pub fn goes_on(&self, item: &str) {
        self.change(|stage| {
            speaker::call(&mut stage.transcript, item, |called| {
                if called.state == CallState::Waiting {
                    called.state = CallState::Running;
                }
                called.question = None;
            });
        });
    }
}

impl Stage {
    fn tell(&mut self, path: &mut Vec<String>, news: &News) {
        if let News::Child { name, news } = news {
            path.push(name.clone());
            return self.tell(path, news);
        }
        if let News::Turn { session, task, agent, model } = news {
            return self.turn(path, session, task, agent, model);
        }
        let Stage { transcript, main, children, paths } = self;
        let speaker = match path.is_empty() {
            true => main,
            // One that never said that it begins is not known.
            false => match paths.get(path).and_then(|session| children.get_mut(session)) {
                Some(speaker) => speaker,
                None => return,
            },
        };
        happened(speaker, transcript, news);
    }

    fn turn(&mut self, path: &[String], session: &str, task: &str, agent: &str, model: &str) {
        let Some((name, above)) = path.split_last() else { return self.main.turn(task, model) };
        if !self.children.contains_key(session) {
            let parent = match self.paths.get(above).and_then(|session| self.children.get_mut(session)) {
                Some(parent) => parent,
                None => &mut self.main,
            };
            let item = parent.made(&mut self.transcript, session, name, Some(agent));
            self.children.insert(session.to_owned(), Speaker::child(&item));
        }
        self.paths.insert(path.to_vec(), session.to_owned());
        if let Some(child) = self.children.get_mut(session) {
            child.turn(task, model);
            if let Some(item) = child.item() {
                self.transcript.edit(item, |body| {
                    if let Body::Child { state, .. } = body {
                        "running".clone_into(state);
                    }
                });
            }
        }
    }
}

fn happened(speaker: &mut Speaker, transcript: &mut Transcript, news: &News) {
    match news {
        News::Thinking { text } => speaker.thinking(transcript, text),
        News::Text { text } => speaker.text(transcript, text),
        News::Void => speaker.void(transcript),
        News::CallNamed { id, name } => speaker.named(transcript, id, name),
        News::CallInput { id, text } => {
            if let Ok(input @ Value::Object(_)) = serde_json::from_str(text) {
                speaker.input(transcript, id, &input);
            }
        }
        News::CallBegan { id, name, input } => speaker.began(transcript, id, name, input),
        News::CallEnded { id, outcome, text, failed, checkpoint, changed, milliseconds, .. } => {
            let changed = changed.iter().take(Ending::MOST).cloned().collect();
            let ending = Ending { outcome: (*outcome).to_owned(), changed, milliseconds: *milliseconds };
            let checkpoint = checkpoint.as_deref();
            speaker.ended(transcript, Ended { id, text, failed: *failed, checkpoint, ending });
        }
        News::Spent { .. } => speaker.answered(transcript),
        News::Todo { items } => speaker.todo(transcript, items),
        News::Agent { slug } => agent_changed(speaker, transcript, slug),
        News::Condensed { before, after } => condensed(speaker, transcript, *before, *after),
        News::Retry { why, milliseconds } => {
            let text = format!("{why}; trying again in {:.1} s", *milliseconds as f64 / 1_000.0);
            speaker.passing(transcript, text, Tone::Warn);
        }
        News::Notice { text } => speaker.passing(transcript, text.clone(), Tone::Warn),
        News::Over { how, .. } => speaker.over(transcript, how),
        News::Turn { .. } | News::Child { .. } => {}
    }
}

/// Another agent took over.
pub fn agent_changed(speaker: &mut Speaker, transcript: &mut Transcript, slug: &str) {
    speaker.notice(transcript, format!("the agent `{slug}` goes on from here"), Tone::Info);
}

/// Another model answers.
pub fn model_changed(speaker: &mut Speaker, transcript: &mut Transcript, name: &str) {
    speaker.notice(transcript, format!("the model is `{name}` from here"), Tone::Info);
}

/// The conversation was made shorter.
pub fn condensed(speaker: &mut Speaker, transcript: &mut Transcript, before: u64, after: u64) {
    let text = "the conversation was made shorter for the model";
    speaker.notice(transcript, format!("{text}: about {before} tokens before, {after} now"), Tone::Info);
}
