//! The vault as one agent sees it. What its scope hides is absent: from reads, lists, searches, tags, links and counts.
//!
//! Tools plan against a view and never see the vault itself. A view reads; it has no way to write.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::catalog::{Catalog, Live, Lookup, Visible};
use crate::disk::LARGEST_FILE;
use crate::error::{Error, Result};
use crate::files::{Entry, Files, Kind, Stat};
use crate::finder::{FindQuery, NotesFound};
use crate::health::{self, Finding};
use crate::index::{Holders, WordsQuery};
use crate::past::{Each, Glance};
use crate::path::{VaultFolder, VaultPath};
use crate::periodic;
use crate::policy::Scope;
use crate::restore::{self, Conflict, Restore, Undo, is_of_trash};
use crate::search::{self, Found, Query};
use crate::sights::Seen;
use crate::store::log::LogEntry;
use crate::store::record::{Ending, Step};
use crate::vault::Vault;

/// Two notes nearer than this in meaning are about the same.
const SIMILAR: f32 = 0.8;

/// A scoped view of a vault.
#[derive(Clone, Copy)]
pub struct View<'v> {
    vault: &'v Vault,
    scope: &'v Scope,
    drafts: Option<&'v Drafts>,
    stop: Option<&'v CalledOff>,
}

/// Whether whoever asked has called it off.
pub type CalledOff = dyn Fn() -> bool + Send + Sync;

/// Texts that a plan has come to so far. A view over them shows each file as it will be, so that several edits of one
/// note can be planned one after the other and committed as one.
#[derive(Debug, Default)]
pub struct Drafts(Mutex<BTreeMap<VaultPath, String>>);

impl Drafts {
    /// The file has this text from now on.
    pub fn put(&self, path: VaultPath, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path, text);
    }

    fn get(&self, path: &VaultPath) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}

/// A file's bytes before and after; `None` where it did not exist.
pub type BothSides = (Option<Vec<u8>>, Option<Vec<u8>>);

/// A checkpoint as the view shows it: only the paths that may be read.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CheckpointInfo {
    /// Its name.
    pub id: String,
    /// The task to which it belongs.
    pub task: String,
    /// The tool that planned it.
    pub tool: String,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The steps, as far as their paths may be read.
    pub steps: Vec<Step>,
    /// How it ended.
    pub ending: Option<Ending>,
}

