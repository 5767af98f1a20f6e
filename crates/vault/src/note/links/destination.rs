//! Markdown destinations: where `(dest "title")` and `[label]: dest` end, and how a path is written inside them.
//!
//! Called by the link scanner beside it and, to write a path back, by [`crate::edit::relink`].
//! HTML entities are deliberately not decoded: nobody writes paths that way.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

/// How deep parentheses may nest in a destination without `<>`; more is no destination, and keeps the scan linear.
const DEEPEST: usize = 32;

/// A destination found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    /// As written, without `<>`.
    pub written: Range<usize>,
    /// Behind the closing parenthesis, or behind a definition's last character.
    pub end: usize,
}

/// Reads `(dest "title")`, starting at the parenthesis.
pub(crate) fn inline(bytes: &[u8], open: usize) -> Option<Destination> {
    let (written, after) = written(bytes, skip_space(bytes, open + 1))?;
    let next = skip_space(bytes, after);
    let next = match bytes.get(next)? {
        b')' => next,
        _ if next == after => return None,
        _ => skip_space(bytes, title(bytes, next)?),
    };
    (bytes.get(next) == Some(&b')')).then_some(Destination { written, end: next + 1 })
}

/// Reads ` dest "title"` behind the colon of a reference definition, up to the end of the line.
pub(crate) fn definition(bytes: &[u8], after_colon: usize) -> Option<Destination> {
    let (written, after) = written(bytes, skip_space(bytes, after_colon))?;
    if written.is_empty() && bytes.get(written.end) != Some(&b'>') {
        return None;
    }
    let blank = |at: usize| {
        let end = skip_blank(bytes, at);
        matches!(bytes.get(end), None | Some(b'\n' | b'\r'))
    };
    if blank(after) {
        return Some(Destination { written, end: after });
    }
    let next = skip_blank(bytes, after);
    let end = title(bytes, next).filter(|_| next > after)?;
    blank(end).then_some(Destination { written, end })
}

/// Whether a destination leads out of the vault: `scheme:…` or `//host`.
pub(crate) fn is_external(written: &str) -> bool {
    let scheme =
        written.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
    written.starts_with("//")
        || (scheme > 0
            && written.as_bytes()[0].is_ascii_alphabetic()
            && written.as_bytes().get(scheme) == Some(&b':'))
}

/// The path that a destination spells: back slash escapes and percent signs taken away.
pub(crate) fn decode(written: &str) -> String {
    if memchr2(b'\\', b'%', written.as_bytes()).is_none() {
        return written.to_owned();
    }
    percent_decode(&unescape(written)).into_owned()
}

/// Writes a path as `like` was written: between `<>` or not, and non-ASCII letters encoded only where they were before.
pub(crate) fn encode(path: &str, like: &str, angle: bool) -> String {
    let encodes_letters = like
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'%' && matches!(pair[1], b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F'));
    let encodes_parentheses = !angle && (!is_balanced(path) || like.contains("%28") || like.contains("%29"));
    let mut out = String::with_capacity(path.len() + 8);
    for c in path.chars() {
        let encoded = match c {
            '%' | '#' | '<' | '>' | '\\' | '|' => true,
            ' ' => !angle,
            '(' | ')' => encodes_parentheses,
            _ if c.is_ascii_control() => true,
            _ if c.is_ascii() => false,
            _ => encodes_letters || (!angle && c.is_whitespace()),
        };
        if encoded {
            percent_encode(c, &mut out);
        } else {
            out.push(c);
        }
    }
    out
}

fn percent_encode(c: char, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        out.push('%');
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

fn percent_decode(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%').and_then(|pair| {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            Some(digit(pair[0])? * 16 + digit(pair[1])?)
        });
        match digits.and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    // Percent signs that spell no text are taken as they stand.
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn unescape(written: &str) -> Cow<'_, str> {
    if !written.contains('\\') {
        return Cow::Borrowed(written);
    }
    let mut out = String::with_capacity(written.len());
    let mut chars = written.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && next.is_ascii_punctuation() => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_balanced(path: &str) -> bool {
    let mut depth = 0_usize;
    for byte in path.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return false,
            b')' => depth -= 1,
            _ => {}
        }
        if depth >= DEEPEST {
            return false;
        }
    }
    depth == 0
}

