//! Tags as they stand in a note: `#tag/nested` in the body, `tags:` in front matter.

use std::ops::Range;

use super::blocks::Blocks;
use super::front::Front;

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
    let _ = (text, body, blocks, comments, front);
    Vec::new()
}
