//! `search`, `tags`, `links`, `health`: finding things in the whole vault.

use std::fmt::Write as _;

use regex::RegexBuilder;
use serde_json::{Value, json};
use vault::search::{Match, Pattern, Query};

use crate::args::Writing;
use crate::door::Door;
use crate::failure::Failure;
use crate::paper::{self, Paper, Role};

/// What `search` was asked.
pub struct Search {
    /// The text or regular expression.
    pub pattern: String,
    /// Whether it is a regular expression.
    pub regex: bool,
    /// Only files that fit.
    pub glob: Option<String>,
    /// Only in this folder.
    pub folder: Option<String>,
    /// Lines around each match.
    pub context: usize,
    /// Matches at most.
    pub limit: usize,
}

/// Finds a text in all notes.
pub fn search(door: &Door<'_>, search: Search) -> Result<(), Failure> {
    let folder = search.folder.as_deref().unwrap_or_default().trim_end_matches('/').to_owned();
    let input = json!({
        "pattern": search.pattern,
        "literal": !search.regex,
        "path": folder,
        "file_pattern": search.glob,
        "context": search.context,
        "limit": search.limit.clamp(1, 500),
    });
    let answer = door.answer("search_files", input)?;
    let mut data = answer.data;
    let more = matches!(data.get("next"), Some(Value::String(_)));
    let shown = data.get("matches").and_then(Value::as_array).map_or(0, Vec::len);
    if more && shown < search.limit {
        data["matches"] = json!(all_matches(door, &search, &folder)?);
    }
    let total = data.get("total_matches").and_then(Value::as_u64).unwrap_or_default();
    if door.terminal.json {
        door.json(&data);
        return Ok(());
    }
    let matches = data.get("matches").and_then(Value::as_array).cloned().unwrap_or_default();
    door.terminal.data(&lines(&door.terminal.out, &search, &matches));
    if (matches.len() as u64) < total {
        door.terminal.note(&format!("{} of {total} matches shown; see more with --limit", matches.len()));
    }
    if let Some(skipped) = data.get("files_skipped").and_then(Value::as_u64).filter(|skipped| *skipped > 0) {
        let files = if skipped == 1 { "file" } else { "files" };
        door.terminal.note(&format!("{skipped} {files} could not be searched (not text, or too large)"));
    }
    Ok(())
}

fn all_matches(door: &Door<'_>, search: &Search, folder: &str) -> Result<Vec<Match>, Failure> {
    let pattern = search.pattern.clone();
    let pattern = if search.regex { Pattern::Regex(pattern) } else { Pattern::Literal(pattern) };
    let folder = vault::VaultFolder::parse(folder)
        .map_err(|error| vault::Error::Path { text: folder.to_owned(), error })?;
    let query = Query {
        glob: search.glob.clone(),
        folder: Some(folder),
        context: search.context,
        limit: search.limit,
        ..Query::new(pattern)
    };
    let scope = door.scope()?;
    Ok(door.road.vault().view(&scope).search(&query)?.matches)
}

/// `path:line:text`, lines around a match as `path-line-text`, groups apart by `--`.
fn lines(paper: &Paper, search: &Search, matches: &[Value]) -> String {
    let pattern = if search.regex { search.pattern.clone() } else { regex::escape(&search.pattern) };
    let finder = RegexBuilder::new(&pattern).case_insensitive(true).build().ok();
    let mut out = String::new();
    for (index, found) in matches.iter().enumerate() {
        if search.context > 0 && index > 0 {
            out.push_str("--\n");
        }
        let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
        let around = |key: &str| found.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let number = found.get("line").and_then(Value::as_u64).unwrap_or_default();
        let path = paper.paint(Role::Place, text("path"));
        let (before, after) = (around("before"), around("after"));
        let first = number.saturating_sub(before.len() as u64);
        let beside = |out: &mut String, from: u64, lines: &[Value]| {
            for (number, line) in (from..).zip(lines) {
                let _ = writeln!(out, "{path}-{number}-{}", paper.text(line.as_str().unwrap_or_default()));
            }
        };
        beside(&mut out, first, &before);
        let line = text("line_text");
        let spans: Vec<_> =
            finder.iter().flat_map(|finder| finder.find_iter(line)).map(|hit| hit.range()).collect();
        let _ = writeln!(out, "{path}:{number}:{}", paper::highlight(paper, line, &spans));
        beside(&mut out, number + 1, &after);
    }
    out
}

