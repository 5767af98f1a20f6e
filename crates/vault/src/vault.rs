//! One vault, opened: its files, its store, its catalog. The road owns it; everybody else sees a [`View`].
//!
//! `Vault` is not `Clone`, and only it can commit: whoever holds it decides what is written. The pipeline holds it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::arrears::Arrears;
use crate::catalog::{Gathering, Live};
use crate::commit::{self, Commit, Receipt};
use crate::disk::{Disk, Stage};
use crate::error::{Error, Result};
use crate::finder::Finder;
use crate::policy::{RuleFile, Rules, Scope};
use crate::recover;
use crate::rules::RuleBook;
pub(crate) use crate::rules::read_rules;
use crate::sights::Sights;
use crate::store::gc::{self, Collected, ReadData, Report, Retention};
use crate::store::record::Ending;
use crate::store::{self, Store};
use crate::view::View;
use crate::watch::{self, Watcher};

/// A vault on disk.
pub struct Vault {
    disk: Arc<Disk>,
    store: Mutex<Store>,
    catalog: OnceLock<Arc<Live>>,
    finder: Arc<Finder>,
    watcher: OnceLock<Watcher>,
    sights: Sights,
    rules: RuleBook,
    /// What the catalog has not taken in yet, and what the index and the vectors have not.
    catalog_arrears: Arrears,
    finder_arrears: Arrears,
    building: Mutex<()>,
    /// Whether the program stays: then what a first reading costs is worth spending on the index too.
    stays: AtomicBool,
    recovered: Vec<(String, Ending)>,
}

impl Vault {
    /// Opens the vault at `root`, with our own data in `data`. What an interrupted process left is finished first.
    pub fn open(root: &Path, data: &Path) -> Result<Vault> {
        let disk = Disk::open(root)?;
        refuse_inside(root, data)?;
        let mut store = Store::open(data)?;
        let recovered = recover_now(&disk, &mut store)?;
        let disk = Arc::new(disk);
        Ok(Vault {
            finder: Arc::new(Finder::new(Arc::clone(&disk), data)),
            disk,
            store: Mutex::new(store),
            catalog: OnceLock::new(),
            watcher: OnceLock::new(),
            sights: Sights::default(),
            rules: RuleBook::default(),
            catalog_arrears: Arrears::default(),
            finder_arrears: Arrears::default(),
            building: Mutex::default(),
            stays: AtomicBool::new(false),
            recovered,
        })
    }

    /// Commits of a process that died, and how they were ended when this vault was opened.
    pub fn recovered(&self) -> &[(String, Ending)] {
        &self.recovered
    }

    /// The vault's own rules: what its ignore and protect files say now.
    pub fn rules(&self) -> Result<Arc<Rules>> {
        self.rules.rules(&self.disk)
    }

    /// The text of a rule file, for the person who wrote it; no tool and no model asks for it.
    pub fn rule_text(&self, file: RuleFile) -> Result<Option<String>> {
        crate::rules::write::text(&self.disk, file.name())
    }

    /// The text of a rule file under one of its older names.
    pub fn older_rule_text(&self, name: &'static str) -> Result<Option<String>> {
        crate::rules::write::text(&self.disk, name)
    }

    /// Puts a text into a rule file, if it still holds `before`. For the person only: the road refuses these paths to everybody,
    /// so no tool can. Without a checkpoint, because nothing that goes by the road could take it back.
    pub fn write_rules(&self, file: RuleFile, before: Option<&str>, after: &str) -> Result<()> {
        crate::rules::write::write(&self.disk, &self.store(), file, before, after)
    }

    /// What somebody with this scope sees.
    pub fn view<'v>(&'v self, scope: &'v Scope) -> View<'v> {
        View::new(self, scope)
    }

    /// Carries out changes, all or none, on disk with their checkpoint when this returns.
    pub fn commit(&self, commit: &Commit<'_>) -> Result<Receipt> {
        let mut store = self.store();
        let receipt = commit::commit(&self.disk, &mut store, commit)?;
        drop(store);
        self.catalog_arrears.add(&receipt.paths);
        self.finder_arrears.add(&receipt.paths);
        Ok(receipt)
    }

    /// The catalog, read on first use. Without a watcher it is compared with the disk each time.
    pub fn catalog(&self) -> Result<&Arc<Live>> {
        let catalog = self.catalog_as_read()?;
        // Behind the reading, which may have come to a note before a commit did. The files are right whatever happens here; a
        // catalog that lags is refreshed by the next change.
        self.catalog_arrears.settle(|paths| drop(catalog.refresh(paths)));
        Ok(catalog)
    }

    fn catalog_as_read(&self) -> Result<&Arc<Live>> {
        if let Some(catalog) = self.catalog.get() {
            if self.watcher.get().is_none() {
                catalog.refresh_all()?;
            }
            return Ok(catalog);
        }
        let _one = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(catalog) = self.catalog.get() {
            return Ok(catalog);
        }
        let files = Arc::clone(&self.disk) as Arc<dyn crate::files::Files>;
        let built = match self.stays.load(Ordering::Relaxed) && !self.finder.has_saved_text() {
            // Both will be wanted, and reading the vault is a good part of building either.
            true => {
                let gathering = Gathering::new(files, Arc::clone(self.finder.turns()));
                self.finder.text_before(&gathering)?;
                gathering.finish()?
            }
            false => Live::build_in_turn(files, self.finder.turns())?,
        };
        Ok(self.catalog.get_or_init(|| Arc::new(built)))
    }

