//! `obsidian_history` and `obsidian_undo`: what was changed, and taking it back. The original has neither.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use vault::VaultPath;

use super::rooted::Rooted;
use crate::edit::{RestoreCheckpoint, restore_checkpoint};
use crate::read::{ListCheckpoints, list_checkpoints};

/// List what was changed in the vault, newest first, with the ids that obsidian_undo takes.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryInput {
    /// Only changes of this file, or in this folder.
    path: Option<Rooted<VaultPath>>,
    /// Changes to list, up to 1,000.
    #[serde(default = "fifty")]
    limit: usize,
    /// How many to pass over: `next` of the page before.
    #[serde(default)]
    offset: usize,
}

fn fifty() -> usize {
    50
}

/// The tool.
pub struct History;

impl Tool for History {
    const SPEC: Spec = Spec::new("obsidian_history", Group::Read, Effect::Answers).deferred();
    type Input = HistoryInput;

    async fn plan(&self, input: HistoryInput, view: &View<'_>) -> Result<Plan, Refusal> {
        let inner = list_checkpoints::Input {
            task: None,
            path: input.path.map(|path| path.0),
            limit: input.limit,
            offset: input.offset,
            verbose: false,
        };
        ListCheckpoints.plan(inner, view).await
    }
}

/// Take back a change, or one file of it. Refused if the file was changed again since, unless `force`. Undoing can be
/// undone.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndoInput {
    /// Id of the change, or the start of it, from obsidian_history.
    id: String,
    /// Only this file of it.
    path: Option<Rooted<VaultPath>>,
    /// Take back even what was changed again since.
    #[serde(default)]
    force: bool,
}

/// The tool.
pub struct Undo;

impl Tool for Undo {
    const SPEC: Spec = Spec::new("obsidian_undo", Group::Edit, Effect::Edits).deferred();
    type Input = UndoInput;

    async fn plan(&self, input: UndoInput, view: &View<'_>) -> Result<Plan, Refusal> {
        let path = input.path.map(|path| path.0);
        let inner = restore_checkpoint::Input { commit_oid: input.id, path, mode: None, force: input.force };
        RestoreCheckpoint.plan(inner, view).await
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pipeline::approve::Beforehand;
    use pipeline::testing::{Rig, show};
    use serde_json::{Value, json};

    #[test]
    fn a_change_is_listed_and_taken_back() {
        let rig = Rig::new("a.md: one\n", crate::table::obsidian());
        rig.task.activate(&["obsidian_history".to_owned(), "obsidian_undo".to_owned()]);
        let call = |tool: &str, input: Value| rig.call(tool, input, &Beforehand);
        let note = json!({"target": {"type": "path", "path": "a.md"}, "content": "two\n"});
        call("obsidian_append_to_note", note);
        let history = call("obsidian_history", json!({"path": "/a.md"}));
        expect![[r#"
            1 checkpoint, newest first
            000000000001  2026-03-14 09:26  obsidian_append_to_note in task-1  ~ a.md"#]]
        .assert_eq(&show(&history));
        let id = history.output().unwrap().data["checkpoints"][0]["id"].clone();
        expect![[r#"
            restored `a.md`
            ~ a.md (8 -> 4 bytes)
             one
            -two
        "#]]
        .assert_eq(&show(&call("obsidian_undo", json!({"id": id}))));
        assert_eq!(rig.bytes("a.md"), b"one\n");
        expect!["refused: checkpoint_missing: there is no checkpoint `nope`. list the checkpoints and use an id or a longer prefix of it"].assert_eq(&show(&call("obsidian_undo", json!({"id": "nope"}))));
        expect![[r#"refused: path_traversal: the path has a `.` or `..` segment: "../a.md". give the path from the vault's root, with no `.` or `..` in any spelling"#]].assert_eq(&show(&call("obsidian_history", json!({"path": "../a.md"}))));
    }
}
