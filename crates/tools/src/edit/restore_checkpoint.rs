//! `restore_checkpoint`: a file, a call or a whole task taken back.

use std::collections::BTreeSet;

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::restore::{Conflict, Restore, Undo};
use vault::{Change, VaultPath};

use super::rewrite::{count, some_of};

/// Take changes back: all of one checkpoint, one file of it, or everything that its task did. Files get their earlier bytes,
/// created ones go, deleted and moved ones return. What was changed again since is not overwritten unless you say so. The
/// restore is itself a checkpoint and can be taken back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The checkpoint: its id or the beginning of it. With mode `task`, the task's id will do as well.
    #[serde(rename = "commitOid")]
    pub(crate) commit_oid: String,
    /// Only this file of the checkpoint.
    #[serde(default)]
    pub(crate) path: Option<VaultPath>,
    /// What to take back. Without it: the file if `path` is given, else the whole call.
    #[serde(default)]
    pub(crate) mode: Option<Mode>,
    /// Take back even what was changed again since; the newer text stays in the new checkpoint.
    #[serde(default)]
    pub(crate) force: bool,
}

/// How much to take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// One file of the checkpoint.
    File,
    /// All files of the checkpoint.
    Call,
    /// Everything that the checkpoint's task did, to the state before its first change.
    Task,
}

/// The tool.
pub struct RestoreCheckpoint;

impl Tool for RestoreCheckpoint {
    const SPEC: Spec = Spec::new("restore_checkpoint", Group::Edit, Effect::Edits).deferred();
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let conflict = if input.force { Conflict::Overwrite } else { Conflict::Refuse };
        let undo = undo(input, view)?;
        let restore = view.plan_restore(&undo, conflict)?;
        if restore.changes.is_empty() && restore.lost.is_empty() {
            return Ok(Plan::answer("nothing to take back: everything is as it was", data(&restore)));
        }
        let text = answer(&restore);
        if restore.changes.is_empty() {
            return Ok(Plan::answer(text, data(&restore)));
        }
        let summary = format!("take back {}", said(&undo, &restore));
        let output = Output::new(text, data(&restore));
        Ok(Plan::edit(restore.changes, summary, output))
    }
}

fn undo(input: Input, view: &View<'_>) -> Result<Undo, Refusal> {
    let mode = input.mode.unwrap_or(if input.path.is_some() { Mode::File } else { Mode::Call });
    match (mode, input.path) {
        (Mode::File, Some(path)) => Ok(Undo::File(view.checkpoint(&input.commit_oid)?.id, path)),
        (Mode::Call, None) => Ok(Undo::Call(view.checkpoint(&input.commit_oid)?.id)),
        (Mode::Task, None) => Ok(Undo::Task(match view.checkpoint(&input.commit_oid) {
            Ok(checkpoint) => checkpoint.task,
            Err(_) => input.commit_oid,
        })),
        (Mode::File, None) => Err(Refusal::new(
            "input_invalid",
            "mode `file` needs a path",
            "name the file, or use mode `call`",
        )),
        (Mode::Call | Mode::Task, Some(_)) => Err(Refusal::new(
            "input_invalid",
            "a path goes with mode `file` only",
            "leave out the path, or use mode `file`",
        )),
    }
}

fn said(undo: &Undo, restore: &Restore) -> String {
    match undo {
        Undo::Call(id) => format!("checkpoint {id}"),
        Undo::File(id, path) => format!("{path} of checkpoint {id}"),
        Undo::Task(task) => format!("task {task} ({})", count(restore.of.len(), "checkpoint")),
    }
}

/// The paths that people would look at afterwards, each once.
fn paths(restore: &Restore) -> Vec<&VaultPath> {
    let all: BTreeSet<&VaultPath> = restore.changes.iter().map(Change::path).collect();
    all.into_iter().collect()
}

fn answer(restore: &Restore) -> String {
    let mut text = match paths(restore) {
        paths if paths.is_empty() => "nothing was taken back".to_owned(),
        paths => format!("restored {}", some_of(&paths)),
    };
    if !restore.lost.is_empty() {
        text.push_str(&format!(
            "\nwarning: could not be moved back, it is gone or its place is taken: {}",
            some_of(&restore.lost)
        ));
    }
    text
}

fn data(restore: &Restore) -> serde_json::Value {
    json!({ "restored": paths(restore), "checkpoints": restore.of, "lost": restore.lost })
}