/// Lists all tags, or the notes that carry one.
pub fn tags(door: &Door<'_>, tag: Option<&str>) -> Result<(), Failure> {
    match tag {
        None => {
            let tags = door.items("list_tags", json!({"limit": 500, "offset": 0}), "/tags")?;
            show(door, "tags", &tags, |tag| format!("{:>6}  #{}", number(tag, "files"), text(tag, "name")))
        }
        Some(tag) => {
            let input = json!({"tags": [tag], "limit": 500, "offset": 0});
            let notes = door.items("search_by_tag", input, "/notes")?;
            show(door, "notes", &notes, |note| text(note, "path").to_owned())
        }
    }
}

/// Shows where a note leads and what leads to it.
pub fn links(door: &Door<'_>, note: &str) -> Result<(), Failure> {
    let path = door.resolve(note)?;
    let side = |direction: &str| {
        let input = json!({"path": path, "direction": direction, "limit": 500, "offset": 0});
        door.items("get_linked_notes", input, &format!("/{}/notes", direction))
    };
    let (forward, backlinks) = (side("forward")?, side("backlinks")?);
    if door.terminal.json {
        door.json(&json!({"path": path, "forward": forward, "backlinks": backlinks}));
        return Ok(());
    }
    let paper = &door.terminal.out;
    let mut out = String::new();
    for (sign, word, ends) in [("->", "to", &forward), ("<-", "from", &backlinks)] {
        for end in ends {
            let broken = end.get("resolved").and_then(Value::as_bool) == Some(false);
            let broken = if broken { "  (leads nowhere)" } else { "" };
            let target = paper.text(text(end, "target"));
            let _ = writeln!(out, "{sign} {word} {target}, line {}{broken}", number(end, "line"));
        }
    }
    door.terminal.data(&out);
    if forward.is_empty() && backlinks.is_empty() {
        door.terminal.note("no links to or from this note");
    }
    Ok(())
}

/// Shows what is wrong or odd.
pub fn health(door: &Door<'_>, kind: Option<&str>, deep: bool) -> Result<(), Failure> {
    let look = if deep || kind.is_some_and(needs_texts) { "texts" } else { "catalog" };
    let mut input = json!({"limit": 500, "offset": 0, "look": look});
    if let Some(kind) = kind {
        input["kind"] = json!(kind.replace('-', "_"));
    }
    let findings = door.items("vault_health_check", input, "/findings")?;
    show(door, "findings", &findings, |finding| {
        let paths = finding.get("paths").and_then(Value::as_array);
        let paths: Vec<&str> = paths.into_iter().flatten().filter_map(Value::as_str).collect();
        let line =
            finding.get("line").and_then(Value::as_u64).map(|line| format!(":{line}")).unwrap_or_default();
        let repair = match text(finding, "repair") {
            "" => String::new(),
            repair => format!(" (to mend it: {repair})"),
        };
        let (severity, kind) = (text(finding, "severity"), text(finding, "kind"));
        format!("{severity}  {kind}  {}{line}: {}{repair}", paths.join(", "), text(finding, "message"))
    })?;
    if findings.is_empty() {
        door.terminal.note("nothing is wrong");
    }
    Ok(())
}

/// Mends what can be mended of one kind.
pub fn repair(door: &Door<'_>, kind: &str, writing: Writing) -> Result<(), Failure> {
    door.write("vault_health_repair", json!({"kind": kind.replace('-', "_")}), writing)
}

/// Kinds that only a look at the texts finds.
fn needs_texts(kind: &str) -> bool {
    matches!(kind.replace('-', "_").as_str(), "near_duplicate" | "similar_unlinked")
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// Prints a list, an item a line; with `--json` as data under its name.
fn show(
    door: &Door<'_>,
    name: &str,
    items: &[Value],
    line: impl Fn(&Value) -> String,
) -> Result<(), Failure> {
    if door.terminal.json {
        door.json(&json!({name: items, "total": items.len()}));
        return Ok(());
    }
    let lines = items.iter().map(|item| paper::one_line(&line(item)));
    let text: String = lines.map(|line| format!("{}\n", door.terminal.out.text(&line))).collect();
    door.terminal.data(&text);
    Ok(())
}
