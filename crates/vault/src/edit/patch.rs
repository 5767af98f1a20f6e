//! The native edits (the 2.x algebra): an operation on a scope of a target, with one payload.
//!
//! Called by the tools that take a structured edit. White space belongs to the engine: content is trimmed, ends in one
//! line end, and one blank line keeps it apart from other text; gaps that are there, and the flush style of notes that
//! have none, are kept. Heading levels in content are relative: its highest heading becomes a child of the target, or its
//! sibling where the target's own heading is in the scope. Putting back what was read changes no byte.
//! Whatever the content, headings outside of the edit stay what they were: an unclosed fence is refused, not written.
//! The literal 1.x edits are in [`crate::edit::section`].

mod block;
mod heading;
mod levels;
mod space;
mod within;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::edit::front;
use crate::error::{Error, Result};
use crate::note::outline::{self, Outline, Purpose, Target, TargetKind};

/// One edit of a note: an operation on a scope of a target.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    /// What kind of thing is edited.
    pub target_type: TargetKind,
    /// A heading: its path from the top down (`["Overview", "Details"]`) or joined by `::`; null is the whole body.
    /// A block: its id without `^`. Front matter: the key.
    pub target: Address,
    /// What is done.
    pub operation: Operation,
    /// Which part of the target it is done to.
    #[serde(default)]
    pub scope: Scope,
    /// Only this block of the heading's own text: 0 is the first, -1 the last. With scope `content` the text is spliced in
    /// literally, with `markerAndContent` it becomes a block of its own.
    #[serde(default)]
    pub within: Option<i64>,
    /// Markdown, or the new name of a heading, id or key. Give exactly one of `content`, `value` and `destination`.
    #[serde(default)]
    pub content: Option<String>,
    /// A front-matter value, or rows of a table (a list of lists).
    #[serde(default, deserialize_with = "present")]
    pub value: Option<Value>,
    /// Where a section is moved to: with `replace` and the scope `parent`.
    #[serde(default)]
    pub destination: Option<Destination>,
    /// The `version` of the document map: the edit is refused if the note has changed since.
    #[serde(default)]
    pub if_match: Option<String>,
    /// Make the heading, block or key if it is not there.
    #[serde(default)]
    pub create_target_if_missing: bool,
    /// Refuse to append or prepend what the target holds already.
    #[serde(default)]
    pub reject_if_content_preexists: bool,
}

/// How a target is named.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Address {
    /// A heading's path, one text for each level.
    Path(Vec<String>),
    /// A heading's path joined by `::`, a block id, or a key.
    Name(String),
    /// The whole body.
    Root,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// Put the payload in place of what is there.
    Replace,
    /// Put it in front.
    Prepend,
    /// Put it behind.
    Append,
    /// Take away what is there.
    Delete,
}

/// Which part of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// What stands under the heading, the block's text, the key's value.
    #[default]
    Content,
    /// The name alone: the heading's text, the block's id, the key.
    Marker,
    /// Both: prepend and append put a sibling before or behind.
    MarkerAndContent,
    /// The heading's place in the note: replace it by a `destination` to move the section.
    Parent,
}

/// Where a section goes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Destination {
    /// The heading that it goes under; null is the top level.
    pub parent: Address,
    /// Where among that heading's sections.
    pub place: Place,
}

/// Where among its new siblings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Place {
    /// Before all others.
    First,
    /// Behind all others.
    Last,
    /// Before this heading.
    Before(Address),
    /// Behind this heading and what stands under it.
    After(Address),
}

/// A note after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patched {
    /// The new text.
    pub text: String,
    /// What the author should know: headings that would have been deeper than 6.
    pub warnings: Vec<String>,
}

