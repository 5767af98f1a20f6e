//! What people write for the agent, taken from where it lies: the configuration's folder and the vault. Agents, skills,
//! rules, workflows; each with a hash of what was read, so that trust is about exactly that.
//!
//! Doors load a [`Shelf`] once and make a [`Kit`] of it. What these texts mean is known in `agent`. A text that cannot be
//! read is left out and told; it never stops the others.

pub mod own;
mod theirs;

use std::path::Path;

use agent::agents::Agents;
use agent::skills::{File, Found, Skills};
use agent::standing::Standing;
use agent::text::{Origin, Text};
use agent::workflows::Workflows;
use pipeline::registry::Listing;
use serde::Serialize;
use vault::policy::Scope;
use vault::store::blob::Hash;
use vault::{Vault, VaultPath};

use crate::failure::Failure;
use crate::trust::Trust;

/// The largest file of text that is read; what it may hold is less.
const LARGEST_TEXT: u64 = 1024 * 1024;
/// What a skill's folder may hold.
pub const MOST_FILES: usize = 500;
/// What the files of a skill's folder may hold together, in bytes.
pub const LARGEST_SKILL: u64 = 20 * 1024 * 1024;
/// How many files or folders of one kind are looked at.
const MOST: usize = 1_000;
/// The instructions that other programs read at the root of a folder, too.
const ROOT_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// What one of them is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An agent.
    Agent,
    /// A skill's folder.
    Skill,
    /// A rule, `AGENTS.md` or `CLAUDE.md`.
    Rule,
    /// A workflow.
    Workflow,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Agent => "agent",
            Kind::Skill => "skill",
            Kind::Rule => "rule",
            Kind::Workflow => "workflow",
        }
    }
}

/// One text, with the hash of all that belongs to it.
#[derive(Debug, Clone)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// The text; of a skill, its `SKILL.md`.
    pub text: Text,
    /// The other files of a skill.
    pub files: Vec<File>,
    /// Names everything in it.
    pub seal: Hash,
}

impl Item {
    /// What a person calls it: an agent's slug, a skill's folder, a path.
    pub fn name(&self) -> &str {
        match self.kind {
            Kind::Agent => self.text.stem(),
            Kind::Skill => self.text.path.rsplit('/').nth(1).unwrap_or_default(),
            Kind::Rule | Kind::Workflow => &self.text.path,
        }
    }

    fn found(&self) -> Found {
        Found { text: self.text.clone(), files: self.files.clone() }
    }
}

/// Something that could not be read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Where it lies.
    pub path: String,
    /// Why.
    pub why: String,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Shelf {
    /// What was read.
    pub items: Vec<Item>,
    /// What was not.
    pub left_out: Vec<LeftOut>,
}

/// What a conversation needs of them.
pub struct Kit {
    /// The agents.
    pub agents: Agents,
    /// The skills.
    pub skills: Skills,
    /// The rules.
    pub standing: Standing,
    /// The workflows.
    pub workflows: Workflows,
}

impl Shelf {
    /// Reads everything. `scope` is the person's: a root file that is ignored is not read. `.verger` itself is read
    /// whatever the ignore files say, because they are about notes.
    pub fn load(vault: &Vault, scope: &Scope, config: &Path) -> Result<Shelf, Failure> {
        let mut shelf = Shelf::default();
        let own = own::Own::at(config);
        let everything = Scope::default();
        let theirs = theirs::Theirs { view: vault.view(&everything) };
        for (kind, folder, endings) in [
            (Kind::Agent, "agents", &["md"][..]),
            (Kind::Rule, "rules", &["md", "txt"]),
            (Kind::Workflow, "workflows", &["md", "txt"]),
        ] {
            for read in own.texts(folder, endings) {
                shelf.take(kind, Origin::Global, read);
            }
            for read in theirs.texts(&format!(".verger/{folder}"), endings) {
                shelf.take(kind, Origin::Vault, read);
            }
        }
        for name in ROOT_FILES {
            if let Some(read) = own.text(name) {
                shelf.take(Kind::Rule, Origin::Global, read);
            }
            let path =
                VaultPath::parse(name).map_err(|error| vault::Error::Path { text: name.into(), error })?;
            if let Some(read) = scope.may_read(&path).then(|| theirs.text(&path)).flatten() {
                shelf.take(Kind::Rule, Origin::Vault, read);
            }
        }
        for read in own.skills() {
            shelf.take_folder(Origin::Global, read);
        }
        for read in theirs.skills() {
            shelf.take_folder(Origin::Vault, read);
        }
        Ok(shelf)
    }

