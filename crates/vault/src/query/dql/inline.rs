//! Inline fields: `[key:: value]`, `(key:: value)`, `Key:: value` as a whole line, and dates behind emoji.
//!
//! Called for the lines of a page and for list items. Offsets are bytes. Values are typed by
//! [`super::parse::inline_value`], keys made canonical by [`super::text::canonical_key`].

use super::text::{emoji, is_letter};

/// Lines longer than this are not looked at.
pub(crate) const LONGEST_LINE: usize = 32_768;

/// What stands around a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapping {
    /// `[key:: value]`
    Square,
    /// `(key:: value)`
    Round,
    /// An emoji in front of a date.
    Emoji,
    /// Nothing: the field is the line.
    Line,
}

/// Whether emoji with a date are fields, as they are on tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmojiDates {
    /// They are.
    Read,
    /// They are text.
    Ignore,
}

/// A field in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineField {
    /// The key as written.
    pub key: String,
    /// The text of the value, trimmed.
    pub value: String,
    /// Where it starts.
    pub start: usize,
    /// Where the value starts.
    pub value_start: usize,
    /// Behind its end.
    pub end: usize,
    /// What stands around it.
    pub wrapping: Wrapping,
}

/// The fields in a line that stand in brackets, in order. Of fields that touch or overlap the first counts.
pub fn inline_fields(line: &str, dates: EmojiDates) -> Vec<InlineField> {
    let mut found = Vec::new();
    if line.contains("::") {
        // Unclosed brackets make each search run to the end of the line; so many searches are enough for any real one.
        let mut work = line.len().saturating_mul(64);
        for (wrapping, open, close) in [(Wrapping::Square, '[', ']'), (Wrapping::Round, '(', ')')] {
            let mut from = 0;
            while let Some(start) = line[from..].find(open).map(|at| from + at) {
                let field = field_at(line, start, wrapping, (open, close), &mut work);
                from = field.as_ref().map_or(start + 1, |field| field.end);
                found.extend(field);
            }
        }
    }
    if dates == EmojiDates::Read && !line.is_ascii() {
        found.extend(emoji_dates(line));
    }
    found.sort_by_key(|field| field.start);
    let mut out: Vec<InlineField> = Vec::new();
    for field in found {
        if out.last().is_none_or(|last| last.end < field.start) {
            out.push(field);
        }
    }
    out
}

/// The field that a whole line is, marks of Markdown around the key left out.
pub fn full_line_field(line: &str) -> Option<InlineField> {
    let separator = line.find("::")?;
    let key = line_key(line[..separator].trim())?;
    let value_start = separator + 2;
    let value = line[value_start..].trim().to_owned();
    Some(InlineField { key, value, start: 0, value_start, end: line.len(), wrapping: Wrapping::Line })
}

fn field_at(
    line: &str,
    start: usize,
    wrapping: Wrapping,
    (open, close): (char, char),
    work: &mut usize,
) -> Option<InlineField> {
    let inner = &line[start + 1..];
    let stop = inner.find(['[', ']', '(', ')']).unwrap_or(inner.len());
    // A colon may stand right before a bracket: the separator must end before it.
    let separator = inner[..stop].find("::")?;
    let value_start = start + 1 + separator + 2;
    let end = value_start + closing(&line[value_start..], open, close, work)?;
    Some(InlineField {
        key: inner[..separator].trim().to_owned(),
        value: line[value_start..end].trim().to_owned(),
        start,
        value_start,
        end: end + close.len_utf8(),
        wrapping,
    })
}

/// Where the bracket closes that was opened before this text; a back slash hides the next character.
fn closing(text: &str, open: char, close: char, work: &mut usize) -> Option<usize> {
    let mut nesting = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        *work = work.checked_sub(1)?;
        if c == '\\' {
            escaped = !escaped;
            continue;
        }
        if std::mem::take(&mut escaped) {
            continue;
        }
        if c == open {
            nesting += 1;
        } else if c == close {
            if nesting == 0 {
                return Some(at);
            }
            nesting -= 1;
        }
    }
    None
}

