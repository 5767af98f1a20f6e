//! Findings about names: notes that share one, and aliases that name somebody else too.

use std::collections::BTreeMap;

use super::{Finding, FindingKind, finding};
use crate::catalog::{FileInfo, fold};
use crate::path::VaultPath;

pub(super) fn check(notes: &[&FileInfo], findings: &mut Vec<Finding>) {
    let mut names: BTreeMap<String, Vec<&VaultPath>> = BTreeMap::new();
    let mut aliases: BTreeMap<String, Vec<(&str, &VaultPath)>> = BTreeMap::new();
    for info in notes {
        names.entry(fold(info.path.stem())).or_default().push(&info.path);
        for alias in info.aliases() {
            aliases.entry(fold(alias)).or_default().push((alias, &info.path));
        }
    }
    for paths in names.values().filter(|paths| paths.len() > 1) {
        let message = format!("{} notes are called `{}`", paths.len(), paths[0].stem());
        let repair = Some("rename one of them, or link with the folder in front".to_owned());
        findings.push(finding(
            FindingKind::DuplicateName,
            paths.iter().copied().cloned().collect(),
            message,
            repair,
        ));
    }
    for (key, users) in &aliases {
        let named = names.get(key).into_iter().flatten().copied();
        let mut paths: Vec<VaultPath> = users.iter().map(|(_, path)| *path).chain(named).cloned().collect();
        paths.sort();
        paths.dedup();
        if paths.len() > 1 {
            let message = format!("the alias `{}` names {} notes", users[0].0, paths.len());
            let repair = Some("change the alias in all but one of them".to_owned());
            findings.push(finding(FindingKind::DuplicateAlias, paths, message, repair));
        }
    }
}
