//! What the operations of a batch come to: for each file its new path and what is done to its text.

use std::collections::{BTreeMap, BTreeSet};

use pipeline::{Refusal, View};
use serde_json::{Value, json};
use vault::edit::front;
use vault::edit::replace::{self, Replacement};
use vault::files::Kind;
use vault::search::Glob;
use vault::view::Depth;
use vault::{Change, Error, VaultFolder, VaultPath, moves};

use super::super::place::check_stays_note;
use super::{MOST_FILES, Operation};

/// Every file of a batch, by its path before it.
#[derive(Default)]
pub(super) struct Batch {
    files: BTreeMap<VaultPath, Planning>,
    failures: Vec<Failure>,
}

/// What is to be done to one file.
struct Planning {
    kind: Kind,
    to: VaultPath,
    renamed: Option<usize>,
    moved: Option<usize>,
    transforms: Vec<usize>,
}

/// An item that cannot be done.
struct Failure {
    operation: usize,
    path: Option<VaultPath>,
    refusal: Refusal,
}

/// The whole batch, planned.
#[derive(Default)]
pub(super) struct Planned {
    pub(super) changes: Vec<Change>,
    pub(super) pairs: Vec<(VaultPath, VaultPath)>,
    pub(super) transformed: Vec<VaultPath>,
    pub(super) unchanged: Vec<VaultPath>,
    pub(super) relinked: Vec<VaultPath>,
    pub(super) left: Vec<VaultPath>,
}

impl Batch {
    /// Works out which files are meant and where they go.
    pub(super) fn gather(view: &View<'_>, operations: &[Operation]) -> Result<Batch, Refusal> {
        if operations.is_empty() {
            return Err(Refusal::new(
                "input_invalid",
                "there is nothing to do",
                "give at least one operation",
            ));
        }
        let mut batch = Batch::default();
        let mut listed = None;
        for (index, operation) in operations.iter().enumerate() {
            match select(view, operation, &mut listed) {
                Ok(selected) => {
                    selected.into_iter().for_each(|(path, kind)| batch.take(index, operation, path, kind))
                }
                Err(refusal) => batch.fail(index, None, refusal),
            }
            if batch.files.len() > MOST_FILES {
                return Err(Refusal::new(
                    "too_many_files",
                    format!("the batch would touch more than {MOST_FILES} files"),
                    "split it into several",
                ));
            }
        }
        batch.check_overlaps();
        batch.check_targets(view)?;
        Ok(batch)
    }

    fn take(&mut self, index: usize, operation: &Operation, path: VaultPath, kind: Kind) {
        let file = self.files.entry(path.clone()).or_insert_with(|| Planning {
            kind,
            to: path.clone(),
            renamed: None,
            moved: None,
            transforms: Vec::new(),
        });
        if let Err(refusal) = file.apply(index, operation, &path) {
            self.fail(index, Some(path), refusal);
        }
    }

    fn fail(&mut self, operation: usize, path: Option<VaultPath>, refusal: Refusal) {
        self.failures.push(Failure { operation, path, refusal });
    }

    /// A folder that moves takes its files along; moving one of them as well would have two meanings.
    fn check_overlaps(&mut self) {
        let moving: Vec<(VaultPath, usize)> = self
            .files
            .iter()
            .filter(|(path, file)| file.kind == Kind::Folder && file.to != **path)
            .map(|(path, file)| (path.clone(), file.by()))
            .collect();
        let inside = |path: &VaultPath, folder: &VaultPath| path.is_in(&VaultFolder::from(folder.clone()));
        let mut found = Vec::new();
        for (folder, by) in moving {
            let clash = self.files.iter().find(|(path, file)| {
                **path != folder && (inside(path, &folder) || inside(&file.to, &folder))
            });
            if let Some((path, _)) = clash {
                let message =
                    format!("`{path}` lies in this folder or goes there, and the folder moves itself");
                let refusal = Refusal::new("batch_overlap", message, "do it in two batches");
                found.push((by, folder, refusal));
            }
        }
        found.into_iter().for_each(|(by, folder, refusal)| self.fail(by, Some(folder), refusal));
    }

    /// Each new place must be free, or be left by this batch, and be wanted once.
    fn check_targets(&mut self, view: &View<'_>) -> Result<(), Refusal> {
        let mut wanted: BTreeMap<String, VaultPath> = BTreeMap::new();
        let mut found = Vec::new();
        for (path, file) in self.files.iter().filter(|(path, file)| file.to != **path) {
            if let Some(other) = wanted.insert(file.to.folded(), path.clone()) {
                let message = format!("`{}` is also the new path of `{other}`", file.to);
                let refusal = Refusal::new("file_exists", message, "give them different names");
                found.push((file.by(), path.clone(), refusal));
                continue;
            }
            let left = self.files.get(&file.to).is_some_and(|other| other.to != file.to);
            let itself = path.folded() == file.to.folded();
            if !left && !itself && view.look(&file.to)?.is_some() {
                found.push((file.by(), path.clone(), Error::Exists { path: file.to.clone() }.into()));
            }
        }
        found.into_iter().for_each(|(by, path, refusal)| self.fail(by, Some(path), refusal));
        Ok(())
    }

