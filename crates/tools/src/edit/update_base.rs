//! `update_base`: parts of an Obsidian base set and removed, every other byte kept.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use vault::VaultPath;
use vault::edit::base::{self, Op, Step};

use super::base::{ViewInput, check_name, checked};
use super::rewrite::Original;
use crate::vault::query_base::refuse;

/// Change parts of an Obsidian base (`.base`): add views or change keys of one, set filters, formulas, display names and
/// summaries, or remove any of them. Comments, quotes, order and everything else stay as they are. The result is checked
/// before it is written: an expression that is wrong is refused with its place.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the base, e.g. `Books.base`.
    path: VaultPath,
    /// Views to add or change, by name: of one that is there only the keys that are given change.
    #[serde(default)]
    views: Vec<ViewInput>,
    /// The filter of all views: an expression, or {"and": [...]}, {"or": [...]}, {"not": [...]} of filters.
    #[serde(default)]
    filters: Option<Value>,
    /// Formulas to set, by name.
    #[serde(default)]
    formulas: Map<String, Value>,
    /// Display names to set, by property.
    #[serde(default)]
    properties: Map<String, Value>,
    /// The base's own summaries to set, by name.
    #[serde(default)]
    summaries: Map<String, Value>,
    /// What to remove.
    #[serde(default)]
    remove: Remove,
    /// The version that you read; the edit is refused if the file has changed since.
    #[serde(default, rename = "ifMatch")]
    if_match: Option<String>,
}

/// What to remove from a base.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Remove {
    /// The filter of all views.
    filters: bool,
    /// Views, by name.
    views: Vec<String>,
    /// Keys of one view, e.g. {"Open": ["limit", "groupBy"]}.
    view_keys: std::collections::BTreeMap<String, Vec<String>>,
    /// Formulas, by name.
    formulas: Vec<String>,
    /// What is said about properties, by property.
    properties: Vec<String>,
    /// The base's own summaries, by name.
    summaries: Vec<String>,
}

/// The tool.
pub struct UpdateBase;

impl Tool for UpdateBase {
    const SPEC: Spec = Spec::new("update_base", Group::Edit, Effect::Edits).deferred();
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        check_name(&input.path)?;
        let original = Original::read(view, input.path.clone(), input.if_match.as_deref())?;
        let names = base::view_names(original.text()).map_err(refuse)?;
        let ops = operations(&input, &names)?;
        let after = base::apply(original.text(), &ops).map_err(refuse)?;
        let said = checked(&after)?;
        original.becomes(after, "updated", said)
    }
}

fn operations(input: &Input, names: &[Option<String>]) -> Result<Vec<Op>, Refusal> {
    let key = |text: &str| Step::Key(text.to_owned());
    let place = |name: &str| names.iter().position(|known| known.as_deref() == Some(name));
    let mut ops = Vec::new();
    if let Some(filters) = &input.filters {
        ops.push(Op::Set(vec![key("filters")], filters.clone()));
    }
    for (part, values) in [("formulas", &input.formulas), ("summaries", &input.summaries)] {
        ops.extend(values.iter().map(|(name, value)| Op::Set(vec![key(part), key(name)], value.clone())));
    }
    for (id, name) in &input.properties {
        ops.push(Op::Set(vec![key("properties"), key(id), key("displayName")], name.clone()));
    }
    for view in &input.views {
        match place(&view.name) {
            Some(at) => {
                let set = |(name, value)| Op::Set(vec![key("views"), Step::Item(at), Step::Key(name)], value);
                ops.extend(view.keys().into_iter().map(set));
            }
            None => ops.push(Op::Push(vec![key("views")], view.as_new())),
        }
    }
    removals(&input.remove, names, &mut ops)?;
    Ok(ops)
}

