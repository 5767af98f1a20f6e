//! Notes that say almost the same, found without comparing every note with every other.
//!
//! Each note becomes a short sketch of its wording (one-permutation MinHash over runs of words). Notes whose sketches
//! agree in one band meet in a bucket; only those are compared, first by sketch and then by their whole wording. A bucket
//! compares its notes with a few of its own and not all with all, so ten thousand copies of a template stay cheap.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;

use crate::catalog::threads;
use crate::files::Files;
use crate::note::front;
use crate::path::VaultPath;

/// Words of one run.
const RUN: usize = 4;
/// Notes with fewer words than this are alike by chance.
const FEWEST_WORDS: usize = 20;
/// Numbers in a sketch, and how many of them make a band.
const SKETCH: usize = 64;
const BAND: usize = 4;
/// A sketch may be off by some percent; what it lets through is compared word by word.
const SKETCH_ALIKE: usize = SKETCH * 3 / 4;
/// Notes that share this much of their wording, in percent, say the same.
const ALIKE: usize = 80;
/// With how many notes of its bucket a note is compared.
const COMPARED: usize = 4;

type Sketch = [u32; SKETCH];

/// Notes that say almost the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Twins {
    /// The notes, in path order.
    pub(super) paths: Vec<VaultPath>,
    /// How much of the wording two of them share at least, in percent.
    pub(super) percent: usize,
    /// Whether they are the same, byte for byte.
    pub(super) same: bool,
}

/// The groups of notes that say almost the same. A note that cannot be read has no twin.
pub(super) fn find(files: &dyn Files, paths: &[VaultPath]) -> Vec<Twins> {
    let sketches = sketches(files, paths);
    let mut groups = Groups { parent: (0..sketches.len()).collect(), least: HashMap::new() };
    for band in 0..SKETCH / BAND {
        let mut buckets: HashMap<&[u32], Vec<usize>> = HashMap::new();
        for (at, (_, sketch)) in sketches.iter().enumerate() {
            let bucket = buckets.entry(&sketch[band * BAND..(band + 1) * BAND]).or_default();
            meet(at, bucket, &sketches, &mut groups, files);
        }
    }
    groups.told(&sketches, files)
}

/// Compares a note with the first few of its bucket, and lets it in if there is room.
fn meet(
    at: usize,
    bucket: &mut Vec<usize>,
    sketches: &[(&VaultPath, Sketch)],
    groups: &mut Groups,
    files: &dyn Files,
) {
    for other in bucket.iter().copied() {
        let agree = sketches[at].1.iter().zip(&sketches[other].1).filter(|(a, b)| a == b).count();
        if agree < SKETCH_ALIKE || groups.are_one(at, other) {
            continue;
        }
        let shared = shared(files, sketches[at].0, sketches[other].0);
        if let Some(percent) = shared.filter(|percent| *percent >= ALIKE) {
            groups.join(at, other, percent);
        }
    }
    if bucket.len() < COMPARED {
        bucket.push(at);
    }
}

/// How much of the wording two notes share, in percent of all that either says.
fn shared(files: &dyn Files, one: &VaultPath, other: &VaultPath) -> Option<usize> {
    let runs = |path| text(files, path).map(|text| runs(&text).collect::<HashSet<u64>>());
    let (one, other) = (runs(one)?, runs(other)?);
    let both = one.intersection(&other).count();
    Some(both * 100 / (one.len() + other.len() - both).max(1))
}

fn sketches<'p>(files: &dyn Files, paths: &'p [VaultPath]) -> Vec<(&'p VaultPath, Sketch)> {
    let part = paths.len().div_ceil(threads()).max(1);
    let sketch = |part: &'p [VaultPath]| {
        let known = part.iter().filter_map(|path| Some((path, sketch(&text(files, path)?)?)));
        known.collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let parts: Vec<_> = paths.chunks(part).map(|part| scope.spawn(|| sketch(part))).collect();
        parts.into_iter().filter_map(|part| part.join().ok()).flatten().collect()
    })
}

fn text(files: &dyn Files, path: &VaultPath) -> Option<String> {
    String::from_utf8(files.read(path).ok()?).ok()
}

/// The hashes of all runs of words behind the front matter, case ignored.
fn runs(text: &str) -> impl Iterator<Item = u64> {
    let body = front::split(text).map_or(text, |front| &text[front.block.end..]);
    let words = body.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<u64> = words.map(word).collect();
    (0..(words.len() + 1).saturating_sub(RUN)).map(move |at| hashed(&words[at..at + RUN]))
}

fn word(word: &str) -> u64 {
    match word.is_ascii() {
        true => hashed(&word.to_ascii_lowercase()),
        false => hashed(&word.to_lowercase()),
    }
}