/// The destination that starts at `at`: its bytes, and the byte behind it.
fn written(bytes: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
    if bytes.get(at) == Some(&b'<') {
        return angle(bytes, at + 1);
    }
    let mut depth = 0;
    let mut here = at;
    while let Some(byte) = bytes.get(here) {
        match byte {
            b'\\' if bytes.get(here + 1).is_some_and(u8::is_ascii_punctuation) => here += 1,
            b'(' if depth == DEEPEST => return None,
            b'(' => depth += 1,
            b')' if depth == 0 => break,
            b')' => depth -= 1,
            b' ' => break,
            byte if byte.is_ascii_control() => break,
            _ => {}
        }
        here += 1;
    }
    (depth == 0).then_some((at..here, here))
}

fn angle(bytes: &[u8], start: usize) -> Option<(Range<usize>, usize)> {
    let mut here = start;
    loop {
        match bytes.get(here)? {
            b'\\' if bytes.get(here + 1).is_some_and(u8::is_ascii_punctuation) => here += 2,
            b'>' => return Some((start..here, here + 1)),
            b'<' | b'\n' | b'\r' => return None,
            _ => here += 1,
        }
    }
}

/// Behind the title that starts at `at`.
fn title(bytes: &[u8], at: usize) -> Option<usize> {
    let close = match bytes.get(at)? {
        b'(' => b')',
        quote @ (b'"' | b'\'') => *quote,
        _ => return None,
    };
    let mut here = at + 1;
    loop {
        match *bytes.get(here)? {
            b'\\' => here += 2,
            byte if byte == close => return Some(here + 1),
            b'(' if close == b')' => return None,
            b'\n' if matches!(bytes.get(skip_blank(bytes, here + 1)), Some(b'\n' | b'\r')) => return None,
            _ => here += 1,
        }
    }
}

fn skip_blank(bytes: &[u8], at: usize) -> usize {
    let blank = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    at + blank.count()
}

/// Over white space and at most one line end.
fn skip_space(bytes: &[u8], at: usize) -> usize {
    let line_end = skip_blank(bytes, at);
    let rest = bytes.get(line_end..).unwrap_or_default();
    let newline = if rest.starts_with(b"\r\n") { 2 } else { usize::from(rest.starts_with(b"\n")) };
    if newline == 0 { line_end } else { skip_blank(bytes, line_end + newline) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_destination_ends_where_commonmark_says() {
        #[track_caller]
        fn check(text: &str, expected: Option<(&str, &str)>) {
            let found = inline(text.as_bytes(), 0).map(|d| (&text[d.written], &text[d.end..]));
            assert_eq!(found, expected, "{text:?}");
        }
        check("(a.md)x", Some(("a.md", "x")));
        check("( a.md )", Some(("a.md", "")));
        check("(<a b.md> \"t\")", Some(("a b.md", "")));
        check("(a(b).md)", Some(("a(b).md", "")));
        check("(a\\).md)", Some(("a\\).md", "")));
        check("(a.md 'it''s')", None);
        check("(a.md (t))", Some(("a.md", "")));
        check("(a.md\n\"t\")", Some(("a.md", "")));
        check("(a b.md)", None);
        check("(<a\nb>)", None);
        check("(a.md\"t\")", Some(("a.md\"t\"", "")));
        check("(a.md", None);
        check("()", Some(("", "")));
        check(&"(".repeat(100), None);
    }

    #[test]
    fn only_addresses_with_a_scheme_or_a_host_are_external() {
        for (written, expected) in [
            ("https://a.b", true),
            ("mailto:a@b", true),
            ("obsidian://open", true),
            ("//host/a", true),
            ("a.md", false),
            ("a/b:c.md", false),
            ("/a.md", false),
            ("1:2.md", false),
            ("日本:x.md", false),
        ] {
            assert_eq!(is_external(written), expected, "{written}");
        }
    }

    #[test]
    fn paths_are_written_as_their_neighbours_were() {
        for (path, like, angle, expected) in [
            ("a b.md", "x.md", false, "a%20b.md"),
            ("a b.md", "x y.md", true, "a b.md"),
            ("é.md", "x.md", false, "é.md"),
            ("é.md", "%C3%A4.md", false, "%C3%A9.md"),
            ("a(b).md", "x.md", false, "a(b).md"),
            ("a(b.md", "x.md", false, "a%28b.md"),
            ("a#b 50%.md", "x", true, "a%23b 50%25.md"),
        ] {
            assert_eq!(encode(path, like, angle), expected, "{path} like {like}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(path in "\\PC{1,20}", like in "(x|%C3%A9|%28)", angle: bool) {
            let text = encode(&path, &like, angle);
            prop_assert_eq!(decode(&text), path.clone());
            let whole = if angle { format!("(<{text}>)") } else { format!("({text})") };
            let found = inline(whole.as_bytes(), 0).map(|found| whole[found.written].to_owned());
            if angle || !path.starts_with('<') {
                prop_assert_eq!(found, Some(text));
            }
        }
    }
}
