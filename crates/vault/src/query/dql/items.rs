//! List items of a page: text, nesting, task state, fields, and where they stand.
//!
//! An item ends where its nested list begins. Lines count from 0. Items nested deeper than [`DEEPEST`] hang on the last
//! item above them, so that no hostile note makes values too deep.

use std::ops::Range;

use super::inline::{EmojiDates, InlineField, LONGEST_LINE, full_line_field, inline_fields};
use super::text::text_tags;
use crate::note::Parsed;
use crate::note::blocks::BlockKind;

/// How deep items are nested at most.
const DEEPEST: usize = 40;

/// A list item as it was read; nothing in it depends on other files.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// `-`, `*`, `+`, `1.`, `1)`.
    pub symbol: String,
    /// All its own lines, trimmed, without marker and box.
    pub text: String,
    /// Its first line.
    pub line: usize,
    /// How many lines it has.
    pub line_count: usize,
    /// The first line of the list that it belongs to.
    pub list: usize,
    /// Index of the item around it.
    pub parent: Option<usize>,
    /// The character in its box, if it is a task.
    pub status: Option<char>,
    /// The id behind `^`.
    pub block_id: Option<String>,
    /// The heading above it, as written.
    pub heading: Option<String>,
    /// Tags in its text.
    pub tags: Vec<String>,
    /// Its fields.
    pub fields: Vec<InlineField>,
    /// Its bytes in the note.
    pub span: Range<usize>,
}

impl Item {
    /// Whether it is a task that is done.
    pub fn is_completed(&self) -> bool {
        matches!(self.status, Some('x' | 'X'))
    }
}

/// The lines of a text.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Lines<'a> {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        Lines { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    pub(crate) fn at(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    pub(crate) fn get(&self, line: usize) -> &'a str {
        let start = self.starts.get(line).copied().unwrap_or(self.text.len());
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }
}

/// All list items in document order.
pub(crate) fn items(text: &str, parsed: &Parsed, lines: &Lines<'_>) -> Vec<Item> {
    let blocks = &parsed.blocks.blocks;
    let nested_at = nested_lists(parsed);
    let mut roots: Vec<usize> = Vec::with_capacity(blocks.len());
    // For every block: the item it is or stands in, as an index into `out`, and how deep that item is.
    let mut inside: Vec<Option<usize>> = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        roots.push(block.parent.map_or(index, |parent| match blocks[parent].kind {
            BlockKind::List | BlockKind::Item => roots[parent],
            _ => index,
        }));
    }
    let mut out: Vec<Item> = Vec::new();
    let mut depths: Vec<usize> = Vec::new();
    let mut headings = parsed.blocks.headings.iter().filter(|heading| heading.inside.is_none()).peekable();
    let mut heading = None;
    for (index, block) in blocks.iter().enumerate() {
        let around = block.parent.and_then(|parent| inside[parent]);
        if block.kind != BlockKind::Item {
            inside.push(around);
            continue;
        }
        while let Some(above) = headings.next_if(|above| above.span.start <= block.span.start) {
            heading = Some(&above.text);
        }
        let first = lines.at(item_start(text, &block.span));
        let end = nested_at[index].unwrap_or(block.span.end);
        let list = lines.at(blocks[roots[index]].span.start);
        match read(text, lines, first, block.span.start..end, list, heading.cloned()) {
            Some(mut item) => {
                item.parent = around.map(|around| {
                    if depths[around] >= DEEPEST { out[around].parent.unwrap_or(around) } else { around }
                });
                depths.push(item.parent.map_or(0, |parent| depths[parent] + 1));
                out.push(item);
                inside.push(Some(out.len() - 1));
            }
            None => inside.push(around),
        }
    }
    out
}

/// The fields of items without a box: they belong to the page. Only items that may have some are read.
pub(crate) fn page_fields(text: &str, parsed: &Parsed, lines: &Lines<'_>) -> Vec<InlineField> {
    let blocks = &parsed.blocks.blocks;
    let nested_at = nested_lists(parsed);
    let mut out = Vec::new();
    for (block, nested) in blocks.iter().zip(nested_at).filter(|(block, _)| block.kind == BlockKind::Item) {
        let span = block.span.start..nested.unwrap_or(block.span.end);
        let may_have = text.get(span.clone()).is_some_and(|own| !own.is_ascii() || own.contains("::"));
        let item =
            may_have.then(|| read(text, lines, lines.at(item_start(text, &block.span)), span, 0, None));
        if let Some(item) = item.flatten().filter(|item| item.status.is_none()) {
            out.extend(item.fields);
        }
    }
    out
}

/// Whether the item at these bytes has a box.
pub(crate) fn has_box(text: &str, span: &Range<usize>) -> bool {
    let at = item_start(text, span).min(text.len());
    let start = memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |end| start + end);
    let line = text.get(start..end).unwrap_or("").trim_end_matches('\r');
    marker(line).is_some_and(|(_, status, _)| status.is_some())
}

