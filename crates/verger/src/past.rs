//! What was changed and what of it was taken back: shared by `history` and `undo` in the terminal and by the page.
//!
//! A change keeps its audit entry with it, so who made it, who approved it and what an undo takes back is known without a look
//! at the audit file.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use serde_json::Value;
use vault::change::Trash;
use vault::store::record::{Step, TrashMark};
use vault::view::CheckpointInfo;
use vault::{Change, VaultPath, View};

/// The tool that takes back.
pub const RESTORE: &str = "restore_checkpoint";

/// A commit that took effect, as far as undoing cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// Its task.
    pub task: String,
    /// What it takes back, if it is an undo.
    pub takes_back: Option<TakesBack>,
}

/// What an undo takes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakesBack {
    /// A whole call.
    Call(String),
    /// One file of a call.
    File(String, String),
    /// A task, named by its own id or by one of its checkpoints.
    Task(String),
    /// Something that we cannot tell.
    Unknown,
}

/// What does not stand any more.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Commits that were taken back, and by which.
    pub whole: HashMap<String, String>,
    /// Files of commits that were taken back, and by which.
    pub files: HashMap<String, Vec<(String, String)>>,
}

/// The commits that took effect, newest first; those too that may not be seen, because what they take back may be seen.
pub fn commits(view: &View<'_>) -> Vec<Commit> {
    let mut commits = Vec::new();
    view.look_back(&mut |glance| {
        if glance.took_effect() {
            let takes_back = (glance.tool() == RESTORE)
                .then(|| takes_back(glance.note().as_ref().and_then(|n| n.get("input"))));
            commits.push(Commit { id: glance.id().to_owned(), task: glance.task().to_owned(), takes_back });
        }
        ControlFlow::Continue(())
    });
    commits
}

/// What an undo with this input takes back.
pub fn takes_back(input: Option<&Value>) -> TakesBack {
    let text = |key: &str| input.and_then(|input| input.get(key)).and_then(Value::as_str).map(str::to_owned);
    match (text("path"), text("mode").as_deref(), text("commitOid")) {
        (None, Some("task"), Some(task)) => TakesBack::Task(task),
        (None, None | Some("call"), Some(id)) => TakesBack::Call(id),
        (Some(path), None | Some("file"), Some(id)) => TakesBack::File(id, path),
        _ => TakesBack::Unknown,
    }
}

/// What was taken back. An undo that was itself taken back counts for nothing.
pub fn undone(commits: &[Commit]) -> Undone {
    let mut undone = Undone::default();
    if commits.iter().all(|commit| commit.takes_back.is_none()) {
        return undone;
    }
    let by_id: HashMap<&str, usize> =
        commits.iter().enumerate().map(|(at, commit)| (commit.id.as_str(), at)).collect();
    let mut by_task: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, commit) in commits.iter().enumerate() {
        by_task.entry(&commit.task).or_default().push(at);
    }
    // An id may be given by its beginning; only what is older can be meant.
    let older = |name: &str, than: usize| match by_id.get(name) {
        Some(at) => Some(*at).filter(|at| *at > than),
        None => (than + 1..commits.len()).find(|at| commits[*at].id.starts_with(name)),
    };
    for (at, commit) in commits.iter().enumerate() {
        if undone.whole.contains_key(&commit.id) {
            continue;
        }
        match &commit.takes_back {
            None | Some(TakesBack::Unknown) => {}
            Some(TakesBack::Call(id)) => {
                if let Some(of) = older(id, at) {
                    undone.whole.insert(commits[of].id.clone(), commit.id.clone());
                }
            }
            Some(TakesBack::File(id, path)) => {
                if let Some(of) = older(id, at) {
                    let files = undone.files.entry(commits[of].id.clone()).or_default();
                    files.push((path.clone(), commit.id.clone()));
                }
            }
            Some(TakesBack::Task(name)) => {
                let task = older(name, at).map_or(name, |of| &commits[of].task);
                for of in by_task.get(task.as_str()).into_iter().flatten().filter(|of| **of > at) {
                    undone.whole.entry(commits[*of].id.clone()).or_insert_with(|| commit.id.clone());
                }
            }
        }
    }
    undone
}

/// The changes that stand, newest first; undos themselves are left out.
pub fn standing(commits: &[Commit]) -> impl Iterator<Item = &Commit> {
    let undone = undone(commits);
    commits.iter().filter(move |commit| commit.takes_back.is_none() && !undone.whole.contains_key(&commit.id))
}

