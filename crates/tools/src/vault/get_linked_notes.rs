//! `get_linked_notes`: what a note links to, and what links to it.

use std::collections::HashMap;
use std::fmt::Write as _;

use pipeline::{Effect, Group, Output, Plan, Refusal, ResultRow, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vault::VaultPath;
use vault::catalog::{Catalog, LinkInfo, LinkingNote, Visible};

use crate::page::{clip, page};

/// Notes of one answer and direction at most.
const MOST: usize = 500;
/// How much of a target that leads nowhere is shown.
const LONGEST: usize = 200;

/// The tool.
pub struct GetLinkedNotes;

/// List the notes and files that a note links to or embeds, and the notes that link to it. Links that lead nowhere are
/// marked `(unresolved)`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the note, e.g. `Projects/Verger.md`.
    pub(crate) path: VaultPath,
    /// Which links.
    #[serde(default)]
    pub(crate) direction: Direction,
    /// Notes to list at most in each direction, up to 500.
    #[serde(default = "hundred")]
    pub(crate) limit: usize,
    /// How many to pass over in each direction: `next` of the page before.
    #[serde(default)]
    pub(crate) offset: usize,
}

/// Which links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// Both.
    #[default]
    Both,
    /// From the note to others.
    Forward,
    /// From others to the note.
    Backlinks,
}

fn hundred() -> usize {
    100
}

/// The other end of one or more links.
#[derive(Debug, PartialEq, Serialize)]
struct End {
    /// Its path, or the target as written where there is none.
    target: String,
    resolved: bool,
    embedded: bool,
    links: usize,
    /// The line of the first link.
    line: u32,
}

impl Tool for GetLinkedNotes {
    const SPEC: Spec = Spec::new("get_linked_notes", Group::Vault, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let path = view.find(&input.path)?;
        let catalog = view.catalog()?;
        let mut text = path.to_string();
        let mut data = json!({ "path": path });
        let mut rows = Vec::new();
        if input.direction != Direction::Backlinks {
            let ends = catalog.ask(|catalog, visible| forward(catalog, &path, visible));
            let total = ends.len();
            let rest = ends.get(input.offset..).unwrap_or_default();
            data["forward"] = show(&mut text, "links to", rest, total, &input);
            rows.extend(view.is_reviewed().then(|| found(rest)).into_iter().flatten());
        }
        if input.direction != Direction::Forward {
            let (rest, total) = catalog.ask(|catalog, visible| backlinks(catalog, &path, visible, &input));
            data["backlinks"] = show(&mut text, "linked from", &rest, total, &input);
            rows.extend(view.is_reviewed().then(|| found(&rest)).into_iter().flatten());
        }
        let output = Output::new(text, data).from_vault(path.as_str());
        // Its links are a part of its text.
        let itself = || std::iter::once(ResultRow::new(&path, "its links"));
        Ok(Plan::Answer(output.telling_rows(view, || itself().chain(rows).collect())))
    }
}

/// The notes and files behind links, as rows; a target that leads nowhere is text of the note itself.
fn found(ends: &[End]) -> Vec<ResultRow> {
    let row = |end: &End| Some(ResultRow::new(&VaultPath::parse(&end.target).ok()?, ""));
    ends.iter().filter(|end| end.resolved).filter_map(row).collect()
}

fn forward(catalog: &Catalog, path: &VaultPath, visible: Visible<'_>) -> Vec<End> {
    let mut ends = Ends::default();
    for out in catalog.outgoing(path, visible) {
        match out.to {
            Some(to) if to == path => {}
            Some(to) => ends.add(to.to_string(), true, out.link),
            None => ends.add(clip(&out.link.target, LONGEST), false, out.link),
        }
    }
    ends.list
}

/// Those of the page, and how many there are in all.
fn backlinks(catalog: &Catalog, path: &VaultPath, visible: Visible<'_>, input: &Input) -> (Vec<End>, usize) {
    let some = input.offset..input.offset.saturating_add(input.limit.clamp(1, MOST));
    let (notes, total) = catalog.linking_notes(path, some, visible);
    let end = |note: LinkingNote<'_>| End {
        target: note.from.to_string(),
        resolved: true,
        embedded: note.links.iter().any(|link| link.embed),
        links: note.links.len(),
        line: note.links.first().map_or(0, |link| link.line),
    };
    (notes.into_iter().map(end).collect(), total)
}

/// Ends in the order of their first link, each once.
#[derive(Default)]
struct Ends {
    list: Vec<End>,
    places: HashMap<(String, bool), usize>,
}

impl Ends {
    fn add(&mut self, target: String, resolved: bool, link: &LinkInfo) {
        let place = *self.places.entry((target.clone(), resolved)).or_insert(self.list.len());
        if place == self.list.len() {
            self.list.push(End { target, resolved, embedded: false, links: 0, line: link.line });
        }
        let end = &mut self.list[place];
        end.links += 1;
        end.embedded |= link.embed;
    }
}

/// Writes down a page of the ends behind the offset.
fn show(text: &mut String, title: &str, rest: &[End], total: usize, input: &Input) -> Value {
    let page = page(rest, 0, input.limit.min(MOST), |end| end.target.len() + 40);
    let shown = input.offset.saturating_add(page.items.len());
    let next = (!page.items.is_empty() && shown < total).then_some(shown);
    let _ = write!(text, "\n{title} {total}:");
    for end in page.items {
        let _ = write!(text, "\n  {} (line {}", end.target, end.line);
        if end.links > 1 {
            let _ = write!(text, ", {} times", end.links);
        }
        text.push_str(if end.embedded { ", embedded)" } else { ")" });
        text.push_str(if end.resolved { "" } else { " (unresolved)" });
    }
    if let Some(next) = next {
        let _ = write!(text, "\n  [{} more. Go on with offset {next}]", total - next);
    }
    json!({ "notes": page.items, "total": total, "next": next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "a.md: [[b]] ![[pic.png]] [[Nowhere]] [[#Here]]\n[[b#h|B]] [c](sub/c.md) <https://x.org>\n\
                         --- b.md: [[a]]\n\n![[a]]\n--- sub/c.md: `[[a]]`\n--- pic.png: x";

    #[test]
    fn both_directions_with_embeds_and_what_leads_nowhere() {
        check(
            GetLinkedNotes,
            VAULT,
            json!({"path": "a"}),
            expect![[r#"
            a.md
            links to 4:
              b.md (line 1, 2 times)
              pic.png (line 1, embedded)
              Nowhere (line 1) (unresolved)
              sub/c.md (line 2)
            linked from 1:
              b.md (line 1, 2 times, embedded)"#]],
        );
    }

    #[test]
    fn one_direction_and_pages() {
        check(
            GetLinkedNotes,
            VAULT,
            json!({"path": "b.md", "direction": "backlinks"}),
            expect![[r#"
            b.md
            linked from 1:
              a.md (line 1, 2 times)"#]],
        );
        check(
            GetLinkedNotes,
            VAULT,
            json!({"path": "a.md", "direction": "forward", "limit": 1, "offset": 1}),
            expect![[r#"
                a.md
                links to 4:
                  pic.png (line 1, embedded)
                  [2 more. Go on with offset 2]"#]],
        );
        check(
            GetLinkedNotes,
            VAULT,
            json!({"path": "zzz.md"}),
            expect![[
                r#"refused: note_missing: there is no `zzz.md` in the vault. list the folder or search for the name"#
            ]],
        );
    }
}
