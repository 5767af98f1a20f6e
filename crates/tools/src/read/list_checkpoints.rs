//! `list_checkpoints`: what was changed, when, by which tool.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::VaultPath;
use vault::view::CheckpointInfo;

use super::checkpoint::{ending, touches, words};
use crate::clock::minute;
use crate::page::{clip, count, first_few, page};

/// Checkpoints of one answer at most.
const MOST: usize = 1_000;
/// How many files of one checkpoint are named.
const FEW: usize = 3;
/// How many of them if more is asked for.
const MANY: usize = 50;

/// The tool.
pub struct ListCheckpoints;

/// List the checkpoints of the vault, newest first: one for every call that changed something, from which it can be
/// read, compared and taken back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only those of this task.
    #[serde(rename = "taskId")]
    pub(crate) task: Option<String>,
    /// Only those that touched this file, or something in this folder.
    pub(crate) path: Option<VaultPath>,
    /// Checkpoints to list at most, up to 1,000.
    #[serde(default = "fifty")]
    pub(crate) limit: usize,
    /// How many to pass over: `next` of the page before.
    #[serde(default)]
    pub(crate) offset: usize,
    /// Name up to 50 files of each checkpoint instead of 3.
    #[serde(default)]
    pub(crate) verbose: bool,
}

fn fifty() -> usize {
    50
}

impl Tool for ListCheckpoints {
    const SPEC: Spec = Spec::new("list_checkpoints", Group::Read, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let mut found = view.checkpoints();
        // Filtered first, limited afterwards: an old change of one file must not hide behind new ones of others.
        found.retain(|info| fits(info, &input));
        let files = if input.verbose { MANY } else { FEW };
        let lines: Vec<String> = found.iter().map(|info| line(view, info, files)).collect();
        let page = page(&lines, input.offset, input.limit.min(MOST), String::len);
        let mut text = match found.len() {
            0 => "no checkpoints".to_owned(),
            number => format!("{}, newest first\n{}", count(number, "checkpoint"), page.items.join("\n")),
        };
        if let Some(next) = page.next {
            text += &format!("\n[{} more. Go on with offset {next}]", found.len() - next);
        }
        let shown = found.iter().skip(input.offset).take(page.items.len());
        let shown: Vec<Value> = shown.map(|info| data(view, info, files)).collect();
        let data = json!({ "checkpoints": shown, "total": found.len(), "next": page.next });
        Ok(Plan::Answer(Output::new(text, data).from_vault("checkpoints").telling_nothing()))
    }
}

fn fits(info: &CheckpointInfo, input: &Input) -> bool {
    input.task.as_ref().is_none_or(|task| *task == info.task)
        && input.path.as_ref().is_none_or(|path| info.steps.iter().any(|step| touches(step, path)))
}

fn line(view: &View<'_>, info: &CheckpointInfo, files: usize) -> String {
    let steps: Vec<String> = info.steps.iter().take(files).map(words).collect();
    let more = match info.steps.len().saturating_sub(files) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{}  {}  {} in {}{}  {}{more}",
        info.id,
        minute(view, info.time_ms),
        clip(&info.tool, 64),
        clip(&info.task, 64),
        ending(info),
        first_few(&steps, files),
    )
}

fn data(view: &View<'_>, info: &CheckpointInfo, files: usize) -> Value {
    let steps: Vec<String> = info.steps.iter().take(files).map(words).collect();
    json!({
        "id": info.id,
        "task": info.task,
        "tool": info.tool,
        "time": minute(view, info.time_ms),
        "steps": steps,
        "total_steps": info.steps.len(),
        "ending": info.ending,
    })
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::testing::{ask, rig};
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(input: Value, expected: Expect) {
        expected.assert_eq(&ask(&rig(ListCheckpoints), "list_checkpoints", input));
    }

    #[test]
    fn checkpoints_are_listed_newest_first_with_their_tool() {
        check(
            json!({}),
            expect![[r#"
            3 checkpoints, newest first
            000000000003  2026-03-14 09:26  put in task-2  ~ a.md
            000000000002  2026-03-14 09:26  put in task-1  + b.md
            000000000001  2026-03-14 09:26  put in task-1  ~ a.md"#]],
        );
    }

    #[test]
    fn the_limit_counts_what_is_left_after_the_filters() {
        check(
            json!({"path": "b.md", "limit": 1}),
            expect![[r#"
            1 checkpoint, newest first
            000000000002  2026-03-14 09:26  put in task-1  + b.md"#]],
        );
        check(
            json!({"taskId": "task-1", "limit": 1}),
            expect![[r#"
            2 checkpoints, newest first
            000000000002  2026-03-14 09:26  put in task-1  + b.md
            [1 more. Go on with offset 1]"#]],
        );
        check(
            json!({"taskId": "task-1", "limit": 1, "offset": 1}),
            expect![[r#"
            2 checkpoints, newest first
            000000000001  2026-03-14 09:26  put in task-1  ~ a.md"#]],
        );
        check(json!({"path": "c.md"}), expect![[r#"no checkpoints"#]]);
    }
}
