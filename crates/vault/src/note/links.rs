//! Links and embeds as they stand in a note: wiki, Markdown, embeds, front-matter links.

use std::ops::Range;

use super::blocks::Blocks;
use super::front::Front;

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
    /// The alias (wiki) or the text (Markdown).
    pub display: Option<String>,
    /// The whole link, `!` included.
    pub span: Range<usize>,
    /// The bytes of the target alone (as written, still encoded, without fragment).
    pub target_span: Range<usize>,
    /// Whether it stands in front matter.
    pub in_front: bool,
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkStyle {
    /// `[[target#fragment|alias]]`.
    Wiki,
    /// `[text](target#fragment "title")`, internal targets only.
    Markdown,
}

/// The `%%` comments of a note: spans in which nothing counts. Sorted, not overlapping.
pub fn comments(text: &str, body: usize, blocks: &Blocks) -> Vec<Range<usize>> {
    let _ = (text, body, blocks);
    Vec::new()
}

/// All internal links and embeds, in document order. Addresses with a scheme (`https:`, `mailto:`) are not links to notes.
pub fn scan(
    text: &str,
    body: usize,
    blocks: &Blocks,
    comments: &[Range<usize>],
    front: Option<&Front>,
) -> Vec<Link> {
    let _ = (text, body, blocks, comments, front);
    Vec::new()
}
