//! `get_frontmatter`: the properties of a note.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use vault::VaultPath;
use vault::note::front;

use crate::page::{CHARS, clip, first_few};

/// The tool.
pub struct GetFrontmatter;

/// Read the properties (front matter) of a note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the note, e.g. `Projects/Verger.md`.
    path: VaultPath,
}

impl Tool for GetFrontmatter {
    const SPEC: Spec = Spec::new("get_frontmatter", Group::Vault, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let path = view.find(&input.path)?;
        let text = view.text(&path)?;
        let (text, data) = match front::split(&text).map(|front| front.values) {
            None => (format!("{path}: (no frontmatter)"), json!({ "path": path, "frontmatter": {} })),
            Some(Ok(values)) => show(&path, values),
            // Read as no properties, as Obsidian does, but not silently.
            Some(Err(problem)) => (
                format!("{path}: (the frontmatter cannot be read: {problem})"),
                json!({ "path": path, "frontmatter": {}, "problem": problem.to_string() }),
            ),
        };
        Ok(Plan::Answer(Output::new(text, data).from_vault(path.as_str()).telling_note(view, &path)))
    }
}

/// The properties as YAML, whole ones only, as many as fit.
fn show(path: &VaultPath, values: Map<String, Value>) -> (String, Value) {
    let mut text = path.to_string();
    let (mut kept, mut omitted) = (Map::new(), Vec::new());
    for (key, value) in values {
        let mut lines = String::new();
        write_entry(&mut lines, &key, &value, 0);
        if text.len() + lines.len() > CHARS {
            omitted.push(clip(&key, 80));
            continue;
        }
        text += &lines;
        kept.insert(key, value);
    }
    if !omitted.is_empty() {
        let named = first_few(&omitted, 20);
        text +=
            &format!("\n[Too long to show: {named}. Read them with read_file {}]", json!({ "path": path }));
        omitted.truncate(20);
    }
    let data = json!({ "path": path, "frontmatter": kept, "omitted": omitted });
    (text, data)
}

fn write_entry(out: &mut String, key: &str, value: &Value, depth: usize) {
    *out += &format!("\n{}{}:", "  ".repeat(depth), scalar(&Value::String(key.to_owned())));
    write_value(out, value, depth + 1);
}

/// A value behind its key or dash. The YAML reader bounds the depth.
fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                *out += &format!("\n{}-", "  ".repeat(depth));
                write_value(out, item, depth + 1);
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, value)| write_entry(out, key, value, depth));
        }
        other => *out += &format!(" {}", scalar(other)),
    }
}

/// A value on one line; a text that would read as something else is quoted.
fn scalar(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_plain = text.chars().next().is_some_and(char::is_alphanumeric)
        && !text.contains(['\n', '\r', '#', '"'])
        && !text.contains(": ")
        && !text.ends_with([' ', ':'])
        && text.parse::<f64>().is_err()
        && !matches!(text.as_str(), "true" | "false" | "null");
    if is_plain { text.clone() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn nested_values_are_readable() {
        let note = "a.md: ---\ntitle: A plan\ntags: [x, y/z]\nwhen: 2026-03-14\ndone: false\nrating: 4.5\nnumber: '7'\n\
                    nothing:\nlink: \"[[B]]\"\npeople:\n  - name: Ann\n    roles: [a, b]\n  - Bob\nempty: []\n---\nText";
        check(
            GetFrontmatter,
            note,
            json!({"path": "a.md"}),
            expect![[r#"
            a.md
            title: A plan
            tags:
              - x
              - y/z
            when: 2026-03-14
            done: false
            rating: 4.5
            number: "7"
            nothing: null
            link: "[[B]]"
            people:
              -
                name: Ann
                roles:
                  - a
                  - b
              - Bob
            empty: []"#]],
        );
    }

    #[test]
    fn a_note_without_properties_says_so_and_a_broken_block_says_why() {
        check(GetFrontmatter, "a.md: text", json!({"path": "A"}), expect![[r#"a.md: (no frontmatter)"#]]);
        check(
            GetFrontmatter,
            "a.md: ---\na: [\n---\n",
            json!({"path": "a.md"}),
            expect![[
                r#"a.md: (the frontmatter cannot be read: the front matter is not valid YAML (line 3): while parsing a node, did not find expected node content)"#
            ]],
        );
        check(
            GetFrontmatter,
            "a.md: text",
            json!({"path": "c.md"}),
            expect![[r#"refused: note_missing: there is no `c.md` in the vault. did you mean `a.md`?"#]],
        );
    }

    #[test]
    fn a_property_too_long_to_show_is_named() {
        let note = format!("a.md: ---\nlong: {}\nshort: x\n---\n", "y".repeat(60_000));
        check(
            GetFrontmatter,
            &note,
            json!({"path": "a.md"}),
            expect![[r#"
            a.md
            short: x
            [Too long to show: long. Read them with read_file {"path":"a.md"}]"#]],
        );
    }
}
