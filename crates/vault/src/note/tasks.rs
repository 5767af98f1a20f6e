//! Tasks: list items with a check box.
//!
//! Called by [`super::parse`]. Dates and priorities in a task's text are the query engine's business.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::blocks::{Block, BlockKind, Blocks};
use super::links::Masks;

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The character between the brackets.
    pub status: char,
    /// The text behind the box, first line only.
    pub text: String,
    /// The item's first line without its line end.
    pub span: Range<usize>,
    /// The character between the brackets, as a span (to tick it).
    pub status_span: Range<usize>,
    /// Line in the note, from 1.
    pub line: usize,
}

impl Task {
    /// Whether it is done (`x` or `X`).
    pub fn is_done(&self) -> bool {
        matches!(self.status, 'x' | 'X')
    }
}

/// All tasks, in document order.
pub fn scan(text: &str, body: usize, blocks: &Blocks, comments: &[Range<usize>]) -> Vec<Task> {
    let mut out = Vec::new();
    let mut masks = Masks::new([comments, &[], &[]]);
    let (mut line, mut counted) = (1, 0);
    for block in &blocks.blocks {
        let Some(mark) = check_box(text, block) else { continue };
        let at = item_start(text, block);
        if at < body || masks.end_at(at).is_some() {
            continue;
        }
        line += memchr_iter(b'\n', &text.as_bytes()[counted..at]).count();
        counted = at;
        let end = line_end(text, mark.end);
        let status_span = mark.start + 1..mark.end - 1;
        let Some(status) = text[status_span.clone()].chars().next() else { continue };
        out.push(Task {
            status,
            text: text[mark.end..end].trim().to_owned(),
            span: at..end,
            status_span,
            line,
        });
    }
    out
}

/// The `[c]` of a list item, if it has one: behind its marker, before white space or the end of the line.
pub(super) fn check_box(text: &str, item: &Block) -> Option<Range<usize>> {
    if item.kind != BlockKind::Item {
        return None;
    }
    let marked = item_text(text, item);
    let rest = text.get(marked..item.span.end)?;
    let content = rest.trim_start_matches([' ', '\t']);
    let mut chars = content.chars();
    let status = (chars.next() == Some('[') && rest.len() > content.len()).then(|| chars.next())??;
    let closes = chars.next() == Some(']') && chars.next().is_none_or(char::is_whitespace);
    let start = item.span.end - content.len();
    (closes && !matches!(status, ']' | '\n' | '\r')).then(|| start..start + 2 + status.len_utf8())
}

/// Behind the marker (`-`, `*`, `+`, `1.`, `1)`) of a list item.
pub(super) fn item_text(text: &str, item: &Block) -> usize {
    let start = item_start(text, item);
    let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
    (start + digits + 1).min(item.span.end)
}

/// The first byte of a list item's marker; the parser's span may start in the indentation.
fn item_start(text: &str, item: &Block) -> usize {
    let whole = &text[item.span.clone()];
    item.span.start + (whole.len() - whole.trim_start_matches([' ', '\t']).len())
}

fn line_end(text: &str, at: usize) -> usize {
    let end = memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |newline| at + newline);
    at + text[at..end].trim_end_matches('\r').len()
}

#[cfg(test)]
mod tests {
    use super::super::links;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(char, &str, &str, usize)]) {
        let blocks = Blocks::scan(text, 0);
        let comments = links::comments(text, 0, &blocks);
        let tasks = scan(text, 0, &blocks, &comments);
        let rows: Vec<_> = tasks
            .iter()
            .map(|task| (task.status, task.text.as_str(), &text[task.span.clone()], task.line))
            .collect();
        assert_eq!(rows, expected, "{text:?}");
        for task in &tasks {
            assert_eq!(text[task.status_span.clone()].chars().next(), Some(task.status));
        }
    }

    #[test]
    fn a_task_is_a_list_item_with_a_box() {
        check("- [ ] a\r\n- [x] b\r\n", &[(' ', "a", "- [ ] a", 1), ('x', "b", "- [x] b", 2)]);
        check("1. [X] a\n2) [/] b", &[('X', "a", "1. [X] a", 1), ('/', "b", "2) [/] b", 2)]);
        check("> - [✓] a\n>   more", &[('✓', "a", "- [✓] a", 1)]);
        check("x\n\n* a\n    + [ ] b\n", &[(' ', "b", "+ [ ] b", 4)]);
        check("- [ ]\n", &[(' ', "", "- [ ]", 1)]);
    }

    #[test]
    fn what_only_looks_like_a_task_is_none() {
        check("[ ] a\n- [] b\n- [ab] c\n- [x]d\n- [x](e.md)\n-[ ] f", &[]);
        check("```\n- [ ] a\n```\n%%\n- [ ] b\n%%\n", &[]);
    }
}
