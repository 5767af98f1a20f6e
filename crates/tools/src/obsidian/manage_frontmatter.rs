//! `obsidian_manage_frontmatter`: one field, read, set or deleted; every other byte stays.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use vault::edit::front;

use super::shape::{as_result, sizes};
use super::target::NoteTarget;
use crate::edit::rewrite::Original;

/// Get, set or delete one frontmatter field. Comments, order and quotes of the others are kept.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    operation: FieldOperation,
    target: NoteTarget,
    /// Name of the field.
    #[schemars(length(min = 1))]
    key: String,
    /// For `set`: any JSON value.
    #[serde(default, deserialize_with = "given")]
    value: Option<Value>,
    /// Version you read.
    if_match: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum FieldOperation {
    Get,
    Set,
    Delete,
}

/// `null` is a value like every other; only what was left out is none.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The tool.
pub struct ManageFrontmatter;

impl Tool for ManageFrontmatter {
    const SPEC: Spec = Spec::new("obsidian_manage_frontmatter", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let (operation, key) = (input.operation, input.key);
        if key.trim().is_empty() {
            return Err(Refusal::new("input_invalid", "the key is empty", "name a frontmatter field"));
        }
        let value = match (operation, input.value) {
            (FieldOperation::Set, None) => return Err(value_required()),
            (_, value) => value.unwrap_or_default(),
        };
        let path = input.target.exact(view)?;
        let original = Original::read_note(view, path, input.if_match.as_deref())?;
        let (after, name, done) = match operation {
            FieldOperation::Get => return get(&original, &key),
            FieldOperation::Set => (front::set(original.text(), &key, &value)?, "set", "set a field of"),
            FieldOperation::Delete => (front::remove(original.text(), &key)?, "delete", "deleted a field of"),
        };
        let data = json!({ "operation": name, "key": key, "frontmatter": front::all(&after)? });
        Ok(as_result(sizes(original.becomes(after, done, data)?)))
    }
}

fn get(original: &Original, key: &str) -> Result<Plan, Refusal> {
    let path = original.path();
    let value = front::get(original.text(), key)?;
    let text = match &value {
        Some(value) => format!("{path}\n{key}: {value}"),
        None => format!("{path} has no field `{key}`"),
    };
    let data = json!({ "result": {
        "operation": "get", "path": path, "key": key, "exists": value.is_some(), "value": value
    } });
    Ok(Plan::Answer(Output::new(text, data).from_vault(path.as_str())))
}

fn value_required() -> Refusal {
    Refusal::new(
        "value_required",
        "`set` needs a value",
        "pass value, any JSON; `delete` takes the field away",
    )
    .with("operation", "set")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;

    const NOTE: &str = "a.md: ---\na: 1 # one\nb: 'x'\n---\nbody\n";

    fn with(operation: &str, more: Value) -> Value {
        let mut input =
            json!({"operation": operation, "target": {"type": "path", "path": "a.md"}, "key": "a"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    }

    #[test]
    fn a_field_is_read_set_and_deleted() {
        for input in [with("get", json!({})), with("get", json!({"key": "z"}))] {
            let result = data(ManageFrontmatter, NOTE, input)["result"].take();
            assert_eq!(result["exists"], result["key"] == "a");
            assert_eq!(result["value"], if result["key"] == "a" { json!(1) } else { Value::Null });
        }
        check(
            ManageFrontmatter,
            NOTE,
            with("set", json!({"value": [2, "y"]})),
            expect![[r#"
                set a field of `a.md`: +3 -1 lines, 31 -> 41 bytes, version 6b1a1188852ac450
                ~ a.md (31 -> 41 bytes)
                 ---
                -a: 1 # one
                +a: # one
                +  - 2
                +  - y
                 b: 'x'
                 ---
                 body
            "#]],
        );
        check(
            ManageFrontmatter,
            NOTE,
            with("set", json!({"value": null})),
            expect![[r#"
                set a field of `a.md`: +1 -1 lines, 31 -> 34 bytes, version 846fb6d54c1f27a8
                ~ a.md (31 -> 34 bytes)
                 ---
                -a: 1 # one
                +a: null # one
                 b: 'x'
                 ---
                 body
            "#]],
        );
        check(
            ManageFrontmatter,
            NOTE,
            with("delete", json!({})),
            expect![[r#"
                deleted a field of `a.md`: +0 -1 lines, 31 -> 20 bytes, version a25f47a8427bcd1c
                ~ a.md (31 -> 20 bytes)
                 ---
                -a: 1 # one
                 b: 'x'
                 ---
                 body
            "#]],
        );
        check(
            ManageFrontmatter,
            NOTE,
            with("delete", json!({"key": "z"})),
            expect!["nothing to change in `a.md`"],
        );
        check(
            ManageFrontmatter,
            "a.md: body",
            with("set", json!({"value": "2026-03-14"})),
            expect![[r#"
            set a field of `a.md`: +3 -0 lines, 4 -> 26 bytes, version a71f433dc4b194f8
            ~ a.md (4 -> 26 bytes)
            +---
            +a: 2026-03-14
            +---
             body
        "#]],
        );
        expect![[r#"{"result":{"path":"a.md","previousSizeInBytes":31,"currentSizeInBytes":31,"version":"2b3ca389d3e3c89f","operation":"set","key":"a","frontmatter":{"a":2,"b":"x"}}}"#]].assert_eq(&data(ManageFrontmatter, NOTE, with("set", json!({"value": 2}))).to_string());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        check(
            ManageFrontmatter,
            NOTE,
            with("set", json!({})),
            expect![
                "refused: value_required: `set` needs a value. pass value, any JSON; `delete` takes the field away"
            ],
        );
        check(
            ManageFrontmatter,
            "b.md: x",
            with("get", json!({})),
            expect!["refused: note_missing: there is no `a.md` in the vault. did you mean `b.md`?"],
        );
        check(
            ManageFrontmatter,
            "a.md: ---\na: [\n---\n",
            with("set", json!({"value": 1})),
            expect![
                "refused: frontmatter_invalid: the front matter is not valid YAML (line 3): while parsing a node, did not find expected node content. mend the YAML by an ordinary text edit first; nothing was changed"
            ],
        );
        check(
            ManageFrontmatter,
            NOTE,
            with("delete", json!({"ifMatch": "00"})),
            expect![
                "refused: version_mismatch: `a.md` is at version a45c3ac4e0a9b09b, not 00: it was changed meanwhile. read it again and repeat the edit on the new text"
            ],
        );
    }
}
