//! A settings file, of a client or our own `config.toml`: read, kept aside, and replaced as a whole or not at all. It lies outside of the vault, so it does
//! not walk the road; nothing else than this file is touched.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure};

/// Said when somebody else wrote the file.
pub const CHANGED: &str = "somebody else changed it meanwhile";
/// Bytes of a settings file at most.
const LARGEST: u64 = 32 * 1024 * 1024;

/// The old text of a client's settings.
const ENDING: &str = ".before-verger";

/// A settings file as it was read.
#[derive(Debug)]
pub struct Settings {
    /// Where it really lies; a link is followed.
    pub path: PathBuf,
    /// Its text; none if there is no file.
    pub text: Option<String>,
    /// What is put behind its name for the old text.
    ending: &'static str,
}

impl Settings {
    /// Reads it; when it is replaced, the old text is kept under its name with this ending.
    pub fn read_keeping(path: &Path, ending: &'static str) -> Result<Settings, Failure> {
        Ok(Settings { ending, ..Settings::read(path)? })
    }

    /// Reads it.
    #[expect(clippy::disallowed_methods, reason = "a client's settings lie outside of the vault")]
    pub fn read(path: &Path) -> Result<Settings, Failure> {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let failed = |error: std::io::Error| failed(&path, &format!("it cannot be read: {error}"));
        let mut bytes = Vec::new();
        match File::open(&path) {
            Ok(file) if !file.metadata().map_err(failed)?.is_file() => {
                return Err(self::failed(&path, "it is no file"));
            }
            Ok(file) => drop(file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Settings { path, text: None, ending: ENDING });
            }
            Err(error) => return Err(failed(error)),
        }
        if bytes.len() as u64 > LARGEST {
            return Err(self::failed(&path, "it is too large"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Settings { path, text: Some(text), ending: ENDING }),
            Err(error) => {
                let message = format!("it is not text (byte {})", error.utf8_error().valid_up_to());
                Err(self::failed(&path, &message))
            }
        }
    }

    /// Where the old text is kept.
    pub fn backup(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(self.ending);
        self.path.with_file_name(name)
    }

    /// Puts a new text in its place; the old one is kept beside it. Refused if somebody else wrote meanwhile.
    #[expect(clippy::disallowed_methods, reason = "a client's settings lie outside of the vault")]
    pub fn replace(&self, text: &str) -> Result<(), Failure> {
        let failed = |error: std::io::Error| failed(&self.path, &format!("it cannot be written: {error}"));
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mode = match std::fs::metadata(&self.path) {
            Ok(metadata) => metadata.permissions().mode() & 0o777,
            // It may come to hold keys of others.
            Err(_) => 0o600,
        };
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".verger-{}", std::process::id()));
        let staged = self.path.with_file_name(name);
        put(&staged, text, mode).map_err(failed)?;
        let now = Settings::read(&self.path)?;
        if now.text != self.text {
            std::fs::remove_file(&staged).ok();
            return Err(self::failed(&self.path, CHANGED));
        }
        if let Some(old) = &self.text {
            put(&self.backup(), old, mode).map_err(failed)?;
        }
        std::fs::rename(&staged, &self.path).map_err(|error| {
            std::fs::remove_file(&staged).ok();
            failed(error)
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "a client's settings lie outside of the vault")]
fn put(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn failed(path: &Path, message: &str) -> Failure {
    Failure::new(
        Exit::Failed,
        "client_settings",
        format!("{}: {message}", path.display()),
        "mend it, or show the entry with --print and put it there yourself",
    )
}
