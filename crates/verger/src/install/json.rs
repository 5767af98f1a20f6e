//! JSON and JSON with comments, edited in place: one entry of one object is set or removed, and every other byte stays.
//!
//! Pure functions from text to text, called by `install.rs`. The parser keeps places and nothing else; what it cannot read is
//! refused with line and column.

use std::ops::Range;

use serde_json::Value;

use super::Refused;

/// What the client's own reader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// JSON.
    Strict,
    /// JSON with comments and a comma behind the last entry.
    Comments,
}

/// How deep a file may be nested.
const DEEPEST: usize = 100;

/// The text with `text[outer][name]` set to a value. The same text if it is so already.
pub fn set(text: &str, dialect: Dialect, outer: &str, name: &str, value: &Value) -> Result<String, Refused> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let whole = serde_json::json!({ outer: { name: value } });
        return Ok(format!("{}\n", Style::of("").show_at(&whole, "")));
    }
    let style = Style::of(text);
    let root = Object::read(text, dialect)?;
    let Some(entry) = root.entry(text, outer)? else {
        let inner = serde_json::json!({ name: value });
        return Ok(root.with(text, &style, outer, &inner));
    };
    let object = entry.object(text, outer)?;
    match object.entry(text, name)? {
        None => Ok(object.with(text, &style, name, value)),
        Some(old) if plain(&text[old.value.clone()]).as_ref() == Some(value) => Ok(text.to_owned()),
        Some(old) => {
            let depth = style.depth(text, old.key.start);
            Ok(splice(text, old.value.clone(), &style.show_at(value, &depth)))
        }
    }
}

/// The text without `text[outer][name]`. The same text if there is none.
pub fn remove(text: &str, dialect: Dialect, outer: &str, name: &str) -> Result<String, Refused> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(text.to_owned());
    }
    let root = Object::read(text, dialect)?;
    let Some(entry) = root.entry(text, outer)? else { return Ok(text.to_owned()) };
    let object = entry.object(text, outer)?;
    if object.entry(text, name)?.is_none() {
        return Ok(text.to_owned());
    }
    Ok(object.without(text, name))
}

/// The value of a text, comments aside; what is no JSON is none.
pub fn plain(text: &str) -> Option<Value> {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with('"') {
            let end = string_end(text, at)?;
            clean.push_str(&text[at..end]);
            at = end;
        } else if let Some(end) = comment_end(text, at) {
            clean.push(' ');
            at = end?;
        } else {
            let letter = rest.chars().next()?;
            if matches!(letter, '}' | ']') {
                let kept = clean.trim_end().trim_end_matches(',').len();
                clean.truncate(kept);
            }
            clean.push(letter);
            at += letter.len_utf8();
        }
    }
    serde_json::from_str(clean.trim_start_matches('\u{feff}').trim()).ok()
}

/// An object, by where its parts are.
#[derive(Debug)]
struct Object {
    entries: Vec<Entry>,
    /// Its closing brace.
    close: usize,
    open: usize,
}

#[derive(Debug)]
struct Entry {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
    /// The comma behind it.
    comma: Option<usize>,
    inner: Option<Object>,
}

impl Entry {
    fn object(&self, text: &str, name: &str) -> Result<&Object, Refused> {
        self.inner.as_ref().ok_or_else(|| {
            let (line, column) = place(text, self.value.start);
            Refused::new(format!("`{name}` is no object (line {line}, column {column})"))
        })
    }
}

impl Object {
    /// The object that a text is.
    fn read(text: &str, dialect: Dialect) -> Result<Object, Refused> {
        let mut reader = Reader { text, at: 0, dialect };
        if text.starts_with('\u{feff}') {
            reader.at = '\u{feff}'.len_utf8();
        }
        reader.space()?;
        if !reader.rest().starts_with('{') {
            return Err(reader.refuse("it does not start with `{`"));
        }
        let object = reader.object(0)?;
        reader.space()?;
        if !reader.rest().is_empty() {
            return Err(reader.refuse("there is something behind the last `}`"));
        }
        Ok(object)
    }

    /// The entry of this name. Two of them would mean two things.
    fn entry(&self, text: &str, name: &str) -> Result<Option<&Entry>, Refused> {
        let mut found = self.entries.iter().filter(|entry| entry.name == name);
        let first = found.next();
        if let Some(second) = found.next() {
            let (line, column) = place(text, second.key.start);
            return Err(Refused::new(format!("`{name}` is there twice (line {line}, column {column})")));
        }
        Ok(first)
    }