    /// Saves what the caches have learnt since they were last saved. Whoever ends the program calls this.
    pub fn save(&self) -> Result<()> {
        self.finder_arrears.settle(|paths| self.finder.refresh(paths));
        self.finder.save()
    }

    /// The index and the vectors. Without a watcher, whatever is open is compared with the disk each time.
    pub fn finder(&self) -> Result<&Finder> {
        self.finder_arrears.settle(|paths| self.finder.refresh(paths));
        if self.watcher.get().is_none() {
            self.finder.refresh_all()?;
        }
        Ok(&self.finder)
    }

    /// Keeps the catalog, the index and the vectors fresh from now on, for programs that stay.
    pub fn watch(&self, report: impl Fn(watch::Report) + Send + 'static) -> Result<()> {
        if self.watcher.get().is_some() {
            return Ok(());
        }
        // Whoever watches stays, even where watching fails.
        self.finder.stay();
        self.stays.store(true, Ordering::Relaxed);
        let finder = Arc::clone(&self.finder);
        let report = move |seen: watch::Report| {
            match &seen {
                watch::Report::Refreshed(paths) => finder.refresh(paths),
                // What cannot be compared now is compared again by the next overflow or start.
                watch::Report::RefreshedAll => {
                    finder.refresh_all().ok();
                }
                // What cannot be saved now is saved later, or built again by the next start.
                watch::Report::Quiet => {
                    finder.save().ok();
                }
                watch::Report::Trouble(_) => {}
            }
            report(seen);
        };
        let watcher = Watcher::start(self.disk.root(), Arc::clone(self.catalog()?), report)?;
        self.watcher.set(watcher).ok();
        // Whatever changed between the first reading and the watching.
        self.finder.refresh_all_with(self.catalog()?)?;
        // Searches read the files until it is there. Whoever cannot do without it is told what is wrong with it.
        self.finder.text().ok();
        Ok(())
    }

    /// The audit entries that commits carry, oldest first, of those that took effect.
    pub fn commits_with_notes(&self) -> Vec<(String, serde_json::Value)> {
        const RECENT: usize = 1_000;
        let store = self.store();
        let entries = store.log.entries();
        entries[entries.len().saturating_sub(RECENT)..]
            .iter()
            .filter(|entry| matches!(entry.ending, Some(Ending::Done | Ending::Finished)))
            .filter_map(|entry| Some((entry.checkpoint.id.clone(), entry.checkpoint.note.as_ref()?.value())))
            .collect()
    }

    /// Drops checkpoints once there is enough to drop: a fifth over the size, or a day over the age.
    pub fn collect_if_due(&self, retention: Retention, now_ms: i64) -> Result<Option<Collected>> {
        const DAY_MS: i64 = 24 * 3_600 * 1_000;
        let store = self.store();
        let oldest = store.log.entries().first().map_or(now_ms, |entry| entry.checkpoint.time_ms);
        let too_old = now_ms.saturating_sub(oldest) > retention.age_ms.saturating_add(DAY_MS);
        let too_large = store.log.length()? > retention.bytes.saturating_add(retention.bytes / 5);
        drop(store);
        if too_old || too_large { self.collect(retention, now_ms).map(Some) } else { Ok(None) }
    }

    /// Drops checkpoints that are too old or too many.
    pub fn collect(&self, retention: Retention, now_ms: i64) -> Result<Collected> {
        gc::collect(&mut self.store(), retention, now_ms)
    }

    /// Reads the store and says what is wrong with it.
    pub fn verify(&self, read_data: ReadData) -> Result<Report> {
        gc::verify(&mut self.store(), read_data)
    }

    /// Puts a damaged store aside and starts a new one from what can be read.
    pub fn repair(&self) -> Result<Option<std::path::PathBuf>> {
        gc::repair(&mut self.store())
    }

    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn sights(&self) -> &Sights {
        &self.sights
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }
}

/// Ends interrupted commits and sweeps what they left in the stage. Without either there is nothing to wait for.
fn recover_now(disk: &Disk, store: &mut Store) -> Result<Vec<(String, Ending)>> {
    let interrupted = store.log.entries().last().is_some_and(|entry| entry.ending.is_none());
    let stage = recover::stage(disk, store)?;
    // Where a rename from the stage into the vault was refused, files were staged in the vault itself.
    let in_vault = Stage::in_vault(disk)?;
    let leftovers = stage.has_leftovers() || in_vault.has_leftovers();
    if store.log.damage().is_some() || !(interrupted || leftovers) {
        return Ok(Vec::new());
    }
    let lock = store.lock_handle();
    let _held = store::hold(&lock)?;
    store.log.catch_up()?;
    let ended = recover::finish_interrupted(disk, store)?;
    stage.sweep();
    in_vault.sweep();
    Ok(ended)
}

/// Our data in the vault would be synced, indexed and offered to models.
fn refuse_inside(root: &Path, data: &Path) -> Result<()> {
    if store::lies_in(data, root) {
        return Err(Error::io(
            format!("the data folder {} lies inside the vault", data.display()),
            std::io::Error::other("choose a folder outside of it"),
        ));
    }
    Ok(())
}
