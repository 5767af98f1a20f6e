//! The live catalog of a vault: every file with its headings, links, tags and properties, in memory.
//!
//! Built once on all cores, then kept fresh path by path ([`Live`], fed by our own writes and by [`crate::watch`]).
//! Views ask it everything that is not the text of a note; every question takes a [`Visible`], and what the asker
//! may not see is absent from answers, counts, suggestions and link resolution.
//! Nothing that depends on two files is stored (no resolved links, no tag counts), so a refresh touches one file's
//! facts only; `refresh_equals_rebuild` holds that. Answers over the whole vault are remembered, and the last few changes
//! are worked into them ([`remembered`], [`changes`]). Deliberately not here: note text, text search, Dataview.

mod addresses;
mod changes;
mod find;
mod gather;
mod graph;
mod info;
mod intern;
mod keys;
mod live;
mod load;
mod property;
mod remembered;
mod stats;
mod tags;
mod update;
mod visible;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use find::Lookup;
pub use graph::{Backlink, Leads, LinkingNote, Outgoing};
pub use info::{FileInfo, HeadingInfo, LinkInfo, Problem, TagInfo};
pub use live::Live;
pub use property::Property;
pub use stats::Stats;
pub use tags::{Match, TagCount, Tagged};
pub use update::Update;
pub use visible::Visible;

pub(crate) use addresses::{ByAddress, address};
pub(crate) use gather::Gathering;
pub(crate) use load::threads;
pub(crate) use remembered::Remembered;

/// Properties as the catalog keeps them, for whoever has them from elsewhere.
pub(crate) fn kept_properties(map: &serde_json::Map<String, serde_json::Value>) -> Box<[(Text, Property)]> {
    property::keep_map(map, &intern::Interner::default())
}

/// A note as the catalog keeps it, from its text.
#[cfg(test)]
pub(crate) fn info_of(entry: crate::files::Entry, text: &str) -> FileInfo {
    FileInfo::read(entry, &intern::Interner::default(), |_| Ok(text.as_bytes()))
}

pub(crate) fn fold(text: &str) -> String {
    crate::links::fold(text).into_owned()
}

use crate::error::Result;
use crate::files::Files;
use crate::path::{VaultFolder, VaultPath};
use crate::text::Text;
use changes::Changes;
use intern::Interner;
use keys::{Id, KeyIndex, name_key};
use remembered::{Number, State};

/// Everything known about the files of a vault.
#[derive(Debug, Default)]
pub struct Catalog {
    slots: Vec<Option<FileInfo>>,
    free: Vec<Id>,
    /// The ids of all files in path order. A sorted list, because a tree by path would hold every path a second time.
    order: Vec<Id>,
    folders: BTreeSet<VaultPath>,
    /// Files by their own name.
    names: KeyIndex,
    /// Notes by the names that they link to.
    linking: KeyIndex,
    interner: Arc<Interner>,
    generation: u64,
    replaced: usize,
    number: Number,
    changes: Changes,
    /// The answers of those who see everything.
    remembered: Remembered,
}

impl Catalog {
    /// Reads the whole vault.
    pub fn build(files: &dyn Files) -> Result<Catalog> {
        let mut catalog = Catalog::default();
        catalog.refresh_all(files)?;
        Ok(catalog)
    }

    /// Looks again at these paths, whatever was known of them: files, or folders with all that is in them.
    pub fn refresh(&mut self, files: &dyn Files, changed: &[VaultPath]) -> Result<()> {
        let update = self.look_at(files, changed)?;
        self.apply(update);
        Ok(())
    }

    /// Walks the vault and looks again at every file whose size, time or number differs.
    pub fn refresh_all(&mut self, files: &dyn Files) -> Result<()> {
        // Not by way of an `Update`: a first build would hold every file twice.
        let found = update::Found::whole_vault(self, files)?;
        self.forget(&found);
        if self.order.is_empty() {
            self.fill(&found, files);
        } else {
            let interner = Arc::clone(&self.interner);
            found.load(files, &interner, |info| self.put(info));
        }
        self.finish();
        Ok(())
    }

