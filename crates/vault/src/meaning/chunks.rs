//! Cuts a note into the pieces that get a vector each: by heading, then by paragraph, 45 to 220 words.
//!
//! Called by [`super::Meaning`] when a note is embedded and again when a hit is shown. A section that is too short
//! goes on into the next one, one that is too long is cut between its blocks, and a block that is too long is cut
//! between lines or sentences. Chunks do not overlap. Code stays in: a note may hold nothing else.

use std::borrow::Cow;
use std::ops::Range;

use crate::note::blocks::{Block, BlockKind, Blocks};
use crate::note::front;
use crate::path::VaultPath;

/// A chunk of fewer words takes in what follows.
const LEAST: usize = 45;
/// A chunk of this many words is closed before the next block.
const MOST: usize = 220;
/// Text without spaces (Chinese, long addresses) counts one word for so many bytes.
const BYTES_PER_WORD: usize = 12;

/// A piece of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'t> {
    /// Its bytes in the note.
    pub span: Range<usize>,
    /// The headings above its first paragraph, outermost first.
    pub heading: Vec<String>,
    /// What is embedded: the text of the span; in the first chunk with the note's name in front.
    pub text: Cow<'t, str>,
    /// Tells whether `text` is the one that was embedded before.
    pub hash: u64,
}

/// Cuts a note. There is at least one chunk: an empty note has its name.
pub fn split<'t>(path: &VaultPath, text: &'t str) -> Vec<Chunk<'t>> {
    let body = front::split(text).map_or(0, |front| front.block.end);
    let blocks = Blocks::scan(text, body);
    let mut packer = Packer { text, pieces: Vec::new(), open: None, trail: Vec::new() };
    let mut headings = blocks.headings.iter().filter(|heading| heading.inside.is_none());
    for block in blocks.blocks.iter().filter(|block| block.parent.is_none()) {
        match block.kind {
            BlockKind::Heading(level) => {
                let name = headings.next().map_or(String::new(), |heading| heading.text.clone());
                packer.heading(level, name, block.span.clone());
            }
            BlockKind::Rule => {}
            _ => packer.block(block),
        }
    }
    packer.close();
    if packer.pieces.is_empty() {
        packer.pieces.push((body..body, Vec::new()));
    }
    finish(path, text, packer.pieces)
}

fn finish<'t>(path: &VaultPath, text: &'t str, pieces: Vec<(Range<usize>, Vec<String>)>) -> Vec<Chunk<'t>> {
    let mut first = true;
    let chunk = |(span, heading): (Range<usize>, Vec<String>)| {
        let own = &text[span.clone()];
        let named = std::mem::take(&mut first) && !begins_with_name(own, path.stem());
        let text = if named { Cow::Owned(format!("{}\n{own}", path.stem())) } else { Cow::Borrowed(own) };
        Chunk { span, heading, hash: hash(&text), text }
    };
    pieces.into_iter().map(chunk).collect()
}

/// Whether the name stands there already, as the first heading.
fn begins_with_name(text: &str, name: &str) -> bool {
    let start = text.trim_start_matches(['#', ' ']);
    start
        .strip_prefix(name)
        .is_some_and(|rest| rest.trim_start_matches(' ').is_empty() || rest.starts_with(['\n', '\r']))
}

fn hash(text: &str) -> u64 {
    let hash = blake3::hash(text.as_bytes());
    hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Fills chunk after chunk.
struct Packer<'t> {
    text: &'t str,
    pieces: Vec<(Range<usize>, Vec<String>)>,
    open: Option<Open>,
    /// The headings above, with their levels.
    trail: Vec<(u8, String)>,
}

/// The chunk that is being filled.
struct Open {
    span: Range<usize>,
    size: usize,
    /// Known once there is more than headings in it.
    heading: Option<Vec<String>>,
}

impl Packer<'_> {
    fn heading(&mut self, level: u8, name: String, span: Range<usize>) {
        if self.open.as_ref().is_some_and(|open| open.size >= LEAST) {
            self.close();
        }
        self.trail.retain(|(above, _)| *above < level);
        self.trail.push((level, name));
        self.extend(span);
    }

    fn block(&mut self, block: &Block) {
        let mut rest = block.span.clone();
        while !rest.is_empty() {
            let length = cut(&self.text[rest.clone()]);
            self.piece(rest.start..rest.start + length);
            rest.start += length;
        }
    }

    fn piece(&mut self, span: Range<usize>) {
        let size = size(&self.text[span.clone()]);
        if self.open.as_ref().is_some_and(|open| open.size >= LEAST && open.size + size > MOST) {
            self.close();
        }
        self.extend(span);
        let heading = self.heading_path();
        if let Some(open) = &mut self.open {
            open.heading.get_or_insert(heading);
        }
    }

    fn extend(&mut self, span: Range<usize>) {
        let size = size(&self.text[span.clone()]);
        let open = self.open.get_or_insert(Open { span: span.clone(), size: 0, heading: None });
        open.span.end = open.span.end.max(span.end);
        open.size += size;
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let heading = open.heading.unwrap_or_else(|| self.heading_path());
        let own = &self.text[open.span.clone()];
        let end = open.span.start + own.trim_end().len();
        if end > open.span.start {
            self.pieces.push((open.span.start..end, heading));
        }
    }

    fn heading_path(&self) -> Vec<String> {
        self.trail.iter().map(|(_, name)| name.clone()).collect()
    }
}

