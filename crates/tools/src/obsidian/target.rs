//! Which note a call is about: named by its path, the one that is open in Obsidian, or the one of a day or week.
//!
//! What is open is read from the workspace that Obsidian saves; only its active pane counts, because the last closed note
//! is not what somebody means who says "this note". Periodic notes are found, never made.

use std::borrow::Cow;

use jiff::civil::Date;
use pipeline::{Refusal, View};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;
use vault::files::Kind;
use vault::periodic::{self, Period};
use vault::{Error, VaultPath};

use super::rooted::Rooted;
use crate::page::clip;

const WORKSPACE: &str = ".obsidian/workspace.json";

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum NoteTarget {
    Path { path: Rooted<VaultPath> },
    Active {},
    Periodic { period: Period, date: Option<String> },
}

/// One object with the fields of all three kinds: a list of kinds says the same in three times the bytes, once for each
/// tool that takes a target. What does not fit its kind is refused when it is read.
impl JsonSchema for NoteTarget {
    fn schema_name() -> Cow<'static, str> {
        "target".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "type": { "type": "string", "enum": ["path", "active", "periodic"] },
                "path": { "type": "string" },
                "period": { "type": "string", "enum": Period::ALL.map(Period::name) },
                "date": { "type": "string", "format": "date" },
            },
            "required": ["type"],
        })
    }
}

impl NoteTarget {
    /// The file exactly as it was named, there or not: for tools that write.
    pub(super) fn exact(self, view: &View<'_>) -> Result<VaultPath, Refusal> {
        match self {
            NoteTarget::Path { path } => Ok(path.0),
            NoteTarget::Active {} => active(view),
            NoteTarget::Periodic { period, date } => periodic(view, period, date.as_deref()),
        }
    }

    /// A file that is there; a path that differs only in case or lacks its folder will do: for tools that read.
    pub(super) fn found(self, view: &View<'_>) -> Result<VaultPath, Refusal> {
        match self {
            NoteTarget::Path { path } => find(view, &path.0),
            other => other.exact(view),
        }
    }
}

/// The file that a path means, if it is the only one.
pub(super) fn find(view: &View<'_>, path: &VaultPath) -> Result<VaultPath, Refusal> {
    if view.look(path)?.is_some_and(|entry| entry.kind == Kind::File) {
        return Ok(path.clone());
    }
    let found = view.find(path).map_err(|error| {
        let refusal = Refusal::from(error);
        match refusal.data.get("candidates").cloned() {
            Some(matches) => refusal.with("path", path).with("matches", matches),
            None => refusal,
        }
    })?;
    match view.look(&found)?.map(|entry| entry.kind) {
        Some(Kind::Folder) => Err(Error::IsFolder { path: found }.into()),
        _ => Ok(found),
    }
}

fn active(view: &View<'_>) -> Result<VaultPath, Refusal> {
    let open = view.machinery_text(WORKSPACE).and_then(|text| active_file(&text));
    open.filter(|path| matches!(view.look(path), Ok(Some(_)))).ok_or_else(|| {
        Refusal::new(
            "no_active_file",
            "no note is open in Obsidian that may be read here",
            "name the note by its path: {\"type\": \"path\", \"path\": \"…\"}",
        )
    })
}

/// The file in the active pane of a saved workspace.
fn active_file(workspace: &str) -> Option<VaultPath> {
    let workspace: Value = serde_json::from_str(workspace).ok()?;
    let active = workspace.get("active")?.as_str()?;
    let mut waiting: Vec<&Value> =
        ["main", "floating"].iter().filter_map(|part| workspace.get(part)).collect();
    while let Some(node) = waiting.pop() {
        if node.get("id").and_then(Value::as_str) == Some(active) {
            return VaultPath::parse(node.pointer("/state/state/file")?.as_str()?).ok();
        }
        waiting.extend(node.get("children").and_then(Value::as_array).into_iter().flatten());
    }
    None
}

fn periodic(view: &View<'_>, period: Period, date: Option<&str>) -> Result<VaultPath, Refusal> {
    let date = match date {
        Some(text) => day(text)?,
        None => view.now().date(),
    };
    let settings = view.periodic_settings()?;
    let expected = periodic::path_for(&settings, period, date)?;
    let may_read = view.scope().may_read(&expected);
    if may_read && view.look(&expected)?.is_some() {
        return Ok(expected);
    }
    let found = view.catalog()?.ask(|catalog, visible| {
        let paths = catalog.notes(visible).map(|info| &info.path);
        periodic::find(&settings, period, date, paths)
    });
    found.ok_or_else(|| not_found(period, date, may_read.then_some(&expected)))
}

fn day(text: &str) -> Result<Date, Refusal> {
    let date = if text.len() == "2026-03-14".len() { text.parse().ok() } else { None };
    date.ok_or_else(|| {
        let message = format!("`{}` is not a date", clip(text, 40));
        Refusal::new("date_invalid", message, "write year, month and day, e.g. 2026-03-14")
    })
}

fn not_found(period: Period, date: Date, expected: Option<&VaultPath>) -> Refusal {
    let message = format!("there is no {} note of {date} that may be read here", period.name());
    match expected {
        Some(path) => {
            let hint =
                format!("name another note by its path, or create it with obsidian_write_note at `{path}`");
            Refusal::new("periodic_not_found", message, hint).with("path", path)
        }
        None => Refusal::new("periodic_not_found", message, "name another note by its path, or ask the user"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_file_is_that_of_the_active_pane_and_no_other() {
        let leaf = r#"{"id": "p", "children": [{"id": "l", "state": {"state": {"file": "F/a.md"}}}]}"#;
        for (workspace, expected) in [
            (format!(r#"{{"active": "l", "main": {leaf}}}"#), Some("F/a.md")),
            (
                format!(r#"{{"active": "l", "main": {{}}, "floating": {{"children": [{leaf}]}}}}"#),
                Some("F/a.md"),
            ),
            (format!(r#"{{"active": "x", "main": {leaf}, "lastOpenFiles": ["b.md"]}}"#), None),
            (r#"{"active": "l", "main": {"id": "l"}}"#.to_owned(), None),
            (
                r#"{"active": "l", "main": {"id": "l", "state": {"state": {"file": "../b.md"}}}}"#.to_owned(),
                None,
            ),
            ("[".repeat(10_000), None),
        ] {
            let found = active_file(&workspace);
            assert_eq!(found.as_ref().map(VaultPath::as_str), expected, "{workspace:.80}");
        }
    }
}
