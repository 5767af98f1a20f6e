//! `diff_checkpoint`: what a change changed, as a real unified diff.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::store::record::Step;
use vault::view::CheckpointInfo;
use vault::{Change, VaultPath};

use super::checkpoint::{file, find, words};
use crate::clock::minute;
use crate::page::{count, page};
use crate::window::window;

/// Files of one answer at most; each is compared line by line.
const MOST: usize = 100;

/// The tool.
pub struct DiffCheckpoint;

/// Show what the change of a checkpoint did: with a path the unified diff of that file, without one the lines added and
/// removed in each file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The checkpoint's id, or a prefix that only it has.
    #[serde(rename = "commitOid")]
    checkpoint: String,
    /// The file to compare.
    path: Option<VaultPath>,
    /// What the text before the change is compared with.
    #[serde(default)]
    against: Against,
    /// With a path the first line of the diff to show, from 1; without one how many files to pass over.
    #[serde(default)]
    offset: usize,
    /// First character to show in the first line, from 1; only for lines longer than one answer.
    #[serde(default)]
    column: usize,
}

/// The other side of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Against {
    /// The text right after the change.
    #[default]
    After,
    /// The text as it is now.
    Now,
}

impl Tool for DiffCheckpoint {
    const SPEC: Spec = Spec::new("diff_checkpoint", Group::Read, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let info = find(view, &input.checkpoint)?;
        let output = match &input.path {
            Some(path) => one_file(view, &info, path, &input)?,
            None => all_files(view, &info, &input)?,
        };
        Ok(Plan::Answer(output))
    }
}

fn one_file(
    view: &View<'_>,
    info: &CheckpointInfo,
    path: &VaultPath,
    input: &Input,
) -> Result<Output, Refusal> {
    let change = compare(view, info, path, input.against)?;
    let (added, removed) = change.as_ref().map_or((0, 0), Change::lines);
    let diff = change.map(|change| change.diff()).unwrap_or_default();
    let window = window(&diff, i64::try_from(input.offset).unwrap_or(i64::MAX), input.column, None)?;
    let again = json!({ "commitOid": info.id, "path": path, "against": input.against });
    let text = match diff.is_empty() {
        true => format!("{path} is the same on both sides of checkpoint {}", info.id),
        false => format!("{}{}", window.content, window.rest("diff_checkpoint", again)),
    };
    let data = json!({
        "id": info.id,
        "path": path,
        "added": added,
        "removed": removed,
        "diff": window.content,
        "total_lines": window.total_lines,
        "next": window.next,
    });
    Ok(Output::new(text, data).from_vault(path.as_str()).telling_note(view, path))
}

fn all_files(view: &View<'_>, info: &CheckpointInfo, input: &Input) -> Result<Output, Refusal> {
    let page = page(&info.steps, input.offset, MOST, |step| words(step).len() + 30);
    let mut text = format!(
        "checkpoint {} of {}, {} in {}: {}",
        info.id,
        minute(view, info.time_ms),
        info.tool,
        info.task,
        count(info.steps.len(), "step"),
    );
    let mut files = Vec::new();
    for step in page.items {
        let changed = match step {
            Step::Write { path, .. } => compare(view, info, path, input.against)?,
            _ => None,
        };
        let (added, removed) = changed.as_ref().map_or((0, 0), Change::lines);
        let step = words(step);
        text += &format!("\n{step} +{added} -{removed}");
        files.push(json!({ "step": step, "added": added, "removed": removed }));
    }
    if let Some(next) = page.next {
        text += &format!("\n[{} more. Go on with offset {next}]", info.steps.len() - next);
    }
    let data = json!({ "id": info.id, "steps": files, "total_steps": info.steps.len(), "next": page.next });
    Ok(Output::new(text, data).from_vault("checkpoints").telling_nothing())
}

/// The change from the text before to the other side; none if both are the same.
fn compare(
    view: &View<'_>,
    info: &CheckpointInfo,
    path: &VaultPath,
    against: Against,
) -> Result<Option<Change>, Refusal> {
    let (before, after) = file(view, info, path)?;
    let after = match against {
        Against::After => after,
        Against::Now => view.look(path)?.map(|_| view.read(path)).transpose()?,
    };
    Ok(match (before, after) {
        (Some(before), Some(after)) if before == after => None,
        (Some(before), Some(after)) => Some(Change::replace(path.clone(), before, after)),
        (None, Some(after)) => Some(Change::create(path.clone(), after)),
        (Some(before), None) => Some(Change::Delete { path: path.clone(), before: before.into() }),
        (None, None) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::testing::{ask, rig};
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::Value;

    #[track_caller]
    fn check(input: Value, expected: Expect) {
        expected.assert_eq(&ask(&rig(DiffCheckpoint), "diff_checkpoint", input));
    }

    #[test]
    fn order_and_duplicates_are_seen() {
        check(
            json!({"commitOid": "000000000001", "path": "a.md"}),
            expect![[r#"
            --- a/a.md
            +++ b/a.md
            @@ -1,3 +1,3 @@
            +two
             one
            -two
             two
        "#]],
        );
    }

    #[test]
    fn without_a_path_the_lines_of_each_file_are_counted() {
        check(
            json!({"commitOid": "000000000001"}),
            expect![[r#"
            checkpoint 000000000001 of 2026-03-14 09:26, put in task-1: 1 step
            ~ a.md +1 -1"#]],
        );
        check(
            json!({"commitOid": "000000000002"}),
            expect![[r#"
            checkpoint 000000000002 of 2026-03-14 09:26, put in task-1: 1 step
            + b.md +1 -0"#]],
        );
    }

    #[test]
    fn the_text_before_can_be_compared_with_what_is_there_now() {
        check(
            json!({"commitOid": "000000000001", "path": "a.md", "against": "now"}),
            expect![[r#"
            --- a/a.md
            +++ b/a.md
            @@ -1,3 +1 @@
            -one
            -two
            -two
            +three
        "#]],
        );
        check(
            json!({"commitOid": "000000000002", "path": "b.md", "offset": 3}),
            expect![[r#"
            @@ -0,0 +1 @@
            +new
            \ No newline at end of file
        "#]],
        );
        check(
            json!({"commitOid": "000000000002", "path": "a.md"}),
            expect![[
                r#"refused: checkpoint_file_missing: checkpoint 000000000002 holds no text of `a.md`. its steps are: + b.md"#
            ]],
        );
    }
}
