//! Inline fields: `key:: value`, `[key:: value]`, `(key:: value)`.
//!
//! Called by [`super::parse`]. Fields count in code and comments too, as Dataview reads them. Keys and values are text
//! here; what a value means (a date, a link, a number) is the query engine's business.

use std::ops::Range;

use memchr::memmem;
use memchr::{memchr, memrchr};

use super::blocks::{Block, BlockKind, Blocks};
use super::tasks::{check_box, item_text};

/// Longer lines are data, not notes; Dataview skips them too.
const LONGEST_LINE: usize = 32_768;

/// An inline field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The key as written, markup around it removed.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// The whole field.
    pub span: Range<usize>,
    /// The value's bytes.
    pub value_span: Range<usize>,
    /// Whether it stands in a task: then it belongs to the task and not to the page.
    pub in_task: bool,
}

/// All inline fields, in document order.
pub fn scan(text: &str, body: usize, blocks: &Blocks) -> Vec<Field> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut items = Items { text, blocks: &blocks.blocks, next: 0, open: Vec::new() };
    let mut at = body.min(bytes.len());
    while let Some(found) = bytes.get(at..).and_then(|rest| memmem::find(rest, b"::")) {
        let here = at + found;
        let start = memrchr(b'\n', &bytes[at..here]).map_or(at, |newline| at + newline + 1);
        let end = memchr(b'\n', &bytes[here..]).map_or(bytes.len(), |newline| here + newline);
        at = end + 1;
        let end = start + text[start..end].trim_end_matches('\r').len();
        if end - start <= LONGEST_LINE {
            let item = items.around(start..end);
            let content = item.content.max(start)..end;
            let found = out.len();
            bracketed(text, content.clone(), item.is_task, &mut out);
            if out.len() == found && !item.is_task {
                out.extend(whole_line(text, content));
            }
        }
    }
    out
}

/// The list item that a line belongs to.
#[derive(Clone, Copy, Default)]
struct Item {
    /// Where its own text starts, if it is an item's first line.
    content: usize,
    is_task: bool,
}

/// A walk over the list items beside the walk over the lines.
struct Items<'a> {
    text: &'a str,
    blocks: &'a [Block],
    next: usize,
    open: Vec<(usize, Item)>,
}

impl Items<'_> {
    /// The innermost item that holds the line. Lines must not go back from call to call.
    fn around(&mut self, line: Range<usize>) -> Item {
        while let Some(block) = self.blocks.get(self.next).filter(|block| block.span.start < line.end) {
            self.next += 1;
            if block.kind != BlockKind::Item {
                continue;
            }
            self.close(block.span.start);
            let checked = check_box(self.text, block).map(|found| found.end);
            let content = checked.unwrap_or_else(|| item_text(self.text, block));
            self.open.push((block.span.end, Item { content, is_task: checked.is_some() }));
        }
        self.close(line.start);
        let item = self.open.last().map_or_else(Item::default, |(_, item)| *item);
        if item.content > line.end { Item { content: 0, ..item } } else { item }
    }

    fn close(&mut self, at: usize) {
        while self.open.last().is_some_and(|(end, _)| *end <= at) {
            self.open.pop();
        }
    }
}

/// Fields in brackets: the nearest bracket before a `::` opens one, its partner closes it.
fn bracketed(text: &str, line: Range<usize>, in_task: bool, out: &mut Vec<Field>) {
    let written = &text[line.clone()];
    if !written.contains(['[', '(']) {
        return;
    }
    let mut behind = None;
    for (open, separator, close) in candidates(written.as_bytes()) {
        // Two fields that touch: the second is lost, as in Dataview.
        if behind.is_some_and(|end| open <= end) {
            continue;
        }
        let key = written[open + 1..separator].trim();
        if key.is_empty() {
            continue;
        }
        behind = Some(close + 1);
        let value_span = trim(text, line.start + separator + 2..line.start + close);
        out.push(Field {
            key: key.to_owned(),
            value: text[value_span.clone()].to_owned(),
            span: line.start + open..line.start + close + 1,
            value_span,
            in_task,
        });
    }
}

