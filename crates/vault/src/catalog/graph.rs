//! Who links to whom. Links are resolved when somebody asks, among the files that the asker may see.

use std::collections::HashMap;

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
        let Some(to) = self.place(path).ok().filter(|_| visible.sees(path)).map(|place| self.order[place])
        else {
            return Vec::new();
        };
        let memory = visible.memory(&self.remembered);
        let links = memory.and_then(|memory| memory.links(self.state(), to)).unwrap_or_else(|| {
            let links: Links = self.find_backlinks(path, visible).into();
            if let Some(memory) = memory.filter(|_| links.len() >= LONG) {
                memory.keep_links(self.state(), to, links.clone());
            }
            links
        });
        let link = |(id, place): &(Id, u32)| {
            let info = self.at(*id)?;
            Some(Backlink { from: &info.path, link: info.links.get(*place as usize)? })
        };
        links.iter().filter_map(link).collect()
    }

    fn find_backlinks(&self, path: &VaultPath, visible: Visible<'_>) -> Vec<(Id, u32)> {
        let key = name_key(path.as_str());
        let may_link = self.linking.get(key).filter_map(|id| Some((id, self.at(id)?)));
        let others = may_link.filter(|(_, info)| info.path != *path && visible.sees(&info.path));
        let mut sources: Vec<(Id, &FileInfo)> = others.collect();
        sources.sort_unstable_by(|(_, a), (_, b)| a.path.cmp(&b.path));
        let mut leads = self.leads(visible);
        let mut named: ByAddress<bool> = ByAddress::default();
        let mut out = Vec::new();
        for (id, info) in sources {
            for (link, place) in info.links.iter().zip(0..) {
                let same = named
                    .entry(address(&link.target))
                    .or_insert_with(|| !link.target.is_empty() && name_key(&link.target) == key);
                if *same && leads.follow(link, &info.path) == Some(path) {
                    out.push((id, place));
                }
            }
        }
        out
    }

    /// Follows many links as one asker, so that what was looked up once is not looked up again.
    pub fn leads<'a, 'v>(&'a self, visible: Visible<'v>) -> Leads<'a, 'v> {
        Leads { catalog: self, visible, names: HashMap::new() }
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
