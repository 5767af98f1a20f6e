//! Which notes hold all of some words, by reading them: for searches that cannot wait for an index.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use regex::bytes::Regex;

use crate::catalog::threads;
use crate::files::Files;
use crate::path::VaultPath;

/// Notes that one thread takes at a time.
const LOT: usize = 64;

/// The notes of `paths` that hold every word in their name or their text, and how many could not be read as text.
/// Ends early, with what it has, when `go_on` says no.
pub fn with_all_words(
    files: &dyn Files,
    paths: &[VaultPath],
    words: &[Regex],
    go_on: &(dyn Fn() -> bool + Sync),
) -> (Vec<VaultPath>, usize) {
    let next = AtomicUsize::new(0);
    let look = || {
        let (mut found, mut unread) = (Vec::new(), 0);
        while go_on() {
            let at = next.fetch_add(LOT, Ordering::Relaxed);
            let Some(lot) = paths.get(at..paths.len().min(at + LOT)).filter(|lot| !lot.is_empty()) else {
                break;
            };
            for path in lot {
                match files.read(path) {
                    Ok(bytes) if holds(path, &bytes, words) => match std::str::from_utf8(&bytes) {
                        Ok(_) => found.push(path.clone()),
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
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads()).map(|_| scope.spawn(look)).collect();
        let mut all = vec![look()];
        all.extend(helpers.into_iter().filter_map(|helper| helper.join().ok()));
        for (some, missed) in all {
            found.extend(some);
            unread += missed;
        }
    });
    found.sort();
    (found, unread)
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
        let mut paths = Vec::new();
        files.walk(&mut |entry| paths.push(entry.path)).unwrap();
        let words: Vec<Regex> =
            ["(?i)tea", "(?i)green"].iter().map(|word| Regex::new(word).unwrap()).collect();
        let found = |go_on: &(dyn Fn() -> bool + Sync)| with_all_words(&files, &paths, &words, go_on).0;
        let names: Vec<String> = found(&|| true).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["Tea.md", "a.md"]);
        assert_eq!(found(&|| false), []);
    }
}
