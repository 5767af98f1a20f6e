//! Finding: ranked, exact, by meaning, by query. The tools that agents use look; here the answers get a shape for the page.

pub mod table;
mod words;

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::area::Area;
use super::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::serve::render::marked;
use words::Words;

/// Rows of one answer at most.
const MOST: usize = 200;
/// Notes that a ranked search gives at most.
const MOST_NOTES: usize = 50;
/// The longest question.
const LONGEST: usize = 20_000;
/// Characters of an excerpt.
const EXCERPT: usize = 320;

/// The routes.
pub fn area() -> Area {
    Area::default().post::<Finding, _, _>("/api/find", "Finds notes or lines, or answers a query.", find)
}

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Finding {
    /// Words, an exact text, or a query in Dataview's language. `tag:name` among words asks for a tag.
    text: String,
    /// How to look.
    #[serde(default)]
    mode: Mode,
    /// Only in this folder.
    folder: Option<String>,
    /// The note in which a query stands.
    this: Option<String>,
    /// Rows at most, up to 200.
    #[serde(default = "thirty")]
    limit: usize,
    /// Rows to pass over.
    #[serde(default)]
    offset: usize,
}

/// How to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// By words, the best note first.
    #[default]
    Ranked,
    /// By this very text, line by line.
    Exact,
    /// By what notes are about.
    Meaning,
    /// By a query.
    Query,
}

fn thirty() -> usize {
    30
}

async fn find(State(house): State<Arc<House>>, Told(asked): Told<Finding>) -> Result<Json<Value>, Problem> {
    house.look(move |house| answer(house, &asked).map(Json)).await
}

fn answer(house: &House, asked: &Finding) -> Result<Value, Problem> {
    if asked.text.len() > LONGEST {
        return Err(Problem::bad("this is too long to look for", "use fewer words"));
    }
    let start = Instant::now();
    let mut found = match asked.mode {
        _ if asked.text.trim().is_empty() => json!({"rows": [], "total": 0}),
        Mode::Ranked => by_words(house, asked, "ranked")?,
        Mode::Meaning => by_words(house, asked, "meaning")?,
        Mode::Exact => exact(house, asked)?,
        Mode::Query => query(house, asked)?,
    };
    found["took_ms"] = json!((start.elapsed().as_secs_f64() * 100_000.0).round() / 100.0);
    Ok(found)
}

fn folder(asked: &Finding) -> Option<&str> {
    asked.folder.as_deref().map(|folder| folder.trim_matches('/')).filter(|folder| !folder.is_empty())
}

fn by_words(house: &House, asked: &Finding, how: &str) -> Result<Value, Problem> {
    let words = Words::read(&asked.text);
    let (limit, offset) = (asked.limit.clamp(1, MOST_NOTES), asked.offset.min(MOST_NOTES));
    if words.text.is_empty() {
        return tagged(house, asked, &words);
    }
    let input = json!({
        "query": words.text, "how": how, "folder": folder(asked), "tags": words.tags,
        "top_k": (limit + offset).min(MOST_NOTES),
    });
    let data = house.answer("semantic_search", input)?.data;
    let notes = data["notes"].as_array().cloned().unwrap_or_default();
    let rows: Vec<Value> = notes.iter().skip(offset).take(limit).map(note_row).collect();
    let total = data["with_words"].as_u64().unwrap_or(notes.len() as u64);
    let corrected: Vec<Value> = data["corrected"].as_array().cloned().unwrap_or_default();
    Ok(json!({
        "rows": rows, "total": total, "notes": total, "caution": data["caution"], "corrected": corrected,
        "more": offset + rows.len() < notes.len(),
    }))
}

fn note_row(note: &Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |snippet: &Value| {
        let marks: Vec<(usize, usize)> = serde_json::from_value(snippet["marks"].clone()).unwrap_or_default();
        json!({"line": snippet["line"], "html": marked(&text(&snippet["text"]), &marks)})
    };
    let snippets = note["snippets"].as_array().cloned().unwrap_or_default();
    let lines: Vec<Value> = snippets.iter().map(line).collect();
    let excerpt: String = text(&note["excerpt"]).split_whitespace().collect::<Vec<_>>().join(" ");
    let excerpt: String = excerpt.chars().take(EXCERPT).collect();
    let first = lines.first();
    json!({
        "path": note["path"],
        "name": name(note["path"].as_str().unwrap_or_default()),
        "title": note["title"],
        "line": first.map(|line| line["line"].clone()),
        "heading": note["heading"],
        "html": first.map_or_else(|| json!(marked(&excerpt, &[])), |line| line["html"].clone()),
        "lines": lines,
        "score": note["score"],
    })
}

