//! `search` by words: the best notes first, with the lines that say why.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::door::Door;
use crate::failure::Failure;
use crate::paper::{self, Role};

/// Finds notes by words, and by meaning too if asked.
pub fn search(
    door: &Door<'_>,
    words: &str,
    meaning: bool,
    folder: Option<&str>,
    limit: usize,
) -> Result<(), Failure> {
    let how = if meaning { "hybrid" } else { "ranked" };
    let folder = folder.map(|folder| folder.trim_end_matches('/'));
    if let Some(folder) = folder {
        // A folder that is not there is a mistake, not an empty answer.
        door.answer("list_files", json!({"path": folder, "limit": 1}))?;
    }
    let input = json!({"query": words, "how": how, "folder": folder, "top_k": limit.clamp(1, 50)});
    let answer = door.answer("semantic_search", input)?;
    door.road.vault().finder()?.take_notices().iter().for_each(|notice| door.terminal.note(notice));
    if door.terminal.json {
        door.json(&answer.data);
        return Ok(());
    }
    let notes = answer.data.get("notes").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut out = String::new();
    for (index, note) in notes.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        show(door, &mut out, note);
    }
    door.terminal.data(&out);
    tell_the_rest(door, &answer.data, notes.len());
    Ok(())
}

fn show(door: &Door<'_>, out: &mut String, note: &Value) {
    let paper = &door.terminal.out;
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let _ = writeln!(
        out,
        "{}  {}",
        paper.paint(Role::Place, &text(note, "path")),
        paper.text(&text(note, "title"))
    );
    let snippets = note.get("snippets").and_then(Value::as_array).cloned().unwrap_or_default();
    for line in &snippets {
        let marks: Vec<std::ops::Range<usize>> =
            serde_json::from_value::<Vec<(usize, usize)>>(line["marks"].clone())
                .unwrap_or_default()
                .into_iter()
                .map(|(start, end)| start..end)
                .collect();
        let number = line.get("line").and_then(Value::as_u64).unwrap_or_default();
        let _ = writeln!(out, "  {number}: {}", paper::highlight(paper, &text(line, "text"), &marks));
    }
    if snippets.is_empty() && note.get("excerpt").is_some() {
        let _ = writeln!(out, "  {}", paper.text(&text(note, "excerpt").replace('\n', " ")));
    }
}

fn tell_the_rest(door: &Door<'_>, data: &Value, shown: usize) {
    for pair in data.get("corrected").and_then(Value::as_array).into_iter().flatten() {
        let word = pair.get(0).and_then(Value::as_str).unwrap_or_default();
        let instead: Vec<&str> = pair
            .get(1)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .take(5)
            .collect();
        door.terminal.note(&format!("nobody wrote \"{word}\"; looked for {}", instead.join(", ")));
    }
    let total = data.get("with_words").and_then(Value::as_u64).unwrap_or_default();
    if total > shown as u64 {
        door.terminal.note(&format!("{shown} of {total} notes shown; see more with -m"));
    }
    if let Some(caution) = data.get("caution").and_then(Value::as_str) {
        let waits = data.get("embedded").is_some_and(|part| !part.is_null());
        let more = if waits { "; `verger embed` embeds the rest now" } else { "" };
        door.terminal.note(&format!("note: {caution}{more}"));
    }
    if shown == 0 {
        door.terminal
            .note("no note holds these words or other forms of them; try --meaning, or -x for an exact text");
    }
}
