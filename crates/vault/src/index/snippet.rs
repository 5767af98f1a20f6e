//! The lines of a note that say most about why it was found, with the words marked.

use memchr::memchr;

use super::ranked::Word;
use super::token::each_word;
use crate::files::Files;
use crate::path::VaultPath;

/// A line with what was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The line, from 1.
    pub line: usize,
    /// Its text; of a long one what stands around the first word, with `…` where something is missing.
    pub text: String,
    /// The bytes of `text` to mark, in order.
    pub marks: Vec<std::ops::Range<usize>>,
}

const MOST_SNIPPETS: usize = 3;
/// Characters of a line that are shown.
const LONGEST: usize = 240;
/// Characters in front of the first word that are shown.
const LEAD: usize = 60;

/// The title and the best lines of a note; the name and nothing if it cannot be read any more.
pub(super) fn snippets(files: &dyn Files, path: &VaultPath, words: &[Word]) -> (String, Vec<Snippet>) {
    let bytes = files.read(path).unwrap_or_default();
    let mut title = None;
    let mut best: Vec<(u32, usize, &[u8])> = Vec::new();
    let (mut at, mut number) = (0, 0);
    while at < bytes.len() {
        number += 1;
        let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
        let line = bytes[at..end].trim_ascii_end();
        if title.is_none() && line.starts_with(b"# ") {
            title = Some(String::from_utf8_lossy(line[2..].trim_ascii()).into_owned());
        }
        let mut found = 0u32;
        each_word(line, |_, word| {
            words
                .iter()
                .enumerate()
                .filter(|(_, wanted)| wanted.fits(word))
                .for_each(|(bit, _)| found |= 1 << bit);
        });
        if found != 0 {
            best.push((found.count_ones(), number, line));
        }
        at = end + 1;
    }
    best.sort_by_key(|(count, number, _)| (std::cmp::Reverse(*count), *number));
    best.truncate(MOST_SNIPPETS);
    best.sort_by_key(|(_, number, _)| *number);
    let title = title.filter(|title| !title.is_empty()).unwrap_or_else(|| path.stem().to_owned());
    (title, best.into_iter().map(|(_, number, line)| cut(number, line, words)).collect())
}

fn cut(number: usize, line: &[u8], words: &[Word]) -> Snippet {
    let whole = String::from_utf8_lossy(line);
    let is_wanted = |word: &[u8]| words.iter().any(|wanted| wanted.fits(word));
    let mut first = None;
    each_word(whole.as_bytes(), |range, word| {
        if first.is_none() && is_wanted(word) {
            first = Some(range.start);
        }
    });
    let before = whole.get(..first.unwrap_or(0)).map_or(0, |text| text.chars().count());
    let skipped = if before + LEAD <= LONGEST { 0 } else { before - LEAD };
    let mut rest = whole.chars().skip(skipped);
    let shown: String = rest.by_ref().take(LONGEST).collect();
    let (head, tail) = (if skipped > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
    let text = format!("{head}{shown}{tail}");
    let mut marks = Vec::new();
    each_word(text.as_bytes(), |range, word| {
        if is_wanted(word) {
            marks.push(range);
        }
    });
    Snippet { line: number, text, marks }
}
