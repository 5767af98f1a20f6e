//! A base, edited: one value's lines change, every other byte of the file stays.
//!
//! Called by the base tools. Each change is read again before it is handed out: what does not say exactly what it should,
//! or loses something else, is refused. A list or mapping in brackets is written anew as a whole, in brackets.
//! Whether the result is a good base is asked of [`Base::parse`](crate::query::bases::Base::parse) by the caller.

use serde_json::{Map, Value};

use super::front::write::{self, Lines};
use super::replace::line_end;
use crate::error::Error;
use crate::query::bases::BaseError;
use crate::query::bases::yaml::{self, Entry, Node, NodeKind, Tree};
use saphyr_parser::ScalarStyle;

/// One step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into a mapping.
    Key(String),
    /// Into a list.
    Item(usize),
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Set a value; mappings on the way are made.
    Set(Vec<Step>, Value),
    /// Add to the end of a list, which is made if it is not there.
    Push(Vec<Step>, Value),
    /// Remove a value; a list or mapping that becomes empty by it goes too.
    Remove(Vec<Step>),
}

type Result<T> = std::result::Result<T, BaseError>;

/// The text of a new base.
pub fn create(data: &Map<String, Value>) -> String {
    let lines = Lines { end: "\n", indent: 0 };
    data.iter().map(|(key, value)| write::pair(key, value, lines) + "\n").collect()
}

/// The text with all changes made, one after the other.
pub fn apply(text: &str, ops: &[Op]) -> Result<String> {
    let mut text = text.to_owned();
    for op in ops {
        text = one(&text, op)?;
    }
    Ok(text)
}

/// The names of the views, whatever else may be wrong with the base.
pub fn view_names(text: &str) -> Result<Vec<Option<String>>> {
    let views = yaml::read(text)?.data.remove("views");
    let name = |view: &Value| view.get("name").and_then(Value::as_str).map(str::to_owned);
    Ok(views.as_ref().and_then(Value::as_array).into_iter().flatten().map(name).collect())
}

fn one(text: &str, op: &Op) -> Result<String> {
    let tree = yaml::read(text)?;
    let mut expected = Value::Object(tree.data.clone());
    let at = At { text, tree: &tree };
    let candidates = match op {
        Op::Set(path, value) => {
            place(&mut expected, path)?.clone_from(value);
            at.set(path, value, &expected)?
        }
        Op::Push(path, value) => {
            let list = place(&mut expected, path)?;
            match list {
                Value::Array(items) => {
                    items.push(value.clone());
                    at.push(path, value, &expected)?
                }
                Value::Null => {
                    *list = Value::Array(vec![value.clone()]);
                    let list = list.clone();
                    at.set(path, &list, &expected)?
                }
                _ => return Err(refused(path, "is not a list")),
            }
        }
        Op::Remove(path) => {
            if find(&expected, path).is_none() {
                return Err(refused(path, "is not there"));
            }
            let path = emptied(&expected, path);
            take(&mut expected, &path);
            at.remove(&path, &expected)?
        }
    };
    let says = |candidate: &String| {
        let data = yaml::read(candidate).map(|tree| Value::Object(tree.data));
        data.is_ok_and(|data| in_order(&data) == in_order(&expected))
    };
    candidates.into_iter().find(says).ok_or_else(unsafe_edit)
}

/// The data as text, for the order of keys counts too.
fn in_order(data: &Value) -> String {
    data.to_string()
}

/// The place of a value in the data; mappings on the way are made.
fn place<'v>(mut at: &'v mut Value, path: &[Step]) -> Result<&'v mut Value> {
    for (depth, step) in path.iter().enumerate() {
        if at.is_null() && matches!(step, Step::Key(_)) {
            *at = Value::Object(Map::new());
        }
        at = match (step, at) {
            (Step::Key(key), Value::Object(map)) => map.entry(key.clone()).or_insert(Value::Null),
            (Step::Item(index), Value::Array(items)) if *index < items.len() => &mut items[*index],
            _ => return Err(refused(&path[..=depth], "cannot be reached")),
        };
    }
    Ok(at)
}

/// Removes a value from the data.
fn take(data: &mut Value, path: &[Step]) {
    let Some((last, above)) = path.split_last() else { return };
    match (last, find_mut(data, above)) {
        (Step::Key(key), Some(Value::Object(map))) => {
            map.shift_remove(key);
        }
        (Step::Item(index), Some(Value::Array(items))) if *index < items.len() => {
            items.remove(*index);
        }
        _ => {}
    }
}

fn find_mut<'v>(mut at: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    for step in path {
        at = match step {
            Step::Key(key) => at.get_mut(key)?,
            Step::Item(index) => at.get_mut(index)?,
        };
    }
    Some(at)
}

fn find<'v>(at: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(at, |at, step| match step {
        Step::Key(key) => at.get(key),
        Step::Item(index) => at.get(index),
    })
}

