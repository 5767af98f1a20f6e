//! Skills: folders with a `SKILL.md`, in the form of agentskills.io. The prompt holds their names and descriptions; the
//! text comes when it is wanted.
//!
//! A skill is used only as the person has seen it: what was installed or trusted is recorded by hash outside of the
//! folder (`verger`), so nothing that a skill says of itself makes it trusted. Deliberately not here: files and scripts.

mod capabilities;
mod read;

use std::collections::BTreeMap;

use pipeline::refusal::nearest;
use pipeline::registry::Listing;
use pipeline::{Refusal, Rights};
use serde::Serialize;

pub use capabilities::Capabilities;

use crate::text::{Fault, Origin, Problem, Text, clip};

/// How many skills are read from one place.
pub const MOST: usize = 500;
/// How much of a body a model gets, in characters.
pub const BODY: usize = 24_000;
/// What the list of skills may take in a prompt, in characters.
const DIRECTORY: usize = 8_000;
/// What one skill may take of it.
const LINE: usize = 500;
/// How many files are listed.
const INVENTORY: usize = 100;

/// A skill's folder as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its `SKILL.md`; the path ends in `<folder>/SKILL.md`.
    pub text: Text,
    /// Every other file in the folder.
    pub files: Vec<File>,
}

/// A file beside a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its path in the skill's folder.
    pub path: String,
    /// Bytes.
    pub size: u64,
}

impl Found {
    /// The name of its folder.
    pub fn folder(&self) -> &str {
        let mut names = self.text.path.rsplit('/');
        names.next();
        names.next().unwrap_or_default()
    }
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skill {
    /// Its name, which is its folder's name.
    pub name: String,
    /// What it is for and when to use it.
    pub description: String,
    /// At most these tools, if it says so.
    pub allowed: Option<Vec<String>>,
    /// Names on its list of tools that are none here; they are not given anything.
    pub elsewhere: Vec<String>,
    /// Its licence, as it says.
    pub license: Option<String>,
    /// What it needs, as it says.
    pub compatibility: Option<String>,
    /// The instructions.
    #[serde(skip)]
    pub body: String,
    /// The files beside it.
    pub files: Vec<File>,
    /// Where it comes from.
    pub source: Origin,
    /// Its `SKILL.md`.
    pub path: String,
}

impl Skill {
    /// What whoever carries it out may call at most; cut to the parent's rights by the loop. A skill that names no
    /// tools only reads.
    pub fn rights(&self) -> Rights {
        match &self.allowed {
            Some(tools) => Rights::all().only(tools.iter().map(String::as_str)),
            None => Rights::read_only(),
        }
    }

    /// What a model reads: the body, and what else lies in the folder.
    pub fn text(&self) -> String {
        let folder = self.path.strip_suffix("/SKILL.md").unwrap_or(&self.path);
        let mut text = format!("# Skill: {}\n\n{}", self.name, self.body);
        if let Some((end, _)) = self.body.char_indices().nth(BODY) {
            text = format!(
                "# Skill: {}\n\n{}\n[The rest is left out: only {BODY} characters are read.]",
                self.name,
                &self.body[..end]
            );
        }
        if self.files.is_empty() {
            return text;
        }
        text += match self.source {
            Origin::Vault => "\n\nFiles of this skill, for read_file:\n",
            _ => "\n\nFiles of this skill; they lie outside of the vault, where you cannot read them:\n",
        };
        for file in self.files.iter().take(INVENTORY) {
            text += &format!("- {folder}/{} ({} bytes)\n", file.path, file.size);
        }
        if let more @ 1.. = self.files.len().saturating_sub(INVENTORY) {
            text += &format!("- and {more} more\n");
        }
        text
    }
}

/// All skills.
#[derive(Debug, Clone, Default)]
pub struct Skills {
    skills: BTreeMap<String, Skill>,
    waiting: BTreeMap<String, Skill>,
    problems: Vec<Problem>,
}

impl Skills {
    /// Puts the skills together. One of the vault goes before one of the person's own of the same name, once trusted.
    pub fn gather(found: &[Found], tools: &[Listing], trusted: &dyn Fn(&Found) -> bool) -> Skills {
        let mut all = Skills::default();
        for origin in [Origin::BuiltIn, Origin::Global, Origin::Vault] {
            for (at, one) in found.iter().filter(|found| found.text.origin == origin).enumerate() {
                let read = match at < MOST {
                    true => read::skill(one, tools),
                    false => Err(Fault::TooMany { most: MOST }),
                };
                match read {
                    Ok(skill) if trusted(one) => {
                        all.skills.insert(skill.name.clone(), skill);
                    }
                    Ok(skill) => {
                        all.waiting.insert(skill.name.clone(), skill);
                    }
                    Err(fault) => all.problems.push(Problem { path: one.text.path.clone(), fault }),
                }
            }
        }
        all
    }

    /// The skill of this name.
    pub fn find(&self, name: &str) -> Result<&Skill, Refusal> {
        if let Some(skill) = self.skills.get(name) {
            return Ok(skill);
        }
        if self.waiting.contains_key(name) {
            return Err(Refusal::new(
                "skill_untrusted",
                format!("the user has not trusted the skill `{name}` as it is now"),
                format!("ask the user to look at it: verger skills trust {name}"),
            ));
        }
        let hint = match nearest(name, self.skills.keys().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "use a skill that was listed".to_owned(),
        };
        Err(Refusal::new("skill_unknown", format!("there is no skill `{}`", clip(name, 64)), hint))
    }

    /// The skills that can be used, by name.
    pub fn list(&self) -> impl Iterator<Item = &Skill> {
        self.skills.values()
    }

    /// The skills that wait for trust.
    pub fn waiting(&self) -> impl Iterator<Item = &Skill> {
        self.waiting.values()
    }

    /// The folders that are no skills, and why.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// A line for each skill, for the prompt; empty where there are none.
    pub fn directory_text(&self) -> String {
        let mut text = String::new();
        let mut left = self.skills.len();
        for skill in self.skills.values() {
            // Angle brackets could pose as the tags by which a prompt marks text of others.
            let description = clip(&skill.description, LINE).replace('<', "‹").replace('>', "›");
            let line = format!("- {}: {description}\n", skill.name);
            if text.len() + line.len() > DIRECTORY {
                text += &format!("- and {left} more that the user can list\n");
                break;
            }
            left -= 1;
            text += &line;
        }
        text
    }
}

#[cfg(test)]
mod tests;
