//! The CommonMark skeleton of a note: one pass of the Markdown parser, everything with its byte span.
//!
//! The other scanners (links, tags, fields, sections) stand on this pass and never parse Markdown again.
//! Block ids, which are Obsidian's and not CommonMark's, are in [`crate::note::blocks::ids`].
//! Front matter is cut off before: spans are offsets into the whole text, but nothing in front of `body` is looked at.

mod ids;

pub(crate) use ids::is_id;
pub use ids::{BlockId, ids};

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

/// The block structure of one note.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Every heading outside code, in document order, headings inside quotes and lists included.
    pub headings: Vec<Heading>,
    /// Every block in document order, parents before children.
    pub blocks: Vec<Block>,
    /// Spans in which nothing is a tag or a link: code blocks, code spans, math. Sorted, not overlapping.
    pub code: Vec<Range<usize>>,
    /// Spans of raw HTML (blocks and inline tags). Sorted, not overlapping.
    pub html: Vec<Range<usize>>,
    /// Unbroken runs of inline text, in document order.
    pub runs: Vec<Run>,
}

/// Inline text that stands directly in one block, with no other block in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Index of the block that holds it.
    pub block: usize,
    /// From its first to behind its last byte.
    pub span: Range<usize>,
}

/// A heading, ATX or setext.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Raw Markdown inside the heading, closing `#`s and surrounding space removed.
    pub text: String,
    /// From the first byte of the heading's first line (its `#`) to the end of its last line, line end excluded.
    pub span: Range<usize>,
    /// Index of the block that holds it (a quote or a list item), if it is not at the top level.
    pub inside: Option<usize>,
}

/// One block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Its bytes as the parser gives them (usually with the final line end).
    pub span: Range<usize>,
    /// Index of the block around it.
    pub parent: Option<usize>,
}

/// The kinds of blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    /// A paragraph.
    Paragraph,
    /// A heading of this level.
    Heading(u8),
    /// A fenced or indented code block, with its info string if fenced.
    Code(Option<String>),
    /// A block quote or callout.
    Quote,
    /// An ordered or unordered list.
    List,
    /// One item of a list.
    Item,
    /// A table.
    Table,
    /// A thematic break.
    Rule,
    /// A block of raw HTML.
    Html,
    /// A footnote definition.
    Footnote,
}

impl Blocks {
    /// Reads the structure of `text` from `body` on.
    pub fn scan(text: &str, body: usize) -> Blocks {
        Blocks::default().scan_again(text, body)
    }

    /// The same in the memory of blocks that nobody needs any more.
    pub(super) fn scan_again(self, text: &str, body: usize) -> Blocks {
        let mut out = self;
        out.clear();
        // For every open tag the innermost block around what follows: searching upwards instead would be
        // quadratic in deeply nested emphasis.
        let mut open: Vec<Option<usize>> = Vec::new();
        let mut joined = false;
        for (event, span) in Parser::new_ext(&text[body..], options()).into_offset_iter() {
            let span = span.start + body..span.end + body;
            let around = open.last().copied().flatten();
            match event {
                Event::Start(tag) => {
                    let own = out.start(text, tag, span.clone(), around);
                    if own.is_none() {
                        out.inline(around, span, &mut joined);
                    } else {
                        joined = false;
                    }
                    open.push(own.or(around));
                    continue;
                }
                Event::End(_) => {
                    open.pop();
                    joined &= open.last().copied().flatten() == around;
                    continue;
                }
                Event::Rule => {
                    out.blocks.push(Block { kind: BlockKind::Rule, span, parent: around });
                    joined = false;
                    continue;
                }
                Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {
                    push_span(&mut out.code, span.clone())
                }
                Event::Html(_) | Event::InlineHtml(_) => push_span(&mut out.html, span.clone()),
                _ => {}
            }
            out.inline(around, span, &mut joined);
        }
        out
    }

    fn clear(&mut self) {
        self.headings.clear();
        self.blocks.clear();
        self.code.clear();
        self.html.clear();
        self.runs.clear();
    }

    /// Whether the byte lies in code.
    pub fn in_code(&self, at: usize) -> bool {
        holds(&self.code, at)
    }

    fn inline(&mut self, block: Option<usize>, span: Range<usize>, joined: &mut bool) {
        let Some(block) = block else { return };
        match self.runs.last_mut() {
            Some(run) if *joined && run.block == block => run.span.end = run.span.end.max(span.end),
            _ => self.runs.push(Run { block, span }),
        }
        *joined = true;
    }

