//! What kind of character this is, as the uncased BERT split sees it.
//!
//! Called by [`super::wordpiece`] for everything beyond ASCII. The Unicode tables are those of the `regex` crate, read
//! once into ranges. Deliberately not here: decomposition and case, which `unicode-normalization` and `char` know.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;

/// Characters beyond ASCII that the split treats in a special way, as sorted ranges.
struct Classes {
    marks: Vec<RangeInclusive<char>>,
    punctuation: Vec<RangeInclusive<char>>,
    controls: Vec<RangeInclusive<char>>,
}

static CLASSES: LazyLock<Classes> = LazyLock::new(|| Classes {
    marks: ranges(r"\p{Mn}+"),
    punctuation: ranges(r"\p{P}+"),
    controls: ranges(r"[\p{Cc}\p{Cf}\p{Co}]+"),
});

/// Whether it is an accent or another mark without a width of its own.
pub(super) fn is_mark(letter: char) -> bool {
    holds(&CLASSES.marks, letter)
}

/// Whether it stands alone as a word. All ASCII that is neither letter, digit nor space does, symbols too.
pub(super) fn is_punctuation(letter: char) -> bool {
    match letter.is_ascii() {
        true => letter.is_ascii_punctuation(),
        false => holds(&CLASSES.punctuation, letter),
    }
}

/// Whether it is dropped: controls, invisible formatting, private use. Tab and line ends are space, not this.
pub(super) fn is_control(letter: char) -> bool {
    match letter {
        '\t' | '\n' | '\r' => false,
        '\u{fffd}' => true,
        _ if letter.is_ascii() => letter.is_ascii_control(),
        _ => holds(&CLASSES.controls, letter),
    }
}

/// Whether it is a CJK ideograph, each of which is a word. Kana and Hangul are not: they are written in words.
pub(super) fn is_ideograph(letter: char) -> bool {
    matches!(letter,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}')
}

fn holds(ranges: &[RangeInclusive<char>], letter: char) -> bool {
    let after = ranges.partition_point(|range| *range.start() <= letter);
    after > 0 && ranges[after - 1].contains(&letter)
}

/// The runs of a class in the order of code points. Planes 2 to 13 hold ideographs or nothing and are left out.
fn ranges(class: &str) -> Vec<RangeInclusive<char>> {
    let Ok(class) = Regex::new(class) else { return Vec::new() };
    let planes = ['\0'..='\u{1ffff}', '\u{e0000}'..='\u{e0fff}', '\u{f0000}'..='\u{f0fff}'];
    let text: String = planes.into_iter().flatten().collect();
    let mut found: Vec<RangeInclusive<char>> = Vec::new();
    for run in class.find_iter(&text) {
        let (mut letters, mut back) = (run.as_str().chars(), run.as_str().chars().rev());
        let (Some(first), Some(last)) = (letters.next(), back.next()) else { continue };
        // Private use fills its planes; a run that reaches the end of the looked-at part goes on.
        let last = if last >= '\u{f0fff}' { char::MAX } else { last };
        found.push(first..=last);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_unicode() {
        let rows = [
            ('\u{301}', is_mark as fn(char) -> bool, true),
            ('\u{903}', is_mark, false),
            ('a', is_mark, false),
            ('$', is_punctuation, true),
            ('…', is_punctuation, true),
            ('€', is_punctuation, false),
            ('\u{200b}', is_control, true),
            ('\u{85}', is_control, true),
            ('\u{e000}', is_control, true),
            ('\u{10fffd}', is_control, true),
            ('\u{378}', is_control, false),
            ('\n', is_control, false),
            ('中', is_ideograph, true),
            ('か', is_ideograph, false),
        ];
        for (letter, class, expected) in rows {
            assert_eq!(class(letter), expected, "{letter:?}");
        }
    }
}
