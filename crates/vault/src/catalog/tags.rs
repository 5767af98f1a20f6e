//! Tags over the whole vault: how often each is used, and which notes carry one.

use std::collections::HashMap;

use super::{ByAddress, Catalog, FileInfo, Visible, address, fold};
use crate::path::VaultPath;

/// How much a tag is used. Its nested tags count for it too.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TagCount {
    /// The name without `#`, as first written (by path, then by place in the note).
    pub name: String,
    /// How often it stands in notes.
    pub occurrences: usize,
    /// In how many notes it stands.
    pub files: usize,
}

/// Whether one of several tags is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Match {
    /// A note with any of the tags.
    #[default]
    Any,
    /// Only notes with all of them.
    All,
}

/// A note that carries tags that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged<'a> {
    /// The note.
    pub path: &'a VaultPath,
    /// Its tags that match, as written, in the order of their first use.
    pub tags: Vec<&'a str>,
}

impl Catalog {
    /// All tags with their counts, ancestors rolled up, most used first and then by name.
    pub fn tags(&self, visible: Visible<'_>) -> Vec<TagCount> {
        let memory = visible.memory(&self.remembered);
        if let Some(known) = memory.and_then(|memory| memory.tags(self.state())) {
            return known.to_vec();
        }
        let tags = self.count_tags(visible);
        if let Some(memory) = memory {
            memory.keep_tags(self.state(), tags.as_slice().into());
        }
        tags
    }

    fn count_tags(&self, visible: Visible<'_>) -> Vec<TagCount> {
        let mut counter = Counter::default();
        self.notes(visible).for_each(|info| counter.add(info));
        let mut tags = counter.tags;
        tags.sort_by(|a, b| b.occurrences.cmp(&a.occurrences).then_with(|| a.name.cmp(&b.name)));
        tags
    }

    /// The notes with any or all of the tags, in path order. `#` is optional, case does not matter, and `a` finds `a/b`.
    pub fn notes_with_tags(&self, tags: &[&str], wanted: Match, visible: Visible<'_>) -> Vec<Tagged<'_>> {
        let wants: Vec<String> = tags.iter().map(|tag| clean(tag)).filter(|tag| !tag.is_empty()).collect();
        let mut known: ByAddress<Vec<usize>> = ByAddress::default();
        let mut out = Vec::new();
        for info in self.notes(visible) {
            let mut met = vec![false; wants.len()];
            let mut tags = Vec::new();
            for tag in &info.tags {
                let hits = known.entry(address(&tag.name)).or_insert_with(|| hits(&wants, &tag.name));
                hits.iter().for_each(|hit| met[*hit] = true);
                if !hits.is_empty() {
                    tags.push(&*tag.name);
                }
            }
            if !tags.is_empty() && (wanted == Match::Any || met.iter().all(|met| *met)) {
                out.push(Tagged { path: &info.path, tags });
            }
        }
        out
    }
}

/// A tag as it is compared: without `#` and slashes around it, in one case.
fn clean(tag: &str) -> String {
    fold(tag.trim().trim_start_matches('#').trim_matches('/'))
}

/// Which of the wanted tags this tag is, or lies below.
fn hits(wants: &[String], tag: &str) -> Vec<usize> {
    let tag = clean(tag);
    let below = |want: &String| {
        tag.strip_prefix(want.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    (0..wants.len()).filter(|at| below(&wants[*at])).collect()
}

/// Counts tags note by note. A spelling is known by its shared text's address, so each is folded once, not per note.
#[derive(Default)]
struct Counter {
    tags: Vec<TagCount>,
    places: HashMap<String, usize>,
    /// For every spelling, the places of its ancestors and itself.
    spellings: ByAddress<Vec<usize>>,
    /// For every place, the last note that was counted there.
    last: Vec<usize>,
    notes: usize,
}

impl Counter {
    fn add(&mut self, info: &FileInfo) {
        self.notes += 1;
        for tag in &info.tags {
            let spelling = address(&tag.name);
            if !self.spellings.contains_key(&spelling) {
                let places = self.places_of(&tag.name);
                self.spellings.insert(spelling, places);
            }
            for place in self.spellings.get(&spelling).into_iter().flatten() {
                self.tags[*place].occurrences += tag.uses as usize;
                if self.last[*place] != self.notes {
                    self.last[*place] = self.notes;
                    self.tags[*place].files += 1;
                }
            }
        }
    }

    fn places_of(&mut self, name: &str) -> Vec<usize> {
        let name = name.trim_matches('/');
        let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
        let names: Vec<&str> = ends.map(|end| &name[..end]).collect();
        names.into_iter().map(|name| self.place_of(name)).collect()
    }

    fn place_of(&mut self, name: &str) -> usize {
        *self.places.entry(fold(name)).or_insert_with(|| {
            self.tags.push(TagCount { name: name.to_owned(), occurrences: 0, files: 0 });
            self.last.push(0);
            self.tags.len() - 1
        })
    }
}