    /// The text with one more entry at the end.
    fn with(&self, text: &str, style: &Style, name: &str, value: &Value) -> String {
        let key = Value::from(name).to_string();
        let Some(last) = self.entries.last() else {
            let outside = style.depth(text, self.open);
            let inside = format!("{outside}{}", style.unit);
            let kept = text[self.open + 1..self.close].trim_end();
            let entry = format!(
                "{}{inside}{key}: {}{}{outside}",
                style.line,
                style.show_at(value, &inside),
                style.line
            );
            return splice(text, self.open + 1 + kept.len()..self.close, &entry);
        };
        let on_its_own_line = text[self.open..last.key.start].contains('\n');
        if !on_its_own_line {
            let comma = if last.comma.is_some() { "" } else { "," };
            let behind = last.comma.map_or(last.value.end, |comma| comma + 1);
            return splice(text, behind..behind, &format!("{comma} {key}: {value}"));
        }
        let indent = style.depth(text, last.key.start);
        let entry = format!("{}{indent}{key}: {}", style.line, style.show_at(value, &indent));
        // Behind comments that belong to the entry before.
        let end = self.open + text[self.open..self.close].trim_end().len();
        let end = end.max(last.comma.map_or(last.value.end, |comma| comma + 1));
        let tail = if last.comma.is_some() { "," } else { "" };
        let mut out = splice(text, end..end, &format!("{entry}{tail}"));
        if last.comma.is_none() {
            out.insert(last.value.end, ',');
        }
        out
    }

    /// The text without this entry, its comma, and the line that it leaves empty.
    fn without(&self, text: &str, name: &str) -> String {
        let Some(index) = self.entries.iter().position(|entry| entry.name == name) else {
            return text.to_owned();
        };
        let entry = &self.entries[index];
        let end = entry.comma.map_or(entry.value.end, |comma| comma + 1);
        let before = text[..entry.key.start].trim_end_matches([' ', '\t']);
        let after = &text[end..];
        let blank = after.len() - after.trim_start_matches([' ', '\t']).len();
        let own_line = before.ends_with('\n') && after[blank..].starts_with(['\n', '\r', '}']);
        let cut = match own_line {
            // From the line end before it, so that what follows stays as it is.
            true => before.trim_end_matches(['\n', '\r']).len().max(self.open + 1)..end,
            false if before.ends_with([',', '{']) && entry.comma.is_some() => entry.key.start..end + blank,
            false => before.len()..end,
        };
        let mut out = splice(text, cut, "");
        let previous = index.checked_sub(1).and_then(|index| self.entries.get(index));
        if let (None, Some(comma)) = (entry.comma, previous.and_then(|previous| previous.comma)) {
            out.remove(comma);
        }
        out
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    dialect: Dialect,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn refuse(&self, message: &str) -> Refused {
        let (line, column) = place(self.text, self.at);
        Refused::new(format!("{message} (line {line}, column {column})"))
    }

    /// Passes over white space, and over comments where there may be some.
    fn space(&mut self) -> Result<(), Refused> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            match comment_end(self.text, self.at) {
                None => return Ok(()),
                Some(_) if self.dialect == Dialect::Strict => {
                    return Err(self.refuse("there is a comment, which this client cannot read"));
                }
                Some(None) => return Err(self.refuse("a comment is never closed")),
                Some(Some(end)) => self.at = end,
            }
        }
    }

    fn string(&mut self) -> Result<Range<usize>, Refused> {
        let start = self.at;
        let end = string_end(self.text, start).ok_or_else(|| self.refuse("a text is never closed"))?;
        if serde_json::from_str::<String>(&self.text[start..end]).is_err() {
            return Err(self.refuse("a text is not valid"));
        }
        self.at = end;
        Ok(start..end)
    }

    fn object(&mut self, depth: usize) -> Result<Object, Refused> {
        let open = self.at;
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            self.space()?;
            if self.rest().starts_with('}') {
                let trailing = entries.last().is_some_and(|entry| entry.comma.is_some());
                if trailing && self.dialect == Dialect::Strict {
                    return Err(self.refuse("there is a comma behind the last entry"));
                }
                let close = self.at;
                self.at += 1;
                return Ok(Object { entries, close, open });
            }
            if self.rest().is_empty() {
                return Err(self.refuse("it ends too early"));
            }
            if entries.last().is_some_and(|entry| entry.comma.is_none()) {
                return Err(self.refuse("a comma is missing"));
            }
            if !self.rest().starts_with('"') {
                return Err(self.refuse("a name in quotes is missing"));
            }
            let key = self.string()?;
            let name = serde_json::from_str(&self.text[key.clone()]).unwrap_or_default();
            self.space()?;
            if !self.rest().starts_with(':') {
                return Err(self.refuse("a colon is missing"));
            }
            self.at += 1;
            self.space()?;
            let start = self.at;
            let inner = self.value(depth + 1)?;
            let value = start..self.at;
            self.space()?;
            let comma = self.rest().starts_with(',').then_some(self.at);
            self.at += usize::from(comma.is_some());
            entries.push(Entry { name, key, value, comma, inner });
        }
    }

    fn value(&mut self, depth: usize) -> Result<Option<Object>, Refused> {
        if depth > DEEPEST {
            return Err(self.refuse("it is nested too deep"));
        }
        match self.rest().chars().next() {
            Some('{') => return self.object(depth).map(Some),
            Some('[') => self.list(depth)?,
            Some('"') => {
                self.string()?;
            }
            _ => {
                let rest = self.rest();
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))
                    .unwrap_or(rest.len());
                if serde_json::from_str::<Value>(&rest[..end]).is_err() {
                    return Err(self.refuse("a value is missing or not valid"));
                }
                self.at += end;
            }
        }
        Ok(None)
    }

    fn list(&mut self, depth: usize) -> Result<(), Refused> {
        self.at += 1;
        let mut comma = true;
        let mut first = true;
        loop {
            self.space()?;
            if self.rest().starts_with(']') {
                if comma && !first && self.dialect == Dialect::Strict {
                    return Err(self.refuse("there is a comma behind the last entry"));
                }
                self.at += 1;
                return Ok(());
            }
            if !comma {
                return Err(self.refuse("a comma is missing"));
            }
            self.value(depth + 1)?;
            first = false;
            self.space()?;
            comma = self.rest().starts_with(',');
            self.at += usize::from(comma);
        }
    }
}

