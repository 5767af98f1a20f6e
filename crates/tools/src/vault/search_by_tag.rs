//! `search_by_tag`: the notes that carry tags.

use pipeline::{Effect, Group, Output, Plan, Refusal, ResultRow, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use vault::VaultPath;
use vault::catalog::{Match, Tagged};

use crate::page::{clip, count, first_few, page};

/// Notes of one answer at most.
const MOST: usize = 500;
/// How many tags of one note are named, and how much of each.
const NAMED: usize = 10;
const LONGEST: usize = 100;

/// The tool.
pub struct SearchByTag;

/// Find notes by their tags, in front matter and text. A tag finds the tags below it too: `project` finds
/// `project/verger`. Case does not matter and `#` is optional.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The tags.
    tags: Vec<String>,
    /// Whether a note needs any of them or all.
    #[serde(rename = "match", default)]
    wanted: Wanted,
    /// Notes to list at most, up to 500.
    #[serde(default = "fifty")]
    limit: usize,
    /// How many to pass over: `next` of the page before.
    #[serde(default)]
    offset: usize,
}

/// Any or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Wanted {
    /// One is enough.
    #[default]
    Any,
    /// All are needed.
    All,
}

fn fifty() -> usize {
    50
}

/// A note and its tags that match.
#[derive(Serialize)]
struct Hit {
    path: VaultPath,
    tags: Vec<String>,
    #[serde(skip)]
    line: String,
}

impl Tool for SearchByTag {
    const SPEC: Spec = Spec::new("search_by_tag", Group::Vault, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let tags: Vec<&str> = input.tags.iter().map(|tag| tag.trim().trim_start_matches('#')).collect();
        if tags.iter().all(|tag| tag.trim_matches('/').is_empty()) {
            return Err(Refusal::new(
                "tags_empty",
                "no tag was named",
                "name at least one, e.g. [\"project\"]",
            ));
        }
        let wanted = match input.wanted {
            Wanted::Any => Match::Any,
            Wanted::All => Match::All,
        };
        let hits: Vec<Hit> = view.catalog()?.ask(|catalog, visible| {
            catalog.notes_with_tags(&tags, wanted, visible).iter().map(hit).collect()
        });
        let page = page(&hits, input.offset, input.limit.min(MOST), |hit| hit.line.len());
        let mut text = format!("{} found", count(hits.len(), "note"));
        page.items.iter().for_each(|hit| text += &format!("\n{}", hit.line));
        if let Some(next) = page.next {
            text += &format!("\n[{} more. Go on with offset {next}]", hits.len() - next);
        }
        let data = json!({ "notes": page.items, "total": hits.len(), "next": page.next });
        let rows = || page.items.iter().map(|hit| ResultRow::new(&hit.path, hit.tags.join(", "))).collect();
        Ok(Plan::Answer(Output::new(text, data).from_vault("tags").telling_rows(view, rows)))
    }
}

fn hit(tagged: &Tagged<'_>) -> Hit {
    let shown: Vec<String> = tagged.tags.iter().map(|tag| format!("#{}", clip(tag, LONGEST))).collect();
    let line = format!("{} ({})", tagged.path, first_few(&shown, NAMED));
    let tags = tagged.tags.iter().take(NAMED).map(|tag| clip(tag, LONGEST)).collect();
    Hit { path: tagged.path.clone(), tags, line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "a.md: ---\ntags: [Project/Verger, home]\n---\n--- b.md: #project and #projector\n\
                         --- c.md: #projector `#project`\n--- d.md: #HOME";

    #[test]
    fn a_tag_finds_the_tags_below_it_in_any_case() {
        check(
            SearchByTag,
            VAULT,
            json!({"tags": ["#project"]}),
            expect![[r#"
            2 notes found
            a.md (#Project/Verger)
            b.md (#project)"#]],
        );
        check(
            SearchByTag,
            VAULT,
            json!({"tags": ["project/verger"]}),
            expect![[r#"
            1 note found
            a.md (#Project/Verger)"#]],
        );
    }

    #[test]
    fn any_or_all() {
        check(
            SearchByTag,
            VAULT,
            json!({"tags": ["project", "home"], "limit": 2}),
            expect![[r#"
            3 notes found
            a.md (#Project/Verger, #home)
            b.md (#project)
            [1 more. Go on with offset 2]"#]],
        );
        check(
            SearchByTag,
            VAULT,
            json!({"tags": ["project", "home"], "match": "all"}),
            expect![[r#"
            1 note found
            a.md (#Project/Verger, #home)"#]],
        );
        check(
            SearchByTag,
            VAULT,
            json!({"tags": ["project", "home"], "offset": 2}),
            expect![[r#"
            3 notes found
            d.md (#HOME)"#]],
        );
        check(SearchByTag, VAULT, json!({"tags": ["none"]}), expect![[r#"0 notes found"#]]);
        check(
            SearchByTag,
            VAULT,
            json!({"tags": ["#", ""]}),
            expect![[r#"refused: tags_empty: no tag was named. name at least one, e.g. ["project"]"#]],
        );
    }
}
