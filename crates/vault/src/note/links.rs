//! Links and embeds as they stand in a note: wiki, Markdown, embeds, front-matter links, and the `%%` comments.
//!
//! Called by [`super::parse`] for every note of the vault, so one pass over the brackets of the text and nothing more.
//! Where a link leads is not decided here (see [`crate::links`]), nor is it rewritten (see [`crate::edit::relink`]).

pub(crate) mod destination;
mod front;

use std::ops::Range;

use memchr::memmem;
use memchr::{memchr, memchr_iter, memchr2, memchr3};

use super::blocks::{BlockKind, Blocks, holds};
use super::front::Front;
use destination::Destination;

/// A link or embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// How it is written.
    pub style: LinkStyle,
    /// Whether it embeds (`!` in front).
    pub embed: bool,
    /// What it points to, decoded, without fragment and alias; empty for a link inside the same note.
    pub target: String,
    /// What follows `#` (heading path or `^id`), without the `#`.
    pub fragment: Option<String>,
    /// The alias (wiki) or the text (Markdown); none for a reference definition.
    pub display: Option<String>,
    /// The whole link, `!` included.
    pub span: Range<usize>,
    /// The bytes of the target alone (as written, still encoded, without fragment).
    pub target_span: Range<usize>,
    /// Whether it stands in front matter.
    pub in_front: bool,
    /// The quotes around the YAML string that holds it; [`Quote::None`] in the body.
    pub quote: Quote,
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkStyle {
    /// `[[target#fragment|alias]]`.
    Wiki,
    /// `[text](target#fragment "title")` or `[label]: target`, internal targets only.
    Markdown,
}

/// The quotes of a YAML string: whoever writes between them must escape as they ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quote {
    /// No quotes: the body, a plain or a block scalar.
    #[default]
    None,
    /// `'…'`, where `''` stands for one quote.
    Single,
    /// `"…"`, where a back slash escapes.
    Double,
}

/// The `%%` comments of a note: spans in which nothing counts. Sorted, not overlapping.
///
/// A comment that starts a line may hold anything; one inside a line ends before the next blank line or is none.
/// Without a second `%%` there is no comment: half of a note must not vanish for two percent signs.
pub fn comments(text: &str, body: usize, blocks: &Blocks) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut code = Masks::new([&blocks.code, &[], &[]]);
    let mut open: Option<usize> = None;
    let mut from = body.min(bytes.len());
    while let Some(found) = memmem::find(&bytes[from..], b"%%") {
        let here = from + found;
        if let Some(end) = code.end_at(here) {
            from = end;
            continue;
        }
        from = here + 2;
        if is_escaped(bytes, here) {
            continue;
        }
        open = match open {
            Some(start) if starts_line(bytes, start) || !has_blank_line(&bytes[start..here]) => {
                out.push(start..here + 2);
                None
            }
            _ => Some(here),
        };
    }
    out
}

/// All internal links and embeds, in document order. Addresses with a scheme (`https:`, `mailto:`) are not links to notes.
pub fn scan(
    text: &str,
    body: usize,
    blocks: &Blocks,
    comments: &[Range<usize>],
    front: Option<&Front>,
) -> Vec<Link> {
    let mut out = front.map_or_else(Vec::new, |front| front::scan(text, front.yaml.clone()));
    let masks = Masks::new([&blocks.code, comments, &blocks.html]);
    let in_front = out.len();
    Scanner::new(text, masks, Some(blocks), &mut out).run(body.min(text.len())..text.len());
    // An image inside a link is found before the link around it.
    if !out[in_front..].is_sorted_by_key(|link| link.span.start) {
        out[in_front..].sort_by_key(|link| link.span.start);
    }
    out
}

/// Whether a path written between `[[` and `]]` is read back as it is: a `#` or a `|` in a name is not.
pub(crate) fn reads_back(target: &str) -> bool {
    let text = format!("[[{target}|x]]");
    let inner = wiki_at(text.as_bytes(), 0).filter(|inner| inner.end + 2 == text.len());
    let link = inner.and_then(|inner| wiki(&text, 0..text.len(), inner, false));
    link.is_some_and(|link| link.target == target && link.fragment.is_none()) && !target.contains("%%")
}

