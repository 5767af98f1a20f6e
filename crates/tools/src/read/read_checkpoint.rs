//! `read_checkpoint`: a file as it was before a change.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::{Error, VaultPath};

use super::checkpoint::{file, find};
use crate::clock::minute;
use crate::window::window;

/// The tool.
pub struct ReadCheckpoint;

/// Read a file as it was before the change that a checkpoint stands for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The checkpoint's id, or a prefix that only it has.
    #[serde(rename = "commitOid")]
    checkpoint: String,
    /// The file's path at that time.
    path: VaultPath,
    /// First line to read, from 1; a negative number counts from the end.
    #[serde(default = "one")]
    offset: i64,
    /// Lines to read at most. An answer holds at most 50,000 characters.
    limit: Option<usize>,
    /// First character to read in the first line, from 1; only for lines longer than one answer.
    #[serde(default)]
    column: usize,
}

fn one() -> i64 {
    1
}

impl Tool for ReadCheckpoint {
    const SPEC: Spec = Spec::new("read_checkpoint", Group::Read, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let info = find(view, &input.checkpoint)?;
        let path = &input.path;
        let (before, _) = file(view, &info, path)?;
        let Some(before) = before else {
            let text = format!("`{path}` did not exist before checkpoint {}, which created it", info.id);
            let data = json!({ "id": info.id, "path": path, "existed": false });
            return Ok(Plan::Answer(Output::new(text, data).telling_nothing()));
        };
        let text = String::from_utf8(before)
            .map_err(|error| Error::Binary { path: path.clone(), byte: error.utf8_error().valid_up_to() })?;
        let window = window(&text, input.offset, input.column, input.limit)?;
        let shown = format!(
            "{path} as it was before checkpoint {} of {} ({})\n\n{}{}",
            info.id,
            minute(view, info.time_ms),
            window.lines(),
            window.content,
            window.rest("read_checkpoint", json!({ "commitOid": info.id, "path": path })),
        );
        let data = json!({
            "id": info.id,
            "path": path,
            "existed": true,
            "content": window.content,
            "first_line": window.first,
            "last_line": window.last,
            "total_lines": window.total_lines,
            "total_chars": window.total_chars,
            "next": window.next,
        });
        Ok(Plan::Answer(Output::new(shown, data).from_vault(path.as_str()).telling_note(view, path)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::testing::{ask, rig, rig_with};
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::Value;

    #[track_caller]
    fn check(input: Value, expected: Expect) {
        expected.assert_eq(&ask(&rig(ReadCheckpoint), "read_checkpoint", input));
    }

    #[test]
    fn the_text_before_the_change_is_shown() {
        check(
            json!({"commitOid": "000000000001", "path": "a.md"}),
            expect![[r#"
            a.md as it was before checkpoint 000000000001 of 2026-03-14 09:26 (lines 1-3 of 3)

            one
            two
            two
        "#]],
        );
        check(
            json!({"commitOid": "000000000003", "path": "a.md", "offset": 2, "limit": 1}),
            expect![[r#"
            a.md as it was before checkpoint 000000000003 of 2026-03-14 09:26 (lines 2-2 of 3)

            one

            [Lines 2-2 of 3 shown, 4 of 12 characters. The rest: read_checkpoint {"commitOid":"000000000003","path":"a.md","offset":3}]"#]],
        );
        check(
            json!({"commitOid": "000000000002", "path": "b.md"}),
            expect![[r#"`b.md` did not exist before checkpoint 000000000002, which created it"#]],
        );
    }

    #[test]
    fn a_prefix_is_enough_if_only_one_has_it() {
        let one = rig_with(ReadCheckpoint, &[("a.md", "two")]);
        let read = ask(&one, "read_checkpoint", json!({"commitOid": "0000", "path": "a.md"}));
        assert!(read.starts_with("a.md as it was before checkpoint 000000000001"), "{read}");
        check(
            json!({"commitOid": "0000", "path": "a.md"}),
            expect![[
                r#"refused: checkpoint_ambiguous: 3 checkpoints start with `0000`. list_checkpoints shows the ids; a prefix that only one of them has is enough"#
            ]],
        );
        check(
            json!({"commitOid": "", "path": "a.md"}),
            expect![[
                r#"refused: checkpoint_ambiguous: 3 checkpoints start with ``. list_checkpoints shows the ids; a prefix that only one of them has is enough"#
            ]],
        );
        check(
            json!({"commitOid": "f", "path": "a.md"}),
            expect![[
                r#"refused: checkpoint_missing: there is no checkpoint `f`. list_checkpoints shows the ids; a prefix that only one of them has is enough"#
            ]],
        );
        check(
            json!({"commitOid": "000000000002", "path": "a.md"}),
            expect![[
                r#"refused: checkpoint_file_missing: checkpoint 000000000002 holds no text of `a.md`. its steps are: + b.md"#
            ]],
        );
    }
}
