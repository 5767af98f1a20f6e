//! Planning moves, renames and deletes: the change itself, and every link that must follow it.
//!
//! A move is one plan, so one approval, one commit, one undo: the file (or folder) gets its new path, and each visible,
//! writable note, canvas, base and front matter that links to it is rewritten. Links in places that may not be written are
//! counted and named, never silently left behind.

use std::collections::BTreeSet;

use crate::change::{Change, Trash, is_in_trash};
use crate::edit::relink::{Moves, Relink, apply};
use crate::error::{Error, Result};
use crate::files::Kind;
use crate::links::Resolver;
use crate::path::VaultPath;
use crate::query::bases;
use crate::view::View;

/// A planned move.
#[derive(Debug)]
pub struct MovePlan {
    /// The changes, moves first.
    pub changes: Vec<Change>,
    /// Files (at their new paths) whose links are rewritten.
    pub relinked: Vec<VaultPath>,
    /// Files with links to what moves that may not be written.
    pub left: Vec<VaultPath>,
}

/// Plans moves of files and folders, all at once.
pub fn plan(view: &View<'_>, pairs: &[(VaultPath, VaultPath)]) -> Result<MovePlan> {
    let mut changes = Vec::new();
    let mut moves = Moves::new();
    let catalog = view.catalog()?;
    let files: Vec<VaultPath> =
        catalog.ask(|catalog, visible| catalog.files(visible).map(|info| info.path.clone()).collect());
    check_targets(view, pairs)?;
    for (from, to) in pairs {
        match view.look(from)?.map(|entry| entry.kind) {
            Some(Kind::File) => moves.add(from.clone(), to.clone()),
            Some(Kind::Folder) => {
                check_contents(view, from, to)?;
                moves
                    .add_folder(from, to, &files)
                    .map_err(|error| Error::Path { text: to.to_string(), error })?;
            }
            None => return Err(Error::Missing { path: from.clone(), near: view.near(from) }),
        }
        changes.push(Change::Move { from: from.clone(), to: to.clone(), trash: Trash::No });
    }
    let before = Resolver::new(files.iter().cloned());
    let mut after = Resolver::new(files.iter().cloned());
    moves.apply(&mut after);
    let mut plan = MovePlan { changes, relinked: Vec::new(), left: Vec::new() };
    for file in concerned(view, &moves, &files)? {
        plan.relink(view, &file, &moves, &before, &after)?;
    }
    Ok(plan)
}

/// Everything that can be refused is refused before anything is planned.
fn check_targets(view: &View<'_>, pairs: &[(VaultPath, VaultPath)]) -> Result<()> {
    let sources: BTreeSet<&VaultPath> = pairs.iter().map(|(from, _)| from).collect();
    let mut targets = BTreeSet::new();
    for (from, to) in pairs {
        if from == to || to.is_in(&from.clone().into()) {
            return Err(Error::Edit {
                reason: "move_into_itself",
                message: format!("`{from}` cannot be moved to `{to}`"),
                hint: "choose a place outside of it".to_owned(),
                candidates: Vec::new(),
            });
        }
        let same_file = from.folded() == to.folded();
        if !targets.insert(to) || (!sources.contains(to) && !same_file && view.look(to)?.is_some()) {
            return Err(Error::Exists { path: to.clone() });
        }
    }
    Ok(())
}

/// What lies in a folder goes along, so each of it must be writable here and there: a protected note does not move with
/// its folder, and a hidden one is not moved out of the rule that hides it. Dot files inside stay dot files and may go.
fn check_contents(view: &View<'_>, from: &VaultPath, to: &VaultPath) -> Result<()> {
    let scope = view.scope();
    // The road refuses the folder itself, with the right words.
    if scope.check_write(from).is_err() || scope.check_write(to).is_err() {
        return Ok(());
    }
    let mut fixed = Vec::new();
    let mut unseen = false;
    for inside in view.contents(from)? {
        let below = &inside.as_str()[from.as_str().len() + 1..];
        if below.split('/').any(|name| name.starts_with('.')) {
            continue;
        }
        let target = to.join(below).map_err(|error| Error::Path { text: below.to_owned(), error })?;
        if scope.check_write(&inside).is_ok() && scope.check_write(&target).is_ok() {
            continue;
        }
        match scope.may_read(&inside) {
            true => fixed.push(inside.to_string()),
            false => unseen = true,
        }
    }
    if fixed.is_empty() && !unseen {
        return Ok(());
    }
    let what = fixed.first().map_or("something".to_owned(), |path| format!("`{path}`"));
    Err(Error::Edit {
        reason: "path_forbidden",
        message: format!("`{from}` holds {what}, which may not be moved along to `{to}`"),
        hint: "move the files that may be moved one by one, or ask the user".to_owned(),
        candidates: fixed,
    })
}