fn tagged(house: &House, asked: &Finding, words: &Words) -> Result<Value, Problem> {
    let limit = asked.limit.clamp(1, MOST);
    let input = json!({"tags": words.tags, "match": "all", "limit": limit, "offset": asked.offset});
    let data = house.answer("search_by_tag", input)?.data;
    let inside = |note: &&Value| {
        let path = note["path"].as_str().unwrap_or_default();
        folder(asked).is_none_or(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    };
    let row = |note: &Value| {
        let tags = note["tags"].as_array().cloned().unwrap_or_default();
        let tags: Vec<String> = tags.iter().filter_map(Value::as_str).map(|tag| format!("#{tag}")).collect();
        let path = note["path"].as_str().unwrap_or_default();
        json!({"path": path, "name": name(path), "html": marked(&tags.join(" "), &[]), "lines": []})
    };
    let rows: Vec<Value> = data["notes"].as_array().into_iter().flatten().filter(inside).map(row).collect();
    let total = data["total"].as_u64().unwrap_or(rows.len() as u64);
    Ok(
        json!({"more": (asked.offset + rows.len()) < total as usize, "rows": rows, "total": total, "notes": total}),
    )
}

fn exact(house: &House, asked: &Finding) -> Result<Value, Problem> {
    let (limit, offset) = (asked.limit.clamp(1, MOST), asked.offset.min(300));
    let text = asked.text.trim_matches(['\n', '\r']);
    let input = json!({
        "pattern": text, "literal": true, "path": folder(asked).unwrap_or_default(), "limit": limit + offset,
    });
    let data = house.answer("search_files", input)?.data;
    let finder = RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().ok();
    let row = |found: &Value| {
        let path = found["path"].as_str().unwrap_or_default();
        let line = around(found["line_text"].as_str().unwrap_or_default(), finder.as_ref());
        let spans: Vec<(usize, usize)> = finder
            .iter()
            .flat_map(|finder| finder.find_iter(&line))
            .map(|hit| (hit.start(), hit.end()))
            .collect();
        let html = marked(&line, &spans);
        json!({"path": path, "name": name(path), "line": found["line"], "html": html,
               "lines": [{"line": found["line"], "html": html}]})
    };
    let matches = data["matches"].as_array().cloned().unwrap_or_default();
    let rows: Vec<Value> = matches.iter().skip(offset).take(limit).map(row).collect();
    let total = data["total_matches"].as_u64().unwrap_or_default();
    let skipped = data["files_skipped"].as_u64().filter(|skipped| *skipped > 0);
    let files = |skipped| if skipped == 1 { "file" } else { "files" };
    let caution = skipped.map(|skipped| {
        format!("{skipped} {} could not be searched (not text, or too large)", files(skipped))
    });
    Ok(json!({
        "more": ((offset + rows.len()) as u64) < total && offset + limit < 500,
        "rows": rows, "total": total, "notes": data["files_matched"], "caution": caution,
    }))
}

/// What of a long line stands around its first hit.
fn around(line: &str, finder: Option<&regex::Regex>) -> String {
    let line = line.trim();
    if line.chars().count() <= EXCERPT {
        return line.to_owned();
    }
    let hit = finder.and_then(|finder| finder.find(line)).map_or(0, |hit| hit.start());
    let before: String =
        line[..hit].chars().rev().take(EXCERPT / 3).collect::<Vec<_>>().into_iter().rev().collect();
    let behind: String = line[hit..].chars().take(EXCERPT - EXCERPT / 3).collect();
    format!("{}{before}{behind}…", if before.len() < hit { "…" } else { "" })
}

fn query(house: &House, asked: &Finding) -> Result<Value, Problem> {
    let mut input = json!({"query": asked.text});
    if let Some(this) = &asked.this {
        input["this"] = json!(super::notes::path(this)?);
    }
    let data = house.answer("query_vault", input)?.data;
    let table = table::shown(&data);
    let total = table["rows"].as_array().map_or(0, Vec::len);
    Ok(json!({"rows": [], "total": total, "table": table}))
}

fn name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_its_hit() {
        let finder = RegexBuilder::new("needle").build().unwrap();
        let line = format!("{}needle{}", "ä".repeat(1000), "ö".repeat(1000));
        let cut = around(&line, Some(&finder));
        assert!(cut.contains("needle") && cut.starts_with('…') && cut.ends_with('…'));
        assert!(cut.chars().count() <= EXCERPT + 2);
        assert_eq!(around(" short ", Some(&finder)), "short");
    }
}
