//! `query --watch`: asks again when the vault has changed, and prints when the answer has.
//!
//! Sleeps between changes. Many changes at once are one: it waits until the vault has been quiet for a moment. Ctrl-C (or
//! SIGTERM, or a reader that went away) is the ordinary end, with exit code 0.

use std::time::Duration;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, channel};
use vault::watch::Report;

use super::Shape;
use crate::door::Door;
use crate::failure::{Exit, Failure};

/// How long the vault must be quiet.
const QUIET: Duration = Duration::from_millis(100);
/// After so many pauses the answer is due even if the vault is never quiet.
const MOST_PAUSES: usize = 10;
/// What may wait unread; more of the same says nothing new.
const WAITING: usize = 64;

/// Prints the answer now and whenever it has changed.
pub fn watch(door: &Door<'_>, input: &Value, shape: Shape) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(cannot_wait)?;
    let (sender, changes) = channel(WAITING);
    let mut events = Events::new(&runtime, changes)?;
    door.road.vault().watch(move |report| {
        let trouble = match report {
            Report::Trouble(error) => Some(error.to_string()),
            Report::Refreshed(_) | Report::RefreshedAll => None,
            Report::Quiet => return,
        };
        // Full means that enough is waiting already.
        sender.try_send(trouble).ok();
    })?;
    let answer = door.answer("query_vault", input.clone())?;
    let mut last = shape.text(door.terminal, &answer);
    door.terminal.data(&last);
    while !door.terminal.is_gone() && runtime.block_on(events.next(door)) {
        match door.answer("query_vault", input.clone()) {
            Ok(answer) => {
                let text = shape.text(door.terminal, &answer);
                if text != last {
                    let between = if door.terminal.is_screen() { "\n" } else { "" };
                    door.terminal.data(&format!("{between}{text}"));
                    last = text;
                }
            }
            // The next change may mend it; whoever watches wants to know meanwhile.
            Err(failure) => door.terminal.error(&failure.refusal.message, &failure.refusal.hint),
        }
    }
    Ok(())
}

/// What ends the waiting.
struct Events {
    changes: Receiver<Option<String>>,
    interrupt: Signal,
    terminate: Signal,
}

impl Events {
    fn new(runtime: &Runtime, changes: Receiver<Option<String>>) -> Result<Events, Failure> {
        let _inside = runtime.enter();
        let interrupt = signal(SignalKind::interrupt()).map_err(cannot_wait)?;
        let terminate = signal(SignalKind::terminate()).map_err(cannot_wait)?;
        Ok(Events { changes, interrupt, terminate })
    }

    /// Waits for a change and then for quiet; `false` when it is time to end.
    async fn next(&mut self, door: &Door<'_>) -> bool {
        if !self.one(door).await {
            return false;
        }
        for _ in 0..MOST_PAUSES {
            match tokio::time::timeout(QUIET, self.one(door)).await {
                Err(_) => return true,
                Ok(true) => {}
                Ok(false) => return false,
            }
        }
        true
    }

    async fn one(&mut self, door: &Door<'_>) -> bool {
        tokio::select! {
            _ = self.interrupt.recv() => false,
            _ = self.terminate.recv() => false,
            change = self.changes.recv() => {
                if let Some(Some(trouble)) = &change {
                    door.terminal.note(&format!("note: {trouble}"));
                }
                change.is_some()
            }
        }
    }
}

fn cannot_wait(error: std::io::Error) -> Failure {
    Failure::new(Exit::Failed, "internal", format!("cannot wait for changes: {error}"), "ask without --watch")
}