/// What has to go if this goes: the list or mapping that would be empty, up to the key at the top.
fn emptied(data: &Value, path: &[Step]) -> Vec<Step> {
    let mut path = path.to_vec();
    while path.len() > 1 {
        let only = match find(data, &path[..path.len() - 1]) {
            Some(Value::Object(map)) => map.len() == 1,
            Some(Value::Array(items)) => items.len() == 1,
            _ => false,
        };
        if !only {
            break;
        }
        path.pop();
    }
    path
}

/// A base and where everything in it stands.
struct At<'t> {
    text: &'t str,
    tree: &'t Tree,
}

impl At<'_> {
    fn set(&self, path: &[Step], value: &Value, expected: &Value) -> Result<Vec<String>> {
        let mut node = &self.tree.root;
        let mut entry: Option<&Entry> = None;
        for (depth, step) in path.iter().enumerate() {
            if node.flow {
                return self.rewritten(node, &path[..depth], expected);
            }
            match (step, &node.kind) {
                (Step::Key(key), NodeKind::Map(entries)) => {
                    match entries.iter().find(|entry| entry.key == *key) {
                        Some(found) => (entry, node) = (Some(found), &found.value),
                        None => return Ok(self.with_new(entries, key, &nested(&path[depth + 1..], value))),
                    }
                }
                (Step::Item(index), NodeKind::List(items)) => {
                    entry = None;
                    node = items.get(*index).ok_or_else(unsafe_edit)?;
                }
                (Step::Key(_), NodeKind::Empty) => {
                    let found = entry.ok_or_else(unsafe_edit)?;
                    return self.with_value(found, &nested(&path[depth..], value));
                }
                _ => return Err(unsafe_edit()),
            }
        }
        self.with_value(entry.ok_or_else(unsafe_edit)?, value)
    }

    fn push(&self, path: &[Step], value: &Value, expected: &Value) -> Result<Vec<String>> {
        let (node, reached) = self.walk(path)?;
        if node.flow {
            return self.rewritten(node, &path[..reached], expected);
        }
        let NodeKind::List(items) = &node.kind else { return Err(unsafe_edit()) };
        let (Some(first), Some(last)) = (items.first(), items.last()) else { return Err(unsafe_edit()) };
        let dash = self.dash(first)?;
        let lines = Lines { end: line_end(self.text), indent: self.column(dash) };
        let line = format!("{}{}{}", " ".repeat(lines.indent), write::item(value, lines), lines.end);
        Ok(vec![self.inserted(self.line_behind(last.span.end.max(dash + 1)), &line, lines.end)])
    }

    fn remove(&self, path: &[Step], expected: &Value) -> Result<Vec<String>> {
        let Some((last, above)) = path.split_last() else { return Err(unsafe_edit()) };
        let (node, reached) = self.walk(above)?;
        if node.flow {
            return self.rewritten(node, &path[..reached], expected);
        }
        match (last, &node.kind) {
            (Step::Item(index), NodeKind::List(items)) => {
                let item = items.get(*index).ok_or_else(unsafe_edit)?;
                let dash = self.dash(item)?;
                let line = self.line_start(dash);
                let end = self.line_behind(item.span.end.max(dash + 1));
                Ok(vec![self.spliced(line, end, "")])
            }
            (Step::Key(key), NodeKind::Map(entries)) => {
                let place = entries.iter().position(|entry| entry.key == *key).ok_or_else(unsafe_edit)?;
                Ok(vec![self.without(&entries[place], entries.get(place + 1))])
            }
            _ => Err(unsafe_edit()),
        }
    }

    /// The node at the end of a path, or the first one in brackets on the way; and how many steps were taken.
    fn walk(&self, path: &[Step]) -> Result<(&Node, usize)> {
        let mut node = &self.tree.root;
        for (depth, step) in path.iter().enumerate() {
            if node.flow {
                return Ok((node, depth));
            }
            node = match (step, &node.kind) {
                (Step::Key(key), _) => &node.get(key).ok_or_else(unsafe_edit)?.value,
                (Step::Item(index), NodeKind::List(items)) => items.get(*index).ok_or_else(unsafe_edit)?,
                _ => return Err(unsafe_edit()),
            };
        }
        Ok((node, path.len()))
    }

    /// What stands in brackets, written anew.
    fn rewritten(&self, node: &Node, path: &[Step], expected: &Value) -> Result<Vec<String>> {
        let value = find(expected, path).ok_or_else(unsafe_edit)?;
        let written = [write::flow(value), write::json(value)];
        Ok(written.iter().map(|new| self.spliced(node.span.start, node.span.end, new)).collect())
    }

    /// A key's value replaced: in the quotes of the old one, then as plainly as can be.
    fn with_value(&self, entry: &Entry, value: &Value) -> Result<Vec<String>> {
        let behind = &self.text[entry.name.end..];
        let blank = behind.len() - behind.trim_start_matches([' ', '\t']).len();
        if !behind[blank..].starts_with(':') {
            return Err(unsafe_edit());
        }
        let colon = entry.name.end + blank + 1;
        let old = &entry.value;
        let style = match self.text[old.span.start..].chars().next() {
            Some('\'') if !old.flow && value.is_string() => ScalarStyle::SingleQuoted,
            Some('"') if !old.flow && value.is_string() => ScalarStyle::DoubleQuoted,
            _ => write::natural_style(value),
        };
        let lines = Lines { end: line_end(self.text), indent: self.column(entry.name.start) };
        let comment = self.comment_between(colon, old.span.start);
        let (start, end) = (colon, old.span.end.max(colon));
        let with_comment = |written: String| match (comment.is_empty(), written.starts_with(' ')) {
            (true, _) => written,
            (_, true) => format!("{written} {comment}"),
            (_, false) => format!(" {comment}{written}"),
        };
        let mut out = Vec::new();
        if old.flow && (value.is_array() || value.is_object()) {
            out.push(self.spliced(old.span.start, end, &write::flow(value)));
        }
        out.push(self.spliced(start, end, &with_comment(write::after_colon(value, style, lines))));
        out.push(self.spliced(start, end, &with_comment(format!(" {}", write::json(value)))));
        Ok(out)
    }

    /// The comment behind a key whose value starts on a later line.
    fn comment_between(&self, colon: usize, value: usize) -> &str {
        let gap = self.text.get(colon..value).unwrap_or("");
        match gap.split_once('\n') {
            Some((first, _)) if first.trim().starts_with('#') => first.trim(),
            _ => "",
        }
    }

    /// A new key behind the last one of its mapping.
    fn with_new(&self, entries: &[Entry], key: &str, value: &Value) -> Vec<String> {
        let end = line_end(self.text);
        let (at, indent) = match (entries.first(), entries.last()) {
            (Some(first), Some(last)) => {
                (self.line_behind(last.value.span.end.max(last.name.end)), self.column(first.name.start))
            }
            _ => (self.text.len(), 0),
        };
        let lines = Lines { end, indent };
        let line = format!("{}{}{end}", " ".repeat(indent), write::pair(key, value, lines));
        vec![self.inserted(at, &line, end)]
    }

    fn without(&self, entry: &Entry, next: Option<&Entry>) -> String {
        let line = self.line_start(entry.name.start);
        let end = self.line_behind(entry.value.span.end.max(entry.name.end));
        let before = &self.text[line..entry.name.start];
        match next {
            // The first key of `- type: table`: the dash stays for the next one.
            Some(next) if !before.trim().is_empty() => {
                let between = self.text[end..next.name.start].trim_end_matches(' ');
                let kept = if between.trim().is_empty() { String::new() } else { between.to_owned() };
                let out = self.spliced(entry.name.start, next.name.start, "");
                if kept.is_empty() { out } else { format!("{}{kept}{}", &self.text[..line], &out[line..]) }
            }
            _ => self.spliced(line, end, ""),
        }
    }

    /// The `-` in front of an item.
    fn dash(&self, item: &Node) -> Result<usize> {
        let before = self.text[..item.span.start].trim_end_matches([' ', '\t']);
        if before.ends_with('-') { Ok(before.len() - 1) } else { Err(unsafe_edit()) }
    }

    fn column(&self, at: usize) -> usize {
        let mark = if self.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let line = self.line_start(at).max(mark.min(at));
        self.text[line..at].chars().count()
    }

    fn line_start(&self, at: usize) -> usize {
        let start = self.text[..at].rfind('\n').map_or(0, |found| found + 1);
        let mark = if start == 0 && self.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        start + mark
    }

    /// Behind the line end of the line in which `at` is.
    fn line_behind(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |found| at + found + 1)
    }

    fn inserted(&self, at: usize, line: &str, end: &str) -> String {
        let before = &self.text[..at];
        let gap = if before.is_empty() || before.ends_with('\n') || before == "\u{feff}" { "" } else { end };
        format!("{before}{gap}{line}{}", &self.text[at..])
    }

    fn spliced(&self, start: usize, end: usize, new: &str) -> String {
        format!("{}{new}{}", &self.text[..start], &self.text[end.max(start)..])
    }
}

/// A value with the mappings around it that a path says.
fn nested(path: &[Step], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |value, step| match step {
        Step::Key(key) => Value::Object(Map::from_iter([(key.clone(), value)])),
        Step::Item(_) => value,
    })
}

/// A path as people write it: `views[1].filters`.
pub fn shown(path: &[Step]) -> String {
    let mut out = String::new();
    for step in path {
        match step {
            Step::Key(key) if out.is_empty() => out.push_str(key),
            Step::Key(key) => out.push_str(&format!(".{key}")),
            Step::Item(index) => out.push_str(&format!("[{index}]")),
        }
    }
    out
}

fn refused(path: &[Step], why: &str) -> BaseError {
    BaseError::Vault(Error::Edit {
        reason: "base_key_missing",
        message: format!("`{}` {why}", shown(path)),
        hint: "look at the base first, and name what is there".to_owned(),
        candidates: Vec::new(),
    })
}

fn unsafe_edit() -> BaseError {
    BaseError::Vault(Error::Edit {
        reason: "base_unsafe",
        message: "this base is written in a way that the edit could damage".to_owned(),
        hint: "change the lines by an ordinary text edit; nothing was changed".to_owned(),
        candidates: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