/// The files whose links may have to follow: those that move, and those with a link to a name that comes or goes.
fn concerned(view: &View<'_>, moves: &Moves, files: &[VaultPath]) -> Result<Vec<VaultPath>> {
    let linking: BTreeSet<VaultPath> = view.catalog()?.ask(|catalog, visible| {
        catalog
            .notes(visible)
            .filter(|info| {
                moves.get(&info.path).is_some() || info.links.iter().any(|link| moves.concerns(&link.target))
            })
            .map(|info| info.path.clone())
            .collect()
    });
    let others = files.iter().filter(|path| is_canvas(path) || is_base(path)).cloned();
    Ok(linking.into_iter().chain(others).collect())
}

fn is_canvas(path: &VaultPath) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("canvas"))
}

fn is_base(path: &VaultPath) -> bool {
    path.extension() == Some("base")
}

impl MovePlan {
    fn relink(
        &mut self,
        view: &View<'_>,
        file: &VaultPath,
        moves: &Moves,
        before: &Resolver,
        after: &Resolver,
    ) -> Result<()> {
        // A file that is no text has no links; one that vanished meanwhile has none either.
        let Ok(text) = view.text(file) else { return Ok(()) };
        let to = moves.of(file).clone();
        let relink = Relink { from_old: file, from_new: &to, moves, before, after };
        let splices = if is_canvas(file) {
            // A canvas that is no JSON is left alone; `health` reports it.
            relink.canvas(&text).unwrap_or_default()
        } else if is_base(file) {
            bases::links::relinked(&relink, &text)
        } else {
            relink.note(&text)
        };
        if splices.is_empty() {
            return Ok(());
        }
        if view.scope().check_write(&to).is_err() {
            self.left.push(to);
            return Ok(());
        }
        let new_text = apply(&text, &splices);
        self.changes.push(Change::replace(to.clone(), text, new_text));
        self.relinked.push(to);
        Ok(())
    }
}

/// Plans a delete: into the vault's `.trash`, under a free name. Folders must be empty; they simply go.
pub fn plan_delete(view: &View<'_>, path: &VaultPath) -> Result<Vec<Change>> {
    if is_in_trash(path) {
        return Err(Error::Edit {
            reason: "path_forbidden",
            message: format!("`{path}` is in the trash already"),
            hint: "only people empty the trash; restore_checkpoint takes things out of it".to_owned(),
            candidates: Vec::new(),
        });
    }
    match view.look(path)?.map(|entry| entry.kind) {
        None => Err(Error::Missing { path: path.clone(), near: view.near(path) }),
        Some(Kind::Folder) if !view.contents(path)?.is_empty() => Err(Error::NotEmpty { path: path.clone() }),
        Some(Kind::Folder) => Ok(vec![Change::RemoveFolder { path: path.clone() }]),
        Some(Kind::File) => {
            let to = free_in_trash(view, path)?;
            Ok(vec![Change::Move { from: path.clone(), to, trash: Trash::Into }])
        }
    }
}

fn free_in_trash(view: &View<'_>, path: &VaultPath) -> Result<VaultPath> {
    let named = |text: String| VaultPath::parse(&text).map_err(|error| Error::Path { text, error });
    let extension = path.extension().map(|extension| format!(".{extension}")).unwrap_or_default();
    for number in 0..10_000 {
        let name = match number {
            0 => path.name().to_owned(),
            n => format!("{} {n}{extension}", path.stem()),
        };
        let place = named(format!(".trash/{name}"))?;
        if view.is_free(&place)? {
            return Ok(place);
        }
    }
    Err(Error::Exists { path: named(format!(".trash/{}", path.name()))? })
}
