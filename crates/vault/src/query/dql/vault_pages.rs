//! The pages of a real vault through a view: what the view does not show is in no row, no link and no count.
//!
//! Pages are read when a query asks for them, each once per query. Facts of a note depend on its bytes alone, so a
//! store of them by path and stat can be put in front of [`Facts::read`] without changing anything here.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::date::Zone;
use super::page::{Facts, frontmatter_tags};
use super::pages::Pages;
use super::value::Object;
use crate::catalog::FileInfo;
use crate::error::{Error, Result};
use crate::note::links::LinkStyle;
use crate::path::{VaultFolder, VaultPath};
use crate::view::{CatalogView, View};

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
    pages: RefCell<HashMap<VaultPath, Option<Arc<Object>>>>,
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
            pages: RefCell::default(),
            targets: RefCell::default(),
        })
    }

    fn notes(&self, wanted: impl Fn(&FileInfo) -> bool) -> Vec<VaultPath> {
        self.catalog.ask(|catalog, visible| {
            catalog.notes(visible).filter(|info| wanted(info)).map(|info| info.path.clone()).collect()
        })
    }

    fn read(&self, path: &VaultPath, local: &Zone) -> Result<Option<Arc<Object>>> {
        let known = self.catalog.ask(|catalog, visible| {
            catalog.get(path, visible).filter(|info| info.is_note()).map(|info| info.stat)
        });
        let Some(stat) = known else { return Ok(None) };
        let bytes = match self.view.read(path) {
            // Gone since the catalog looked: then it is no page any more.
            Err(Error::Missing { .. }) => return Ok(None),
            other => other?,
        };
        let facts = Facts::read(path, stat, &String::from_utf8_lossy(&bytes), local);
        Ok(Some(Arc::new(facts.object(self, self.starred.contains(path.as_str()), local))))
    }
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
        let wanted = tag.trim_start_matches('#').to_lowercase();
        let fits = |name: &str| {
            let name = name.trim_start_matches('#').to_lowercase();
            name.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let in_front = |info: &FileInfo| {
            let named = |key: &str| key.eq_ignore_ascii_case("tag") || key.eq_ignore_ascii_case("tags");
            info.properties.iter().any(|(key, _)| named(key))
                && frontmatter_tags(&info.front()).iter().any(|tag| fits(tag))
        };
        self.notes(|info| info.tags.iter().any(|tag| fits(&tag.name)) || in_front(info))
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
        self.catalog.ask(|catalog, visible| {
            let links = catalog.backlinks(path, visible);
            let mut from: Vec<VaultPath> = links.into_iter().map(|link| link.from.clone()).collect();
            from.dedup();
            from
        })
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

    fn page(&self, path: &VaultPath, local: &Zone) -> Result<Option<Arc<Object>>> {
        if let Some(known) = self.pages.borrow().get(path) {
            return Ok(known.clone());
        }
        let page = self.read(path, local)?;
        self.pages.borrow_mut().insert(path.clone(), page.clone());
        Ok(page)
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
