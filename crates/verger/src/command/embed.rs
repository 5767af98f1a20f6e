//! `embed`: works out the vectors of all notes while the person watches.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::args::Global;
use crate::door::Door;
use crate::failure::{Exit, Failure};
use crate::terminal::Terminal;

/// Embeds what has no vector yet. What is done is saved in steps, so it may be stopped at any time.
pub fn embed(global: &Global, terminal: &Terminal) -> Result<(), Failure> {
    let door = Door::open(global, terminal)?;
    let choice =
        door.config.embedding.choice().map_err(|problem| Failure::usage(problem.message, problem.hint))?;
    terminal.note(&format!("note: {}", choice.whereto()));
    let finder = door.road.vault().finder()?;
    let (last, speaker) = (AtomicUsize::new(0), Terminal::new(global.json, global.plain));
    finder.on_progress(Box::new(move |what, done, total| {
        // A line for every twentieth part is enough to see that it lives.
        let part = done * 20 / total.max(1);
        if last.swap(part, Ordering::Relaxed) != part {
            speaker.note(&format!("{what}: {done} of {total}"));
        }
    }));
    let done = finder.embed_all()?;
    finder.take_notices().iter().for_each(|notice| terminal.note(notice));
    for (path, why) in &done.problems {
        terminal.note(&format!("note: {path}: {why}"));
    }
    let (have, all) = (done.coverage.embedded, done.coverage.total);
    if let Some(why) = done.stopped {
        return Err(Failure::new(
            Exit::Failed,
            "embedding_stopped",
            format!("{have} of {all} pieces are embedded, then it stopped: {why}"),
            "what is done is saved; run `verger embed` again when the model is back",
        ));
    }
    if terminal.json {
        door.json(&json!({"model": done.model, "embedded": done.embedded, "coverage": done.coverage}));
        return Ok(());
    }
    terminal
        .data_line(&format!("{have} of {all} pieces embedded ({} now) with {}", done.embedded, done.model));
    Ok(())
}