fn emoji_dates(line: &str) -> Vec<InlineField> {
    let keys: [(&str, &[&str]); 5] = [
        ("created", &["➕"]),
        ("start", &["🛫"]),
        ("scheduled", &["⏳", "⌛"]),
        ("due", &["📅", "📆", "🗓"]),
        ("completion", &["✅"]),
    ];
    let field = |(key, signs): (&str, &[&str])| {
        let places = signs.iter().flat_map(|sign| line.match_indices(*sign));
        let mut dated: Vec<InlineField> = places
            .filter_map(|(start, sign)| {
                let behind = &line[start + sign.len()..];
                let date =
                    behind.strip_prefix('\u{fe0f}').filter(|_| sign == "🗓").unwrap_or(behind).trim_start();
                let text = date.get(..10).filter(|text| is_day(text))?;
                let end = line.len() - date.len() + 10;
                Some(InlineField {
                    key: key.to_owned(),
                    value: text.to_owned(),
                    start,
                    value_start: start + sign.len(),
                    end,
                    wrapping: Wrapping::Emoji,
                })
            })
            .collect();
        dated.sort_by_key(|field| field.start);
        dated.into_iter().next()
    };
    keys.into_iter().filter_map(field).collect()
}

fn is_day(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    })
}

/// The key of a whole line: marks and emoji in front dropped, then letters, digits, `_ - /`, spaces and emoji.
fn line_key(text: &str) -> Option<String> {
    let begins = |c: char| c.is_ascii_digit() || c == '_' || is_letter(c);
    let rest = &text[text.find(begins)?..];
    let mut end = 0;
    while let Some(c) = rest[end..].chars().next() {
        let fits = begins(c) || c.is_whitespace() || matches!(c, '/' | '-');
        match emoji(&rest[end..]) {
            _ if fits => end += c.len_utf8(),
            Some(length) => end += length,
            None => break,
        }
    }
    let marks = &rest[end..];
    let key = rest[..end].trim();
    (marks.chars().all(|c| matches!(c, '_' | '*' | '~' | '`')) && !key.is_empty()).then(|| key.to_owned())
}

/// A line with a field in square brackets set, or taken out without a value.
pub fn set_inline_field(line: &str, key: &str, value: Option<&str>) -> String {
    let fields = inline_fields(line, EmojiDates::Ignore);
    let known = fields.iter().find(|field| field.key == key);
    let annotation = value.map(|value| format!("[{key}:: {value}]"));
    replaced(line, known, annotation)
}

/// A task's line with the date behind ✅ set, or taken out without one.
pub fn set_emoji_completion(line: &str, date: Option<&str>) -> String {
    let fields = inline_fields(line, EmojiDates::Read);
    let is_done = |field: &&InlineField| field.key == "completion" && field.wrapping == Wrapping::Emoji;
    replaced(line, fields.iter().find(is_done), date.map(|date| format!("✅ {date}")))
}

fn replaced(line: &str, known: Option<&InlineField>, annotation: Option<String>) -> String {
    match (known, annotation) {
        (None, None) => line.to_owned(),
        (None, Some(annotation)) => format!("{} {annotation}", line.trim_end()),
        (Some(field), Some(annotation)) => {
            format!("{}{annotation}{}", &line[..field.start], &line[field.end..])
        }
        (Some(field), None) => {
            let without = format!("{}{}", &line[..field.start], line[field.end..].trim_start());
            without.trim_end().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[(&str, &str)]) {
        let found = inline_fields(line, EmojiDates::Read);
        let found: Vec<_> = found.iter().map(|field| (field.key.as_str(), field.value.as_str())).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn fields_stand_in_brackets() {
        check("[a:: 1] and (b:: x [y])", &[("a", "1"), ("b", "x [y]")]);
        check("[a:: 1](b:: 2)", &[("a", "1")]);
        check("[[[[a:: 1]]", &[("a", "1")]);
        check("[a: b]", &[]);
        check("x 📅 2024-01-02 ✅ 2024-01-03", &[("due", "2024-01-02"), ("completion", "2024-01-03")]);
    }

    #[test]
    fn a_line_can_be_a_field() {
        for (line, key) in [
            ("Key:: v", Some("Key")),
            ("**Review Date**:: v", Some("Review Date")),
            ("🎯 goal:: win", Some("goal")),
            ("> - a/b:: v", Some("a/b")),
            ("see http: x:: v", None),
            (":: v", None),
        ] {
            assert_eq!(full_line_field(line).map(|field| field.key).as_deref(), key, "{line}");
        }
    }

    #[test]
    fn unclosed_brackets_cost_little() {
        let line = "[a:: ".repeat(6_000);
        assert!(inline_fields(&line, EmojiDates::Read).is_empty());
    }
}