impl<'v> View<'v> {
    pub(crate) fn new(vault: &'v Vault, scope: &'v Scope) -> View<'v> {
        View { vault, scope, drafts: None, stop: None }
    }

    /// The same until it is called off: from then on no file is read any more, so whatever goes through many ends soon.
    #[must_use]
    pub fn unless(self, stop: &'v CalledOff) -> View<'v> {
        View { stop: Some(stop), ..self }
    }

    /// The same with these texts in place of what is on disk. The scope stays what it was.
    #[must_use]
    pub fn over(self, drafts: &'v Drafts) -> View<'v> {
        View { drafts: Some(drafts), ..self }
    }

    /// What may be read and written.
    pub fn scope(&self) -> &'v Scope {
        self.scope
    }

    /// A file's bytes. The scope is asked before the disk is.
    pub fn read(&self, path: &VaultPath) -> Result<Vec<u8>> {
        self.scope.check_read(path).map_err(|error| self.with_suggestions(error))?;
        if let Some(text) = self.drafts.and_then(|drafts| drafts.get(path)) {
            return Ok(text.into_bytes());
        }
        if self.stop.is_some_and(|stop| stop()) {
            return Err(Error::io(format!("reading {path}"), std::io::ErrorKind::Interrupted));
        }
        self.vault
            .disk()
            .read_up_to(path, LARGEST_FILE)
            .map(|(bytes, _)| bytes)
            .map_err(|error| self.with_suggestions(error))
    }

    /// A file's text.
    pub fn text(&self, path: &VaultPath) -> Result<String> {
        String::from_utf8(self.read(path)?)
            .map_err(|error| Error::Binary { path: path.clone(), byte: error.utf8_error().valid_up_to() })
    }

    /// A file's text, or none where there is no file yet.
    pub fn text_if_any(&self, path: &VaultPath) -> Result<Option<String>> {
        match self.look(path)? {
            None => Ok(None),
            Some(Entry { kind: Kind::Folder, .. }) => Err(Error::IsFolder { path: path.clone() }),
            Some(_) => self.text(path).map(Some),
        }
    }

    /// What lies at a path, if anything does that may be read.
    pub fn look(&self, path: &VaultPath) -> Result<Option<Entry>> {
        match self.scope.check_read(path) {
            Err(Error::Missing { .. }) => return Ok(None),
            other => other?,
        }
        let found = self.vault.disk().look(path)?;
        if let (None, Some(text)) = (&found, self.drafts.and_then(|drafts| drafts.get(path))) {
            let stat = Stat { size: text.len() as u64, ..Stat::default() };
            return Ok(Some(Entry { path: path.clone(), kind: Kind::File, stat }));
        }
        Ok(found.map(|(kind, state)| Entry { path: path.clone(), kind, stat: state.into() }))
    }

    /// The file that a path means: itself if it is there, else the one that differs only in case, Unicode form,
    /// extension or folder, if there is exactly one.
    pub fn find(&self, path: &VaultPath) -> Result<VaultPath> {
        if self.look(path)?.is_some() {
            return Ok(path.clone());
        }
        match self.catalog()?.lookup(path.as_str()) {
            Lookup::One(found) => Ok(found),
            Lookup::Several(paths) => Err(Error::Edit {
                reason: "ambiguous_path",
                message: format!("`{path}` could be several files"),
                hint: format!("use one of the exact paths: {}", some_of(&paths)),
                candidates: paths.iter().map(ToString::to_string).collect(),
            }),
            Lookup::None => Err(Error::Missing { path: path.clone(), near: self.near(path) }),
        }
    }

    /// Everything in a folder, sorted by path; all below it, or only what lies directly in it.
    pub fn list(&self, folder: &VaultFolder, depth: Depth) -> Result<Vec<Entry>> {
        if let Some(path) = folder.path() {
            if !self.scope.may_enter(path) {
                self.scope.check_read(path).map_err(|error| self.with_suggestions(error))?;
            }
            match self.vault.disk().look(path)?.map(|(kind, _)| kind) {
                Some(Kind::Folder) => {}
                Some(Kind::File) => return Err(Error::NotAFolder { path: path.clone() }),
                None => return Err(Error::Missing { path: path.clone(), near: self.near(path) }),
            }
        }
        let mut entries = Vec::new();
        let mut take = |entry: Entry| {
            let seen = match entry.kind {
                Kind::File => self.scope.may_read(&entry.path),
                Kind::Folder => self.scope.may_enter(&entry.path),
            };
            if seen {
                entries.push(entry);
            }
        };
        match depth {
            Depth::All => self.vault.disk().walk_in(folder, &mut take)?,
            Depth::One => self.vault.disk().list(folder, &mut take)?,
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// The catalog, as far as this view reaches.
    pub fn catalog(&self) -> Result<CatalogView<'v>> {
        let seen = self.vault.sights().of(self.scope);
        Ok(CatalogView { live: self.vault.catalog()?, scope: self.scope, seen })
    }

    /// Exact text search: by the index where there is one, by reading the files while there is none. The answer is the same.
    pub fn search(&self, query: &Query) -> Result<Found> {
        let finder = self.vault.finder()?;
        let seen = self.vault.sights().of(self.scope);
        let sees = |path: &VaultPath| seen.sees(self.scope, path);
        if let Some(index) = finder.text_if_ready() {
            return index.search_as(query, visible(self.scope, &sees), seen.index());
        }
        let _first = finder.turns().ask();
        let mut paths = Vec::new();
        self.vault.disk().walk_names(&query.folder.clone().unwrap_or_default(), &mut |path| {
            if self.scope.hides_nothing() || sees(&path) {
                paths.push(path);
            }
        })?;
        search::search(self.vault.disk(), &paths, query)
    }

    /// The notes that hold all words in their name or text, case ignored; none where no index can say so soon.
    pub fn holders(&self, query: &WordsQuery<'_>) -> Result<Option<Holders>> {
        let finder = self.vault.finder()?;
        let seen = self.vault.sights().of(self.scope);
        let sees = |path: &VaultPath| seen.sees(self.scope, path);
        let Some(index) = finder.text_if_ready() else { return Ok(None) };
        index.holders(query, visible(self.scope, &sees), seen.index())
    }

    /// The notes with every word in their name or text, by reading all that start with `prefix`; and how many could not be read.
    pub fn read_for_words(
        &self,
        prefix: &str,
        words: &[regex::bytes::Regex],
    ) -> Result<(Vec<VaultPath>, usize)> {
        let seen = self.vault.sights().of(self.scope);
        let _first = self.vault.finder()?.turns().ask();
        let disk = self.vault.disk();
        let walk = |each: &mut dyn FnMut(VaultPath)| {
            disk.walk_names(&VaultFolder::default(), &mut |path| {
                let wanted = path.is_note() && path.as_str().starts_with(prefix);
                if wanted && (self.scope.hides_nothing() || seen.sees(self.scope, &path)) {
                    each(path);
                }
            })
        };
        let go_on = || self.stop.is_none_or(|stop| !stop());
        search::with_all_words(disk, walk, words, &go_on)
    }

    /// Finds notes by words, by meaning, or by both.
    pub fn find_notes(&self, query: &FindQuery, now_ns: i64) -> Result<NotesFound> {
        let seen = self.vault.sights().of(self.scope);
        let sees = |path: &VaultPath| seen.sees(self.scope, path);
        self.vault.finder()?.find(query, visible(self.scope, &sees), seen.index(), now_ns)
    }

    /// The notes that are most like this one as a whole.
    pub fn similar_notes(&self, path: &VaultPath, count: usize) -> Result<Vec<(VaultPath, f32)>> {
        let seen = self.vault.sights().of(self.scope);
        let sees = |path: &VaultPath| seen.sees(self.scope, path);
        Ok(self.vault.finder()?.meaning()?.similar_to(path, count, visible(self.scope, &sees)))
    }

    /// What is wrong in the vault, with what only a look at the texts shows: near duplicates, and notes that are about
    /// the same and not linked. Reads every note.
    pub fn health_of_texts(&self) -> Result<Vec<Finding>> {
        let sees = |path: &VaultPath| self.scope.may_read(path);
        let catalog = self.catalog()?;
        let notes = catalog
            .ask(|catalog, visible| catalog.notes(visible).map(|info| info.path.clone()).collect::<Vec<_>>());
        let pairs = self.vault.finder()?.meaning()?.alike(SIMILAR, visible(self.scope, &sees));
        let read = health::deep::read(self.vault.disk(), &notes, pairs);
        let mut findings = catalog.health();
        findings.extend(catalog.ask(|catalog, visible| health::deep::check(catalog, visible, &read)));
        health::sort(&mut findings);
        Ok(findings)
    }

    /// What an answer out of the vectors must say, if they are not as they should be.
    pub fn meaning_caution(&self) -> Result<Option<String>> {
        let sees = |path: &VaultPath| self.scope.may_read(path);
        self.vault.finder()?.caution(visible(self.scope, &sees))
    }

    /// The settings of daily and other periodic notes. They are read for the engine, not shown to the agent.
    pub fn periodic_settings(&self) -> Result<periodic::Settings> {
        periodic::Settings::read(&|name| self.machinery_text(name))
    }

    /// The text of a settings file of the editor, or of a template that may be read: for planning.
    pub fn machinery_text(&self, name: &str) -> Option<String> {
        let path = VaultPath::parse(name).ok()?;
        let settings = path.as_str().starts_with(".obsidian/") && path.extension() == Some("json");
        if !settings && !self.scope.may_read(&path) {
            return None;
        }
        let (bytes, _) = self.vault.disk().read_up_to(&path, LARGEST_FILE).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// Checkpoints, newest first.
    pub fn checkpoints(&self) -> Vec<CheckpointInfo> {
        let mut store = self.vault.store();
        // Other processes may have written; what cannot be read any more is reported by `check`.
        store.log.catch_up().ok();
        store.log.entries().iter().rev().filter_map(|entry| self.shown(entry)).collect()
    }

    /// Looks at the checkpoints, newest first, until `each` has seen enough.
    pub fn look_back(&self, each: &mut Each<'_>) {
        let mut store = self.vault.store();
        // Other processes may have written; what cannot be read any more is reported by `check`.
        store.log.catch_up().ok();
        for entry in store.log.entries().iter().rev() {
            if each(&Glance { view: self, entry }).is_break() {
                return;
            }
        }
    }

    /// One checkpoint, by its id or a unique prefix.
    pub fn checkpoint(&self, id: &str) -> Result<CheckpointInfo> {
        let mut store = self.vault.store();
        store.log.catch_up()?;
        // Only among what may be seen: a hidden checkpoint is no rival for a prefix.
        store.log.find_among(id, |entry| self.shown(entry))
    }

    /// A file's bytes before and after a checkpoint; `None` where it did not exist.
    pub fn checkpoint_file(&self, id: &str, path: &VaultPath) -> Result<BothSides> {
        let info = self.checkpoint(id)?;
        let store = self.vault.store();
        for step in &info.steps {
            if let Step::Write { path: at, before, after } = step
                && at == path
            {
                let bytes = |side: &Option<crate::store::record::Side>| {
                    side.as_ref().map(|side| store.log.blob(&side.hash)).transpose()
                };
                return Ok((bytes(before)?, bytes(after)?));
            }
        }
        Err(Error::Checkpoint {
            reason: "checkpoint_file_missing",
            message: format!("checkpoint {} holds no text of `{path}`", info.id),
        })
    }

    /// The changes that would take something back.
    pub fn plan_restore(&self, undo: &Undo, conflict: Conflict) -> Result<Restore> {
        let mut store = self.vault.store();
        store.log.catch_up()?;
        let seen =
            restore::plan(self.vault.disk(), &store, undo, conflict, &|path| self.scope.may_read(path));
        seen.map_err(|error| self.with_suggestions(error))
    }

    /// Paths that look like this one.
    pub fn near(&self, path: &VaultPath) -> Vec<VaultPath> {
        self.catalog().map(|catalog| catalog.near(path)).unwrap_or_default()
    }

    /// Everything below a folder, hidden names included; nothing below a file. For the policy on moves and deletes of
    /// folders, not to be shown.
    pub fn contents(&self, folder: &VaultPath) -> Result<Vec<VaultPath>> {
        let disk = self.vault.disk();
        let mut all = Vec::new();
        let mut waiting = vec![folder.clone()];
        while let Some(at) = waiting.pop() {
            match disk.look(&at) {
                Ok(Some((Kind::Folder, _))) => {}
                Ok(_) | Err(Error::Symlink { .. } | Error::Special { .. }) => continue,
                Err(error) => return Err(error),
            }
            let children = disk.children(&at).map_err(|error| match error {
                Error::Path { .. } => odd_name_in(folder),
                other => other,
            })?;
            waiting.extend(children.iter().cloned());
            all.extend(children);
        }
        all.sort();
        Ok(all)
    }

    /// Whether nothing lies at a path, seen or not: to choose a name in the trash.
    pub(crate) fn is_free(&self, path: &VaultPath) -> Result<bool> {
        match self.vault.disk().look(path) {
            Ok(found) => Ok(found.is_none()),
            Err(Error::Symlink { .. } | Error::Special { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn shown(&self, entry: &LogEntry) -> Option<CheckpointInfo> {
        let checkpoint = &entry.checkpoint;
        let may = |path: &&VaultPath| self.scope.may_read(path);
        let steps: Vec<Step> =
            checkpoint.steps.iter().filter(|step| step.named().iter().all(may)).cloned().collect();
        if steps.iter().all(is_of_trash) {
            return None;
        }
        Some(CheckpointInfo {
            id: checkpoint.id.clone(),
            task: checkpoint.task.clone(),
            tool: checkpoint.tool.clone(),
            time_ms: checkpoint.time_ms,
            steps,
            ending: entry.ending,
        })
    }

    fn with_suggestions(&self, error: Error) -> Error {
        match error {
            Error::Missing { path, near } if near.is_empty() => {
                Error::Missing { near: self.near(&path), path }
            }
            other => other,
        }
    }
}

fn some_of(paths: &[VaultPath]) -> String {
    let shown: Vec<String> = paths.iter().take(5).map(|path| format!("`{path}`")).collect();
    let more = if paths.len() > 5 { format!(" and {} more", paths.len() - 5) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn odd_name_in(folder: &VaultPath) -> Error {
    Error::Edit {
        reason: "folder_unclear",
        message: format!(
            "`{folder}` holds a file whose name cannot be told, so nobody can say whether it may be touched"
        ),
        hint: "give that file an ordinary name by another program first".to_owned(),
        candidates: Vec::new(),
    }
}

/// What a scope lets through. The index and the catalog hold no hidden files, so a scope without rules lets all through.
fn visible<'a>(scope: &Scope, sees: &'a dyn Fn(&VaultPath) -> bool) -> Visible<'a> {
    if scope.hides_nothing() { Visible::all() } else { Visible::only(sees) }
}

/// How far a listing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Only what lies directly in the folder.
    One,
    /// Everything below.
    All,
}

/// The catalog through a scope.
pub struct CatalogView<'v> {
    live: &'v Arc<Live>,
    scope: &'v Scope,
    seen: Arc<Seen>,
}

impl CatalogView<'_> {
    /// Asks the catalog something, with what may be seen.
    pub fn ask<T>(&self, question: impl FnOnce(&Catalog, Visible<'_>) -> T) -> T {
        let sees = |path: &VaultPath| self.seen.sees(self.scope, path);
        question(&self.live.read(), visible(self.scope, &sees).remembering(self.seen.answers()))
    }

    /// The file that a text means.
    pub fn lookup(&self, text: &str) -> Lookup {
        self.ask(|catalog, visible| catalog.lookup(text, visible))
    }

    /// Paths that look like this one.
    pub fn near(&self, path: &VaultPath) -> Vec<VaultPath> {
        self.ask(|catalog, visible| catalog.near(path, visible))
    }

    /// What is wrong in the vault.
    pub fn health(&self) -> Vec<Finding> {
        self.ask(health::check)
    }
}
