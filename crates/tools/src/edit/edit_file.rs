//! `edit_file`: this text for that, where it stands so many times.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::VaultPath;
use vault::edit::replace;

use super::rewrite::Original;

/// Replace a piece of text in a file. `old_str` must occur exactly `expected_replacements` times, otherwise nothing is
/// changed; if it does not occur as given, differences in spaces, tabs and line ends are overlooked. Copy it from the
/// file with enough around it to be unique.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path inside the vault, e.g. `Projects/Plan.md`.
    path: VaultPath,
    /// The text to replace, exactly as it stands in the file.
    old_str: String,
    /// The text to put there; empty to take the old text out.
    new_str: String,
    /// How often `old_str` occurs; all of them are replaced.
    #[serde(default = "once")]
    expected_replacements: usize,
    /// The version that you read; the edit is refused if the file has changed since.
    #[serde(default, rename = "ifMatch")]
    if_match: Option<String>,
}

fn once() -> usize {
    1
}

/// New text of this length is more easily written whole than matched again.
const LONG: usize = 1_000;

/// The tool.
pub struct EditFile;

impl Tool for EditFile {
    const SPEC: Spec = Spec::new("edit_file", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let original = Original::read(view, input.path, input.if_match.as_deref())?;
        let after =
            replace::exact(original.text(), &input.old_str, &input.new_str, input.expected_replacements)
                .map_err(|error| {
                    let mut refusal = Refusal::from(error).with("path", original.path());
                    if input.new_str.chars().count() >= LONG {
                        refusal.hint.push_str("; for this much new text, write_file may be simpler");
                    }
                    refusal
                })?;
        original.becomes(after, "edited", json!({ "replacements": input.expected_replacements }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn one_piece_of_text_is_replaced() {
        check(
            EditFile,
            "a.md: one\ntwo\nthree\n",
            json!({"path": "a.md", "old_str": "two", "new_str": "2"}),
            expect![[r#"
                edited `a.md`: +1 -1 lines, 14 -> 12 bytes, version ba13ea9b04ef16c1
                ~ a.md (14 -> 12 bytes)
                 one
                -two
                +2
                 three
            "#]],
        );
    }

    #[test]
    fn more_or_fewer_hits_than_expected_are_refused() {
        let vault = "a.md: x y\nx z\n";
        check(
            EditFile,
            vault,
            json!({"path": "a.md", "old_str": "x", "new_str": "w"}),
            expect![
                "refused: match_count: the text occurs 2 times, not 1 (line 1, line 2). give more of the text around the right place, or say that 2 replacements are expected"
            ],
        );
        check(
            EditFile,
            vault,
            json!({"path": "a.md", "old_str": "x", "new_str": "w", "expected_replacements": 3}),
            expect![
                "refused: match_count: the text occurs 2 times, not 3 (line 1, line 2). give more of the text around the right place, or say that 2 replacements are expected"
            ],
        );
        check(
            EditFile,
            vault,
            json!({"path": "a.md", "old_str": "x", "new_str": "w", "expected_replacements": 2}),
            expect![[r#"
                edited `a.md`: +2 -2 lines, 8 -> 8 bytes, version adadce5fabb3b6f9
                ~ a.md (8 -> 8 bytes)
                -x y
                -x z
                +w y
                +w z
            "#]],
        );
    }

    #[test]
    fn white_space_may_differ_and_the_rest_of_the_line_stays() {
        check(
            EditFile,
            "a.md: - [ ]\tbuy   milk  \n",
            json!({"path": "a.md", "old_str": "[ ] buy milk", "new_str": "[x] buy milk"}),
            expect![[r#"
                edited `a.md`: +1 -1 lines, 19 -> 17 bytes, version 8465469b275fb19f
                ~ a.md (19 -> 17 bytes)
                -- [ ]	buy   milk  
                +- [x] buy milk  
            "#]],
        );
    }

    #[test]
    fn text_that_is_not_there_is_refused_with_the_nearest_line() {
        check(
            EditFile,
            "a.md: The quick brown fox\n",
            json!({"path": "a.md", "old_str": "The quick brwn fox", "new_str": "y".repeat(1_000)}),
            expect![
                "refused: text_not_found: the text to replace does not occur in the note. read the note again; the nearest is line 1: `The quick brown fox`; for this much new text, write_file may be simpler"
            ],
        );
    }

    #[test]
    fn a_missing_note_is_refused_with_its_neighbours() {
        check(
            EditFile,
            "Plan.md: x",
            json!({"path": "plan.md", "old_str": "x", "new_str": "y"}),
            expect!["refused: note_missing: there is no `plan.md` in the vault. did you mean `Plan.md`?"],
        );
    }

    #[test]
    fn an_edit_that_changes_nothing_is_an_answer() {
        check(
            EditFile,
            "a.md: x",
            json!({"path": "a.md", "old_str": "x", "new_str": "x"}),
            expect!["nothing to change in `a.md`"],
        );
    }

    #[test]
    fn a_canvas_stays_a_canvas() {
        check(
            EditFile,
            "a.canvas: {\"nodes\": []}",
            json!({"path": "a.canvas", "old_str": "]", "new_str": ""}),
            expect![[
                r#"refused: canvas_invalid: `a.canvas` would not be a canvas: it must be a JSON object with `nodes` and `edges`. give the whole file as JSON, e.g. {"nodes":[],"edges":[]}"#
            ]],
        );
    }
}
