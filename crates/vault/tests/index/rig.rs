//! A vault and its index in a folder, and what the tests ask of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vault::catalog::Visible;
use vault::disk::Disk;
use vault::files::{Files, Kind};
use vault::index::TextIndex;
use vault::search::{self, Found, Pattern, Query};

/// The index of the vault at `root`, with its data in `data`.
pub fn open(root: &Path, data: &Path) -> TextIndex {
    TextIndex::open_or_build(Arc::new(Disk::open(root).unwrap()), data, &|_| ()).unwrap()
}

/// What the scanner finds in the same files.
pub fn scan(root: &Path, query: &Query) -> Found {
    let disk = Disk::open(root).unwrap();
    let mut paths = Vec::new();
    disk.walk(&mut |entry| {
        if entry.kind == Kind::File {
            paths.push(entry.path);
        }
    })
    .unwrap();
    search::search(&disk, &paths, query).unwrap()
}

pub fn literal(text: &str) -> Query {
    Query::new(Pattern::Literal(text.to_owned()))
}

pub fn regex(text: &str) -> Query {
    Query::new(Pattern::Regex(text.to_owned()))
}

#[track_caller]
pub fn check(root: &Path, index: &TextIndex, query: &Query) {
    assert_eq!(index.search(query, Visible::all()).unwrap(), scan(root, query), "{query:?}");
}

/// A folder with `vault` and `data` in it.
pub struct Rig {
    pub folder: tempfile::TempDir,
}

impl Rig {
    pub fn new() -> Rig {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("vault")).unwrap();
        Rig { folder }
    }
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("vault")
    }
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
    pub fn open(&self) -> TextIndex {
        open(&self.root(), &self.data())
    }
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let place = self.root().join(name);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
    }
}

/// A small random number generator (xorshift), so that a failing seed can be run again.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    pub fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const WORDS: [&str; 16] = [
    "amber",
    "Amber",
    "lattice",
    "protocol",
    "the",
    "of",
    "Über",
    "über",
    "naïve",
    "日本語",
    "x_1",
    "2026",
    "café",
    "tea",
    "Straße",
    "ſtone",
];
const GAPS: [&str; 12] = [" ", " ", " ", " ", ", ", ". ", " - ", "\n", "\n\n", " [[", "]] ", " #"];

/// A note of some lines.
pub fn note(random: &mut Random) -> String {
    let mut text = format!("# Note {}\n", random.below(1_000));
    for _ in 0..random.below(60) {
        text += random.pick(&WORDS);
        text += random.pick(&GAPS);
    }
    text
}

/// How often to try: few times in the suite, more with `VERGER_LONG`.
pub fn rounds(few: usize, many: usize) -> usize {
    if std::env::var_os("VERGER_LONG").is_some() { many } else { few }
}

/// The questions that tell whether an index is right.
pub fn check_all(root: &Path, index: &TextIndex) {
    for text in ["amber", "lattice protocol", "the", "Note 1", " #", "naïve, ", "nothing", "e"] {
        check(root, index, &literal(text));
    }
    check(root, index, &regex(r"amber\b.*tea"));
    check(root, index, &Query { whole_word: true, ..literal("über") });
}
