//! The pages of a real vault through a view: what the view does not show is in no row, no link and no count.
//!
//! Pages are made from the catalog, many at a time under one look at it. A note's text is read only where a query asks
//! for lists, tasks or outgoing links and the note has any; then many are read at once.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::Value as Json;

use super::ast::Source;
use super::facts::Facts;
use super::fields::has_front_tag;
use super::page::{Around, Maker};
use super::pages::Pages;
use super::sieve::{Sieve, Sifted};
use super::value::Object;
use crate::catalog::{ByAddress, Catalog, FileInfo, Leads, TagInfo, Visible, address, threads};
use crate::error::{Error, Result};
use crate::note::links::LinkStyle;
use crate::path::{VaultFolder, VaultPath};
use crate::view::{CatalogView, View};

/// Below this many notes a second thread costs more than it brings.
const ALONE: usize = 16;
/// How deep groups of bookmarks may be nested.
const DEEPEST_BOOKMARKS: u32 = 32;

/// Where a target leads from a page; nothing where it leads nowhere.
type Targets = HashMap<(String, Option<VaultPath>), Option<VaultPath>>;

/// The pages that a view shows.
pub struct VaultPages<'v> {
    view: View<'v>,
    catalog: CatalogView<'v>,
    starred: HashSet<String>,
    /// Where a link without a page around it starts: the vault's root.
    root: Option<VaultPath>,
    targets: RefCell<Targets>,
}

impl<'v> VaultPages<'v> {
    /// The pages of a view as they are now.
    pub fn new(view: View<'v>) -> Result<VaultPages<'v>> {
        let mut starred = HashSet::new();
        if let Some(text) = view.machinery_text(".obsidian/bookmarks.json")
            && let Ok(bookmarks) = serde_json::from_str::<Json>(&text)
        {
            collect_bookmarks(&bookmarks, 0, &mut starred);
        }
        Ok(VaultPages {
            catalog: view.catalog()?,
            view,
            starred,
            root: VaultPath::parse("query.md").ok(),
            targets: RefCell::default(),
        })
    }

    fn notes(&self, wanted: impl Fn(&FileInfo) -> bool) -> Vec<VaultPath> {
        self.catalog.ask(|catalog, visible| {
            catalog.notes(visible).filter(|info| wanted(info)).map(|info| info.path.clone()).collect()
        })
    }

    /// What only the text of notes can tell, for those of which the query asks that; `None` for a note that is gone.
    fn facts(&self, paths: &[VaultPath], maker: &Maker) -> Result<Vec<Option<Facts>>> {
        let mut out: Vec<Option<Facts>> = Vec::with_capacity(paths.len());
        out.resize_with(paths.len(), || Some(Facts::default()));
        let needed: Vec<usize> = self.catalog.ask(|catalog, visible| {
            let found = catalog.get_all(paths, visible).into_iter().enumerate();
            let needs = |info: Option<&FileInfo>| info.is_some_and(|info| maker.needs_text(info));
            found.filter(|(_, info)| needs(*info)).map(|(place, _)| place).collect()
        });
        let read: Vec<OnceLock<Result<Option<Facts>>>> = needed.iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let view = self.view;
        let work = || {
            while let Some((slot, place)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                read.get(at).zip(needed.get(at))
            } {
                slot.set(read_facts(&view, &paths[*place])).ok();
            }
        };
        if needed.len() < ALONE {
            work();
        } else {
            std::thread::scope(|scope| {
                (1..threads()).for_each(|_| drop(scope.spawn(work)));
                work();
            });
        }
        for (slot, place) in read.into_iter().zip(needed) {
            out[place] = slot.into_inner().transpose()?.flatten();
        }
        Ok(out)
    }
}

/// Reads a note; nothing if it has gone since the catalog looked.
fn read_facts(view: &View<'_>, path: &VaultPath) -> Result<Option<Facts>> {
    match view.read(path) {
        Err(Error::Missing { .. }) => Ok(None),
        bytes => Ok(Some(Facts::read(&String::from_utf8_lossy(&bytes?)))),
    }
}

/// The files around a page, within what may be seen.
struct Seen<'c, 'v> {
    catalog: &'c Catalog,
    visible: Visible<'v>,
    leads: Leads<'c, 'v>,
    starred: &'v HashSet<String>,
}

impl Around for Seen<'_, '_> {
    fn resolve(&mut self, target: &str, from: &VaultPath) -> Option<VaultPath> {
        self.leads.resolve(LinkStyle::Wiki, target, from).cloned()
    }

    fn linking_to(&mut self, path: &VaultPath) -> Vec<VaultPath> {
        linking_to(self.catalog, path, self.visible)
    }

    fn is_starred(&self, path: &VaultPath) -> bool {
        self.starred.contains(path.as_str())
    }
}

fn linking_to(catalog: &Catalog, path: &VaultPath, visible: Visible<'_>) -> Vec<VaultPath> {
    let links = catalog.backlinks(path, visible);
    let mut from: Vec<VaultPath> = links.into_iter().map(|link| link.from.clone()).collect();
    from.dedup();
    from
}

impl Pages for VaultPages<'_> {
    fn all(&self) -> Vec<VaultPath> {
        self.notes(|_| true)
    }

    fn in_folder(&self, folder: &str) -> Option<Vec<VaultPath>> {
        let folder = VaultFolder::parse(folder).ok()?;
        self.catalog.ask(|catalog, visible| {
            let files = catalog.files_in(&folder, visible);
            let notes: Vec<VaultPath> =
                files.filter(|info| info.is_note()).map(|info| info.path.clone()).collect();
            let there = !notes.is_empty() || catalog.has_folder(&folder, visible);
            there.then_some(notes)
        })
    }

