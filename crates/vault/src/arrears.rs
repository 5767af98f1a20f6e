//! What the caches have not taken in yet of our own commits. A commit is done when the files and the checkpoint are on disk; the
//! catalog and the index are of use to whoever asks them, so whoever asks them next brings them up to date first.
//!
//! Called by `Vault`. With a watcher the work is mostly done by then, in its thread, and is only compared here.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::path::VaultPath;

/// Paths that were committed and not looked at since.
#[derive(Debug, Default)]
pub(crate) struct Arrears {
    due: Mutex<BTreeSet<VaultPath>>,
    /// Held while caches take something in: whoever asks meanwhile waits for it.
    settling: Mutex<()>,
    any: AtomicBool,
}

impl Arrears {
    /// These were changed.
    pub(crate) fn add(&self, paths: &[VaultPath]) {
        self.due.lock().unwrap_or_else(PoisonError::into_inner).extend(paths.iter().cloned());
        self.any.store(true, Ordering::Release);
    }

    /// Has whatever was changed before this call taken in, by this thread or by another that is at it.
    pub(crate) fn settle(&self, take_in: impl Fn(&[VaultPath])) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let _one_at_a_time = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            if due.is_empty() {
                // Only now: until here, others must wait for what was taken out before.
                self.any.store(false, Ordering::Release);
                return;
            }
            let paths: Vec<VaultPath> = std::mem::take(&mut *due).into_iter().collect();
            drop(due);
            take_in(&paths);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    #[test]
    fn whoever_asks_waits_until_everything_is_taken_in() {
        let (arrears, done) = (Arrears::default(), AtomicUsize::new(0));
        let path = |number: usize| VaultPath::parse(&format!("{number}.md")).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (arrears, done) = (&arrears, &done);
                scope.spawn(move || {
                    for round in 0..50 {
                        arrears.add(&[path(thread * 1000 + round)]);
                        arrears.settle(|paths| {
                            std::thread::sleep(Duration::from_micros(50));
                            done.fetch_add(paths.len(), Ordering::SeqCst);
                        });
                        assert!(done.load(Ordering::SeqCst) > round, "at least our own are in");
                    }
                });
            }
        });
        assert_eq!(done.load(Ordering::SeqCst), 200);
        arrears.settle(|_| panic!("nothing is left"));
    }
}
