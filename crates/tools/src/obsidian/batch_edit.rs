//! `obsidian_batch_edit`: several edits of this surface as one plan, so one approval, one checkpoint, one undo.
//!
//! Each edit is planned on the text that those before it left, and only the sum is committed: all of it or nothing.
//! Deliberately not here: moves and deletes, which change what a path means to the edits behind them.

use std::collections::BTreeMap;

use pipeline::{Effect, Group};
use pipeline::{Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vault::view::Drafts;
use vault::{Change, VaultPath};

use super::{AppendToNote, ManageFrontmatter, ManageTags, PatchNote, ReplaceInNote, WriteNote};
use crate::page::clip;

/// Edits of one batch at most.
const MOST: usize = 200;

/// Make several edits in order as one step: all or none, one checkpoint, one undo. Each works on what the one before left.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Up to 200.
    #[schemars(length(min = 1, max = 200))]
    operations: Vec<Operation>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Operation {
    tool: Editor,
    /// What that tool takes.
    arguments: serde_json::Map<String, Value>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
enum Editor {
    #[serde(rename = "obsidian_write_note")]
    Write,
    #[serde(rename = "obsidian_append_to_note")]
    AppendTo,
    #[serde(rename = "obsidian_patch_note")]
    Patch,
    #[serde(rename = "obsidian_replace_in_note")]
    ReplaceIn,
    #[serde(rename = "obsidian_manage_frontmatter")]
    ManageFrontmatter,
    #[serde(rename = "obsidian_manage_tags")]
    ManageTags,
}

/// The tool.
pub struct BatchEdit;

impl Tool for BatchEdit {
    const SPEC: Spec = Spec::new("obsidian_batch_edit", Group::Edit, Effect::Edits).deferred();
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        if input.operations.is_empty() || input.operations.len() > MOST {
            let message = format!("a batch has 1 to {MOST} operations, not {}", input.operations.len());
            return Err(Refusal::new("input_invalid", message, "split it into several"));
        }
        let drafts = Drafts::default();
        let over = view.over(&drafts);
        let mut sum = Sum::default();
        let mut results = Vec::new();
        for (index, operation) in input.operations.into_iter().enumerate() {
            view.go_on()?;
            let plan = operation.plan(&over).await.map_err(|refusal| at(index, refusal))?;
            let output = match plan {
                Plan::Edit(edit) => {
                    edit.changes.into_iter().try_for_each(|change| sum.take(&drafts, change))?;
                    edit.output
                }
                Plan::Answer(output) => output,
                Plan::Act(_) | Plan::Steer(..) => return Err(odd()),
            };
            results.push(output);
        }
        Ok(sum.plan(results))
    }
}

impl Operation {
    async fn plan(self, view: &View<'_>) -> Result<Plan, Refusal> {
        let arguments = Value::Object(self.arguments);
        match self.tool {
            Editor::Write => plan(WriteNote, arguments, view).await,
            Editor::AppendTo => plan(AppendToNote, arguments, view).await,
            Editor::Patch => plan(PatchNote, arguments, view).await,
            Editor::ReplaceIn => plan(ReplaceInNote, arguments, view).await,
            Editor::ManageFrontmatter => plan(ManageFrontmatter, arguments, view).await,
            Editor::ManageTags => plan(ManageTags, arguments, view).await,
        }
    }
}

async fn plan<T>(tool: T, arguments: Value, view: &View<'_>) -> Result<Plan, Refusal>
where
    T: Tool,
    T::Input: DeserializeOwned,
{
    let input =
        serde_json::from_value(arguments).map_err(|error| pipeline::tool::bad_input(&json!({}), &error))?;
    tool.plan(input, view).await
}

/// The refusal of one operation, which is that of the batch.
fn at(index: usize, mut refusal: Refusal) -> Refusal {
    refusal.message = format!("operation {index}: {}; nothing was changed", refusal.message);
    refusal.with("operation", index)
}

fn odd() -> Refusal {
    Refusal::new("internal", "an edit planned something else", "this is a fault of Verger; please report it")
}

/// What all edits come to: for each file the text before the first and after the last.
#[derive(Default)]
struct Sum {
    files: BTreeMap<VaultPath, (Option<String>, String)>,
}

impl Sum {
    fn take(&mut self, drafts: &Drafts, change: Change) -> Result<(), Refusal> {
        let path = change.path().clone();
        let (before, after) = change.texts().ok_or_else(odd)?;
        let is_new = matches!(change, Change::Create { .. });
        drafts.put(path.clone(), after.to_owned());
        let entry = self.files.entry(path);
        let first = (!is_new).then(|| before.to_owned());
        entry.or_insert_with(|| (first, String::new())).1 = after.to_owned();
        Ok(())
    }

    fn plan(self, outputs: Vec<Output>) -> Plan {
        let mut changes = Vec::new();
        for (path, (before, after)) in self.files {
            match before {
                Some(before) if before == after => {}
                Some(before) => changes.push(Change::replace(path, before, after)),
                None => changes.push(Change::create(path, after)),
            }
        }
        let files: Vec<VaultPath> = changes.iter().map(|change| change.path().clone()).collect();
        let results: Vec<&Value> = outputs.iter().map(|output| &output.data).collect();
        let data = json!({ "files": files, "results": results });
        let mut text = format!("{} operations, {} files changed", outputs.len(), files.len());
        outputs.iter().take(50).for_each(|output| text += &format!("\n{}", clip(&output.text, 300)));
        let output = Output::new(text, data).from_vault("batch");
        if changes.is_empty() {
            return Plan::Answer(output);
        }
        let summary = format!("{} edits in {} files", outputs.len(), files.len());
        Plan::edit(changes, summary, output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::approve::Beforehand;
    use pipeline::testing::{Rig, check, show};

    fn edit(tool: &str, path: &str, more: Value) -> Value {
        let mut arguments = json!({"target": {"type": "path", "path": path}});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"tool": format!("obsidian_{tool}"), "arguments": arguments})
    }

    #[test]
    fn edits_of_one_note_build_on_each_other_and_are_one_change() {
        check(
            BatchEdit,
            "a.md: # A\none\n--- b.md: two\n",
            json!({"operations": [
                edit("append_to_note", "a.md", json!({"content": "three\n"})),
                edit("replace_in_note", "a.md", json!({"replacements": [{"search": "three", "replace": "four"}]})),
                edit("manage_tags", "b.md", json!({"operation": "add", "tags": ["x"]})),
                edit("write_note", "N/c.md", json!({"content": "new\n"})),
                edit("append_to_note", "N/c.md", json!({"content": "more\n"})),
            ]}),
            expect![[r#"
                5 operations, 3 files changed
                appended to `a.md`: +2 -1 lines, 7 -> 14 bytes, version 7e22859f6ca82a37
                replaced 1 times in `a.md`: +1 -1 lines, 14 -> 13 bytes, version 7cb5d8b1a0e0ab37
                changed the tags of `b.md`: +4 -0 lines, 4 -> 24 bytes, version 790aab72fe0a7059
                created `N/c.md`: +1 -0 lines, 0 -> 4 bytes, version 79d1d8da0b625035
                appended to `N/c.md`: +1 -0 lines, 4 -> 9 bytes, version 5298144f91706131
                + N/c.md (0 -> 9 bytes)
                +new
                +more
                ~ a.md (7 -> 13 bytes)
                 # A
                -one
                +one
                +four
                ~ b.md (4 -> 24 bytes)
                +---
                +tags:
                +  - x
                +---
                 two
            "#]],
        );
    }

    #[test]
    fn one_bad_operation_leaves_everything_as_it_was() {
        let rig = Rig::new("a.md: one\n", crate::table::obsidian());
        rig.task.activate(&["obsidian_batch_edit".to_owned()]);
        let before = rig.files();
        for bad in [
            edit(
                "patch_note",
                "a.md",
                json!({"section": {"type": "heading", "target": "Z"}, "operation": "append", "content": "x"}),
            ),
            edit("append_to_note", "../x.md", json!({"content": "x"})),
            edit("append_to_note", "a.md", json!({"content": "x", "ifMatch": "00"})),
            edit("append_to_note", "a.md", json!({"contnet": "x"})),
            edit("append_to_note", ".obsidian/x.md", json!({"content": "x"})),
        ] {
            let good = edit("append_to_note", "a.md", json!({"content": "two\n"}));
            let input = json!({"operations": [good, bad]});
            let outcome = rig.call("obsidian_batch_edit", input, &Beforehand);
            assert!(outcome.refusal().is_some(), "{bad}: {}", show(&outcome));
            assert_eq!(rig.files(), before, "{bad}");
        }
        let none = rig.call("obsidian_batch_edit", json!({"operations": []}), &Beforehand);
        assert_eq!(none.refusal().map(|refusal| &*refusal.reason), Some("input_invalid"));
    }

    #[test]
    fn a_batch_is_taken_back_by_one_undo() {
        let rig = Rig::new("a.md: one\n--- b.md: two\n", crate::table::obsidian());
        rig.task.activate(&["obsidian_batch_edit".to_owned(), "obsidian_undo".to_owned()]);
        let before = rig.files();
        let operations = json!({"operations": [
            edit("append_to_note", "a.md", json!({"content": "x"})),
            edit("append_to_note", "b.md", json!({"content": "y"})),
            edit("write_note", "c.md", json!({"content": "z"})),
        ]});
        let done = rig.call("obsidian_batch_edit", operations, &Beforehand);
        let pipeline::Outcome::Done { checkpoint: Some(id), .. } = &done else { panic!("{}", show(&done)) };
        assert_ne!(rig.files(), before);
        rig.call("obsidian_undo", json!({"id": id}), &Beforehand);
        assert_eq!(rig.files(), before);
    }
}
