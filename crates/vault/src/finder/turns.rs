//! Who goes first while the caches are built: somebody who waits for an answer that is read from the files.
//!
//! The build asks for its turn before each file and waits while such a search runs, so that the first search takes as long
//! as if nothing was built. Its patience ends, so that many searches cannot keep the index from ever being there.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::files::{Entry, Files};
use crate::path::{VaultFolder, VaultPath};

/// How long a build waits for others, all in all.
const PATIENCE: Duration = Duration::from_secs(20);

/// Searches that read files, and a build that lets them go first.
#[derive(Debug)]
pub(crate) struct Turns {
    asking: AtomicUsize,
    patience: Mutex<Duration>,
    done: Condvar,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { asking: AtomicUsize::new(0), patience: Mutex::new(PATIENCE), done: Condvar::new() }
    }
}

/// Somebody waits for an answer until this is dropped.
pub(crate) struct Asking<'a>(&'a Turns);

impl Turns {
    /// Goes first from now on.
    pub(crate) fn ask(&self) -> Asking<'_> {
        self.asking.fetch_add(1, Ordering::SeqCst);
        Asking(self)
    }

    /// Waits until nobody asks, or patience is at its end.
    pub(crate) fn wait(&self) {
        if self.asking.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut patience = self.patience.lock().unwrap_or_else(PoisonError::into_inner);
        while self.asking.load(Ordering::SeqCst) > 0 && !patience.is_zero() {
            let (start, longest) = (Instant::now(), *patience);
            let waited = self.done.wait_timeout(patience, longest);
            patience = waited.unwrap_or_else(PoisonError::into_inner).0;
            *patience = patience.saturating_sub(start.elapsed());
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.asking.fetch_sub(1, Ordering::SeqCst);
        // Under the lock: whoever is about to wait has looked before, or looks after this.
        let _patience = self.0.patience.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.done.notify_all();
    }
}

/// Files that are read when it is one's turn.
pub(crate) struct Patient<'a> {
    /// The files.
    pub(crate) files: &'a dyn Files,
    /// Who goes first.
    pub(crate) turns: &'a Turns,
}

impl Files for Patient<'_> {
    fn walk(&self, each: &mut dyn FnMut(Entry)) -> Result<()> {
        self.files.walk(each)
    }

    fn walk_in(&self, folder: &VaultFolder, each: &mut dyn FnMut(Entry)) -> Result<()> {
        self.files.walk_in(folder, each)
    }

    fn read(&self, path: &VaultPath) -> Result<Vec<u8>> {
        self.turns.wait();
        self.files.read(path)
    }

    fn stat(&self, path: &VaultPath) -> Result<Option<Entry>> {
        self.files.stat(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_build_waits_for_a_search_and_goes_on_after_it() {
        let turns = Turns::default();
        turns.wait();
        let answered = AtomicBool::new(false);
        let asking = turns.ask();
        std::thread::scope(|scope| {
            let build = scope.spawn(|| {
                turns.wait();
                answered.load(Ordering::SeqCst)
            });
            std::thread::sleep(Duration::from_millis(20));
            answered.store(true, Ordering::SeqCst);
            drop(asking);
            assert!(build.join().unwrap());
        });
    }

    #[test]
    fn searches_without_end_do_not_keep_a_build_from_going_on() {
        let turns = Turns { patience: Mutex::new(Duration::from_millis(10)), ..Turns::default() };
        let _asking = turns.ask();
        turns.wait();
        assert!(turns.patience.lock().unwrap().is_zero());
    }

    #[test]
    fn a_patient_reader_waits_until_nobody_asks() {
        let files = crate::files::MemoryFiles::parse("a.md: x").unwrap();
        let turns = Turns::default();
        let read = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let asking = turns.ask();
            scope.spawn(|| {
                let patient = Patient { files: &files, turns: &turns };
                patient.read(&VaultPath::parse("a.md").unwrap()).unwrap();
                read.store(true, Ordering::SeqCst);
            });
            std::thread::sleep(Duration::from_millis(30));
            assert!(!read.load(Ordering::SeqCst));
            drop(asking);
        });
        assert!(read.load(Ordering::SeqCst));
    }
}
