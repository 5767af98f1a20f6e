//! How a call looks in an editor: its kind, its title, the files that it touches, and what it changed.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    Content, ContentBlock, Diff, ToolCallContent, ToolCallLocation, ToolKind,
};
use pipeline::{Effect, Registry, Rights, Road};
use serde_json::Value;
use vault::policy::{Limits, Scope};
use vault::store::record::Step;
use vault::{Change, VaultPath};

use crate::talks;

/// The most files whose change is shown whole.
const MOST_FILES: usize = 50;
/// The most bytes of both sides of all changes that are shown whole.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// What kind of call this is.
pub fn kind(registry: &Registry, name: &str) -> ToolKind {
    let effect = registry.find(name, &Rights::all()).map(|tool| tool.spec().effect);
    match (name, effect) {
        ("delete_file", _) => ToolKind::Delete,
        ("move_file", _) => ToolKind::Move,
        ("switch_agent", _) => ToolKind::SwitchMode,
        ("update_todo_list" | "attempt_completion" | "consult_flagship", _) => ToolKind::Think,
        (_, Ok(Effect::Edits)) => ToolKind::Edit,
        (_, Ok(Effect::Acts)) => ToolKind::Fetch,
        (_, Ok(Effect::Answers)) => {
            match name.contains("search") || name.starts_with("query") || name.contains("similar") {
                true => ToolKind::Search,
                false => ToolKind::Read,
            }
        }
        (_, Ok(Effect::Steers) | Err(_)) => ToolKind::Other,
    }
}

/// The files that a call names, as an editor knows them.
pub fn locations(root: &Path, input: &Value) -> Vec<ToolCallLocation> {
    let named = ["path", "source", "destination", "note_path", "from", "to"];
    let line = input.get("offset").or_else(|| input.get("line")).and_then(Value::as_u64);
    let line = line.and_then(|line| u32::try_from(line).ok());
    named
        .iter()
        .filter_map(|key| input.get(key).and_then(Value::as_str))
        .filter_map(|text| VaultPath::parse(text).ok())
        .map(|path| ToolCallLocation::new(absolute(root, &path)).line(line))
        .collect()
}

/// The files that were changed.
pub fn changed(root: &Path, paths: &[String]) -> Vec<ToolCallLocation> {
    let parsed = paths.iter().filter_map(|path| VaultPath::parse(path).ok());
    parsed.take(MOST_FILES).map(|path| ToolCallLocation::new(absolute(root, &path))).collect()
}

/// Where a note lies on this machine.
pub fn absolute(root: &Path, path: &VaultPath) -> PathBuf {
    root.join(path.as_str())
}

/// Text beside a call.
pub fn text(text: impl Into<String>) -> ToolCallContent {
    let text: String = text.into();
    ToolCallContent::Content(Content::new(ContentBlock::from(text)))
}

/// An answer as an editor shows it.
pub fn answer(told: &str) -> ToolCallContent {
    text(talks::shown_answer(told).0)
}

/// Changes as an editor shows them: each file with both sides, and in words what has no text or is too much.
pub fn diffs(root: &Path, changes: &[Change]) -> Vec<ToolCallContent> {
    let mut shown = Vec::new();
    let mut bytes = 0;
    for change in changes.iter().take(MOST_FILES) {
        let (before, after) = change.sizes();
        bytes += before + after;
        shown.push(match diff(root, change).filter(|_| bytes <= MOST_BYTES) {
            Some(diff) => ToolCallContent::Diff(diff),
            None => text(change.headline()),
        });
    }
    if let Some(more) = changes.len().checked_sub(MOST_FILES).filter(|more| *more > 0) {
        shown.push(text(format!("and {more} more files")));
    }
    shown
}

fn diff(root: &Path, change: &Change) -> Option<Diff> {
    let side = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let (path, before, after) = match change {
        Change::Create { path, after, .. } => (path, None, side(after)?),
        Change::Replace { path, before, after, .. } => (path, Some(side(before)?), side(after)?),
        Change::Delete { path, before } => (path, Some(side(before)?), String::new()),
        Change::Move { .. } | Change::MakeFolder { .. } | Change::RemoveFolder { .. } => return None,
    };
    Some(Diff::new(absolute(root, path), after).old_text(before))
}

/// What a call changed that nobody was asked about, from its checkpoint, as far as it may be seen.
pub fn from_checkpoint(road: &Road, limits: &Limits, id: &str) -> Vec<Change> {
    let Ok(rules) = road.vault().rules() else { return Vec::new() };
    let scope = Scope::new(limits.clone(), rules);
    let view = road.vault().view(&scope);
    let Ok(info) = view.checkpoint(id) else { return Vec::new() };
    let written = info.steps.iter().filter_map(|step| match step {
        Step::Write { path, .. } => Some(path),
        _ => None,
    });
    written
        .take(MOST_FILES + 1)
        .filter_map(|path| match view.checkpoint_file(&info.id, path).ok()? {
            (Some(before), Some(after)) => Some(Change::replace(path.clone(), before, after)),
            (None, Some(after)) => Some(Change::create(path.clone(), after)),
            (Some(before), None) => Some(Change::Delete { path: path.clone(), before: before.into() }),
            (None, None) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[test]
    fn a_change_has_both_sides_and_what_is_no_text_is_told_in_words() {
        let changes = [
            Change::create(path("a.md"), "new"),
            Change::replace(path("b.md"), "old", "newer"),
            Change::replace(path("c.png"), vec![0xff], vec![0xfe]),
        ];
        let shown = serde_json::to_value(diffs(Path::new("/v"), &changes)).unwrap();
        assert_eq!(shown[0], json!({"type": "diff", "path": "/v/a.md", "newText": "new"}));
        assert_eq!(shown[1]["oldText"], "old");
        assert_eq!(shown[2]["type"], "content");
    }

    #[test]
    fn too_much_is_told_in_words_and_counted() {
        let large = "x".repeat(MOST_BYTES);
        let changes: Vec<Change> =
            (0..60).map(|n| Change::create(path(&format!("{n}.md")), large.clone())).collect();
        let shown = serde_json::to_value(diffs(Path::new("/v"), &changes)).unwrap();
        let shown = shown.as_array().unwrap();
        assert_eq!(shown.len(), MOST_FILES + 1);
        assert_eq!(shown.iter().filter(|one| one["type"] == "diff").count(), 1);
        assert_eq!(shown[MOST_FILES]["content"]["text"], "and 10 more files");
    }

    #[test]
    fn a_location_never_leads_out_of_the_vault() {
        let of = |input| locations(Path::new("/v"), &input).len();
        assert_eq!(of(json!({"path": "a/b.md"})), 1);
        for bad in ["../x", "/etc/passwd", "file:///x", ""] {
            assert_eq!(of(json!({ "path": bad })), 0, "{bad}");
        }
    }
}
