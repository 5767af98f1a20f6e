//! `obsidian_move_note`: another path, and every link follows. The original has no such tool.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use vault::VaultPath;

use super::rooted::Rooted;
use super::shape::without;
use crate::edit::move_file::move_to;
use crate::edit::place::Destination;
use crate::edit::rewrite::Original;

/// Move or rename a note, file or folder; links to it are rewritten in the same step. Nothing is overwritten.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// What to move.
    path: Rooted<VaultPath>,
    /// New path with its extension, or a folder to move it into (`Archive/`).
    destination: Rooted<Destination>,
    /// Version of the note that you read.
    if_match: Option<String>,
}

/// The tool.
pub struct MoveNote;

impl Tool for MoveNote {
    const SPEC: Spec = Spec::new("obsidian_move_note", Group::Edit, Effect::Edits).deferred();
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        if input.if_match.is_some() {
            Original::read(view, input.path.0.clone(), input.if_match.as_deref())?;
        }
        Ok(without(move_to(input.path.0, input.destination.0, view)?, &["created"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::json;

    #[test]
    fn a_note_moves_and_its_links_follow() {
        let vault = "a.md: x\n--- F/b.md: [[a]] [t](../a.md)";
        check(
            MoveNote,
            vault,
            json!({"path": "/a.md", "destination": "/G/c.md"}),
            expect![[r#"
            moved `a.md` to `G/c.md`
            links rewritten in `F/b.md`
            > a.md -> G/c.md
            ~ F/b.md (18 -> 20 bytes)
            -[[a]] [t](../a.md)
            +[[c]] [t](../G/c.md)
        "#]],
        );
        expect![[r#"{"source":"a.md","path":"G/a.md","previousSizeInBytes":1,"currentSizeInBytes":1,"version":"3ae7d805f6789a64","relinked":["F/b.md"],"left":[]}"#]]
            .assert_eq(&data(MoveNote, vault, json!({"path": "a.md", "destination": "G/"})).to_string());
        check(
            MoveNote,
            vault,
            json!({"path": "a.md", "destination": "F/b.md"}),
            expect![
                "refused: file_exists: `F/b.md` exists already. choose another name, or edit what is there"
            ],
        );
        check(
            MoveNote,
            vault,
            json!({"path": "z.md", "destination": "y.md"}),
            expect!["refused: note_missing: there is no `z.md` in the vault. did you mean `F/b.md`, `a.md`?"],
        );
        check(
            MoveNote,
            vault,
            json!({"path": "a.md", "destination": "/../y.md"}),
            expect![[
                r#"refused: path_traversal: the path has a `.` or `..` segment: "../y.md". give the path from the vault's root, with no `.` or `..` in any spelling"#
            ]],
        );
    }
}
