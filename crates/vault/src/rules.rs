//! The vault's own rules, kept between calls. Every call asks for them, and they hardly ever change: so the rule files are
//! looked at each time, and read only when one of them is not the file that was read before.
//!
//! Called by `Vault::rules`. Deliberately not here: what a rule means (`policy.rs`). A change made outside holds from the
//! very next call on: `a_rule_that_changes_holds_at_once`.

pub(crate) mod write;

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::{Disk, State};
use crate::error::{Error, Result};
use crate::path::VaultPath;
use crate::policy::{IGNORE_FILES, PROTECT_FILES, Rules};

/// Rule files are small; a larger one is a mistake.
const LARGEST_RULES: u64 = 1024 * 1024;
/// A file may change twice without a new time: clocks of file systems tick slowly, the slowest every two seconds. So only what
/// was read this long after the file was first seen as it is now is kept.
const SETTLED: Duration = Duration::from_secs(3);

/// The rules as they were last read.
#[derive(Debug, Default)]
pub(crate) struct RuleBook(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    seen: Vec<Option<State>>,
    since: Instant,
    rules: Arc<Rules>,
    settled: bool,
}

impl RuleBook {
    /// The rules as the files say now.
    pub(crate) fn rules(&self, disk: &Disk) -> Result<Arc<Rules>> {
        self.rules_at(disk, Instant::now())
    }

    fn rules_at(&self, disk: &Disk, now: Instant) -> Result<Arc<Rules>> {
        // Before they are read: what changes in between looks changed the next time.
        let Some(seen) = glances(disk)? else { return read_rules(disk).map(Arc::new) };
        let mut since = now;
        if let Some(known) = &*self.known()
            && known.seen == seen
        {
            if known.settled {
                return Ok(Arc::clone(&known.rules));
            }
            since = known.since;
        }
        let rules = Arc::new(read_rules(disk)?);
        // A file that is not there can only come, and that is seen.
        let settled = seen.iter().all(Option::is_none) || now.saturating_duration_since(since) >= SETTLED;
        *self.known() = Some(Known { seen, since, rules: Arc::clone(&rules), settled });
        Ok(rules)
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What lies where rule files lie; none where that cannot be told.
fn glances(disk: &Disk) -> Result<Option<Vec<Option<State>>>> {
    let (ignore, protect) = rule_files()?;
    Ok(ignore.iter().chain(protect).map(|file| disk.glance(file).ok()).collect())
}

/// The vault's own rules, read now.
pub(crate) fn read_rules(disk: &Disk) -> Result<Rules> {
    let read = |files: &'static [VaultPath]| -> Result<Vec<(&'static str, String)>> {
        let texts = files.iter().filter_map(|file| Some((file.as_str(), rule_file(disk, file).transpose()?)));
        texts.map(|(name, text)| Ok((name, text?))).collect()
    };
    let (ignore, protect) = rule_files()?;
    Rules::parse(&read(ignore)?, &read(protect)?)
}

/// A rule file that is there but cannot be read refuses everything: the rules are unknown, not absent.
fn rule_file(disk: &Disk, path: &VaultPath) -> Result<Option<String>> {
    let name = path.as_str();
    match disk.read_up_to(path, LARGEST_RULES) {
        Ok((bytes, _)) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(unreadable_rules(name, "it is not text")),
        },
        Err(Error::Missing { .. } | Error::NotAFolder { .. }) => Ok(None),
        Err(error) => Err(unreadable_rules(name, &error.to_string())),
    }
}

/// The rule files as paths, made once: every call asks for the rules.
fn rule_files() -> Result<(&'static [VaultPath], &'static [VaultPath])> {
    static FILES: LazyLock<Result<[Vec<VaultPath>; 2]>> = LazyLock::new(|| {
        let parse = |name: &&str| {
            VaultPath::parse(name).map_err(|error| Error::Path { text: (*name).to_owned(), error })
        };
        let all = |names: [&str; 3]| names.iter().map(parse).collect::<Result<Vec<_>>>();
        Ok([all(IGNORE_FILES)?, all(PROTECT_FILES)?])
    });
    match &*FILES {
        Ok([ignore, protect]) => Ok((ignore, protect)),
        Err(error) => Err(unreadable_rules("the rule files", &error.to_string())),
    }
}

