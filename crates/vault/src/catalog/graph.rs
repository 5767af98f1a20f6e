//! Who links to whom. Links are resolved when somebody asks, among the files that the asker may see.

use std::collections::HashMap;
use std::ops::Range;

use super::changes::Changed;
use super::keys::{Id, name_key};
use super::remembered::{LONG, Links};
use super::{ByAddress, Catalog, FileInfo, LinkInfo, Visible, address};
use crate::links::Resolver;
use crate::note::links::LinkStyle;
use crate::path::VaultPath;

/// Among so few files of one name, looking at each is faster than asking the catalog.
const FEW: usize = 8;

/// A link of a note and where it leads.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing<'a> {
    /// The link.
    pub link: &'a LinkInfo,
    /// The file that it leads to; the note itself for `[[#Heading]]`; nothing if there is no such file.
    pub to: Option<&'a VaultPath>,
}

/// A note with its links to a file.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkingNote<'a> {
    /// The note.
    pub from: &'a VaultPath,
    /// The links, in document order; at least one.
    pub links: Vec<&'a LinkInfo>,
}

/// A link from another place to a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Backlink<'a> {
    /// The note that holds the link.
    pub from: &'a VaultPath,
    /// The link.
    pub link: &'a LinkInfo,
}

impl Catalog {
    /// The links of a note in document order; none if there is no such note.
    pub fn outgoing(&self, path: &VaultPath, visible: Visible<'_>) -> Vec<Outgoing<'_>> {
        self.leads(visible).outgoing(path)
    }

    /// The links that lead to a file, by source path and then in document order. Links of a note to itself are left out.
    pub fn backlinks(&self, path: &VaultPath, visible: Visible<'_>) -> Vec<Backlink<'_>> {
        let link = |(id, place): &(Id, u32)| {
            let info = self.at(*id)?;
            Some(Backlink { from: &info.path, link: info.links.get(*place as usize)? })
        };
        self.backlink_places(path, visible).iter().filter_map(link).collect()
    }

    /// The notes that link to a file, in path order: some of them with their links, and how many there are in all.
    pub fn linking_notes(
        &self,
        path: &VaultPath,
        some: Range<usize>,
        visible: Visible<'_>,
    ) -> (Vec<LinkingNote<'_>>, usize) {
        let links = self.backlink_places(path, visible);
        let (mut notes, mut total) = (Vec::new(), 0);
        // Only those that are wanted are looked at: of the most linked note that is one in twenty.
        for of_one in links.chunk_by(|a, b| a.0 == b.0) {
            if some.contains(&total)
                && let Some(info) = of_one.first().and_then(|(id, _)| self.at(*id))
            {
                let links = of_one.iter().filter_map(|(_, place)| info.links.get(*place as usize));
                notes.push(LinkingNote { from: &info.path, links: links.collect() });
            }
            total += 1;
        }
        (notes, total)
    }

    fn backlink_places(&self, path: &VaultPath, visible: Visible<'_>) -> Links {
        let Some(to) = self.place(path).ok().filter(|_| visible.sees(path)).map(|place| self.order[place])
        else {
            return Links::from([]);
        };
        let memory = visible.memory(&self.remembered);
        memory.and_then(|memory| memory.links(self, visible, to)).unwrap_or_else(|| {
            let links: Links = self.find_backlinks(path, visible).into();
            if let Some(memory) = memory.filter(|_| links.len() >= LONG) {
                memory.keep_links(self, visible, to, Links::clone(&links));
            }
            links
        })
    }

    fn find_backlinks(&self, path: &VaultPath, visible: Visible<'_>) -> Vec<(Id, u32)> {
        let key = name_key(path.as_str());
        let may_link = self.linking.get(key).filter_map(|id| Some((id, self.at(id)?)));
        let others = may_link.filter(|(_, info)| info.path != *path && visible.sees(&info.path));
        let mut sources: Vec<(Id, &FileInfo)> = others.collect();
        sources.sort_unstable_by(|(_, a), (_, b)| a.path.cmp(&b.path));
        let mut finding = Finding { leads: self.leads(visible), named: ByAddress::default(), path, key };
        let mut out = Vec::new();
        sources.into_iter().for_each(|(id, info)| finding.links_of(id, info, &mut out));
        out
    }

    /// The links to a file as they are after some changes; `None` if they must be found anew.
    pub(super) fn changed_backlinks(
        &self,
        to: Id,
        links: &Links,
        visible: Visible<'_>,
        changed: &[&Changed],
    ) -> Option<Links> {
        let path = &self.at(to)?.path;
        let key = name_key(path.as_str());
        for one in changed {
            let (old, new) = (one.old.as_ref().map(|old| &old.path), self.at(one.id).map(|info| &info.path));
            // A file of this name that came or went may be another end for any of the links.
            let is_rival =
                |other: Option<&VaultPath>| other.is_some_and(|other| name_key(other.as_str()) == key);
            if old != new && (one.id == to || is_rival(old) || is_rival(new)) {
                return None;
            }
        }
        let had = |id: Id| changed.iter().any(|one| one.id == id);
        let mut out: Vec<(Id, u32)> = links.iter().copied().filter(|(id, _)| !had(*id)).collect();
        let mut finding = Finding { leads: self.leads(visible), named: ByAddress::default(), path, key };
        for (id, info) in changed.iter().filter_map(|one| Some((one.id, self.at(one.id)?))) {
            if info.path == *path || !visible.sees(&info.path) {
                continue;
            }
            let mut fresh = Vec::new();
            finding.links_of(id, info, &mut fresh);
            let before = |(other, _): &(Id, u32)| self.at(*other).is_some_and(|other| other.path < info.path);
            let place = out.partition_point(before);
            out.splice(place..place, fresh);
        }
        Some(out.into())
    }

    /// Follows many links as one asker, so that what was looked up once is not looked up again.
    pub fn leads<'a, 'v>(&'a self, visible: Visible<'v>) -> Leads<'a, 'v> {
        Leads { catalog: self, visible, names: HashMap::new() }
    }
}

/// Looks for links to one file.
struct Finding<'a, 'v, 'p> {
    leads: Leads<'a, 'v>,
    /// Whether a target, known by its address, has the name of the file.
    named: ByAddress<bool>,
    path: &'p VaultPath,
    key: u64,
}

impl Finding<'_, '_, '_> {
    fn links_of(&mut self, id: Id, info: &FileInfo, out: &mut Vec<(Id, u32)>) {
        let key = self.key;
        for (link, place) in info.links.iter().zip(0..) {
            let is_named = || !link.target.is_empty() && name_key(&link.target) == key;
            let same = *self.named.entry(address(&link.target)).or_insert_with(is_named);
            if same && self.leads.follow(link, &info.path) == Some(self.path) {
                out.push((id, place));
            }
        }
    }
}