fn hashed<T: Hash + ?Sized>(value: &T) -> u64 {
    // Keys of this hasher are fixed, so the same vault has the same findings every time.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn sketch(text: &str) -> Option<Sketch> {
    let mut sketch = [u32::MAX; SKETCH];
    let mut count = 0;
    for run in runs(text) {
        let place = (run >> 58) as usize;
        sketch[place] = sketch[place].min((run as u32).min(u32::MAX - 1));
        count += 1;
    }
    if count + RUN <= FEWEST_WORDS {
        return None;
    }
    // A place that no run fell into takes the number of the next one that has one, so that short notes compare too.
    let known = sketch;
    for (place, number) in sketch.iter_mut().enumerate().filter(|(_, number)| **number == u32::MAX) {
        let next = (1..SKETCH).map(|step| (step, known[(place + step) % SKETCH]));
        let (step, found) = next.into_iter().find(|(_, number)| *number != u32::MAX)?;
        *number = found.wrapping_add(step as u32).wrapping_mul(0x9E37_79B1);
    }
    Some(sketch)
}

/// Notes joined into groups, with the least that any two joined ones share.
struct Groups {
    parent: Vec<usize>,
    least: HashMap<usize, usize>,
}

impl Groups {
    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn are_one(&mut self, a: usize, b: usize) -> bool {
        self.root(a) == self.root(b)
    }

    fn join(&mut self, a: usize, b: usize, percent: usize) {
        let (a, b) = (self.root(a), self.root(b));
        let least = |groups: &Groups, at| groups.least.get(at).copied().unwrap_or(100);
        let percent = percent.min(least(self, &a)).min(least(self, &b));
        self.parent[a] = b;
        self.least.insert(b, percent);
    }

    fn told(mut self, sketches: &[(&VaultPath, Sketch)], files: &dyn Files) -> Vec<Twins> {
        let mut members: HashMap<usize, Vec<VaultPath>> = HashMap::new();
        for (at, (path, _)) in sketches.iter().enumerate() {
            let root = self.root(at);
            members.entry(root).or_default().push((*path).clone());
        }
        let groups = members.into_iter().filter(|(_, paths)| paths.len() > 1);
        let mut twins: Vec<Twins> = groups
            .map(|(root, mut paths)| {
                paths.sort();
                let percent = self.least.get(&root).copied().unwrap_or(100);
                let same = percent == 100 && are_same(files, &paths);
                Twins { paths, percent, same }
            })
            .collect();
        twins.sort_by(|a, b| a.paths.cmp(&b.paths));
        twins
    }
}

fn are_same(files: &dyn Files, paths: &[VaultPath]) -> bool {
    let first = paths.first().and_then(|path| files.read(path).ok());
    first
        .is_some_and(|first| paths[1..].iter().all(|path| files.read(path).is_ok_and(|bytes| bytes == first)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    fn words(from: usize, to: usize) -> String {
        (from..to).map(|number| format!("word{number} ")).collect()
    }

    fn groups(fixture: &str) -> Vec<(String, bool)> {
        let files = MemoryFiles::parse(fixture).unwrap();
        let mut paths = Vec::new();
        files.walk(&mut |entry| paths.push(entry.path)).unwrap();
        let told = |twins: Twins| {
            let paths = twins.paths.iter().map(VaultPath::as_str).collect::<Vec<_>>().join(" ");
            (paths, twins.same)
        };
        find(&files, &paths).into_iter().map(told).collect()
    }

    #[test]
    fn copies_and_near_copies_are_found_and_others_are_not() {
        let (text, other) = (words(0, 300), words(1000, 1300));
        let near = text.replace("word150", "changed");
        let half = format!("{}{}", words(0, 150), words(500, 650));
        let fixture = format!(
            "a.md: {text}\n--- b.md: {near}\n--- c.md: {other}\n--- d/c.md: {other}\n--- e.md: {half}"
        );
        assert_eq!(groups(&fixture), [("a.md b.md".to_owned(), false), ("c.md d/c.md".to_owned(), true)]);
    }

    #[test]
    fn front_matter_and_case_make_no_difference_and_short_notes_are_left_alone() {
        let text = words(0, 60);
        let fixture = format!(
            "a.md: ---\nid: 1\n---\n{text}\n--- b.md: ---\nid: 2\n---\n{}\n--- c.md: a few words\n--- d.md: a few words",
            text.to_uppercase()
        );
        assert_eq!(groups(&fixture), [("a.md b.md".to_owned(), false)]);
    }

    #[test]
    fn a_thousand_copies_are_one_group() {
        let text = words(0, 50);
        let fixture: String = (0..1000).map(|number| format!("--- n{number}.md: {text}\n")).collect();
        let found = groups(fixture.trim_end());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0.split(' ').count(), 1000);
    }
}