/// The inside of the wiki link that opens with the `[[` at `at`. It ends on the same line, before another `[[`.
pub(super) fn wiki_at(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + 2;
    if bytes.get(at..start)? != b"[[" || bytes.get(start) == Some(&b'[') {
        return None;
    }
    let mut from = start;
    loop {
        let here = from + memchr3(b'[', b']', b'\n', &bytes[from..])?;
        let doubled = bytes.get(here + 1) == Some(&bytes[here]);
        match bytes[here] {
            b']' if doubled => return Some(start..here),
            b'\n' => return None,
            b'[' if doubled => return None,
            _ => from = here + 1,
        }
    }
}

/// Several sorted lists of spans, asked with rising positions: a cursor each instead of a search each time.
pub(super) struct Masks<'a> {
    lists: [&'a [Range<usize>]; 3],
    cursors: [usize; 3],
}

impl<'a> Masks<'a> {
    pub(super) fn new(lists: [&'a [Range<usize>]; 3]) -> Masks<'a> {
        Masks { lists, cursors: [0; 3] }
    }

    /// Behind the span that holds the byte, if one does. Positions must not fall from call to call.
    pub(super) fn end_at(&mut self, at: usize) -> Option<usize> {
        for (list, cursor) in self.lists.iter().zip(&mut self.cursors) {
            while list.get(*cursor).is_some_and(|span| span.end <= at) {
                *cursor += 1;
            }
            if let Some(span) = list.get(*cursor).filter(|span| span.start <= at) {
                return Some(span.end);
            }
        }
        None
    }

    /// Whether a span holds the byte, wherever the cursors stand.
    pub(super) fn hold(&self, at: usize) -> bool {
        self.lists.iter().any(|list| holds(list, at))
    }
}

/// Whether an odd number of back slashes stands in front of the byte.
pub(super) fn is_escaped(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// One walk over the square brackets of a text.
struct Scanner<'a, 'out> {
    text: &'a str,
    masks: Masks<'a>,
    /// The blocks, where reference definitions are looked for.
    blocks: Option<&'a Blocks>,
    out: &'out mut Vec<Link>,
    openers: Vec<Opener>,
    /// Openers below this index already hold a link and so cannot become one (unless they embed).
    inactive: usize,
    last: usize,
}

struct Opener {
    at: usize,
    embed: bool,
}

impl<'a, 'out> Scanner<'a, 'out> {
    fn new(text: &'a str, masks: Masks<'a>, blocks: Option<&'a Blocks>, out: &'out mut Vec<Link>) -> Self {
        Scanner { text, masks, blocks, out, openers: Vec::new(), inactive: 0, last: 0 }
    }

    fn run(&mut self, range: Range<usize>) {
        let bytes = &self.text.as_bytes()[..range.end];
        let mut at = range.start;
        while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'[', b']', rest)) {
            let here = at + found;
            if let Some(end) = self.masks.end_at(here) {
                at = end;
                continue;
            }
            self.forget_earlier_paragraphs(bytes, here);
            at = match bytes[here] {
                _ if is_escaped(bytes, here) => here + 1,
                b'[' => self.open(bytes, here),
                _ => self.close(bytes, here),
            };
        }
    }

    // Looked at once per gap, not once per bracket pair: `[[[[…](x](x` stays linear.
    fn forget_earlier_paragraphs(&mut self, bytes: &[u8], here: usize) {
        if !self.openers.is_empty() && has_blank_line(&bytes[self.last..here]) {
            self.openers.clear();
            self.inactive = 0;
        }
        self.last = here;
    }

    fn open(&mut self, bytes: &[u8], here: usize) -> usize {
        let embed = here > 0 && bytes[here - 1] == b'!' && !is_escaped(bytes, here - 1);
        let Some(inner) = wiki_at(bytes, here).filter(|inner| !self.masks.hold(inner.end)) else {
            self.openers.push(Opener { at: here, embed });
            return here + 1;
        };
        let end = inner.end + 2;
        if let Some(link) = wiki(self.text, here - usize::from(embed)..end, inner, embed) {
            self.out.push(link);
            self.found(embed);
        }
        end
    }

    fn close(&mut self, bytes: &[u8], here: usize) -> usize {
        let Some(opener) = self.openers.pop() else { return here + 1 };
        let inactive = !opener.embed && self.openers.len() < self.inactive;
        self.inactive = self.inactive.min(self.openers.len());
        let (destination, display) = match bytes.get(here + 1) {
            Some(b'(') if !inactive => {
                let display = &self.text[opener.at + 1..here];
                (destination::inline(bytes, here + 1), Some(display.to_owned()))
            }
            Some(b':') if self.may_define(bytes, opener.at, here) => {
                (destination::definition(bytes, here + 2), None)
            }
            _ => return here + 1,
        };
        let Some(destination) = destination else { return here + 1 };
        let embed = opener.embed && display.is_some();
        let span = opener.at - usize::from(embed)..destination.end;
        self.out.extend(markdown(self.text, &destination, span, display, embed));
        self.found(embed);
        destination.end
    }

    fn found(&mut self, embed: bool) {
        if !embed {
            self.inactive = self.openers.len();
        }
    }

    /// Whether `[label]:` may define a reference: alone on its line so far, and not in the middle of a paragraph.
    fn may_define(&self, bytes: &[u8], open: usize, close: usize) -> bool {
        let Some(blocks) = self.blocks else { return false };
        if close == open + 1 || bytes[open + 1] == b'^' || !starts_line(bytes, open) {
            return false;
        }
        let after = blocks.blocks.partition_point(|block| block.span.start <= open);
        after.checked_sub(1).is_none_or(|index| {
            let block = &blocks.blocks[index];
            open >= block.span.end
                || matches!(
                    block.kind,
                    BlockKind::Quote | BlockKind::List | BlockKind::Item | BlockKind::Footnote
                )
        })
    }
}

fn wiki(text: &str, span: Range<usize>, inner: Range<usize>, embed: bool) -> Option<Link> {
    let whole = &text[inner.clone()];
    let pipe = memchr(b'|', whole.as_bytes());
    let address = &whole[..pipe.unwrap_or(whole.len())];
    // In a table the pipe has to be written `\|`.
    let address = address.strip_suffix('\\').filter(|_| pipe.is_some()).unwrap_or(address);
    let hash = memchr(b'#', address.as_bytes());
    let written = &address[..hash.unwrap_or(address.len())];
    let target = written.trim();
    let start = inner.start + if target.is_empty() { 0 } else { written.len() - written.trim_start().len() };
    let fragment = hash.map(|hash| address[hash + 1..].trim()).filter(|fragment| !fragment.is_empty());
    if (target.is_empty() && fragment.is_none()) || target.contains("://") {
        return None;
    }
    Some(Link {
        style: LinkStyle::Wiki,
        embed,
        target: target.to_owned(),
        fragment: fragment.map(str::to_owned),
        display: pipe.map(|pipe| whole[pipe + 1..].trim().to_owned()),
        span,
        target_span: start..start + target.len(),
        in_front: false,
        quote: Quote::None,
    })
}

fn markdown(
    text: &str,
    destination: &Destination,
    span: Range<usize>,
    display: Option<String>,
    embed: bool,
) -> Option<Link> {
    let written = &text[destination.written.clone()];
    if written.is_empty() || destination::is_external(written) {
        return None;
    }
    let hash = memchr(b'#', written.as_bytes());
    let target = &written[..hash.unwrap_or(written.len())];
    let fragment = hash.map(|hash| &written[hash + 1..]).filter(|fragment| !fragment.is_empty());
    if target.is_empty() && fragment.is_none() {
        return None;
    }
    let start = destination.written.start;
    Some(Link {
        style: LinkStyle::Markdown,
        embed,
        target: destination::decode(target),
        fragment: fragment.map(destination::decode),
        display,
        span,
        target_span: start..start + target.len(),
        in_front: false,
        quote: Quote::None,
    })
}

/// Whether only indentation, quote marks and bullets stand before the byte on its line.
fn starts_line(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev().take_while(|byte| **byte != b'\n');
    before.into_iter().all(|byte| matches!(byte, b' ' | b'\t' | b'>' | b'-' | b'*' | b'+'))
}

/// Whether a line with nothing on it (quote marks aside) lies between.
fn has_blank_line(between: &[u8]) -> bool {
    memchr_iter(b'\n', between).any(|newline| {
        let next = between[newline + 1..].iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'>'));
        next == Some(&b'\n')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Map;

    fn found(text: &str) -> Vec<Link> {
        let blocks = Blocks::scan(text, 0);
        let comments = comments(text, 0, &blocks);
        scan(text, 0, &blocks, &comments, None)
    }

    /// A link as one line: `!wiki target # fragment | display`.
    fn show(link: &Link) -> String {
        let embed = if link.embed { "!" } else { "" };
        let style = match link.style {
            LinkStyle::Wiki => "wiki",
            LinkStyle::Markdown => "md",
        };
        let fragment = link.fragment.as_ref().map_or(String::new(), |fragment| format!(" # {fragment}"));
        let display = link.display.as_ref().map_or(String::new(), |display| format!(" | {display}"));
        format!("{embed}{style} {}{fragment}{display}", link.target)
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str, &str)]) {
        let links = found(text);
        let rows: Vec<_> = links
            .iter()
            .map(|link| (show(link), &text[link.span.clone()], &text[link.target_span.clone()]))
            .collect();
        let rows: Vec<_> = rows.iter().map(|(link, span, target)| (link.as_str(), *span, *target)).collect();
        assert_eq!(rows, expected, "{text:?}");
    }

    #[track_caller]
    fn none(text: &str) {
        check(text, &[]);
    }

    #[test]
    fn wiki_links_have_target_fragment_and_alias() {
        check("a [[b]] c", &[("wiki b", "[[b]]", "b")]);
        check("![[b.png|100]]", &[("!wiki b.png | 100", "![[b.png|100]]", "b.png")]);
        check("[[ b c # h | x ]]", &[("wiki b c # h | x", "[[ b c # h | x ]]", "b c")]);
        check(
            "[[a#b#c]] [[a#^id]]",
            &[("wiki a # b#c", "[[a#b#c]]", "a"), ("wiki a # ^id", "[[a#^id]]", "a")],
        );
        check("[[#h]]", &[("wiki  # h", "[[#h]]", "")]);
        check("[[é/日本|x]]\r\n", &[("wiki é/日本 | x", "[[é/日本|x]]", "é/日本")]);
        check(
            "| [[a\\|b]] |\n|--|\n| ![[c#d\\|e]] |",
            &[("wiki a | b", "[[a\\|b]]", "a"), ("!wiki c # d | e", "![[c#d\\|e]]", "c")],
        );
    }

    #[test]
    fn what_only_looks_like_a_wiki_link_is_none() {
        for text in ["\\[[a]]", "[[a\nb]]", "[[]]", "[[ ]]", "[[|x]]", "[[a", "[[https://a.b]]", "[a]]"] {
            none(text);
        }
        check("[[a [[b]]", &[("wiki b", "[[b]]", "b")]);
        check("[[[a]]]", &[("wiki a", "[[a]]", "a")]);
        check("\\![[a]]", &[("wiki a", "[[a]]", "a")]);
        check("\\\\[[a]]", &[("wiki a", "[[a]]", "a")]);
    }

    #[test]
    fn code_math_comments_and_html_hold_no_links() {
        none("`[[a]]` ``[[b]] ` [c](d.md)``\n\n```\n[[e]]\n```\n~~~\n[[f]]\n~~~\n\n    [[g]]\n\n$[[h]]$\n");
        none("%%[[a]]%%\n\n%%\n[[b]]\n\n[[c]]\n%%\n<!-- [[d]] -->\n\n<div>\n[[e]]\n</div>\n");
        check("100%% [[a]]\n\n5%% [[b]]", &[("wiki a", "[[a]]", "a"), ("wiki b", "[[b]]", "b")]);
        check("`%%` [[a]] `%%`", &[("wiki a", "[[a]]", "a")]);
        check("<b>[[a]]</b>", &[("wiki a", "[[a]]", "a")]);
        check("%% unclosed [[a]]", &[("wiki a", "[[a]]", "a")]);
        check("[[a `b` c]] [[d `e]]`", &[("wiki a `b` c", "[[a `b` c]]", "a `b` c")]);
    }

    #[test]
    fn markdown_links_are_decoded_and_external_ones_left_out() {
        check(
            "[t](a%20b.md#h%20i \"x\")",
            &[("md a b.md # h i | t", "[t](a%20b.md#h%20i \"x\")", "a%20b.md")],
        );
        check("![t](<a b.png>)", &[("!md a b.png | t", "![t](<a b.png>)", "a b.png")]);
        check("[a [b] c](d(e).md)", &[("md d(e).md | a [b] c", "[a [b] c](d(e).md)", "d(e).md")]);
        check("[t](#h)", &[("md  # h | t", "[t](#h)", "")]);
        check("[t](../a.md)", &[("md ../a.md | t", "[t](../a.md)", "../a.md")]);
        none("[t](https://a.b/c.md) [t](mailto:a@b.c) [t]() [t](#) \\[t](a.md) [t\\](a.md) [t] (a.md)");
        none("[t\n\nu](a.md)");
        check(
            "[![i](a.png)](b.md)",
            &[
                ("md b.md | ![i](a.png)", "[![i](a.png)](b.md)", "b.md"),
                ("!md a.png | i", "![i](a.png)", "a.png"),
            ],
        );
        check("[a [b](c.md) d](e.md)", &[("md c.md | b", "[b](c.md)", "c.md")]);
        check("[a [[b]] c](d.md)", &[("wiki b", "[[b]]", "b")]);
    }

    #[test]
    fn a_reference_definition_is_a_link() {
        check("[x]: a%20b.md \"t\"\n", &[("md a b.md", "[x]: a%20b.md \"t\"", "a%20b.md")]);
        check("text [y][x]\n\n> [x]: <a b.md#h>\r\n", &[("md a b.md # h", "[x]: <a b.md#h>", "a b.md")]);
        none("[x]: https://a.b\n\n[^1]: note.md\n\ntext\n[x]: a.md\n\n[x]: two words\n");
    }

    #[test]
    fn front_matter_links_have_exact_spans() {
        let yaml = concat!(
            "up: \"[[A|x]]\" # [[no]]\n# [[no]]\nlist:\n  - '[[Bob''s#h]]'\n  - \"[m](c%20d.md)\"\n",
            "note: |\n  # [[E]]\nmatrix: [[1, 2], [3, 4]]\nplain: [[F]]\nquote: \"[[say \\\"x\\\"]]\"\n"
        );
        let text = format!("---\n{yaml}---\n[[G]]");
        let front = Front { block: 0..text.len() - 5, yaml: 4..4 + yaml.len(), values: Ok(Map::default()) };
        let links = scan(&text, front.block.end, &Blocks::scan(&text, front.block.end), &[], Some(&front));
        let rows: Vec<_> =
            links.iter().map(|link| (show(link), &text[link.target_span.clone()], link.quote)).collect();
        let row = |link: &str, span, quote| (link.to_owned(), span, quote);
        assert_eq!(
            rows,
            [
                row("wiki A | x", "A", Quote::Double),
                row("wiki Bob's # h", "Bob''s", Quote::Single),
                row("md c d.md | m", "c%20d.md", Quote::Double),
                row("wiki E", "E", Quote::None),
                row("wiki F", "F", Quote::None),
                row("wiki say \"x\"", "say \\\"x\\\"", Quote::Double),
                row("wiki G", "G", Quote::None),
            ]
        );
        assert!(links.iter().all(|link| link.in_front == (link.target != "G")));
    }

    #[test]
    fn hostile_brackets_take_linear_time() {
        let half = 50_000;
        for piece in ["[", "[[", "[[a ", "](", "](a \"", "[a](", "![", "%%", "[](<", "[a]:", "![[a]"] {
            found(&piece.repeat(half));
        }
        found(&format!("{}{}", "[".repeat(half), "](x".repeat(half)));
        found(&format!("{}{}", "![".repeat(half), "[a](b)".repeat(half)));
    }

    proptest! {
        #[test]
        fn spans_lie_in_order_and_hold_their_targets(text in "[ab\\[\\]()!|#%`\\\\<>\n:/é$-]{0,80}") {
            let links = found(&text);
            prop_assert!(links.windows(2).all(|pair| pair[0].span.start < pair[1].span.start));
            for link in links {
                prop_assert!(link.span.start < link.target_span.start && link.target_span.end <= link.span.end);
                let written = &text[link.target_span.clone()];
                match link.style {
                    LinkStyle::Wiki => prop_assert_eq!(written, link.target),
                    LinkStyle::Markdown => prop_assert_eq!(destination::decode(written), link.target),
                }
            }
        }
    }
}
