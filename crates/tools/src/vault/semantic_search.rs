//! `semantic_search`: notes by what they are about.

use pipeline::{Effect, Group, Output, Plan, Refusal, ResultRow, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use vault::catalog::Match;
use vault::finder::{FindQuery, How, NoteFound};
use vault::{VaultFolder, VaultPath};

use crate::page::{clip, count};

/// Notes of one answer at most.
const MOST: usize = 50;
/// Notes that are named because a found note links to them.
const NEIGHBOURS: usize = 5;
/// Characters of one line.
const LONGEST: usize = 300;

/// The tool.
pub struct SemanticSearch;

/// Find notes by what they are about: by words and by meaning, joined. For an exact text use search_files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to look for, in a few words or a sentence.
    query: String,
    /// Notes to return, up to 50.
    #[serde(default = "eight")]
    top_k: usize,
    /// Only in this folder, at any depth.
    #[serde(default)]
    folder: Option<VaultFolder>,
    /// Only notes with any of these tags.
    #[serde(default)]
    tags: Vec<String>,
    /// Only notes changed on this day (YYYY-MM-DD) or later.
    #[serde(default)]
    since: Option<String>,
    /// `hybrid` (words and meaning), `ranked` (words alone) or `meaning` (meaning alone).
    #[serde(default)]
    how: How,
}

fn eight() -> usize {
    8
}

/// A note that was found, for programs.
#[derive(Serialize)]
struct Hit {
    path: VaultPath,
    title: String,
    score: f32,
    snippets: Vec<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    heading: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
}

/// A line of a note with the places to mark.
#[derive(Serialize)]
struct Line {
    line: usize,
    text: String,
    marks: Vec<(usize, usize)>,
}

impl Tool for SemanticSearch {
    const SPEC: Spec = Spec::new("semantic_search", Group::Vault, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        if input.query.trim().is_empty() {
            return Err(Refusal::new(
                "query_required",
                "there is nothing to look for",
                "say it in a few words",
            ));
        }
        let query = FindQuery {
            only: tagged(view, &input.tags)?,
            since_ns: input.since.as_deref().map(|day| start_of(view, day)).transpose()?,
            text: input.query,
            folder: input.folder,
            limit: input.top_k.clamp(1, MOST),
            how: input.how,
        };
        let now = i64::try_from(view.now().timestamp().as_nanosecond()).unwrap_or(i64::MAX);
        let found = view.find_notes(&query, now)?;
        let caution = found.caution();
        let hits: Vec<Hit> = found.notes.into_iter().map(hit).collect();
        let near = neighbours(view, &hits)?;
        let mut text = count(hits.len(), "note");
        if let Some(total) = found.with_words.filter(|total| *total > hits.len()) {
            text += &format!(" of {total} with these words");
        }
        if let Some(caution) = &caution {
            text += &format!("\n({caution})");
        }
        for (word, instead) in &found.corrected {
            text += &format!(
                "\n(nobody wrote \"{}\"; looked for {})",
                clip(word, 40),
                clip(&instead.join(", "), 100)
            );
        }
        hits.iter().for_each(|hit| text += &shown(hit));
        if !near.is_empty() {
            text += "\n\nlinked with these:";
            near.iter().for_each(|path| text += &format!("\n- {path}"));
        }
        let data = json!({
            "notes": hits, "with_words": found.with_words, "corrected": found.corrected, "neighbours": near,
            "embedded": found.coverage, "caution": caution,
        });
        let rows = || hits.iter().map(row).chain(near.iter().map(|path| ResultRow::new(path, ""))).collect();
        Ok(Plan::Answer(Output::new(text, data).from_vault("search").telling_rows(view, rows)))
    }
}

fn tagged(view: &View<'_>, tags: &[String]) -> Result<Option<Vec<VaultPath>>, Refusal> {
    if tags.is_empty() {
        return Ok(None);
    }
    let tags: Vec<&str> = tags.iter().map(|tag| tag.trim().trim_start_matches('#')).collect();
    let mut paths: Vec<VaultPath> = view.catalog()?.ask(|catalog, visible| {
        catalog.notes_with_tags(&tags, Match::Any, visible).iter().map(|found| found.path.clone()).collect()
    });
    paths.sort();
    Ok(Some(paths))
}

/// The first nanosecond of a day in the user's zone.
fn start_of(view: &View<'_>, day: &str) -> Result<i64, Refusal> {
    let refuse =
        || Refusal::new("date_invalid", format!("`{}` is no day", clip(day, 40)), "write it as YYYY-MM-DD");
    let date: jiff::civil::Date = day.trim().parse().map_err(|_| refuse())?;
    let start = date.to_zoned(view.now().time_zone().clone()).map_err(|_| refuse())?;
    i64::try_from(start.timestamp().as_nanosecond()).map_err(|_| refuse())
}

