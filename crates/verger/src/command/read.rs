//! `read`, `ls`, `daily`: one note, one folder, one day.
//!
//! The call walks the road (policy, audit); where an answer for a model comes in parts, the rest is taken through the
//! same view, so that a person gets the file byte by byte.

use pipeline::{Outcome, Output};
use serde_json::{Value, json};
use vault::note::outline::{Target, TargetKind, read_section};
use vault::view::Depth;
use vault::{VaultFolder, VaultPath};

use crate::args::Writing;
use crate::command::write::whole_lines;
use crate::door::{Door, text_or_stdin, wiki_name};
use crate::failure::Failure;
use crate::paper::Role;

/// Prints a note or one section of it.
pub fn read(door: &Door<'_>, note: &str) -> Result<(), Failure> {
    let (path, section) = note_and_section(door, note)?;
    let answer = door.answer("read_file", json!({"path": path}))?;
    let mut text = whole_text(door, &path, &answer)?;
    if let Some(section) = &section {
        let kind = if section.starts_with('^') { TargetKind::Block } else { TargetKind::Heading };
        text = read_section(&text, &Target::parse(kind, &section.replace('#', "::")))?.text + "\n";
    }
    if door.terminal.json {
        let version = answer.data.get("version");
        door.json(&json!({"path": path, "section": section, "content": text, "version": version}));
        return Ok(());
    }
    door.terminal.data(&door.terminal.out.text(&text));
    Ok(())
}

/// `Note#Heading` is a section, unless a file is really called that.
fn note_and_section(door: &Door<'_>, note: &str) -> Result<(VaultPath, Option<String>), Failure> {
    let name = wiki_name(note);
    let Some((before, section)) = name.split_once('#') else { return Ok((door.resolve(name)?, None)) };
    if let Ok(path) = door.resolve(name) {
        return Ok((path, None));
    }
    let section = section.trim();
    Ok((door.resolve(before.trim())?, (!section.is_empty()).then(|| section.to_owned())))
}

/// All of a file, of which the answer holds at least the beginning.
fn whole_text(door: &Door<'_>, path: &VaultPath, answer: &Output) -> Result<String, Failure> {
    let whole = answer.data.get("next").is_none_or(Value::is_null);
    match answer.data.get("content").and_then(Value::as_str) {
        Some(content) if whole => Ok(content.to_owned()),
        _ => {
            let scope = door.scope()?;
            Ok(door.road.vault().view(&scope).text(path)?)
        }
    }
}

/// Lists a folder.
pub fn list(door: &Door<'_>, folder: Option<&str>, recursive: bool) -> Result<(), Failure> {
    let folder = folder.unwrap_or_default().trim_end_matches('/');
    let answer = door.answer("list_files", json!({"path": folder, "recursive": recursive, "limit": 1000}))?;
    let entries = match answer.data.get("next") {
        Some(Value::String(_)) => all_entries(door, folder, recursive)?,
        _ => answer.data.get("entries").and_then(Value::as_array).cloned().unwrap_or_default(),
    };
    if door.terminal.json {
        door.json(&json!({"path": folder, "entries": entries}));
        return Ok(());
    }
    let paper = &door.terminal.out;
    let mut text = String::new();
    for entry in &entries {
        let path = entry.get("path").and_then(Value::as_str).unwrap_or_default();
        let line = match entry.get("kind").and_then(Value::as_str) {
            Some("folder") => paper.paint(Role::Place, &format!("{path}/")),
            _ => paper.text(path).into_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    door.terminal.data(&text);
    Ok(())
}

fn all_entries(door: &Door<'_>, folder: &str, recursive: bool) -> Result<Vec<Value>, Failure> {
    let scope = door.scope()?;
    let parsed =
        VaultFolder::parse(folder).map_err(|error| vault::Error::Path { text: folder.to_owned(), error })?;
    let depth = if recursive { Depth::All } else { Depth::One };
    let entries = door.road.vault().view(&scope).list(&parsed, depth)?;
    let (folders, files): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.kind == vault::files::Kind::Folder);
    Ok(folders
        .iter()
        .map(|entry| json!({"path": entry.path, "kind": "folder"}))
        .chain(
            files.iter().map(|entry| json!({"path": entry.path, "kind": "file", "bytes": entry.stat.size})),
        )
        .collect())
}

/// Shows the daily note; makes it, or adds to it.
pub fn daily(
    door: &Door<'_>,
    offset: i64,
    create: bool,
    append: Option<String>,
    writing: Writing,
) -> Result<(), Failure> {
    let text = append.map(|text| text_or_stdin(door.terminal, text)).transpose()?;
    let input = json!({"offset": offset, "create": create || text.is_some()});
    let outcome = door.call("get_daily_note", input, writing);
    let path = outcome
        .output()
        .and_then(|output| output.data.get("path"))
        .and_then(Value::as_str)
        .and_then(|path| VaultPath::parse(path).ok());
    match (outcome, path, text) {
        (Outcome::Answered(_) | Outcome::Done { .. }, Some(path), Some(text)) => {
            door.write("append_to_file", json!({"path": path, "content": whole_lines(text)}), writing)
        }
        (Outcome::Answered(_), Some(path), None) if !door.terminal.json => {
            let scope = door.scope()?;
            let text = door.road.vault().view(&scope).text(&path)?;
            door.terminal.data(&door.terminal.out.text(&text));
            Ok(())
        }
        (Outcome::Refused(mut refusal), ..) if refusal.reason == "periodic_not_found" => {
            refusal.hint = "make it from its template: verger daily --create".to_owned();
            Err(refusal.into())
        }
        // In a dry run the note would be made first; what is added to it cannot be shown yet.
        (outcome, ..) => door.tell(&outcome),
    }
}
