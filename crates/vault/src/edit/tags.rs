//! Tags of one note: listed, added, removed, renamed, in front matter and in the body.
//!
//! Called by the tag tools. Where tags stand is read by [`crate::note::parse`], so code, comments and links are left
//! alone; front matter is edited by [`super::front`]. Whole-vault renames call [`rename`] note by note.

mod inline;

use std::collections::HashSet;

use serde_json::Value;

use super::front;
use crate::error::{Error, Result};

/// The tags of a note without `#`, each once (case aside), in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagLists {
    /// In front matter.
    pub front: Vec<String>,
    /// In the body.
    pub inline: Vec<String>,
    /// Both, front matter first.
    pub all: Vec<String>,
}

/// Where tags are added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// In front matter only.
    Front,
    /// In the body only.
    Inline,
    /// In both.
    Both,
}

impl Location {
    fn front(self) -> bool {
        self != Location::Inline
    }

    fn inline(self) -> bool {
        self != Location::Front
    }
}

/// The note after an edit of its tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagEdit {
    /// The new text.
    pub text: String,
    /// The tags for which something changed.
    pub applied: Vec<String>,
    /// The tags that were there already, or not there to be removed.
    pub skipped: Vec<String>,
}

/// The tags of a note. Front matter that cannot be read has none.
pub fn list(text: &str) -> TagLists {
    let values = front::all(text).unwrap_or_default();
    let front: Vec<String> =
        values.iter().filter(|(key, _)| is_tag_key(key)).flat_map(|(_, value)| names(value)).collect();
    let inline: Vec<String> = inline::tags(text).into_iter().map(|tag| tag.name).collect();
    TagLists {
        all: each_once(front.iter().chain(&inline)),
        front: each_once(&front),
        inline: each_once(&inline),
    }
}

/// Adds tags where they are not there yet.
pub fn add(text: &str, tags: &[String], location: Location) -> Result<TagEdit> {
    let tags = valid(tags)?;
    let there = list(text);
    let missing = |tags: &[String], there: &[String]| -> Vec<String> {
        tags.iter().filter(|tag| !holds(there, tag)).cloned().collect()
    };
    let mut out = text.to_owned();
    let mut changed = Vec::new();
    if location.front() {
        // Read first: a block that cannot be read is not edited, even if no tag were missing.
        front::all(text)?;
        let new = missing(&tags, &there.front);
        out = add_to_front(&out, &new)?;
        changed.extend(new);
    }
    if location.inline() {
        let new = missing(&tags, &there.inline);
        out = inline::add(&out, &new)?;
        changed.extend(new);
    }
    Ok(outcome(out, tags, &changed))
}

/// Removes tags. A tag never takes its children (`a/b`) along.
pub fn remove(text: &str, tags: &[String], location: Location) -> Result<TagEdit> {
    let tags = valid(tags)?;
    let there = list(text);
    let mut out = text.to_owned();
    let mut changed = Vec::new();
    if location.front() {
        out = rewrite_front(&out, |name| if holds(&tags, name) { None } else { Some(name.to_owned()) })?;
        changed.extend(there.front);
    }
    if location.inline() {
        out = inline::remove(&out, |name| holds(&tags, name));
        changed.extend(there.inline);
    }
    Ok(outcome(out, tags, &changed))
}

/// Renames a tag and its children (`a/x` becomes `b/x`) everywhere in the note. `applied` names what was there.
pub fn rename(text: &str, from: &str, to: &str) -> Result<TagEdit> {
    let from = clean(from)?;
    let to = clean(to)?;
    let renamed = |name: &str| renamed(name, &from, &to);
    let there: Vec<String> = list(text).all.into_iter().filter(|name| renamed(name).is_some()).collect();
    let text = rewrite_front(text, |name| Some(renamed(name).unwrap_or_else(|| name.to_owned())))?;
    let text = inline::rename(&text, renamed);
    let skipped = if there.is_empty() { vec![from.clone()] } else { Vec::new() };
    Ok(TagEdit { text, applied: there, skipped })
}

fn outcome(text: String, tags: Vec<String>, changed: &[String]) -> TagEdit {
    let (applied, skipped) = tags.into_iter().partition(|tag| holds(changed, tag));
    TagEdit { text, applied, skipped }
}

