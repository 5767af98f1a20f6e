//! What a query asks of a vault. Whoever implements this shows only what the asker may see.

use std::sync::Arc;

use super::ast::Source;
use super::date::Zone;
use super::page::Maker;
use super::sieve::{Sieve, Sifted};
use super::value::Object;
use crate::error::Result;
use crate::path::VaultPath;

/// The pages of a vault, as far as the asker sees them. Lists are in the order in which rows appear without a `SORT`.
pub trait Pages {
    /// All notes.
    fn all(&self) -> Vec<VaultPath>;

    /// The notes in a folder, at any depth; nothing if there is no such folder. The empty name is the root.
    fn in_folder(&self, folder: &str) -> Option<Vec<VaultPath>>;

    /// The notes that bear a tag (with `#`) or one below it, in any case.
    fn tagged(&self, tag: &str) -> Vec<VaultPath>;

    /// The notes of a source that pass a sieve; nothing where only the long way, over pages, can tell.
    fn sifted(&self, _: &Source, _: &Sieve) -> Option<Sifted> {
        None
    }

    /// The file at exactly this path, if there is one.
    fn file(&self, path: &str) -> Option<VaultPath>;

    /// The file to which a link's target leads.
    fn resolve(&self, target: &str, from: Option<&VaultPath>) -> Option<VaultPath>;

    /// The notes that link to a file.
    fn linking_to(&self, path: &VaultPath) -> Vec<VaultPath>;

    /// The notes with a link of this text that leads nowhere.
    fn linking_nowhere(&self, target: &str) -> Vec<VaultPath>;

    /// The files to which a note links, each once, in order; nothing if it is no note.
    fn linked_from(&self, path: &VaultPath) -> Option<Vec<VaultPath>>;

    /// The data of notes, as far as their maker is asked for it: fields and `file`; nothing for what is no note.
    fn pages(&self, paths: &[VaultPath], maker: &Maker) -> Result<Vec<Option<Arc<Object>>>>;

    /// All data of one note.
    fn page(&self, path: &VaultPath, local: &Zone) -> Result<Option<Arc<Object>>> {
        let found = self.pages(std::slice::from_ref(path), &Maker::whole(local))?;
        Ok(found.into_iter().next().flatten())
    }

    /// The text of a CSV file.
    fn csv(&self, path: &str) -> Result<Option<String>>;
}

/// A vault without pages: for expressions that need none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPages;

impl Pages for NoPages {
    fn all(&self) -> Vec<VaultPath> {
        Vec::new()
    }

    fn in_folder(&self, folder: &str) -> Option<Vec<VaultPath>> {
        folder.is_empty().then(Vec::new)
    }

    fn tagged(&self, _: &str) -> Vec<VaultPath> {
        Vec::new()
    }

    fn file(&self, _: &str) -> Option<VaultPath> {
        None
    }

    fn resolve(&self, _: &str, _: Option<&VaultPath>) -> Option<VaultPath> {
        None
    }

    fn linking_to(&self, _: &VaultPath) -> Vec<VaultPath> {
        Vec::new()
    }

    fn linking_nowhere(&self, _: &str) -> Vec<VaultPath> {
        Vec::new()
    }

    fn linked_from(&self, _: &VaultPath) -> Option<Vec<VaultPath>> {
        None
    }

    fn pages(&self, paths: &[VaultPath], _: &Maker) -> Result<Vec<Option<Arc<Object>>>> {
        Ok(vec![None; paths.len()])
    }

    fn csv(&self, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
}
