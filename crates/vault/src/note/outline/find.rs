//! From a target as somebody names it to the one section, block or key that it means, or to a refusal that helps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Outline, Section, label};
use crate::error::{Error, Result};
use crate::note::blocks::BlockId;

/// What an edit or a read is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A heading: the texts from the top down, or only the last ones if that is clear.
    Heading(Vec<String>),
    /// A block id, without `^`.
    Block(String),
    /// A front-matter key.
    Front(String),
    /// The whole body.
    Root,
}

/// The kinds of targets, as tools name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A heading and what stands under it.
    Heading,
    /// A block that has an id.
    Block,
    /// A front-matter key.
    Frontmatter,
}

/// Why a section is looked for: the reason of the refusal depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To read it: `section_missing`.
    Read,
    /// To change it: `section_target_missing`.
    Write,
}

impl Target {
    /// Reads the form that tools take: a type, and a text in which `::` joins a heading's path.
    pub fn parse(kind: TargetKind, text: &str) -> Target {
        match kind {
            TargetKind::Heading => Target::heading(text),
            TargetKind::Block => {
                let id = text.trim();
                Target::Block(id.strip_prefix('^').unwrap_or(id).to_owned())
            }
            TargetKind::Frontmatter => Target::Front(text.trim().to_owned()),
        }
    }

    /// A heading path joined by `::`.
    pub fn heading(path: &str) -> Target {
        Target::Heading(path.split("::").map(|part| part.trim().to_owned()).collect())
    }
}

impl Outline<'_> {
    /// The section that a heading path means.
    pub fn heading(&self, path: &[String], purpose: Purpose) -> Result<&Section> {
        let wanted = joined(path);
        if let Some(section) = self.exact(&wanted) {
            return Ok(section);
        }
        let ending = format!("::{wanted}");
        let mut found = self.sections.iter().filter(|section| {
            section.address.ends_with(&ending)
                || section.path.as_ref().is_some_and(|path| path.ends_with(&ending) || *path == wanted)
        });
        match (found.next(), found.next()) {
            (Some(section), None) => Ok(section),
            (Some(first), Some(second)) => {
                let all = [first, second].into_iter().chain(found).map(|section| section.address.clone());
                Err(ambiguous(&wanted, all.collect()))
            }
            _ => Err(missing("heading", &wanted, purpose, self.near(path))),
        }
    }

    /// The section whose address is exactly this path.
    pub fn exact_heading(&self, path: &[String]) -> Option<&Section> {
        self.exact(&joined(path))
    }

    fn exact(&self, address: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.address == address)
    }

    /// The block that an id means: exact, or the only one when letter case is ignored.
    pub fn block(&self, id: &str, purpose: Purpose) -> Result<&BlockId> {
        let (plain, ordinal) = ordinal(id);
        let exact = |wanted: &str, count: usize| self.ids.iter().filter(|id| id.id == wanted).nth(count - 1);
        if let Some(found) = exact(plain, ordinal) {
            return Ok(found);
        }
        let mut alike = self.ids.iter().filter(|found| found.id.eq_ignore_ascii_case(id));
        match (alike.next(), alike.next()) {
            (Some(found), None) => Ok(found),
            _ => {
                let candidates = self.block_addresses().into_iter().take(CANDIDATES).collect();
                Err(missing("block id", id, purpose, candidates))
            }
        }
    }

    /// The value of a front-matter key.
    pub fn front_value(&self, key: &str, purpose: Purpose) -> Result<&Value> {
        let values = match &self.front {
            Some(front) => Some(front.values.as_ref().map_err(|error| Error::Front(error.clone()))?),
            None => None,
        };
        let keys = || values.into_iter().flat_map(|map| map.keys()).take(CANDIDATES).cloned().collect();
        values.and_then(|map| map.get(key)).ok_or_else(|| missing("front-matter key", key, purpose, keys()))
    }

    /// Headings that could have been meant: the same letters and digits first, then the one in the other.
    fn near(&self, path: &[String]) -> Vec<String> {
        let wanted = letters(path.last().map_or("", String::as_str));
        let rank = |section: &Section| {
            let found = letters(&section.label);
            match () {
                () if found == wanted => 0,
                () if !wanted.is_empty() && found.contains(&wanted) => 1,
                () if !found.is_empty() && wanted.contains(&found) => 1,
                () => 2,
            }
        };
        let mut ranked: Vec<(u8, &str)> =
            self.sections.iter().map(|section| (rank(section), section.address.as_str())).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let best = ranked.first().map_or(2, |(rank, _)| *rank);
        let close = ranked.into_iter().filter(|(rank, _)| *rank == best);
        close.take(CANDIDATES).map(|(_, address)| address.to_owned()).collect()
    }
}

const CANDIDATES: usize = 8;

fn joined(path: &[String]) -> String {
    path.iter().map(|part| label(part)).collect::<Vec<_>>().join("::")
}

fn ordinal(id: &str) -> (&str, usize) {
    let split = id.strip_suffix(']').and_then(|id| id.rsplit_once('['));
    match split.and_then(|(plain, number)| Some((plain, number.parse::<usize>().ok()?))) {
        Some((plain, number)) if number > 0 => (plain, number),
        _ => (id, 1),
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn missing(what: &str, name: &str, purpose: Purpose, candidates: Vec<String>) -> Error {
    let (reason, next) = match purpose {
        Purpose::Read => ("section_missing", "read the document map and use an entry of it"),
        Purpose::Write => (
            "section_target_missing",
            "read the document map and use an entry of it, or set createTargetIfMissing to make it",
        ),
    };
    let hint = match candidates.is_empty() {
        true => next.to_owned(),
        false => format!("{next}; there is {}", quoted(&candidates)),
    };
    Error::Edit { reason, message: format!("there is no {what} `{name}` in this note"), hint, candidates }
}

fn ambiguous(name: &str, candidates: Vec<String>) -> Error {
    let shown = quoted(&candidates[..candidates.len().min(CANDIDATES)]);
    Error::Edit {
        reason: "ambiguous_section",
        message: format!("`{name}` names {} headings", candidates.len()),
        hint: format!("use one full path: {shown}"),
        candidates,
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
