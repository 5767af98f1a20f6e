//! The files of a model's folder. They lie outside every vault, where the person said; nothing is ever written.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Error;

/// Settings and vocabularies are smaller than this; anything larger is not what it claims to be.
const LARGEST_TEXT: u64 = 64 * 1024 * 1024;

/// A model's folder.
pub(super) struct Folder(PathBuf);

impl Folder {
    #[expect(clippy::disallowed_methods, reason = "a model's folder, outside the vault")]
    pub(super) fn open(path: &Path) -> Result<Folder, Error> {
        let folder = Folder(path.to_owned());
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Ok(folder),
            Ok(_) => Err(folder.wrong("", "it is a file; the folder of a model was expected")),
            Err(error) => Err(folder.wrong("", &format!("the folder cannot be opened ({error})"))),
        }
    }

    /// The names of what lies in it.
    #[expect(clippy::disallowed_methods, reason = "a model's folder, outside the vault")]
    pub(super) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[expect(clippy::disallowed_methods, reason = "a model's folder, outside the vault")]
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.join(name).is_file()
    }

    #[expect(clippy::disallowed_methods, reason = "a model's folder, outside the vault")]
    pub(super) fn file(&self, name: &str) -> Result<File, Error> {
        let cannot = |error: std::io::Error| self.wrong(name, &format!("it cannot be read ({error})"));
        let file = File::open(self.0.join(name)).map_err(cannot)?;
        match file.metadata().map_err(cannot)?.is_file() {
            true => Ok(file),
            false => Err(self.wrong(name, "it is not a file")),
        }
    }

    /// The text of a file, if it is there.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Error> {
        if !self.has(name) {
            return Ok(None);
        }
        let mut text = String::new();
        let read = self.file(name)?.take(LARGEST_TEXT + 1).read_to_string(&mut text);
        read.map_err(|error| self.wrong(name, &format!("it cannot be read ({error})")))?;
        match text.len() as u64 > LARGEST_TEXT {
            true => Err(self.wrong(name, &format!("it is larger than {LARGEST_TEXT} bytes"))),
            false => Ok(Some(text)),
        }
    }

    /// The JSON in a file, if it is there.
    pub(super) fn json(&self, name: &str) -> Result<Option<Value>, Error> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let parsed = serde_json::from_str(&text);
        parsed.map(Some).map_err(|error| self.wrong(name, &format!("it is not JSON ({error})")))
    }

    /// What is wrong with a file of this folder, or with the folder itself.
    pub(super) fn wrong(&self, name: &str, message: &str) -> Error {
        let file = if name.is_empty() { self.0.clone() } else { self.0.join(name) };
        Error::File { file: file.display().to_string(), message: message.to_owned() }
    }
}
