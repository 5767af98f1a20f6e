//! Tags as they stand in a note: `#tag/nested` in the body, `tags:` in front matter.
//!
//! Called by [`super::parse`]. Counting, ancestors and comparing without case are the catalog's; edits are in
//! [`crate::edit::tags`].

use std::ops::Range;

use memchr::{memchr, memchr3};
use serde_json::Value;

use super::blocks::Blocks;
use super::front::Front;
use super::links::{Masks, destination, is_escaped, wiki_at};

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The name without `#`, as written.
    pub name: String,
    /// Its bytes with the `#` in the body; the whole value's line for a front-matter tag.
    pub span: Range<usize>,
    /// Whether it stands in front matter.
    pub in_front: bool,
}

/// All tags: front matter first, then the body, in order.
pub fn scan(
    text: &str,
    body: usize,
    blocks: &Blocks,
    comments: &[Range<usize>],
    front: Option<&Front>,
) -> Vec<Tag> {
    let mut out = front.map_or_else(Vec::new, |front| in_front(text, front));
    let bytes = text.as_bytes();
    let start = body.min(bytes.len());
    if memchr(b'#', &bytes[start..]).is_none() {
        return out;
    }
    let mut masks = Masks::new([&blocks.code, comments, &blocks.html]);
    let mut at = start;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr3(b'#', b'[', b']', rest)) {
        let here = at + found;
        if let Some(end) = masks.end_at(here) {
            at = end;
            continue;
        }
        at = match bytes[here] {
            b'#' => {
                let tag = tag_at(text, start, here);
                let end = tag.as_ref().map_or(here + 1, |tag| tag.span.end);
                out.extend(tag);
                end
            }
            _ if is_escaped(bytes, here) => here + 1,
            b'[' => wiki_at(bytes, here).map_or(here + 1, |inner| inner.end + 2),
            _ if bytes.get(here + 1) == Some(&b'(') => {
                destination::inline(bytes, here + 1).map_or(here + 1, |found| found.end)
            }
            _ => here + 1,
        };
    }
    out
}

/// Whether the character may stand in a tag.
pub fn is_tag_char(c: char) -> bool {
    match c {
        '_' | '-' | '/' => true,
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}' => false,
        _ => !c.is_whitespace() && !c.is_control(),
    }
}

/// Whether the text (without `#`) is a whole tag: tag characters only, at least one of them no digit.
pub fn is_tag(name: &str) -> bool {
    !name.starts_with('/')
        && !name.ends_with('/')
        && name.chars().all(is_tag_char)
        && name.chars().any(|c| !c.is_ascii_digit())
}

fn tag_at(text: &str, start: usize, here: usize) -> Option<Tag> {
    if !may_start(&text[start..here]) {
        return None;
    }
    let rest = &text[here + 1..];
    let end = rest.find(|c| !is_tag_char(c)).unwrap_or(rest.len());
    let name = rest[..end].trim_end_matches('/');
    is_tag(name).then(|| Tag { name: name.to_owned(), span: here..here + 1 + name.len(), in_front: false })
}

/// Whether a tag may start behind this: at the start of the line (quote marks aside) or after white space.
fn may_start(before: &str) -> bool {
    match before.chars().next_back() {
        None => true,
        Some('>') => {
            let mut line = before.chars().rev().take_while(|c| *c != '\n');
            line.all(|c| matches!(c, '>' | ' ' | '\t'))
        }
        Some(c) => c.is_whitespace(),
    }
}

fn in_front(text: &str, front: &Front) -> Vec<Tag> {
    let mut out = Vec::new();
    let Ok(values) = &front.values else { return out };
    for (key, value) in values {
        if !key.eq_ignore_ascii_case("tags") && !key.eq_ignore_ascii_case("tag") {
            continue;
        }
        let mut lines = Lines::of_key(text, front.yaml.clone(), key);
        for name in names(value) {
            let span = lines.holding(name);
            out.push(Tag { name: name.to_owned(), span, in_front: true });
        }
    }
    out
}

/// The tags that a front-matter value names: a list, or a text split on commas and white space, `#` optional.
pub fn names(value: &Value) -> Vec<&str> {
    let texts = match value {
        Value::Array(list) => list.as_slice(),
        _ => std::slice::from_ref(value),
    };
    texts
        .iter()
        .filter_map(Value::as_str)
        .flat_map(|text| text.split(|c: char| c == ',' || c.is_whitespace()))
        .map(|name| name.trim_start_matches('#').trim_end_matches('/'))
        .filter(|name| !name.is_empty())
        .collect()
}

/// The lines of a key's value, walked once while its tags are looked up in their order.
struct Lines<'a> {
    text: &'a str,
    end: usize,
    line: Range<usize>,
}