/// `(opening bracket, separator, closing bracket)` of everything that may be a field, by its opening bracket.
fn candidates(line: &[u8]) -> Vec<(usize, usize, usize)> {
    let mut out = Vec::new();
    // One stack for each kind: round brackets do not close square ones, nor keep them open.
    let mut stacks: [Vec<(usize, Option<usize>)>; 2] = [Vec::new(), Vec::new()];
    let mut nearest: Option<usize> = None;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b'\\' => at += 1,
            open @ (b'[' | b'(') => {
                let kind = usize::from(open == b'(');
                stacks[kind].push((at, None));
                nearest = Some(kind);
            }
            close @ (b']' | b')') => {
                nearest = None;
                if let Some((open, Some(separator))) = stacks[usize::from(close == b')')].pop() {
                    out.push((open, separator, at));
                }
            }
            b':' if line.get(at + 1) == Some(&b':') => {
                if let Some(opener) = nearest.take().and_then(|kind| stacks[kind].last_mut()) {
                    opener.1 = Some(at);
                }
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    out.sort_unstable();
    out
}

/// `Key:: value` as a whole line, with markup around the key or not.
fn whole_line(text: &str, line: Range<usize>) -> Option<Field> {
    let written = &text[line.clone()];
    let separator = memmem::find(written.as_bytes(), b"::")?;
    let markup = |c: char| !c.is_alphanumeric() && !is_emoji(c);
    let before = &written[..separator];
    let marked = before.trim_start_matches(|c| markup(c) && !matches!(c, '*' | '_' | '~' | '`'));
    let key = marked.trim_start_matches(markup).trim_end();
    let key = key.trim_end_matches(['*', '_', '~', '`']).trim_end();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | ' ' | '\t') || is_emoji(c);
    if key.is_empty() || !key.chars().all(fits) {
        return None;
    }
    let value_span = trim(text, line.start + separator + 2..line.end);
    let start = line.start + (before.len() - marked.len());
    Some(Field {
        key: key.to_owned(),
        value: text[value_span.clone()].to_owned(),
        span: start..value_span.end,
        value_span,
        in_task: false,
    })
}

/// Roughly the emoji blocks, with joiners and variation selectors.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{20e3}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn trim(text: &str, span: Range<usize>) -> Range<usize> {
    let piece = &text[span.clone()];
    let start = span.start + (piece.len() - piece.trim_start().len());
    start..start + piece.trim().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str, &str)]) {
        let fields = scan(text, 0, &Blocks::scan(text, 0));
        let rows: Vec<_> =
            fields.iter().map(|field| (&text[field.span.clone()], &*field.key, &*field.value)).collect();
        assert_eq!(rows, expected, "{text:?}");
        for field in &fields {
            assert_eq!(text[field.value_span.clone()], field.value);
        }
    }

    #[test]
    fn a_field_is_a_line_or_stands_in_brackets() {
        check("Due:: 2024-01-01\r\n", &[("Due:: 2024-01-01", "Due", "2024-01-01")]);
        check("x [a:: 1] y (b c:: 2)", &[("[a:: 1]", "a", "1"), ("(b c:: 2)", "b c", "2")]);
        check("[a:: [[b]] c] d", &[("[a:: [[b]] c]", "a", "[[b]] c")]);
        check("[a:: x\\] y]", &[("[a:: x\\] y]", "a", "x\\] y")]);
        check("empty::\n", &[("empty::", "empty", "")]);
        check("a:: b:: c", &[("a:: b:: c", "a", "b:: c")]);
    }

    #[test]
    fn touching_fields_lose_the_second_and_a_nested_one_belongs_to_the_outer() {
        check("[a:: 1](b:: 2)", &[("[a:: 1]", "a", "1")]);
        check("[a:: 1] (b:: 2)", &[("[a:: 1]", "a", "1"), ("(b:: 2)", "b", "2")]);
        check("[a:: (b:: 2)]", &[("[a:: (b:: 2)]", "a", "(b:: 2)")]);
        check("[a:: 1", &[("a:: 1", "a", "1")]);
        check("[a:: 1 (b:: 2", &[("a:: 1 (b:: 2", "a", "1 (b:: 2")]);
    }

    #[test]
    fn markup_around_the_key_is_not_the_key() {
        check("**Bold Key**:: v", &[("**Bold Key**:: v", "Bold Key", "v")]);
        check("> # a/b-c:: v", &[("a/b-c:: v", "a/b-c", "v")]);
        check("*`~k~`* :: v", &[("*`~k~`* :: v", "k", "v")]);
        check("🗓️ due:: v", &[("🗓️ due:: v", "🗓️ due", "v")]);
        check("std::fs, or C++ (std::fs)", &[("(std::fs)", "std", "fs")]);
        check("see a.b:: v\n!:: v\n", &[]);
    }

    #[test]
    fn code_counts_and_tasks_keep_their_fields() {
        check("```\nk:: v\n```\n", &[("k:: v", "k", "v")]);
        check("- k:: v\n  l:: w\n", &[("k:: v", "k", "v"), ("l:: w", "l", "w")]);
        check("- [ ] k:: v [d:: 1]\n- [x] k:: v", &[("[d:: 1]", "d", "1")]);
        let text = "- [ ] a [d:: 1]\n- b [d:: 2]\n\n[d:: 3]\n";
        let in_task: Vec<_> =
            scan(text, 0, &Blocks::scan(text, 0)).iter().map(|field| field.in_task).collect();
        assert_eq!(in_task, [true, false, false]);
    }

    #[test]
    fn long_lines_are_skipped() {
        check(&format!("k:: {}\nl:: v", "x".repeat(LONGEST_LINE)), &[("l:: v", "l", "v")]);
    }

    proptest! {
        #[test]
        fn fields_never_overlap(text in "[ a:\\[\\]()\\\\\n*-]{0,60}") {
            let fields = scan(&text, 0, &Blocks::scan(&text, 0));
            prop_assert!(fields.windows(2).all(|pair| pair[0].span.end < pair[1].span.start));
        }
    }
}
