//! `list_tags`: every tag, with how often it is used.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::catalog::TagCount;

use crate::page::{clip, count, page};

/// Tags of one answer at most.
const MOST: usize = 500;
/// How much of a tag is shown.
const LONGEST: usize = 200;

/// The tool.
pub struct ListTags;

/// List the tags of all notes, the most used first, with the number of notes that carry each; `a/b` counts for `a` too.
/// `search_by_tag` finds the notes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Tags to list at most, up to 500.
    #[serde(default = "hundred")]
    limit: usize,
    /// How many to pass over: `next` of the page before.
    #[serde(default)]
    offset: usize,
}

fn hundred() -> usize {
    100
}

impl Tool for ListTags {
    const SPEC: Spec = Spec::new("list_tags", Group::Vault, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let mut tags = view.catalog()?.ask(|catalog, visible| catalog.tags(visible));
        tags.sort_by(|a, b| b.files.cmp(&a.files).then_with(|| a.name.cmp(&b.name)));
        let page = page(&tags, input.offset, input.limit.min(MOST), |tag| tag.name.len().min(LONGEST) + 20);
        let mut text = count(tags.len(), "tag");
        page.items.iter().for_each(|tag| text += &format!("\n#{} ({})", name(tag), count(tag.files, "note")));
        if let Some(next) = page.next {
            text += &format!("\n[{} more. Go on with offset {next}]", tags.len() - next);
        }
        let shown: Vec<Value> = page.items.iter().map(data).collect();
        let data = json!({ "tags": shown, "total": tags.len(), "next": page.next });
        Ok(Plan::Answer(Output::new(text, data).from_vault("tags").telling_nothing()))
    }
}

fn name(tag: &TagCount) -> String {
    clip(&tag.name, LONGEST)
}

fn data(tag: &TagCount) -> Value {
    json!({ "name": name(tag), "files": tag.files, "occurrences": tag.occurrences })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "a.md: ---\ntags: [red, blue/sky]\n---\n#red\n--- b.md: #red and #green\n\
                         --- .verger/ignore: Hidden/\n--- Hidden/h.md: #secret";

    #[test]
    fn tags_are_counted_and_those_of_hidden_notes_are_not_there() {
        check(
            ListTags,
            VAULT,
            json!({}),
            expect![[r#"
            4 tags
            #red (2 notes)
            #blue (1 note)
            #blue/sky (1 note)
            #green (1 note)"#]],
        );
    }

    #[test]
    fn pages_go_on_where_they_ended() {
        check(
            ListTags,
            VAULT,
            json!({"limit": 1}),
            expect![[r#"
            4 tags
            #red (2 notes)
            [3 more. Go on with offset 1]"#]],
        );
        check(
            ListTags,
            VAULT,
            json!({"limit": 2, "offset": 1}),
            expect![[r#"
            4 tags
            #blue (1 note)
            #blue/sky (1 note)
            [1 more. Go on with offset 3]"#]],
        );
        check(ListTags, "a.md: none", json!({}), expect!["0 tags"]);
    }
}
