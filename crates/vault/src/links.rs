//! Where a link leads: from the text of a target to a file of the vault, and back.
//!
//! The catalog holds one [`Resolver`] over all files and keeps it up to date; [`crate::edit::relink`] compares two of
//! them, before and after a move. Reading links out of a note is [`crate::note::links`]; headings and block ids
//! (fragments) are not looked at here. Comparison ignores case and Unicode composition, but the exact spelling wins.

mod spell;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use crate::note::links::{Link, LinkStyle};
use crate::path::{VaultFolder, VaultPath};

pub use spell::LinkFormat;
pub(crate) use spell::{Form, Spelling};

/// All files of the vault, by path and by name.
#[derive(Debug, Clone, Default)]
pub struct Resolver {
    /// Folded path → the files of that path (several only where case tells them apart).
    paths: Lists,
    /// Folded name → its files, the shortest path first: fewest names, then fewest bytes, then by alphabet.
    names: Lists,
}

/// Shared by clones: the vault after a move is a clone with a few lists changed.
type Lists = HashMap<Arc<str>, Arc<Vec<VaultPath>>>;

/// Where a link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution<'a> {
    /// To this file.
    Found(&'a VaultPath),
    /// To the first of several that fit equally well by their names.
    Ambiguous {
        /// The one that is taken: the shortest path, then the first by alphabet.
        chosen: &'a VaultPath,
        /// How many others fit.
        others: usize,
    },
    /// Nowhere.
    Missing,
}

impl<'a> Resolution<'a> {
    /// The file that a reader gets to see.
    pub fn path(self) -> Option<&'a VaultPath> {
        match self {
            Resolution::Found(path) | Resolution::Ambiguous { chosen: path, .. } => Some(path),
            Resolution::Missing => None,
        }
    }
}

/// By which rule a target was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Road {
    /// `./x`, `../x`, or a Markdown target taken from the source's folder.
    Beside,
    /// The whole path from the vault's root.
    Whole,
    /// The end of a path.
    Suffix,
}

/// A target that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located<'a> {
    pub(crate) path: &'a VaultPath,
    pub(crate) road: Road,
    others: usize,
}

impl Resolver {
    /// A resolver over these files, notes and attachments.
    pub fn new(paths: impl IntoIterator<Item = VaultPath>) -> Resolver {
        let paths = paths.into_iter();
        let mut out = Resolver {
            paths: HashMap::with_capacity(paths.size_hint().0),
            names: HashMap::with_capacity(paths.size_hint().0),
        };
        for path in paths {
            out.insert(path);
        }
        out
    }

    /// Adds a file.
    pub fn insert(&mut self, path: VaultPath) {
        let (folded, name) = keys(&path);
        put(&mut self.paths, folded, path.clone());
        put(&mut self.names, name, path);
    }

    /// Takes a file out.
    pub fn remove(&mut self, path: &VaultPath) {
        let (folded, name) = keys(path);
        take(&mut self.paths, &folded, path);
        take(&mut self.names, &name, path);
    }

    /// Whether the file is known, in this spelling.
    pub fn contains(&self, path: &VaultPath) -> bool {
        self.paths.get(&*fold(path.as_str())).is_some_and(|list| list.contains(path))
    }

    /// The file of this whole path, case aside, extension required. Canvas files name their notes this way.
    pub fn whole_path(&self, path: &str) -> Option<&VaultPath> {
        let list = self.paths.get(&*fold(path))?;
        list.iter().find(|found| found.as_str() == path).or_else(|| list.first())
    }

    /// Where a wiki target leads from the note `from`.
    pub fn resolve<'a>(&'a self, target: &str, from: &'a VaultPath) -> Resolution<'a> {
        self.resolve_as(LinkStyle::Wiki, target, from)
    }

    /// Where a link leads from the note `from`. Markdown targets count from the source's folder first.
    pub fn resolve_link<'a>(&'a self, link: &Link, from: &'a VaultPath) -> Resolution<'a> {
        self.resolve_as(link.style, &link.target, from)
    }

    /// Where a decoded target leads from the note `from`; an empty one leads to the note itself.
    pub fn resolve_as<'a>(&'a self, style: LinkStyle, target: &str, from: &'a VaultPath) -> Resolution<'a> {
        if target.is_empty() {
            return Resolution::Found(from);
        }
        match self.locate(style, target, from) {
            Some(Located { path, others: 0, .. }) => Resolution::Found(path),
            Some(Located { path, others, .. }) => Resolution::Ambiguous { chosen: path, others },
            None => Resolution::Missing,
        }
    }

