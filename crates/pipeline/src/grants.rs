//! Standing grants: a yes that holds longer than one call. Kept in one JSON file per vault, each with a life span,
//! listed and revoked by people. A file that cannot be read grants nothing.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::gitignore::GitignoreBuilder;
use serde::{Deserialize, Serialize};
use vault::VaultPath;

use crate::approve::{Lifetime, Rule, exactly};
use crate::refusal::Refusal;

/// A standing yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its name, for revoking.
    pub id: String,
    /// What it covers.
    #[serde(flatten)]
    pub rule: Rule,
    /// For how long: a task, a session, or always.
    pub lifetime: Lifetime,
    /// The task or session to which it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// When it was given, milliseconds since 1970.
    pub given_ms: i64,
    /// When it ends, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<i64>,
}

/// All grants: those on disk (`always`) and those in memory (task, session).
#[derive(Debug)]
pub struct Grants {
    file: PathBuf,
    passing: Mutex<Vec<Grant>>,
}

impl Grants {
    /// The grants kept in this file.
    pub fn open(file: &Path) -> Grants {
        Grants { file: file.to_owned(), passing: Mutex::new(Vec::new()) }
    }

    /// The grant that covers a call on these paths, if one does. Every path must fit.
    pub fn covering(
        &self,
        tool: &str,
        paths: &[&VaultPath],
        target: Option<&str>,
        breadth: Breadth,
        who: &Who<'_>,
    ) -> Option<Grant> {
        let narrow = |rule: &Rule| rule.paths.as_ref().is_none_or(|pattern| !has_wildcard(pattern));
        let fits = |grant: &Grant| {
            grant.rule.tool == tool
                && (breadth == Breadth::Any || narrow(&grant.rule))
                && grant.expires_ms.is_none_or(|expires| who.now_ms < expires)
                && is_held(grant, who)
                && covers(&grant.rule, paths, target)
        };
        let passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grant) = passing.iter().find(|grant| fits(grant)) {
            return Some(grant.clone());
        }
        drop(passing);
        self.kept().ok()?.into_iter().find(|grant| fits(grant))
    }

    /// Adds a grant.
    pub fn add(&self, grant: Grant) -> Result<(), Refusal> {
        if grant.lifetime == Lifetime::Always {
            let _alone = self.alone()?;
            let mut kept = self.kept()?;
            kept.retain(|other| other.rule != grant.rule);
            kept.push(grant);
            return self.keep(&kept);
        }
        self.passing.lock().unwrap_or_else(PoisonError::into_inner).push(grant);
        Ok(())
    }

    /// All grants.
    pub fn list(&self) -> Result<Vec<Grant>, Refusal> {
        let mut all = self.kept()?;
        all.extend(self.passing.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        Ok(all)
    }

    /// Takes a grant back, by its id or a unique prefix of it.
    pub fn revoke(&self, id: &str) -> Result<Grant, Refusal> {
        let missing =
            || Refusal::new("grant_missing", format!("there is no grant `{id}`"), "list the grants first");
        let _alone = self.alone()?;
        let mut kept = self.kept()?;
        let mut passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        let found: Vec<String> = kept
            .iter()
            .chain(passing.iter())
            .filter(|grant| !id.is_empty() && grant.id.starts_with(id))
            .map(|grant| grant.id.clone())
            .collect();
        let [only] = found.as_slice() else { return Err(missing()) };
        if let Some(index) = passing.iter().position(|grant| grant.id == *only) {
            return Ok(passing.remove(index));
        }
        let index = kept.iter().position(|grant| grant.id == *only).ok_or_else(missing)?;
        let grant = kept.remove(index);
        self.keep(&kept)?;
        Ok(grant)
    }

    /// Waits until nobody else changes the file: a grant that one process takes back must not come back by another.
    #[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
    fn alone(&self) -> Result<File, Refusal> {
        let lock = self.file.with_extension("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&lock);
        file.and_then(|file| file.lock().map(|()| file)).map_err(|error| unusable(&lock, &error))
    }

    #[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
    fn kept(&self) -> Result<Vec<Grant>, Refusal> {
        match std::fs::read(&self.file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                Refusal::new(
                    "grants_unreadable",
                    format!("the file of standing grants is damaged: {error}"),
                    format!("mend or remove {}; until then nothing is granted", self.file.display()),
                )
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(unusable(&self.file, &error)),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
    fn keep(&self, grants: &[Grant]) -> Result<(), Refusal> {
        let text = serde_json::to_vec_pretty(grants).unwrap_or_default();
        let fresh = self.file.with_extension("new");
        std::fs::write(&fresh, text)
            .and_then(|()| std::fs::rename(&fresh, &self.file))
            .map_err(|error| unusable(&self.file, &error))
    }
}

fn unusable(file: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(
        "grants_unreadable",
        format!("the file of standing grants cannot be used: {error}"),
        format!("check {}", file.display()),
    )
}

/// Which grants count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breadth {
    /// All of them.
    Any,
    /// Only those that name the very paths.
    Exact,
}

/// Who calls, and when.
#[derive(Debug, Clone, Copy)]
pub struct Who<'w> {
    /// The task.
    pub task: &'w str,
    /// The session (one run of the program).
    pub session: &'w str,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

/// A task and a session may have the same name; each has its own grants.
fn is_held(grant: &Grant, who: &Who<'_>) -> bool {
    match grant.lifetime {
        Lifetime::Once => false,
        Lifetime::Task => grant.holder.as_deref() == Some(who.task),
        Lifetime::Session => grant.holder.as_deref() == Some(who.session),
        Lifetime::Always => grant.holder.is_none(),
    }
}

fn covers(rule: &Rule, paths: &[&VaultPath], target: Option<&str>) -> bool {
    if let Some(wanted) = &rule.target
        && target != Some(wanted.as_str())
    {
        return false;
    }
    let Some(pattern) = &rule.paths else {
        return paths.is_empty() && (rule.target.is_some() || target.is_none());
    };
    if !has_wildcard(pattern) {
        // Not by the matcher: it would take a folder for all that is in it, and drop a space at the end.
        return !paths.is_empty() && paths.iter().all(|path| exactly(path) == *pattern);
    }
    let mut builder = GitignoreBuilder::new("");
    let Ok(patterns) = builder.add_line(None, pattern).and_then(|builder| builder.build()) else {
        return false;
    };
    let fits = |path: &&VaultPath| match pattern.ends_with('/') {
        true => patterns.matched_path_or_any_parents(path.as_str(), false).is_ignore(),
        false => patterns.matched(path.as_str(), false).is_ignore(),
    };
    !paths.is_empty() && paths.iter().all(fits)
}

/// Whether a pattern means more than the one path that it spells.
fn has_wildcard(pattern: &str) -> bool {
    let mut escaped = false;
    let wild = pattern.chars().any(|c| {
        let here = matches!(c, '*' | '?' | '[') && !escaped;
        escaped = c == '\\' && !escaped;
        here
    });
    wild || pattern.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(id: &str, tool: &str, paths: &str, lifetime: Lifetime) -> Grant {
        Grant {
            id: id.to_owned(),
            rule: Rule { tool: tool.to_owned(), paths: Some(paths.to_owned()), target: None },
            lifetime,
            holder: (lifetime != Lifetime::Always).then(|| "task-1".to_owned()),
            given_ms: 0,
            expires_ms: None,
        }
    }

    #[test]
    fn a_grant_covers_its_tool_on_its_paths_for_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let grants = Grants::open(&folder.path().join("grants.json"));
        grants.add(grant("aa11", "append", "/Journal/**", Lifetime::Always)).unwrap();
        grants.add(grant("bb22", "write", "/a.md", Lifetime::Task)).unwrap();
        grants
            .add(Grant { expires_ms: Some(100), ..grant("cc33", "move", "/**", Lifetime::Always) })
            .unwrap();
        let covered = |tool: &str, paths: &[&str], task: &str, now_ms: i64| {
            let paths: Vec<VaultPath> = paths.iter().map(|p| VaultPath::parse(p).unwrap()).collect();
            let paths: Vec<&VaultPath> = paths.iter().collect();
            grants.covering(tool, &paths, None, Breadth::Any, &Who { task, session: "s", now_ms }).is_some()
        };
        for (tool, paths, task, now_ms, expected) in [
            ("append", &["Journal/x.md"][..], "task-2", 0, true),
            ("append", &["Journal/deep/x.md"], "task-2", 0, true),
            ("append", &["Journal/x.md", "Other.md"], "task-2", 0, false),
            ("append", &["Journals/x.md"], "task-2", 0, false),
            ("append", &[], "task-2", 0, false),
            ("write", &["Journal/x.md"], "task-1", 0, false),
            ("write", &["a.md"], "task-1", 0, true),
            ("write", &["a.md"], "task-2", 0, false),
            ("write", &["b/a.md"], "task-1", 0, false),
            ("move", &["x.md"], "t", 99, true),
            ("move", &["x.md"], "t", 100, false),
        ] {
            assert_eq!(covered(tool, paths, task, now_ms), expected, "{tool} {paths:?} {task} {now_ms}");
        }
        assert_eq!(grants.revoke("aa").unwrap().id, "aa11");
        assert!(!covered("append", &["Journal/x.md"], "t", 0));
        assert_eq!(grants.revoke("").unwrap_err().reason, "grant_missing");
    }

    #[test]
    fn a_grant_for_one_path_covers_that_path_and_no_other() {
        let path = |text: &str| VaultPath::parse(text).unwrap();
        for (granted, asked, expected) in [
            ("Old", "Old", true),
            ("Old", "Old/diary.md", false),
            ("a.md ", "a.md ", true),
            ("a.md ", "a.md", false),
            ("a.md\u{3000}", "a.md", false),
            ("x*.md", "x*.md", true),
            ("x*.md", "xy.md", false),
            ("[ab]{c}?!#.md", "[ab]{c}?!#.md", true),
            ("A.md", "a.md", false),
        ] {
            let rule = Rule::covering("t", &[&path(granted)], None);
            assert_eq!(covers(&rule, &[&path(asked)], None), expected, "{granted:?} {asked:?}");
        }
        let both = Rule::covering("t", &[&path("f /[x]/1.md"), &path("f /[x]/2.md")], None);
        for (asked, expected) in [("f /[x]/d/3.md", true), ("f/[x]/3.md", false), ("f /x/3.md", false)] {
            assert_eq!(covers(&both, &[&path(asked)], None), expected, "{asked:?}");
        }
    }

    #[test]
    fn a_grant_of_a_task_is_not_one_of_a_session_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        let grants = Grants::open(&folder.path().join("grants.json"));
        grants.add(grant("aa11", "write", "/a.md", Lifetime::Task)).unwrap();
        grants.add(Grant { holder: None, ..grant("bb22", "move", "/a.md", Lifetime::Session) }).unwrap();
        let path = VaultPath::parse("a.md").unwrap();
        for (tool, task, session, expected) in [
            ("write", "task-1", "s", true),
            ("write", "other", "task-1", false),
            ("move", "task-1", "task-1", false),
        ] {
            let found =
                grants.covering(tool, &[&path], None, Breadth::Any, &Who { task, session, now_ms: 0 });
            assert_eq!(found.is_some(), expected, "{tool} {task} {session}");
        }
    }

    /// Two processes change the file at once: nothing that one of them wrote is lost.
    #[test]
    fn grants_given_at_the_same_time_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("grants.json");
        std::thread::scope(|scope| {
            for n in 0..8 {
                let grants = Grants::open(&file);
                scope.spawn(move || {
                    for m in 0..10 {
                        let path = format!("/{n}-{m}.md");
                        grants.add(grant(&format!("{n}-{m}"), "t", &path, Lifetime::Always)).unwrap();
                    }
                });
            }
        });
        assert_eq!(Grants::open(&file).list().unwrap().len(), 80);
    }

    #[test]
    fn a_damaged_grants_file_grants_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("grants.json");
        #[expect(clippy::disallowed_methods, reason = "a test breaks the file")]
        std::fs::write(&file, b"[{").unwrap();
        let grants = Grants::open(&file);
        let path = VaultPath::parse("a.md").unwrap();
        assert!(
            grants
                .covering("write", &[&path], None, Breadth::Any, &Who { task: "t", session: "s", now_ms: 0 })
                .is_none()
        );
        assert_eq!(
            grants.add(grant("a", "w", "/**", Lifetime::Always)).unwrap_err().reason,
            "grants_unreadable"
        );
    }
}
