//! Findings about tags: one tag in several spellings, and tags that may be the same in singular and plural.

use std::collections::{BTreeMap, HashMap};

use super::mend::Mend;
use super::{Finding, FindingKind, finding};
use crate::catalog::{FileInfo, fold};
use crate::path::VaultPath;

/// A spelling with its uses and its notes.
type Spellings<'a> = BTreeMap<&'a str, (u32, Vec<&'a VaultPath>)>;

pub(super) fn check(notes: &[&FileInfo], findings: &mut Vec<Finding>) {
    let tags = by_key(notes);
    for spellings in tags.values().filter(|spellings| spellings.len() > 1) {
        findings.extend(variants(spellings));
    }
    let mut singular: BTreeMap<String, Vec<&Spellings<'_>>> = BTreeMap::new();
    for (key, spellings) in &tags {
        singular.entry(without_plural(key)).or_default().push(spellings);
    }
    for alike in singular.values().filter(|alike| alike.len() > 1) {
        findings.extend(plurals(alike));
    }
}

/// The spellings of every tag, by what they have in common. A spelling's text is folded once.
fn by_key<'a>(notes: &[&'a FileInfo]) -> BTreeMap<String, Spellings<'a>> {
    let mut keys: HashMap<&str, String> = HashMap::new();
    let mut tags: BTreeMap<String, Spellings<'a>> = BTreeMap::new();
    for info in notes {
        for tag in &info.tags {
            let key = keys.entry(&tag.name).or_insert_with(|| key(&tag.name)).clone();
            let (uses, paths) = tags.entry(key).or_default().entry(&tag.name).or_default();
            *uses += tag.uses;
            paths.push(&info.path);
        }
    }
    tags
}

/// What spellings of one tag have in common: case, `-` and `_` make no difference.
fn key(tag: &str) -> String {
    fold(tag).chars().filter(|letter| !matches!(letter, '-' | '_')).collect()
}

fn without_plural(key: &str) -> String {
    let singular = |name: &str| match name.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => name.to_owned(),
    };
    key.split('/').map(singular).collect::<Vec<_>>().join("/")
}

fn most_used<'a>(spellings: &Spellings<'a>) -> Option<&'a str> {
    let most = spellings.iter().max_by_key(|(name, (uses, _))| (*uses, std::cmp::Reverse(**name)));
    most.map(|(name, _)| *name)
}

fn named(spellings: &Spellings<'_>) -> String {
    let named = spellings.iter().map(|(name, (uses, _))| format!("`#{name}` ({uses})"));
    named.collect::<Vec<_>>().join(", ")
}

fn variants(spellings: &Spellings<'_>) -> Option<Finding> {
    let keep = most_used(spellings)?;
    let others = spellings.iter().filter(|(name, _)| **name != keep);
    let mut mends = Vec::new();
    for (from, (_, paths)) in others {
        let rename = |path: &&VaultPath| Mend::RenameTag {
            path: (*path).clone(),
            from: (*from).to_owned(),
            to: keep.to_owned(),
        };
        mends.extend(paths.iter().map(rename));
    }
    let mut paths: Vec<VaultPath> = mends.iter().map(|mend| mend.path().clone()).collect();
    paths.sort();
    paths.dedup();
    let message = format!("one tag is written in several ways: {}", named(spellings));
    let repair = Some(format!("write `#{keep}` in these notes too"));
    Some(Finding { mends, ..finding(FindingKind::TagVariant, paths, message, repair) })
}

/// Only a hint, never mended by itself: `#new` and `#news` are two things.
fn plurals(alike: &[&Spellings<'_>]) -> Option<Finding> {
    let mut all: Vec<&Spellings<'_>> = alike.to_vec();
    let uses = |spellings: &Spellings<'_>| spellings.values().map(|(uses, _)| *uses).sum::<u32>();
    all.sort_by_key(|spellings| std::cmp::Reverse(uses(spellings)));
    let keep = most_used(all.first()?)?;
    let rest = all.iter().skip(1).flat_map(|spellings| spellings.values());
    let mut paths: Vec<VaultPath> = rest.flat_map(|(_, paths)| paths.iter().copied().cloned()).collect();
    paths.sort();
    paths.dedup();
    let names = all.iter().map(|spellings| named(spellings)).collect::<Vec<_>>().join(", ");
    let message = format!("these tags may be one: {names}");
    let repair = Some(format!("if they are, write `#{keep}` in these notes too"));
    Some(finding(FindingKind::TagVariant, paths, message, repair))
}