/// The note after the edit.
pub fn apply(text: &str, patch: &Patch) -> Result<Patched> {
    let version = outline::version(text);
    if let Some(expected) = patch.if_match.as_ref().filter(|expected| **expected != version) {
        return Err(refusal(
            "version_mismatch",
            &format!("the note is at version {version}, not {expected}: it was changed meanwhile"),
            "read the note again and repeat the edit on the new text",
        ));
    }
    patch.check_payload()?;
    let outline = Outline::read(text);
    match patch.target(patch.target_type, &patch.target)? {
        Target::Front(key) => property(&outline, &key, patch),
        Target::Block(id) => block::edit(&outline, &id, patch),
        Target::Root => heading::edit_root(&outline, patch),
        Target::Heading(path) => heading::edit(&outline, &path, patch),
    }
}

impl Patch {
    fn target(&self, kind: TargetKind, address: &Address) -> Result<Target> {
        match (kind, address) {
            (TargetKind::Heading, Address::Root) => Ok(Target::Root),
            (TargetKind::Heading, Address::Path(path)) if path.is_empty() => Ok(Target::Root),
            (TargetKind::Heading, Address::Path(path)) => Ok(Target::Heading(path.clone())),
            (_, Address::Name(name)) if !name.trim().is_empty() => Ok(Target::parse(kind, name)),
            (_, Address::Path(path)) if path.len() == 1 => Ok(Target::parse(kind, &path[0])),
            _ => {
                Err(refusal("payload_invalid", "the target is empty", "name a heading, a block id or a key"))
            }
        }
    }

    fn check_payload(&self) -> Result<()> {
        let given = [self.content.is_some(), self.value.is_some(), self.destination.is_some()];
        let count = given.iter().filter(|given| **given).count();
        let wanted = usize::from(self.operation != Operation::Delete);
        if count == wanted && self.destination.is_some() == (wanted == 1 && self.scope == Scope::Parent) {
            return Ok(());
        }
        Err(refusal(
            "payload_invalid",
            "the payload does not fit the operation",
            "give exactly one of content and value; destination with replace and scope parent; nothing with delete",
        ))
    }

    /// The content, or a refusal: this edit takes no value.
    fn text(&self) -> Result<&str> {
        self.content.as_deref().ok_or_else(|| {
            refusal("payload_invalid", "this edit takes text", "give `content` instead of `value`")
        })
    }

    fn refuse_preexisting(&self, region: &str, content: &str) -> Result<()> {
        let adds = matches!(self.operation, Operation::Append | Operation::Prepend);
        if adds && self.reject_if_content_preexists && region.contains(content.trim()) {
            return Err(crate::edit::section::preexists());
        }
        Ok(())
    }
}

fn property(outline: &Outline<'_>, key: &str, patch: &Patch) -> Result<Patched> {
    let text = outline.text;
    let exists = outline.front_value(key, Purpose::Write);
    if !patch.create_target_if_missing || patch.operation == Operation::Delete || patch.scope == Scope::Marker
    {
        exists?;
    }
    let value =
        patch.value.clone().or_else(|| patch.content.clone().map(Value::String)).unwrap_or(Value::Null);
    let present = outline.front_value(key, Purpose::Write).is_ok();
    let text = match (patch.scope, patch.operation) {
        (Scope::Content | Scope::MarkerAndContent, Operation::Delete) => front::remove(text, key),
        (Scope::Content, Operation::Append) if present => {
            front::merge(text, key, &value, front::Place::Append)
        }
        (Scope::Content, Operation::Prepend) if present => {
            front::merge(text, key, &value, front::Place::Prepend)
        }
        (Scope::Content, _) => front::set(text, key, &value),
        (Scope::Marker, Operation::Replace) => front::rename(text, key, patch.text()?.trim()),
        _ => Err(unsupported("a front-matter key")),
    }?;
    Ok(Patched { text, warnings: Vec::new() })
}

fn unsupported(what: &str) -> Error {
    refusal(
        "edit_unsupported",
        &format!("this operation on this scope means nothing for {what}"),
        "content: replace, prepend, append, delete; marker: replace to rename; markerAndContent: replace, delete, or \
         prepend and append a sibling; parent: replace with a destination to move a heading",
    )
}

fn refusal(reason: &'static str, message: &str, hint: &str) -> Error {
    Error::Edit { reason, message: message.to_owned(), hint: hint.to_owned(), candidates: Vec::new() }
}

/// Tells a null that was given from a field that was not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests;