fn hit(found: NoteFound) -> Hit {
    let line = |snippet: vault::index::Snippet| Line {
        line: snippet.line,
        marks: snippet.marks.iter().map(|mark| (mark.start, mark.end)).collect(),
        text: snippet.text,
    };
    let (heading, excerpt) = match found.excerpt {
        Some((heading, excerpt)) => {
            (Some(heading.join(" > ")).filter(|heading| !heading.is_empty()), Some(excerpt))
        }
        None => (None, None),
    };
    let snippets = found.snippets.into_iter().map(line).collect();
    Hit { path: found.path, title: found.title, score: found.score, snippets, heading, excerpt }
}

fn row(hit: &Hit) -> ResultRow {
    let lines: Vec<&str> = hit.snippets.iter().map(|line| line.text.trim()).collect();
    let excerpt = match lines.is_empty() {
        true => hit.excerpt.clone().unwrap_or_default(),
        false => lines.join("\n"),
    };
    ResultRow { path: hit.path.clone(), title: hit.title.clone(), excerpt }
}

fn shown(hit: &Hit) -> String {
    let mut text = format!("\n\n{} ({})", hit.path, clip(&hit.title, 100));
    for line in &hit.snippets {
        text += &format!("\n  {}: {}", line.line, clip(line.text.trim(), LONGEST));
    }
    if let (true, Some(excerpt)) = (hit.snippets.is_empty(), &hit.excerpt) {
        let heading =
            hit.heading.as_ref().map(|heading| format!("{}: ", clip(heading, 100))).unwrap_or_default();
        text += &format!("\n  {heading}{}", clip(excerpt.trim(), LONGEST));
    }
    text
}

/// Notes that the found ones link to, or that link to the best of them, and that were not found themselves.
fn neighbours(view: &View<'_>, hits: &[Hit]) -> Result<Vec<VaultPath>, Refusal> {
    let catalog = view.catalog()?;
    let mut near = Vec::new();
    catalog.ask(|catalog, visible| {
        for hit in hits.iter().take(3) {
            let forward =
                catalog.outgoing(&hit.path, visible).into_iter().filter_map(|link| link.to.cloned());
            let back = catalog.backlinks(&hit.path, visible).into_iter().map(|link| link.from.clone());
            for path in forward.chain(back) {
                if path.is_note() && !near.contains(&path) && hits.iter().all(|hit| hit.path != path) {
                    near.push(path);
                }
            }
        }
    });
    near.truncate(NEIGHBOURS);
    Ok(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "Bread.md: # Sourdough\nFeed the starter with flour and water every morning.\n\
        --- Car.md: # Old car\nThe engine needs new oil, see [[Garage]].\n\
        --- Garage.md: # Garage\nOpen on weekdays. #shop\n\
        --- Private/x.md: the starter of the engine is secret\n--- .verger/ignore: Private/";

    #[test]
    fn words_find_their_note_and_its_neighbours() {
        check(
            SemanticSearch,
            VAULT,
            json!({"query": "engine oil", "how": "ranked"}),
            expect![[r#"
                1 note

                Car.md (Old car)
                  2: The engine needs new oil, see [[Garage]].

                linked with these:
                - Garage.md"#]],
        );
    }

    #[test]
    fn meaning_finds_a_note_that_uses_other_words() {
        let registry = pipeline::Registry::default();
        registry.add(SemanticSearch);
        let rig = pipeline::testing::Rig::new(VAULT, registry);
        let outcome = rig.call(
            "semantic_search",
            json!({"query": "baking a loaf", "how": "meaning", "top_k": 1}),
            &pipeline::Nobody,
        );
        assert_eq!(outcome.output().unwrap().data["notes"][0]["path"], "Bread.md");
        let outcome =
            rig.call("semantic_search", json!({"query": "starter engine", "top_k": 9}), &pipeline::Nobody);
        assert!(
            !outcome.output().unwrap().data.to_string().contains("Private"),
            "what may not be read is not found"
        );
    }

    #[test]
    fn filters_and_mistakes() {
        for (input, expected) in [
            (
                json!({"query": " "}),
                expect!["refused: query_required: there is nothing to look for. say it in a few words"],
            ),
            (
                json!({"query": "x", "since": "soon"}),
                expect!["refused: date_invalid: `soon` is no day. write it as YYYY-MM-DD"],
            ),
            (
                json!({"query": "open", "tags": ["shop"], "how": "ranked"}),
                expect![[r#"
                1 note

                Garage.md (Garage)
                  2: Open on weekdays. #shop

                linked with these:
                - Car.md"#]],
            ),
            (json!({"query": "open", "tags": ["none"]}), expect!["0 notes"]),
        ] {
            check(SemanticSearch, VAULT, input, expected);
        }
    }
}
