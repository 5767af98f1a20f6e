//! Changes as the page shows them: which file, what kind of change, how many lines, and the texts of both sides.
//!
//! Used wherever a person sees a plan or a past change: approvals, the time line, repairs. What is too large for a page is
//! left out and says so; nothing here decides anything.

use serde::Serialize;
use vault::Change;
use vault::change::Trash;

/// The largest text that is given whole, and the longest diff of one file.
const LARGEST: usize = 512 * 1024;
/// So much text at most in one answer, all files together.
const MOST: usize = 8 * 1024 * 1024;

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A file that was not there.
    Create,
    /// Other bytes in a file.
    Replace,
    /// A file that goes; where it goes to the trash, `to` says as what.
    Delete,
    /// Another path for a file or folder.
    Move,
    /// A folder that comes or goes.
    Folder,
}

/// A change to one file, to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// Where it is, or was before it was moved.
    pub path: String,
    /// Where it is moved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What happens to it.
    pub kind: Kind,
    /// Lines that are new.
    pub added: usize,
    /// Lines that go.
    pub removed: usize,
    /// A unified diff; one headline where there is no text to compare.
    pub diff: String,
    /// Whether the end of the diff is missing, because it is too long to show.
    pub cut: bool,
    /// The whole text before: none if it is not text, or too large; empty if there was no file.
    pub before: Option<String>,
    /// The whole text behind, likewise.
    pub after: Option<String>,
}

/// The changes of a plan or of a checkpoint, to be shown.
pub fn files(changes: &[Change]) -> Vec<FileDiff> {
    let mut left = MOST;
    changes.iter().map(|change| file(change, &mut left)).collect()
}

fn file(change: &Change, left: &mut usize) -> FileDiff {
    let (kind, path, to) = match change {
        Change::Create { path, .. } => (Kind::Create, path, None),
        Change::Replace { path, .. } => (Kind::Replace, path, None),
        Change::Delete { path, .. } => (Kind::Delete, path, None),
        Change::Move { from, to, trash: Trash::Into } => (Kind::Delete, from, Some(to)),
        Change::Move { from, to, .. } => (Kind::Move, from, Some(to)),
        Change::MakeFolder { path } | Change::RemoveFolder { path } => (Kind::Folder, path, None),
    };
    let (added, removed) = change.lines();
    let (diff, cut) = shortened(change.diff(), LARGEST.min(*left), &change.headline());
    *left = left.saturating_sub(diff.len());
    let both = change.texts().map_or(0, |(before, after)| before.len() + after.len());
    let fits = |text: &str| text.len() <= LARGEST && both <= *left;
    let (before, after) = match change.texts() {
        Some((before, after)) if fits(before) && fits(after) => {
            (Some(before.to_owned()), Some(after.to_owned()))
        }
        _ => (None, None),
    };
    if before.is_some() {
        *left -= both;
    }
    FileDiff {
        path: path.to_string(),
        to: to.map(ToString::to_string),
        kind,
        added,
        removed,
        diff,
        cut,
        before,
        after,
    }
}

/// A diff that is not longer than this, cut behind a line; the headline alone where there is no room for a line.
fn shortened(diff: String, most: usize, headline: &str) -> (String, bool) {
    if diff.len() <= most {
        return (diff, false);
    }
    let line = diff.as_bytes()[..most].iter().rposition(|byte| *byte == b'\n');
    match line {
        Some(at) => (diff[..=at].to_owned(), true),
        None => (format!("{headline}\n"), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vault::VaultPath;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[track_caller]
    fn one(change: Change) -> FileDiff {
        files(&[change]).remove(0)
    }

    #[test]
    fn an_edit_shows_its_lines_and_both_texts() {
        let shown = one(Change::replace(path("a.md"), "one\ntwo\n", "one\nthree\nfour\n"));
        assert_eq!((shown.kind, shown.added, shown.removed, shown.cut), (Kind::Replace, 2, 1, false));
        assert_eq!(shown.before.as_deref(), Some("one\ntwo\n"));
        assert_eq!(shown.after.as_deref(), Some("one\nthree\nfour\n"));
        assert!(shown.diff.contains("-two\n+three\n"), "{}", shown.diff);
    }

    #[test]
    fn every_kind_of_change_is_named_with_its_paths() {
        let moved = |trash| Change::Move { from: path("a.md"), to: path(".trash/a.md"), trash };
        for (change, kind, to) in [
            (Change::create(path("a.md"), "x"), Kind::Create, None),
            (Change::Delete { path: path("a.md"), before: b"x".to_vec().into() }, Kind::Delete, None),
            (moved(Trash::Into), Kind::Delete, Some(".trash/a.md")),
            (moved(Trash::No), Kind::Move, Some(".trash/a.md")),
            (Change::MakeFolder { path: path("a.md") }, Kind::Folder, None),
            (Change::RemoveFolder { path: path("a.md") }, Kind::Folder, None),
        ] {
            let shown = one(change);
            assert_eq!((shown.kind, shown.path.as_str(), shown.to.as_deref()), (kind, "a.md", to));
            assert!(!shown.diff.is_empty());
        }
    }

    #[test]
    fn what_is_not_text_or_too_large_has_no_text() {
        let binary = one(Change::replace(path("a.png"), vec![0xff, 0xfe], vec![0xff]));
        assert_eq!((binary.before, binary.after, binary.cut), (None, None, false));
        assert_eq!(binary.diff, "~ a.png (2 -> 1 bytes)\n");
        let large = one(Change::create(path("a.md"), "line\n".repeat(200_000)));
        assert_eq!((large.before, large.after, large.cut), (None, None, true));
        assert!(large.diff.len() <= LARGEST && large.diff.ends_with('\n'));
        assert_eq!(large.added, 200_000);
    }

    #[test]
    fn many_files_are_all_named_though_their_texts_do_not_all_fit() {
        let text = "line\n".repeat(60_000);
        let changes: Vec<Change> =
            (0..60).map(|number| Change::create(path(&format!("{number}.md")), text.clone())).collect();
        let shown = files(&changes);
        assert_eq!(shown.len(), 60);
        assert!(shown.first().is_some_and(|file| file.after.is_some() && !file.cut));
        assert!(shown.last().is_some_and(|file| file.after.is_none() && file.cut && file.added == 60_000));
        let whole: usize =
            shown.iter().map(|file| file.diff.len() + file.after.as_ref().map_or(0, String::len)).sum();
        assert!(whole <= MOST + 60 * 100, "{whole}");
    }

    #[test]
    fn a_cut_never_falls_into_a_character() {
        let diff = "é\nüü".to_owned();
        assert_eq!(shortened(diff.clone(), 4, "h"), ("é\n".to_owned(), true));
        assert_eq!(shortened(diff.clone(), 1, "h"), ("h\n".to_owned(), true));
        assert_eq!(shortened(diff.clone(), 100, "h"), (diff, false));
    }
}
