//! Where things lie on this machine: the vault, the folder of its data, the configuration, Obsidian's list of vaults,
//! the keyboard; and the few files outside the road that the command line itself reads and makes.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use vault::store::blob::Hash;

use crate::config::Config;
use crate::failure::{Exit, Failure};

/// A vault and where its data lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The vault's folder, with every link resolved.
    pub root: PathBuf,
    /// Checkpoints, audit and grants of this vault.
    pub data: PathBuf,
}

/// The folder that holds `config.toml`.
pub fn config_folder() -> Result<PathBuf, Failure> {
    folder("VERGER_CONFIG_DIR", |base| base.config_dir())
}

/// The folder that holds the data of all vaults.
pub fn data_folder() -> Result<PathBuf, Failure> {
    folder("VERGER_DATA_DIR", |base| base.data_dir())
}

fn folder(variable: &str, of: impl Fn(&dyn BaseStrategy) -> PathBuf) -> Result<PathBuf, Failure> {
    match std::env::var_os(variable).filter(|value| !value.is_empty()) {
        Some(value) if Path::new(&value).is_absolute() => Ok(value.into()),
        Some(value) => Err(Failure::new(
            Exit::Usage,
            "config_invalid",
            format!("the variable {variable} is wrong: {} is not an absolute path", value.display()),
            "give the whole path, from `/` on",
        )),
        None => etcetera::choose_base_strategy().map(|base| of(&base).join("verger")).map_err(|_| {
            Failure::new(
                Exit::Usage,
                "config_invalid",
                "your home folder is not known",
                format!("set HOME, or {variable}"),
            )
        }),
    }
}

/// Finds the vault: the one that was named, else the folder upwards from here that holds `.obsidian` or `.verger`,
/// else the one in `config.toml`.
pub fn find(named: Option<&Path>, config: &Config) -> Result<Place, Failure> {
    if let Some(named) = named {
        return Place::at(named, "choose the vault's folder with --vault PATH");
    }
    let here = std::env::current_dir().map_err(|error| {
        Failure::new(
            Exit::Failed,
            "io",
            format!("the current folder cannot be found: {error}"),
            "go to a folder that exists",
        )
    })?;
    if let Some(root) = above(&here) {
        return Place::at(&root, "");
    }
    match &config.vault {
        Some(vault) => {
            Place::at(&expand(vault), "mend `vault` in config.toml, or name the vault with --vault PATH")
        }
        None => Err(Failure::new(
            Exit::Usage,
            "vault_unknown",
            "no vault: this folder lies in none, and config.toml names none",
            "go into your vault, name it with --vault PATH, or run `verger init PATH` once",
        )),
    }
}

impl Place {
    /// The vault in this folder.
    pub fn at(folder: &Path, hint: &str) -> Result<Place, Failure> {
        let root = resolve(folder).map_err(|error| {
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => "does not exist".to_owned(),
                std::io::ErrorKind::NotADirectory => "is not a folder".to_owned(),
                _ => format!("cannot be used: {error}"),
            };
            Failure::new(
                Exit::Failed,
                "vault_missing",
                format!("the vault {} {what}", folder.display()),
                hint,
            )
        })?;
        let name: String = root
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
            .chars()
            .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' })
            .take(40)
            .collect();
        let hash = Hash::of(root.as_os_str().as_encoded_bytes()).short();
        let data = data_folder()?.join("vaults").join(format!("{name}-{hash}"));
        Ok(Place { root, data })
    }
}