/// For every block, where the first list inside of it begins.
fn nested_lists(parsed: &Parsed) -> Vec<Option<usize>> {
    let blocks = &parsed.blocks.blocks;
    let mut nested_at: Vec<Option<usize>> = vec![None; blocks.len()];
    for block in blocks.iter().filter(|block| block.kind == BlockKind::List) {
        if let Some(parent) = block.parent
            && nested_at[parent].is_none()
        {
            nested_at[parent] = Some(block.span.start);
        }
    }
    nested_at
}

/// The first byte that is no white space.
fn item_start(text: &str, span: &Range<usize>) -> usize {
    let piece = text.get(span.clone()).unwrap_or("");
    span.start + (piece.len() - piece.trim_start().len())
}

fn read(
    text: &str,
    lines: &Lines<'_>,
    first: usize,
    span: Range<usize>,
    list: usize,
    heading: Option<String>,
) -> Option<Item> {
    let own = text.get(span.clone())?.trim_end();
    // A nested list may begin on the item's own line or behind white space on its own; then that line is not ours.
    let last_byte = span.start + own.len().saturating_sub(1);
    let last = lines.at(last_byte).max(first);
    let last = match last > first && lines.get(last).trim_start_matches([' ', '\t', '>']).is_empty() {
        true => last - 1,
        false => last,
    };
    let (symbol, status, start) = marker(lines.get(first))?;
    let mut parts = vec![start.trim()];
    parts.extend((first + 1..=last).map(|line| lines.get(line).trim()));
    let joined = parts.join(" ");
    let fields = fields(&joined, status.is_some());
    Some(Item {
        symbol: symbol.to_owned(),
        text: parts.join("\n"),
        line: first,
        line_count: last - first + 1,
        list,
        parent: None,
        status,
        block_id: parts.last().and_then(|last| block_id(last)),
        heading,
        tags: distinct(text_tags(&joined)),
        fields,
        span,
    })
}

/// Marker, box and the text behind them.
fn marker(line: &str) -> Option<(&str, Option<char>, &str)> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let length = match line.as_bytes().get(digits) {
        Some(b'.' | b')') if digits > 0 => digits + 1,
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        _ => return None,
    };
    let (symbol, rest) = line.split_at(length);
    let rest = rest.trim_start();
    let Some(inner) = rest.strip_prefix('[') else { return Some((symbol, None, rest)) };
    let mut chars = inner.chars();
    let first = chars.next();
    match (first, first.filter(|c| *c != ']').and_then(|_| chars.next())) {
        (Some(']'), _) => Some((symbol, None, &inner[1..])),
        (Some(status), Some(']')) => {
            let behind = chars.as_str();
            let is_box = behind.is_empty() || behind.starts_with(char::is_whitespace);
            Some((symbol, is_box.then_some(status), behind))
        }
        _ => Some((symbol, None, rest)),
    }
}

fn fields(text: &str, is_task: bool) -> Vec<InlineField> {
    if text.len() > LONGEST_LINE {
        return Vec::new();
    }
    let found = inline_fields(text, EmojiDates::Read);
    if found.is_empty() && !is_task {
        return full_line_field(text).into_iter().collect();
    }
    found
}

/// The id at the end of a line.
fn block_id(line: &str) -> Option<String> {
    let (before, id) = line.rsplit_once('^')?;
    let fits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (fits && (before.is_empty() || before.ends_with(char::is_whitespace))).then(|| id.to_owned())
}

/// Each text once, in the order of the first.
pub(crate) fn distinct(texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    texts.into_iter().filter(|text| seen.insert(text.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Item> {
        items(text, &crate::note::parse(text), &Lines::of(text))
    }

    #[test]
    fn items_end_where_their_nested_list_begins() {
        let found = of("# H\n- [ ] a ^id\n  more\n    - [x] b\nlazy\n* c\n1) d [k:: 1]\n");
        let rows: Vec<_> = found
            .iter()
            .map(|item| (item.symbol.as_str(), item.text.as_str(), item.line, item.parent, item.status))
            .collect();
        assert_eq!(
            rows,
            [
                ("-", "a ^id\nmore", 1, None, Some(' ')),
                ("-", "b\nlazy", 3, Some(0), Some('x')),
                ("*", "c", 5, None, None),
                ("1)", "d [k:: 1]", 6, None, None),
            ]
        );
        assert_eq!(found[0].heading.as_deref(), Some("H"));
        assert_eq!(found[3].fields[0].key, "k");
    }

    #[test]
    fn quotes_and_blank_lines_are_read() {
        let found = of("> - [ ] quoted\n> more\n\n- one\n\n- two\n");
        let texts: Vec<_> = found.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(texts, ["quoted\n> more", "one", "two"]);
    }

    #[test]
    fn deep_lists_stay_shallow() {
        let text: String = (0..300).map(|depth| format!("{}- x\n", "  ".repeat(depth))).collect();
        let found = of(&text);
        for mut item in found.iter() {
            let mut depth = 0;
            while let Some(parent) = item.parent {
                item = &found[parent];
                depth += 1;
            }
            assert!(depth <= DEEPEST);
        }
    }
}
