//! `patch_note`: structured edits of headings, blocks and properties, several in one write.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::VaultPath;
use vault::edit::patch::{self, Patch};

use super::rewrite::Original;

/// Edit a note by its structure: replace, prepend, append or delete the content or the name of a heading, block or
/// property, or move a section. White space and heading levels are looked after. Several edits are made in order and
/// written once; if one does not fit, none is made.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the note, e.g. `Projects/Plan.md`.
    path: VaultPath,
    /// The edits, each made on what the one before left.
    #[schemars(length(min = 1))]
    edits: Vec<Patch>,
    /// The version that you read; the edit is refused if the note has changed since.
    #[serde(default, rename = "ifMatch")]
    if_match: Option<String>,
}

/// The tool.
pub struct PatchNote;

impl Tool for PatchNote {
    const SPEC: Spec = Spec::new("patch_note", Group::Edit, Effect::Edits).deferred();
    type Input = Input;

    async fn plan(&self, mut input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let Some(first) = input.edits.first_mut() else {
            return Err(Refusal::new("input_invalid", "there is nothing to do", "give at least one edit"));
        };
        // The version of an edit behind the first would be one that nobody has seen.
        let expected = input.if_match.or(first.if_match.take());
        let original = Original::read_note(view, input.path, expected.as_deref())?;
        let mut text = original.text().to_owned();
        let mut warnings = Vec::new();
        for (index, edit) in input.edits.iter().enumerate() {
            let patched =
                patch::apply(&text, edit).map_err(|error| named(error.into(), index, input.edits.len()))?;
            text = patched.text;
            warnings.extend(patched.warnings);
        }
        original.becomes(text, "patched", json!({ "warnings": warnings }))
    }
}

/// Says which of several edits did not fit.
fn named(mut refusal: Refusal, index: usize, of: usize) -> Refusal {
    if of > 1 {
        refusal.message = format!("edit {} of {of}: {}", index + 1, refusal.message);
    }
    refusal.with("edit", index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn several_edits_are_one_write() {
        check(
            PatchNote,
            "a.md: # A\ntext\n## B\nmore\n",
            json!({"path": "a.md", "edits": [
                {"targetType": "heading", "target": ["A", "B"], "operation": "replace", "content": "less"},
                {"targetType": "heading", "target": "B", "operation": "replace", "scope": "marker", "content": "C"},
                {"targetType": "frontmatter", "target": "n", "operation": "replace", "value": 1,
                 "createTargetIfMissing": true}]}),
            expect![[r#"
                patched `a.md`: +5 -2 lines, 19 -> 32 bytes, version 6604bd33ed625457
                ~ a.md (19 -> 32 bytes)
                +---
                +n: 1
                +---
                 # A
                 text
                -## B
                -more
                +## C
                +less
            "#]],
        );
    }

    #[test]
    fn one_edit_that_does_not_fit_stops_all() {
        check(
            PatchNote,
            "a.md: # A\n",
            json!({"path": "a.md", "edits": [
                {"targetType": "heading", "target": "A", "operation": "append", "content": "x"},
                {"targetType": "heading", "target": "Z", "operation": "append", "content": "x"}]}),
            expect![
                "refused: section_target_missing: edit 2 of 2: there is no heading `Z` in this note. read the document map and use an entry of it, or set createTargetIfMissing to make it; there is `A`"
            ],
        );
    }

    #[test]
    fn an_old_version_is_refused() {
        check(
            PatchNote,
            "a.md: # A\n",
            json!({"path": "a.md", "edits": [
                {"targetType": "heading", "target": "A", "operation": "append", "content": "x", "ifMatch": "00"}]}),
            expect![
                "refused: version_mismatch: `a.md` is at version 83c0644fd4a5e238, not 00: it was changed meanwhile. read it again and repeat the edit on the new text"
            ],
        );
    }
}
