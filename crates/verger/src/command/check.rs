//! `check`: the store, the audit, whether they tell the same story, and the conversations. Exit code 4 where something is wrong.

use std::collections::HashSet;

use pipeline::Refusal;
use pipeline::audit::{Ended, Entry};
use serde_json::{Value, json};
use state::Sessions;
use vault::store::gc::ReadData;
use vault::store::record::Ending;
use vault::view::CheckpointInfo;

use crate::door::{Door, STATE};
use crate::failure::{Exit, Failure};
use crate::paper::Role;
use crate::terminal::Terminal;

/// Checks everything that Verger keeps about the vault.
pub fn check(door: &Door<'_>, read_data: bool, repair: bool) -> Result<(), Failure> {
    let vault = door.road.vault();
    if repair {
        match vault.repair()? {
            Some(aside) => door.terminal.note(&format!(
                "the damaged store was put aside as {}; a new one holds what could be read",
                aside.display()
            )),
            None => door.terminal.note("the store needs no repair"),
        }
    }
    let store = vault.verify(if read_data { ReadData::Yes } else { ReadData::No })?;
    let audit = door.road.audit.verify()?;
    let scope = vault::policy::Scope::default();
    let checkpoints = vault.view(&scope).checkpoints();
    let mut problems = store.problems.clone();
    problems.extend(audit.problems.iter().cloned());
    problems.extend(cut_off(&vault.commits_with_notes(), &audit.hashes));
    problems.extend(interrupted(&checkpoints));
    problems.extend(stories(&checkpoints, &door.road.audit.last(usize::MAX)?));
    let (conversations, damage) = conversations(door);
    problems.extend(damage);
    let summary = format!(
        "{} checkpoints, {} stored files and {} audit lines read{conversations}",
        store.checkpoints, store.files_read, audit.lines
    );
    report(door.terminal, &summary, &problems, "a damaged store is mended with `verger check --repair`")
}

/// How many conversations were read, in words, and what is wrong with their file. Without a file there is nothing to say.
fn conversations(door: &Door<'_>) -> (String, Vec<String>) {
    let file = door.place.data.join(STATE);
    let checked =
        Sessions::open_if_there(&file).and_then(|sessions| sessions.map(|all| all.check()).transpose());
    match checked {
        Ok(None) => (String::new(), Vec::new()),
        Ok(Some(checked)) => (
            format!("; {} conversations with {} steps read", checked.sessions, checked.steps),
            checked.problems.iter().map(|problem| format!("conversations: {problem}")).collect(),
        ),
        Err(error) => (String::new(), vec![format!("conversations: {error}; {}", error.hint())]),
    }
}

fn interrupted(checkpoints: &[CheckpointInfo]) -> Vec<String> {
    checkpoints
        .iter()
        .filter(|info| info.ending.is_none())
        .map(|info| format!("checkpoint {}: the change was interrupted and is not put in order yet", info.id))
        .collect()
}

/// A commit remembers the line of the audit before it. Only the first that is missing is told: the rest follows from it.
fn cut_off(commits: &[(String, Value)], hashes: &HashSet<String>) -> Option<String> {
    let lost = |(_, note): &&(String, Value)| {
        note.get("after").and_then(Value::as_str).is_some_and(|hash| !hashes.contains(hash))
    };
    let (id, _) = commits.iter().find(lost)?;
    Some(format!(
        "audit: the line before checkpoint {id} is not there any more: lines were cut off, or lost when the machine went down"
    ))
}

/// Each change that took effect has its line in the audit, and each line its change.
fn stories(checkpoints: &[CheckpointInfo], entries: &[Entry]) -> Vec<String> {
    let done = |info: &&CheckpointInfo| matches!(info.ending, Some(Ending::Done | Ending::Finished));
    let lines: HashSet<&str> = entries.iter().filter_map(|entry| entry.checkpoint.as_deref()).collect();
    let ids: HashSet<&str> = checkpoints.iter().map(|info| info.id.as_str()).collect();
    let mut problems: Vec<String> = checkpoints
        .iter()
        .filter(done)
        .filter(|info| !lines.contains(info.id.as_str()))
        .map(|info| format!("checkpoint {}: the audit has no line about it", info.id))
        .collect();
    // Older checkpoints may have been dropped by age; from the oldest that is kept on, none may be missing.
    let from = entries
        .iter()
        .position(|entry| entry.checkpoint.as_deref().is_some_and(|id| ids.contains(id)))
        .unwrap_or(entries.len());
    problems.extend(
        entries[from..]
            .iter()
            .filter(|entry| entry.outcome == Ended::Done)
            .filter_map(|entry| entry.checkpoint.as_deref())
            .filter(|id| !ids.contains(id))
            .map(|id| format!("audit: the checkpoint {id} is not in the store any more")),
    );
    problems
}

/// Prints what a check found; an error with exit code 4 if there is something.
pub fn report(terminal: &Terminal, summary: &str, problems: &[String], hint: &str) -> Result<(), Failure> {
    let refusal = || {
        let count = problems.len();
        Refusal::new(
            "problems_found",
            format!("{count} problem{} found", if count == 1 { "" } else { "s" }),
            hint,
        )
        .with("problems", problems)
    };
    if terminal.json {
        if problems.is_empty() {
            terminal.json(&json!({"ok": true, "data": {"summary": summary, "problems": problems}}));
        }
    } else {
        for problem in problems {
            terminal.data(&format!(
                "{} {}\n",
                terminal.out.paint(Role::Bad, "problem:"),
                terminal.out.text(problem)
            ));
        }
        let verdict =
            if problems.is_empty() { terminal.out.paint(Role::Good, "ok:") } else { "checked:".to_owned() };
        terminal.data(&format!("{verdict} {summary}\n"));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Failure { exit: Exit::Problems, refusal: Box::new(refusal()) })
    }
}
