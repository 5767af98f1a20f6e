//! The order of texts as readers of English expect it: spaces, punctuation, signs, digits, letters; `a < A < b`.
//!
//! An own, small stand-in for ICU's root collation: three levels (letter, accent, case), each looked at only when the
//! one before it is equal. Exact for Latin with accents, Greek and Cyrillic; other scripts go by code point, which is
//! ICU's order of scripts but not always its order inside one.

use std::cmp::Ordering;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Compares two texts.
pub fn compare(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if a.is_ascii() && b.is_ascii() {
        return ascii(a.as_bytes(), b.as_bytes());
    }
    let (a, b) = (Key::of(a), Key::of(b));
    a.primary.cmp(&b.primary).then_with(|| a.accents.cmp(&b.accents)).then_with(|| a.cases.cmp(&b.cases))
}

/// The same as by keys, for the many texts that need none. One pass, nothing is put aside.
fn ascii(a: &[u8], b: &[u8]) -> Ordering {
    let seen = |byte: &&u8| ASCII[usize::from(**byte)] != 0;
    let (mut left, mut right) = (a.iter().filter(seen), b.iter().filter(seen));
    let mut cases = Ordering::Equal;
    loop {
        match (left.next(), right.next()) {
            (Some(a), Some(b)) => {
                let weights = ASCII[usize::from(*a)].cmp(&ASCII[usize::from(*b)]);
                if weights.is_ne() {
                    return weights;
                }
                cases = cases.then(a.is_ascii_uppercase().cmp(&b.is_ascii_uppercase()));
            }
            (None, None) => return cases,
            (a, b) => return a.is_some().cmp(&b.is_some()),
        }
    }
}

/// The weights of ASCII in the order of [`primary`]; 0 for what is ignored.
static ASCII: std::sync::LazyLock<[u8; 256]> = std::sync::LazyLock::new(|| {
    let mut seen: Vec<char> = ('\0'..='\u{7f}').filter(|c| !is_ignored(*c)).collect();
    seen.sort_by_key(|c| primary(*c));
    let mut weights = [0; 256];
    let mut weight = 0;
    let mut last = 0;
    for c in seen {
        let here = primary(c);
        weight += u8::from(here != last);
        last = here;
        weights[c as usize] = weight;
    }
    weights
});

#[derive(Default)]
struct Key {
    primary: Vec<u32>,
    accents: Vec<u32>,
    cases: Vec<u8>,
}

impl Key {
    fn of(text: &str) -> Key {
        let mut key = Key::default();
        let mut last = '\0';
        for c in text.nfd() {
            // In Cyrillic `й` is a letter of its own, not `и` with an accent.
            if c == '\u{306}' && matches!(last, 'и' | 'И') {
                if let Some(weight) = key.primary.last_mut() {
                    *weight = primary('й');
                }
                continue;
            }
            last = c;
            if is_combining_mark(c) {
                key.accents.push(c as u32);
                continue;
            }
            if !is_ignored(c) {
                key.letter(c);
            }
        }
        key
    }

    fn letter(&mut self, c: char) {
        for part in c.to_lowercase() {
            let (letters, mark) = spelled(part);
            for letter in letters.chars() {
                self.primary.push(primary(letter));
                self.accents.push(0);
                self.cases.push(u8::from(c.is_uppercase()));
            }
            if letters.is_empty() {
                self.primary.push(primary(part));
                self.accents.push(0);
                self.cases.push(u8::from(c.is_uppercase()));
            } else {
                self.accents.push(mark);
            }
        }
    }
}

/// Letters that are sorted as others, with what sets them apart; empty for all that stand for themselves.
fn spelled(c: char) -> (&'static str, u32) {
    match c {
        'æ' => ("ae", 1),
        'œ' => ("oe", 1),
        'ß' => ("ss", 1),
        'ø' => ("o", 0x338),
        'ł' => ("l", 0x335),
        'đ' => ("d", 0x335),
        'ς' => ("σ", 1),
        'ı' => ("i", 1),
        _ => ("", 0),
    }
}

fn is_ignored(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{200b}'..='\u{200f}' | '\u{fe0f}' | '\u{feff}')
}

/// The weight of a character by itself, case aside.
fn primary(c: char) -> u32 {
    const SIGNS: &str = "\t\n\u{b}\u{c}\r\u{2028}\u{2029} _‿-‐‑‒–—,;:!¡?¿.…·'‘’‚‹›\"“”„«»()[]{}§¶@*/\\&#%‰†‡•`´˜^¨°©®+±÷×<=>|¦~¤¢$£¥€";
    if let Some(at) = SIGNS.chars().position(|sign| sign == c) {
        return 1 + at as u32;
    }
    if let Some(digit) = c.to_digit(10) {
        return 0x20_0000 + digit;
    }
    let c = c.to_lowercase().next().unwrap_or(c);
    let letter = c.is_alphabetic() || c.is_numeric();
    if letter { 0x40_0000 + c as u32 } else { 0x1000 + c as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn ordered(texts: &[&str]) {
        for pair in texts.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(compare(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
    }

    #[test]
    fn texts_stand_in_the_order_of_a_dictionary() {
        ordered(&["", " ", "_", "-", ",", "#", "$", "0", "9", "a", "A", "á", "b", "B", "z", "α", "б"]);
        ordered(&["a", "A", "aa", "ab", "Ab", "b"]);
        ordered(&["resume", "Resume", "résumé", "resumes"]);
        ordered(&["#area", "#project", "#Project", "#project/alpha", "#task"]);
        ordered(&["и", "й", "к"]);
        ordered(&["strasse", "straße", "strassf"]);
        ordered(&["😀", "1", "a"]);
        ordered(&["a b", "a-b", "ab"]);
    }

    proptest::proptest! {
        #[test]
        fn the_order_is_total(texts in proptest::collection::vec("[ab AÄäß\u{0}\u{301}1иЙ-]{0,4}", 3)) {
            let key = |text: &str| { let key = Key::of(text); (key.primary, key.accents, key.cases) };
            for a in &texts {
                for b in &texts {
                    let by_key = if a == b { Ordering::Equal } else { key(a).cmp(&key(b)) };
                    proptest::prop_assert_eq!(compare(a, b), by_key);
                }
            }
        }
    }
}