fn unreadable_rules(name: &str, detail: &str) -> Error {
    Error::Damaged {
        what: format!("the rule file `{name}`"),
        detail: format!("{detail}; mend it, nothing may be read or written until then"),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests change rule files from outside")]

    use super::*;
    use crate::policy::{Limits, Scope};
    use std::path::Path;

    /// Whether `a/b.md` is hidden, asked as often as it takes until the rules are kept.
    fn hidden(book: &RuleBook, disk: &Disk) -> bool {
        let path = VaultPath::parse("a/b.md").unwrap();
        let start = Instant::now();
        let answers = [0, 3, 3].map(|seconds| {
            let rules = book.rules_at(disk, start + Duration::from_secs(seconds)).unwrap();
            !Scope::new(Limits::default(), rules).may_read(&path)
        });
        assert!(book.known().as_ref().unwrap().settled);
        assert_eq!(answers, [answers[0]; 3]);
        answers[0]
    }

    fn replace(file: &Path, text: &str) {
        let beside = file.with_extension("new");
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(&beside, file).unwrap();
    }

    #[test]
    fn a_rule_that_changes_holds_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, book) = (Disk::open(folder.path()).unwrap(), RuleBook::default());
        let (old, new) = (folder.path().join(".vergerignore"), folder.path().join(".verger/ignore"));
        assert!(!hidden(&book, &disk), "no rules");
        std::fs::write(&old, "a/\n").unwrap();
        assert!(hidden(&book, &disk), "a rule file appeared");
        replace(&old, "b/\n");
        assert!(!hidden(&book, &disk), "another file of the same length took its place");
        std::fs::create_dir(folder.path().join(".verger")).unwrap();
        replace(&new, "a/\n");
        assert!(hidden(&book, &disk), "a second one appeared");
        std::fs::rename(folder.path().join(".verger"), folder.path().join("aside")).unwrap();
        assert!(!hidden(&book, &disk), "and went");
        std::fs::write(&old, [0xff]).unwrap();
        assert!(book.rules(&disk).is_err(), "what cannot be read refuses");
        assert!(book.rules(&disk).is_err(), "as long as it cannot be read");
        std::fs::remove_file(&old).unwrap();
        assert!(!hidden(&book, &disk), "and ends with it");
    }

    #[test]
    fn a_time_of_change_that_is_set_back_hides_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, book) = (Disk::open(folder.path()).unwrap(), RuleBook::default());
        let file = folder.path().join(".vergerignore");
        std::fs::write(&file, "b/\n").unwrap();
        let time = std::fs::metadata(&file).unwrap().modified().unwrap();
        assert!(!hidden(&book, &disk));
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&file, "a/\n").unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        assert!(hidden(&book, &disk));
    }

    #[test]
    fn rules_that_did_not_change_are_read_once_and_young_ones_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, book) = (Disk::open(folder.path()).unwrap(), RuleBook::default());
        std::fs::write(folder.path().join(".vergerignore"), "a/\n").unwrap();
        let start = Instant::now();
        let read =
            [0, 2, 3, 4].map(|second| book.rules_at(&disk, start + Duration::from_secs(second)).unwrap());
        let kept: Vec<bool> = read.windows(2).map(|pair| Arc::ptr_eq(&pair[0], &pair[1])).collect();
        assert_eq!(kept, [false, false, true], "its time may not have moved on since it was written");
        let (none, empty) = (tempfile::tempdir().unwrap(), RuleBook::default());
        let disk = Disk::open(none.path()).unwrap();
        assert!(Arc::ptr_eq(&empty.rules(&disk).unwrap(), &empty.rules(&disk).unwrap()));
    }
}
