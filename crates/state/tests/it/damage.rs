//! Damaged files: an error with a way out, or the right data. Never a panic, never a changed sentence, never a reset.

use std::path::Path;

use state::{Error, Filter, Found, Header, SearchHistory, Sessions, Step};

use super::rig::{Random, new, says};

/// All that can be read.
#[derive(Debug, PartialEq)]
struct Everything {
    list: Vec<Header>,
    steps: Vec<Vec<Step>>,
    found: Vec<Found>,
    found_in_one: Vec<Found>,
}

/// In memory where that can be had: thousands of files are written, and none has to last.
fn room() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn everything(file: &Path) -> Result<Everything, Error> {
    let sessions = Sessions::open(file)?;
    let list = sessions.list(&Filter { include_children: true, limit: 1_000, text: None })?;
    // By the known names too, not only by those that the list still has.
    let ids = (0..SESSIONS).map(|number| format!("session-{number}"));
    let steps = ids.map(|id| sessions.steps(&id)).collect::<Result<_, _>>()?;
    let query = SearchHistory { text: "Needle".into(), limit: 30, ..SearchHistory::default() };
    let found = sessions.search(&query)?;
    let found_in_one = sessions.search(&SearchHistory { session: Some("session-3".into()), ..query })?;
    Ok(Everything { list, steps, found, found_in_one })
}

const SESSIONS: u64 = 12;

/// A closed file with some conversations, and what is in it.
fn sound(folder: &Path) -> (Vec<u8>, Everything) {
    let file = folder.join("sound.db");
    let sessions = Sessions::open(&file).unwrap();
    let mut random = Random(7);
    for number in 0..SESSIONS {
        let id = format!("session-{number}");
        let parent = (number % 4 == 3).then(|| format!("session-{}", number - 1));
        let title = Some(format!("Title {number}"));
        sessions.create(&state::NewSession { parent, title, ..new(&id, number as i64) }).unwrap();
        for step in 0..8 {
            let words = "words and more words ".repeat(random.below(20) as usize);
            let needle = if step == 4 { "needle" } else { "hay" };
            let text = format!("{words}{needle} {number} {step}");
            let time = (100 + random.below(1_000)) as i64;
            sessions.append(&id, &[says("user", &text)], time).unwrap();
        }
    }
    sessions.delete("session-8", 2_000).unwrap();
    sessions.create(&new("session-8", 2_000)).unwrap();
    drop(sessions);
    assert!(!folder.join("sound.db-wal").exists(), "closed, so all of it is in the file");
    let all = everything(&file).unwrap();
    (std::fs::read(&file).unwrap(), all)
}

/// Reads and writes a damaged copy; what was read, if it could be.
fn look(folder: &Path, bytes: &[u8]) -> Result<Everything, Error> {
    let file = folder.join("damaged.db");
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(folder.join(format!("damaged.db{ending}"))).ok();
    }
    std::fs::write(&file, bytes).unwrap();
    let read = everything(&file);
    if let Ok(sessions) = Sessions::open(&file) {
        // None of this may panic; what it answers depends on where the damage is.
        let checked = sessions.check();
        if let (Err(Error::Damaged { .. }), Ok(checked)) = (&read, &checked) {
            assert!(!checked.problems.is_empty(), "a check must find what reading finds: {read:?}");
        }
        sessions.append("session-1", &[says("user", "after")], 9_000).ok();
        sessions.fork("session-2", None, &new("fork", 9_000)).ok();
        sessions.delete("session-3", 9_000).ok();
    }
    read
}

