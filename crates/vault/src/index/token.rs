//! Cuts a text into tokens: words (runs of `\w`, folded) and what stands between them, line by line.
//!
//! Nothing is left out, so the tokens of a line spell it: two words in a row have exactly one space between them, and
//! every other run of characters that are no letters is a token of its own. That is what lets the index answer a phrase
//! with punctuation without opening a file. Called when a note is indexed and when a needle is planned.

use memchr::memchr;

use super::batch::first_eight;
use super::field::{Field, Fields};
use super::letters::{fold, is_word};

/// One token of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// Folded characters.
    pub text: &'a [u8],
    /// The line, from 1.
    pub line: u32,
    /// Its place in the line, from 0.
    pub place: u32,
    /// What it belongs to.
    pub field: Field,
    /// Whether it is a word.
    pub word: bool,
}

/// Calls `each` for every token of a text, in order; how many lines it has.
pub(super) fn tokens(text: &[u8], is_note: bool, mut each: impl FnMut(Token<'_>)) -> u32 {
    let mut fields = Fields::new(is_note);
    let mut folded = Vec::with_capacity(64);
    let mut at = 0;
    let mut line = 0;
    while at < text.len() {
        line += 1;
        let end = memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
        let content = &text[at..end];
        // The scanner shows lines without it, and it would make a second token of many a separator.
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        let field = fields.of_line(content);
        line_tokens(content, &mut folded, |text, place, word, tag| {
            let field = if tag && is_note && field == Field::Body { Field::Tag } else { field };
            each(Token { text, line, place, field, word });
        });
        at = end + 1;
    }
    line
}

/// The tokens of one line. `each` gets text, place, whether it is a word, and whether it is (part of) an inline tag.
pub(super) fn line_tokens(line: &[u8], folded: &mut Vec<u8>, mut each: impl FnMut(&[u8], u32, bool, bool)) {
    let (mut at, mut place, mut tag) = (0, 0, false);
    while at < line.len() {
        let end = word_end(line, at);
        if end > at {
            folded.clear();
            fold_into(&line[at..end], folded);
            each(folded, place, true, tag);
            (at, place) = (end, place + 1);
            continue;
        }
        let end = gap_end(line, at);
        let gap = &line[at..end];
        tag = is_tag_start(gap, at) || (tag && matches!(gap, b"/" | b"-"));
        let between_words = at > 0 && end < line.len();
        if !(gap == b" " && between_words) {
            folded.clear();
            fold_into(gap, folded);
            each(folded, place, false, false);
            place += 1;
        }
        at = end;
    }
}

/// The words of a line with the bytes that they take.
pub(super) fn each_word(line: &[u8], mut each: impl FnMut(std::ops::Range<usize>, &[u8])) {
    let (mut at, mut folded) = (0, Vec::new());
    while at < line.len() {
        let end = word_end(line, at);
        if end > at {
            folded.clear();
            fold_into(&line[at..end], &mut folded);
            each(at..end, &folded);
        }
        at = gap_end(line, end);
    }
}

/// A `#` with nothing or a space in front of it starts a tag.
fn is_tag_start(gap: &[u8], at: usize) -> bool {
    match gap {
        [b'#'] => at == 0,
        [.., before, b'#'] => before.is_ascii_whitespace() || *before == b'(',
        _ => false,
    }
}

const fn ascii_words() -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 128 {
        table[at] = (at as u8).is_ascii_alphanumeric() || at as u8 == b'_';
        at += 1;
    }
    table
}

static ASCII_WORD: [bool; 256] = ascii_words();

fn word_end(line: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = line.get(at) {
        if ASCII_WORD[*byte as usize] {
            at += 1;
        } else if byte.is_ascii() {
            return at;
        } else {
            match character(&line[at..]) {
                Some(found) if is_word(found) => at += found.len_utf8(),
                _ => return at,
            }
        }
    }
    at
}

