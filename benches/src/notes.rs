//! The notes to measure on: found, copied, or made when there are none.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The folder in which a bench may write; removed with all that is in it at the end.
pub struct Work(PathBuf);

/// In one of a hundred notes of a vault that we made ourselves.
pub const RARE: &str = "quixotarnel";
/// In every second one.
pub const COMMON: &str = "nour";
/// In one of two hundred of a generated vault.
pub const PHRASE: &str = "amber lattice protocol";
/// In none.
pub const NOHIT: &str = "zzyxwvunobodywrotethis";

impl Work {
    /// Makes it, in `target/` unless told otherwise: `/tmp` may be memory, on which a sync costs nothing.
    pub fn make(place: Option<PathBuf>) -> Result<Work> {
        let place = place.unwrap_or_else(|| PathBuf::from("target/benches"));
        let place = place.join(format!("run-{}", std::process::id()));
        std::fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        Ok(Work(std::fs::canonicalize(place)?))
    }

    /// A folder in it, not made yet.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A copy of a vault.
    pub fn copy(&self, vault: &Path, name: &str) -> Result<PathBuf> {
        let place = self.folder(name);
        copy_folder(vault, &place)
            .with_context(|| format!("cannot copy the vault to {}", place.display()))?;
        Ok(place)
    }

    /// A vault of so many notes in folders of fifty, with links, tags and a few sections.
    pub fn synthetic(&self, count: usize) -> Result<PathBuf> {
        let place = self.folder("synthetic");
        let mut random = Random(20_261_115);
        for number in 0..count {
            let folder = place.join(format!("Folder {}", number / 50));
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(format!("Note {number}.md")), text(number, count, &mut random))?;
        }
        Ok(place)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What cannot be removed lies in the work folder, where its owner will find it.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn text(number: usize, count: usize, random: &mut Random) -> String {
    let mut text = format!("---\ntags: [t{}]\nstatus: draft\n---\n# Note {number}\n", number % 40);
    for section in 0..4 {
        text.push_str(&format!("\n## Section {section}\n\n"));
        for _ in 0..8 {
            let words: Vec<String> = (0..12).map(|_| format!("word{}", random.below(5_000))).collect();
            text.push_str(&format!("{} [[Note {}]]\n", words.join(" "), random.below(count)));
        }
    }
    if number.is_multiple_of(100) {
        text.push_str(RARE);
    }
    if number.is_multiple_of(2) {
        text.push_str(&format!("\n{COMMON}\n"));
    }
    text
}

/// Every Markdown file below a folder, as a path relative to it, sorted.
pub fn markdown(vault: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut waiting = vec![vault.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            match path.extension() {
                _ if hidden => {}
                _ if path.is_dir() => waiting.push(path),
                Some(extension) if extension == "md" => {
                    found.push(path.strip_prefix(vault)?.to_string_lossy().into_owned());
                }
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &place)?;
        } else {
            std::fs::copy(entry.path(), place)?;
        }
    }
    Ok(())
}

/// A small random number generator (xorshift): the same notes in every run.
pub struct Random(pub u64);

impl Random {
    /// A number below the limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}