    /// Takes in what [`Catalog::look_at`] or [`Catalog::look_at_all`] found.
    pub fn apply(&mut self, update: Update) {
        if update.is_empty() {
            return;
        }
        self.forget(&update.found);
        update.loaded.into_iter().for_each(|info| self.put(info));
        self.finish();
    }

    /// Goes up whenever something in the catalog may have changed.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Which catalog this is, and between which changes.
    fn state(&self) -> State {
        (self.number.0, self.generation)
    }

    /// The file at exactly this path.
    pub fn get(&self, path: &VaultPath, visible: Visible<'_>) -> Option<&FileInfo> {
        self.known(path).filter(|info| visible.sees(&info.path))
    }

    /// The files at exactly these paths; quick where they come in path order.
    pub fn get_all<'a>(&'a self, paths: &[VaultPath], visible: Visible<'_>) -> Vec<Option<&'a FileInfo>> {
        let mut next = 0;
        let one = |path: &VaultPath| {
            let here =
                self.order.get(next).and_then(|id| self.at(*id)).is_some_and(|info| info.path == *path);
            let place = if here { next } else { self.place_near(path, next)? };
            next = place + 1;
            self.at(self.order[place]).filter(|info| visible.sees(&info.path))
        };
        paths.iter().map(one).collect()
    }

    /// All files, in path order.
    pub fn files<'a>(&'a self, visible: Visible<'_>) -> impl Iterator<Item = &'a FileInfo> {
        self.order.iter().filter_map(|id| self.at(*id)).filter(move |info| visible.sees(&info.path))
    }

    /// All notes, in path order.
    pub fn notes<'a>(&'a self, visible: Visible<'_>) -> impl Iterator<Item = &'a FileInfo> {
        self.files(visible).filter(|info| info.is_note())
    }

