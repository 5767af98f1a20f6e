//! Which files have a name, and which notes link to one: small lists of ids by a hash of the folded last name.
//!
//! A key is a first sieve only. Two names may share one; whoever asks compares the real thing afterwards.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

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

/// Lists of ids by key; nearly all lists have one member.
#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    lists: HashMap<u64, Ids, BuildHasherDefault<AsItIs>>,
}

/// Keys are hashes already.
#[derive(Debug, Default, Clone, Copy)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[derive(Debug)]
enum Ids {
    One(Id),
    Many(Vec<Id>),
}

impl KeyIndex {
    /// Adds an id; the caller adds each (key, id) once.
    pub(super) fn insert(&mut self, key: u64, id: Id) {
        match self.lists.entry(key) {
            Entry::Vacant(place) => {
                place.insert(Ids::One(id));
            }
            Entry::Occupied(mut place) => match place.get_mut() {
                Ids::One(first) => {
                    let both = vec![*first, id];
                    place.insert(Ids::Many(both));
                }
                Ids::Many(ids) => ids.push(id),
            },
        }
    }

    /// Takes an id out again.
    pub(super) fn remove(&mut self, key: u64, id: Id) {
        let Entry::Occupied(mut place) = self.lists.entry(key) else { return };
        let empty = match place.get_mut() {
            Ids::One(only) => *only == id,
            Ids::Many(ids) => {
                if let Some(at) = ids.iter().position(|held| *held == id) {
                    ids.swap_remove(at);
                }
                ids.is_empty()
            }
        };
        if empty {
            place.remove();
        }
    }

    /// The ids under a key, in no order.
    pub(super) fn get(&self, key: u64) -> &[Id] {
        match self.lists.get(&key) {
            Some(Ids::One(id)) => std::slice::from_ref(id),
            Some(Ids::Many(ids)) => ids,
            None => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for id in 0..3 {
            index.insert(7, id);
        }
        index.remove(7, 1);
        index.remove(8, 1);
        let mut ids = index.get(7).to_vec();
        ids.sort_unstable();
        assert_eq!(ids, [0, 2]);
        index.remove(7, 0);
        index.remove(7, 2);
        assert!(index.get(7).is_empty() && index.lists.is_empty());
    }
}
