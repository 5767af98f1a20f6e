//! Splits text into the word pieces of BERT: the alphabet of the embedding table and of models in a folder.
//!
//! Called by [`super::table`], and by the `verger` crate for models in a folder. Same pieces as the reference (compared with the
//! `tokenizers` library on the 3,000 texts of the retrieval set and 4,000 of random characters; only marks and signs
//! that Unicode has learned since its tables were made differ): controls dropped, ideographs apart, accents stripped,
//! lower case, split at space and punctuation, then the longest piece of the vocabulary again and again. Special
//! tokens (`[CLS]` …) are not added and not recognised in the text. Linear in the text: the vocabulary is a trie, and
//! a word of more than 100 characters is unknown without a look at it.

use std::collections::HashMap;

use unicode_normalization::char::decompose_canonical;

use super::letters::{is_control, is_ideograph, is_mark, is_punctuation};

/// Words of more characters than this are unknown, as in the reference.
const LONGEST_WORD: usize = 100;
/// No piece ends here.
const NONE: u32 = u32::MAX;
/// More nodes than the keys of the trie can tell apart.
const MOST_NODES: usize = (1 << 24) - 4_096;

/// A vocabulary of word pieces.
#[derive(Debug)]
pub struct WordPiece {
    trie: Trie,
    /// The node behind `##`, where pieces that continue a word start.
    inside: u32,
    unknown: u32,
    case: Case,
}

/// Whether upper case matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Lower case without accents, as in uncased BERT.
    Folded,
    /// Letters stay as they are.
    Kept,
}

impl WordPiece {
    /// Reads a vocabulary, one piece per line; the number of the line is the piece's id. `None` if it is none of BERT's
    /// kind: no `[UNK]`, no `##`, or more lines than ids.
    pub fn parse(vocabulary: &str) -> Option<WordPiece> {
        WordPiece::new(vocabulary.lines(), Case::Folded)
    }

    /// Like [`WordPiece::parse`], of pieces in the order of their ids.
    pub fn new<'p>(pieces: impl Iterator<Item = &'p str>, case: Case) -> Option<WordPiece> {
        let mut growing = Growing::default();
        let mut unknown = None;
        for (id, piece) in pieces.enumerate() {
            if growing.ends.len() >= MOST_NODES || piece.len() > 4_096 {
                return None;
            }
            let id = u32::try_from(id).ok().filter(|id| *id != NONE)?;
            growing.insert(piece.as_bytes(), id);
            if piece == "[UNK]" {
                unknown = Some(id);
            }
        }
        let trie = growing.finish();
        let inside = trie.child(0, b'#').and_then(|node| trie.child(node, b'#'))?;
        Some(WordPiece { trie, inside, unknown: unknown?, case })
    }

    /// The id that stands for a word that cannot be put together from pieces.
    pub fn unknown(&self) -> u32 {
        self.unknown
    }

    /// Puts the pieces of the text behind those that `pieces` holds already.
    pub fn split(&self, text: &str, pieces: &mut Vec<u32>) {
        let mut word = Word { vocabulary: self, bytes: Vec::with_capacity(64), letters: 0, pieces };
        for letter in text.chars() {
            match letter {
                'a'..='z' | '0'..='9' => word.push_ascii(letter as u8),
                'A'..='Z' if self.case == Case::Folded => word.push_ascii(letter as u8 | 0x20),
                'A'..='Z' => word.push_ascii(letter as u8),
                ' ' | '\t' | '\n' | '\r' => word.finish(),
                '!'..='~' => word.alone(letter),
                _ => word.push_rare(letter),
            }
        }
        word.finish();
    }
}

/// The word that is being read.
struct Word<'w> {
    vocabulary: &'w WordPiece,
    bytes: Vec<u8>,
    letters: usize,
    pieces: &'w mut Vec<u32>,
}

