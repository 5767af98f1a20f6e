//! `undo`: the newest change that is not taken back yet, a named one, a task, or the last few.
//!
//! Undoing goes further back each time: an undo is not itself undone by the next `undo`, but by its id.

use pipeline::Outcome;
use serde_json::{Value, json};

use crate::args::Writing;
use crate::door::Door;
use crate::failure::{Exit, Failure};
use crate::past::{self, RESTORE};

/// What `undo` was asked.
pub struct Undo {
    /// This change.
    pub id: Option<String>,
    /// Or this task.
    pub task: Option<String>,
    /// Or so many changes.
    pub last: Option<u16>,
    /// Although somebody else changed the file since.
    pub force: bool,
}

/// Takes back.
pub fn undo(door: &Door<'_>, undo: &Undo, writing: Writing) -> Result<(), Failure> {
    if let Some(task) = &undo.task {
        return restore(door, json!({"commitOid": task, "mode": "task"}), undo.force, writing);
    }
    if let Some(id) = &undo.id {
        // The whole id goes into the audit, so that a later `undo` knows what is taken back already.
        let scope = door.scope()?;
        let id = door.road.vault().view(&scope).checkpoint(id)?.id;
        return restore(door, json!({"commitOid": id}), undo.force, writing);
    }
    let wanted = usize::from(undo.last.unwrap_or(1));
    let ids = standing(door, wanted)?;
    if ids.is_empty() {
        return Err(Failure::new(
            Exit::Failed,
            "nothing_to_undo",
            "there is no change left to take back",
            "`verger history` shows what was changed; `verger undo ID` takes any of it back, an undo too",
        ));
    }
    if ids.len() < wanted {
        door.terminal.note(&format!("only {} changes are left to take back", ids.len()));
    }
    ids.into_iter().try_for_each(|id| restore(door, json!({"commitOid": id}), undo.force, writing))
}

fn restore(door: &Door<'_>, mut input: Value, force: bool, writing: Writing) -> Result<(), Failure> {
    if force {
        input["force"] = json!(true);
    }
    match door.call(RESTORE, input, writing) {
        Outcome::Refused(mut refusal) if refusal.reason == "restore_conflict" => {
            refusal.hint =
                "look at it with `verger diff`; add --force to take it back all the same (the newer text \
                            stays in the history)"
                    .to_owned();
            Err(refusal.into())
        }
        outcome => door.tell(&outcome),
    }
}

/// The newest changes that stand and may be seen.
fn standing(door: &Door<'_>, wanted: usize) -> Result<Vec<String>, Failure> {
    let scope = door.scope()?;
    let view = door.road.vault().view(&scope);
    let commits = past::commits(&view);
    let seen = past::standing(&commits).filter(|commit| view.checkpoint(&commit.id).is_ok());
    Ok(seen.take(wanted).map(|commit| commit.id.clone()).collect())
}
