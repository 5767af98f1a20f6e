//! Which notes hold all of some words, by reading them: for searches that cannot wait for an index.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use regex::bytes::Regex;

use crate::catalog::threads;
use crate::error::Result;
use crate::files::Files;
use crate::path::VaultPath;

/// Notes that one thread takes at a time.
const LOT: usize = 64;

/// The notes that hold every word in their name or their text, and how many could not be read as text. `walk` names them
/// one by one; they are read while it goes on. Ends early, with what it has, when `go_on` says no.
pub fn with_all_words(
    files: &dyn Files,
    walk: impl FnOnce(&mut dyn FnMut(VaultPath)) -> Result<()>,
    words: &[Regex],
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<(Vec<VaultPath>, usize)> {
    let lots = Lots::default();
    let look = || {
        let (mut found, mut unread) = (Vec::new(), 0);
        while let Some(lot) = lots.take().filter(|_| go_on()) {
            for path in lot {
                match files.read(&path) {
                    Ok(bytes) if holds(&path, &bytes, words) => match std::str::from_utf8(&bytes) {
                        Ok(_) => found.push(path),
                        Err(_) => unread += 1,
                    },
                    Ok(_) => {}
                    Err(_) => unread += 1,
                }
            }
        }
        (found, unread)
    };
    let (mut found, mut unread) = (Vec::new(), 0);
    let walked = thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads()).map(|_| scope.spawn(look)).collect();
        let mut lot = Vec::with_capacity(LOT);
        let walked = walk(&mut |path| {
            lot.push(path);
            if lot.len() == LOT {
                lots.put(std::mem::replace(&mut lot, Vec::with_capacity(LOT)));
            }
        });
        lots.put(lot);
        lots.end();
        let mut all = vec![look()];
        all.extend(helpers.into_iter().filter_map(|helper| helper.join().ok()));
        for (some, missed) in all {
            found.extend(some);
            unread += missed;
        }
        walked
    });
    found.sort();
    walked.map(|()| (found, unread))
}

/// Notes on their way from the walk to those who read them.
#[derive(Default)]
struct Lots {
    waiting: Mutex<Waiting>,
    more: Condvar,
}

#[derive(Default)]
struct Waiting {
    lots: Vec<Vec<VaultPath>>,
    all: bool,
}

impl Lots {
    fn put(&self, lot: Vec<VaultPath>) {
        self.waiting().lots.push(lot);
        self.more.notify_one();
    }

    /// No more will come.
    fn end(&self) {
        self.waiting().all = true;
        self.more.notify_all();
    }

    /// The next ones; waits for them until there are no more.
    fn take(&self) -> Option<Vec<VaultPath>> {
        let mut waiting = self.waiting();
        loop {
            match waiting.lots.pop() {
                Some(lot) => return Some(lot),
                None if waiting.all => return None,
                None => waiting = self.more.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn holds(path: &VaultPath, bytes: &[u8], words: &[Regex]) -> bool {
    words.iter().all(|word| word.is_match(bytes) || word.is_match(path.stem().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    #[test]
    fn every_word_must_be_in_the_name_or_the_text() {
        let files =
            MemoryFiles::parse("Tea.md: green\n--- a.md: green TEA\n--- b.md: tea\n--- c.md: x").unwrap();
        let words: Vec<Regex> =
            ["(?i)tea", "(?i)green"].iter().map(|word| Regex::new(word).unwrap()).collect();
        let found = |go_on: &(dyn Fn() -> bool + Sync)| {
            let walk = |each: &mut dyn FnMut(VaultPath)| files.walk(&mut |entry| each(entry.path));
            with_all_words(&files, walk, &words, go_on).unwrap().0
        };
        let names: Vec<String> = found(&|| true).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["Tea.md", "a.md"]);
        assert_eq!(found(&|| false), []);
    }

    #[test]
    fn many_notes_are_read_while_the_walk_goes_on_and_none_is_lost() {
        let files = MemoryFiles::default();
        for number in 0..1_000 {
            let path = VaultPath::parse(&format!("n{number:04}.md")).unwrap();
            files.write(&path, if number % 3 == 0 { "green tea" } else { "green" });
        }
        let words = [Regex::new("tea").unwrap()];
        let walk = |each: &mut dyn FnMut(VaultPath)| files.walk(&mut |entry| each(entry.path));
        let (found, unread) = with_all_words(&files, walk, &words, &|| true).unwrap();
        assert_eq!((found.len(), unread), (334, 0));
        assert!(found.is_sorted());
        let broken = |each: &mut dyn FnMut(VaultPath)| {
            files.walk(&mut |entry| each(entry.path))?;
            Err(crate::error::Error::io("cannot list", std::io::ErrorKind::Other))
        };
        assert!(with_all_words(&files, broken, &words, &|| true).is_err(), "half of the notes are no answer");
    }
}
