//! Block ids: `text ^id` at the end of a block, or `^id` alone after a blank line, naming the block before it.
//!
//! Called once by [`crate::note::parse`] and by [`crate::note::outline`]. An id is Latin letters, digits and `-`. In code,
//! in math and inside links there are none: a run of text that ends there does not end in an id.

use std::ops::Range;

use super::{Block, BlockKind, Blocks, Run};

/// A block id (`^id`) and the block that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockId {
    /// The id without its `^`.
    pub id: String,
    /// The `^id` itself.
    pub span: Range<usize>,
    /// The bytes that the id names, without the id, without a trailing line end.
    pub content: Range<usize>,
    /// What kind of block it names.
    pub kind: BlockKind,
    /// Whether the id stands alone, in a block of its own, after the block that it names.
    pub isolated: bool,
}

/// The block ids of a note, in document order.
pub fn ids(text: &str, blocks: &Blocks) -> Vec<BlockId> {
    let family = Family::of(&blocks.blocks);
    let mut finder = Finder { text, blocks, family, names: vec![None; blocks.blocks.len()], out: Vec::new() };
    let mut began = vec![false; blocks.blocks.len()];
    for run in &blocks.runs {
        let first = !std::mem::replace(&mut began[run.block], true);
        finder.look_at(run, first);
    }
    finder.out
}

/// Who comes before whom among the children of one block.
struct Family {
    previous: Vec<Option<usize>>,
    first_child: Vec<Option<usize>>,
}

impl Family {
    fn of(blocks: &[Block]) -> Family {
        let mut previous = vec![None; blocks.len()];
        let mut first_child = vec![None; blocks.len()];
        let mut last_child = vec![None; blocks.len()];
        let mut last_at_top = None;
        for (index, block) in blocks.iter().enumerate() {
            let last = match block.parent {
                Some(parent) => &mut last_child[parent],
                None => &mut last_at_top,
            };
            previous[index] = last.replace(index);
            if let Some(parent) = block.parent
                && first_child[parent].is_none()
            {
                first_child[parent] = Some(index);
            }
        }
        Family { previous, first_child }
    }
}

struct Finder<'a> {
    text: &'a str,
    blocks: &'a Blocks,
    family: Family,
    /// For a paragraph that is nothing but an id: the block it names.
    names: Vec<Option<usize>>,
    out: Vec<BlockId>,
}

impl Finder<'_> {
    fn look_at(&mut self, run: &Run, first: bool) {
        match self.blocks.blocks[run.block].kind {
            BlockKind::Table if first => self.below_table(run.block),
            BlockKind::Paragraph | BlockKind::Heading(_) | BlockKind::Item | BlockKind::Footnote => {
                let Some(span) = id_at_end(self.text, run.span.clone()) else { return };
                if span.start == run.span.start && self.blocks.blocks[run.block].kind == BlockKind::Paragraph
                {
                    self.alone(run.block, span);
                } else {
                    self.at_end(run, first, span);
                }
            }
            _ => {}
        }
    }

    /// A paragraph that is nothing but `^id` names the block before it.
    fn alone(&mut self, paragraph: usize, span: Range<usize>) {
        let Some(previous) = self.family.previous[paragraph] else { return };
        let named = self.names[previous].unwrap_or(previous);
        let block = &self.blocks.blocks[named];
        if block.kind == BlockKind::Rule {
            return;
        }
        self.names[paragraph] = Some(named);
        let content = block.span.start..end_of_text(self.text, block.span.clone());
        self.push(span, content, block.kind.clone(), true);
    }

    /// `text ^id`: the id names the block that ends here.
    fn at_end(&mut self, run: &Run, first: bool, span: Range<usize>) {
        let (start, kind) = self.block_ending_at(run, first);
        let end = end_of_text(self.text, start..span.start);
        self.push(span, start..end, kind, false);
    }

    fn block_ending_at(&self, run: &Run, first: bool) -> (usize, BlockKind) {
        let blocks = &self.blocks.blocks;
        let own = &blocks[run.block];
        if own.kind == BlockKind::Item {
            let leads = first
                && self.family.first_child[run.block]
                    .is_none_or(|child| blocks[child].span.start > run.span.start);
            return if leads {
                (own.span.start, BlockKind::Item)
            } else {
                (run.span.start, BlockKind::Paragraph)
            };
        }
        let leads = self.family.previous[run.block].is_none();
        let mut found = (own.span.start, own.kind.clone());
        let mut parent = own.parent;
        while let Some(index) = parent {
            let block = &blocks[index];
            match block.kind {
                BlockKind::Item
                    if leads && block.span.start <= found.0 && found.1 == BlockKind::Paragraph =>
                {
                    return (block.span.start, BlockKind::Item);
                }
                BlockKind::Quote if end_of_text(self.text, block.span.clone()) <= run.span.end => {
                    found = (block.span.start, BlockKind::Quote);
                }
                _ => break,
            }
            parent = block.parent;
        }
        found
    }

    /// Without a blank line in between, CommonMark takes `^id` under a table for its last row.
    fn below_table(&mut self, table: usize) {
        let span = self.blocks.blocks[table].span.clone();
        let end = end_of_text(self.text, span.clone());
        let Some(line) = self.text[span.start..end].rfind('\n').map(|at| span.start + at + 1) else { return };
        let line = line + prefix_length(&self.text[line..end]);
        let Some(id) = id_at_end(self.text, line..end).filter(|id| id.start == line) else { return };
        let content = span.start..end_of_text(self.text, span.start..line);
        if self.text[content.clone()].contains('\n') {
            self.push(id, content, BlockKind::Table, false);
        }
    }

    fn push(&mut self, span: Range<usize>, content: Range<usize>, kind: BlockKind, isolated: bool) {
        let id = self.text[span.start + 1..span.end].to_owned();
        self.out.push(BlockId { id, span, content, kind, isolated });
    }
}