fn removals(remove: &Remove, names: &[Option<String>], ops: &mut Vec<Op>) -> Result<(), Refusal> {
    let key = |text: &str| Step::Key(text.to_owned());
    let place = |name: &str| {
        let found = names.iter().position(|known| known.as_deref() == Some(name));
        found.ok_or_else(|| {
            let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
            Refusal::new(
                "view_unknown",
                format!("there is no view `{name}`"),
                format!("the views are: {}", known.join(", ")),
            )
            .with("views", known)
        })
    };
    if remove.filters {
        ops.push(Op::Remove(vec![key("filters")]));
    }
    for (part, names) in
        [("formulas", &remove.formulas), ("properties", &remove.properties), ("summaries", &remove.summaries)]
    {
        ops.extend(names.iter().map(|name| Op::Remove(vec![key(part), key(name)])));
    }
    for (view, keys) in &remove.view_keys {
        let at = place(view)?;
        ops.extend(keys.iter().map(|name| Op::Remove(vec![key("views"), Step::Item(at), key(name)])));
    }
    let mut places = remove.views.iter().map(|name| place(name)).collect::<Result<Vec<usize>, Refusal>>()?;
    places.sort_unstable();
    places.dedup();
    // From the last, so that the places of the others stay.
    ops.extend(places.iter().rev().map(|at| Op::Remove(vec![key("views"), Step::Item(*at)])));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::json;

    const BASE: &str = "b.base: # mine\nfilters: # all\n  and:\n    - file.hasTag(\"book\") # tag\nformulas:\n  twice: 'price * 2' # two\nviews:\n  - type: table\n    name: \"All\" # first\n    pluginKey: {a: 1}\n    order: [file.name, formula.twice]\n  - type: cards\n    name: Cards\n    limit: 5\n";

    #[test]
    fn parts_change_and_comments_quotes_and_order_stay() {
        check(
            UpdateBase,
            BASE,
            json!({"path": "b.base", "formulas": {"twice": "price * 3", "new": "twice + 1"}, "properties": {"price": "Price"},
                "views": [{"name": "All", "filters": "price > 1", "order": ["file.name"]}, {"name": "List", "type": "list"}],
                "remove": {"viewKeys": {"Cards": ["limit"]}}}),
            expect![[r#"
                updated `b.base`: +9 -3 lines, 250 -> 336 bytes, version 18ff57b1f210818f
                ~ b.base (250 -> 336 bytes)
                   and:
                     - file.hasTag("book") # tag
                 formulas:
                -  twice: 'price * 2' # two
                +  twice: 'price * 3' # two
                +  new: twice + 1
                 views:
                   - type: table
                     name: "All" # first
                     pluginKey: {a: 1}
                -    order: [file.name, formula.twice]
                +    order: [file.name]
                +    filters: price > 1
                   - type: cards
                     name: Cards
                -    limit: 5
                +  - type: list
                +    name: List
                +properties:
                +  price:
                +    displayName: Price
            "#]],
        );
        check(
            UpdateBase,
            BASE,
            json!({"path": "b.base", "remove": {"views": ["All"], "formulas": ["twice"], "filters": true}}),
            expect![[r#"
                updated `b.base`: +0 -9 lines, 250 -> 59 bytes, version ca3bcd40cf59e7bc
                ~ b.base (250 -> 59 bytes)
                 # mine
                -filters: # all
                -  and:
                -    - file.hasTag("book") # tag
                -formulas:
                -  twice: 'price * 2' # two
                 views:
                -  - type: table
                -    name: "All" # first
                -    pluginKey: {a: 1}
                -    order: [file.name, formula.twice]
                   - type: cards
                     name: Cards
                     limit: 5
            "#]],
        );
    }

    #[test]
    fn a_result_with_a_mistake_is_refused_with_its_place() {
        for (input, expected) in [
            (
                json!({"path": "b.base", "formulas": {"x": "price *"}}),
                expect![[r#"
                refused: expression_invalid: `formulas.x` (line 7), column 8: expected a value, found the end
                price *
                       ^. something is missing at the end"#]],
            ),
            (
                json!({"path": "b.base", "views": [{"name": "Cards", "filters": {"or": ["a", "fil.nope()"]}}]}),
                expect![[r#"
                    refused: expression_invalid: `views[1].filters.or[1]` (line 18), column 5: there is no method `nope`
                    fil.nope()
                        ^. there are: isTruthy, isType, toString, isEmpty, date, format, time, relative, contains, containsAll, containsAny, endsWith, lower, replace, repeat, reverse, slice, split, startsWith, title, trim, abs, ceil, floor, round, toFixed, filter, flat, join, map, mean, reduce, sort, unique, asFile, linksTo, asLink, hasLink, hasProperty, hasTag, inFolder, keys, values, matches"#]],
            ),
            (
                json!({"path": "b.base", "filters": {"xor": ["a"]}}),
                expect![
                    "refused: base_invalid: line 3: `filters` must be a mapping with exactly one of `and`, `or` and `not`, but it is a mapping. see the syntax of bases: filters, formulas, properties, summaries, views"
                ],
            ),
            (
                json!({"path": "b.base", "remove": {"views": ["Nope"]}}),
                expect!["refused: view_unknown: there is no view `Nope`. the views are: All, Cards"],
            ),
            (
                json!({"path": "b.base", "remove": {"formulas": ["nope"]}}),
                expect![
                    "refused: base_key_missing: `formulas.nope` is not there. look at the base first, and name what is there"
                ],
            ),
            (
                json!({"path": "b.base", "filters": "a", "ifMatch": "0"}),
                expect![
                    "refused: version_mismatch: `b.base` is at version 95f28d91b0e21cae, not 0: it was changed meanwhile. read it again and repeat the edit on the new text"
                ],
            ),
            (
                json!({"path": "c.base", "filters": "a"}),
                expect!["refused: note_missing: there is no `c.base` in the vault. did you mean `b.base`?"],
            ),
            (
                json!({"path": "b.base", "formulas": {"x": 1}, "foo": 1}),
                expect![
                    "refused: input_invalid: the input does not fit: unknown field `foo`, expected one of `path`, `views`, `filters`, `formulas`, `properties`, `summaries`, `remove`, `ifMatch`. the fields are path, views, filters, formulas, properties, summaries, remove, ifMatch"
                ],
            ),
        ] {
            check(UpdateBase, BASE, input, expected);
        }
        check(
            UpdateBase,
            "b.base: a: [",
            json!({"path": "b.base", "filters": "a"}),
            expect![
                "refused: base_invalid: line 2: while parsing a node, did not find expected node content. a base is YAML: mend the line; expressions with quotes or `: ` stand in quotes"
            ],
        );
    }

    #[test]
    fn nothing_to_do_changes_nothing() {
        check(UpdateBase, BASE, json!({"path": "b.base"}), expect!["nothing to change in `b.base`"]);
    }
}
