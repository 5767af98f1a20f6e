//! What may be read and what may be written: path scopes, ignore files, protect files, and the vault's own machinery.
//!
//! A [`Scope`] is applied inside the view: what may not be read is absent from it, not filtered afterwards. The rules
//! are compared on the folded path as well as on the path as written, so that another spelling of a name that some
//! file system takes for the same one is judged the same. A rule file that cannot be read refuses everything.

mod hidden;

use std::collections::BTreeSet;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use unicode_normalization::UnicodeNormalization;

use crate::error::{Error, Result};
use crate::path::VaultPath;

pub use hidden::Hidden;

/// Files whose patterns hide paths from every agent.
pub const IGNORE_FILES: [&str; 3] = [".verger/ignore", ".vergerignore", ".obsidian-agentignore"];
/// Files whose patterns make paths read-only for every agent.
pub const PROTECT_FILES: [&str; 3] = [".verger/protect", ".vergerprotected", ".obsidian-agentprotected"];

/// The two files of rules that a person writes. The older names are still read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleFile {
    /// What is hidden.
    Ignore,
    /// What is read-only.
    Protect,
}

impl RuleFile {
    /// Where it lies.
    pub fn name(self) -> &'static str {
        match self {
            RuleFile::Ignore => IGNORE_FILES[0],
            RuleFile::Protect => PROTECT_FILES[0],
        }
    }

    /// The older names that count as well.
    pub fn others(self) -> &'static [&'static str] {
        match self {
            RuleFile::Ignore => &IGNORE_FILES[1..],
            RuleFile::Protect => &PROTECT_FILES[1..],
        }
    }
}

/// What one agent may read and write.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    limits: Limits,
    rules: Arc<Rules>,
}

/// The part of a scope that a person configures: path prefixes and the read-only switch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Only these folders and files may be read (`None`: all).
    pub read: Option<BTreeSet<VaultPath>>,
    /// Only these may be written (`None`: all that may be read).
    pub write: Option<BTreeSet<VaultPath>>,
    /// Nothing may be written.
    pub read_only: bool,
    /// Notes that a person keeps from this conversation. They are not there, as if an ignore file named them.
    pub hidden: Option<Arc<Hidden>>,
}

/// The part of a scope that travels with the vault: patterns from its ignore and protect files.
#[derive(Debug, Clone)]
pub struct Rules {
    ignore: Gitignore,
    protect: Gitignore,
    /// A hash of the texts that `ignore` was read from.
    ignore_texts: [u8; 32],
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { ignore: Gitignore::empty(), protect: Gitignore::empty(), ignore_texts: [0; 32] }
    }
}

/// Why a path may not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// Nothing may be written at all.
    ReadOnly,
    /// Outside the folders that may be written.
    OutsideWritePaths,
    /// Not readable, so not writable either.
    Unreadable,
    /// A protect file says so.
    Protected,
    /// A hidden file or folder: settings, version control, keys.
    Hidden,
}

impl Denial {
    /// The code that doors show beside `path_forbidden`.
    pub fn subreason(self) -> &'static str {
        match self {
            Denial::ReadOnly => "read_only_mode",
            Denial::OutsideWritePaths => "outside_write_paths",
            Denial::Unreadable => "outside_read_paths",
            Denial::Protected => "protected",
            Denial::Hidden => "hidden",
        }
    }
}

