//! Which notes a search by meaning looks at. Applied before anything is scored.

use super::vectors::Vectors;
use crate::catalog::{Catalog, Match, Visible};
use crate::path::{VaultFolder, VaultPath};

/// Only notes for which all of this holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    /// In one of these folders, at any depth; none: anywhere.
    pub folders: Vec<VaultFolder>,
    /// Last changed at this time or later, nanoseconds since 1970.
    pub since_ns: Option<i64>,
    /// Only these; tags are asked of the catalog ([`Filters::tagged`]), which alone knows them.
    pub only: Option<Vec<VaultPath>>,
}

impl Filters {
    /// Only notes with any or all of the tags; without tags, all notes.
    #[must_use]
    pub fn tagged(
        mut self,
        catalog: &Catalog,
        tags: &[&str],
        wanted: Match,
        visible: Visible<'_>,
    ) -> Filters {
        if !tags.is_empty() {
            let tagged = catalog.notes_with_tags(tags, wanted, visible);
            let tagged = tagged.into_iter().map(|tagged| tagged.path.clone());
            self.only = Some(match self.only.take() {
                None => tagged.collect(),
                Some(only) => {
                    let only: std::collections::HashSet<VaultPath> = only.into_iter().collect();
                    tagged.filter(|path| only.contains(path)).collect()
                }
            });
        }
        self
    }

    /// For every note by its number whether it is looked at; `None` if all are.
    pub(super) fn among(&self, vectors: &Vectors) -> Option<Vec<bool>> {
        let Filters { folders, since_ns, only } = self;
        if folders.is_empty() && since_ns.is_none() && only.is_none() {
            return None;
        }
        let passes = |number: u32| {
            vectors.at(number).is_some_and(|note| {
                (folders.is_empty() || folders.iter().any(|folder| note.path.is_in(folder)))
                    && since_ns.is_none_or(|since| note.stat.modified_ns >= since)
            })
        };
        let mut among = vec![false; vectors.numbers_end()];
        match only {
            Some(only) => {
                let numbers = only.iter().filter_map(|path| vectors.number_of(path));
                numbers.filter(|number| passes(*number)).for_each(|number| among[number as usize] = true);
            }
            None => among.iter_mut().zip(0..).for_each(|(among, number)| *among = passes(number)),
        }
        Some(among)
    }
}
