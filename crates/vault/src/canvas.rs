//! Canvas files: where in the JSON a file is named or a card has text, byte by byte.
//!
//! Called by [`crate::edit::relink`] and by the catalog (a canvas links to its files). The JSON is never written
//! anew: a user's canvas keeps its layout, and only the bytes inside a string are ever replaced.

use std::ops::Range;

use serde::de::IgnoredAny;

use crate::error::{Error, Result};

/// A string of a canvas that names or holds links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// The string, decoded.
    pub value: String,
    /// Its bytes between the quotes.
    pub span: Range<usize>,
}

/// The strings that we look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// `nodes[].file` or a group's `nodes[].background`: a whole path inside the vault.
    File,
    /// `nodes[].text`: the Markdown of a card.
    Text,
}

/// The files and cards of a canvas, in document order. An empty file is an empty canvas.
pub fn parts(text: &str) -> Result<Vec<Part>> {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    if text[start..].trim().is_empty() {
        return Ok(Vec::new());
    }
    // Checked here, so that the walk below may take every quote and bracket at its word; this also bounds the depth.
    serde_json::from_str::<IgnoredAny>(&text[start..]).map_err(|error| invalid(&error))?;
    Ok(Walk::default().parts(text, start))
}

/// The inside of a JSON string that spells the text.
pub(crate) fn escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// For every byte of the decoded string (and its end) the offset of that byte in the raw one.
pub(crate) fn raw_offsets(raw: &str) -> Vec<usize> {
    let bytes = raw.as_bytes();
    let mut out = Vec::with_capacity(raw.len() + 1);
    let mut at = 0;
    while at < bytes.len() {
        let length = escape_length(bytes, at);
        let decoded = unescape(&raw[at..at + length]).map_or(length, |text| text.len());
        out.extend(std::iter::repeat_n(at, decoded));
        at += length;
    }
    out.push(raw.len());
    out
}

/// The length of what stands for one character, or for one byte of it where nothing is escaped.
fn escape_length(bytes: &[u8], at: usize) -> usize {
    let unicode = |at: usize| bytes.get(at..at + 2) == Some(b"\\u");
    let length = match bytes[at] {
        b'\\' if unicode(at) => {
            let high = bytes.get(at + 2..at + 4).is_some_and(|digits| {
                matches!(digits, [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B'])
            });
            if high && unicode(at + 6) { 12 } else { 6 }
        }
        b'\\' => 2,
        byte if byte < 0x80 => 1,
        byte => (byte.leading_ones() as usize).max(1),
    };
    length.min(bytes.len() - at)
}

/// The text of a JSON string; none where it spells half a character.
fn unescape(raw: &str) -> Option<String> {
    if !raw.contains('\\') {
        return Some(raw.to_owned());
    }
    serde_json::from_str(&format!("\"{raw}\"")).ok()
}

/// A walk over valid JSON that knows the keys above the place where it is.
#[derive(Default)]
struct Walk<'a> {
    /// The key last read in each object that is open; none for a list.
    open: Vec<Option<&'a str>>,
    /// Whether a string here would be a key.
    key_next: bool,
}

impl<'a> Walk<'a> {
    fn parts(mut self, text: &'a str, start: usize) -> Vec<Part> {
        let bytes = text.as_bytes();
        let mut out = Vec::new();
        let mut at = start;
        while at < bytes.len() {
            match bytes[at] {
                b'{' => self.enter(Some("")),
                b'[' => self.enter(None),
                b'}' | b']' => {
                    self.open.pop();
                    self.key_next = false;
                }
                b',' => self.key_next = self.open.last().is_some_and(Option::is_some),
                b':' => self.key_next = false,
                b'"' => {
                    let span = at + 1..string_end(bytes, at + 1);
                    at = span.end;
                    out.extend(self.string(text, span));
                }
                _ => {}
            }
            at += 1;
        }
        out
    }

    fn enter(&mut self, object: Option<&'a str>) {
        self.open.push(object);
        self.key_next = object.is_some();
    }

    fn string(&mut self, text: &'a str, span: Range<usize>) -> Option<Part> {
        let raw = &text[span.clone()];
        if self.key_next {
            if let Some(Some(key)) = self.open.last_mut() {
                *key = raw;
            }
            return None;
        }
        let kind = match *self.open.as_slice() {
            [Some("nodes"), None, Some("file" | "background")] => PartKind::File,
            [Some("nodes"), None, Some("text")] => PartKind::Text,
            _ => return None,
        };
        Some(Part { kind, value: unescape(raw)?, span })
    }
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn invalid(error: &serde_json::Error) -> Error {
    Error::Edit {
        reason: "canvas_invalid",
        message: format!("the canvas is not valid JSON: {error}"),
        hint: "mend the JSON by an ordinary text edit first; nothing was changed".to_owned(),
        candidates: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_and_cards_are_found_where_they_count() {
        let text = r#"{"name": "x", "nodes":[ {"id":"a","type":"file","file":"p\/a.md","x":[{"file":"no"}]},
            {"text":"say \"[[b]]\" \u00e9\ud83d\ude80","file" : "c.md"}, {"background":"i.png", "deep": {"file":"no"}} ],
            "edges":[{"file":"no","text":"no"}], "file": "no"}"#;
        let found = parts(text).unwrap();
        let rows: Vec<_> = found.iter().map(|part| (part.kind, part.value.as_str())).collect();
        assert_eq!(
            rows,
            [
                (PartKind::File, "p/a.md"),
                (PartKind::Text, "say \"[[b]]\" é🚀"),
                (PartKind::File, "c.md"),
                (PartKind::File, "i.png"),
            ]
        );
        assert_eq!(&text[found[0].span.clone()], "p\\/a.md");
    }

    #[test]
    fn an_empty_canvas_has_no_parts_and_a_broken_one_is_refused() {
        for text in ["", " \n", "{}", "\u{feff}{}", "[]", "\"text\"", r#"{"nodes":[{"text":"\ud83d"}]}"#] {
            assert_eq!(parts(text).unwrap(), [], "{text:?}");
        }
        for text in ["{", "{\"nodes\":[}", "nodes", "{} {}", &"[".repeat(100_000)] {
            assert_eq!(parts(text).unwrap_err().reason(), "canvas_invalid");
        }
    }

    proptest! {
        #[test]
        fn raw_offsets_point_at_the_same_character(text in "[a\"\\\\\n/é🚀]{0,20}", ascii: bool) {
            let mut raw = escape(&text);
            if ascii {
                raw = raw.replace('é', "\\u00e9").replace('🚀', "\\ud83d\\ude80").replace('/', "\\/");
            }
            let offsets = raw_offsets(&raw);
            prop_assert_eq!(offsets.len(), text.len() + 1);
            for (at, _) in text.char_indices() {
                prop_assert_eq!(unescape(&raw[..offsets[at]]).unwrap(), &text[..at]);
            }
        }
    }
}
