//! Findings about sources: many notes on one subject that nearly all come from one site.
//!
//! A subject is a tag, or a note that others link to. A note's source is the first web address in its properties.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Finding, FindingKind, finding};
use crate::catalog::{Catalog, FileInfo, Visible};
use crate::path::VaultPath;

/// Fewer notes with a source than this say nothing about a subject.
const FEWEST: usize = 5;
/// From this share on, in percent, one site stands for the subject.
const SHARE: usize = 70;

pub(super) fn check(
    catalog: &Catalog,
    notes: &[&FileInfo],
    visible: Visible<'_>,
    findings: &mut Vec<Finding>,
) {
    let sources: HashMap<&VaultPath, String> =
        notes.iter().filter_map(|info| Some((&info.path, source(info)?))).collect();
    if sources.len() < FEWEST {
        return;
    }
    let mut told = BTreeSet::new();
    let mut tell = |subject: String, about: Vec<&VaultPath>| {
        if let Some(found) = one_domain(&subject, about, &sources)
            && told.insert(found.paths.clone())
        {
            findings.push(found);
        }
    };
    by_tag(notes, &sources).into_iter().for_each(|(tag, about)| tell(format!("`#{tag}`"), about));
    let mut leads = catalog.leads(visible);
    let mut by_link: BTreeMap<&VaultPath, Vec<&VaultPath>> = BTreeMap::new();
    for info in notes.iter().filter(|info| sources.contains_key(&info.path)) {
        let to: BTreeSet<&VaultPath> =
            leads.outgoing(&info.path).into_iter().filter_map(|out| out.to).collect();
        to.into_iter().for_each(|to| by_link.entry(to).or_default().push(&info.path));
    }
    by_link.into_iter().for_each(|(to, about)| tell(format!("`{to}`"), about));
}

fn by_tag<'a>(
    notes: &[&'a FileInfo],
    sources: &HashMap<&VaultPath, String>,
) -> BTreeMap<&'a str, Vec<&'a VaultPath>> {
    let mut tags: BTreeMap<&str, Vec<&VaultPath>> = BTreeMap::new();
    for info in notes.iter().filter(|info| sources.contains_key(&info.path)) {
        info.tags.iter().for_each(|tag| tags.entry(&tag.name).or_default().push(&info.path));
    }
    tags
}

fn one_domain(
    subject: &str,
    about: Vec<&VaultPath>,
    sources: &HashMap<&VaultPath, String>,
) -> Option<Finding> {
    let mut sites: BTreeMap<&str, Vec<&VaultPath>> = BTreeMap::new();
    for path in &about {
        sites.entry(sources.get(path)?).or_default().push(path);
    }
    let (site, paths) = sites.into_iter().max_by_key(|(_, paths)| paths.len())?;
    if about.len() < FEWEST || paths.len() * 100 < about.len() * SHARE {
        return None;
    }
    let message = format!("{} of {} notes about {subject} come from {site}", paths.len(), about.len());
    let repair = Some("add a note from another source, and link it here".to_owned());
    let mut paths: Vec<VaultPath> = paths.into_iter().cloned().collect();
    paths.sort();
    Some(finding(FindingKind::OneDomain, paths, message, repair))
}

/// The site of a note's source, without `www.`.
fn source(info: &FileInfo) -> Option<String> {
    info.properties.iter().flat_map(|(_, value)| value.texts()).find_map(site)
}

fn site(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#']).next()?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host).to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    (host.contains('.') && !host.contains(char::is_whitespace)).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::site;

    #[test]
    fn a_site_is_the_host_of_an_address() {
        for (text, expected) in [
            ("https://www.Example.org/a?b#c", Some("example.org")),
            ("http://me:secret@sub.example.org:80", Some("sub.example.org")),
            ("example.org", None),
            ("https://localhost/x", None),
            ("https:// spaced .org", None),
            ("", None),
        ] {
            assert_eq!(site(text).as_deref(), expected, "{text}");
        }
    }
}
