//! `create_base`: a new Obsidian base from typed parts; every expression is checked first.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use vault::VaultPath;
use vault::edit::base;

use super::base::{ViewInput, check_name, checked};
use super::rewrite::Original;

/// Create an Obsidian base (`.base`): views over the notes of the vault with filters, formulas, sort, groups and summaries.
/// Expressions are those of Obsidian Bases, e.g. `file.hasTag("book") && price > 10`; one that is wrong is refused with
/// its place. The file must not exist; update_base changes one that does.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the new file, e.g. `Books.base`.
    path: VaultPath,
    /// The filter of all views: an expression, or {"and": [...]}, {"or": [...]}, {"not": [...]} of filters.
    #[serde(default)]
    filters: Option<Value>,
    /// Formulas by name, e.g. {"total": "price * amount"}; shown as the column `formula.total`.
    #[serde(default)]
    formulas: Map<String, Value>,
    /// Display names by property, e.g. {"note.price": "Price"}.
    #[serde(default)]
    properties: Map<String, Value>,
    /// The base's own summaries by name, over the list `values`, e.g. {"mean3": "values.mean().round(3)"}.
    #[serde(default)]
    summaries: Map<String, Value>,
    /// The views; the first one is shown first.
    views: Vec<ViewInput>,
}

/// The tool.
pub struct CreateBase;

impl Tool for CreateBase {
    const SPEC: Spec = Spec::new("create_base", Group::Edit, Effect::Edits).deferred();
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        check_name(&input.path)?;
        let original = Original::read_if_any(view, input.path, None)?;
        if !original.is_new() {
            return Err(vault::Error::Exists { path: original.path().clone() }.into());
        }
        if input.views.is_empty() {
            return Err(Refusal::new(
                "view_required",
                "a base has at least one view",
                "pass views, e.g. [{\"name\": \"All\"}]",
            ));
        }
        let mut data = Map::new();
        if let Some(filters) = input.filters {
            data.insert("filters".to_owned(), filters);
        }
        let named = |name: Value| if name.is_string() { json!({"displayName": name}) } else { name };
        let properties: Map<String, Value> =
            input.properties.into_iter().map(|(id, name)| (id, named(name))).collect();
        for (key, map) in
            [("formulas", input.formulas), ("properties", properties), ("summaries", input.summaries)]
        {
            if !map.is_empty() {
                data.insert(key.to_owned(), Value::Object(map));
            }
        }
        data.insert("views".to_owned(), input.views.iter().map(ViewInput::as_new).collect());
        let text = base::create(&data);
        let said = checked(&text)?;
        original.becomes(text, "created", said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn a_base_is_written_as_obsidian_writes_it() {
        check(
            CreateBase,
            "a.md: x",
            json!({"path": "Books.base", "filters": {"and": ["file.hasTag(\"book\")", "status != \"it's: done\""]},
                "formulas": {"ppu": "(price / age).toFixed(2)"}, "properties": {"note.price": "Price, €"},
                "summaries": {"mean3": "values.mean().round(3)"},
                "views": [{"name": "All", "order": ["file.name", "price", "formula.ppu"],
                    "sort": [{"property": "price", "direction": "DESC"}], "groupBy": {"property": "status"},
                    "limit": 10, "summaries": {"price": "mean3"}, "options": {"rowHeight": "tall"}},
                    {"name": "Cards", "type": "cards"}]}),
            expect![[r#"
                created `Books.base`: +30 -0 lines, 0 -> 529 bytes, version f36587ce31978db2
                + Books.base (0 -> 529 bytes)
                +filters:
                +  and:
                +    - file.hasTag("book")
                +    - "status != \"it's: done\""
                +formulas:
                +  ppu: (price / age).toFixed(2)
                +properties:
                +  note.price:
                +    displayName: Price, €
                +summaries:
                +  mean3: values.mean().round(3)
                +views:
                +  - type: table
                +    name: All
                +    groupBy:
                +      property: status
                +      direction: ASC
                +    order:
                +      - file.name
                +      - price
                +      - formula.ppu
                +    sort:
                +      - property: price
                +        direction: DESC
                +    limit: 10
                +    summaries:
                +      price: mean3
                +    rowHeight: tall
                +  - type: cards
                +    name: Cards
            "#]],
        );
    }

    #[test]
    fn what_is_there_or_wrong_is_refused_and_nothing_is_written() {
        for (input, expected) in [
            (
                json!({"path": "a.base", "views": [{"name": "V"}]}),
                expect![
                    "refused: file_exists: `a.base` exists already. choose another name, or edit what is there"
                ],
            ),
            (
                json!({"path": "b.md", "views": [{"name": "V"}]}),
                expect!["refused: not_a_base: `b.md` is not a base. name a file that ends in `.base`"],
            ),
            (
                json!({"path": "b.base", "views": []}),
                expect![[
                    r#"refused: view_required: a base has at least one view. pass views, e.g. [{"name": "All"}]"#
                ]],
            ),
            (
                json!({"path": "b.base", "views": [{"name": "V", "filters": {"and": ["a", "file.hasTagg('x')"]}}]}),
                expect![[r#"
                    refused: expression_invalid: `views[0].filters.and[1]` (line 7), column 6: a file has no method `hasTagg`
                    file.hasTagg('x')
                         ^. did you mean `hasTag`?"#]],
            ),
            (
                json!({"path": "b.base", "views": [{"name": "V"}, {"name": "V"}]}),
                expect![
                    "refused: base_invalid: there would be two views named `V`. give each view its own name"
                ],
            ),
            (
                json!({"path": "b.base", "formulas": {"a": "formula.b", "b": "formula.a"}, "views": [{"name": "V"}]}),
                expect![
                    "refused: expression_invalid: the formulas go round in a circle: a → b → a. let one of them do without the others"
                ],
            ),
            (
                json!({"path": "b.base", "views": [{"name": "V", "limit": "x"}]}),
                expect![[
                    r#"refused: input_invalid: the input does not fit: invalid type: string "x", expected usize. the fields are path, filters, formulas, properties, summaries, views"#
                ]],
            ),
            (
                json!({"path": "../b.base", "views": [{"name": "V"}]}),
                expect![[
                    r#"refused: path_traversal: the path has a `.` or `..` segment: "../b.base". give the path from the vault's root, with no `.` or `..` in any spelling"#
                ]],
            ),
        ] {
            check(CreateBase, "a.base: views: []", input, expected);
        }
    }
}
