//! What is wrong or odd in a vault.
//!
//! `verger health` and the `vault_health_check` tool show the findings. [`check`] asks the catalog alone: no embeddings, no
//! model, no reading of files. [`deep`] reads the notes as well and compares them. Checking only reads; a finding that an
//! ordinary edit mends says which one, and where the edit is certain it carries it as a [`Mend`], which
//! `vault_health_repair` plans and the road carries out. No work here grows with the square of the vault.

pub mod deep;
mod domains;
mod links;
mod mend;
mod names;
mod tags;
mod twins;

use std::collections::BTreeMap;

use crate::catalog::{Catalog, FileInfo, Problem, Visible};
use crate::path::VaultPath;

pub use mend::Mend;

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
    /// One tag in several spellings.
    TagVariant,
    /// Notes that say almost the same.
    NearDuplicate,
    /// A note without any text.
    EmptyNote,
    /// A note that no note links to and that links to none.
    Orphan,
    /// A property links to a note that does not link back.
    MissingReciprocal,
    /// A note that very many notes link to.
    Hub,
    /// A note that many link to, and that was left behind by them.
    StaleHub,
    /// Notes on one subject whose sources are nearly all the same site.
    OneDomain,
    /// Two notes that are about the same and do not link to each other.
    SimilarUnlinked,
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
    /// The ordinary edit that mends it, in words.
    pub repair: Option<String>,
    /// The same as edits, where it is certain what to write; empty where a person must decide.
    #[serde(skip)]
    pub mends: Vec<Mend>,
}

impl FindingKind {
    /// How much findings of this kind matter.
    pub fn severity(self) -> Severity {
        match self {
            FindingKind::InvalidFrontMatter | FindingKind::Unreadable | FindingKind::BrokenLink => {
                Severity::Error
            }
            FindingKind::DuplicateName
            | FindingKind::DuplicateAlias
            | FindingKind::TagVariant
            | FindingKind::NearDuplicate => Severity::Warning,
            FindingKind::EmptyNote
            | FindingKind::Orphan
            | FindingKind::MissingReciprocal
            | FindingKind::Hub
            | FindingKind::StaleHub
            | FindingKind::OneDomain
            | FindingKind::SimilarUnlinked => Severity::Info,
        }
    }
}

/// Looks at everything the asker may see. Sorted by kind, then path and line; nothing is cut off.
pub fn check(catalog: &Catalog, visible: Visible<'_>) -> Vec<Finding> {
    let notes: Vec<&FileInfo> = catalog.notes(visible).collect();
    let mut findings = Vec::new();
    notes.iter().for_each(|info| problems(info, &mut findings));
    keep_linked(catalog, visible, &mut findings);
    links::check(catalog, &notes, visible, &mut findings);
    names::check(&notes, &mut findings);
    tags::check(&notes, &mut findings);
    domains::check(catalog, &notes, visible, &mut findings);
    sort(&mut findings);
    findings
}

/// An empty note to which others link is a place that somebody means to fill: it is not put away by itself.
fn keep_linked(catalog: &Catalog, visible: Visible<'_>, findings: &mut [Finding]) {
    for found in findings.iter_mut().filter(|found| found.kind == FindingKind::EmptyNote) {
        found.mends.retain(|mend| catalog.backlinks(mend.path(), visible).is_empty());
    }
}

/// By kind, then path and line. Stable: findings of one kind about one note stay in the order of its text.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| (a.kind, &a.paths, a.line).cmp(&(b.kind, &b.paths, b.line)));
}

/// How many findings there are of each kind.
pub fn counts(findings: &[Finding]) -> BTreeMap<FindingKind, usize> {
    findings.iter().fold(BTreeMap::new(), |mut counts, finding| {
        *counts.entry(finding.kind).or_default() += 1;
        counts
    })
}

fn finding(kind: FindingKind, paths: Vec<VaultPath>, message: String, repair: Option<String>) -> Finding {
    Finding { kind, severity: kind.severity(), paths, line: None, message, repair, mends: Vec::new() }
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
                let repair =
                    Some("give it back its rights, or make it smaller, by another program".to_owned());
                finding(FindingKind::Unreadable, path(), message.to_string(), repair)
            }
        });
    }
    if info.blank && info.properties.is_empty() && info.problems.is_empty() {
        let repair = Some("delete the note, or write something in it".to_owned());
        let found = finding(FindingKind::EmptyNote, path(), "the note is empty".to_owned(), repair);
        findings.push(Finding { mends: vec![Mend::Delete { path: info.path.clone() }], ..found });
    }
}

#[cfg(test)]
mod tests;