/// Whether these characters make an id.
pub(crate) fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn id_at_end(text: &str, span: Range<usize>) -> Option<Range<usize>> {
    let piece = text[span.clone()].trim_end();
    let caret = piece.rfind('^')?;
    let before = &piece[..caret];
    let free = before.is_empty() || before.ends_with(char::is_whitespace);
    (free && is_id(&piece[caret + 1..])).then(|| span.start + caret..span.start + piece.len())
}

/// The end of the last line in the span that is more than white space and the `>` of quotes.
fn end_of_text(text: &str, span: Range<usize>) -> usize {
    let mut piece = text[span.clone()].trim_end();
    while let Some(line) = piece.rfind('\n') {
        if prefix_length(&piece[line + 1..]) < piece.len() - line - 1 {
            break;
        }
        piece = piece[..line].trim_end();
    }
    span.start + piece.len()
}

fn prefix_length(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '>']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, BlockKind, &str)]) {
        let blocks = Blocks::scan(text, 0);
        let found = ids(text, &blocks);
        let found: Vec<_> =
            found.iter().map(|id| (id.id.as_str(), id.kind.clone(), &text[id.content.clone()])).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn an_id_at_the_end_names_the_block_that_ends_there() {
        check("one\ntwo ^b-1\n", &[("b-1", BlockKind::Paragraph, "one\ntwo")]);
        check("one\r\ntwo ^b1\r\n\r\nx", &[("b1", BlockKind::Paragraph, "one\r\ntwo")]);
        check("one\n^b1\n", &[("b1", BlockKind::Paragraph, "one")]);
        check("## Title ^h\n", &[("h", BlockKind::Heading(2), "## Title")]);
        check("- a ^x\n- b\n", &[("x", BlockKind::Item, "- a")]);
        check("- a\n  - [ ] b\n    c ^x\n- d\n", &[("x", BlockKind::Item, "- [ ] b\n    c")]);
        check(
            "- a\n\n  b ^y\n\n- c ^x\n",
            &[("y", BlockKind::Paragraph, "b"), ("x", BlockKind::Item, "- c")],
        );
        check("> q\n> r ^q1\n", &[("q1", BlockKind::Quote, "> q\n> r")]);
        check("> q\n> ^q1\n\nend", &[("q1", BlockKind::Quote, "> q")]);
        check("> q ^q1\n>\n> r\n", &[("q1", BlockKind::Paragraph, "q")]);
    }

    #[test]
    fn an_id_alone_names_the_block_before() {
        check("- a\n- b\n\n^l1\n", &[("l1", BlockKind::List, "- a\n- b")]);
        check("> q\n> r\n\n^q1\n", &[("q1", BlockKind::Quote, "> q\n> r")]);
        check(
            "```\r\ncode\r\n```\r\n\r\n^c1\r\n",
            &[("c1", BlockKind::Code(Some(String::new())), "```\r\ncode\r\n```")],
        );
        check("| a |\n| - |\n| 1 |\n\n^t1\n", &[("t1", BlockKind::Table, "| a |\n| - |\n| 1 |")]);
        check("| a |\n| - |\n| 1 |\n^t1\n", &[("t1", BlockKind::Table, "| a |\n| - |\n| 1 |")]);
        check("# H\n\n^h\n", &[("h", BlockKind::Heading(1), "# H")]);
        check("p\n\n^a\n\n^b\n", &[("a", BlockKind::Paragraph, "p"), ("b", BlockKind::Paragraph, "p")]);
        check("> q\n>\n> ^i\n", &[("i", BlockKind::Paragraph, "q")]);
    }

    #[test]
    fn no_id_in_code_nor_of_other_characters() {
        check("`x ^a`\n\n```\ny ^b\n```\n\n    z ^c\n", &[]);
        check("x^a\n\nx ^a_b\n\nx ^ä\n\nx ^\n\nx \\^a\n\n[x ^a](u)\n\n^first ^\n", &[]);
        check("^nothing-before\n\n---\n\n^rule\n", &[]);
        check("mid ^a\nline\n", &[]);
    }
}