fn size(text: &str) -> usize {
    text.split_ascii_whitespace().count().max(text.len() / BYTES_PER_WORD)
}

/// How many bytes of the text go into one chunk: all of it, or up to the last line or sentence end that fits, or the
/// last space, or the last character. Never 0 for a text that is not empty.
fn cut(text: &str) -> usize {
    let (mut words, mut in_word) = (0, false);
    let (mut good, mut space) = (None, None);
    let mut last = ' ';
    for (at, letter) in text.char_indices() {
        let size = words.max(at / BYTES_PER_WORD);
        if size > MOST {
            return good.or(space).unwrap_or(at);
        }
        if letter.is_ascii_whitespace() {
            space = Some(at + 1);
            if size >= LEAST && (letter == '\n' || matches!(last, '.' | '!' | '?')) {
                good = space;
            }
        } else if !in_word {
            words += 1;
        }
        in_word = !letter.is_ascii_whitespace();
        last = letter;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    fn words(count: usize, word: &str) -> String {
        vec![word; count].join(" ")
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, usize)]) {
        let chunks = split(&path("Name.md"), text);
        let got: Vec<(String, usize)> =
            chunks.iter().map(|chunk| (chunk.heading.join(" > "), size(&text[chunk.span.clone()]))).collect();
        let expected: Vec<(String, usize)> =
            expected.iter().map(|(heading, size)| ((*heading).to_owned(), *size)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn sections_and_paragraphs_are_the_pieces() {
        let (long, short) = (words(100, "one"), words(10, "two"));
        check(&format!("# A\n\n{long}\n\n## B\n\n{long}\n"), &[("A", 102), ("A > B", 102)]);
        // Too short alone: goes on into the next section.
        check(&format!("# A\n\n## B\n\n{short}\n\n## C\n\n{long}\n"), &[("A > B", 116)]);
        check(&format!("{long}\n\n{long}\n\n{long}"), &[("", 200), ("", 100)]);
        check(&format!("---\nk: v\n---\n{short}"), &[("", 10)]);
        check("", &[("", 0)]);
        check("# Only\n\n## Headings\n", &[("Only > Headings", 4)]);
        check(&format!("> # Quoted\n> {long}\n\n# Real\n\n{long}"), &[("", 104), ("Real", 102)]);
    }

    #[test]
    fn what_is_too_long_is_cut_where_it_hurts_least() {
        check(&words(500, "one"), &[("", 220), ("", 220), ("", 60)]);
        let sentences = vec![words(30, "one") + "."; 10].join(" ");
        check(&sentences, &[("", 210), ("", 90)]);
        let ideographs = "中".repeat(2_000);
        let chunks = split(&path("a.md"), &ideographs);
        assert_eq!(chunks.len(), 3);
        assert_eq!(chunks.iter().map(|chunk| chunk.span.len()).sum::<usize>(), 6_000);
    }

    #[test]
    fn the_name_is_part_of_the_first_chunk_only() {
        let long = words(150, "one");
        let text = format!("{long}\n\n{long}");
        let chunks = split(&path("x/My plan.md"), &text);
        assert!(chunks[0].text.starts_with("My plan\none"));
        assert!(chunks[1].text.starts_with("one"));
        assert_eq!(split(&path("My plan.md"), "# My plan\n\ntext")[0].text, "# My plan\n\ntext");
        assert_eq!(split(&path("My plan.md"), "")[0].text, "My plan\n");
    }

    #[test]
    fn an_edit_changes_the_hash_of_its_chunk_only() {
        let (a, b) = (words(100, "one"), words(100, "two"));
        let before = format!("# A\n\n{a}\n\n# B\n\n{b}");
        let after = format!("# A\n\n{a} more\n\n# B\n\n{b}");
        let hashes =
            |text: &str| split(&path("n.md"), text).iter().map(|chunk| chunk.hash).collect::<Vec<_>>();
        let (before, after) = (hashes(&before), hashes(&after));
        assert_ne!(before[0], after[0]);
        assert_eq!(before[1], after[1]);
    }

    proptest::proptest! {
        #[test]
        fn chunks_lie_in_order_and_hold_all_words(text in "([a-z中é#>`*|-]{0,9}[ \n]{0,3}){0,400}") {
            let chunks = split(&path("n.md"), &text);
            let mut end = 0;
            for chunk in &chunks {
                proptest::prop_assert!(chunk.span.start >= end);
                proptest::prop_assert!(size(&text[chunk.span.clone()]) <= MOST + LEAST + 200);
                end = chunk.span.end;
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "\\PC*") {
            proptest::prop_assert!(!split(&path("n.md"), &text).is_empty());
        }
    }
}