    fn tagged(&self, tag: &str) -> Vec<VaultPath> {
        let bears = bearing(tag);
        self.notes(bears)
    }

    fn sifted(&self, source: &Source, sieve: &Sieve) -> Option<Sifted> {
        self.catalog.ask(|catalog, visible| match source {
            Source::Tag(tag) => {
                let bears = bearing(tag);
                sieve.sift(catalog.notes(visible).filter(|info| bears(info)))
            }
            Source::Folder(folder) if folder.is_empty() => sieve.sift(catalog.notes(visible)),
            Source::Folder(folder) => {
                let folder = VaultFolder::parse(folder).ok()?;
                let found = sieve.sift(catalog.files_in(&folder, visible).filter(|info| info.is_note()))?;
                // It may be the name of a file.
                (found.looked_at > 0).then_some(found)
            }
            _ => None,
        })
    }

    fn file(&self, path: &str) -> Option<VaultPath> {
        let path = VaultPath::parse(path).ok()?;
        self.catalog.ask(|catalog, visible| catalog.get(&path, visible).map(|info| info.path.clone()))
    }

    fn resolve(&self, target: &str, from: Option<&VaultPath>) -> Option<VaultPath> {
        if target.is_empty() {
            return from.cloned();
        }
        let key = (target.to_owned(), from.cloned());
        if let Some(known) = self.targets.borrow().get(&key) {
            return known.clone();
        }
        let start = from.or(self.root.as_ref())?;
        let found = self
            .catalog
            .ask(|catalog, visible| catalog.leads(visible).resolve(LinkStyle::Wiki, target, start).cloned());
        self.targets.borrow_mut().insert(key, found.clone());
        found
    }

    fn linking_to(&self, path: &VaultPath) -> Vec<VaultPath> {
        self.catalog.ask(|catalog, visible| linking_to(catalog, path, visible))
    }

    fn linking_nowhere(&self, target: &str) -> Vec<VaultPath> {
        let plain = |text: &str| text == target;
        self.notes(|info| info.links.iter().any(|link| plain(&link.target)))
    }

    fn linked_from(&self, path: &VaultPath) -> Option<Vec<VaultPath>> {
        self.catalog.ask(|catalog, visible| {
            catalog.get(path, visible).filter(|info| info.is_note())?;
            let mut seen = HashSet::new();
            let links = catalog.outgoing(path, visible);
            let leads = links.into_iter().filter(|link| !link.link.target.is_empty());
            Some(leads.filter_map(|link| link.to.cloned()).filter(|to| seen.insert(to.clone())).collect())
        })
    }

    fn pages(&self, paths: &[VaultPath], maker: &Maker) -> Result<Vec<Option<Arc<Object>>>> {
        let wants = maker.wants();
        let nothing = Facts::default();
        let facts = match ["lists", "tasks", "outlinks"].iter().any(|part| wants.of_file(part)) {
            true => self.facts(paths, maker)?,
            false => Vec::new(),
        };
        Ok(self.catalog.ask(|catalog, visible| {
            let leads = catalog.leads(visible);
            let mut seen = Seen { catalog, visible, leads, starred: &self.starred };
            let found = catalog.get_all(paths, visible).into_iter().enumerate();
            let page = |(place, info): (usize, Option<&FileInfo>)| {
                let info = info.filter(|info| info.is_note())?;
                let facts = match facts.get(place) {
                    Some(read) => read.as_ref()?,
                    None => &nothing,
                };
                Some(Arc::new(maker.object(info, facts, &mut seen)))
            };
            found.map(page).collect()
        }))
    }

    fn csv(&self, path: &str) -> Result<Option<String>> {
        let Ok(path) = VaultPath::parse(path) else { return Ok(None) };
        match self.view.text_if_any(&path) {
            // What may not be read is not there.
            Err(Error::Forbidden { .. }) => Ok(None),
            other => other,
        }
    }
}

/// Whether a note bears a tag or one below it. For one look at the catalog: it shares equal names, so that each is
/// compared once.
fn bearing(tag: &str) -> impl Fn(&FileInfo) -> bool {
    let wanted = tag.trim_start_matches('#').to_lowercase();
    let known: RefCell<ByAddress<bool>> = RefCell::default();
    move |info| {
        let fits = |name: &str| is_below(name.trim_start_matches('#'), &wanted);
        let fits_name =
            |tag: &TagInfo| *known.borrow_mut().entry(address(&tag.name)).or_insert_with(|| fits(&tag.name));
        info.tags.iter().any(fits_name) || has_front_tag(&info.properties, &fits)
    }
}

/// Whether a tag is this one (in lower case) or one below it, in any case.
fn is_below(tag: &str, wanted: &str) -> bool {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with('/');
    match (tag.is_ascii(), tag.get(..wanted.len())) {
        (true, Some(start)) => start.eq_ignore_ascii_case(wanted) && ends(&tag[wanted.len()..]),
        (true, None) => false,
        (false, _) => tag.to_lowercase().strip_prefix(wanted).is_some_and(ends),
    }
}

fn collect_bookmarks(node: &Json, depth: u32, out: &mut HashSet<String>) {
    if depth > DEEPEST_BOOKMARKS {
        return;
    }
    for item in node["items"].as_array().into_iter().flatten() {
        if let (Some("file"), Some(path)) = (item["type"].as_str(), item["path"].as_str()) {
            out.insert(path.to_owned());
        }
        collect_bookmarks(item, depth + 1, out);
    }
}
