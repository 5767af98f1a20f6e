//! One file, read once: which of its lines match. Many files: the same, on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use memchr::{memchr, memchr_iter, memrchr};

use super::pattern::Matcher;
use super::{Match, Query, threads};
use crate::error::Error;
use crate::files::Files;
use crate::path::VaultPath;

/// Characters shown of one line at most.
const LONGEST_LINE: usize = 400;
/// Why a file with NUL bytes is not searched.
pub(crate) const NOT_TEXT: &str = "it is not text (it holds NUL bytes)";
/// How often a match across several lines may turn out to be none before we go on line by line. Without this bound
/// a pattern like `a[^b]*b` would read the same text again from every line.
const CROSSINGS: usize = 8;

/// Files that a thread takes at once.
const TOGETHER: usize = 16;

/// What came of one file.
pub(crate) enum Scanned {
    /// Read to the end: how many lines match, and the first of them that belong to the page.
    Read { count: usize, matches: Vec<Match> },
    /// Not searched, and why.
    Skipped(String),
}

/// Scans files on all cores; the results are in the order of `paths`.
pub(super) fn scan_all(
    files: &dyn Files,
    paths: &[&VaultPath],
    matcher: &Matcher,
    query: &Query,
    keep: usize,
) -> Vec<Scanned> {
    let results: Mutex<Vec<Option<Scanned>>> = Mutex::new(paths.iter().map(|_| None).collect());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((at, some)) = claim(&next, paths) {
            let scanned: Vec<Scanned> =
                some.iter().map(|path| scan(files, path, matcher, query, keep)).collect();
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results[at..].iter_mut().zip(scanned).for_each(|(place, scanned)| *place = Some(scanned));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads().min(paths.len().div_ceil(TOGETHER)) {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let lost = || Scanned::Skipped("the search of this file was interrupted".to_owned());
    results.into_iter().map(|scanned| scanned.unwrap_or_else(lost)).collect()
}

/// The next handful of files: where they start, and which.
fn claim<'s, 'a>(next: &AtomicUsize, paths: &'s [&'a VaultPath]) -> Option<(usize, &'s [&'a VaultPath])> {
    let at = next.fetch_add(TOGETHER, Ordering::Relaxed);
    let rest = paths.get(at..).filter(|rest| !rest.is_empty())?;
    Some((at, &rest[..rest.len().min(TOGETHER)]))
}

/// Scans one file; at most `keep` of its lines are cut out.
pub(crate) fn scan(
    files: &dyn Files,
    path: &VaultPath,
    matcher: &Matcher,
    query: &Query,
    keep: usize,
) -> Scanned {
    let bytes = match files.read(path) {
        Ok(bytes) => bytes,
        Err(Error::Missing { .. }) => return Scanned::Skipped("it is not there any more".to_owned()),
        Err(error) => return Scanned::Skipped(error.to_string()),
    };
    if memchr(0, &bytes).is_some() {
        return Scanned::Skipped(NOT_TEXT.to_owned());
    }
    let first_line = query.after.as_ref().map_or(Some(1), |cursor| cursor.first_line(path));
    let mut lines = Lines::new(&bytes);
    let (mut count, mut matches) = (0, Vec::new());
    matching_lines(&bytes, matcher, |start, end, column| {
        count += 1;
        if matches.len() < keep && first_line.is_some() {
            let line = lines.number(start);
            if first_line.is_some_and(|first| line >= first) {
                matches.push(cut_out(path, &bytes, start..end, line, column, query.context));
            }
        }
    });
    Scanned::Read { count, matches }
}

/// Calls `each` with start and end of every matching line and the byte in it at which the match starts.
fn matching_lines(bytes: &[u8], matcher: &Matcher, mut each: impl FnMut(usize, usize, usize)) {
    let mut at = 0;
    let mut crossings = if matcher.whole_text { CROSSINGS } else { 0 };
    while at < bytes.len() {
        if crossings > 0 {
            match matcher.regex.find_at(bytes, at) {
                Some(found) if found.start() < bytes.len() => at = line_start(bytes, found.start()),
                _ => return,
            }
        }
        let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
        let line = &bytes[at..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match matcher.regex.find(line) {
            Some(found) => each(at, at + line.len(), found.start()),
            None => crossings = crossings.saturating_sub(1),
        }
        at = end + 1;
    }
}

fn line_start(bytes: &[u8], at: usize) -> usize {
    memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1)
}

/// Counts lines as it goes; asked in ascending order only.
struct Lines<'a> {
    bytes: &'a [u8],
    counted: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Lines<'a> {
        Lines { bytes, counted: 0, line: 1 }
    }

    fn number(&mut self, at: usize) -> usize {
        self.line += memchr_iter(b'\n', &self.bytes[self.counted..at]).count();
        self.counted = at;
        self.line
    }
}

fn cut_out(
    path: &VaultPath,
    bytes: &[u8],
    span: std::ops::Range<usize>,
    line: usize,
    match_at: usize,
    context: usize,
) -> Match {
    let text = &bytes[span.clone()];
    let column = String::from_utf8_lossy(&text[..match_at.min(text.len())]).chars().count();
    Match {
        path: path.clone(),
        line,
        column: column + 1,
        line_text: clip(text, column),
        before: lines_before(bytes, span.start, context),
        after: lines_after(bytes, span.start, context),
    }
}

fn lines_before(bytes: &[u8], start: usize, context: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut start = start;
    while start > 0 && out.len() < context {
        let above = line_start(bytes, start - 1);
        out.push(shown(&bytes[above..start - 1]));
        start = above;
    }
    out.reverse();
    out
}

fn lines_after(bytes: &[u8], start: usize, context: usize) -> Vec<String> {
    let mut rest = &bytes[start..];
    let mut out = Vec::new();
    let step = |rest: &mut &[u8]| {
        let end = memchr(b'\n', rest)?;
        *rest = &rest[end + 1..];
        (!rest.is_empty()).then_some(())
    };
    while out.len() < context && step(&mut rest).is_some() {
        out.push(shown(&rest[..memchr(b'\n', rest).unwrap_or(rest.len())]));
    }
    out
}

fn shown(line: &[u8]) -> String {
    clip(line.strip_suffix(b"\r").unwrap_or(line), 0)
}

/// The line as text, cut to what can be read, with the character at `column` in it.
fn clip(line: &[u8], column: usize) -> String {
    let text = String::from_utf8_lossy(line);
    if line.len() <= LONGEST_LINE {
        return text.into_owned();
    }
    let from = column.saturating_sub(LONGEST_LINE / 4);
    let mut rest = text.chars().skip(from);
    let piece: String = rest.by_ref().take(LONGEST_LINE).collect();
    let (head, tail) = (if from > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
    format!("{head}{piece}{tail}")
}
