//! `obsidian_list_tags`: the tags of all notes that may be read, and how often each stands there.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::catalog::TagCount;

use super::names;
use crate::page::{count, page};

/// Tags of one answer at most.
const MOST: usize = 1_000;

/// List the tags of all notes with their number of uses, the most used first; `a/b` counts for `a` too.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// Only tags whose name (without `#`) matches.
    name_regex: Option<String>,
}

/// The tool.
pub struct ListTags;

impl Tool for ListTags {
    const SPEC: Spec = Spec::new("obsidian_list_tags", Group::Vault, Effect::Answers);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let name = names::pattern(input.name_regex.as_deref())?;
        let mut tags = view.catalog()?.ask(|catalog, visible| catalog.tags(visible));
        tags.retain(|tag| name.as_ref().is_none_or(|name| name.is_match(&tag.name)));
        tags.sort_by(|a, b| b.occurrences.cmp(&a.occurrences).then_with(|| a.name.cmp(&b.name)));
        let page = page(&tags, 0, MOST, |tag| tag.name.len() + 20);
        let mut text = count(tags.len(), "tag");
        page.items.iter().for_each(|tag| text += &format!("\n#{} ({})", tag.name, tag.occurrences));
        let mut data = json!({ "tags": page.items.iter().map(data).collect::<Vec<Value>>() });
        if let Some(name) = name {
            data["appliedFilters"] = json!({ "nameRegex": name.as_str() });
        }
        if let Some(notice) = notice(tags.len(), page.items.len()) {
            text += &format!("\n{notice}");
            data["notice"] = json!(notice);
        }
        Ok(Plan::Answer(Output::new(text, data).from_vault("tags")))
    }
}

fn data(tag: &TagCount) -> Value {
    json!({ "name": tag.name, "count": tag.occurrences })
}

fn notice(found: usize, shown: usize) -> Option<String> {
    match found {
        0 => Some("no tag fits; leave out nameRegex to see all".to_owned()),
        _ if shown < found => {
            Some(format!("the {shown} most used of {found} tags; nameRegex finds the others"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "a.md: ---\ntags: [x]\n---\n#x/y #z\n--- b.md: #x #x";

    #[test]
    fn tags_are_counted_by_use_and_with_their_parents() {
        check(
            ListTags,
            VAULT,
            json!({}),
            expect![[r#"
            3 tags
            #x (4)
            #x/y (1)
            #z (1)"#]],
        );
        expect![[r#"{"tags":[{"name":"x","count":4},{"name":"x/y","count":1}],"appliedFilters":{"nameRegex":"^x"}}"#]].assert_eq(&testing::data(ListTags, VAULT, json!({"nameRegex": "^x"})).to_string());
        check(
            ListTags,
            VAULT,
            json!({"nameRegex": "^no"}),
            expect![[r#"
            0 tags
            no tag fits; leave out nameRegex to see all"#]],
        );
        check(
            ListTags,
            VAULT,
            json!({"nameRegex": "(?=x)"}),
            expect![
                "refused: regex_invalid: nameRegex is not valid: look-around, including look-ahead and look-behind, is not supported. mend it; look-around and back-references are not known"
            ],
        );
        check(
            ListTags,
            &format!("{VAULT}\n--- .verger/ignore: a.md"),
            json!({}),
            expect![[r#"
            1 tag
            #x (2)"#]],
        );
    }
}
