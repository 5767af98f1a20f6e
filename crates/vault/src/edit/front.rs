//! Front matter, edited: one key's lines change, every other byte of the note stays.
//!
//! Called by the front-matter, tag and section tools. Each function takes a note's whole text and returns the new one,
//! which was read again before it is handed out: what does not say exactly what it should is refused.
//! How values are written is in `write.rs`, where they go in `place.rs`. Reading is in [`crate::note::front`].

mod place;
pub(crate) mod write;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::note::front::{self, FrontError};
use place::Place as Spot;

/// At which end [`merge`] adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind what is there.
    Append,
    /// In front of what is there.
    Prepend,
}

/// All properties of the note; none if it has no front matter.
pub fn all(text: &str) -> Result<Map<String, Value>> {
    match front::split(text) {
        Some(front) => Ok(front.values?),
        None if front::is_left_open(text) => Err(left_open()),
        None => Ok(Map::new()),
    }
}

/// The value of one top-level key. Dots in a key are literal.
pub fn get(text: &str, key: &str) -> Result<Option<Value>> {
    Ok(all(text)?.remove(key))
}

/// Sets a key: in place where it stands, else at the end of the block, which is made if there is none.
pub fn set(text: &str, key: &str, value: &Value) -> Result<String> {
    let old = all(text)?;
    if old.get(key) == Some(value) {
        return Ok(text.to_owned());
    }
    let mut expected = old;
    expected.insert(key.to_owned(), value.clone());
    if write::is_too_deep(value) {
        return Err(FrontError::TooLarge.into());
    }
    let Some(spot) = Spot::find(text)? else {
        return settle(text, &expected, [place::new_block(text, key, value)]);
    };
    if let Some(whole) = spot.rewritten(&expected) {
        return settle(text, &expected, [whole]);
    }
    match spot.entry(key) {
        Some(entry) => {
            spot.may_replace(entry)?;
            settle(text, &expected, spot.with_value(entry, value)?)
        }
        None => settle(text, &expected, [spot.with_new(key, value)]),
    }
}

/// Removes a key with its lines. The last key takes the block with it, and the blank lines under it.
pub fn remove(text: &str, key: &str) -> Result<String> {
    let mut expected = all(text)?;
    if expected.shift_remove(key).is_none() {
        return Ok(text.to_owned());
    }
    let Some(spot) = Spot::find(text)? else { return Ok(text.to_owned()) };
    let Some(entry) = spot.entry(key) else { return Err(unsafe_edit()) };
    spot.may_replace(entry)?;
    if expected.is_empty() && spot.holds_only(entry) {
        return Ok(spot.without_block());
    }
    if let Some(whole) = spot.rewritten(&expected) {
        return settle(text, &expected, [whole]);
    }
    settle(text, &expected, [spot.without(entry)?])
}

/// Adds to what a key holds: list to list, object to object, text to text, a scalar onto a list.
///
/// An absent or empty key takes a list, an object or a text as it is.
pub fn merge(text: &str, key: &str, value: &Value, place: Place) -> Result<String> {
    let old = get(text, key)?.unwrap_or(Value::Null);
    let merged = merged(&old, value, place).ok_or_else(|| not_mergeable(key, &old, value))?;
    set(text, key, &merged)
}

/// Gives a key another name, in place.
pub fn rename(text: &str, key: &str, new_key: &str) -> Result<String> {
    let old = all(text)?;
    if !old.contains_key(key) {
        return Err(key_missing(key, &old));
    }
    if key == new_key {
        return Ok(text.to_owned());
    }
    if old.contains_key(new_key) {
        return Err(key_exists(key, new_key));
    }
    let expected = old
        .into_iter()
        .map(|(name, value)| (if name == key { new_key.to_owned() } else { name }, value))
        .collect();
    let Some(spot) = Spot::find(text)? else { return Err(unsafe_edit()) };
    if let Some(whole) = spot.rewritten(&expected) {
        return settle(text, &expected, [whole]);
    }
    let Some(entry) = spot.entry(key) else { return Err(unsafe_edit()) };
    settle(text, &expected, spot.with_name(entry, new_key))
}

