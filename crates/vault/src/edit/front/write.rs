//! How a value is written as YAML, so that it reads back as the same value.
//!
//! Called by `place.rs` and by [`crate::edit::base`]. Text is quoted only where it must be. Knows nothing of the text around it.

use saphyr_parser::ScalarStyle;
use serde_json::{Map, Value};

use crate::note::front::yaml;

/// Deeper values are not written: they could not be read back.
const DEEPEST: usize = 60;

/// The line end and how far the parent is indented.
#[derive(Debug, Clone, Copy)]
pub(in crate::edit) struct Lines<'a> {
    /// `\n` or `\r\n`.
    pub end: &'a str,
    /// Spaces in front of the parent's key.
    pub indent: usize,
}

impl Lines<'_> {
    fn deeper(self) -> Self {
        Lines { indent: self.indent + 2, ..self }
    }

    fn start(self) -> String {
        format!("{}{}", self.end, " ".repeat(self.indent))
    }
}

/// Whether the value is nested deeper than front matter is read. Stops at the limit.
pub(in crate::edit) fn is_too_deep(value: &Value) -> bool {
    let mut level: Vec<&Value> = vec![value];
    for _ in 0..DEEPEST {
        if level.is_empty() {
            return false;
        }
        level = level.into_iter().flat_map(children).collect();
    }
    !level.is_empty()
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    }
}

/// What stands behind `key:` for this value, the space or line end in front included.
pub(in crate::edit) fn after_colon(value: &Value, style: ScalarStyle, lines: Lines<'_>) -> String {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let lines = lines.deeper();
            items.iter().map(|value| lines.start() + &item(value, lines)).collect()
        }
        Value::Object(map) if !map.is_empty() => {
            let lines = lines.deeper();
            map.iter().map(|(key, value)| lines.start() + &pair(key, value, lines)).collect()
        }
        Value::String(text) if style == ScalarStyle::Literal && fits_literal(text) => {
            format!(" {}", literal(text, lines.deeper()))
        }
        value => format!(" {}", scalar(value, style)),
    }
}

/// `key: value`, as lines.
pub(in crate::edit) fn pair(key: &str, value: &Value, lines: Lines<'_>) -> String {
    format!("{}:{}", self::key(key, ScalarStyle::Plain), after_colon(value, natural_style(value), lines))
}

/// `- value`. The lines' indent is that of the dash.
pub(in crate::edit) fn item(value: &Value, lines: Lines<'_>) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let lines = lines.deeper();
            let pairs: Vec<_> = map.iter().map(|(key, value)| pair(key, value, lines)).collect();
            format!("- {}", pairs.join(&lines.start()))
        }
        value => format!("- {}", inside(value, flow)),
    }
}

/// The value on one line, in brackets and braces where it needs them.
pub(in crate::edit) fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => braces(map),
        Value::String(text) if is_plain(text) && !text.contains([',', '[', ']', '{', '}']) => text.clone(),
        Value::String(text) => double_quoted(text),
        value => value.to_string(),
    }
}

/// A mapping in braces.
pub(in crate::edit) fn braces(map: &Map<String, Value>) -> String {
    let pairs: Vec<_> = map
        .iter()
        .map(|(key, value)| format!("{}: {}", flow(&Value::String(key.clone())), flow(value)))
        .collect();
    format!("{{{}}}", pairs.join(", "))
}

/// The value on one line, all text in double quotes: what any reader understands.
pub(in crate::edit) fn json(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let pairs: Vec<_> =
                map.iter().map(|(key, value)| format!("{}: {}", double_quoted(key), json(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::String(text) => double_quoted(text),
        value => value.to_string(),
    }
}

/// A key in this style if it can be written so.
pub(in crate::edit) fn key(key: &str, style: ScalarStyle) -> String {
    // A key is its text whatever it looks like, so `true` and `1` need no quotes.
    let bare = !key.is_empty() && has_plain_shape(key) && style == ScalarStyle::Plain;
    if bare { key.to_owned() } else { quoted(key, style) }
}

/// The style in which a value is written where there is no old one to follow.
pub(in crate::edit) fn natural_style(value: &Value) -> ScalarStyle {
    match value {
        Value::String(text) if text.contains('\n') => ScalarStyle::Literal,
        _ => ScalarStyle::Plain,
    }
}

fn inside(value: &Value, collection: fn(&Value) -> String) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => collection(value),
        value => scalar(value, ScalarStyle::Plain),
    }
}

fn scalar(value: &Value, style: ScalarStyle) -> String {
    match value {
        Value::String(text) if style == ScalarStyle::SingleQuoted || style == ScalarStyle::DoubleQuoted => {
            quoted(text, style)
        }
        Value::String(text) if is_plain(text) => text.clone(),
        Value::String(text) => double_quoted(text),
        value => value.to_string(),
    }
}

fn quoted(text: &str, style: ScalarStyle) -> String {
    if style == ScalarStyle::SingleQuoted && !text.chars().any(needs_escape) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    double_quoted(text)
}

/// Whether the text reads back as itself without quotes.
fn is_plain(text: &str) -> bool {
    has_plain_shape(text) && yaml::plain(text).is_string() && !is_number_to_others(text)
}

/// Text that we read as text, but others as a number.
fn is_number_to_others(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let word = digits.to_ascii_lowercase();
    word == ".inf" || word == ".nan" || (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn has_plain_shape(text: &str) -> bool {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return false };
    let second = chars.next();
    let starts_well = match first {
        '-' | '?' | ':' => second.is_some_and(|c| !c.is_whitespace()) && !text.starts_with("---"),
        '.' => !text.starts_with("..."),
        ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
            false
        }
        _ => true,
    };
    starts_well
        && text.trim() == text
        && !text.contains(": ")
        && !text.contains(":\t")
        && !text.ends_with(':')
        && !text.contains(" #")
        && !text.contains("\t#")
        && !text.chars().any(needs_escape)
}

fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn fits_literal(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with("\n\n")
        && !text.split('\n').any(|line| line.ends_with([' ', '\t']))
        && !text.chars().any(|c| c != '\n' && needs_escape(c))
}

fn literal(text: &str, lines: Lines<'_>) -> String {
    let (head, text) = match text.strip_suffix('\n') {
        Some(text) => ("|", text),
        None => ("|-", text),
    };
    let line = |line: &str| if line.is_empty() { lines.end.to_owned() } else { lines.start() + line };
    text.split('\n').fold(head.to_owned(), |written, text| written + &line(text))
}