impl<'a> Lines<'a> {
    fn of_key(text: &'a str, yaml: Range<usize>, key: &str) -> Lines<'a> {
        let mut at = yaml.start;
        while at < yaml.end {
            let line = at..line_end(text, at, yaml.end);
            let written = text[line.clone()].trim_start_matches(['"', '\'']);
            let rest = written.get(key.len()..).filter(|_| written.starts_with(key));
            if rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ', '\t']).starts_with(':')) {
                return Lines { text, end: yaml.end, line };
            }
            at = line.end + 1;
        }
        Lines { text, end: yaml.end, line: yaml.start..line_end(text, yaml.start, yaml.end) }
    }

    /// The next line that holds the name; the present one where none does (an escape in the YAML).
    fn holding(&mut self, name: &str) -> Range<usize> {
        let mut line = self.line.clone();
        loop {
            if self.text[line.clone()].contains(name) {
                self.line = line;
                break;
            }
            let next = line.end + 1;
            let goes_on =
                next < self.end && self.text[next..].starts_with(['-', ' ', '\t', '\n', '\r', ']', '#']);
            if !goes_on {
                break;
            }
            line = next..line_end(self.text, next, self.end);
        }
        let trimmed = self.text[self.line.clone()].trim_end_matches('\r').len();
        self.line.start..self.line.start + trimmed
    }
}

fn line_end(text: &str, at: usize, end: usize) -> usize {
    memchr(b'\n', &text.as_bytes()[at..end]).map_or(end, |newline| at + newline)
}

#[cfg(test)]
mod tests {
    use super::super::links;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn found(text: &str) -> Vec<Tag> {
        let blocks = Blocks::scan(text, 0);
        let comments = links::comments(text, 0, &blocks);
        scan(text, 0, &blocks, &comments, None)
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let tags = found(text);
        let names: Vec<&str> = tags.iter().map(|tag| tag.name.as_str()).collect();
        assert_eq!(names, expected, "{text:?}");
        for tag in tags {
            assert_eq!(text[tag.span], format!("#{}", tag.name), "{text:?}");
        }
    }

    #[test]
    fn a_tag_starts_a_line_or_follows_white_space() {
        check("#a b #c/d\r\n\t#e_f-1\n", &["a", "c/d", "e_f-1"]);
        check("x#a (#b) \\#c ##d # e", &[]);
        check(">#a\n> #b\nx >#c", &["a", "b"]);
        check("- #a\n1. #b", &["a", "b"]);
    }

    #[test]
    fn a_tag_is_unicode_and_not_only_digits() {
        check("#日本語 #été #🚀x #1984 #y1984 #1-2", &["日本語", "été", "🚀x", "y1984", "1-2"]);
        check("#a, #b. #c! #d: #e\u{2014}x #f; #g#h", &["a", "b", "c", "d", "e", "f", "g"]);
        check("#a/ #/ #a//b", &["a", "a//b"]);
    }

    #[test]
    fn code_comments_links_urls_and_html_hold_no_tags() {
        check("`#a #b`\n```\n#c\n```\n    #d\n\n$ #e$ $x #f$", &["e$"].map(|_| "e"));
        check("%% #a %% #b\n\n%%\n#c\n\n#d\n%%\n#e", &["b", "e"]);
        check("[[x #a]] [[x|y #b]] [t](<a #c> \"u #d\") #e", &["e"]);
        check("https://x.y/#a https://x.y/z #b", &["b"]);
        check("<span style=\"color: #fff\">#a</span> <b title=\" #c\"> #d", &["d"]);
        check("[see #a](x.md) [[unclosed #b", &["a", "b"]);
    }

    #[test]
    fn front_matter_tags_come_first_with_their_line() {
        let yaml = "Tags:\r\n  - a/b\r\n  - \"#c d\"\r\ntag: x, y\r\n";
        let text = format!("---\r\n{yaml}---\r\n#z");
        let values = json!({"Tags": ["a/b", "#c d", 7, null], "tag": "x, y"});
        let front = Front {
            block: 0..text.len() - 2,
            yaml: 5..5 + yaml.len(),
            values: Ok(values.as_object().cloned().unwrap()),
        };
        let tags = scan(&text, front.block.end, &Blocks::default(), &[], Some(&front));
        let rows: Vec<_> = tags.iter().map(|tag| (tag.name.as_str(), &text[tag.span.clone()])).collect();
        let expected = [
            ("a/b", "  - a/b"),
            ("c", "  - \"#c d\""),
            ("d", "  - \"#c d\""),
            ("x", "tag: x, y"),
            ("y", "tag: x, y"),
            ("z", "#z"),
        ];
        assert_eq!(rows, expected);
    }

    proptest! {
        #[test]
        fn every_span_spells_its_tag(text in "[ #/\\[\\]()a1é🚀%`\n>|]{0,60}") {
            for tag in found(&text) {
                prop_assert_eq!(&text[tag.span.clone()], format!("#{}", tag.name));
                prop_assert!(is_tag(&tag.name));
            }
        }
    }
}
