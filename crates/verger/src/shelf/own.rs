//! The person's own texts for the agent, in the configuration's folder, and the skills that are put there and taken away.
//! The one file of the shelf that touches the disk itself: none of this lies in a vault.

use std::fs::{DirEntry, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::{LARGEST_SKILL, LARGEST_TEXT, MOST, MOST_FILES, Read, ReadFolder};

/// How deep a skill's folder may go.
const DEEPEST: usize = 8;

/// The configuration's folder.
pub struct Own<'p> {
    folder: &'p Path,
}

impl<'p> Own<'p> {
    /// In this folder; it need not be there.
    pub fn at(folder: &'p Path) -> Own<'p> {
        Own { folder }
    }

    /// The texts with these endings in a folder. Links are followed: many keep their configuration elsewhere.
    pub fn texts(&self, folder: &str, endings: &[&str]) -> Vec<Read> {
        let names = names(&self.folder.join(folder));
        let fits = |name: &String| name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending));
        names
            .into_iter()
            .filter(fits)
            .take(MOST)
            .filter_map(|name| self.text(&format!("{folder}/{name}")))
            .collect()
    }

    /// The text at a path, if a file is there.
    pub fn text(&self, path: &str) -> Option<Read> {
        let place = self.folder.join(path);
        is_file(&place).then(|| Read { path: path.to_owned(), bytes: read(&place, LARGEST_TEXT) })
    }

    /// The folders of skills.
    pub fn skills(&self) -> Vec<ReadFolder> {
        let names = names(&self.folder.join("skills")).into_iter();
        let folders = names.filter(|name| crate::place::is_folder(&self.skill(name)));
        let read =
            |name: String| ReadFolder { files: tree(&self.skill(&name)), path: format!("skills/{name}") };
        folders.take(MOST).map(read).collect()
    }

    /// Where the skill of this name lies.
    pub fn skill(&self, name: &str) -> PathBuf {
        self.folder.join("skills").join(name)
    }

    /// Puts a skill in its place, whole or not at all; what lies there is left alone.
    #[expect(clippy::disallowed_methods, reason = "the person's own configuration, outside of every vault")]
    pub fn put_skill(&self, name: &str, files: &[(String, Vec<u8>)]) -> std::io::Result<()> {
        let fresh = self.folder.join("skills").join(format!(".{name}.new-{}", std::process::id()));
        std::fs::create_dir_all(self.folder.join("skills"))?;
        std::fs::create_dir(&fresh)?;
        // A folder is not renamed over one that holds something.
        let put = fill(&fresh, files).and_then(|()| std::fs::rename(&fresh, self.skill(name)));
        if put.is_err() {
            clear(&fresh, files);
        }
        put
    }

    /// Takes a skill out of its place and keeps it aside; says where.
    #[expect(clippy::disallowed_methods, reason = "the person's own configuration, outside of every vault")]
    pub fn put_aside(&self, name: &str, mark: &str) -> std::io::Result<PathBuf> {
        let removed = self.folder.join("skills").join(".removed");
        std::fs::create_dir_all(&removed)?;
        let aside = removed.join(format!("{name}-{mark}"));
        std::fs::rename(self.skill(name), &aside)?;
        Ok(aside)
    }
}

/// Where a folder really lies, so that `.` has a name.
#[expect(clippy::disallowed_methods, reason = "a folder that the person named")]
pub fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

#[expect(clippy::disallowed_methods, reason = "the person's own configuration, outside of every vault")]
fn fill(folder: &Path, files: &[(String, Vec<u8>)]) -> std::io::Result<()> {
    for (path, bytes) in files {
        let place = folder.join(path);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent)?;
        }
        // Not made executable, whatever it was before.
        let mut file = File::options().write(true).create_new(true).open(&place)?;
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    Ok(())
}

/// Takes away what was begun: the files by their names, then the folders that are empty.
#[expect(clippy::disallowed_methods, reason = "the person's own configuration, outside of every vault")]
fn clear(folder: &Path, files: &[(String, Vec<u8>)]) {
    for (path, _) in files {
        std::fs::remove_file(folder.join(path)).ok();
    }
    for (path, _) in files {
        for part in Path::new(path).ancestors().skip(1) {
            std::fs::remove_dir(folder.join(part)).ok();
        }
    }
}

