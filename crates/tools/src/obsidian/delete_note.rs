//! `obsidian_delete_note`: one file into the vault's trash. Never a folder, not even an empty one.
//!
//! The original asks its client before it deletes; here the road asks for every edit alike.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use vault::files::{Entry, Kind};
use vault::{Error, VaultPath};

use super::shape::without;
use super::target::NoteTarget;
use crate::edit::delete_file::delete;
use crate::edit::rewrite::Original;

/// Delete a note: it goes to the vault's trash and can be restored. The path must be exact.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    target: NoteTarget,
    /// Version you read.
    if_match: Option<String>,
}

/// The tool.
pub struct DeleteNote;

impl Tool for DeleteNote {
    const SPEC: Spec = Spec::new("obsidian_delete_note", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let path = input.target.exact(view)?;
        if let Some(Entry { kind: Kind::Folder, .. }) = view.look(&path)? {
            return Err(is_folder(path));
        }
        if input.if_match.is_some() {
            Original::read(view, path.clone(), input.if_match.as_deref())?;
        }
        Ok(without(delete(path, view)?, &["trashedAs", "linkedFrom", "backlinks", "warnings"]))
    }
}

fn is_folder(path: VaultPath) -> Refusal {
    let mut refusal = Refusal::from(Error::IsFolder { path });
    refusal.hint = "list it with obsidian_list_notes and delete its files one at a time".to_owned();
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::{Value, json};

    fn at(path: &str) -> Value {
        json!({"target": {"type": "path", "path": path}})
    }

    #[test]
    fn a_note_goes_to_the_trash() {
        let vault = "F/a.md: x\n--- b.md: [[a]]";
        check(
            DeleteNote,
            vault,
            at("/F/a.md"),
            expect![[r#"
            deleted `F/a.md`: it is now `.trash/a.md`
            warning: 1 link to it left as they are, in `b.md`
            - F/a.md (to the trash, as .trash/a.md)
        "#]],
        );
        expect![[r#"{"path":"F/a.md","deleted":true,"previousSizeInBytes":1,"currentSizeInBytes":0}"#]]
            .assert_eq(&data(DeleteNote, vault, at("F/a.md")).to_string());
    }

    #[test]
    fn folders_other_spellings_and_old_versions_are_refused() {
        check(
            DeleteNote,
            "F/a.md: x",
            at("F/"),
            expect![
                "refused: path_is_directory: `F` is a folder. list it with obsidian_list_notes and delete its files one at a time"
            ],
        );
        check(
            DeleteNote,
            "F/:",
            at("F"),
            expect![
                "refused: path_is_directory: `F` is a folder. list it with obsidian_list_notes and delete its files one at a time"
            ],
        );
        check(
            DeleteNote,
            "Plan.md: x",
            at("plan.md"),
            expect!["refused: note_missing: there is no `plan.md` in the vault. did you mean `Plan.md`?"],
        );
        let mut old = at("a.md");
        old["ifMatch"] = json!("00");
        check(
            DeleteNote,
            "a.md: x",
            old,
            expect![
                "refused: version_mismatch: `a.md` is at version 3ae7d805f6789a64, not 00: it was changed meanwhile. read it again and repeat the edit on the new text"
            ],
        );
        check(
            DeleteNote,
            "a.md: x",
            json!({"target": {"type": "periodic", "period": "daily"}}),
            expect![
                "refused: periodic_not_found: there is no daily note of 2026-03-14 that may be read here. name another note by its path, or create it with obsidian_write_note at `2026-03-14.md`"
            ],
        );
    }
}