impl Word<'_> {
    fn push_ascii(&mut self, byte: u8) {
        self.letters += 1;
        if self.letters <= LONGEST_WORD {
            self.bytes.push(byte);
        }
    }

    fn push(&mut self, letter: char) {
        self.letters += 1;
        if self.letters <= LONGEST_WORD {
            self.bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    /// A word of one character.
    fn alone(&mut self, letter: char) {
        self.finish();
        self.push(letter);
        self.finish();
    }

    fn push_rare(&mut self, letter: char) {
        if is_control(letter) {
            return;
        }
        let apart = is_ideograph(letter);
        if apart {
            self.finish();
        }
        match self.vocabulary.case {
            Case::Kept => self.push_lower(letter),
            Case::Folded => decompose_canonical(letter, |part| {
                if !is_mark(part) {
                    part.to_lowercase().for_each(|lower| self.push_lower(lower));
                }
            }),
        }
        if apart {
            self.finish();
        }
    }

    fn push_lower(&mut self, letter: char) {
        if letter.is_whitespace() {
            self.finish();
        } else if is_punctuation(letter) {
            self.alone(letter);
        } else {
            self.push(letter);
        }
    }

    /// Ends the word: its pieces, or the unknown one for all of it.
    fn finish(&mut self) {
        if self.letters == 0 {
            return;
        }
        let before = self.pieces.len();
        if self.letters > LONGEST_WORD || !self.cut() {
            self.pieces.truncate(before);
            self.pieces.push(self.vocabulary.unknown);
        }
        self.bytes.clear();
        self.letters = 0;
    }

    fn cut(&mut self) -> bool {
        let mut rest = self.bytes.as_slice();
        let mut root = 0;
        while !rest.is_empty() {
            let Some((length, piece)) = self.vocabulary.trie.longest(root, rest) else { return false };
            self.pieces.push(piece);
            rest = &rest[length..];
            root = self.vocabulary.inside;
        }
        true
    }
}

/// The pieces byte by byte, with all edges in one flat table: a few megabytes less and much faster than maps of maps.
#[derive(Debug)]
struct Trie {
    /// Open addressing; `to` is 0 where nothing lies, because no edge leads to the root.
    edges: Vec<Edge>,
    /// For every node the piece that ends there.
    ends: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    key: u32,
    to: u32,
}

impl Trie {
    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let key = edge_key(node, byte);
        let mut at = first_place(key, self.edges.len());
        loop {
            let edge = self.edges.get(at)?;
            if edge.to == 0 {
                return None;
            }
            if edge.key == key {
                return Some(edge.to);
            }
            at = (at + 1) & (self.edges.len() - 1);
        }
    }

    /// The longest piece at the start of `bytes`, with its length.
    fn longest(&self, root: u32, bytes: &[u8]) -> Option<(usize, u32)> {
        let mut node = root;
        let mut best = None;
        for (at, byte) in bytes.iter().enumerate() {
            let Some(next) = self.child(node, *byte) else { break };
            node = next;
            let piece = self.ends.get(node as usize).copied().unwrap_or(NONE);
            if piece != NONE {
                best = Some((at + 1, piece));
            }
        }
        best
    }
}

fn edge_key(node: u32, byte: u8) -> u32 {
    node << 8 | u32::from(byte)
}

/// Where the search for a key begins in a table of `size` (a power of two).
fn first_place(key: u32, size: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> 7) as usize & (size - 1)
}

/// The trie while it grows.
#[derive(Default)]
struct Growing {
    edges: HashMap<u32, u32>,
    ends: Vec<u32>,
}

impl Growing {
    fn insert(&mut self, piece: &[u8], id: u32) {
        if self.ends.is_empty() {
            self.ends.push(NONE);
        }
        let mut node = 0;
        for byte in piece {
            let next = self.ends.len() as u32;
            let to = *self.edges.entry(edge_key(node, *byte)).or_insert(next);
            if to == next {
                self.ends.push(NONE);
            }
            node = to;
        }
        if let Some(end) = self.ends.get_mut(node as usize).filter(|_| node != 0) {
            *end = id;
        }
    }

    fn finish(self) -> Trie {
        // At most half full, so that a search ends soon.
        let size = (self.edges.len() * 2 + 1).next_power_of_two();
        let mut edges = vec![Edge::default(); size];
        for (key, to) in self.edges {
            let mut at = first_place(key, size);
            while edges[at].to != 0 {
                at = (at + 1) & (size - 1);
            }
            edges[at] = Edge { key, to };
        }
        Trie { edges, ends: self.ends }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::meaning::table::VOCABULARY;

    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| VOCABULARY.lines().collect());
    static PIECES: LazyLock<WordPiece> = LazyLock::new(|| WordPiece::parse(VOCABULARY).unwrap());