#[track_caller]
fn judge(read: Result<Everything, Error>, sound: &Everything, what: &str) -> bool {
    match read {
        Ok(read) => {
            assert!(read == *sound, "{what}: other data was read");
            true
        }
        Err(Error::Damaged { .. } | Error::TooNew { .. } | Error::Io { .. }) => false,
        Err(other) => panic!("{what}: {other:?}"),
    }
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_nothing_that_is_read() {
    let folder = room();
    let (bytes, all) = sound(folder.path());
    let mut random = Random(0xb17f);
    let long = std::env::var_os("VERGER_LONG").is_some();
    let mut noticed = 0;
    let tries = if long { bytes.len() as u64 } else { 1_200 };
    for number in 0..tries {
        // The first bytes of the file and of some pages are all tried: they say how everything else is read.
        let at = match number {
            _ if long => number as usize,
            0..=199 => number as usize,
            200..=599 => (number as usize / 16 % (bytes.len() / 4096)) * 4096 + number as usize % 16,
            _ => random.below(bytes.len() as u64) as usize,
        };
        let bit = random.below(8);
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << bit;
        noticed += u64::from(!judge(look(folder.path(), &damaged), &all, &format!("byte {at}, bit {bit}")));
    }
    println!("{tries} flips in {} bytes, {noticed} noticed, the others changed nothing", bytes.len());
    assert!(noticed > tries / 4, "the damage was not where the data is: {noticed} of {tries}");
}

#[test]
fn a_file_that_is_cut_off_or_has_other_pages_is_an_error() {
    let folder = room();
    let (bytes, all) = sound(folder.path());
    for length in (1..bytes.len()).step_by(1_733) {
        let sound = judge(look(folder.path(), &bytes[..length]), &all, &format!("{length} bytes"));
        assert!(!sound, "{length} of {} bytes cannot be enough", bytes.len());
    }
    for page in 0..bytes.len() / 4096 {
        for other in [vec![0_u8; 4096], vec![0xff; 4096], bytes[..4096].to_vec()] {
            let mut damaged = bytes.clone();
            damaged[page * 4096..(page + 1) * 4096].copy_from_slice(&other);
            if damaged != bytes {
                judge(look(folder.path(), &damaged), &all, &format!("page {page}"));
            }
        }
    }
    // Two pages change places: each is sound, and both are wrong.
    for (one, other) in [(1, 2), (2, 5), (4, 7), (3, 8)] {
        let mut damaged = bytes.clone();
        for at in 0..4096 {
            damaged.swap(one * 4096 + at, other * 4096 + at);
        }
        judge(look(folder.path(), &damaged), &all, &format!("pages {one} and {other}"));
    }
}

#[test]
fn a_log_without_its_file_is_not_thrown_away() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    let log = folder.path().join("state.db-wal");
    for emptied in [true, false] {
        let sessions = Sessions::open(&file).unwrap();
        sessions.create(&new("s", 1)).unwrap();
        let kept = std::fs::read(&log).unwrap();
        drop(sessions);
        if emptied {
            std::fs::write(&file, b"").unwrap()
        } else {
            std::fs::remove_file(&file).unwrap()
        }
        std::fs::write(&log, &kept).unwrap();
        assert_eq!(Sessions::open(&file).unwrap_err().code(), "state_damaged");
        assert_eq!(std::fs::read(&log).unwrap(), kept);
        std::fs::remove_file(&log).unwrap();
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_changed_sentence_is_never_given_out() {
    let folder = room();
    let (bytes, _) = sound(folder.path());
    let text = b"needle 5 4";
    let places: Vec<usize> =
        (0..bytes.len() - text.len()).filter(|at| &bytes[*at..at + text.len()] == text).collect();
    assert_eq!(places.len(), 2, "in the step and in what search finds");
    for at in places {
        let mut damaged = bytes.clone();
        damaged[at] = b'N';
        let read = look(folder.path(), &damaged);
        assert!(matches!(read, Err(Error::Damaged { .. })), "{read:?}");
    }
}

#[test]
fn what_is_not_ours_or_newer_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    for bytes in [&b"not a database, but a note that somebody put here"[..], &[0xff; 9_000], &[0; 4096]] {
        std::fs::write(&file, bytes).unwrap();
        let error = Sessions::open(&file).unwrap_err();
        assert_eq!(error.code(), "state_damaged", "{error:?}");
        assert!(error.hint().starts_with("move it away"), "{}", error.hint());
        assert!(error.hint().contains(&file.display().to_string()), "{}", error.hint());
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "never a silent reset");
        std::fs::remove_file(&file).unwrap();
    }
    let database = |statements: &str| {
        rusqlite::Connection::open(&file).unwrap().execute_batch(statements).unwrap();
        let before = std::fs::read(&file).unwrap();
        let error = Sessions::open(&file).unwrap_err();
        assert_eq!(std::fs::read(&file).unwrap(), before);
        std::fs::remove_file(&file).unwrap();
        error
    };
    assert_eq!(database("CREATE TABLE theirs (x)").code(), "state_damaged");
    drop(Sessions::open(&file).unwrap());
    let newer = database("PRAGMA user_version=2");
    assert_eq!(newer, Error::TooNew { path: file.clone(), found: 2, known: 1 });
    assert!(newer.hint().starts_with("use the newer Verger"));
    drop(Sessions::open(&file).unwrap());
    assert_eq!(database("DROP INDEX said_by_time").code(), "state_damaged");
    // An empty file is what a process leaves that was killed while it made one.
    std::fs::write(&file, b"").unwrap();
    assert!(Sessions::open(&file).is_ok());
}
