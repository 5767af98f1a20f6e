//! The forms of an English word: `note`, `notes`, `noted` and `noting` are one word to whoever looks for notes.
//!
//! Called by [`super::ranked`] when a question is asked; the index itself keeps words as they are written, so that exact
//! search knows nothing of this. Only endings of plurals, `-ed` and `-ing` are taken off: endings that make another word
//! (`-ly`, `-er`, `-tion`) are left to meaning. Two words are forms of one if [`stem`] says the same of both; what it says
//! need not be a word. Words with other letters than a to z have no forms here.

use super::segment::Segment;

/// Longer words are names of files and keys.
const LONGEST: usize = 32;
/// Letters that endings can add behind the common start: `emb` in `embeddings`.
const LONGEST_ENDING: usize = 8;

/// What the forms of a folded word have in common; `None` if it has no others.
pub(super) fn stem(word: &[u8]) -> Option<Vec<u8>> {
    if !(3..=LONGEST).contains(&word.len()) || !word.iter().all(u8::is_ascii_lowercase) {
        return None;
    }
    let mut stem = word.to_vec();
    while shorten(&mut stem) {}
    if let [.., before, last @ b'y'] = stem.as_mut_slice()
        && !is_vowel(*before)
    {
        *last = b'i';
    }
    Some(stem)
}

/// The terms of a segment that are forms of a word with this stem.
pub(super) fn terms<'a>(segment: &'a Segment, stem: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
    // `make` and `copi` end in the one letter that `making` and `copy` do not have.
    let start = stem.strip_suffix(b"e").or_else(|| stem.strip_suffix(b"i")).unwrap_or(stem);
    let longest = start.len() + LONGEST_ENDING;
    segment.starting(start).filter(move |term| {
        let text = segment.text(*term);
        text.len() <= longest && self::stem(text).is_some_and(|other| other == stem)
    })
}

/// Takes one ending off; whether there was one.
fn shorten(word: &mut Vec<u8>) -> bool {
    let length = word.len();
    if word.ends_with(b"ies") || word.ends_with(b"ied") {
        // `ties` and `tie`, `categories` and `category`, `movies` and `movie`.
        word.truncate(length - if length > 4 { 2 } else { 1 });
        return true;
    }
    if is_plural(word) {
        word.truncate(length - if length > 4 && word.ends_with(b"xes") { 2 } else { 1 });
        return true;
    }
    // `agreed`; `need` is no form of anything.
    if length > 4 && word.ends_with(b"eed") {
        word.truncate(length - 1);
        return true;
    }
    if let Some(rest) = before_ending(word) {
        word.truncate(rest);
        mend(word);
        return true;
    }
    // `change` and `changing`; shorter ones would become other words (`note`, `not`).
    if length > 4 && word.ends_with(b"e") && !word.ends_with(b"ee") {
        word.truncate(length - 1);
        return true;
    }
    false
}

fn is_plural(word: &[u8]) -> bool {
    let other = [b"ss".as_slice(), b"us", b"sis", b"xis"];
    word.len() > 3 && word.ends_with(b"s") && word != b"this" && !other.iter().any(|end| word.ends_with(end))
}

/// How long a word is without `-ed` or `-ing`, if what is left can be a word.
fn before_ending(word: &[u8]) -> Option<usize> {
    let rest = match word.strip_suffix(b"ing") {
        Some(rest) => rest,
        None if word.ends_with(b"eed") => return None,
        None => word.strip_suffix(b"ed")?,
    };
    match rest {
        // `using`, `aged`.
        [first, last] => (is_vowel(*first) && !is_vowel(*last)).then_some(2),
        _ => (rest.len() > 2 && rest.iter().any(|letter| is_vowel(*letter) || *letter == b'y'))
            .then_some(rest.len()),
    }
}

/// Gives back what the ending has changed: `runn` is `run`, `mak` is `make`.
fn mend(word: &mut Vec<u8>) {
    match *word.as_slice() {
        [_, _, .., before, last]
            if before == last && !matches!(last, b'l' | b's' | b'z') && !is_vowel(last) =>
        {
            word.pop();
        }
        [_, last] if !is_vowel(last) => word.push(b'e'),
        [first, middle, last]
            if !is_vowel(first)
                && is_vowel(middle)
                && !is_vowel(last)
                && !matches!(last, b'w' | b'x' | b'y') =>
        {
            word.push(b'e');
        }
        _ => {}
    }
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        let rows = [
            "note notes noted noting",
            "make makes making",
            "run runs running",
            "use uses used using",
            "category categories",
            "copy copies copied copying",
            "change changes changed changing",
            "embed embeds embedded embedding embeddings",
            "alias aliases aliased",
            "process processes processed processing",
            "box boxes boxed",
            "movie movies",
            "status statuses",
            "setting settings set sets",
            "api apis",
            "agree agrees agreed agreeing",
            "index indexes indexed indexing",
            "tie ties tied",
            "add adds added adding",
        ];
        for row in rows {
            let mut words = row.split(' ');
            let first = words.next().and_then(|word| stem(word.as_bytes()));
            assert!(first.is_some(), "{row}");
            for word in words {
                assert_eq!(stem(word.as_bytes()), first, "{row}: {word}");
            }
        }
    }

    #[test]
    fn other_words_have_other_stems() {
        let rows = [
            ("not", "note"),
            ("string", "str"),
            ("thing", "the"),
            ("bed", "be"),
            ("need", "nee"),
            ("this", "thi"),
            ("being", "bee"),
            ("car", "care"),
            ("king", "kind"),
        ];
        for (one, other) in rows {
            assert_ne!(stem(one.as_bytes()), stem(other.as_bytes()), "{one} {other}");
        }
        for word in ["", "is", "été", "v2", "snake_cases", &"a".repeat(40)] {
            assert_eq!(stem(word.as_bytes()), None, "{word}");
        }
    }

    proptest! {
        /// What [`terms`] relies on: a word starts with its stem, but for the last letter.
        #[test]
        fn a_word_starts_like_its_stem(word in "[a-y]{3,5}(s|es|ies|ied|ed|ing|ings|y|e|)") {
            let stem = stem(word.as_bytes()).unwrap();
            let start = stem.strip_suffix(b"e").or_else(|| stem.strip_suffix(b"i")).unwrap_or(&stem);
            prop_assert!(word.as_bytes().starts_with(start), "{} {:?}", word, String::from_utf8_lossy(&stem));
            prop_assert!(word.len() <= start.len() + LONGEST_ENDING, "{} {:?}", word, String::from_utf8_lossy(&stem));
        }
    }
}
