//! What is wrong or odd in a vault, found from the catalog alone: no embeddings, no model, no reading of files.
//!
//! `verger health` and the `vault_health_check` tool show the findings. Checking only reads; every finding that an
//! ordinary edit mends says which one, and making that edit goes the ordinary road. Deliberately not here: repairs.

mod links;
mod names;

use std::collections::{BTreeMap, HashMap};

use crate::catalog::{Catalog, FileInfo, Problem, Visible, fold};
use crate::path::VaultPath;

/// More links to one note than this make it a hub.
const HUB: usize = 50;

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Front matter that is not valid YAML.
    InvalidFrontMatter,
    /// A note that cannot be read, or is not UTF-8.
    Unreadable,
    /// A link to a file that is not there.
    BrokenLink,
    /// Notes with the same name, between which a bare link must guess.
    DuplicateName,
    /// An alias that another note has too, as its name or alias.
    DuplicateAlias,
    /// One tag in several cases.
    TagCase,
    /// A note without any text.
    EmptyNote,
    /// A note that no note links to and that links to none.
    Orphan,
    /// A property links to a note that does not link back.
    MissingReciprocal,
    /// A note that very many notes link to.
    Hub,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something does not work.
    Error,
    /// Something may mislead.
    Warning,
    /// Worth knowing.
    Info,
}

/// Something wrong or odd.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// The notes it is about, in path order.
    pub paths: Vec<VaultPath>,
    /// The line in the first of them, where there is one.
    pub line: Option<u32>,
    /// What is the matter.
    pub message: String,
    /// The ordinary edit that mends it, if one does.
    pub repair: Option<String>,
}

impl FindingKind {
    /// How much findings of this kind matter.
    pub fn severity(self) -> Severity {
        match self {
            FindingKind::InvalidFrontMatter | FindingKind::Unreadable | FindingKind::BrokenLink => {
                Severity::Error
            }
            FindingKind::DuplicateName | FindingKind::DuplicateAlias | FindingKind::TagCase => {
                Severity::Warning
            }
            FindingKind::EmptyNote
            | FindingKind::Orphan
            | FindingKind::MissingReciprocal
            | FindingKind::Hub => Severity::Info,
        }
    }
}

/// Looks at everything the asker may see. Sorted by kind, then path and line; nothing is cut off.
pub fn check(catalog: &Catalog, visible: Visible<'_>) -> Vec<Finding> {
    let notes: Vec<&FileInfo> = catalog.notes(visible).collect();
    let mut findings = Vec::new();
    notes.iter().for_each(|info| problems(info, &mut findings));
    links::check(catalog, &notes, visible, &mut findings);
    names::check(&notes, &mut findings);
    tag_cases(&notes, &mut findings);
    // Stable: findings of one kind about one note stay in the order of its text.
    findings.sort_by(|a, b| (a.kind, &a.paths, a.line).cmp(&(b.kind, &b.paths, b.line)));
    findings
}

/// How many findings there are of each kind.
pub fn counts(findings: &[Finding]) -> BTreeMap<FindingKind, usize> {
    findings.iter().fold(BTreeMap::new(), |mut counts, finding| {
        *counts.entry(finding.kind).or_default() += 1;
        counts
    })
}

fn finding(kind: FindingKind, paths: Vec<VaultPath>, message: String, repair: Option<String>) -> Finding {
    Finding { kind, severity: kind.severity(), paths, line: None, message, repair }
}

fn problems(info: &FileInfo, findings: &mut Vec<Finding>) {
    let path = || vec![info.path.clone()];
    for problem in &info.problems {
        findings.push(match problem {
            Problem::Front(message) => finding(
                FindingKind::InvalidFrontMatter,
                path(),
                message.to_string(),
                Some("mend the YAML between the `---` lines by a text edit".to_owned()),
            ),
            Problem::NotText => finding(
                FindingKind::Unreadable,
                path(),
                "the note is not valid UTF-8".to_owned(),
                Some("save it as UTF-8 with the program that wrote it".to_owned()),
            ),
            Problem::Unreadable(message) => {
                finding(FindingKind::Unreadable, path(), message.to_string(), None)
            }
        });
    }
    if info.blank && info.properties.is_empty() && info.problems.is_empty() {
        let repair = Some("delete the note, or write something in it".to_owned());
        findings.push(finding(FindingKind::EmptyNote, path(), "the note is empty".to_owned(), repair));
    }
}

fn tag_cases(notes: &[&FileInfo], findings: &mut Vec<Finding>) {
    // Per folded tag, its spellings with their uses and notes. A spelling's text is folded once.
    let mut folded: HashMap<&str, String> = HashMap::new();
    let mut tags: BTreeMap<String, BTreeMap<&str, (u32, Vec<&VaultPath>)>> = BTreeMap::new();
    for info in notes {
        for tag in &info.tags {
            let key = folded.entry(&tag.name).or_insert_with(|| fold(&tag.name)).clone();
            let (uses, paths) = tags.entry(key).or_default().entry(&tag.name).or_default();
            *uses += tag.uses;
            paths.push(&info.path);
        }
    }
    for spellings in tags.into_values().filter(|spellings| spellings.len() > 1) {
        let most = spellings.iter().max_by_key(|(name, (uses, _))| (*uses, std::cmp::Reverse(**name)));
        let Some((keep, _)) = most else { continue };
        let named = spellings.iter().map(|(name, (uses, _))| format!("`#{name}` ({uses})"));
        let named = named.collect::<Vec<_>>().join(", ");
        let others = spellings.iter().filter(|(name, _)| *name != keep);
        let mut paths: Vec<VaultPath> =
            others.flat_map(|(_, (_, paths))| paths.iter().copied().cloned()).collect();
        paths.sort();
        paths.dedup();
        findings.push(finding(
            FindingKind::TagCase,
            paths,
            format!("one tag is written in several ways: {named}"),
            Some(format!("write `#{keep}` in these notes too")),
        ));
    }
}

#[cfg(test)]
mod tests;