    fn split(text: &str) -> Vec<&'static str> {
        let mut pieces = Vec::new();
        PIECES.split(text, &mut pieces);
        pieces.into_iter().map(|piece| NAMES[piece as usize]).collect()
    }

    #[track_caller]
    fn check(text: &str, pieces: &str) {
        assert_eq!(split(text).join(" "), pieces, "{text:?}");
    }

    #[test]
    fn text_is_split_as_the_reference_splits_it() {
        check("Hello, World!", "hello , world !");
        check("unaffable embeddings", "una ##ffa ##ble em ##bed ##ding ##s");
        check("don't stop", "don ' t stop");
        check("C++ f(x)=$5^2", "c + + f ( x ) = $ 5 ^ 2");
        check("foo_bar-baz", "foo _ bar - ba ##z");
        check("##ing", "# # ing");
        check("naïve café e\u{301}a", "naive cafe ea");
        check("…—“q”", "… — “ q ”");
        check("§5 ¶ €10 ½", "§ 5 ¶ € ##10 ½");
        check("ß", "ß");
        check("", "");
        check(" \t\r\n\u{3000}", "");
    }

    #[test]
    fn ideographs_are_words_and_other_scripts_are_not() {
        check("日本語テスト", "日 本 語 テ ##ス ##ト");
        check("中a国", "中 a 国");
        check("한국어", "ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ ##ᄋ ##ᅥ");
        check("\u{20000}ab", "[UNK] ab");
    }

    #[test]
    fn controls_vanish_and_odd_space_separates() {
        check("x\u{200b}y", "x ##y");
        check("\u{fffd}ab\0c", "abc");
        check("a\u{e000}b \u{e0041}z", "ab z");
        check("\u{7f}ab\u{1}", "ab");
        check("\u{3000}wide\u{a0}nb\u{2028}ls\u{85}nel", "wide n ##b l ##s ##nel");
    }

    #[test]
    fn what_has_no_pieces_is_unknown_as_a_whole_word() {
        check("😀 smile", "[UNK] smile");
        check("a\u{378}b", "[UNK]");
        check("ＡＢ，Ｃ", "[UNK] ， [UNK]");
        check("İstanbul ǅ", "istanbul [UNK]");
        check(&"a".repeat(101), "[UNK]");
        check(&format!("{} b", "a".repeat(1_000_000)), "[UNK] b");
        assert_eq!(split(&"a".repeat(100)).len(), 50);
    }

    #[test]
    fn a_file_that_is_no_vocabulary_is_refused() {
        assert!(WordPiece::parse("").is_none());
        assert!(WordPiece::parse("a\nb\n##c").is_none());
        assert!(WordPiece::parse("[UNK]\na").is_none());
    }

    #[test]
    fn a_cased_vocabulary_tells_upper_case_and_accents_apart() {
        let pieces = ["[UNK]", "Café", "cafe", "##S", "a"];
        let cased = WordPiece::new(pieces.into_iter(), Case::Kept).unwrap();
        let mut split = Vec::new();
        cased.split("Café cafe café aS A", &mut split);
        assert_eq!(split, [1, 2, 0, 4, 3, 0]);
    }

    #[test]
    fn a_vocabulary_of_more_than_65_thousand_pieces_is_read() {
        let many: Vec<String> = (0..70_000).map(|number| format!("p{number}")).collect();
        let pieces = ["[UNK]", "##a"].into_iter().chain(many.iter().map(String::as_str));
        let large = WordPiece::new(pieces, Case::Folded).unwrap();
        let mut split = Vec::new();
        large.split("p69999 P1", &mut split);
        assert_eq!(split, [70_001, 3]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_split(text in "\\PC*") {
            let pieces = split(&text);
            proptest::prop_assert!(pieces.len() <= 4 * text.len());
            // Space around a text changes nothing.
            proptest::prop_assert_eq!(pieces, split(&format!(" {text}\n")));
        }
    }
}