    /// The files in one folder, at any depth, in path order.
    pub fn files_in<'a: 'q, 'q>(
        &'a self,
        folder: &'q VaultFolder,
        visible: Visible<'q>,
    ) -> Box<dyn Iterator<Item = &'a FileInfo> + 'q> {
        let Some(start) = folder.path() else { return Box::new(self.files(visible)) };
        // Sorted by bytes: `a.md` and `a-b/` lie between `a` and `a/x`, so the range ends where names stop to start so.
        let first = self.place(start).unwrap_or_else(|place| place);
        let range = self.order[first..].iter().filter_map(|id| self.at(*id));
        let range = range.take_while(move |info| info.path.as_str().starts_with(start.as_str()));
        Box::new(range.filter(move |info| info.path.is_in(folder) && visible.sees(&info.path)))
    }

    /// All folders, in path order.
    pub fn folders<'a>(&'a self, visible: Visible<'_>) -> impl Iterator<Item = &'a VaultPath> {
        self.folders.iter().filter(move |path| visible.sees(path))
    }

    /// Whether there is such a folder; the root always is.
    pub fn has_folder(&self, folder: &VaultFolder, visible: Visible<'_>) -> bool {
        folder.path().is_none_or(|path| self.folders.contains(path) && visible.sees(path))
    }

    fn at(&self, id: Id) -> Option<&FileInfo> {
        self.slots.get(id as usize)?.as_ref()
    }

    /// Where the path stands in the order, or where it would.
    fn place(&self, path: &VaultPath) -> std::result::Result<usize, usize> {
        self.order.binary_search_by(|id| self.at(*id).map(|info| &info.path).cmp(&Some(path)))
    }

    /// Where the path stands, looked for behind a place first, in steps that grow.
    fn place_near(&self, path: &VaultPath, from: usize) -> Option<usize> {
        let before = |place: usize| {
            self.order.get(place).and_then(|id| self.at(*id)).is_some_and(|info| info.path < *path)
        };
        if !before(from) {
            return self.place(path).ok();
        }
        let (mut low, mut step) = (from, 1);
        while before(low + step) {
            low += step;
            step *= 2;
        }
        let high = (low + step + 1).min(self.order.len());
        let found =
            self.order[low..high].binary_search_by(|id| self.at(*id).map(|info| &info.path).cmp(&Some(path)));
        found.ok().map(|place| low + place)
    }

    fn known(&self, path: &VaultPath) -> Option<&FileInfo> {
        self.at(self.order[self.place(path).ok()?])
    }

    fn forget(&mut self, found: &update::Found) {
        let gone = found.gone.iter().filter_map(|path| self.place(path).ok());
        let gone: Vec<Id> = gone.map(|place| self.order[place]).collect();
        gone.iter().for_each(|id| self.clear(*id));
        if !gone.is_empty() {
            let slots = &self.slots;
            self.order.retain(|id| slots[*id as usize].is_some());
        }
        found.gone_folders.iter().for_each(|path| {
            self.folders.remove(path);
        });
        self.folders.extend(found.folders.iter().cloned());
    }

    /// Takes in the first files of all: sorted once, and lying in memory as they are asked for.
    fn fill(&mut self, found: &update::Found, files: &dyn Files) {
        let mut infos = Vec::with_capacity(found.fresh.len());
        found.load(files, &self.interner, |info| infos.push(info));
        self.take_first(infos);
    }

    /// A catalog of files that were read already.
    fn of(infos: Vec<FileInfo>, folders: Vec<VaultPath>, interner: Arc<Interner>) -> Catalog {
        let mut catalog = Catalog { interner, ..Catalog::default() };
        catalog.folders.extend(folders.into_iter().filter(|path| !path.is_hidden()));
        catalog.take_first(infos.into_iter().filter(|info| !info.path.is_hidden()).collect());
        catalog.finish();
        catalog
    }

    fn take_first(&mut self, mut infos: Vec<FileInfo>) {
        infos.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        infos.dedup_by(|a, b| a.path == b.path);
        self.order = (0..infos.len() as Id).collect();
        self.free.clear();
        let all = || infos.iter().zip(0..);
        self.names = KeyIndex::of(all().map(|(info, id)| (name_key(info.path.as_str()), id)));
        self.linking =
            KeyIndex::of(all().flat_map(|(info, id)| link_keys(info).into_iter().map(move |key| (key, id))));
        self.slots = infos.into_iter().map(Some).collect();
        self.changes.all(self.generation + 1);
    }

    fn put(&mut self, info: FileInfo) {
        let id = match self.place(&info.path) {
            Ok(place) => {
                let id = self.order[place];
                self.clear(id);
                self.free.pop().unwrap_or(id)
            }
            Err(place) => {
                let id = self.free.pop().unwrap_or(self.slots.len() as Id);
                self.order.insert(place, id);
                self.changes.add(self.generation + 1, id, None);
                id
            }
        };
        self.index(&info, id);
        match self.slots.get_mut(id as usize) {
            Some(slot) => *slot = Some(info),
            None => self.slots.push(Some(info)),
        }
    }

    fn index(&mut self, info: &FileInfo, id: Id) {
        self.names.insert(name_key(info.path.as_str()), id);
        link_keys(info).into_iter().for_each(|key| self.linking.insert(key, id));
    }

    /// Empties a slot; the order still names it.
    fn clear(&mut self, id: Id) {
        let Some(info) = self.slots.get_mut(id as usize).and_then(Option::take) else { return };
        self.names.remove(name_key(info.path.as_str()), id);
        link_keys(&info).into_iter().for_each(|key| self.linking.remove(key, id));
        self.changes.add(self.generation + 1, id, Some(info));
        self.free.push(id);
        self.replaced += 1;
    }

    fn finish(&mut self) {
        self.generation += 1;
        // Sweeping looks at every shared text, so it waits until enough of them may have gone.
        if self.replaced > 1_000 + self.slots.len() / 2 {
            self.interner.sweep();
            self.replaced = 0;
        }
    }
}

/// The keys of everything the file links to, each once.
fn link_keys(info: &FileInfo) -> Vec<u64> {
    let targets = info.links.iter().filter(|link| !link.target.is_empty());
    let mut keys: Vec<u64> = targets.map(|link| name_key(&link.target)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests;