    pub(crate) fn locate(&self, style: LinkStyle, target: &str, from: &VaultPath) -> Option<Located<'_>> {
        let found = |road| move |path| Located { path, road, others: 0 };
        let folder = from.parent();
        if is_dotted(target) {
            return self.at(&walk(&folder, target)?).map(found(Road::Beside));
        }
        if let Some(whole) = target.strip_prefix('/') {
            return self.at(whole).map(found(Road::Whole));
        }
        let beside = || self.at(&below(&folder, target)).map(found(Road::Beside));
        let whole = || self.at(target).map(found(Road::Whole));
        match style {
            LinkStyle::Markdown => beside().or_else(whole),
            LinkStyle::Wiki => whole(),
        }
        .or_else(|| spellings(target).into_iter().find_map(|target| self.by_suffix(&target, &folder)))
    }

    /// The file of a whole path written with or without `.md`.
    fn at(&self, path: &str) -> Option<&VaultPath> {
        spellings(path).into_iter().find_map(|path| self.whole_path(&path))
    }

    /// The file whose path ends with `target`: in the source's folder, else the exact spelling, else the shortest path.
    fn by_suffix(&self, target: &str, folder: &VaultFolder) -> Option<Located<'_>> {
        let list = self.names.get(&*fold(last_segment(target)))?;
        if let Some(path) = self.whole_path(&below(folder, target)) {
            return Some(Located { path, road: Road::Suffix, others: 0 });
        }
        let folded = fold(target);
        let bare = !target.contains('/');
        let mut fitting = list.iter().filter(|path| bare || ends_with(&fold(path.as_str()), &folded));
        let first = fitting.next()?;
        let exact =
            std::iter::once(first).chain(fitting.clone()).find(|path| ends_with(path.as_str(), target));
        Some(Located { path: exact.unwrap_or(first), road: Road::Suffix, others: fitting.count() })
    }
}

/// A spelling under which names that differ in case or composition are equal.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        return Cow::Owned(text.nfc().flat_map(char::to_lowercase).nfc().collect());
    }
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    Cow::Borrowed(text)
}

/// What follows the last slash.
pub(crate) fn last_segment(target: &str) -> &str {
    target.rsplit('/').next().unwrap_or(target)
}

/// The ways to read a target, the likelier first: a name without a dot is a note's, with one it may be complete.
pub(crate) fn spellings(target: &str) -> [Cow<'_, str>; 2] {
    let note = Cow::Owned(format!("{target}.md"));
    match last_segment(target).rfind('.') {
        Some(dot) if dot > 0 => [Cow::Borrowed(target), note],
        _ => [note, Cow::Borrowed(target)],
    }
}

/// Whether the target counts from the source's folder: it has a `.` or `..` segment.
pub(crate) fn is_dotted(target: &str) -> bool {
    target.contains('.') && target.split('/').any(|segment| matches!(segment, "." | ".."))
}

