//! Findings about links: broken ones, orphans, hubs, and properties that are not answered.

use std::collections::{HashMap, HashSet};

use super::{Finding, FindingKind, HUB, finding};
use crate::catalog::{Catalog, FileInfo, LinkInfo, Visible, fold};
use crate::path::VaultPath;

pub(super) fn check(
    catalog: &Catalog,
    notes: &[&FileInfo],
    visible: Visible<'_>,
    findings: &mut Vec<Finding>,
) {
    let aliases: HashMap<String, &FileInfo> =
        notes.iter().flat_map(|info| info.aliases().into_iter().map(|alias| (fold(alias), *info))).collect();
    let mut graph = Graph::default();
    let mut leads = catalog.leads(visible);
    for info in notes {
        for out in leads.outgoing(&info.path) {
            match out.to {
                Some(to) if *to != info.path => graph.add(&info.path, to, out.link),
                Some(_) => {}
                None => findings.push(broken(&info.path, out.link, &aliases)),
            }
        }
    }
    graph.orphans(notes, findings);
    graph.hubs(findings);
    graph.unanswered(findings);
}

fn broken(from: &VaultPath, link: &LinkInfo, aliases: &HashMap<String, &FileInfo>) -> Finding {
    let repair = match aliases.get(&fold(&link.target)) {
        // Obsidian does not follow aliases by themselves; it writes the name in front.
        Some(named) => format!("write `[[{}|{}]]`", named.path.stem(), link.target),
        None => "create the note, point the link elsewhere, or remove it".to_owned(),
    };
    let message = format!("`{}` leads to nothing", link.target);
    let kind = FindingKind::BrokenLink;
    Finding { line: Some(link.line), ..finding(kind, vec![from.clone()], message, Some(repair)) }
}

/// Who links to whom, once per pair.
#[derive(Default)]
struct Graph<'a> {
    into: HashMap<&'a VaultPath, HashSet<&'a VaultPath>>,
    pairs: HashSet<(&'a VaultPath, &'a VaultPath)>,
    properties: Vec<(&'a VaultPath, &'a VaultPath, u32)>,
}

impl<'a> Graph<'a> {
    fn add(&mut self, from: &'a VaultPath, to: &'a VaultPath, link: &LinkInfo) {
        self.pairs.insert((from, to));
        self.into.entry(to).or_default().insert(from);
        if link.in_front && to.is_note() {
            self.properties.push((from, to, link.line));
        }
    }

    fn orphans(&self, notes: &[&FileInfo], findings: &mut Vec<Finding>) {
        let linking: HashSet<&VaultPath> = self.pairs.iter().map(|(from, _)| *from).collect();
        for info in notes {
            if linking.contains(&info.path) || self.into.contains_key(&info.path) {
                continue;
            }
            let message = "no note links to it, and it links to none".to_owned();
            let repair = Some("link to it from a note that it belongs to".to_owned());
            findings.push(finding(FindingKind::Orphan, vec![info.path.clone()], message, repair));
        }
    }

    fn hubs(&self, findings: &mut Vec<Finding>) {
        for (path, from) in self.into.iter().filter(|(path, from)| path.is_note() && from.len() > HUB) {
            let message = format!("{} notes link to it", from.len());
            findings.push(finding(FindingKind::Hub, vec![(*path).clone()], message, None));
        }
    }

    fn unanswered(&self, findings: &mut Vec<Finding>) {
        let mut told = HashSet::new();
        for (from, to, line) in &self.properties {
            if self.pairs.contains(&(*to, *from)) || !told.insert((from, to)) {
                continue;
            }
            let message = format!("a property links to `{to}`, which does not link back");
            let repair = Some(format!("add a link to `{from}` in `{to}`"));
            let paths = vec![(*from).clone(), (*to).clone()];
            let found = finding(FindingKind::MissingReciprocal, paths, message, repair);
            findings.push(Finding { line: Some(*line), ..found });
        }
    }
}