/// Sets many keys, then removes others. A key that is set is not removed.
pub fn update(text: &str, values: &Map<String, Value>, remove: &[String]) -> Result<String> {
    let mut text = text.to_owned();
    for (key, value) in values {
        text = set(&text, key, value)?;
    }
    for key in remove.iter().filter(|key| !values.contains_key(*key)) {
        text = self::remove(&text, key)?;
    }
    // Also for an empty update: a note whose front matter cannot be read is not quietly accepted.
    all(&text)?;
    Ok(text)
}

fn merged(old: &Value, new: &Value, place: Place) -> Option<Value> {
    let (first, second) = match place {
        Place::Append => (old, new),
        Place::Prepend => (new, old),
    };
    match (old, new) {
        (Value::Null, Value::String(_) | Value::Array(_) | Value::Object(_)) => Some(new.clone()),
        (Value::Array(_), Value::Object(_) | Value::Null) => None,
        (Value::Array(_), _) => Some(Value::Array([items(first), items(second)].concat())),
        (Value::Object(_), Value::Object(_)) => {
            let pairs = [first, second].into_iter().filter_map(Value::as_object).flatten();
            Some(Value::Object(pairs.map(|(key, value)| (key.clone(), value.clone())).collect()))
        }
        (Value::String(_), Value::String(_)) => {
            Some(Value::String([first, second].into_iter().filter_map(Value::as_str).collect()))
        }
        _ => None,
    }
}

fn items(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

/// The first candidate that reads back as exactly what is expected, with the body as it was.
fn settle(
    text: &str,
    expected: &Map<String, Value>,
    candidates: impl IntoIterator<Item = String>,
) -> Result<String> {
    let body = front::split(text)
        .map_or(text.strip_prefix('\u{feff}').unwrap_or(text), |front| &text[front.block.end..]);
    let mut why = unsafe_edit();
    for candidate in candidates {
        match front::split(&candidate) {
            Some(read) => match read.values {
                Ok(values) if same(&values, expected) && &candidate[read.block.end..] == body => {
                    return Ok(candidate);
                }
                Err(FrontError::TooLarge) => why = FrontError::TooLarge.into(),
                _ => {}
            },
            None => continue,
        }
    }
    Err(why)
}

/// Equal, and in the same order.
fn same(values: &Map<String, Value>, expected: &Map<String, Value>) -> bool {
    values.len() == expected.len() && values.iter().eq(expected.iter())
}

fn left_open() -> Error {
    FrontError::Yaml { line: 1, message: "the block is never closed by a `---` line".to_owned() }.into()
}

fn unsafe_edit() -> Error {
    Error::Edit {
        reason: "frontmatter_unsafe",
        message: "this front matter is written in a way that the edit could damage".to_owned(),
        hint: "change the lines by an ordinary text edit; nothing was changed".to_owned(),
        candidates: Vec::new(),
    }
}

fn not_mergeable(key: &str, old: &Value, new: &Value) -> Error {
    Error::Edit {
        reason: "content_not_mergeable",
        message: format!("`{key}` holds {}; {} cannot be added to it", kind(old), kind(new)),
        hint: "add list to list, object to object, text to text or a scalar to a list; or replace the value"
            .to_owned(),
        candidates: Vec::new(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn key_missing(key: &str, values: &Map<String, Value>) -> Error {
    Error::Edit {
        reason: "key_missing",
        message: format!("the front matter has no key `{key}`"),
        hint: "name one of the keys that are there, or set the key first".to_owned(),
        candidates: values.keys().cloned().collect(),
    }
}

fn key_exists(key: &str, new_key: &str) -> Error {
    Error::Edit {
        reason: "key_exists",
        message: format!("`{key}` cannot become `{new_key}`: that key is there already"),
        hint: "choose another name, or remove that key first".to_owned(),
        candidates: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
