//! `obsidian_get_links`: what a note links to, and what links to it. The original has no such tool.

use std::collections::BTreeSet;

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::VaultPath;
use vault::catalog::{Catalog, Visible};

use super::rooted::Rooted;
use super::target::find;
use crate::vault::GetLinkedNotes;
use crate::vault::get_linked_notes::{self, Direction};

/// Notes of one answer at most, and the longest way to them.
const MOST: usize = 500;
const DEEPEST: usize = 5;

/// Links from a note (`forward`) and to it (`backlinks`).
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    path: Rooted<VaultPath>,
    #[serde(default)]
    direction: Links,
    /// Up to 500.
    #[serde(default = "hundred")]
    limit: usize,
    /// `next` of the page before.
    #[serde(default)]
    offset: usize,
    /// From 2 on, also the notes within so many links.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 5))]
    depth: usize,
}

fn one() -> usize {
    1
}

#[derive(Debug, Clone, Copy, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Links {
    #[default]
    Both,
    Forward,
    Backlinks,
}

fn hundred() -> usize {
    100
}

/// The tool.
pub struct GetLinks;

impl Tool for GetLinks {
    const SPEC: Spec = Spec::new("obsidian_get_links", Group::Vault, Effect::Answers);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let direction = match input.direction {
            Links::Both => Direction::Both,
            Links::Forward => Direction::Forward,
            Links::Backlinks => Direction::Backlinks,
        };
        if !(1..=DEEPEST).contains(&input.depth) {
            let message = format!("depth {} is not between 1 and {DEEPEST}", input.depth);
            return Err(Refusal::new("input_invalid", message, "give a depth from 1 to 5"));
        }
        let path = find(view, &input.path.0)?;
        let (limit, depth) = (input.limit.min(MOST), input.depth);
        let inner = get_linked_notes::Input { path: path.clone(), direction, limit, offset: input.offset };
        let plan = GetLinkedNotes.plan(inner, view).await?;
        if depth == 1 {
            return Ok(plan);
        }
        let near = view
            .catalog()?
            .ask(|catalog, visible| neighbours(catalog, visible, &path, input.direction, depth));
        let Plan::Answer(mut output) = plan else { return Ok(plan) };
        let shown: Vec<_> = near.iter().skip(input.offset).take(limit).collect();
        output.text += &format!("\nwithin {depth} links {}:", near.len());
        shown.iter().for_each(|(path, steps)| output.text += &format!("\n  {path} ({steps})"));
        output.data["neighbours"] =
            shown.iter().map(|(path, steps)| json!({ "path": path, "distance": steps })).collect();
        output.data["neighboursTotal"] = json!(near.len());
        Ok(Plan::Answer(output))
    }
}

/// The notes that can be reached by links that may be seen, the nearest first, and in how many steps.
fn neighbours(
    catalog: &Catalog,
    visible: Visible<'_>,
    start: &VaultPath,
    links: Links,
    depth: usize,
) -> Vec<(VaultPath, usize)> {
    let mut seen = BTreeSet::from([start.clone()]);
    let mut found = Vec::new();
    let mut front = vec![start.clone()];
    for steps in 1..=depth {
        let mut next = BTreeSet::new();
        for path in &front {
            if !matches!(links, Links::Backlinks) {
                next.extend(catalog.outgoing(path, visible).into_iter().filter_map(|out| out.to.cloned()));
            }
            if !matches!(links, Links::Forward) {
                next.extend(catalog.backlinks(path, visible).into_iter().map(|back| back.from.clone()));
            }
        }
        next.retain(|path| seen.insert(path.clone()));
        found.extend(next.iter().map(|path| (path.clone(), steps)));
        front = next.into_iter().collect();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn notes_further_away_are_listed_with_their_distance() {
        let vault = "a.md: [[b]]\n--- b.md: [[c]]\n--- c.md: [[d]]\n--- d.md: [[a]]\n--- e.md: [[c]]";
        check(
            GetLinks,
            vault,
            json!({"path": "a.md", "direction": "forward", "depth": 2}),
            expect![[r#"
            a.md
            links to 1:
              b.md (line 1)
            within 2 links 2:
              b.md (1)
              c.md (2)"#]],
        );
        check(
            GetLinks,
            vault,
            json!({"path": "a.md", "depth": 5, "limit": 3}),
            expect![[r#"
            a.md
            links to 1:
              b.md (line 1)
            linked from 1:
              d.md (line 1)
            within 5 links 4:
              b.md (1)
              d.md (1)
              c.md (2)"#]],
        );
        check(
            GetLinks,
            vault,
            json!({"path": "a.md", "depth": 0}),
            expect!["refused: input_invalid: depth 0 is not between 1 and 5. give a depth from 1 to 5"],
        );
    }

    #[test]
    fn links_are_listed_in_both_directions_or_one() {
        let vault = "a.md: [[b]] [[nowhere]]\n--- b.md: ![[a]]\n--- c.md: [[a]]";
        check(
            GetLinks,
            vault,
            json!({"path": "/a.md"}),
            expect![[r#"
            a.md
            links to 2:
              b.md (line 1)
              nowhere (line 1) (unresolved)
            linked from 2:
              b.md (line 1, embedded)
              c.md (line 1)"#]],
        );
        check(
            GetLinks,
            vault,
            json!({"path": "a.md", "direction": "backlinks", "limit": 1}),
            expect![[r#"
            a.md
            linked from 2:
              b.md (line 1, embedded)
              [1 more. Go on with offset 1]"#]],
        );
        check(
            GetLinks,
            vault,
            json!({"path": "z.md"}),
            expect![
                "refused: note_missing: there is no `z.md` in the vault. did you mean `a.md`, `b.md`, `c.md`?"
            ],
        );
        check(
            GetLinks,
            vault,
            json!({"path": "a.md", "direction": "up"}),
            expect![
                "refused: input_invalid: the input does not fit: unknown variant `up`, expected one of `both`, `forward`, `backlinks`. the fields are path, direction, limit, offset, depth"
            ],
        );
    }
}