    /// Plans the moves with their links, then the transforms on what the moves leave.
    pub(super) fn plan(mut self, view: &View<'_>, operations: &[Operation]) -> Result<Planned, Refusal> {
        self.refuse_failures()?;
        let pairs: Vec<(VaultPath, VaultPath)> = self
            .files
            .iter()
            .filter(|(path, file)| file.to != **path)
            .map(|(path, file)| (path.clone(), file.to.clone()))
            .collect();
        let mut planned = Planned::default();
        if !pairs.is_empty() {
            let plan = moves::plan(view, &pairs)?;
            planned =
                Planned { changes: plan.changes, relinked: plan.relinked, left: plan.left, pairs, ..planned };
        }
        let rewritten: BTreeMap<VaultPath, usize> = planned
            .changes
            .iter()
            .enumerate()
            .filter(|(_, change)| matches!(change, Change::Replace { .. }))
            .map(|(index, change)| (change.path().clone(), index))
            .collect();
        for (path, file) in &self.files {
            let at = rewritten.get(&file.to).copied();
            match file.transformed(view, path, operations, at.map(|at| &planned.changes[at])) {
                Err((by, refusal)) => {
                    self.failures.push(Failure { operation: by, path: Some(path.clone()), refusal });
                }
                Ok(None) if file.to == *path && at.is_none() => planned.unchanged.push(path.clone()),
                Ok(None) => {}
                Ok(Some(change)) => {
                    planned.transformed.push(file.to.clone());
                    match at {
                        Some(at) => planned.changes[at] = change,
                        None => planned.changes.push(change),
                    }
                }
            }
        }
        self.refuse_failures()?;
        Ok(planned)
    }

    fn refuse_failures(&mut self) -> Result<(), Refusal> {
        const NAMED: usize = 5;
        self.failures.sort_by_key(|failure| failure.operation);
        let Some(first) = self.failures.first() else { return Ok(()) };
        let named: Vec<String> = self.failures.iter().take(NAMED).map(Failure::line).collect();
        let more = match self.failures.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let failures: Vec<Value> = self.failures.iter().map(Failure::json).collect();
        Err(Refusal::new(
            "batch_refused",
            format!("nothing was done; {}{more}", named.join("; ")),
            format!("mend these items, then send the whole batch again. {}", first.refusal.hint),
        )
        .with("failures", failures))
    }
}

impl Failure {
    fn line(&self) -> String {
        let number = self.operation + 1;
        match &self.path {
            Some(path) => format!("operation {number} on `{path}`: {}", self.refusal.message),
            None => format!("operation {number}: {}", self.refusal.message),
        }
    }

    fn json(&self) -> Value {
        json!({
            "operation": self.operation,
            "path": self.path,
            "reason": self.refusal.reason,
            "message": self.refusal.message,
        })
    }
}

impl Planning {
    /// The operation to blame for where the file goes.
    fn by(&self) -> usize {
        self.moved.max(self.renamed).unwrap_or(0)
    }

    fn apply(&mut self, index: usize, operation: &Operation, path: &VaultPath) -> Result<(), Refusal> {
        match operation {
            Operation::Transform { .. } if self.kind == Kind::Folder => {
                return Err(Error::IsFolder { path: path.clone() }.into());
            }
            Operation::Transform { .. } => {
                self.transforms.push(index);
                return Ok(());
            }
            Operation::Rename { new_name, find, replace, .. } => {
                once(&mut self.renamed, index, "renamed")?;
                let name = match (new_name, find, replace) {
                    (Some(name), None, None) => with_extension(name, path),
                    (None, Some(find), Some(replace)) => renamed(path, self.kind, find, replace)?,
                    _ => return Err(rename_takes()),
                };
                self.to = named(&self.to.parent(), &name)?;
            }
            Operation::Move { destination, .. } => {
                once(&mut self.moved, index, "moved")?;
                self.to = named(destination, self.to.name())?;
            }
        }
        if self.kind == Kind::File { check_stays_note(path, &self.to) } else { Ok(()) }
    }

