//! Finds the file that somebody means by a text, and what they may have meant when there is none.

use super::keys::name_key;
use super::{Catalog, FileInfo, Visible, fold};
use crate::path::VaultPath;

/// How many suggestions are worth reading.
const SUGGESTIONS: usize = 5;
/// Names longer than this are not compared letter by letter.
const LONGEST_COMPARED: usize = 64;

/// What a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// One file.
    One(VaultPath),
    /// Several that fit equally well, in path order.
    Several(Vec<VaultPath>),
    /// None.
    None,
}

impl Catalog {
    /// The file that a text names: its exact path, the path in another case or Unicode form or without `.md`, the end
    /// of a path, a bare name, or an alias. The first of these that fits anything decides.
    pub fn lookup(&self, text: &str, visible: Visible<'_>) -> Lookup {
        let Ok(path) = VaultPath::parse(text.trim()) else { return Lookup::None };
        if self.get(&path, visible).is_some() {
            return Lookup::One(path);
        }
        let named = self.names.get(name_key(path.as_str())).filter_map(|id| self.at(id));
        let mut named: Vec<&FileInfo> = named.filter(|info| visible.sees(&info.path)).collect();
        named.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let wanted = without_extension(&path.folded());
        let same = |info: &&&FileInfo| without_extension(&info.path.folded()) == wanted;
        let ending = format!("/{wanted}");
        let ends = |info: &&&FileInfo| without_extension(&info.path.folded()).ends_with(&ending);
        for found in [one_of(named.iter().filter(same)), one_of(named.iter().filter(ends))] {
            if found != Lookup::None {
                return found;
            }
        }
        self.by_alias(text, visible)
    }

    /// Paths that look like this one, the likeliest first, at most five.
    pub fn near(&self, path: &VaultPath, visible: Visible<'_>) -> Vec<VaultPath> {
        let wanted = Wanted::new(path);
        let seen = self.files(visible).filter_map(|info| Some((wanted.distance(info)?, &info.path)));
        let mut close: Vec<(usize, &VaultPath)> = seen.collect();
        close.sort_unstable();
        close.into_iter().take(SUGGESTIONS).map(|(_, path)| path.clone()).collect()
    }

    fn by_alias(&self, text: &str, visible: Visible<'_>) -> Lookup {
        let wanted = fold(text.trim());
        let named = |info: &&FileInfo| info.aliases().into_iter().any(|alias| fold(alias) == wanted);
        let found: Vec<&FileInfo> = self.notes(visible).filter(named).collect();
        one_of(found.iter())
    }
}

fn one_of<'a>(found: impl Iterator<Item = &'a &'a FileInfo>) -> Lookup {
    let mut paths: Vec<VaultPath> = found.map(|info| info.path.clone()).collect();
    match paths.len() {
        0 => Lookup::None,
        1 => Lookup::One(paths.remove(0)),
        _ => Lookup::Several(paths),
    }
}

fn without_extension(path: &str) -> String {
    super::keys::without_note_extension(path).unwrap_or(path).to_owned()
}

/// What was asked for, prepared for many comparisons.
struct Wanted {
    path: String,
    stem: String,
    letters: Vec<char>,
}

impl Wanted {
    fn new(path: &VaultPath) -> Wanted {
        let stem = fold(path.stem());
        Wanted { path: without_extension(&path.folded()), letters: stem.chars().collect(), stem }
    }

    /// How far a file's name is from it; nothing if they have nothing to do with each other.
    fn distance(&self, info: &FileInfo) -> Option<usize> {
        let stem = fold(info.path.stem());
        if stem == self.stem {
            let same = without_extension(&info.path.folded()) == self.path;
            return Some(usize::from(!same));
        }
        if self.stem.is_empty() || stem.is_empty() {
            return None;
        }
        let letters = stem.chars().count();
        let allowed = (self.letters.len() / 4).clamp(1, 3);
        if let Some(edits) = edits(&self.letters, &stem, letters, allowed) {
            return Some(1 + edits);
        }
        let holds = (self.letters.len() >= 3 && stem.contains(&self.stem))
            || (letters >= 3 && self.stem.contains(&stem));
        holds.then(|| 10 + letters.abs_diff(self.letters.len()))
    }
}

/// How many letters must be changed, added or dropped, if no more than `allowed`.
fn edits(wanted: &[char], other: &str, letters: usize, allowed: usize) -> Option<usize> {
    if wanted.len().abs_diff(letters) > allowed || wanted.len().max(letters) > LONGEST_COMPARED {
        return None;
    }
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    for (at, letter) in other.chars().enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for column in 1..row.len() {
            let changed = corner + usize::from(wanted[column - 1] != letter);
            corner = row[column];
            row[column] = changed.min(row[column] + 1).min(row[column - 1] + 1);
        }
        if row.iter().min().is_some_and(|least| *least > allowed) {
            return None;
        }
    }
    row.last().copied().filter(|edits| *edits <= allowed)
}
