//! Tags over the whole vault: how often each is used, and which notes carry one.

use std::collections::HashMap;

use super::{ByAddress, Catalog, FileInfo, TagInfo, Visible, address, fold};
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
        if let Some(known) = memory.and_then(|memory| memory.tags(self, visible)) {
            return known;
        }
        let mut counter = Counter::default();
        self.notes(visible).for_each(|info| counter.add(info));
        let tags = counter.table.list();
        if let Some(memory) = memory {
            memory.keep_tags(self, visible, counter.table);
        }
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

/// Every tag with its count, ancestors too.
#[derive(Debug, Default)]
pub(super) struct TagTable {
    tags: Vec<Counted>,
    places: HashMap<String, usize>,
}

#[derive(Debug)]
struct Counted {
    count: TagCount,
    /// Whether all who use it write it as its name stands there.
    uniform: bool,
}

impl TagTable {
    /// The tags that are used, most used first and then by name.
    pub(super) fn list(&self) -> Vec<TagCount> {
        let used = self.tags.iter().map(|tag| &tag.count).filter(|tag| tag.files > 0);
        let mut tags: Vec<&TagCount> = used.collect();
        tags.sort_unstable_by(|a, b| b.occurrences.cmp(&a.occurrences).then_with(|| a.name.cmp(&b.name)));
        tags.into_iter().cloned().collect()
    }

    /// Takes the tags of a note out and others in; `None` if only a count of all notes can tell who writes a name first.
    pub(super) fn exchange(&mut self, old: &[TagInfo], new: &[TagInfo]) -> Option<()> {
        for (place, uses) in self.uses(old)? {
            let count = &mut self.tags[place].count;
            count.occurrences = count.occurrences.checked_sub(uses)?;
            count.files = count.files.checked_sub(1)?;
        }
        for (place, uses) in self.uses(new)? {
            let count = &mut self.tags[place].count;
            count.occurrences += uses;
            count.files += 1;
        }
        Some(())
    }

    /// How often each tag stands in a note; `None` if one is written in more than one way.
    fn uses(&mut self, tags: &[TagInfo]) -> Option<Vec<(usize, usize)>> {
        let mut uses: Vec<(usize, usize)> = Vec::new();
        for tag in tags {
            for name in with_ancestors(&tag.name) {
                let place = self.place_of(name);
                let known = &mut self.tags[place];
                if known.count.files == 0 && uses.iter().all(|(other, _)| *other != place) {
                    (known.count.name, known.uniform) = (name.to_owned(), true);
                }
                if !known.uniform || known.count.name != name {
                    return None;
                }
                match uses.iter_mut().find(|(other, _)| *other == place) {
                    Some((_, uses)) => *uses += tag.uses as usize,
                    None => uses.push((place, tag.uses as usize)),
                }
            }
        }
        Some(uses)
    }

    fn place_of(&mut self, name: &str) -> usize {
        *self.places.entry(fold(name)).or_insert_with(|| {
            let count = TagCount { name: name.to_owned(), occurrences: 0, files: 0 };
            self.tags.push(Counted { count, uniform: true });
            self.tags.len() - 1
        })
    }
}

/// A tag with those above it: `a`, `a/b`, `a/b/c`.
fn with_ancestors(name: &str) -> impl Iterator<Item = &str> {
    let name = name.trim_matches('/');
    name.match_indices('/').map(|(at, _)| at).chain([name.len()]).map(|end| &name[..end])
}

/// Counts tags note by note. A spelling is known by its shared text's address, so each is folded once, not per note.
#[derive(Default)]
struct Counter {
    table: TagTable,
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
                let places = with_ancestors(&tag.name).map(|name| self.place_of(name)).collect();
                self.spellings.insert(spelling, places);
            }
            for place in self.spellings.get(&spelling).into_iter().flatten() {
                let count = &mut self.table.tags[*place].count;
                count.occurrences += tag.uses as usize;
                if self.last[*place] != self.notes {
                    self.last[*place] = self.notes;
                    count.files += 1;
                }
            }
        }
    }

    fn place_of(&mut self, name: &str) -> usize {
        let place = self.table.place_of(name);
        self.last.resize(self.table.tags.len(), 0);
        let known = &mut self.table.tags[place];
        known.uniform &= known.count.name == name;
        place
    }
}