    /// The change of the text, if the transforms change it; on failure, which operation it was.
    fn transformed(
        &self,
        view: &View<'_>,
        path: &VaultPath,
        operations: &[Operation],
        relinked: Option<&Change>,
    ) -> Result<Option<Change>, (usize, Refusal)> {
        let Some(first) = self.transforms.first() else { return Ok(None) };
        let (before, now) = match relinked.and_then(Change::texts) {
            Some((before, after)) => (before.to_owned(), after.to_owned()),
            None => {
                let text = view.text(path).map_err(|error| (*first, error.into()))?;
                (text.clone(), text)
            }
        };
        let mut text = now.clone();
        for index in &self.transforms {
            let failed = |refusal: Refusal| (*index, refusal);
            if let Some(Operation::Transform { replacements, updates, remove, .. }) = operations.get(*index) {
                let wanted: Vec<Replacement> = replacements.iter().map(Replacement::from).collect();
                text = replace::replace(&text, &wanted).map_err(|error| failed(error.into()))?.text;
                if !updates.is_empty() || !remove.is_empty() {
                    check_is_note(path).map_err(failed)?;
                    text = front::update(&text, updates, remove).map_err(|error| failed(error.into()))?;
                }
            }
        }
        Ok((text != now).then(|| Change::replace(self.to.clone(), before, text)))
    }
}

fn once(place: &mut Option<usize>, index: usize, what: &str) -> Result<(), Refusal> {
    match place.replace(index) {
        None => Ok(()),
        Some(earlier) => Err(Refusal::new(
            "batch_overlap",
            format!("it is {what} by operation {} already", earlier + 1),
            "name each file once",
        )),
    }
}

fn check_is_note(path: &VaultPath) -> Result<(), Refusal> {
    if path.is_note() {
        return Ok(());
    }
    Err(Refusal::new("not_a_note", "only notes have properties", "name files that end in `.md`"))
}

/// The files that an operation means. Everything is listed once for all globs.
fn select(
    view: &View<'_>,
    operation: &Operation,
    listed: &mut Option<Vec<VaultPath>>,
) -> Result<Vec<(VaultPath, Kind)>, Refusal> {
    let (path, glob) = match operation {
        Operation::Rename { path, glob, .. }
        | Operation::Move { path, glob, .. }
        | Operation::Transform { path, glob, .. } => (path, glob),
    };
    match (path, glob) {
        (Some(path), None) => match view.look(path)? {
            Some(entry) => Ok(vec![(path.clone(), entry.kind)]),
            None => Err(Error::Missing { path: path.clone(), near: view.near(path) }.into()),
        },
        (None, Some(pattern)) => {
            let glob = Glob::new(pattern)?;
            let files = match listed {
                Some(files) => files,
                None => listed.insert(all_files(view)?),
            };
            let found: BTreeSet<&VaultPath> = files.iter().filter(|path| glob.fits(path)).collect();
            if found.is_empty() {
                return Err(Refusal::new(
                    "glob_empty",
                    format!("no file fits `{pattern}`"),
                    "list the folder, or write the pattern as in `.gitignore`",
                ));
            }
            Ok(found.into_iter().map(|path| (path.clone(), Kind::File)).collect())
        }
        _ => Err(Refusal::new(
            "input_invalid",
            "an operation needs either `path` or `glob`",
            "give one of the two",
        )),
    }
}

fn all_files(view: &View<'_>) -> Result<Vec<VaultPath>, Refusal> {
    let entries = view.list(&VaultFolder::root(), Depth::All)?;
    Ok(entries.into_iter().filter(|entry| entry.kind == Kind::File).map(|entry| entry.path).collect())
}

/// A new name that says no extension keeps the old one.
fn with_extension(name: &str, path: &VaultPath) -> String {
    let has_one = name.trim_start_matches('.').contains('.');
    match path.extension() {
        Some(extension) if !has_one => format!("{name}.{extension}"),
        _ => name.to_owned(),
    }
}

/// The name after search and replace on it, without its extension.
fn renamed(path: &VaultPath, kind: Kind, find: &str, replace: &str) -> Result<String, Refusal> {
    let pattern = Replacement { use_regex: true, ..Replacement::new(find, replace) };
    let change = |text: &str| replace::replace(text, std::slice::from_ref(&pattern)).map(|done| done.text);
    Ok(match path.extension().filter(|_| kind == Kind::File) {
        Some(extension) => format!("{}.{extension}", change(path.stem())?),
        None => change(path.name())?,
    })
}

fn rename_takes() -> Refusal {
    Refusal::new(
        "input_invalid",
        "a rename needs `new_name`, or `find` and `replace`",
        "give `new_name` for one file, `find` and `replace` for several",
    )
}

/// A name in a folder; a name with a slash would be a move.
fn named(folder: &VaultFolder, name: &str) -> Result<VaultPath, Refusal> {
    if name.contains(['/', '\\']) || name.trim().is_empty() {
        return Err(Refusal::new(
            "input_invalid",
            format!("`{name}` is not a name"),
            "give a name without slashes; use op `move` for another folder",
        ));
    }
    Ok(folder.join(name).map_err(|error| Error::Path { text: name.to_owned(), error })?)
}