fn gap_end(line: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = line.get(at) {
        if ASCII_WORD[*byte as usize] {
            return at;
        } else if byte.is_ascii() {
            at += 1;
        } else {
            match character(&line[at..]) {
                Some(found) if is_word(found) => return at,
                Some(found) => at += found.len_utf8(),
                // A byte that is no UTF-8 is no letter either.
                None => at += 1,
            }
        }
    }
    at
}

/// The character that the bytes start with, if they start with one.
fn character(bytes: &[u8]) -> Option<char> {
    let length = match bytes.first()? {
        0..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    std::str::from_utf8(bytes.get(..length)?).ok()?.chars().next()
}

#[inline]
fn fold_into(bytes: &[u8], folded: &mut Vec<u8>) {
    let start = folded.len();
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut seen = 0;
    for chunk in chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).chain([first_eight(rest)]) {
        seen |= chunk;
        folded.extend_from_slice(&lower(chunk).to_le_bytes());
    }
    folded.truncate(start + bytes.len());
    if seen & NOT_ASCII != 0 {
        folded.truncate(start);
        fold_letters(bytes, folded);
    }
}

const NOT_ASCII: u64 = 0x8080_8080_8080_8080;

/// Eight characters of ASCII in lower case, all at once: nearly every word is one or two such numbers.
#[inline]
fn lower(eight: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let small = eight & !NOT_ASCII;
    // The high bit of a byte is set by `A` or more in the one sum, and by more than `Z` in the other.
    let from_a = small + ONES * (0x80 - b'A' as u64);
    let behind_z = small + ONES * (0x80 - b'Z' as u64 - 1);
    let upper = (from_a ^ behind_z) & NOT_ASCII & !eight;
    eight | upper >> 2
}

fn fold_letters(bytes: &[u8], folded: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        let mut buffer = [0; 4];
        chunk.valid().chars().for_each(|one| folded.extend(fold(one).encode_utf8(&mut buffer).as_bytes()));
        folded.extend(chunk.invalid());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        let mut out = Vec::new();
        tokens(text.as_bytes(), true, |token| {
            let mark = if token.field == Field::Tag { "#" } else { "" };
            out.push(format!("{}:{}{mark}{}", token.line, token.place, String::from_utf8_lossy(token.text)));
        });
        out.join("|")
    }

    #[test]
    fn words_and_what_is_between_them() {
        let rows = [
            ("Amber lattice", "1:0amber|1:1lattice"),
            ("a, b\n\nc", "1:0a|1:1, |1:2b|3:0c"),
            (" x ", "1:0 |1:1x|1:2 "),
            ("x\r\ny", "1:0x|2:0y"),
            ("ÉTÉ_1 [[Straße]]", "1:0été_1|1:1 [[|1:2straße|1:3]]"),
            ("see #Topic/one-x now", "1:0see|1:1 #|1:2#topic|1:3/|1:4#one|1:5-|1:6#x|1:7now"),
            ("📅 2026", "1:0📅 |1:12026"),
        ];
        for (text, expected) in rows {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn eight_letters_are_folded_at_once_as_each_alone() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut bytes = *b"aZ@[`{09";
                bytes[place] = byte;
                let expected = bytes.map(|byte| byte.to_ascii_lowercase());
                assert_eq!(lower(u64::from_le_bytes(bytes)).to_le_bytes(), expected, "{byte} at {place}");
            }
        }
    }

    proptest! {
        /// The tokens of a line, with a space where two words meet, are the line.
        #[test]
        fn tokens_spell_the_line(line in "[aB é#/\\-📅\u{301}]{0,20}") {
            let (mut out, mut after_word, mut folded) = (Vec::new(), false, Vec::new());
            line_tokens(line.as_bytes(), &mut folded, |text, _, word, _| {
                if word && after_word {
                    out.push(b' ');
                }
                out.extend(text);
                after_word = word;
            });
            prop_assert_eq!(out, super::super::letters::fold_text(&line).into_bytes());
        }

        #[test]
        fn any_bytes_have_tokens(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut count = 0;
            tokens(&bytes, true, |_| count += 1);
            prop_assert!(count <= bytes.len());
        }
    }
}
