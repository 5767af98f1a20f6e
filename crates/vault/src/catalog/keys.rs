//! Which files have a name, and which notes link to one: small lists of ids by a hash of the folded last name.
//!
//! A key is a first sieve only. Two names may share one; whoever asks compares the real thing afterwards.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::links::fold;

/// A file's place in the catalog.
pub(super) type Id = u32;

/// The key of a path or a link target: its last name, without `.md`, folded as links are compared.
pub(super) fn name_key(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    fold(last_name(path)).hash(&mut hasher);
    hasher.finish()
}

fn last_name(path: &str) -> &str {
    let path = path.trim_end_matches(['/', '\\', ' ', '.']);
    let mut name = path.rsplit(['/', '\\']).next().unwrap_or(path).trim();
    while let Some(stem) = without_note_extension(name) {
        name = stem.trim_end_matches([' ', '.']);
    }
    name
}

/// `Plan` of `Plan.md`; nothing where there is no such extension.
pub(super) fn without_note_extension(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let known = extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("markdown");
    (known && !stem.is_empty()).then_some(stem)
}

/// Ids by key. Sorted pairs in many small lists: a tenth of the memory of a table of lists, where nearly every list has one
/// member, and a list is short enough that a pair is put into its middle in no time.
#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    /// None, or [`LISTS`].
    lists: Vec<Vec<Pair>>,
}

/// The part of the key that the list does not tell, and the id.
type Pair = (u32, Id);

const LISTS: usize = 1 << 10;

/// Which list a key is in, and what is kept of it there.
fn split(key: u64) -> (usize, u32) {
    ((key >> 54) as usize, key as u32)
}

impl KeyIndex {
    /// An index of many, made at once.
    pub(super) fn of(pairs: impl Iterator<Item = (u64, Id)>) -> KeyIndex {
        let mut lists = vec![Vec::new(); LISTS];
        for (key, id) in pairs {
            let (list, rest) = split(key);
            lists[list].push((rest, id));
        }
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
            list.shrink_to_fit();
        }
        KeyIndex { lists }
    }

    /// Adds an id.
    pub(super) fn insert(&mut self, key: u64, id: Id) {
        if self.lists.is_empty() {
            self.lists = vec![Vec::new(); LISTS];
        }
        let (list, rest) = split(key);
        let list = &mut self.lists[list];
        if let Err(place) = list.binary_search(&(rest, id)) {
            // A list that doubled would be half empty in the end.
            if list.len() == list.capacity() {
                list.reserve_exact(4 + list.len() / 16);
            }
            list.insert(place, (rest, id));
        }
    }

    /// Takes an id out again.
    pub(super) fn remove(&mut self, key: u64, id: Id) {
        let (list, rest) = split(key);
        if let Some(list) = self.lists.get_mut(list)
            && let Ok(place) = list.binary_search(&(rest, id))
        {
            list.remove(place);
        }
    }

    /// The ids under a key, in order.
    pub(super) fn get(&self, key: u64) -> impl ExactSizeIterator<Item = Id> {
        let (list, rest) = split(key);
        let list = self.lists.get(list).map_or(&[][..], Vec::as_slice);
        let start = list.partition_point(|pair| pair.0 < rest);
        let count = list[start..].partition_point(|pair| pair.0 == rest);
        list[start..start + count].iter().map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_that_may_name_one_file_share_a_key() {
        let rows = [
            ("Plan.md", "plan"),
            ("a/b/Plan.md", "../Plan.MD"),
            ("Cafe\u{301}.md", "CAFÉ"),
            ("v1.2.md", "v1.2"),
            ("x.md.md", "x.md"),
            ("p/x.markdown", "x"),
            ("pic.PNG", "img/pic.png"),
        ];
        for (path, target) in rows {
            assert_eq!(name_key(path), name_key(target), "{path} {target}");
        }
        assert_ne!(name_key("a.md"), name_key("b.md"));
        assert_ne!(name_key("a.png"), name_key("a"));
    }

    #[test]
    fn ids_come_and_go() {
        let mut index = KeyIndex::default();
        assert_eq!(index.get(7).len(), 0);
        for id in [2, 0, 1, 1] {
            index.insert(7, id);
        }
        index.remove(7, 1);
        index.remove(8, 1);
        assert_eq!(index.get(7).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(index.get(8).len(), 0);
        index.remove(7, 0);
        index.remove(7, 2);
        assert!(index.lists.iter().all(Vec::is_empty));
    }

    proptest! {
        #[test]
        fn an_index_made_at_once_is_one_made_step_by_step(
            pairs in prop::collection::vec((0u64..40, 0u32..6), 0..200),
            gone in prop::collection::vec((0u64..40, 0u32..6), 0..100),
        ) {
            // Keys of several lists, and several in one list that differ in their lower half alone.
            let key = |number: u64| ((number % 4) << 61) | (number / 4);
            let mut index = KeyIndex::of(pairs.iter().map(|(at, id)| (key(*at), *id)).take(pairs.len() / 2));
            pairs[pairs.len() / 2..].iter().for_each(|(at, id)| index.insert(key(*at), *id));
            gone.iter().for_each(|(at, id)| index.remove(key(*at), *id));
            for at in 0..40 {
                let mut expected: Vec<Id> = pairs.iter().filter(|pair| pair.0 == at && !gone.contains(pair)).map(|pair| pair.1).collect();
                expected.sort_unstable();
                expected.dedup();
                prop_assert_eq!(index.get(key(at)).collect::<Vec<_>>(), expected);
            }
        }
    }
}
