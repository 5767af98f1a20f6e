//! `obsidian_manage_tags`: the tags of one note, listed, added or removed.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use vault::edit::tags::{self, Location};

use super::shape::{as_result, sizes};
use super::target::NoteTarget;
use crate::edit::rewrite::Original;

/// List, add or remove the tags of a note. A tag never takes its children (`a/b`) along; tags in code stay.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    target: NoteTarget,
    operation: TagOperation,
    /// For `add` and `remove`, without `#`.
    #[serde(default)]
    tags: Vec<String>,
    /// Where to add or remove.
    #[serde(default)]
    location: Place,
    /// Version you read.
    if_match: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum TagOperation {
    Add,
    Remove,
    List,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Place {
    #[default]
    Frontmatter,
    Inline,
    Both,
}

impl From<Place> for Location {
    fn from(place: Place) -> Location {
        match place {
            Place::Frontmatter => Location::Front,
            Place::Inline => Location::Inline,
            Place::Both => Location::Both,
        }
    }
}

/// The tool.
pub struct ManageTags;

impl Tool for ManageTags {
    const SPEC: Spec = Spec::new("obsidian_manage_tags", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let operation = input.operation;
        if input.tags.is_empty() && operation != TagOperation::List {
            return Err(tags_required(operation));
        }
        let path = input.target.exact(view)?;
        let original = Original::read_note(view, path, input.if_match.as_deref())?;
        let (text, location) = (original.text(), input.location.into());
        let edit = match operation {
            TagOperation::List => return Ok(list(&original)),
            TagOperation::Add => tags::add(text, &input.tags, location)?,
            TagOperation::Remove => tags::remove(text, &input.tags, location)?,
        };
        let data = json!({
            "operation": operation,
            "applied": edit.applied,
            "skipped": edit.skipped,
            "tags": tags::list(&edit.text).all,
        });
        Ok(as_result(sizes(original.becomes(edit.text, "changed the tags of", data)?)))
    }
}

fn tags_required(operation: TagOperation) -> Refusal {
    Refusal::new("tags_required", "no tags are given", "name at least one tag, without `#`")
        .with("operation", operation)
}

fn list(original: &Original) -> Plan {
    let (path, found) = (original.path(), tags::list(original.text()));
    let line = |name: &str, tags: &[String]| {
        format!("{name}: {}", if tags.is_empty() { "none".to_owned() } else { tags.join(", ") })
    };
    let text =
        [path.to_string(), line("frontmatter", &found.front), line("inline", &found.inline)].join("\n");
    let data = json!({ "result": {
        "operation": "list",
        "path": path,
        "tags": { "frontmatter": found.front, "inline": found.inline, "all": found.all },
    } });
    Plan::Answer(Output::new(text, data).from_vault(path.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::Value;

    const NOTE: &str = "a.md: ---\ntags: [x]\n---\n- a  #y  b #y/z\n";

    fn with(operation: &str, tags: Value, location: &str) -> Value {
        json!({"target": {"type": "path", "path": "a.md"}, "operation": operation, "tags": tags, "location": location})
    }

    #[test]
    fn tags_are_listed_added_and_removed() {
        check(
            ManageTags,
            NOTE,
            with("list", json!([]), "both"),
            expect![[r#"
            a.md
            frontmatter: x
            inline: y, y/z"#]],
        );
        expect![[r#"{"result":{"operation":"list","path":"a.md","tags":{"frontmatter":["x"],"inline":["y","y/z"],"all":["x","y","y/z"]}}}"#]].assert_eq(&data(ManageTags, NOTE, with("list", json!([]), "both")).to_string());
        check(
            ManageTags,
            NOTE,
            with("add", json!(["#n", "x"]), "frontmatter"),
            expect![[r#"
            changed the tags of `a.md`: +1 -1 lines, 34 -> 37 bytes, version 1e1aef4c5af5c8bc
            ~ a.md (34 -> 37 bytes)
             ---
            -tags: [x]
            +tags: [x, n]
             ---
             - a  #y  b #y/z
        "#]],
        );
        check(
            ManageTags,
            NOTE,
            with("add", json!(["y"]), "both"),
            expect![[r#"
            changed the tags of `a.md`: +1 -1 lines, 34 -> 37 bytes, version 3a37b69bf208c5e2
            ~ a.md (34 -> 37 bytes)
             ---
            -tags: [x]
            +tags: [x, y]
             ---
             - a  #y  b #y/z
        "#]],
        );
        check(
            ManageTags,
            NOTE,
            with("remove", json!(["y"]), "inline"),
            expect![[r#"
            changed the tags of `a.md`: +1 -1 lines, 34 -> 31 bytes, version 01396593e7c29901
            ~ a.md (34 -> 31 bytes)
             ---
             tags: [x]
             ---
            -- a  #y  b #y/z
            +- a   b #y/z
        "#]],
        );
        let added = data(ManageTags, NOTE, with("add", json!(["#n", "x"]), "frontmatter"));
        expect![[r#"{"result":{"path":"a.md","previousSizeInBytes":34,"currentSizeInBytes":37,"version":"1e1aef4c5af5c8bc","operation":"add","applied":["n"],"skipped":["x"],"tags":["x","n","y","y/z"]}}"#]].assert_eq(&added.to_string());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        check(
            ManageTags,
            NOTE,
            with("add", json!([]), "both"),
            expect!["refused: tags_required: no tags are given. name at least one tag, without `#`"],
        );
        check(
            ManageTags,
            NOTE,
            with("add", json!(["a b"]), "both"),
            expect![
                "refused: tag_invalid: `a b` is not a tag name. use letters, digits, `_`, `-` and `/` between parts, no spaces, and not digits alone"
            ],
        );
        check(
            ManageTags,
            "b.md: x",
            with("list", json!([]), "both"),
            expect!["refused: note_missing: there is no `a.md` in the vault. did you mean `b.md`?"],
        );
    }
}