/// `~/` is the home folder.
pub fn expand(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), etcetera::home_dir()) {
        (Ok(rest), Ok(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// A vault that Obsidian knows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Known {
    /// Its folder.
    pub path: PathBuf,
    /// Whether it is there.
    pub found: bool,
}

/// The vaults in Obsidian's own list, those that are there first.
pub fn known_to_obsidian() -> Vec<Known> {
    let mut files = Vec::new();
    if let Ok(base) = etcetera::choose_base_strategy() {
        let home = base.home_dir();
        files.push(base.config_dir().join("obsidian/obsidian.json"));
        files.push(home.join(".var/app/md.obsidian.Obsidian/config/obsidian/obsidian.json"));
        files.push(home.join("snap/obsidian/current/.config/obsidian/obsidian.json"));
        files.push(home.join("Library/Application Support/obsidian/obsidian.json"));
    }
    let mut vaults: Vec<Known> = files
        .iter()
        .filter_map(|file| read(file))
        .flat_map(|text| vaults_in(&text))
        .map(|path| Known { found: is_folder(&path), path })
        .collect();
    vaults.sort_by(|a, b| (!a.found, &a.path).cmp(&(!b.found, &b.path)));
    vaults.dedup();
    vaults
}

/// The folders named in the text of an `obsidian.json`.
fn vaults_in(text: &str) -> Vec<PathBuf> {
    let json: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let vaults = json.get("vaults").and_then(serde_json::Value::as_object);
    vaults
        .into_iter()
        .flat_map(serde_json::Map::values)
        .filter_map(|vault| vault.get("path")?.as_str().map(PathBuf::from))
        .collect()
}

fn above(here: &Path) -> Option<PathBuf> {
    here.ancestors()
        .find(|folder| is_folder(&folder.join(".obsidian")) || is_folder(&folder.join(".verger")))
        .map(Path::to_owned)
}

#[expect(clippy::disallowed_methods, reason = "finds the vault's folder before there is a vault")]
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

#[expect(clippy::disallowed_methods, reason = "names the vault's folder once, before there is a vault")]
fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    let root = path.canonicalize()?;
    if root.is_dir() { Ok(root) } else { Err(std::io::ErrorKind::NotADirectory.into()) }
}

#[expect(clippy::disallowed_methods, reason = "Obsidian's own settings, outside the vault")]
fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Puts a line before everything else in a file.
#[expect(clippy::disallowed_methods, reason = "the person's configuration, outside the vault")]
pub fn insert_line(file: &Path, line: &str) -> std::io::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let fresh = file.with_extension("toml.new");
    std::fs::write(&fresh, format!("{line}\n{text}"))?;
    std::fs::rename(&fresh, file)
}

/// Writes a file that is not there yet; a link or anything else in its place is left alone.
#[expect(
    clippy::disallowed_methods,
    reason = "rule files and configuration are made for the person, before there is a road"
)]
pub fn write_new(file: &Path, text: &str) -> std::io::Result<bool> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
        // `.verger` could be a link to somewhere else.
        if std::fs::symlink_metadata(folder)?.is_symlink() && folder.ends_with(".verger") {
            return Err(std::io::Error::other("the folder `.verger` is a symbolic link"));
        }
    }
    match std::fs::File::options().write(true).create_new(true).open(file) {
        Ok(mut made) => made.write_all(text.as_bytes()).and_then(|()| made.sync_all()).map(|()| true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// The text of a file that the person named on the command line.
#[expect(clippy::disallowed_methods, reason = "a file that the person named, anywhere on the machine")]
pub fn read_named(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::new(
            Exit::Usage,
            "input",
            format!("{} cannot be read: {error}", path.display()),
            "check the path behind @",
        )
    })
}

/// Makes the vault's data folder, for its owner only, where there is none yet.
pub fn make_data(place: &Place) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&place.data).map_err(|error| {
        let message = format!("{} cannot be made: {error}", place.data.display());
        Failure::new(Exit::Failed, "io", message, "see whether you may write there")
    })
}

