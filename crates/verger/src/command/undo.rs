//! `undo`: the newest change that is not taken back yet, a named one, a task, or the last few.
//!
//! Undoing goes further back each time: an undo is not itself undone by the next `undo`, but by its id.

use std::collections::{BTreeSet, HashMap};

use pipeline::Outcome;
use serde_json::{Value, json};
use vault::store::record::Ending;

use crate::args::Writing;
use crate::door::Door;
use crate::failure::{Exit, Failure};

/// The tool that takes back.
const RESTORE: &str = "restore_checkpoint";

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
    let ids: Vec<String> = not_undone(&commits(door)?).into_iter().take(wanted).collect();
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

/// A commit, as far as undoing cares.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Commit {
    id: String,
    task: String,
    /// What it takes back, if it is an undo.
    takes_back: Option<TakesBack>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TakesBack {
    Call(String),
    Task(String),
    /// One file of a call, or something we cannot tell: nothing counts as taken back.
    Part,
}

/// The commits that took effect, newest first.
fn commits(door: &Door<'_>) -> Result<Vec<Commit>, Failure> {
    let notes: HashMap<String, Value> = door.road.vault().commits_with_notes().into_iter().collect();
    let scope = door.scope()?;
    let all = door.road.vault().view(&scope).checkpoints();
    let done = all.into_iter().filter(|info| matches!(info.ending, Some(Ending::Done | Ending::Finished)));
    Ok(done
        .map(|info| {
            let takes_back = (info.tool == RESTORE)
                .then(|| takes_back(notes.get(&info.id).and_then(|note| note.get("input"))));
            Commit { id: info.id, task: info.task, takes_back }
        })
        .collect())
}

fn takes_back(input: Option<&Value>) -> TakesBack {
    let text = |key: &str| input.and_then(|input| input.get(key)).and_then(Value::as_str).map(str::to_owned);
    match (text("path"), text("mode").as_deref(), text("commitOid")) {
        (None, Some("task"), Some(task)) => TakesBack::Task(task),
        (None, None | Some("call"), Some(id)) => TakesBack::Call(id),
        _ => TakesBack::Part,
    }
}

/// The changes that stand, newest first; undos themselves are left out.
fn not_undone(commits: &[Commit]) -> Vec<String> {
    let mut undone: BTreeSet<&str> = BTreeSet::new();
    let mut standing = Vec::new();
    for (index, commit) in commits.iter().enumerate() {
        if undone.contains(commit.id.as_str()) {
            continue;
        }
        let older = &commits[index + 1..];
        match &commit.takes_back {
            None => standing.push(commit.id.clone()),
            Some(TakesBack::Part) => {}
            Some(TakesBack::Call(id)) => {
                undone.extend(
                    older
                        .iter()
                        .filter(|other| other.id.starts_with(id.as_str()))
                        .map(|other| other.id.as_str()),
                );
            }
            // A task is named by its own id or by one of its checkpoints.
            Some(TakesBack::Task(name)) => {
                let task = older
                    .iter()
                    .find(|other| other.id.starts_with(name.as_str()))
                    .map_or(name, |other| &other.task);
                undone
                    .extend(older.iter().filter(|other| other.task == *task).map(|other| other.id.as_str()));
            }
        }
    }
    standing
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newest first: `c=b` takes back b, `c:t` takes back task t, `c?` takes back a part.
    #[track_caller]
    fn check(log: &str, expected: &str) {
        let commits: Vec<Commit> = log
            .split_whitespace()
            .map(|word| {
                let id = word[..1].to_owned();
                let takes_back = match word.get(1..2) {
                    Some("=") => Some(TakesBack::Call(word[2..].to_owned())),
                    Some(":") => Some(TakesBack::Task(word[2..].to_owned())),
                    Some("?") => Some(TakesBack::Part),
                    _ => None,
                };
                let task = word.get(1..).filter(|_| takes_back.is_none()).unwrap_or_default().to_owned();
                Commit { id, task, takes_back }
            })
            .collect();
        assert_eq!(not_undone(&commits).join(" "), expected, "{log}");
    }

    #[test]
    fn undo_goes_further_back_each_time() {
        check("c b a", "c b a");
        check("d=c c b a", "b a");
        check("e=b d=c c b a", "a");
        check("f=a e=b d=c c b a", "");
        check("e d=c c b a", "e b a");
        check("e=d d=c c b a", "c b a");
        check("d? c b a", "c b a");
        check("z:t ct bt a", "a");
        check("z:b ct bt a", "a");
    }
}
