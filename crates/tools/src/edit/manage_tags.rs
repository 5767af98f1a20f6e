//! `manage_tags`: the tags of one note, listed, added, removed, renamed.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::VaultPath;
use vault::edit::tags::{self, Location};

use super::rewrite::Original;

/// List, add, remove or rename the tags of a note, in front matter or in the text. A tag never takes its children (`a/b`)
/// along, except in a rename. Tags in code, comments and links are left alone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the note, e.g. `Projects/Plan.md`.
    path: VaultPath,
    /// What to do.
    operation: Operation,
    /// The tags, with or without `#`; exactly one for `rename`, none for `list`.
    #[serde(default)]
    tags: Vec<String>,
    /// The new name, for `rename`.
    #[serde(default)]
    to: Option<String>,
    /// Where tags are added or removed; a rename looks everywhere.
    #[serde(default)]
    location: Where,
    /// The version that you read; the edit is refused if the note has changed since.
    #[serde(default, rename = "ifMatch")]
    if_match: Option<String>,
}

/// What to do with tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Operation {
    /// Say which there are.
    List,
    /// Add those that are not there yet.
    Add,
    /// Take them away.
    Remove,
    /// Give one another name, its children too.
    Rename,
}

/// Where tags stand.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Where {
    /// In front matter.
    #[default]
    Frontmatter,
    /// In the text.
    Inline,
    /// In both.
    Both,
}

impl From<Where> for Location {
    fn from(place: Where) -> Location {
        match place {
            Where::Frontmatter => Location::Front,
            Where::Inline => Location::Inline,
            Where::Both => Location::Both,
        }
    }
}

/// The tool.
pub struct ManageTags;

impl Tool for ManageTags {
    const SPEC: Spec = Spec::new("manage_tags", Group::Edit, Effect::Edits).deferred();
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        check_tags(&input)?;
        let original = Original::read_note(view, input.path, input.if_match.as_deref())?;
        let text = original.text();
        let edit = match (input.operation, input.tags.as_slice(), input.to) {
            (Operation::List, ..) => return Ok(list(view, &original)),
            (Operation::Add, names, _) => tags::add(text, names, input.location.into())?,
            (Operation::Remove, names, _) => tags::remove(text, names, input.location.into())?,
            (Operation::Rename, [from], Some(to)) => tags::rename(text, from, &to)?,
            (Operation::Rename, ..) => return Err(rename_takes_two()),
        };
        let data =
            json!({ "applied": edit.applied, "skipped": edit.skipped, "tags": tags::list(&edit.text).all });
        original.becomes(edit.text, "changed the tags of", data)
    }
}

fn check_tags(input: &Input) -> Result<(), Refusal> {
    if input.tags.is_empty() && matches!(input.operation, Operation::Add | Operation::Remove) {
        return Err(Refusal::new("tags_required", "no tags are given", "name at least one tag, without `#`"));
    }
    Ok(())
}

fn rename_takes_two() -> Refusal {
    Refusal::new(
        "tags_required",
        "a rename needs one tag and its new name",
        "give `tags` with one name, and `to`",
    )
}

fn list(view: &View<'_>, original: &Original) -> Plan {
    let found = tags::list(original.text());
    let path = original.path();
    let line = |name: &str, tags: &[String]| {
        format!("{name}: {}", if tags.is_empty() { "none".to_owned() } else { tags.join(", ") })
    };
    let text = [line("front matter", &found.front), line("inline", &found.inline)].join("\n");
    let data = json!({ "path": path, "tags": { "frontmatter": found.front, "inline": found.inline, "all": found.all } });
    Plan::Answer(Output::new(text, data).from_vault(path.to_string()).telling_note(view, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const NOTE: &str = "a.md: ---\ntags: [x, y/z]\n---\ntext #x and #w `#x`\n";

    #[test]
    fn tags_are_listed_added_removed_and_renamed() {
        check(
            ManageTags,
            NOTE,
            json!({"path": "a.md", "operation": "list"}),
            expect![[r#"
            front matter: x, y/z
            inline: x, w"#]],
        );
        check(
            ManageTags,
            NOTE,
            json!({"path": "a.md", "operation": "add", "tags": ["#new", "x"]}),
            expect![[r#"
                changed the tags of `a.md`: +1 -1 lines, 43 -> 48 bytes, version 0203d1b314a1bb13
                ~ a.md (43 -> 48 bytes)
                 ---
                -tags: [x, y/z]
                +tags: [x, y/z, new]
                 ---
                 text #x and #w `#x`
            "#]],
        );
        check(
            ManageTags,
            NOTE,
            json!({"path": "a.md", "operation": "remove", "tags": ["x"], "location": "both"}),
            expect![[r#"
                changed the tags of `a.md`: +2 -2 lines, 43 -> 37 bytes, version faf48a14f65dfba7
                ~ a.md (43 -> 37 bytes)
                 ---
                -tags: [x, y/z]
                +tags: [y/z]
                 ---
                -text #x and #w `#x`
                +text and #w `#x`
            "#]],
        );
        check(
            ManageTags,
            NOTE,
            json!({"path": "a.md", "operation": "rename", "tags": ["y"], "to": "q"}),
            expect![[r#"
                changed the tags of `a.md`: +1 -1 lines, 43 -> 43 bytes, version 4e04b1ac8f29a7fe
                ~ a.md (43 -> 43 bytes)
                 ---
                -tags: [x, y/z]
                +tags: [x, q/z]
                 ---
                 text #x and #w `#x`
            "#]],
        );
    }

    #[test]
    fn an_incomplete_request_is_refused() {
        check(
            ManageTags,
            NOTE,
            json!({"path": "a.md", "operation": "add"}),
            expect!["refused: tags_required: no tags are given. name at least one tag, without `#`"],
        );
        check(
            ManageTags,
            NOTE,
            json!({"path": "a.md", "operation": "rename", "tags": ["x"]}),
            expect![
                "refused: tags_required: a rename needs one tag and its new name. give `tags` with one name, and `to`"
            ],
        );
    }
}
