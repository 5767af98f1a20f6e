//! `update_frontmatter`: properties set and removed, every other byte kept.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use vault::VaultPath;
use vault::edit::front;

use super::rewrite::Original;

/// Set and remove properties in a note's front matter. The block is created if there is none; comments, order, quoting and
/// the body stay as they are. The note must exist.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the note, e.g. `Projects/Plan.md`.
    path: VaultPath,
    /// Properties to set, with their values: text, number, true or false, null, list, object.
    #[serde(default)]
    updates: Map<String, Value>,
    /// Names of properties to remove.
    #[serde(default)]
    remove: Vec<String>,
    /// The version that you read; the edit is refused if the note has changed since.
    #[serde(default, rename = "ifMatch")]
    if_match: Option<String>,
}

/// The tool.
pub struct UpdateFrontmatter;

impl Tool for UpdateFrontmatter {
    const SPEC: Spec = Spec::new("update_frontmatter", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        if let Some(key) = input.remove.iter().find(|key| input.updates.contains_key(*key)) {
            return Err(Refusal::new(
                "input_invalid",
                format!("`{key}` is to be both set and removed"),
                "name each property once",
            ));
        }
        let original = Original::read_note(view, input.path, input.if_match.as_deref())?;
        let before = front::all(original.text())?;
        let after = front::update(original.text(), &input.updates, &input.remove)?;
        let changed: Vec<&String> = input
            .updates
            .iter()
            .filter(|(key, value)| before.get(*key) != Some(value))
            .map(|pair| pair.0)
            .collect();
        let removed: Vec<&String> = input.remove.iter().filter(|key| before.contains_key(*key)).collect();
        let data = json!({ "changed": changed, "removed": removed, "frontmatter": front::all(&after)? });
        original.becomes(after, "updated the properties of", data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn one_property_changes_and_comments_order_and_quotes_stay() {
        check(
            UpdateFrontmatter,
            "a.md: ---\ntitle: 'A' # mine\nstatus: open\ntags: [x, y]\n---\nbody\n",
            json!({"path": "a.md", "updates": {"status": "done", "rank": 3}, "remove": ["tags", "nothing"]}),
            expect![[r#"
                updated the properties of `a.md`: +2 -2 lines, 57 -> 52 bytes, version 3fc280927355e848
                ~ a.md (57 -> 52 bytes)
                 ---
                 title: 'A' # mine
                -status: open
                -tags: [x, y]
                +status: done
                +rank: 3
                 ---
                 body
            "#]],
        );
    }

    #[test]
    fn the_block_is_made_where_there_is_none() {
        check(
            UpdateFrontmatter,
            "a.md: body",
            json!({"path": "a.md", "updates": {"date": "2026-03-14"}}),
            expect![[r#"
                updated the properties of `a.md`: +3 -0 lines, 4 -> 29 bytes, version 8630fa9b05eebdd9
                ~ a.md (4 -> 29 bytes)
                +---
                +date: 2026-03-14
                +---
                 body
            "#]],
        );
    }

    #[test]
    fn values_that_are_there_already_change_nothing() {
        check(
            UpdateFrontmatter,
            "a.md: ---\nn: 1\n---\n",
            json!({"path": "a.md", "updates": {"n": 1}, "remove": ["x"]}),
            expect!["nothing to change in `a.md`"],
        );
    }

    #[test]
    fn what_cannot_be_read_is_not_edited() {
        check(
            UpdateFrontmatter,
            "a.md: ---\n: [\n---\n",
            json!({"path": "a.md", "updates": {"n": 1}}),
            expect![
                "refused: frontmatter_invalid: the front matter is not valid YAML (line 3): while parsing a node, did not find expected node content. mend the YAML by an ordinary text edit first; nothing was changed"
            ],
        );
        check(
            UpdateFrontmatter,
            "a.txt: x",
            json!({"path": "a.txt", "updates": {"n": 1}}),
            expect!["refused: not_a_note: `a.txt` is not a Markdown note. name a file that ends in `.md`"],
        );
        check(
            UpdateFrontmatter,
            "a.md: x",
            json!({"path": "a.md", "updates": {"n": 1}, "remove": ["n"]}),
            expect!["refused: input_invalid: `n` is to be both set and removed. name each property once"],
        );
    }
}
