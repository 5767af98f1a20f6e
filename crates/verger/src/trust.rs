//! What the person has trusted, as it was when they looked: one JSON file for each vault, and one for the person's own
//! skills, both in the data folder, readable by the person only, changed whole or not at all.
//!
//! Nothing in a vault or a skill can write here, so nothing makes itself trusted. Something that has changed since is not
//! trusted any more.

use std::collections::BTreeMap;

use agent::text::Origin;
use pipeline::{Refusal, World};
use serde::{Deserialize, Serialize};
use tools::foreign::store::JsonFile;
use vault::store::blob::Hash;

use crate::failure::Failure;
use crate::place::{self, Place};
use crate::shelf::{Item, Kind};
use crate::world::RealWorld;

/// The file's name.
const FILE: &str = "trust.json";

/// What is trusted.
pub struct Trust {
    vault: JsonFile,
    own: JsonFile,
    of_vault: Book,
    of_own: Book,
}

type Book = BTreeMap<String, Entry>;

/// Trust in one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What it was.
    pub hash: Hash,
    /// When the person said so.
    pub when: String,
    /// From where it was installed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The person's own; needs no trust.
    Own,
    /// Trusted as it is.
    Trusted,
    /// Trusted once, and another since.
    Changed,
    /// Never trusted.
    New,
}

impl State {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            State::Own => "own",
            State::Trusted => "trusted",
            State::Changed => "changed since it was trusted",
            State::New => "not trusted",
        }
    }

    /// Whether it may be used.
    pub fn holds(self) -> bool {
        matches!(self, State::Own | State::Trusted)
    }
}

impl Trust {
    /// Reads what is trusted. A damaged file is an error: it must not look like either answer.
    pub fn open(place: &Place) -> Result<Trust, Failure> {
        let vault = JsonFile::at(place.data.join(FILE));
        let own = JsonFile::at(place::data_folder()?.join(FILE));
        let read = |file: &JsonFile| file.read::<Book>().map_err(|trouble| unreadable(&trouble.to_string()));
        let (of_vault, of_own) = (read(&vault)?, read(&own)?);
        Ok(Trust { vault, own, of_vault, of_own })
    }

    /// How something stands.
    pub fn state(&self, item: &Item) -> State {
        if item.text.origin != Origin::Vault && item.kind != Kind::Skill {
            return State::Own;
        }
        match self.entry(item) {
            Some(entry) if entry.hash == item.seal => State::Trusted,
            Some(_) => State::Changed,
            None => State::New,
        }
    }

    /// Whether something may be used as it is.
    pub fn holds(&self, item: &Item) -> bool {
        self.state(item).holds()
    }

    /// What was recorded about something.
    pub fn entry(&self, item: &Item) -> Option<&Entry> {
        let book = if item.text.origin == Origin::Vault { &self.of_vault } else { &self.of_own };
        book.get(&item.text.path)
    }

    /// Records that the person trusts something as it is.
    pub fn give(&mut self, item: &Item, from: Option<String>) -> Result<(), Failure> {
        let when = RealWorld.now().timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let entry = Entry { hash: item.seal, when, from };
        self.change(item, |book, path| {
            book.insert(path, entry);
        })
    }

    /// Forgets it.
    pub fn forget(&mut self, item: &Item) -> Result<(), Failure> {
        self.change(item, |book, path| {
            book.remove(&path);
        })
    }

    fn change(&mut self, item: &Item, change: impl FnOnce(&mut Book, String)) -> Result<(), Failure> {
        let path = item.text.path.clone();
        let (file, book) = match item.text.origin {
            Origin::Vault => (&self.vault, &mut self.of_vault),
            _ => (&self.own, &mut self.of_own),
        };
        let changed = file.change(|saved: &mut Book| {
            change(saved, path);
            saved.clone()
        });
        *book = changed.map_err(Refusal::from)?;
        Ok(())
    }
}

fn unreadable(why: &str) -> Failure {
    Failure::new(
        crate::failure::Exit::Failed,
        "io",
        why,
        "mend the file, or remove it and trust again what you know",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::text::Text;

    fn item(kind: Kind, origin: Origin, text: &str) -> Item {
        let text = Text { origin, path: "x/y.md".to_owned(), text: text.to_owned() };
        Item { kind, seal: Hash::of(text.text.as_bytes()), text, files: vec![] }
    }

    fn trust(folder: &std::path::Path) -> Trust {
        let file = |name: &str| JsonFile::at(folder.join(name));
        let (vault, own) = (file("vault.json"), file("own.json"));
        let (of_vault, of_own) = (vault.read().unwrap(), own.read().unwrap());
        Trust { vault, own, of_vault, of_own }
    }

    #[test]
    fn trust_is_kept_and_ends_when_the_thing_changes() {
        let folder = tempfile::tempdir().unwrap();
        let rule = item(Kind::Rule, Origin::Vault, "a");
        let mut first = trust(folder.path());
        assert_eq!(first.state(&rule), State::New);
        first.give(&rule, None).unwrap();
        assert_eq!(first.state(&rule), State::Trusted);
        let mut later = trust(folder.path());
        assert_eq!(later.state(&rule), State::Trusted);
        assert_eq!(later.state(&item(Kind::Rule, Origin::Vault, "b")), State::Changed);
        assert_eq!(
            later.state(&item(Kind::Skill, Origin::Global, "a")),
            State::New,
            "the vault's trust is not the own one"
        );
        later.forget(&rule).unwrap();
        assert_eq!(trust(folder.path()).state(&rule), State::New);
    }

    #[test]
    fn own_texts_need_no_trust_and_own_skills_do() {
        let folder = tempfile::tempdir().unwrap();
        let trust = trust(folder.path());
        for (kind, state) in [(Kind::Agent, State::Own), (Kind::Rule, State::Own), (Kind::Skill, State::New)]
        {
            assert_eq!(trust.state(&item(kind, Origin::Global, "a")), state);
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test damages the file")]
    fn a_damaged_file_trusts_nothing_and_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut before = trust(folder.path());
        std::fs::write(folder.path().join("vault.json"), "{\"x\": ").unwrap();
        assert!(before.give(&item(Kind::Rule, Origin::Vault, "a"), None).is_err());
        assert_eq!(std::fs::read_to_string(folder.path().join("vault.json")).unwrap(), "{\"x\": ");
    }
}
