//! Findings about links: broken ones, orphans, hubs, and properties that are not answered.

use std::collections::{HashMap, HashSet};

use super::mend::{self, Mend};
use super::{Finding, FindingKind, HUB, finding};
use crate::catalog::{Catalog, FileInfo, Leads, LinkInfo, Visible, fold};
use crate::path::VaultPath;

/// So many links to a note make others rely on it.
const RELIED_ON: usize = 10;
/// So much older than half of the notes that link to it, and a note was left behind: 180 days in nanoseconds.
const LEFT_BEHIND: i64 = 180 * 86_400 * 1_000_000_000;

pub(super) fn check(
    catalog: &Catalog,
    notes: &[&FileInfo],
    visible: Visible<'_>,
    findings: &mut Vec<Finding>,
) {
    let aliases: HashMap<String, &FileInfo> =
        notes.iter().flat_map(|info| info.aliases().into_iter().map(|alias| (fold(alias), *info))).collect();
    let mut graph = Graph::new(notes);
    let mut leads = catalog.leads(visible);
    for (from, info) in notes.iter().enumerate() {
        for out in leads.outgoing(&info.path) {
            match out.to {
                Some(to) => graph.add(from, to, out.link),
                None => findings.push(broken(&info.path, out.link, &aliases)),
            }
        }
    }
    graph.finish();
    graph.orphans(findings);
    graph.hubs(findings);
    graph.stale(findings);
    graph.unanswered(&mut leads, findings);
}

fn broken(from: &VaultPath, link: &LinkInfo, aliases: &HashMap<String, &FileInfo>) -> Finding {
    let named = aliases.get(&fold(&link.target));
    let repair = match named {
        // Obsidian does not follow aliases by themselves; it writes the name in front.
        Some(named) => format!("write `[[{}|{}]]`", named.path.stem(), link.target),
        None => "create the note, point the link elsewhere, or remove it".to_owned(),
    };
    let message = format!("`{}` leads to nothing", link.target);
    let found = finding(FindingKind::BrokenLink, vec![from.clone()], message, Some(repair));
    let mends = named.map(|named| Mend::Relink {
        path: from.clone(),
        target: link.target.to_string(),
        to: named.path.stem().to_owned(),
    });
    Finding { line: Some(link.line), mends: mends.into_iter().collect(), ..found }
}

/// Which note links to which; a note is its place in the list of notes.
struct Graph<'a> {
    notes: &'a [&'a FileInfo],
    /// Where each path of the catalog stands in the list; there is one such path per note, so its address will do.
    places: HashMap<*const VaultPath, usize>,
    /// From and to, each pair once, sorted.
    pairs: Vec<(usize, usize)>,
    /// How many notes link to each.
    inbound: Vec<usize>,
    /// Links in properties: from, to, line.
    properties: Vec<(usize, usize, u32)>,
}

impl<'a> Graph<'a> {
    fn new(notes: &'a [&'a FileInfo]) -> Graph<'a> {
        let places = notes.iter().enumerate().map(|(at, info)| (&raw const info.path, at)).collect();
        Graph { notes, places, pairs: Vec::new(), inbound: vec![0; notes.len()], properties: Vec::new() }
    }

    fn add(&mut self, from: usize, to: &VaultPath, link: &LinkInfo) {
        let Some(to) = self.places.get(&std::ptr::from_ref(to)).copied().filter(|to| *to != from) else {
            return;
        };
        self.pairs.push((from, to));
        if link.in_front {
            self.properties.push((from, to, link.line));
        }
    }

    fn finish(&mut self) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        for (_, to) in &self.pairs {
            self.inbound[*to] += 1;
        }
    }

    fn path(&self, at: usize) -> VaultPath {
        self.notes[at].path.clone()
    }

    fn orphans(&self, findings: &mut Vec<Finding>) {
        let mut alone: Vec<bool> = self.inbound.iter().map(|count| *count == 0).collect();
        self.pairs.iter().for_each(|(from, _)| alone[*from] = false);
        for at in (0..alone.len()).filter(|at| alone[*at]) {
            let message = "no note links to it, and it links to none".to_owned();
            let repair = Some("link to it from a note that it belongs to".to_owned());
            findings.push(finding(FindingKind::Orphan, vec![self.path(at)], message, repair));
        }
    }

    fn hubs(&self, findings: &mut Vec<Finding>) {
        for (at, count) in self.inbound.iter().enumerate().filter(|(_, count)| **count > HUB) {
            let message = format!("{count} notes link to it");
            let repair = Some("split it by subject, and let each link lead to its part".to_owned());
            findings.push(finding(FindingKind::Hub, vec![self.path(at)], message, repair));
        }
    }

    /// Notes on which many rely and that stayed as they were while those moved on. Compared with its neighbours and not
    /// with the clock: an archive that nobody touches any more is no finding.
    fn stale(&self, findings: &mut Vec<Finding>) {
        let mut times: HashMap<usize, Vec<i64>> = HashMap::new();
        for (from, to) in &self.pairs {
            if self.inbound[*to] >= RELIED_ON {
                times.entry(*to).or_default().push(self.notes[*from].stat.modified_ns);
            }
        }
        for (at, mut times) in times {
            let middle = times.len() / 2;
            let (_, median, _) = times.select_nth_unstable(middle);
            let behind = median.saturating_sub(self.notes[at].stat.modified_ns);
            if behind > LEFT_BEHIND {
                let days = behind / 86_400_000_000_000;
                let message = format!(
                    "{} notes link to it, and half of them were changed {days} days after it or later",
                    times.len()
                );
                let repair = Some("read it again, and bring it up to date or mark it as done".to_owned());
                findings.push(finding(FindingKind::StaleHub, vec![self.path(at)], message, repair));
            }
        }
    }

    fn unanswered(&self, leads: &mut Leads<'_, '_>, findings: &mut Vec<Finding>) {
        let mut told = HashSet::new();
        for (from, to, line) in &self.properties {
            if self.pairs.binary_search(&(*to, *from)).is_ok() || !told.insert((from, to)) {
                continue;
            }
            let (from, to) = (self.path(*from), self.path(*to));
            let message = format!("a property links to `{to}`, which does not link back");
            let repair = Some(format!("add a link to `{from}` in `{to}`"));
            let mends = mend::see_also(leads, &to, &from);
            let found = finding(FindingKind::MissingReciprocal, vec![from, to], message, repair);
            findings.push(Finding { line: Some(*line), mends: mends.into_iter().collect(), ..found });
        }
    }
}
