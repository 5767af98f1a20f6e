//! Findings that need the notes' texts: near duplicates, and notes that are about the same and not linked.

use std::collections::{HashMap, HashSet};

use super::mend::{self, Mend};
use super::twins::{self, Twins};
use super::{Finding, FindingKind, finding};
use crate::catalog::{Catalog, Leads, Visible};
use crate::files::Files;
use crate::path::VaultPath;

/// Two notes and how near they are in meaning, 1 is the same.
pub type Pair = (VaultPath, VaultPath, f32);

/// What was learned by reading the notes; made without a lock on the catalog, because reading takes a while.
pub struct Read {
    twins: Vec<Twins>,
    pairs: Vec<Pair>,
}

/// Reads the notes and looks for twins; `pairs` are the notes that are near in meaning, the nearest first.
pub fn read(files: &dyn Files, notes: &[VaultPath], pairs: Vec<Pair>) -> Read {
    Read { twins: twins::find(files, notes), pairs }
}

/// What the reading says about the vault as it is now.
pub fn check(catalog: &Catalog, visible: Visible<'_>, read: &Read) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        read.twins.iter().map(|twins| duplicate(twins, catalog, visible)).collect();
    let mut group: HashMap<&VaultPath, usize> = HashMap::new();
    for (number, twins) in read.twins.iter().enumerate() {
        group.extend(twins.paths.iter().map(|path| (path, number)));
    }
    let mut leads = catalog.leads(visible);
    let mut told = HashSet::new();
    for (one, other, nearness) in &read.pairs {
        let twins = group.get(one).is_some_and(|number| group.get(other) == Some(number));
        if !twins && !linked(&mut leads, one, other) && told.insert((one, other)) {
            findings.push(similar(&mut leads, one, other, *nearness));
        }
    }
    super::sort(&mut findings);
    findings
}

fn duplicate(twins: &Twins, catalog: &Catalog, visible: Visible<'_>) -> Finding {
    let message = match twins.same {
        true => format!("{} notes are the same", twins.paths.len()),
        false => format!("{} notes share {} % of their wording or more", twins.paths.len(), twins.percent),
    };
    let repair = Some("keep one: move into it what the others add, then delete them".to_owned());
    let links = |path: &VaultPath| catalog.backlinks(path, visible).len();
    let keep = twins.paths.iter().max_by_key(|path| (links(path), std::cmp::Reverse(path.as_str())));
    // Only an exact copy to which nothing links can go without a person's eyes on it.
    let spare = twins.paths.iter().filter(|path| twins.same && Some(*path) != keep && links(path) == 0);
    let mends = spare.map(|path| Mend::Delete { path: path.clone() }).collect();
    Finding { mends, ..finding(FindingKind::NearDuplicate, twins.paths.clone(), message, repair) }
}

fn similar(leads: &mut Leads<'_, '_>, one: &VaultPath, other: &VaultPath, nearness: f32) -> Finding {
    let message = format!("they are about the same ({nearness:.2}) and do not link to each other");
    let repair = Some(format!("link to `{other}` in `{one}`"));
    let mends = mend::see_also(leads, one, other).into_iter().collect();
    let paths = vec![one.clone(), other.clone()];
    Finding { mends, ..finding(FindingKind::SimilarUnlinked, paths, message, repair) }
}

fn linked(leads: &mut Leads<'_, '_>, one: &VaultPath, other: &VaultPath) -> bool {
    let mut leads_there =
        |from: &VaultPath, to: &VaultPath| leads.outgoing(from).iter().any(|out| out.to == Some(to));
    leads_there(one, other) || leads_there(other, one)
}