/// The path reached from `folder`; none above the vault's root.
fn walk(folder: &VaultFolder, target: &str) -> Option<String> {
    let mut segments: Vec<&str> = folder.as_str().split('/').filter(|segment| !segment.is_empty()).collect();
    for segment in target.split('/') {
        match segment {
            "." | "" => {}
            ".." => {
                segments.pop()?;
            }
            _ => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

fn below(folder: &VaultFolder, target: &str) -> String {
    match folder.path() {
        Some(folder) => format!("{folder}/{target}"),
        None => target.to_owned(),
    }
}

/// Whether the path ends with these whole names.
fn ends_with(path: &str, target: &str) -> bool {
    path.strip_suffix(target).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn keys(path: &VaultPath) -> (Arc<str>, Arc<str>) {
    (fold(path.as_str()).into(), fold(path.name()).into())
}

fn by_length(a: &VaultPath, b: &VaultPath) -> std::cmp::Ordering {
    let key = |path: &VaultPath| (path.segments().count(), path.as_str().len());
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

fn put(lists: &mut Lists, key: Arc<str>, path: VaultPath) {
    match lists.entry(key) {
        Entry::Vacant(entry) => {
            entry.insert(Arc::new(vec![path]));
        }
        Entry::Occupied(mut entry) => {
            if let Err(at) = entry.get().binary_search_by(|other| by_length(other, &path)) {
                Arc::make_mut(entry.get_mut()).insert(at, path);
            }
        }
    }
}

fn take(lists: &mut Lists, key: &str, path: &VaultPath) {
    let Some(list) = lists.get_mut(key) else { return };
    if let Ok(at) = list.binary_search_by(|other| by_length(other, path)) {
        Arc::make_mut(list).remove(at);
    }
    if list.is_empty() {
        lists.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    fn resolver(paths: &str) -> Resolver {
        Resolver::new(paths.split(", ").map(path))
    }

    #[track_caller]
    fn check(paths: &str, style: LinkStyle, rows: &[(&str, &str, &str)]) {
        let resolver = resolver(paths);
        for (target, from, expected) in rows {
            let from = path(from);
            let found = match resolver.resolve_as(style, target, &from) {
                Resolution::Found(path) => path.to_string(),
                Resolution::Ambiguous { chosen, others } => format!("{chosen} +{others}"),
                Resolution::Missing => "-".to_owned(),
            };
            assert_eq!(found, *expected, "{target:?} from {from} in {paths}");
        }
    }

    #[test]
    fn wiki_targets_are_whole_paths_then_ends_of_paths() {
        check(
            "a.md, p/a.md, p/b.md, q/p/b.md, q/i.png, q/v1.2.md",
            LinkStyle::Wiki,
            &[
                ("a", "x.md", "a.md"),
                ("a.md", "p/x.md", "a.md"),
                ("p/a", "x.md", "p/a.md"),
                ("/a", "p/x.md", "a.md"),
                ("/b", "p/x.md", "-"),
                ("b", "x.md", "p/b.md +1"),
                ("b", "q/p/x.md", "q/p/b.md"),
                ("b", "p/x.md", "p/b.md"),
                ("p/b", "q/x.md", "p/b.md"),
                ("i.png", "x.md", "q/i.png"),
                ("i", "x.md", "-"),
                ("v1.2", "x.md", "q/v1.2.md"),
                ("", "x.md", "x.md"),
                ("nothing", "x.md", "-"),
                ("x/b", "x.md", "-"),
            ],
        );
    }

    #[test]
    fn the_path_with_the_fewest_names_is_the_shortest() {
        let files = "long folder/n.md, b/c/n.md, a folder/n.md, z/m.md, y/m.md";
        check(
            files,
            LinkStyle::Wiki,
            &[("n", "x.md", "a folder/n.md +2"), ("m", "x.md", "y/m.md +1"), ("n", "b/c/x.md", "b/c/n.md")],
        );
    }

    #[test]
    fn dots_count_from_the_source() {
        check(
            "a.md, p/a.md, p/q/b.md",
            LinkStyle::Wiki,
            &[
                ("./a", "p/x.md", "p/a.md"),
                ("../a", "p/x.md", "a.md"),
                ("../../a", "p/x.md", "-"),
                ("q/../a", "p/x.md", "p/a.md"),
                ("./q/b", "p/x.md", "p/q/b.md"),
                ("./b", "p/x.md", "-"),
            ],
        );
    }

    #[test]
    fn markdown_targets_count_from_the_source_first() {
        check(
            "a.md, p/a.md, p/p/c.md, p/c.md, q/d.md",
            LinkStyle::Markdown,
            &[
                ("a.md", "p/x.md", "p/a.md"),
                ("a.md", "q/x.md", "a.md"),
                ("p/c.md", "p/x.md", "p/p/c.md"),
                ("p/c.md", "q/x.md", "p/c.md"),
                ("d.md", "p/x.md", "q/d.md"),
                ("a", "p/x.md", "p/a.md"),
            ],
        );
    }

    #[test]
    fn case_and_composition_do_not_matter_but_the_exact_spelling_wins() {
        check(
            "Note.md, p/NOTE.md, Caf\u{e9}.md, q/Z.md, r/z.md, e\u{301}/x.md",
            LinkStyle::Wiki,
            &[
                ("note", "y.md", "Note.md"),
                ("P/note", "y.md", "p/NOTE.md"),
                ("cafe\u{301}", "y.md", "Caf\u{e9}.md"),
                ("CAF\u{c9}", "y.md", "Caf\u{e9}.md"),
                ("z", "y.md", "r/z.md +1"),
                ("Z", "y.md", "q/Z.md +1"),
                ("\u{c9}/X", "y.md", "e\u{301}/x.md"),
            ],
        );
    }

    #[test]
    fn files_come_and_go() {
        let mut resolver = resolver("p/a.md, q/a.md");
        let from = path("x.md");
        resolver.remove(&path("p/a.md"));
        assert_eq!(resolver.resolve("a", &from), Resolution::Found(&path("q/a.md")));
        resolver.insert(path("a.md"));
        resolver.insert(path("a.md"));
        assert_eq!(resolver.resolve("A", &from), Resolution::Found(&path("a.md")));
        resolver.remove(&path("a.md"));
        resolver.remove(&path("q/a.md"));
        assert_eq!(resolver.resolve("a", &from), Resolution::Missing);
        assert!(resolver.names.is_empty() && resolver.paths.is_empty());
    }
}
