//! `history`, `diff`, `checkpoints`: what was changed, when and by whom.

use std::collections::HashSet;

use serde_json::{Value, json};
use vault::VaultPath;
use vault::store::gc::ReadData;

use crate::args::Checkpoints;
use crate::command::check::report;
use crate::door::Door;
use crate::failure::Failure;
use crate::paper::{self, Role};
use crate::past;

/// Shows the changes of the vault or of one note, newest first.
pub fn history(door: &Door<'_>, note: Option<&str>, limit: usize) -> Result<(), Failure> {
    let path = note.map(|note| named(door, note)).transpose()?;
    let mut input = json!({"limit": limit.clamp(1, 1000)});
    if let Some(path) = &path {
        input["path"] = json!(path);
    }
    let answer = door.answer("list_checkpoints", input)?;
    let mut checkpoints =
        answer.data.get("checkpoints").and_then(Value::as_array).cloned().unwrap_or_default();
    let scope = door.scope()?;
    let ids: Vec<String> =
        checkpoints.iter().filter_map(|one| Some(one.get("id")?.as_str()?.to_owned())).collect();
    let notes =
        past::notes(&door.road.vault().view(&scope), &ids.iter().map(String::as_str).collect::<HashSet<_>>());
    for checkpoint in &mut checkpoints {
        if let Some(note) = checkpoint.get("id").and_then(Value::as_str).and_then(|id| notes.get(id)) {
            checkpoint["agent"] = note.get("agent").cloned().unwrap_or_default();
            checkpoint["approval"] = note.get("approval").cloned().unwrap_or_default();
        }
    }
    if door.terminal.json {
        door.json(&json!({"checkpoints": checkpoints, "total": answer.data.get("total")}));
        return Ok(());
    }
    if checkpoints.is_empty() {
        door.terminal.note("no changes yet");
    }
    let text: String = checkpoints.iter().map(|checkpoint| line(door, checkpoint)).collect();
    door.terminal.data(&text);
    if let Some(next) = answer.data.get("next").and_then(Value::as_u64) {
        door.terminal.note(&format!("{next} shown; see more with --limit"));
    }
    Ok(())
}

/// A note that is gone still has a history: then the path is taken as it was typed.
fn named(door: &Door<'_>, note: &str) -> Result<VaultPath, Failure> {
    door.resolve(note).or_else(|failure| VaultPath::parse(crate::door::wiki_name(note)).map_err(|_| failure))
}

fn line(door: &Door<'_>, checkpoint: &Value) -> String {
    let paper = &door.terminal.out;
    let text = |key: &str| checkpoint.get(key).and_then(Value::as_str).unwrap_or_default();
    let steps: Vec<&str> = checkpoint
        .get("steps")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let total = checkpoint.get("total_steps").and_then(Value::as_u64).unwrap_or_default();
    let more = total.saturating_sub(steps.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let ending = match text("ending") {
        "undone" => " (failed, nothing was changed)",
        "finished" => " (interrupted, finished later)",
        _ => "",
    };
    let who = match (text("agent"), text("approval")) {
        ("", _) => String::new(),
        (agent, "") => format!(" by {agent}"),
        (agent, approval) => format!(" by {agent} ({approval})"),
    };
    format!(
        "{}  {}  {}{}  {}{more}{ending}  {}\n",
        paper.paint(Role::Place, text("id")),
        paper.text(text("time")),
        paper.text(text("tool")),
        paper.text(&who),
        paper.text(&paper::one_line(&steps.join(", "))),
        paper.paint(Role::Dim, &format!("[{}]", text("task"))),
    )
}

/// Shows a change as a diff, whole.
pub fn diff(door: &Door<'_>, id: &str, path: Option<&str>) -> Result<(), Failure> {
    let path = path.map(|path| named(door, path)).transpose()?;
    let mut input = json!({"commitOid": id});
    if let Some(path) = &path {
        input["path"] = json!(path);
    }
    // The road judges and audits; what it cuts for a model is shown whole to a person, through the same view.
    door.answer("diff_checkpoint", input)?;
    let scope = door.scope()?;
    let view = door.road.vault().view(&scope);
    let changes = past::changes(&view, &view.checkpoint(id)?, path.as_ref(), usize::MAX)?;
    if door.terminal.json {
        let files: Vec<Value> = changes
            .iter()
            .map(|change| {
                let (added, removed) = change.lines();
                json!({"path": change.path(), "added": added, "removed": removed, "diff": change.diff()})
            })
            .collect();
        door.json(&json!({"id": id, "files": files}));
        return Ok(());
    }
    let text: String =
        changes.iter().map(|change| paper::diff(&door.terminal.out, &change.diff(), usize::MAX)).collect();
    door.terminal.data(&text);
    Ok(())
}

/// Looks after the store.
pub fn checkpoints(door: &Door<'_>, what: Option<Checkpoints>) -> Result<(), Failure> {
    match what.unwrap_or(Checkpoints::List { limit: 50 }) {
        Checkpoints::List { limit } => history(door, None, limit),
        Checkpoints::Gc => {
            let done = door.road.vault().collect(door.config.retention, door.now_ms())?;
            let data = json!({
                "dropped": done.dropped, "kept": done.kept,
                "bytes_before": done.bytes_before, "bytes_after": done.bytes_after,
            });
            if door.terminal.json {
                door.json(&data);
            } else {
                door.terminal.data(&format!(
                    "{} checkpoints dropped, {} kept; {} -> {} bytes\n",
                    done.dropped, done.kept, done.bytes_before, done.bytes_after
                ));
            }
            Ok(())
        }
        Checkpoints::Verify => {
            let found = door.road.vault().verify(ReadData::Yes)?;
            let summary =
                format!("{} checkpoints and {} stored files read", found.checkpoints, found.files_read);
            report(
                door.terminal,
                &summary,
                &found.problems,
                "run `verger check --repair` to start from what can be read",
            )
        }
    }
}