/// What was kept with these checkpoints: their audit entries.
pub fn notes(view: &View<'_>, ids: &HashSet<&str>) -> HashMap<String, Value> {
    let mut notes = HashMap::new();
    let mut left = ids.len();
    view.look_back(&mut |glance| {
        if left == 0 {
            return ControlFlow::Break(());
        }
        if ids.contains(glance.id()) {
            left -= 1;
            notes.extend(glance.note().map(|note| (glance.id().to_owned(), note)));
        }
        ControlFlow::Continue(())
    });
    notes
}

/// What a checkpoint did, with the bytes of both sides: all of it, or what it did to one file; at most so many steps.
pub fn changes(
    view: &View<'_>,
    info: &CheckpointInfo,
    only: Option<&VaultPath>,
    most: usize,
) -> Result<Vec<Change>, vault::Error> {
    let steps = info.steps.iter().filter(|step| only.is_none_or(|path| step.paths().contains(&path)));
    let mut changes = Vec::new();
    for step in steps.take(most) {
        changes.extend(match step {
            Step::Write { path, .. } => match view.checkpoint_file(&info.id, path)? {
                (Some(before), Some(after)) => Some(Change::replace(path.clone(), before, after)),
                (None, Some(after)) => Some(Change::create(path.clone(), after)),
                (Some(before), None) => Some(Change::Delete { path: path.clone(), before: before.into() }),
                (None, None) => None,
            },
            Step::Move { from, to, trash, .. } => {
                let trash = match trash {
                    TrashMark::Into => Trash::Into,
                    TrashMark::OutOf => Trash::OutOf,
                    TrashMark::No => Trash::No,
                };
                Some(Change::Move { from: from.clone(), to: to.clone(), trash })
            }
            Step::Make { path } => Some(Change::MakeFolder { path: path.clone() }),
            Step::Remove { path } => Some(Change::RemoveFolder { path: path.clone() }),
        });
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newest first: `c=b` takes back b, `c:t` takes back task t, `c?` takes back something that nobody knows, `c/b` a file of b.
    fn log(text: &str) -> Vec<Commit> {
        let one = |word: &str| {
            let takes_back = match word.get(1..2) {
                Some("=") => Some(TakesBack::Call(word[2..].to_owned())),
                Some(":") => Some(TakesBack::Task(word[2..].to_owned())),
                Some("/") => Some(TakesBack::File(word[2..].to_owned(), "x.md".to_owned())),
                Some("?") => Some(TakesBack::Unknown),
                _ => None,
            };
            let task = word.get(1..).filter(|_| takes_back.is_none()).unwrap_or_default().to_owned();
            Commit { id: word[..1].to_owned(), task, takes_back }
        };
        text.split_whitespace().map(one).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let commits = log(text);
        let ids: Vec<&str> = standing(&commits).map(|commit| commit.id.as_str()).collect();
        assert_eq!(ids.join(" "), expected, "{text}");
    }

    #[test]
    fn undo_goes_further_back_each_time() {
        check("c b a", "c b a");
        check("d=c c b a", "b a");
        check("e=b d=c c b a", "a");
        check("f=a e=b d=c c b a", "");
        check("e d=c c b a", "e b a");
        check("e=d d=c c b a", "c b a");
        check("d? c b a", "c b a");
        check("d/c c b a", "c b a");
        check("z:t ct bt a", "a");
        check("z:b ct bt a", "a");
    }

    #[test]
    fn what_took_a_change_or_a_file_back_is_known() {
        let gone = undone(&log("f=e e/b d=c c b a"));
        assert_eq!(gone.whole.get("c").map(String::as_str), Some("d"));
        assert_eq!(gone.whole.get("e").map(String::as_str), Some("f"));
        assert!(gone.files.is_empty(), "an undo that was taken back counts for nothing");
        let gone = undone(&log("e/b d=c c b a"));
        assert_eq!(gone.files["b"], [("x.md".to_owned(), "e".to_owned())]);
    }

    #[test]
    fn a_newer_change_is_never_what_an_older_undo_took_back() {
        check("ct b:t at", "c");
        check("c=c b a", "b a");
    }

    #[test]
    fn fifty_thousand_changes_with_many_undos_are_sorted_out_at_once() {
        let mut commits = Vec::new();
        for number in (0..50_000_u32).rev() {
            let takes_back = (number % 2 == 1).then(|| TakesBack::Call(format!("{:012x}", number - 1)));
            let task = format!("task-{}", number / 10);
            commits.push(Commit { id: format!("{number:012x}"), task, takes_back });
        }
        // With a search for each undo these would be more than a thousand million comparisons.
        assert_eq!(standing(&commits).count(), 0);
        assert_eq!(undone(&commits).whole.len(), 25_000);
    }
}
