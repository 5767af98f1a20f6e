//! How much of a long list fits into one answer, and where the next page starts. Every tool that lists something cuts
//! its list here, so that no vault, however large, makes an answer that no model can hold.
//!
//! Deliberately not here: long texts (see `window.rs`).

/// Characters of one answer at most, before headers and notices.
pub(crate) const CHARS: usize = 50_000;

/// One page of a list.
pub(crate) struct Page<'i, T> {
    /// What is on it.
    pub(crate) items: &'i [T],
    /// How many entries lie in front of the next page, if there is one.
    pub(crate) next: Option<usize>,
}

/// The page behind `offset` entries: at most `limit` of them and about [`CHARS`] characters, but never none of some.
pub(crate) fn page<T>(items: &[T], offset: usize, limit: usize, length: impl Fn(&T) -> usize) -> Page<'_, T> {
    let rest = items.get(offset..).unwrap_or_default();
    let mut room = CHARS;
    let fits = |item: &&T| {
        let length = length(item) + 1;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    let count = rest.iter().take(limit.max(1)).take_while(fits).count().max(1).min(rest.len());
    let end = offset + count;
    Page { items: &rest[..count], next: (count < rest.len()).then_some(end) }
}

/// A text of at most so many characters; `…` says that something is missing.
pub(crate) fn clip(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first few, and how many more there are: `a, b and 3 more`.
pub(crate) fn first_few<T: ToString>(items: &[T], few: usize) -> String {
    let shown: Vec<String> = items.iter().take(few).map(ToString::to_string).collect();
    match items.len().saturating_sub(few) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `1 note`, `2 notes`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_put_together_are_the_whole_list() {
        let items: Vec<String> = (0..400).map(|number| "x".repeat(number)).collect();
        for limit in [0, 1, 7, 1_000] {
            let (mut all, mut at) = (Vec::new(), Some(0));
            while let Some(offset) = at {
                let page = page(&items, offset, limit, String::len);
                assert!(page.items.iter().map(String::len).sum::<usize>() <= CHARS);
                all.extend(page.items.iter().cloned());
                at = page.next;
            }
            assert_eq!(all, items);
        }
    }

    #[test]
    fn a_page_behind_the_end_is_empty_and_an_entry_too_long_is_still_shown() {
        assert!(page(&["a"], 5, 5, |item| item.len()).items.is_empty());
        assert_eq!(page(&[CHARS * 2, 1], 0, 5, |length| *length).next, Some(1));
    }

    #[test]
    fn clipping_counts_characters_and_says_so() {
        assert_eq!(clip("äöü", 3), "äöü");
        assert_eq!(clip("äöü!", 3), "äöü…");
        assert_eq!(first_few(&[1, 2, 3], 2), "1, 2 and 1 more");
    }
}
