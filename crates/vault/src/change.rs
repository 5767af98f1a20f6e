//! A change to the vault, not yet made: what a tool's plan consists of.
//!
//! Everything that the road needs falls out of it: the paths for the policy, the diff for whoever approves, the
//! before-images for the checkpoint, the sizes for the answer.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use similar::TextDiff;

use crate::path::VaultPath;

/// A file's bytes, shared.
pub type Bytes = Arc<[u8]>;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A file that is not there yet.
    Create {
        /// Where.
        path: VaultPath,
        /// Its bytes.
        after: Bytes,
        /// Permissions and time to give it, for restores.
        stamp: Option<Stamp>,
    },
    /// New bytes for a file that is there.
    Replace {
        /// Where.
        path: VaultPath,
        /// What the plan was made from; anything else on disk is stale.
        before: Bytes,
        /// What it becomes.
        after: Bytes,
        /// Permissions and time to give it, for restores.
        stamp: Option<Stamp>,
    },
    /// A file that goes for good (its bytes stay in the checkpoint).
    Delete {
        /// Where.
        path: VaultPath,
        /// What the plan was made from.
        before: Bytes,
    },
    /// A file or folder that gets another path and keeps its bytes.
    Move {
        /// From where.
        from: VaultPath,
        /// To where; nothing may be there.
        to: VaultPath,
        /// Whether one of the two lies in the vault's trash, which only Verger itself writes.
        trash: Trash,
    },
    /// A folder that is not there yet.
    MakeFolder {
        /// Where.
        path: VaultPath,
    },
    /// A folder that holds nothing.
    RemoveFolder {
        /// Where.
        path: VaultPath,
    },
}

/// Whether a move goes through the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trash {
    /// An ordinary move.
    No,
    /// Into the trash: a delete that can be seen in the vault.
    Into,
    /// Out of the trash: such a delete taken back.
    OutOf,
}

/// What a restored file gets back besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    /// Permission bits.
    pub permissions: u32,
    /// Last change, nanoseconds since 1970.
    pub modified_ns: i64,
}

impl Change {
    /// A new file.
    pub fn create(path: VaultPath, after: impl Into<Vec<u8>>) -> Change {
        Change::Create { path, after: after.into().into(), stamp: None }
    }

    /// New bytes for a file.
    pub fn replace(path: VaultPath, before: impl Into<Vec<u8>>, after: impl Into<Vec<u8>>) -> Change {
        Change::Replace { path, before: before.into().into(), after: after.into().into(), stamp: None }
    }

    /// The path that people would name: where the thing is afterwards, or was.
    pub fn path(&self) -> &VaultPath {
        match self {
            Change::Create { path, .. }
            | Change::Replace { path, .. }
            | Change::Delete { path, .. }
            | Change::MakeFolder { path }
            | Change::RemoveFolder { path } => path,
            Change::Move { from, to, trash } => {
                if *trash == Trash::Into {
                    from
                } else {
                    to
                }
            }
        }
    }

    /// Every path that must be writable for this change. The trash is Verger's own: what a delete put there, and the
    /// folder if the first delete made it, goes again when the delete is taken back.
    pub fn written(&self) -> Vec<&VaultPath> {
        match self {
            Change::Delete { path, .. } if is_in_trash(path) => Vec::new(),
            Change::MakeFolder { path } | Change::RemoveFolder { path } if path.as_str() == ".trash" => {
                Vec::new()
            }
            // The word of a plan is not enough: only what does lie in the trash is left out.
            Change::Move { from, to, trash: Trash::Into } if is_in_trash(to) => vec![from],
            Change::Move { from, to, trash: Trash::OutOf } if is_in_trash(from) => vec![to],
            Change::Move { from, to, .. } => vec![from, to],
            other => vec![other.path()],
        }
    }

    /// Bytes before and after.
    pub fn sizes(&self) -> (usize, usize) {
        match self {
            Change::Create { after, .. } => (0, after.len()),
            Change::Replace { before, after, .. } => (before.len(), after.len()),
            Change::Delete { before, .. } => (before.len(), 0),
            Change::Move { .. } | Change::MakeFolder { .. } | Change::RemoveFolder { .. } => (0, 0),
        }
    }

    /// One line for a person: `~ a.md (3 -> 5 bytes)`.
    pub fn headline(&self) -> String {
        match self {
            Change::Create { path, after, .. } => format!("+ {path} (0 -> {} bytes)", after.len()),
            Change::Replace { path, before, after, .. } => {
                format!("~ {path} ({} -> {} bytes)", before.len(), after.len())
            }
            Change::Delete { path, before } => format!("- {path} ({} -> 0 bytes)", before.len()),
            Change::Move { from, to, trash: Trash::Into } => format!("- {from} (to the trash, as {to})"),
            Change::Move { from, to, trash: _ } => format!("> {from} -> {to}"),
            Change::MakeFolder { path } => format!("+ {path}/"),
            Change::RemoveFolder { path } => format!("- {path}/"),
        }
    }

    /// The text before and after, where there is text on both sides that exist.
    pub fn texts(&self) -> Option<(&str, &str)> {
        match self {
            Change::Create { after, .. } => Some(("", std::str::from_utf8(after).ok()?)),
            Change::Replace { before, after, .. } => {
                Some((std::str::from_utf8(before).ok()?, std::str::from_utf8(after).ok()?))
            }
            Change::Delete { before, .. } => Some((std::str::from_utf8(before).ok()?, "")),
            Change::Move { .. } | Change::MakeFolder { .. } | Change::RemoveFolder { .. } => None,
        }
    }