/// Every file below a folder, sorted. Hidden names are left out; a link or anything else that is no file is refused.
pub fn tree(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut files = Vec::new();
    let mut room = LARGEST_SKILL;
    walk(folder, "", 0, &mut |path, place| {
        if files.len() >= MOST_FILES {
            return Err(too_large());
        }
        let bytes = read(place, room).map_err(|why| format!("{path}: {why}"))?;
        room -= bytes.len() as u64;
        files.push((path.to_owned(), bytes));
        Ok(())
    })?;
    files.sort();
    Ok(files)
}

/// Why a skill's folder is not read.
pub(super) fn too_large() -> String {
    format!("it holds more than {MOST_FILES} files or {} MB", LARGEST_SKILL / 1024 / 1024)
}

fn walk(
    folder: &Path,
    within: &str,
    depth: usize,
    each: &mut dyn FnMut(&str, &Path) -> Result<(), String>,
) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("`{within}` is nested too deep"));
    }
    for name in names(folder) {
        let (path, place) = (format!("{within}{name}"), folder.join(&name));
        match kind(&place) {
            Some(Found::Folder) => walk(&place, &format!("{path}/"), depth + 1, each)?,
            Some(Found::File) => each(&path, &place)?,
            Some(Found::Other) => return Err(format!("`{path}` is a link or no regular file")),
            // Gone meanwhile.
            None => {}
        }
    }
    Ok(())
}

enum Found {
    File,
    Folder,
    Other,
}

#[expect(clippy::disallowed_methods, reason = "the person's own files, outside of every vault")]
fn kind(place: &Path) -> Option<Found> {
    let found = std::fs::symlink_metadata(place).ok()?.file_type();
    Some(match () {
        () if found.is_file() => Found::File,
        () if found.is_dir() => Found::Folder,
        () => Found::Other,
    })
}

/// The names in a folder that are text and not hidden, sorted; none where it cannot be listed.
#[expect(clippy::disallowed_methods, reason = "the person's own files, outside of every vault")]
fn names(folder: &Path) -> Vec<String> {
    let listed = std::fs::read_dir(folder).into_iter().flatten();
    let name = |entry: std::io::Result<DirEntry>| entry.ok()?.file_name().into_string().ok();
    let mut names: Vec<String> = listed.filter_map(name).filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

#[expect(clippy::disallowed_methods, reason = "the person's own files, outside of every vault")]
fn is_file(place: &Path) -> bool {
    place.is_file()
}

#[expect(clippy::disallowed_methods, reason = "the person's own files, outside of every vault")]
fn read(place: &Path, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(place).and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes));
    match read {
        Ok(length) if length as u64 > most => Err("it is too large".to_owned()),
        Ok(_) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test looks at the folder")]
    fn a_skill_is_put_in_its_place_whole_and_never_over_another() {
        let config = tempfile::tempdir().unwrap();
        let own = Own::at(config.path());
        assert!(own.skills().is_empty() && own.texts("agents", &["md"]).is_empty());
        let files = vec![("SKILL.md".to_owned(), b"a".to_vec()), ("sub/x.py".to_owned(), b"b".to_vec())];
        own.put_skill("tidy", &files).unwrap();
        assert_eq!(own.skills()[0].files.as_ref().unwrap(), &files);
        let other = [("SKILL.md".to_owned(), b"x".to_vec()), ("a/b/c".to_owned(), b"x".to_vec())];
        assert!(own.put_skill("tidy", &other).is_err());
        let left = std::fs::read_dir(config.path().join("skills")).unwrap().count();
        assert_eq!(left, 1, "what was begun is gone");
        assert_eq!(tree(&own.skill("tidy")).unwrap(), files);
        let aside = own.put_aside("tidy", "1").unwrap();
        assert_eq!((tree(&aside).unwrap(), own.skills().len()), (files, 0));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its folder")]
    fn links_and_pipes_in_a_skill_are_refused_and_too_much_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("SKILL.md"), "a").unwrap();
        std::fs::write(folder.path().join(".hidden"), "a").unwrap();
        assert_eq!(tree(folder.path()).unwrap().len(), 1);
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("x")).unwrap();
        assert!(tree(folder.path()).unwrap_err().contains("`x` is a link"));
        std::fs::remove_file(folder.path().join("x")).unwrap();
        for number in 0..MOST_FILES {
            std::fs::write(folder.path().join(format!("{number}")), "").unwrap();
        }
        assert!(tree(folder.path()).unwrap_err().contains("more than 500 files"));
    }
}
