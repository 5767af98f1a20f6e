//! Embeds in the background, for programs that stay and models that are slow.
//!
//! Started by [`super::Finder::stay`]: one thread, which ends with its finder. It counts what is new, embeds batch after
//! batch, saves in steps, pauses when the model is away, and leaves the work to another process that is at it already.
//! What goes wrong is said once in the notices, and in every answer until it is right again.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use super::Finder;
use crate::error::Result;
use crate::meaning::{EmbedError, Meaning, Step};

/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// How often the work of another process is looked at.
const WATCHING: Duration = Duration::from_secs(60);

/// Wakes the thread, and ends it.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<Rung>,
    condition: Condvar,
}

#[derive(Debug, Default)]
struct Rung {
    stop: bool,
    work: bool,
}

impl Bell {
    pub(super) fn ring(&self) {
        self.lock().work = true;
        self.condition.notify_all();
    }

    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.condition.notify_all();
    }

    fn stopped(&self) -> bool {
        self.lock().stop
    }

    /// Waits for work, or for so long; whether to go on.
    fn wait(&self, longest: Option<Duration>) -> bool {
        let mut rung = self.lock();
        let idle = |rung: &mut Rung| !(rung.stop || rung.work);
        rung = match longest {
            None => self.condition.wait_while(rung, idle).unwrap_or_else(PoisonError::into_inner),
            Some(longest) => {
                let waited = self.condition.wait_timeout_while(rung, longest, |rung| !rung.stop);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        rung.work = false;
        !rung.stop
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Rung> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a round ended.
enum Round {
    Idle,
    /// Another process embeds.
    Elsewhere,
    Failed {
        why: String,
        wait: Option<Duration>,
        got_on: bool,
    },
}

/// Starts the thread. Where no thread can be had, nothing is embedded, and that is said.
pub(super) fn start(finder: &Arc<Finder>) {
    let (weak, bell) = (Arc::downgrade(finder), Arc::clone(&finder.bell));
    let started = thread::Builder::new().name("embedding".to_owned()).spawn(move || work(&weak, &bell));
    if let Err(error) = started {
        finder.notice(format!("notes are not embedded in the background: no thread ({error})"));
    }
}

fn work(finder: &Weak<Finder>, bell: &Bell) {
    let mut pause = FIRST_PAUSE;
    let mut said = None;
    loop {
        let Some(held) = finder.upgrade() else { return };
        let longest = match round(&held, bell) {
            Round::Idle => {
                (pause, said) = (FIRST_PAUSE, None);
                None
            }
            Round::Elsewhere => Some(WATCHING),
            Round::Failed { why, wait, got_on } => {
                if got_on {
                    pause = FIRST_PAUSE;
                }
                if said.as_ref() != Some(&why) {
                    held.notice(format!("notes could not be embedded: {why}; trying again later"));
                    said = Some(why);
                }
                let longest = wait.unwrap_or_default().max(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
                Some(longest)
            }
        };
        drop(held);
        if !bell.wait(longest) {
            return;
        }
    }
}

fn round(finder: &Finder, bell: &Bell) -> Round {
    let outcome = (|| {
        let meaning = finder.meaning()?;
        finder.catch_up_once(meaning)?;
        let Some(_working) = meaning.try_to_work()? else {
            meaning.adopt()?;
            return Ok(if meaning.missing() == 0 { Round::Idle } else { Round::Elsewhere });
        };
        embed(finder, meaning, bell)
    })();
    outcome.unwrap_or_else(|error: crate::Error| Round::Failed {
        why: error.to_string(),
        wait: None,
        got_on: false,
    })
}

fn embed(finder: &Finder, meaning: &Meaning, bell: &Bell) -> Result<Round> {
    // Another process may have got further since the vectors were opened.
    if meaning.missing() > 0 {
        meaning.adopt()?;
    }
    let mut done = 0;
    loop {
        let step = if bell.stopped() { Step::Idle } else { meaning.embed_next() };
        match step {
            Step::Embedded(count) => {
                done += count;
                finder.tell("embedding", done, done + meaning.missing());
                meaning.save_if_due()?;
            }
            Step::Idle => {
                meaning.save_rest()?;
                return Ok(Round::Idle);
            }
            Step::Stopped(error) => {
                meaning.save_rest()?;
                let (why, wait) = (error.to_string(), patience(&error));
                return Ok(Round::Failed { why, wait, got_on: done > 0 });
            }
        }
    }
}

/// How long the model wants to be left alone, if it said so.
pub(super) fn patience(error: &EmbedError) -> Option<Duration> {
    match error {
        EmbedError::Later { seconds, .. } => Some(Duration::from_secs(*seconds).min(LONGEST_PAUSE)),
        _ => None,
    }
}
