//! Who links to whom. Links are resolved when somebody asks, among the files that the asker may see.

use super::keys::{Id, name_key};
use super::{Catalog, FileInfo, LinkInfo, Visible};
use crate::path::VaultPath;

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
        let Some(info) = self.get(path, visible) else { return Vec::new() };
        let leads = |link: &LinkInfo| self.resolve(&link.target, &info.path, visible);
        info.links.iter().map(|link| Outgoing { link, to: leads(link) }).collect()
    }

    /// The links that lead to a file, by source path and then in document order. Links of a note to itself are left out.
    pub fn backlinks(&self, path: &VaultPath, visible: Visible<'_>) -> Vec<Backlink<'_>> {
        if self.get(path, visible).is_none() {
            return Vec::new();
        }
        let key = name_key(path.as_str());
        let may_link = self.linking.get(key).iter().filter_map(|id: &Id| self.at(*id));
        let others = may_link.filter(|info| info.path != *path && visible.sees(&info.path));
        let mut sources: Vec<&FileInfo> = others.collect();
        sources.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        sources.into_iter().flat_map(|info| self.links_to(info, path, key, visible)).collect()
    }

    /// The file that a link in `from` leads to, among those that the asker may see.
    pub fn resolve(&self, target: &str, from: &VaultPath, visible: Visible<'_>) -> Option<&VaultPath> {
        if target.is_empty() {
            return self.get(from, visible).map(|info| &info.path);
        }
        let named = self.names.get(name_key(target)).iter().filter_map(|id| self.at(*id));
        let seen = named.map(|info| &info.path).filter(|path| visible.sees(path));
        choose(seen, target, from)
    }

    fn links_to<'a>(
        &'a self,
        info: &'a FileInfo,
        path: &VaultPath,
        key: u64,
        visible: Visible<'_>,
    ) -> Vec<Backlink<'a>> {
        let may_lead = |link: &&LinkInfo| !link.target.is_empty() && name_key(&link.target) == key;
        let leads = |link: &&LinkInfo| self.resolve(&link.target, &info.path, visible) == Some(path);
        let links = info.links.iter().filter(may_lead).filter(leads);
        links.map(|link| Backlink { from: &info.path, link }).collect()
    }
}

/// Of the files with the right last name, the one that Obsidian would open.
fn choose<'a>(
    named: impl Iterator<Item = &'a VaultPath>,
    target: &str,
    from: &VaultPath,
) -> Option<&'a VaultPath> {
    let wanted = super::fold(target.trim_start_matches("./"));
    let here = from.parent();
    let fits = |path: &&VaultPath| {
        let folded = super::fold(path.as_str());
        let plain = super::keys::without_note_extension(&folded).unwrap_or(&folded);
        [folded.as_str(), plain].into_iter().any(|whole| {
            whole.strip_suffix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })
    };
    named.filter(fits).min_by_key(|path| {
        let exact = super::fold(path.as_str()).starts_with(&wanted);
        (!exact, path.parent() != here, path.segments().count(), path.as_str().len(), *path)
    })
}