    fn take(&mut self, kind: Kind, origin: Origin, read: Read) {
        match shelf_text(kind, origin, read) {
            Ok(item) => self.items.push(item),
            Err(left_out) => self.left_out.push(left_out),
        }
    }

    fn take_folder(&mut self, origin: Origin, folder: ReadFolder) {
        match folder.item(origin) {
            Ok(item) => self.items.push(item),
            Err(left_out) => self.left_out.push(left_out),
        }
    }

    /// Puts it together for a conversation.
    pub fn kit(&self, trust: &Trust, tools: &[Listing]) -> Kit {
        let texts = |kind: Kind| -> Vec<Text> {
            self.items.iter().filter(|item| item.kind == kind).map(|item| item.text.clone()).collect()
        };
        let found: Vec<Found> =
            self.items.iter().filter(|item| item.kind == Kind::Skill).map(Item::found).collect();
        let trusted = |text: &Text| self.find(text).is_some_and(|item| trust.holds(item));
        Kit {
            agents: Agents::gather(&texts(Kind::Agent), tools, &trusted),
            skills: Skills::gather(&found, tools, &|found| trusted(&found.text)),
            standing: Standing::gather(&texts(Kind::Rule), &trusted),
            workflows: Workflows::gather(&texts(Kind::Workflow), &trusted),
        }
    }

    fn find(&self, text: &Text) -> Option<&Item> {
        self.items.iter().find(|item| item.text.origin == text.origin && item.text.path == text.path)
    }
}

/// A text as it was read, or why it was not.
pub struct Read {
    /// Its path, from the vault's root or from the configuration's folder.
    pub path: String,
    /// Its bytes.
    pub bytes: Result<Vec<u8>, String>,
}

/// A skill's folder as it was read, or why it was not.
pub struct ReadFolder {
    /// The folder's path.
    pub path: String,
    /// Its files with their paths in the folder, sorted.
    pub files: Result<Vec<(String, Vec<u8>)>, String>,
}

fn shelf_text(kind: Kind, origin: Origin, read: Read) -> Result<Item, LeftOut> {
    let Read { path, bytes } = read;
    let failed = |why: String| LeftOut { path: path.clone(), why };
    let bytes = bytes.map_err(failed)?;
    let seal = Hash::of(&bytes);
    let text = String::from_utf8(bytes).map_err(|_| failed("it is not text (UTF-8)".to_owned()))?;
    Ok(Item { kind, text: Text { origin, path, text }, files: Vec::new(), seal })
}

impl ReadFolder {
    /// The skill in it.
    pub fn item(self, origin: Origin) -> Result<Item, LeftOut> {
        let path = format!("{}/SKILL.md", self.path);
        let failed = |why: &str| LeftOut { path: path.clone(), why: why.to_owned() };
        let files = self.files.map_err(|why| failed(&why))?;
        let seal = seal(&files);
        let size = |bytes: &Vec<u8>| bytes.len() as u64;
        let others = files.iter().filter(|(name, _)| name != "SKILL.md");
        let others = others.map(|(name, bytes)| File { path: name.clone(), size: size(bytes) }).collect();
        let skill = files.iter().find(|(name, _)| name == "SKILL.md");
        let (_, bytes) = skill.ok_or_else(|| failed("there is no SKILL.md"))?;
        if size(bytes) > LARGEST_TEXT {
            return Err(failed("it is too large"));
        }
        let text = String::from_utf8(bytes.clone()).map_err(|_| failed("it is not text (UTF-8)"))?;
        Ok(Item { kind: Kind::Skill, text: Text { origin, path, text }, files: others, seal })
    }
}

/// Names a folder: every name and every byte in it.
fn seal(files: &[(String, Vec<u8>)]) -> Hash {
    let lines: String = files.iter().map(|(name, bytes)| format!("{} {name}\n", Hash::of(bytes))).collect();
    Hash::of(lines.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_tells_every_change_of_a_folder() {
        let folder = |files: &[(&str, &str)]| -> Hash {
            seal(
                &files
                    .iter()
                    .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
                    .collect::<Vec<_>>(),
            )
        };
        let before = folder(&[("SKILL.md", "a"), ("x.py", "b")]);
        for other in [
            folder(&[("SKILL.md", "a"), ("x.py", "c")]),
            folder(&[("SKILL.md", "a"), ("y.py", "b")]),
            folder(&[("SKILL.md", "a")]),
            folder(&[("SKILL.md", "a"), ("x.py", "b"), ("z", "")]),
        ] {
            assert_ne!(before, other);
        }
        assert_eq!(before, folder(&[("SKILL.md", "a"), ("x.py", "b")]));
    }
}
