//! Characters as Dataview sees them: letters, emoji, keys, headings, and text measured in UTF-16 units.
//!
//! Called by the parser, the inline fields and the string functions of this module.

use std::sync::LazyLock;

use regex::Regex;

/// Matches one character; built once, and only asked for characters outside ASCII.
struct Class(LazyLock<Option<Regex>>);

impl Class {
    fn holds(&self, c: char) -> bool {
        let mut buffer = [0; 4];
        self.0.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut buffer)))
    }
}

static LETTER: Class = Class(LazyLock::new(|| Regex::new(r"^\p{L}$").ok()));
static PICTURE: Class = Class(LazyLock::new(|| Regex::new(r"^[\p{Extended_Pictographic}🇦-🇿]$").ok()));

/// Whether Unicode calls it a letter.
pub(crate) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { c.is_alphabetic() && LETTER.holds(c) }
}

/// Whether it may stand in an identifier or a key behind its first character.
pub(crate) fn is_key_char(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '_' | '-') || is_letter(c)
}

/// Whether it may stand in a tag, by Dataview's own rule.
pub(crate) fn is_tag_char(c: char) -> bool {
    const NOT: &str = "'!\"#$%&()*+,.:;<=>?@^`{|}~[]\\";
    !matches!(c, '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}') && !c.is_whitespace() && !NOT.contains(c)
}

/// The bytes of an emoji at the start of the text: one picture with its variation, skin tone and joined pictures.
pub(crate) fn emoji(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    if first.is_ascii() {
        let mut rest = text.chars().skip(1).skip_while(|c| *c == '\u{fe0f}');
        let cap = matches!(first, '0'..='9' | '#' | '*') && rest.next() == Some('\u{20e3}');
        return cap.then(|| text.find('\u{20e3}').map(|at| at + 3)).flatten();
    }
    if !PICTURE.holds(first) {
        return None;
    }
    let mut end = first.len_utf8();
    let mut joined = false;
    for c in text[end..].chars() {
        let more = match c {
            '\u{fe0f}' | '\u{20e3}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}' => true,
            '\u{200d}' => true,
            '\u{1f1e6}'..='\u{1f1ff}' => {
                matches!(first, '\u{1f1e6}'..='\u{1f1ff}') && end == first.len_utf8()
            }
            _ => joined && PICTURE.holds(c),
        };
        if !more {
            break;
        }
        joined = c == '\u{200d}';
        end += c.len_utf8();
    }
    Some(end)
}

/// A key as it is written in queries: lower case, white space as `-`, other characters dropped, emoji kept.
pub fn canonical_key(key: &str) -> String {
    rewrite(key, "-", "", |c, out| out.extend(c.to_lowercase()))
}

/// A heading as a link names it: letters, digits, `_`, `-` and emoji; everything else is one space.
pub fn heading_link_text(heading: &str) -> String {
    let spaced = rewrite(heading, " ", " ", |c, out| out.push(c));
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn rewrite(text: &str, space: &str, other: &str, keep: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = emoji(rest) {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let mut length = c.len_utf8();
        if is_key_char(c) {
            keep(c, &mut out);
        } else if c.is_whitespace() {
            length = rest.len() - rest.trim_start().len();
            out.push_str(space);
        } else {
            out.push_str(other);
        }
        rest = &rest[length..];
    }
    out
}

/// The tags in a text, with their `#`, as Dataview reads them in list items.
pub fn text_tags(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        let behind = &rest[at + 1..];
        let length = behind.find(|c| !is_tag_char(c)).unwrap_or(behind.len());
        if length > 0 {
            out.push(format!("#{}", &behind[..length]));
        }
        rest = &behind[length..];
    }
    out
}

/// The length in UTF-16 units.
pub(crate) fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The units from `start` to before `end`. Half of a pair becomes `�`, for there is no such text.
pub(crate) fn unit_slice(text: &str, start: usize, end: usize) -> String {
    if start >= end {
        return String::new();
    }
    if text.is_ascii() {
        return text.get(start.min(text.len())..end.min(text.len())).unwrap_or_default().to_owned();
    }
    let units: Vec<u16> = text.encode_utf16().skip(start).take(end - start).collect();
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_queries_ask_for_them() {
        for (key, expected) in
            [("Weird Key!", "weird-key"), ("a/b", "ab"), ("📷", "📷"), ("Статус", "статус"), ("a  b", "a-b")]
        {
            assert_eq!(canonical_key(key), expected, "{key}");
        }
    }

    #[test]
    fn an_emoji_is_taken_whole() {
        for (text, bytes) in
            [("👩‍🔬x", "👩‍🔬".len()), ("🇩🇪🇫🇷", "🇩🇪".len()), ("⚙️ a", "⚙️".len()), ("1️⃣", "1️⃣".len())]
        {
            assert_eq!(emoji(text), Some(bytes), "{text}");
        }
        assert_eq!(emoji("a"), None);
        assert_eq!(emoji("1"), None);
    }

    #[test]
    fn text_is_cut_by_units() {
        assert_eq!(units("a😀b"), 4);
        assert_eq!(unit_slice("a😀b", 3, 9), "b");
        assert_eq!(unit_slice("a😀b", 1, 3), "😀");
    }
}
