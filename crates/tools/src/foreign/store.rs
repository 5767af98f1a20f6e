//! Small JSON files of ours in the data folder: pins, trust, tokens, and the servers that were added. Readable by the
//! person only, written whole or not at all, and changed under a lock, because several processes share them. The same
//! in memory, for runs that should leave nothing behind.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::trouble::Trouble;

/// The largest file that is read.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A JSON file.
#[derive(Debug, Clone)]
pub struct JsonFile {
    path: PathBuf,
    /// Its text, where there is no file.
    memory: Option<Arc<Mutex<Option<String>>>>,
}

impl JsonFile {
    /// The file at this place. Nothing is touched yet.
    pub fn at(path: impl Into<PathBuf>) -> JsonFile {
        JsonFile { path: path.into(), memory: None }
    }

    /// Not a file at all: what is put in is there for as long as somebody holds it.
    pub fn in_memory() -> JsonFile {
        JsonFile { path: PathBuf::from("(memory)"), memory: Some(Arc::default()) }
    }

    /// What is in it; no file is an empty one. A damaged file is an error: it must not look like "nothing pinned".
    pub fn read<T: DeserializeOwned + Default>(&self) -> Result<T, Trouble> {
        let Some(text) = self.text()? else { return Ok(T::default()) };
        serde_json::from_str(&text).map_err(|error| self.trouble(&format!("it is damaged ({error})")))
    }

    /// Its text, if it is there.
    #[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
    pub fn text(&self) -> Result<Option<String>, Trouble> {
        if let Some(memory) = &self.memory {
            return Ok(memory.lock().unwrap_or_else(PoisonError::into_inner).clone());
        }
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.trouble(&error.to_string())),
        };
        let mut text = String::new();
        match file.take(LARGEST + 1).read_to_string(&mut text) {
            Ok(read) if read as u64 > LARGEST => Err(self.trouble("it is too large")),
            Ok(_) => Ok(Some(text)),
            Err(error) => Err(self.trouble(&error.to_string())),
        }
    }

    /// Changes it, alone: others wait.
    pub fn change<T, R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R, Trouble>
    where
        T: DeserializeOwned + Serialize + Default,
    {
        let lock = self.lock().map_err(|error| self.trouble(&error.to_string()))?;
        let mut value: T = self.read()?;
        let answer = change(&mut value);
        let text = serde_json::to_string_pretty(&value).map_err(|error| self.trouble(&error.to_string()))?;
        let written = match &self.memory {
            Some(memory) => {
                *memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                Ok(())
            }
            None => self.write(&text),
        };
        drop(lock);
        written.map(|()| answer).map_err(|error| self.trouble(&error.to_string()))
    }

    #[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
    fn lock(&self) -> std::io::Result<Option<File>> {
        if self.memory.is_some() {
            return Ok(None);
        }
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let lock = private().open(self.path.with_extension("lock"))?;
        lock.lock()?;
        Ok(Some(lock))
    }

    #[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
    fn write(&self, text: &str) -> std::io::Result<()> {
        let fresh = self.path.with_extension("new");
        // What a killed process left is taken away, so that the new file has our mode.
        std::fs::remove_file(&fresh).ok();
        let mut file = private().truncate(true).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        std::fs::rename(&fresh, &self.path)?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    }

    fn trouble(&self, why: &str) -> Trouble {
        Trouble::File { file: self.path.display().to_string(), why: why.to_owned() }
    }
}

fn private() -> std::fs::OpenOptions {
    let mut options = File::options();
    options.create(true).write(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    type Map = BTreeMap<String, u32>;

    #[test]
    fn a_file_is_private_whole_and_changed_by_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = JsonFile::at(folder.path().join("below/x.json"));
        assert_eq!(file.read::<Map>().unwrap(), Map::new());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        file.change(|map: &mut Map| *map.entry("n".into()).or_default() += 1).unwrap();
                    }
                });
            }
        });
        assert_eq!(file.read::<Map>().unwrap()["n"], 160);
        #[expect(clippy::disallowed_methods, reason = "a test looks at the mode")]
        let mode = std::fs::metadata(&file.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test damages the file")]
    fn a_damaged_file_is_an_error_and_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        for damage in [&b"{\"n\": "[..], b"[1]", b"\xff\xfe"] {
            std::fs::write(&path, damage).unwrap();
            let file = JsonFile::at(&path);
            assert!(matches!(file.read::<Map>(), Err(Trouble::File { .. })));
            assert!(file.change(|map: &mut Map| map.clear()).is_err());
            assert_eq!(std::fs::read(&path).unwrap(), damage);
        }
    }
}
