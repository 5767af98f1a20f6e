//! `obsidian_replace_in_note`: search and replace in one note, written once.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};
use vault::edit::replace::{self, Replacement};

use super::shape::sizes;
use super::target::NoteTarget;
use crate::edit::replacement::ReplacementInput;
use crate::edit::rewrite::Original;

/// Search and replace in a note, frontmatter included. Each replacement works on what the one before left; all are
/// written at once.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    target: NoteTarget,
    #[schemars(schema_with = "replacements")]
    replacements: Vec<ReplacementInput>,
    /// Version you read.
    if_match: Option<String>,
}

/// Without words: the names of the fields are those that clients know, and they say it.
fn replacements(_: &mut SchemaGenerator) -> Schema {
    let yes_no = |default: bool| json!({ "type": "boolean", "default": default });
    json_schema!({
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {
                "search": { "type": "string" },
                "replace": { "type": "string" },
                "useRegex": yes_no(false),
                "caseSensitive": yes_no(true),
                "wholeWord": yes_no(false),
                "flexibleWhitespace": yes_no(false),
                "replaceAll": yes_no(true),
            },
            "required": ["search", "replace"],
        },
    })
}

/// The tool.
pub struct ReplaceInNote;

impl Tool for ReplaceInNote {
    const SPEC: Spec = Spec::new("obsidian_replace_in_note", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        if input.replacements.is_empty() {
            let hint = "give at least one replacement";
            return Err(Refusal::new("input_invalid", "there is nothing to replace", hint));
        }
        let path = input.target.exact(view)?;
        let original = Original::read(view, path, input.if_match.as_deref())?;
        let wanted: Vec<Replacement> = input.replacements.iter().map(Replacement::from).collect();
        let replaced = replace::replace(original.text(), &wanted)?;
        let pairs = input.replacements.iter().zip(&replaced.counts);
        let each: Vec<Value> =
            pairs.map(|(one, count)| json!({ "search": one.search, "count": count })).collect();
        let total: usize = replaced.counts.iter().sum();
        let data = json!({ "totalReplacements": total, "perReplacement": each });
        Ok(sizes(original.becomes(replaced.text, &format!("replaced {total} times in"), data)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;

    fn with(replacements: Value) -> Value {
        json!({"target": {"type": "path", "path": "a.md"}, "replacements": replacements})
    }

    #[test]
    fn replacements_are_made_in_order_and_counted() {
        let two = with(json!([{"search": "one", "replace": "two"},
            {"search": "(T)WO", "replace": "$1", "useRegex": true, "caseSensitive": false, "replaceAll": false}]));
        check(
            ReplaceInNote,
            "a.md: one one\n",
            two.clone(),
            expect![[r#"
            replaced 3 times in `a.md`: +1 -1 lines, 8 -> 6 bytes, version a821be546e4e4f7c
            ~ a.md (8 -> 6 bytes)
            -one one
            +t two
        "#]],
        );
        expect![[r#"{"path":"a.md","previousSizeInBytes":8,"currentSizeInBytes":6,"version":"a821be546e4e4f7c","totalReplacements":3,"perReplacement":[{"search":"one","count":2},{"search":"(T)WO","count":1}]}"#]].assert_eq(&data(ReplaceInNote, "a.md: one one\n", two).to_string());
        let none = with(json!([{"search": "x", "replace": "y"}]));
        check(ReplaceInNote, "a.md: one\n", none.clone(), expect!["nothing to change in `a.md`"]);
        expect![[r#"{"path":"a.md","previousSizeInBytes":4,"currentSizeInBytes":4,"version":"e0e63aa4c8e1ed79","totalReplacements":0,"perReplacement":[{"search":"x","count":0}]}"#]].assert_eq(&data(ReplaceInNote, "a.md: one\n", none).to_string());
    }

    #[test]
    fn what_cannot_be_searched_is_refused() {
        let regex = |search: &str| with(json!([{"search": search, "replace": "", "useRegex": true}]));
        check(
            ReplaceInNote,
            "a.md: x",
            regex("(a"),
            expect![
                "refused: regex_invalid: `(a` is no regular expression that we know: unclosed group. mend the pattern; look-around and back-references are not supported (match more, and keep parts with $1)"
            ],
        );
        check(
            ReplaceInNote,
            "b.md: x",
            regex("a"),
            expect!["refused: note_missing: there is no `a.md` in the vault. did you mean `b.md`?"],
        );
        check(
            ReplaceInNote,
            "a.md: x",
            with(json!([])),
            expect!["refused: input_invalid: there is nothing to replace. give at least one replacement"],
        );
        check(
            ReplaceInNote,
            "a.md: x",
            with(json!([{"search": "", "replace": "y"}])),
            expect![
                "refused: search_empty: there is nothing to search for. give the text that is to be replaced"
            ],
        );
    }
}