/// The secret in a file that only its owner can read; where there is none, the file is made with `fresh` in it.
#[expect(clippy::disallowed_methods, reason = "a file that the person named, anywhere on the machine")]
pub fn secret(file: &Path, fresh: &str) -> Result<String, Failure> {
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
    let failed = |why: String, hint: &str| {
        Err(Failure::new(Exit::Usage, "input", format!("the token file {} {why}", file.display()), hint))
    };
    match File::options().write(true).create_new(true).mode(0o600).open(file) {
        Ok(mut made) => {
            let written = made.write_all(format!("{fresh}\n").as_bytes()).and_then(|()| made.sync_all());
            return match written {
                Ok(()) => Ok(fresh.to_owned()),
                Err(error) => failed(format!("cannot be written: {error}"), "name another place"),
            };
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return failed(format!("cannot be made: {error}"), "name a place where you may write"),
    }
    match std::fs::metadata(file) {
        Ok(found) if found.mode() & 0o077 != 0 => {
            return failed("can be read by others".to_owned(), "take their rights away: chmod 600");
        }
        Ok(found) if found.is_file() && found.len() < 64 * 1024 => {}
        Ok(_) => return failed("is no file with a token".to_owned(), "name another one"),
        Err(error) => return failed(format!("cannot be read: {error}"), "name another one"),
    }
    let text = read_named(file)?.trim().to_owned();
    if text.len() < 32 || !text.chars().all(|c| c.is_ascii_graphic()) {
        return failed("holds no token of 32 characters or more".to_owned(), "remove it, and one is made");
    }
    Ok(text)
}

/// The text of a file that only its owner can read.
#[expect(clippy::disallowed_methods, reason = "a key that the person keeps in a file")]
pub fn read_private(file: &Path) -> Result<String, String> {
    use std::os::unix::fs::MetadataExt as _;
    match std::fs::metadata(file) {
        Ok(found) if !found.is_file() || found.len() > 64 * 1024 => {
            Err("it is no file with a key".to_owned())
        }
        Ok(found) if found.mode() & 0o077 != 0 => {
            Err("others can read it; take their rights away: chmod 600".to_owned())
        }
        Ok(_) => std::fs::read_to_string(file).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes a file that only its owner can read; what was there is replaced, a link is not followed.
#[expect(clippy::disallowed_methods, reason = "a key that the person keeps in a file")]
pub fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".verger-{}", std::process::id()));
    let fresh = file.with_file_name(name);
    std::fs::remove_file(&fresh).ok();
    let mut made = File::options().write(true).create_new(true).mode(0o600).open(&fresh)?;
    made.write_all(text.as_bytes())?;
    made.sync_all()?;
    std::fs::rename(&fresh, file)
}

/// Takes such a file away; whether it was there.
#[expect(clippy::disallowed_methods, reason = "a key that the person keeps in a file")]
pub fn remove_private(file: &Path) -> std::io::Result<bool> {
    match std::fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The text of a small file that may be missing; anything else in its place is as good as missing.
#[expect(clippy::disallowed_methods, reason = "the vault's .mcp.json, which names programs and is no note")]
pub fn read_small(path: &Path) -> Option<String> {
    use std::io::Read;
    const LARGEST: u64 = 1024 * 1024;
    if !std::fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let read = File::open(path).ok()?.take(LARGEST + 1).read_to_string(&mut text).ok()?;
    (read as u64 <= LARGEST).then_some(text)
}

/// The keyboard of the person, when stdin carries data.
#[expect(clippy::disallowed_methods, reason = "the terminal itself")]
pub fn keyboard() -> Option<File> {
    File::open("/dev/tty").ok().filter(File::is_terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vaults_are_read_from_obsidians_list_and_anything_else_is_no_vault() {
        let text = r#"{"vaults":{"a1":{"path":"/home/w/Notes","ts":1,"open":true},"b2":{"ts":2},"c":7}}"#;
        assert_eq!(vaults_in(text), [PathBuf::from("/home/w/Notes")]);
        for broken in ["", "[]", "{\"vaults\":[]}", "{"] {
            assert!(vaults_in(broken).is_empty(), "{broken}");
        }
    }

    #[test]
    fn one_folder_has_one_data_folder_whatever_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("my notes\n☃");
        #[expect(clippy::disallowed_methods, reason = "a test makes its folder")]
        std::fs::create_dir(&odd).unwrap();
        let place = Place::at(&odd, "").unwrap();
        assert_eq!(place, Place::at(&odd.join("."), "").unwrap());
        let name = place.data.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("my_notes__") && name.len() == "my_notes___".len() + 1 + 15, "{name}");
    }
}
