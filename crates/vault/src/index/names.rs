//! The names of a segment's notes, folded and one behind the other: which of them hold a text takes one pass over them.
//!
//! Made when a search first asks; a segment never changes, so neither does this. About 25 bytes a note. What stands in a
//! name is known by its tokens too, but not how they follow on each other; a regular expression on each name, on the other
//! hand, took longer than all the rest of a search.

use memchr::memmem;

use super::letters::fold;
use super::segment::Segment;
use crate::path::{is_note_name, last_name, stem_of_name};

/// The folded names of the notes of a segment; files that are no notes have none.
#[derive(Debug)]
pub(super) struct Names {
    /// Each with a line end behind it: no name holds one.
    text: Vec<u8>,
    /// Where the name of each document starts; one more at the end.
    starts: Vec<u32>,
}

impl Names {
    /// The names of all documents; `None` for more text than can be numbered.
    pub(super) fn of(segment: &Segment) -> Option<Names> {
        let docs = segment.doc_count();
        let mut names = Names { text: Vec::new(), starts: Vec::with_capacity(docs as usize + 1) };
        for doc in 0..docs {
            names.starts.push(u32::try_from(names.text.len()).ok()?);
            let name = last_name(segment.path(doc));
            if is_note_name(name) {
                let mut buffer = [0; 4];
                let letters = stem_of_name(name).chars().map(fold);
                letters.for_each(|one| names.text.extend(one.encode_utf8(&mut buffer).as_bytes()));
                names.text.push(b'\n');
            }
        }
        names.starts.push(u32::try_from(names.text.len()).ok()?);
        names.text.shrink_to_fit();
        Some(names)
    }

    /// Whether a document is a note.
    pub(super) fn is_note(&self, doc: u32) -> bool {
        let at = doc as usize;
        self.starts.get(at).zip(self.starts.get(at + 1)).is_some_and(|(start, end)| start < end)
    }

    /// The documents whose names hold a folded text without line ends, in order.
    pub(super) fn holding(&self, folded: &str) -> Vec<u32> {
        let finder = memmem::Finder::new(folded);
        let (mut at, mut out) = (0, Vec::new());
        while let Some(found) = self.text.get(at..).and_then(|rest| finder.find(rest)) {
            let place = at + found;
            // Files without a name start where the next one starts; the last of these starts has the name.
            let behind = self.starts.partition_point(|start| *start as usize <= place);
            let Some(end) = self.starts.get(behind) else { break };
            out.push(behind as u32 - 1);
            at = *end as usize;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::letters::fold_text;
    use super::super::{batch, tests::segment_of};
    use super::*;
    use proptest::prelude::*;

    fn names(paths: &[&str]) -> Names {
        let fixture: Vec<String> = paths.iter().map(|path| format!("--- {path}: x")).collect();
        Names::of(&segment_of(&fixture.join("\n"), &batch::in_memory)).unwrap()
    }

    #[test]
    fn names_are_found_by_any_part_in_any_case() {
        let names =
            names(&["A/Tea Time.md", "A/pic tea.png", "B/STRASSE.md", "B/Ärger v1.2.markdown", "tea/x.md"]);
        let rows: [(&str, &[u32]); 6] =
            [("tea", &[0]), ("A T", &[0]), ("strasse", &[2]), ("ärger V1", &[3]), (".md", &[]), ("x", &[4])];
        for (needle, expected) in rows {
            assert_eq!(names.holding(&fold_text(needle)), expected, "{needle}");
        }
        assert_eq!((0..5).map(|doc| names.is_note(doc)).collect::<Vec<_>>(), [true, false, true, true, true]);
    }

    proptest! {
        #[test]
        fn names_are_found_as_a_regular_expression_finds_them(
            stems in prop::collection::btree_set("[aAbBßẞſsSıIiİ k\u{212a}-]{1,6}", 1..8),
            needle in "[aAbBßẞſsSıIiİ kK-]{1,3}",
        ) {
            let paths: Vec<String> = stems.iter().map(|stem| format!("n{stem}x.md")).collect();
            let texts: Vec<&str> = paths.iter().map(String::as_str).collect();
            let names = names(&texts);
            let pattern = regex::RegexBuilder::new(&regex::escape(&needle)).case_insensitive(true).build().unwrap();
            let mut sorted = texts.clone();
            sorted.sort_unstable();
            let expected: Vec<u32> =
                (0..).zip(&sorted).filter(|(_, path)| pattern.is_match(&path[..path.len() - 3])).map(|(doc, _)| doc).collect();
            prop_assert_eq!(names.holding(&fold_text(&needle)), expected);
        }
    }
}