/// How a file is written: its line ends, and by what it is indented.
struct Style {
    line: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str) -> Style {
        let line = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indent = |line: &str| line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned();
        let first = text.lines().map(indent).find(|indent| !indent.is_empty());
        Style { line, unit: first.unwrap_or_else(|| "  ".to_owned()) }
    }

    /// The white space in front of the line in which this place lies.
    fn depth(&self, text: &str, at: usize) -> String {
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = &text[start..at];
        line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
            .trim_start_matches('\u{feff}')
            .to_owned()
    }

    /// A value on several lines, each but the first behind this white space.
    fn show_at(&self, value: &Value, indent: &str) -> String {
        let inside = format!("{indent}{}", self.unit);
        let join = |parts: Vec<String>, open: &str, close: &str| match parts.is_empty() {
            true => format!("{open}{close}"),
            false => {
                let separator = format!(",{}{inside}", self.line);
                format!("{open}{}{inside}{}{}{indent}{close}", self.line, parts.join(&separator), self.line)
            }
        };
        match value {
            Value::Object(fields) => {
                let part = |(key, value): (&String, &Value)| {
                    format!("{}: {}", Value::from(key.as_str()), self.show_at(value, &inside))
                };
                join(fields.iter().map(part).collect(), "{", "}")
            }
            Value::Array(items) => {
                join(items.iter().map(|item| self.show_at(item, &inside)).collect(), "[", "]")
            }
            other => other.to_string(),
        }
    }
}

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

/// Where a text in quotes ends.
fn string_end(text: &str, start: usize) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in text[start..].char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(start + at + 1),
            '\n' => return None,
            _ => {}
        }
    }
    None
}

/// Where a comment ends that starts here; `Some(None)` if it never does.
fn comment_end(text: &str, start: usize) -> Option<Option<usize>> {
    let rest = &text[start..];
    if rest.starts_with("//") {
        return Some(Some(rest.find('\n').map_or(text.len(), |end| start + end)));
    }
    rest.starts_with("/*").then(|| rest[2..].find("*/").map(|end| start + end + 4))
}

/// Line and column, from 1.
pub fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (line, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests;