    /// Lines added and removed.
    pub fn lines(&self) -> (usize, usize) {
        let Some((before, after)) = self.texts() else { return (0, 0) };
        // Most edits change one place: what stands before and behind it need not be compared line by line.
        let (before, after) = where_they_differ(before, after);
        let mut counts = (0, 0);
        for op in line_diff(before, after).ops() {
            match op.tag() {
                similar::DiffTag::Insert => counts.0 += op.new_range().len(),
                similar::DiffTag::Delete => counts.1 += op.old_range().len(),
                similar::DiffTag::Replace => {
                    counts.0 += op.new_range().len();
                    counts.1 += op.old_range().len();
                }
                similar::DiffTag::Equal => {}
            }
        }
        counts
    }

    /// The change as a unified diff; one headline where there is no text to compare.
    pub fn diff(&self) -> String {
        let Some((before, after)) = self.texts() else { return format!("{}\n", self.headline()) };
        let (old, new) = match self {
            Change::Create { path, .. } => ("/dev/null".to_owned(), format!("b/{path}")),
            Change::Delete { path, .. } => (format!("a/{path}"), "/dev/null".to_owned()),
            other => (format!("a/{}", other.path()), format!("b/{}", other.path())),
        };
        unified(before, after, &old, &new)
    }
}

/// Whether a path is the vault's trash or lies in it; only Verger itself writes there.
pub fn is_in_trash(path: &VaultPath) -> bool {
    path.segments().next() == Some(".trash")
}

/// A real unified diff of two texts.
pub fn unified(before: &str, after: &str, old: &str, new: &str) -> String {
    line_diff(before, after).unified_diff().context_radius(3).header(old, new).to_string()
}

/// All changes of a plan as one text: what the person who approves sees.
pub fn diff_all(changes: &[Change]) -> String {
    let mut out = String::new();
    for change in changes {
        let _ = write!(out, "{}", change.diff());
    }
    out
}

/// Every path of a plan that must be writable.
pub fn written(changes: &[Change]) -> BTreeSet<&VaultPath> {
    changes.iter().flat_map(Change::written).collect()
}

/// Past this time the diff gets coarser instead of slower: two unrelated megabytes must not stall an approval.
const DIFF_TIME: std::time::Duration = std::time::Duration::from_millis(200);

fn line_diff<'a>(before: &'a str, after: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure().timeout(DIFF_TIME).diff_lines(before, after)
}

/// Both texts without the lines that they begin and end with alike. What is left has the same lines added and removed.
fn where_they_differ<'t>(before: &'t str, after: &'t str) -> (&'t str, &'t str) {
    let alike = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    let end_of_line = |byte: &u8| *byte == b'\n';
    let head = before.as_bytes()[..alike].iter().rposition(end_of_line).map_or(0, |at| at + 1);
    let (before, after) = (&before[head..], &after[head..]);
    let alike = before.bytes().rev().zip(after.bytes().rev()).take_while(|(a, b)| a == b).count();
    let first = before.as_bytes()[before.len() - alike..].iter().position(end_of_line);
    let tail = first.map_or(0, |at| alike - at - 1);
    (&before[..before.len() - tail], &after[..after.len() - tail])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_where_texts_differ_has_the_same_lines_added_and_removed() {
        let count = |before: &str, after: &str| {
            line_diff(before, after).ops().iter().fold((0, 0), |sum, op| match op.tag() {
                similar::DiffTag::Equal => sum,
                _ => (sum.0 + op.new_range().len(), sum.1 + op.old_range().len()),
            })
        };
        let texts = [
            "",
            "a",
            "a\n",
            "\n",
            "\n\n",
            "a\nb\n",
            "a\nb",
            "a\nb\nc\n",
            "a\nc\n",
            "b\nb\nb\n",
            "b\nb\n",
            "a\r\nb\r\n",
            "é\nü\n",
            "è\nü\n",
            "x\na\nb\ny\n",
            "x\nb\na\ny\n",
            "a\n\nb\n\nc",
            "a\n\nc",
        ];
        for before in texts {
            for after in texts {
                let (left, right) = where_they_differ(before, after);
                assert_eq!(count(left, right), count(before, after), "{before:?} {after:?}");
            }
        }
        assert_eq!(where_they_differ("a\nb\nc\nd\n", "a\nb\nx\nc\nd\n"), ("c\n", "x\nc\n"));
    }

    #[track_caller]
    fn check(from: &str, to: &str, trash: Trash, expected: &[&str]) {
        let path = |text: &str| VaultPath::parse(text).unwrap();
        let change = Change::Move { from: path(from), to: path(to), trash };
        let written: Vec<&str> = change.written().into_iter().map(VaultPath::as_str).collect();
        assert_eq!(written, expected, "{from} -> {to} {trash:?}");
    }

    #[test]
    fn only_the_trash_itself_needs_no_leave_to_be_written() {
        check("a.md", ".trash/a.md", Trash::Into, &["a.md"]);
        check(".trash/a.md", "a.md", Trash::OutOf, &["a.md"]);
        check("a.md", "b.md", Trash::No, &["a.md", "b.md"]);
        check("a.md", ".trash/a.md", Trash::No, &["a.md", ".trash/a.md"]);
        check("a.md", "Templates/a.md", Trash::Into, &["a.md", "Templates/a.md"]);
        check(".git/config", "a.md", Trash::OutOf, &[".git/config", "a.md"]);
        check(".trashy/a.md", "a.md", Trash::OutOf, &[".trashy/a.md", "a.md"]);
    }
}