impl Limits {
    /// Reads a comma-separated list of prefixes; `None` if blank. Absolute and climbing entries are refused.
    pub fn parse_list(text: &str) -> Result<Option<BTreeSet<VaultPath>>> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let mut paths = BTreeSet::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let path = VaultPath::parse(entry.trim_end_matches('/'))
                .map_err(|error| Error::Path { text: entry.to_owned(), error })?;
            paths.insert(path);
        }
        if paths.is_empty() {
            return Err(Error::Path { text: text.to_owned(), error: crate::path::PathError::Empty });
        }
        Ok(Some(paths))
    }

    /// The narrower of two: a view can only narrow.
    #[must_use]
    pub fn narrowed(&self, other: &Limits) -> Limits {
        let both = |a: &Option<BTreeSet<VaultPath>>, b: &Option<BTreeSet<VaultPath>>| match (a, b) {
            (None, other) => other.clone(),
            (some, None) => some.clone(),
            (Some(a), Some(b)) => Some(
                a.iter()
                    .filter(|path| covers(b, path))
                    .chain(b.iter().filter(|path| covers(a, path)))
                    .cloned()
                    .collect(),
            ),
        };
        Limits {
            read: both(&self.read, &other.read),
            write: both(&self.write, &other.write),
            read_only: self.read_only || other.read_only,
            hidden: hidden::both(&self.hidden, &other.hidden),
        }
    }

    fn hides(&self, path: &VaultPath) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden.holds(path))
    }

    fn may_read(&self, path: &VaultPath) -> bool {
        let Some(read) = &self.read else { return true };
        covers(read, path)
            || (!self.read_only && self.write.as_ref().is_some_and(|write| covers(write, path)))
    }
}

/// Whether one of the prefixes is the path or holds it. Whole names only: `pub` does not hold `public/x`.
fn covers(prefixes: &BTreeSet<VaultPath>, path: &VaultPath) -> bool {
    let folded = path.folded();
    prefixes.iter().any(|prefix| {
        let prefix = prefix.folded();
        folded == prefix || folded.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with('/'))
    })
}

impl Rules {
    /// Reads the rules from the texts of the ignore and protect files.
    pub fn parse(ignore: &[(&str, String)], protect: &[(&str, String)]) -> Result<Rules> {
        let mut hasher = blake3::Hasher::new();
        for (_, text) in ignore {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        let ignore_texts = *hasher.finalize().as_bytes();
        Ok(Rules { ignore: patterns(ignore)?, protect: patterns(protect)?, ignore_texts })
    }
}

fn patterns(files: &[(&str, String)]) -> Result<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    // Where the file system folds case, `private/` must hide `Private/` too; hiding more is the safe side elsewhere.
    let damaged = |file: &str, error: ignore::Error| Error::Damaged {
        what: format!("the rule file `{file}`"),
        detail: format!("{error}; mend it, nothing may be read or written until then"),
    };
    builder.case_insensitive(true).map_err(|error| damaged("(all)", error))?;
    for (file, text) in files {
        // Some editors put a byte order mark first; as part of the first pattern it would switch that pattern off.
        for line in text.strip_prefix('\u{feff}').unwrap_or(text).lines() {
            let line = with_literal_braces(line);
            builder.add_line(None, &line).map_err(|error| damaged(file, error))?;
            // A rule written on a Mac may be decomposed where the file's name is composed.
            let composed: String = line.nfc().collect();
            if composed != line {
                builder.add_line(None, &composed).map_err(|error| damaged(file, error))?;
            }
        }
    }
    builder.build().map_err(|error| damaged(files.first().map_or("", |file| file.0), error))
}

