//! HTML that a note brings itself: known tags without their attributes. So no note can wear our classes, ids or data, and
//! what is not known leaves its text behind.

use super::links::{self, Target};
use super::writer::Writer;

/// Tags that may stand inside a line.
const INLINE: &[&str] = &[
    "abbr", "b", "cite", "code", "del", "em", "i", "ins", "kbd", "mark", "q", "s", "small", "span", "strong",
    "sub", "sup", "u",
];
/// Tags that may stand in a block of HTML.
const BLOCK: &[&str] = &[
    "article",
    "blockquote",
    "caption",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "li",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];
/// Tags without an end.
const VOID: &[&str] = &["br", "hr", "wbr"];
/// Elements that are passed over with all that is in them.
const HUSHED: &[&str] = &[
    "script",
    "style",
    "title",
    "textarea",
    "noscript",
    "iframe",
    "object",
    "svg",
    "math",
    "template",
    "head",
    "select",
    "xmp",
    "noembed",
    "noframes",
    "plaintext",
    "applet",
    "canvas",
];
/// How many tags may be open at once.
const DEEPEST: usize = 32;

/// A tag as it is written.
struct Written<'t> {
    name: String,
    closes: bool,
    attributes: &'t str,
}

impl Writer<'_> {
    /// Writes what of this HTML may be shown.
    pub(super) fn raw_html(&mut self, html: &str) {
        self.has_raw = true;
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            self.raw_text(&rest[..at]);
            let (tag, behind) = read_tag(&rest[at..]);
            match tag {
                Some(tag) => self.raw_tag(&tag),
                None if behind.len() == rest.len() - at => {
                    self.raw_text("<");
                    rest = &rest[at + 1..];
                    continue;
                }
                None => {}
            }
            rest = behind;
        }
        self.raw_text(rest);
    }

    /// Closes tags of the note's own until only so many are open.
    pub(super) fn close_raw(&mut self, floor: usize) {
        while self.raw.len() > floor {
            if let Some(name) = self.raw.pop() {
                self.out.push_str(&format!("</{name}>"));
            }
        }
    }

    fn raw_text(&mut self, text: &str) {
        if self.hushed.is_none() {
            // Entities stay what they are; the cleaner reads them.
            self.out.push_str(&text.replace('<', "&lt;").replace('>', "&gt;"));
        }
    }

    fn raw_tag(&mut self, tag: &Written<'_>) {
        if let Some(hushed) = &self.hushed {
            if tag.closes && tag.name == *hushed {
                self.hushed = None;
            }
            return;
        }
        if HUSHED.contains(&tag.name.as_str()) {
            if !tag.closes && !tag.attributes.ends_with('/') {
                self.hushed = Some(tag.name.clone());
            }
            return;
        }
        let known = |list: &'static [&'static str]| list.iter().copied().find(|known| *known == tag.name);
        if let Some(name) = known(VOID).filter(|_| !tag.closes) {
            return self.out.push_str(&format!("<{name}>"));
        }
        if tag.name == "img" && !tag.closes {
            let of = |name| attribute(tag.attributes, name).unwrap_or_default();
            return self.image(&of("src"), &of("alt"));
        }
        let name = known(INLINE).or_else(|| known(BLOCK).filter(|_| self.in_html_block));
        match name.or_else(|| (tag.name == "a").then_some("a")) {
            Some(name) if tag.closes => self.close_one(name),
            Some("a") => self.raw_link(tag),
            Some(name) => self.open_one(name, &format!("<{name}>")),
            None => {}
        }
    }

    fn raw_link(&mut self, tag: &Written<'_>) {
        if self.in_link() {
            return;
        }
        let target = attribute(tag.attributes, "href")
            .map_or(Target::Refused, |address| links::target(&address, self.place));
        if let Some(opens) = self.anchor(&target) {
            self.open_one("a", &opens);
        }
    }

    fn open_one(&mut self, name: &'static str, opens: &str) {
        if self.raw.len() < DEEPEST {
            self.out.push_str(opens);
            self.raw.push(name);
        }
    }

    fn close_one(&mut self, name: &str) {
        let floor = self.raw_floor();
        let inside = self.raw.get(floor..).unwrap_or_default();
        if let Some(at) = inside.iter().rposition(|open| *open == name) {
            self.close_raw(floor + at);
        }
    }
}

/// The tag at the start of a text, and what stands behind it. Comments and declarations are no tags and are passed over.
fn read_tag(text: &str) -> (Option<Written<'_>>, &str) {
    if let Some(comment) = text.strip_prefix("<!--") {
        return (None, comment.find("-->").map_or("", |end| &comment[end + 3..]));
    }
    if text.starts_with("<!") || text.starts_with("<?") {
        return (None, text.find('>').map_or("", |end| &text[end + 1..]));
    }
    let closes = text.starts_with("</");
    let start = if closes { 2 } else { 1 };
    let inside = &text[start..];
    if !inside.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return (None, text);
    }
    let length =
        inside.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/').unwrap_or(inside.len());
    let name = inside[..length].to_ascii_lowercase();
    let attributes = &inside[length..];
    let end = end_of_tag(attributes);
    let written = Written { name, closes, attributes: &attributes[..end] };
    (Some(written), attributes.get(end + 1..).unwrap_or_default())
}

/// Where the `>` stands that ends a tag; those in quotes do not.
fn end_of_tag(attributes: &str) -> usize {
    let mut quote = None;
    for (at, byte) in attributes.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    attributes.len()
}

/// The value of an attribute.
fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let length =
            rest.find(|c: char| c.is_ascii_whitespace() || c == '=' || c == '/').unwrap_or(rest.len());
        if length == 0 && !rest.starts_with('=') {
            return None;
        }
        let name = &rest[..length];
        rest = rest[length..].trim_start();
        let Some(behind) = rest.strip_prefix('=') else { continue };
        let behind = behind.trim_start();
        let (value, after) = match behind.chars().next() {
            Some(quote @ ('"' | '\'')) => behind[1..].split_once(quote).unwrap_or((&behind[1..], "")),
            _ => behind.split_at(behind.find(|c: char| c.is_ascii_whitespace()).unwrap_or(behind.len())),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(decoded(value));
        }
        rest = after;
    }
}

/// The few entities that addresses are written with; a scheme hidden behind others is no scheme of ours.
fn decoded(value: &str) -> String {
    value
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}
