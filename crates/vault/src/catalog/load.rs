//! Reads and parses many files on all cores; the one who asked takes in each as it comes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::info::FileInfo;
use super::intern::Interner;
use crate::files::{Entry, Files};

/// Below this many files a second thread costs more than it brings.
const ALONE: usize = 16;
/// Files that a thread takes, and hands over, at once: each handing over may put a thread to sleep.
const TOGETHER: usize = 64;
/// Such handfuls that may wait to be taken in, so that memory stays flat.
const WAITING: usize = 8;

/// Parses every entry and gives each result to `take`, in no order.
pub(super) fn load(
    files: &dyn Files,
    entries: &[Entry],
    interner: &Interner,
    mut take: impl FnMut(FileInfo),
) {
    let read = |entry: &Entry| FileInfo::read(entry.clone(), interner, |path| files.read(path));
    if entries.len() < ALONE {
        entries.iter().for_each(|entry| take(read(entry)));
        return;
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::sync_channel::<Vec<FileInfo>>(WAITING);
    thread::scope(|scope| {
        for _ in 0..threads() {
            let sender = sender.clone();
            let (next, read) = (&next, &read);
            scope.spawn(move || {
                while let Some(rest) = entries.get(next.fetch_add(TOGETHER, Ordering::Relaxed)..) {
                    let some = &rest[..rest.len().min(TOGETHER)];
                    if some.is_empty() || sender.send(some.iter().map(read).collect()).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        receiver.into_iter().flatten().for_each(take);
    });
}

/// How many threads to use.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get()).min(16)
}
