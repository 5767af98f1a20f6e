//! What the vault brings for the agent, read through the vault's own view: beneath its root, no links followed, regular
//! files only.

use vault::files::Kind;
use vault::view::Depth;
use vault::{VaultFolder, VaultPath, View};

use super::{LARGEST_SKILL, LARGEST_TEXT, MOST, MOST_FILES, Read, ReadFolder};

/// The vault's texts.
pub struct Theirs<'v> {
    /// What is seen of it.
    pub view: View<'v>,
}

impl Theirs<'_> {
    /// The texts with these endings in a folder; none where there is no such folder.
    pub fn texts(&self, folder: &str, endings: &[&str]) -> Vec<Read> {
        let entries = self.entries(folder, Depth::One);
        let fits = |path: &VaultPath| path.extension().is_some_and(|ending| endings.contains(&ending));
        entries
            .into_iter()
            .filter(|(path, kind, _)| *kind == Kind::File && fits(path))
            .take(MOST)
            .map(|(path, _, size)| self.read(&path, size))
            .collect()
    }

    /// The text at a path, if a file is there.
    pub fn text(&self, path: &VaultPath) -> Option<Read> {
        match self.view.look(path) {
            Ok(Some(entry)) if entry.kind == Kind::File => Some(self.read(path, entry.stat.size)),
            // A link or a folder of that name is somebody else's business.
            _ => None,
        }
    }

    /// The folders of skills.
    pub fn skills(&self) -> Vec<ReadFolder> {
        let folders = self.entries(".verger/skills", Depth::One);
        let folders = folders.into_iter().filter(|(_, kind, _)| *kind == Kind::Folder);
        folders
            .take(MOST)
            .map(|(path, ..)| ReadFolder { files: self.files(&path), path: path.to_string() })
            .collect()
    }

    fn files(&self, folder: &VaultPath) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut entries = self.entries(folder.as_str(), Depth::All);
        entries.retain(|(_, kind, _)| *kind == Kind::File);
        let size: u64 = entries.iter().map(|(.., size)| *size).fold(0, u64::saturating_add);
        if entries.len() > MOST_FILES || size > LARGEST_SKILL {
            return Err(super::own::too_large());
        }
        let within = format!("{folder}/");
        let mut files = Vec::new();
        for (path, ..) in entries {
            let bytes = self.view.read(&path).map_err(|error| error.to_string())?;
            files.push((path.as_str().strip_prefix(&within).unwrap_or(path.as_str()).to_owned(), bytes));
        }
        Ok(files)
    }

    fn read(&self, path: &VaultPath, size: u64) -> Read {
        let bytes = match size > LARGEST_TEXT {
            true => Err("it is too large".to_owned()),
            false => self.view.read(path).map_err(|error| error.to_string()),
        };
        Read { path: path.to_string(), bytes }
    }

    fn entries(&self, folder: &str, depth: Depth) -> Vec<(VaultPath, Kind, u64)> {
        // A folder that is not there, or is a link, holds nothing.
        let listed = VaultFolder::parse(folder).ok().and_then(|folder| self.view.list(&folder, depth).ok());
        let entries = listed.unwrap_or_default().into_iter();
        entries.map(|entry| (entry.path, entry.kind, entry.stat.size)).collect()
    }
}