    fn start(
        &mut self,
        text: &str,
        tag: Tag<'_>,
        span: Range<usize>,
        parent: Option<usize>,
    ) -> Option<usize> {
        let kind = match tag {
            Tag::Paragraph => BlockKind::Paragraph,
            Tag::Heading { level, .. } => {
                let level = number(level);
                let (line, inner) = heading_spans(text, span.clone());
                self.headings.push(Heading {
                    level,
                    text: text[inner].to_owned(),
                    span: line,
                    inside: parent,
                });
                BlockKind::Heading(level)
            }
            Tag::CodeBlock(kind) => {
                push_span(&mut self.code, span.clone());
                match kind {
                    CodeBlockKind::Fenced(info) => BlockKind::Code(Some(info.to_string())),
                    CodeBlockKind::Indented => BlockKind::Code(None),
                }
            }
            Tag::BlockQuote(_) => BlockKind::Quote,
            Tag::List(_) => BlockKind::List,
            Tag::Item => BlockKind::Item,
            Tag::Table(_) => BlockKind::Table,
            Tag::HtmlBlock => BlockKind::Html,
            Tag::FootnoteDefinition(_) => BlockKind::Footnote,
            _ => return None,
        };
        self.blocks.push(Block { kind, span, parent });
        Some(self.blocks.len() - 1)
    }
}

/// Whether one of the sorted spans holds the byte.
pub fn holds(spans: &[Range<usize>], at: usize) -> bool {
    let after = spans.partition_point(|span| span.start <= at);
    after > 0 && at < spans[after - 1].end
}

fn push_span(spans: &mut Vec<Range<usize>>, span: Range<usize>) {
    match spans.last_mut() {
        Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
        _ => spans.push(span),
    }
}

// No metadata option: front matter is ours, and with the option on, `---` pairs in mid-document count as metadata.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
}

fn number(level: HeadingLevel) -> u8 {
    level as u8
}

/// The heading's whole lines without the last line end, and its inner text.
fn heading_spans(text: &str, span: Range<usize>) -> (Range<usize>, Range<usize>) {
    let whole = &text[span.clone()];
    let trimmed = whole.trim_end_matches(['\n', '\r']);
    let line = span.start..span.start + trimmed.len();
    if !trimmed.trim_start().starts_with('#') || is_setext(trimmed) {
        let inner = trimmed.rfind('\n').map_or(trimmed, |end| &trimmed[..end]);
        return (line.clone(), trim(text, line.start..line.start + inner.len()));
    }
    let open = trimmed.len() - trimmed.trim_start().trim_start_matches('#').len();
    let inner = &trimmed[open..];
    let closed = inner.trim_end().trim_end_matches('#');
    let inner = if closed.is_empty() || closed.ends_with([' ', '\t']) { closed } else { inner };
    (line.clone(), trim(text, line.start + open..line.start + open + inner.len()))
}

fn is_setext(trimmed: &str) -> bool {
    let Some(end) = trimmed.rfind('\n') else { return false };
    let underline = trimmed[end + 1..].trim_matches([' ', '\t', '>']);
    !underline.is_empty() && (underline.bytes().all(|b| b == b'=') || underline.bytes().all(|b| b == b'-'))
}

fn trim(text: &str, span: Range<usize>) -> Range<usize> {
    let piece = &text[span.clone()];
    let start = span.start + (piece.len() - piece.trim_start().len());
    start..start + piece.trim().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn headings(text: &str, expected: &[(u8, &str)]) {
        let blocks = Blocks::scan(text, 0);
        let found: Vec<_> = blocks.headings.iter().map(|h| (h.level, h.text.as_str())).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn headings_are_atx_and_setext_outside_code() {
        headings("# A\n## B ##\n### C#\n", &[(1, "A"), (2, "B"), (3, "C#")]);
        headings("Title\n=====\nsub\n---\n", &[(1, "Title"), (2, "sub")]);
        headings("```\n# no\n```\n    # no\n# yes\n", &[(1, "yes")]);
        headings("# **Bold** `c` [l](u)\r\nx\r\n", &[(1, "**Bold** `c` [l](u)")]);
        headings("#no\n#\n# #\n", &[(1, ""), (1, "")]);
        headings("> # quoted\n", &[(1, "quoted")]);
    }

    #[test]
    fn code_spans_and_blocks_are_marked() {
        let text = "a `b` c\n\n```rs\nd\n```\n$x$\n";
        let code: Vec<_> = Blocks::scan(text, 0).code.iter().map(|span| &text[span.clone()]).collect();
        assert_eq!(code, ["`b`", "```rs\nd\n```", "$x$"]);
    }
}
