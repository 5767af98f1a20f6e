//! What Verger keeps about a vault, outside of it: one append-only log that is journal, checkpoint store and
//! undo history at once, and the lock that makes commits of several processes take turns.
//!
//! Called by `commit.rs` and `Vault`. Deliberately not here: the vault's own files (`disk.rs`) and what a
//! restore means (`restore.rs`). A record is durable before the first vault byte changes, so after a crash the
//! log says what was about to happen and holds the bytes of both sides.

pub mod blob;
pub mod gc;
pub mod index;
pub(crate) mod index_map;
pub mod log;
pub mod record;
pub mod vectors;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};

/// A disk is quick that syncs two files in this time: on one in memory it takes a few microseconds, and most of the time goes
/// into starting the thread that syncs the second file.
const QUICK_NS: u64 = 200_000;

/// The folder in which one vault's log lies.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    lock: Arc<File>,
    /// How long the last sync of one file and the log took, in nanoseconds.
    sync_ns: AtomicU64,
    /// The log as far as it has been read.
    pub log: log::Log,
}

/// Proof that no other process commits; given back when dropped.
#[derive(Debug)]
pub struct Held<'s> {
    lock: &'s File,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Closing the file would release it as well; nothing can be done about a failure here.
        self.lock.unlock().ok();
    }
}

impl Store {
    /// Opens the store in `folder`, making it if need be.
    #[expect(clippy::disallowed_methods, reason = "the store's own folder, outside the vault")]
    pub fn open(folder: &Path) -> Result<Store> {
        let cannot =
            |error| Error::io(format!("cannot open the checkpoint store {}", folder.display()), error);
        std::fs::create_dir_all(folder.join("stage")).map_err(cannot)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join("lock"))
            .map_err(cannot)?;
        let log = log::Log::open(&folder.join("checkpoints.log"))?;
        if log.length()? == 0 {
            // A log whose name is lost in a power cut is a lost log, however well its bytes were synced.
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(cannot)?;
        }
        Ok(Store { folder: folder.to_owned(), lock: Arc::new(lock), sync_ns: AtomicU64::new(u64::MAX), log })
    }

    /// Where staged files wait.
    pub fn stage(&self) -> PathBuf {
        self.folder.join("stage")
    }

    /// The store's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the disk syncs in less time than a thread takes to start.
    pub(crate) fn syncs_quickly(&self) -> bool {
        self.sync_ns.load(Ordering::Relaxed) < QUICK_NS
    }

    /// So long it took this time.
    pub(crate) fn synced_in(&self, time: Duration) {
        self.sync_ns.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The lock file, to hold while the store itself is changed.
    pub fn lock_handle(&self) -> Arc<File> {
        Arc::clone(&self.lock)
    }
}

/// Whether `folder`, which need not be there yet, lies in `root` or is it, by whatever links and dots it is named.
#[expect(clippy::disallowed_methods, reason = "the store's own folder, before anything is made in it")]
pub(crate) fn lies_in(folder: &Path, root: &Path) -> bool {
    let Ok(root) = root.canonicalize() else { return folder.starts_with(root) };
    // What is not there yet will be made below the nearest folder that is.
    let nearest = folder.ancestors().find_map(|above| {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        above.canonicalize().ok()
    });
    nearest.is_some_and(|above| above.starts_with(&root))
}

/// Waits until no other process commits. The kernel releases the lock of a process that died.
pub fn hold(lock: &File) -> Result<Held<'_>> {
    lock.lock().map_err(|error| Error::io("cannot lock the vault", error))?;
    Ok(Held { lock })
}