/// Where links lead, among the files that one asker may see.
pub struct Leads<'a, 'v> {
    catalog: &'a Catalog,
    visible: Visible<'v>,
    names: HashMap<u64, Named<'a>>,
}

/// The visible files of one name. A link can lead only to a file with its target's last name, so these few decide as
/// all files would, and a hidden one is not even a rival.
struct Named<'a> {
    resolver: Resolver,
    paths: Vec<&'a VaultPath>,
}

impl<'a> Leads<'a, '_> {
    /// The links of a note in document order; none if there is no such note.
    pub fn outgoing(&mut self, path: &VaultPath) -> Vec<Outgoing<'a>> {
        let Some(info) = self.catalog.get(path, self.visible) else { return Vec::new() };
        info.links.iter().map(|link| Outgoing { link, to: self.follow(link, &info.path) }).collect()
    }

    /// The file that a link in `from` leads to; `from` itself for a link without a target.
    pub fn follow(&mut self, link: &LinkInfo, from: &VaultPath) -> Option<&'a VaultPath> {
        self.resolve(link.style, &link.target, from)
    }

    /// The same for a target by itself.
    pub fn resolve(&mut self, style: LinkStyle, target: &str, from: &VaultPath) -> Option<&'a VaultPath> {
        let (catalog, visible) = (self.catalog, self.visible);
        if target.is_empty() {
            return catalog.get(from, visible).map(|info| &info.path);
        }
        let key = name_key(target);
        let named = self.names.entry(key).or_insert_with(|| {
            let files = catalog.names.get(key).filter_map(|id| catalog.at(id)).map(|info| &info.path);
            let paths: Vec<&VaultPath> = files.filter(|path| visible.sees(path)).collect();
            Named { resolver: Resolver::new(paths.iter().copied().cloned()), paths }
        });
        let path = named.resolver.resolve_as(style, target, from).path()?;
        match named.paths.len() <= FEW {
            true => named.paths.iter().copied().find(|known| *known == path),
            false => catalog.known(path).map(|info| &info.path),
        }
    }
}