fn add_to_front(text: &str, new: &[String]) -> Result<String> {
    if new.is_empty() {
        return Ok(text.to_owned());
    }
    let values = front::all(text)?;
    let key =
        values.keys().find(|key| key.eq_ignore_ascii_case("tags")).cloned().unwrap_or("tags".to_owned());
    let mut items = match values.get(&key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.clone(),
        Some(Value::Object(_)) => return Err(not_a_list(&key)),
        Some(value @ Value::String(_)) => names(value).into_iter().map(Value::String).collect(),
        Some(value) => vec![value.clone()],
    };
    items.extend(new.iter().cloned().map(Value::String));
    front::set(text, &key, &Value::Array(items))
}

/// Passes every front-matter tag through `change`; what becomes `None` goes, and the key with its last tag.
fn rewrite_front(text: &str, change: impl Fn(&str) -> Option<String>) -> Result<String> {
    let mut out = text.to_owned();
    for (key, value) in front::all(text)?.iter().filter(|(key, _)| is_tag_key(key)) {
        let old = names(value);
        if old.iter().all(|name| change(name).as_ref() == Some(name)) {
            continue;
        }
        let items = rewritten(value, &change);
        out = if items.is_empty() {
            front::remove(&out, key)?
        } else {
            front::set(&out, key, &Value::Array(items))?
        };
    }
    Ok(out)
}

/// The items of a tag list after the change: those that it does not touch as they are, and no changed tag twice.
fn rewritten(value: &Value, change: impl Fn(&str) -> Option<String>) -> Vec<Value> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        value => std::slice::from_ref(value),
    };
    let changed =
        |item: &Value| -> Vec<String> { names(item).iter().filter_map(|name| change(name)).collect() };
    let stays = |item: &Value| value.is_array() && changed(item) == names(item);
    let mut seen: HashSet<String> =
        items.iter().filter(|item| stays(item)).flat_map(names).map(|name| name.to_lowercase()).collect();
    let mut out: Vec<Value> = Vec::new();
    for item in items {
        if stays(item) {
            out.push(item.clone());
            continue;
        }
        let new = changed(item).into_iter().filter(|name| seen.insert(name.to_lowercase()));
        out.extend(new.map(Value::String));
    }
    out
}

/// Obsidian reads `tags`; older notes have `tag`.
fn is_tag_key(key: &str) -> bool {
    key.eq_ignore_ascii_case("tags") || key.eq_ignore_ascii_case("tag")
}

/// The tags that a front-matter value names: a list, or text split on commas and white space; `#` is optional.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter(|item| item.is_string()).flat_map(names).collect(),
        Value::String(text) => text
            .split(|c: char| c == ',' || c.is_whitespace())
            .map(|name| name.trim_start_matches('#').trim_end_matches('/').to_owned())
            .filter(|name| !name.is_empty())
            .collect(),
        _ => Vec::new(),
    }
}

fn renamed(name: &str, from: &str, to: &str) -> Option<String> {
    let head = name.char_indices().nth(from.chars().count()).map_or(name.len(), |(at, _)| at);
    let rest = &name[head..];
    let fits = same(&name[..head], from) && (rest.is_empty() || rest.starts_with('/'));
    fits.then(|| format!("{to}{rest}"))
}

fn same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

fn holds(tags: &[String], tag: &str) -> bool {
    tags.iter().any(|there| same(there, tag))
}

fn each_once<'a>(tags: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut seen = HashSet::new();
    tags.into_iter().filter(|tag| seen.insert(tag.to_lowercase())).cloned().collect()
}

fn valid(tags: &[String]) -> Result<Vec<String>> {
    let clean: Vec<String> = tags.iter().map(|tag| clean(tag)).collect::<Result<_>>()?;
    Ok(each_once(&clean))
}

/// A name without `#`, if it is one.
fn clean(tag: &str) -> Result<String> {
    let name = tag.trim().trim_start_matches('#');
    let fits = |c: char| match c {
        '_' | '-' | '/' => true,
        '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}' => false,
        c if c.is_ascii() => c.is_ascii_alphanumeric(),
        c => !c.is_whitespace() && !c.is_control(),
    };
    let whole = !name.split('/').any(str::is_empty);
    if whole && name.chars().all(fits) && name.chars().any(|c| !c.is_ascii_digit()) {
        return Ok(name.to_owned());
    }
    Err(Error::Edit {
        reason: "tag_invalid",
        message: format!("`{tag}` is not a tag name"),
        hint: "use letters, digits, `_`, `-` and `/` between parts, no spaces, and not digits alone"
            .to_owned(),
        candidates: Vec::new(),
    })
}

fn not_a_list(key: &str) -> Error {
    Error::Edit {
        reason: "tags_not_a_list",
        message: format!("`{key}` in the front matter is an object, not a list of tags"),
        hint: "replace it by a list first, or add the tag in the body".to_owned(),
        candidates: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