/// Braces are literal in gitignore files; the matcher would take them for alternatives.
fn with_literal_braces(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut escaped = false;
    for c in line.chars() {
        if matches!(c, '{' | '}') && !escaped {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

fn matches(rules: &Gitignore, path: &VaultPath) -> bool {
    if rules.is_empty() {
        return false;
    }
    let folded = path.folded();
    is_hit(rules, path.as_str()) || (folded != path.as_str() && is_hit(rules, &folded))
}

/// From the root down, as git does: what lies in an ignored folder stays ignored, whatever a later `!` says.
fn is_hit(rules: &Gitignore, text: &str) -> bool {
    // A name of invisible characters folds to nothing; an empty name would make the path look absolute.
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
    (1..=names.len()).any(|count| {
        let part = names[..count].join("/");
        // A pattern for folders (`Private/`) names the folder itself too.
        rules.matched(&part, true).is_ignore()
            || (count == names.len() && rules.matched(&part, false).is_ignore())
    })
}

impl Rules {
    /// Whether an ignore file hides this path.
    pub fn hides(&self, path: &VaultPath) -> bool {
        matches(&self.ignore, path)
    }

    /// Whether a protect file makes this path read-only.
    pub fn protects(&self, path: &VaultPath) -> bool {
        matches(&self.protect, path)
    }
}

impl Scope {
    /// A scope from a person's limits and the vault's rules.
    pub fn new(limits: Limits, rules: impl Into<Arc<Rules>>) -> Scope {
        Scope { limits, rules: rules.into() }
    }

    /// Whether a path may be read.
    pub fn may_read(&self, path: &VaultPath) -> bool {
        !is_secret(path)
            && self.limits.may_read(path)
            && !self.limits.hides(path)
            && !matches(&self.rules.ignore, path)
    }

    /// Refuses a path that may not be read. A path that an ignore file hides is simply not there.
    pub fn check_read(&self, path: &VaultPath) -> Result<()> {
        if self.may_read(path) {
            return Ok(());
        }
        let forbidden = |subreason, allowed| Err(Error::Forbidden { path: path.clone(), subreason, allowed });
        if is_secret(path) {
            return forbidden("hidden", Vec::new());
        }
        if !self.limits.may_read(path) {
            return forbidden("outside_read_paths", self.readable());
        }
        Err(Error::Missing { path: path.clone(), near: Vec::new() })
    }

    fn readable(&self) -> Vec<String> {
        let lists = [&self.limits.read, &self.limits.write];
        let paths: BTreeSet<&VaultPath> = lists.into_iter().flatten().flatten().collect();
        paths.into_iter().map(ToString::to_string).collect()
    }

    /// Whether every file that is not hidden may be read: then nobody need be asked path by path.
    pub fn hides_nothing(&self) -> bool {
        self.limits.read.is_none() && self.limits.hidden.is_none() && self.rules.ignore.is_empty()
    }

    /// Names everything that [`Scope::may_read`] depends on: scopes of one identity let the same paths be read.
    pub(crate) fn reading_identity(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let Limits { read, write, read_only, hidden } = &self.limits;
        hasher.update(&self.rules.ignore_texts).update(&[u8::from(*read_only)]);
        for list in [read, write] {
            hasher.update(&list.as_ref().map_or(u64::MAX, |list| list.len() as u64).to_le_bytes());
            for path in list.iter().flatten() {
                hasher.update(&(path.as_str().len() as u64).to_le_bytes()).update(path.as_str().as_bytes());
            }
        }
        for name in hidden.iter().flat_map(|hidden| hidden.names()) {
            hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    /// Whether a folder may hold something that can be read.
    pub fn may_enter(&self, folder: &VaultPath) -> bool {
        if is_secret(folder) || matches(&self.rules.ignore, folder) {
            return false;
        }
        let Some(read) = &self.limits.read else { return true };
        let above = |prefixes: &BTreeSet<VaultPath>| {
            prefixes
                .iter()
                .any(|prefix| format!("{}/", prefix.folded()).starts_with(&format!("{}/", folder.folded())))
        };
        self.limits.may_read(folder) || above(read) || self.limits.write.as_ref().is_some_and(above)
    }

    /// Whether a path may be written, and if not, why.
    pub fn check_write(&self, path: &VaultPath) -> Result<(), Denial> {
        if self.limits.read_only {
            return Err(Denial::ReadOnly);
        }
        if path.is_hidden() || path.folded().split('/').any(|name| name.starts_with('.')) {
            return Err(Denial::Hidden);
        }
        if self.limits.write.as_ref().is_some_and(|write| !covers(write, path)) {
            return Err(Denial::OutsideWritePaths);
        }
        if !self.may_read(path) {
            return Err(Denial::Unreadable);
        }
        if matches(&self.rules.protect, path) {
            return Err(Denial::Protected);
        }
        Ok(())
    }

    /// The folders that may be written, for the refusal's text.
    pub fn writable(&self) -> Vec<String> {
        match &self.limits.write {
            _ if self.limits.read_only => Vec::new(),
            Some(write) => write.iter().map(ToString::to_string).collect(),
            None => vec!["the whole vault, except hidden, ignored and protected paths".to_owned()],
        }
    }

    /// A scope that allows at most what both allow.
    #[must_use]
    pub fn narrowed(&self, limits: &Limits) -> Scope {
        Scope { limits: self.limits.narrowed(limits), rules: Arc::clone(&self.rules) }
    }

    /// The limits inside.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// Hidden paths are machinery: version control, keys, editors' settings. Three hold things that people ask about.
fn is_secret(path: &VaultPath) -> bool {
    // What is plain ASCII is folded at its end alone, so a name gets no dot in front by it.
    if path.as_str().is_ascii() && !path.is_hidden() {
        return false;
    }
    let folded = path.folded();
    let mut names = folded.split('/');
    let first = names.next().unwrap_or_default();
    let rest: Vec<&str> = names.collect();
    let open = match first {
        ".trash" => true,
        // What is to stay unseen is named in there.
        ".verger" => rest.first().is_none_or(|name| *name != "ignore"),
        // Plugin data holds keys; the workspace says what is open right now.
        ".obsidian" => {
            !rest.first().is_some_and(|name| name.starts_with("workspace") || *name == "cache")
                && rest.last().is_none_or(|name| *name != "data.json")
        }
        name => !name.starts_with('.'),
    };
    !open || rest.iter().any(|name| name.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    fn scope(ignore: &str, protect: &str) -> Scope {
        let rules =
            Rules::parse(&[("ignore", ignore.to_owned())], &[("protect", protect.to_owned())]).unwrap();
        Scope::new(Limits::default(), rules)
    }

    #[track_caller]
    fn hidden(patterns: &str, text: &str, expected: bool) {
        assert_eq!(!scope(patterns, "").may_read(&path(text)), expected, "{patterns:?} on {text:?}");
    }

    /// The patterns that the original got wrong (tools-and-agents 2.2).
    #[test]
    fn ignore_patterns_mean_what_gitignore_means() {
        for (pattern, text, expected) in [
            ("a+b.md", "a+b.md", true),
            ("Notes (private).md", "x/Notes (private).md", true),
            ("diary-?.md", "diary-1.md", true),
            ("\\[draft\\]*.md", "[draft] x.md", true),
            ("**/secret/**", "secret/x.md", true),
            ("journal/", "2024/journal/x.md", true),
            ("Private/", "Private/x.md", true),
            ("Private/", "private/x.md", true),
            ("Private/", "Private", true),
            ("/Private/", "a/Private/x.md", false),
            ("*.md\n!keep.md", "keep.md", false),
            ("*.md\n!keep.md", "x.md", true),
            ("# comment", "comment", false),
            ("{a,b}.md", "a.md", false),
            ("{a,b}.md", "{a,b}.md", true),
            ("\\{a\\}.md", "{a}.md", true),
            ("Private/\n!*.md", "Private/x.md", true),
            ("/*\n!/Open/", "Open/x.md", false),
            ("/*\n!/Open/", "Shut/x.md", true),
            ("\u{feff}Private/", "Private/x.md", true),
            ("e\u{301}/", "é/x.md", true),
            ("é/", "e\u{301}/x.md", true),
        ] {
            hidden(pattern, text, expected);
        }
    }

    /// Found by review: the matcher asserts that a path has no root, and names can fold to nothing.
    #[test]
    fn names_of_invisible_characters_do_not_break_the_matcher() {
        for text in
            ["\u{200b}/x.md", "\u{200b}/\u{200b}/x.md", "\u{200b}/\u{200d}/\u{feff}/Private/x.md", "\u{200b}"]
        {
            let _ = scope("Private/", "Private/").check_write(&path(text));
        }
        hidden("/Private/", "\u{200b}/Private/x.md", true);
    }

    #[test]
    fn the_file_that_names_what_is_hidden_is_hidden_itself() {
        assert!(!Scope::default().may_read(&path(".verger/ignore")));
        assert!(Scope::default().may_read(&path(".verger/protect")));
    }

    #[test]
    fn a_protected_path_is_readable_and_never_writable() {
        let scope = scope("", "Templates/");
        assert!(scope.may_read(&path("Templates/x.md")));
        assert_eq!(scope.check_write(&path("Templates/x.md")), Err(Denial::Protected));
        assert_eq!(scope.check_write(&path("x.md")), Ok(()));
    }

    #[test]
    fn machinery_is_never_written_and_mostly_unseen() {
        let scope = Scope::default();
        for text in [
            ".git/config",
            ".GIT/config",
            ".obsidian/app.json",
            ".obsidian./app.json",
            ".verger/ignore",
            ".vergerignore",
            ".env",
            "a/.hidden/x.md",
            ".trash/x.md",
            ".git::$INDEX_ALLOCATION/config",
            ".ｇit/config",
        ] {
            assert_eq!(scope.check_write(&path(text)), Err(Denial::Hidden), "{text}");
        }
        for (text, readable) in [
            (".git/config", false),
            (".env", false),
            (".obsidian/app.json", true),
            (".obsidian/workspace.json", false),
            (".obsidian/plugins/x/data.json", false),
            (".trash/x.md", true),
            (".verger/rules/a.md", true),
            ("a/.env", false),
        ] {
            assert_eq!(scope.may_read(&path(text)), readable, "{text}");
        }
    }

    #[test]
    fn prefixes_are_whole_names_and_ignore_case() {
        let limits = Limits {
            read: Limits::parse_list("public, Notes/Open/").unwrap(),
            write: Limits::parse_list("scratch").unwrap(),
            ..Limits::default()
        };
        let scope = Scope::new(limits, Rules::default());
        for (text, read, write) in [
            ("public/a.md", true, Err(Denial::OutsideWritePaths)),
            ("Public/a.md", true, Err(Denial::OutsideWritePaths)),
            ("publication/a.md", false, Err(Denial::OutsideWritePaths)),
            ("notes/open/a.md", true, Err(Denial::OutsideWritePaths)),
            ("notes/a.md", false, Err(Denial::OutsideWritePaths)),
            ("scratch/a.md", true, Ok(())),
        ] {
            assert_eq!(scope.may_read(&path(text)), read, "{text}");
            assert_eq!(scope.check_write(&path(text)), write, "{text}");
        }
        assert!(scope.may_enter(&path("Notes")));
        assert!(!scope.may_enter(&path("Other")));
    }

    #[test]
    fn narrowing_never_widens() {
        let list = |text: &str| Limits::parse_list(text).unwrap();
        let wide = Limits { read: list("a, b"), ..Limits::default() };
        let other = Limits { read: list("a/x, c"), write: list("a"), read_only: true, ..Limits::default() };
        let both = wide.narrowed(&other);
        assert_eq!(both.read, list("a/x"));
        assert!(both.read_only);
        let nothing = wide.narrowed(&Limits { read: list("z"), ..Limits::default() });
        assert!(!Scope::new(nothing, Rules::default()).may_read(&path("a/1.md")));
    }

    #[test]
    fn a_list_of_nothing_or_of_outside_paths_is_refused() {
        assert!(Limits::parse_list(" , ").is_err());
        assert!(Limits::parse_list("/etc").is_err());
        assert!(Limits::parse_list("a/../b").is_err());
        assert_eq!(Limits::parse_list("  ").unwrap(), None);
    }
}
