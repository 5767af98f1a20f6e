//! The notes that a chat's messages link to, read along: one level deep, only what may be read, with limits.
//!
//! The link stays in the message as it is written; what it leads to is text of the vault and not the user's word, so whoever
//! sends it wraps it. Called by [`super::ReadChat`].

use std::collections::BTreeSet;

use pipeline::{Refusal, View};
use serde::{Deserialize, Serialize};
use vault::edit::chat_note::ChatNote;
use vault::note::links::Link;
use vault::note::outline::{Target, read_section};
use vault::{VaultPath, note};

/// Bytes of one linked note at most.
pub const ONE: usize = 32_000;
/// Bytes of all linked notes of a chat at most.
pub const ALL: usize = 128_000;
/// Linked notes of a chat at most.
pub const MOST: usize = 100;

/// A note that a message links to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linked {
    /// Which one, with `#section` where only that is meant.
    pub name: String,
    /// What it says, as far as there is room.
    pub text: String,
}

/// What was read along so far.
pub struct Expansion<'v> {
    view: &'v View<'v>,
    chat: VaultPath,
    seen: BTreeSet<String>,
    room: usize,
    /// What the person should know: what was left out, what was not found.
    pub notices: Vec<String>,
}

impl<'v> Expansion<'v> {
    /// For the chat at this path.
    pub fn new(view: &'v View<'v>, chat: VaultPath) -> Expansion<'v> {
        Expansion { view, chat, seen: BTreeSet::new(), room: ALL, notices: Vec::new() }
    }

    /// The notes that this message links to and that no message before it did.
    pub fn of(&mut self, message: &str) -> Result<Vec<Linked>, Refusal> {
        let parsed = note::parse(message);
        let mut linked = Vec::new();
        for link in parsed.links.iter().filter(|link| !link.target.is_empty()) {
            self.view.go_on()?;
            let written = message.get(link.span.clone()).unwrap_or_default();
            linked.extend(self.follow(link, written)?);
        }
        Ok(linked)
    }

    fn follow(&mut self, link: &Link, written: &str) -> Result<Option<Linked>, Refusal> {
        let chat = &self.chat;
        let found = self
            .view
            .catalog()?
            .ask(|catalog, visible| catalog.leads(visible).resolve(link.style, &link.target, chat).cloned());
        let Some(path) = found.filter(|path| path != chat) else {
            if self.seen.insert(written.to_owned()) && !is_file(&link.target) {
                self.notices.push(format!("{} leads to no note that can be read", short(written)));
            }
            return Ok(None);
        };
        let fragment = link.fragment.as_deref().map(str::trim).filter(|fragment| !fragment.is_empty());
        let name = fragment.map_or_else(|| path.to_string(), |fragment| format!("{path}#{fragment}"));
        if !path.is_note() || !self.seen.insert(name.clone()) {
            return Ok(None);
        }
        let Ok(text) = self.view.text(&path) else {
            self.notices.push(format!("`{name}` cannot be read as text"));
            return Ok(None);
        };
        let Some(text) = meant(&text, fragment) else {
            self.notices.push(format!("`{path}` has no section `{}`", short(fragment.unwrap_or_default())));
            return Ok(None);
        };
        Ok(self.fit(name, &text))
    }

    fn fit(&mut self, name: String, text: &str) -> Option<Linked> {
        let room = self.room.min(ONE);
        if room == 0 || self.seen.len() > MOST {
            self.notices.push(format!("`{name}` was left out: the linked notes are too long together"));
            return None;
        }
        if text.len() <= room {
            self.room -= text.len();
            return Some(Linked { name, text: text.to_owned() });
        }
        let kept = &text[..text.floor_char_boundary(room)];
        let kept = kept.rfind('\n').map_or(kept, |end| &kept[..end]);
        self.room = self.room.saturating_sub(kept.len().max(1));
        let left = text.len() - kept.len();
        self.notices.push(format!("`{name}` was cut: {left} of its {} bytes were left out", text.len()));
        Some(Linked { name, text: format!("{kept}\n\n[{left} bytes of this note were left out]") })
    }
}

/// What a link means of a note: a section, a block, or all of it but its front matter; a chat without what makes it one.
fn meant(text: &str, fragment: Option<&str>) -> Option<String> {
    if let Some(fragment) = fragment {
        let target = match fragment.strip_prefix('^') {
            Some(id) => Target::Block(id.to_owned()),
            None => Target::Heading(fragment.split('#').map(|part| part.trim().to_owned()).collect()),
        };
        return read_section(text, &target).ok().map(|section| section.text);
    }
    if let Ok(chat) = ChatNote::read(text) {
        return Some(chat.plain());
    }
    Some(text[note::parse(text).body..].trim().to_owned())
}

/// Pictures and the like: nobody expects them to be read.
fn is_file(target: &str) -> bool {
    let name = target.rsplit('/').next().unwrap_or(target);
    name.rsplit_once('.').is_some_and(|(_, ending)| {
        ending != "md" && (1..=5).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}
