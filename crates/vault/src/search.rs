//! Exact text and regex search over the files themselves, for `search_files` and `verger search`.
//!
//! Line-wise, over the whole list of paths it is given, on all cores, in linear time whatever the pattern. Nothing is
//! left out silently: every page says how many lines match in all, how many files were read and which were not, and
//! why. The caller gives the paths that the asker may see; who may see what is not decided here.

mod all_words;
mod cursor;
mod pattern;
pub(crate) mod scan;

pub use all_words::with_all_words;
pub use cursor::Cursor;
pub use pattern::{Case, Glob, Pattern};

use crate::catalog::threads;
use crate::error::Result;
use crate::files::Files;
use crate::path::{VaultFolder, VaultPath};
pub(crate) use pattern::Matcher;
pub(crate) use scan::{NOT_TEXT, Scanned};

/// What to look for, and where.
#[derive(Debug, Clone)]
pub struct Query {
    /// The text or the regular expression.
    pub pattern: Pattern,
    /// Whether `A` finds `a`.
    pub case: Case,
    /// Only where no letter, digit or `_` stands on either side.
    pub whole_word: bool,
    /// Only files that fit this glob, e.g. `*.md`, `Projects/**`, `!*.canvas`; the rules are those of `.gitignore`.
    pub glob: Option<String>,
    /// Only files in this folder, at any depth.
    pub folder: Option<VaultFolder>,
    /// Lines to show before and after each match.
    pub context: usize,
    /// Matches on one page.
    pub limit: usize,
    /// Where the page before this one ended.
    pub after: Option<Cursor>,
}

impl Query {
    /// A search of everything, ignoring case, fifty matches a page.
    pub fn new(pattern: Pattern) -> Query {
        Query {
            pattern,
            case: Case::Ignore,
            whole_word: false,
            glob: None,
            folder: None,
            context: 0,
            limit: 50,
            after: None,
        }
    }
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Match {
    /// The file.
    pub path: VaultPath,
    /// The line, from 1.
    pub line: usize,
    /// The first matching character in the line, from 1.
    pub column: usize,
    /// The line without its end; very long ones are clipped around the match, with `…` where something is missing.
    pub line_text: String,
    /// The lines before it.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
}

/// One page of matches and the whole truth about the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The matches of this page, by path and line.
    pub matches: Vec<Match>,
    /// Matching lines in all files, those on other pages included.
    pub total_matches: usize,
    /// Files with at least one matching line.
    pub files_matched: usize,
    /// Files that were read to the end.
    pub files_scanned: usize,
    /// Files that fit glob and folder but could not be searched, and why.
    pub files_skipped: Vec<(VaultPath, String)>,
    /// Where to go on, if there is more.
    pub next: Option<Cursor>,
}

/// Searches `paths`; what is listed twice is searched once.
pub fn search(files: &dyn Files, paths: &[VaultPath], query: &Query) -> Result<Found> {
    let matcher = Matcher::new(query)?;
    let glob = query.glob.as_deref().map(Glob::new).transpose()?;
    let in_folder = |path: &&VaultPath| query.folder.as_ref().is_none_or(|folder| path.is_in(folder));
    let in_glob = |path: &&VaultPath| glob.as_ref().is_none_or(|glob| glob.fits(path));
    let mut wanted: Vec<&VaultPath> = paths.iter().filter(in_folder).filter(in_glob).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut page = Page::new(query);
    let mut rest = wanted.as_slice();
    let mut wave = 64;
    // Waves, because only the files of this page need their lines cut out; once it is full the rest is only counted.
    while !rest.is_empty() {
        let keep = page.keep();
        let (now, later) = rest.split_at(if keep == 0 { rest.len() } else { wave.min(rest.len()) });
        let scanned = scan::scan_all(files, now, &matcher, query, keep);
        now.iter().zip(scanned).for_each(|(path, scanned)| page.take(path, scanned));
        rest = later;
        wave = (wave * 2).min(2_048);
    }
    Ok(page.found)
}

/// The page as it fills, file by file in path order.
pub(crate) struct Page<'a> {
    query: &'a Query,
    pub(crate) found: Found,
}

impl<'a> Page<'a> {
    pub(crate) fn new(query: &'a Query) -> Page<'a> {
        Page { query, found: Found::default() }
    }

    /// How many matches a file may still have to give, one more to know whether there is a next page.
    pub(crate) fn keep(&self) -> usize {
        if self.found.next.is_some() { 0 } else { self.query.limit.max(1) - self.found.matches.len() + 1 }
    }

    pub(crate) fn take(&mut self, path: &VaultPath, scanned: Scanned) {
        let (count, matches) = match scanned {
            Scanned::Skipped(why) => {
                self.found.files_skipped.push((path.clone(), why));
                return;
            }
            Scanned::Read { count, matches } => (count, matches),
        };
        self.found.files_scanned += 1;
        self.found.files_matched += usize::from(count > 0);
        self.found.total_matches += count;
        for found in matches {
            if self.found.next.is_some() {
                return;
            }
            if self.found.matches.len() == self.query.limit.max(1) {
                self.found.next = self.found.matches.last().map(Cursor::behind);
                return;
            }
            self.found.matches.push(found);
        }
    }

    /// Counts a file that is known to match and has no place on this page.
    pub(crate) fn count(&mut self, lines: usize) {
        self.found.files_matched += 1;
        self.found.total_matches += lines;
    }
}

#[cfg(test)]
mod tests;
