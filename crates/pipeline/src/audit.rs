//! The audit: one JSON line for every outcome, refusals and denials too. Lines are chained by hash, so that a line
//! that was changed, removed or put in later is found. Secrets and note text are not in it.
//!
//! The line of an edit is also kept in the checkpoint's record, which is on disk before the vault changes: a process
//! that dies between the commit and this file loses nothing, the next start writes the line ([`Audit::catch_up`]).

mod lines;

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::refusal::Refusal;

pub use lines::{Brief, Span};

/// What happened, for the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// RFC 3339, UTC.
    pub time: String,
    /// The task.
    pub task: String,
    /// Who acted.
    pub agent: String,
    /// The caller's own name for this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The tool.
    pub tool: String,
    /// How it ended.
    pub outcome: Ended,
    /// The reason code of a refusal or denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who approved or denied, and for how long: `once by terminal`, `grant 1a2b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// The checkpoint from which it can be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The paths that were to be written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Bytes before and after, all files together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(u64, u64)>,
    /// The input without text and secrets.
    pub input: Value,
    /// How long it took.
    pub milliseconds: u64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// With an answer.
    Answered,
    /// With changes on disk, or an action done.
    Done,
    /// With a word to the loop.
    Steered,
    /// Shown, not carried out (a dry run).
    Shown,
    /// Refused by a rule.
    Refused,
    /// Denied by whoever decides.
    Denied,
    /// Tried, and failed.
    Failed,
    /// An action begins; how it ended is in a later line, or in none if the process died.
    Started,
}

/// A line as it stands in the file: [`Entry`] with the two hashes behind it.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(flatten)]
    entry: Entry,
    prev: String,
    hash: String,
}

/// The audit file of one vault.
#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    tail: Mutex<Tail>,
}

/// Where the file ended when we last looked, and the last line's hash.
#[derive(Debug)]
struct Tail {
    file: File,
    /// Which file it is: device and number.
    identity: (u64, u64),
    /// Mode, user and group when the file was last found to be writable.
    writable: Option<(u32, u32, u32)>,
    length: u64,
    hash: String,
}

impl Tail {
    fn open(path: &Path) -> std::io::Result<Tail> {
        let file = open_file(path)?;
        let data = file.metadata()?;
        Ok(Tail {
            identity: (data.dev(), data.ino()),
            file,
            writable: None,
            length: u64::MAX,
            hash: FIRST.to_owned(),
        })
    }
}

const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

impl Audit {
    /// Opens the audit file, making it if need be.
    pub fn open(path: &Path) -> Result<Audit, Refusal> {
        let tail = Tail::open(path).map_err(|error| unusable(path, &error))?;
        Ok(Audit { path: path.to_owned(), tail: Mutex::new(tail) })
    }

    /// Whether a line could be written now. The road asks before it does anything.
    pub fn ready(&self) -> Result<(), Refusal> {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let now = rustix::fs::stat(&self.path).map_err(|error| unusable(&self.path, &error.into()))?;
        if (now.st_dev, now.st_ino) != tail.identity {
            // Somebody put the file aside; lines must not go where nobody looks.
            *tail = Tail::open(&self.path).map_err(|error| unusable(&self.path, &error))?;
        }
        // Whether it may be written depends on these three; a file system that turned read-only says so at the write.
        let rights = Some((now.st_mode, now.st_uid, now.st_gid));
        if tail.writable == rights {
            return Ok(());
        }
        if rustix::fs::access(&self.path, rustix::fs::Access::WRITE_OK).is_err() {
            tail.writable = None;
            return Err(unusable(&self.path, &std::io::Error::from(std::io::ErrorKind::PermissionDenied)));
        }
        tail.writable = rights;
        Ok(())
    }

    /// Appends a line. Several processes take turns.
    pub fn append(&self, entry: Entry) -> Result<(), Refusal> {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.file.lock().map_err(|error| unusable(&self.path, &error))?;
        let written = write_line(&mut tail, &entry);
        tail.file.unlock().ok();
        written.map_err(|error| unusable(&self.path, &error))
    }

    /// Appends a line and returns when it is on disk: for what cannot be taken back once it is begun.
    pub fn append_durably(&self, entry: Entry) -> Result<(), Refusal> {
        self.append(entry)?;
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.file.sync_data().map_err(|error| unusable(&self.path, &error))
    }

    /// The hash of the last line now. A commit keeps it, so that lines which were cut off later are missed.
    pub fn last_hash(&self) -> Option<String> {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let length = tail.file.metadata().ok()?.len();
        if length != tail.length {
            tail.hash = last_hash(&tail.file, length).ok()?;
            // A line that was cut off is left for the next write to see.
            if !ends_cut_off(&tail.file, length).ok()? {
                tail.length = length;
            }
        }
        Some(tail.hash.clone()).filter(|hash| hash != FIRST)
    }

    /// Writes the lines of commits whose process died before it could. Returns how many.
    pub fn catch_up(&self, commits: impl Iterator<Item = (String, Value)>) -> Result<usize, Refusal> {
        let (text, whole) = self.recent()?;
        let mut written = HashSet::new();
        let mut since = None;
        for line in text.lines() {
            // Parsed, because the input of another call may name a checkpoint too; only where it can matter.
            if since.is_some() && !line.contains("\"checkpoint\":\"") {
                continue;
            }
            let Ok(entry) = serde_json::from_str::<Entry>(line) else { continue };
            since = since.or_else(|| moment(&entry));
            written.extend(entry.checkpoint);
        }
        let mut count = 0;
        for (id, note) in commits {
            let Ok(entry) = serde_json::from_value::<Entry>(note) else { continue };
            // The line of a commit that is older than what was read lies further up in the file.
            let further_up = !whole && moment(&entry) < since;
            if !further_up && !written.contains(&id) {
                self.append(entry)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// The end of the file, enough for the commits that could be missing, and whether that is all of it.
    fn recent(&self) -> Result<(String, bool), Refusal> {
        const ENOUGH: u64 = 4 * 1024 * 1024;
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = &tail.file;
        let read = |file: &mut &File| -> std::io::Result<(Vec<u8>, bool)> {
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(ENOUGH)))?;
            let mut bytes = Vec::new();
            file.take(ENOUGH).read_to_end(&mut bytes)?;
            Ok((bytes, length <= ENOUGH))
        };
        let (bytes, whole) = read(&mut file).map_err(|error| unusable(&self.path, &error))?;
        Ok((String::from_utf8_lossy(&bytes).into_owned(), whole))
    }

    /// The last entries, newest last.
    pub fn last(&self, count: usize) -> Result<Vec<Entry>, Refusal> {
        let text = self.read_all()?;
        let lines: Vec<&str> = text.lines().collect();
        let entries =
            lines.iter().rev().filter_map(|line| serde_json::from_str::<Entry>(line).ok()).take(count);
        let mut entries: Vec<Entry> = entries.collect();
        entries.reverse();
        Ok(entries)
    }

    /// Reads the whole chain and says what is wrong with it, line by line.
    pub fn verify(&self) -> Result<Verified, Refusal> {
        let text = self.read_all()?;
        let mut report = Verified::default();
        let mut prev = FIRST.to_owned();
        for (index, text) in text.lines().enumerate() {
            report.lines += 1;
            let number = index + 1;
            match serde_json::from_str::<Line>(text) {
                Err(error) => report.problems.push(format!("audit: line {number} cannot be read: {error}")),
                Ok(line) => {
                    if line.prev != prev {
                        report
                            .problems
                            .push(format!("audit: line {number} does not follow from the line before it"));
                    }
                    if line.hash != chain(&line.prev, &serde_json::to_vec(&line.entry).unwrap_or_default()) {
                        report.problems.push(format!("audit: line {number} was changed"));
                    }
                    prev.clone_from(&line.hash);
                    report.hashes.insert(line.hash);
                }
            }
        }
        if !text.is_empty() && !text.ends_with('\n') {
            report.problems.push("audit: the last line is cut off; the next write puts it right".to_owned());
        }
        Ok(report)
    }

    #[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
    fn read_all(&self) -> Result<String, Refusal> {
        let bytes = std::fs::read(&self.path).map_err(|error| unusable(&self.path, &error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What `verify` found.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Lines read.
    pub lines: usize,
    /// What is wrong.
    pub problems: Vec<String>,
    /// The hashes of all lines.
    #[serde(skip)]
    pub hashes: HashSet<String>,
}

fn write_line(tail: &mut Tail, entry: &Entry) -> std::io::Result<()> {
    let length = tail.file.metadata()?.len();
    let mut text = Vec::with_capacity(1024);
    if length != tail.length {
        // Somebody else wrote, or nobody yet: what stands at the end is not known.
        tail.hash = last_hash(&tail.file, length)?;
        if ends_cut_off(&tail.file, length)? {
            text.push(b'\n');
        }
    }
    let start = text.len();
    serde_json::to_writer(&mut text, entry)?;
    let hash = chain(&tail.hash, &text[start..]);
    text.pop();
    for part in [",\"prev\":\"", &tail.hash, "\",\"hash\":\"", &hash, "\"}\n"] {
        text.extend_from_slice(part.as_bytes());
    }
    if let Err(error) = tail.file.write_all_at(&text, length) {
        // Half a line would look like tampering; cut it off again and forget what we knew.
        tail.file.set_len(length).ok();
        tail.length = u64::MAX;
        return Err(error);
    }
    tail.hash = hash;
    tail.length = length + text.len() as u64;
    Ok(())
}

fn moment(entry: &Entry) -> Option<jiff::Timestamp> {
    entry.time.parse().ok()
}

fn ends_cut_off(mut file: &File, length: u64) -> std::io::Result<bool> {
    if length == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// The hash of the last whole line; other processes may have written since.
fn last_hash(mut file: &File, length: u64) -> std::io::Result<String> {
    let mut window: u64 = 64 * 1024;
    loop {
        let start = length.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(length - start).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let whole = if start == 0 { &text[..] } else { text.split_once('\n').map_or("", |(_, rest)| rest) };
        let last = whole.lines().rev().find_map(|line| serde_json::from_str::<Line>(line).ok());
        match last {
            Some(line) => return Ok(line.hash),
            None if start == 0 => return Ok(FIRST.to_owned()),
            None => window *= 8,
        }
    }
}

/// The hash of a line: of the one before it and of the entry as it is written.
fn chain(prev: &str, entry: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(prev.as_bytes()).update(entry);
    hex(hasher.finalize().as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
fn open_file(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    File::options().create(true).truncate(false).read(true).write(true).open(path)
}

fn unusable(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(
        "audit_unavailable",
        format!("the audit cannot be written: {error}"),
        format!("nothing runs without it; check {}", path.display()),
    )
}

/// The input as it may be written down: paths, numbers and choices; other texts only by their length.
pub fn redact(input: &Value) -> Value {
    redact_below(input, "", 0)
}

/// Keys whose values name a thing and are not a text that somebody wrote.
const NAMES: [&str; 28] = [
    "path",
    "paths",
    "source",
    "destination",
    "from",
    "to",
    "folder",
    "output_path",
    "files",
    "id",
    "checkpoint",
    "commitOid",
    "task",
    "taskId",
    "mode",
    "direction",
    "match",
    "operation",
    "type",
    "scope",
    "period",
    "date",
    "format",
    "action",
    "server",
    "server_name",
    "server_id",
    "tool_name",
];
const DEEPEST: usize = 4;

fn redact_below(value: &Value, key: &str, depth: usize) -> Value {
    match value {
        _ if depth > DEEPEST => Value::String("[…]".to_owned()),
        Value::String(text) if NAMES.contains(&key) => Value::String(scrub(text)),
        Value::String(text) => Value::String(format!("[{} chars]", text.chars().count())),
        Value::Array(list) => {
            Value::Array(list.iter().map(|item| redact_below(item, key, depth + 1)).collect())
        }
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (scrub(key), redact_below(value, key, depth + 1)))
                .collect::<Map<_, _>>(),
        ),
        // Read back, a fraction may differ in its last digit, and the line would look changed.
        Value::Number(number) if number.is_f64() => Value::String(number.to_string()),
        other => other.clone(),
    }
}

/// What every secret that we know begins with, in small letters. Without one of them there is nothing to look for, and
/// most names have none.
const SIGNS: [&str; 8] = ["bearer", "sk-", "xox", "gh", "akia", "aiza", "eyj", "://"];

// Only ASCII letters: with all of Unicode's this takes forty milliseconds to build, at the first call of every process.
static SECRET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i-u)(bearer\s+[\w.~+/=-]{8,}|\bsk-[\w-]{8,}|\bxox[a-z]-[\w-]{8,}|\bgh[a-z]_\w{16,}|\bgithub_pat_\w{16,}|\bAKIA[A-Z0-9]{12,}|\bAIza[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}|(?u:://[^/@\s]+@))",
    )
    .ok()
});

/// Takes what looks like a key out of a name, and cuts it to a length that a log can bear.
fn scrub(text: &str) -> String {
    const LONGEST: usize = 500;
    let short = match text.len() > LONGEST {
        true => &text[..text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at)],
        false => text,
    };
    if !has_sign(short.as_bytes()) {
        return short.to_owned();
    }
    match &*SECRET {
        Some(secret) => secret.replace_all(short, "[redacted]").into_owned(),
        None => format!("[{} chars]", text.chars().count()),
    }
}

/// Whether one of the signs stands in the text, in any case. One pass: this is asked of every name of every call.
fn has_sign(text: &[u8]) -> bool {
    let starts = |at: usize, sign: &str| {
        text[at..].get(..sign.len()).is_some_and(|part| part.eq_ignore_ascii_case(sign.as_bytes()))
    };
    let may_start = |byte: u8| matches!(byte | 0x20, b'b' | b's' | b'x' | b'g' | b'a' | b'e') || byte == b':';
    (0..text.len()).any(|at| may_start(text[at]) && SIGNS.iter().any(|sign| starts(at, sign)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(tool: &str) -> Entry {
        Entry {
            time: "2026-01-01T00:00:00Z".into(),
            task: "t".into(),
            call: None,
            agent: "cli".into(),
            tool: tool.into(),
            outcome: Ended::Answered,
            reason: None,
            approval: None,
            checkpoint: None,
            paths: vec![],
            bytes: None,
            input: json!({}),
            milliseconds: 1,
        }
    }

    fn audit() -> (tempfile::TempDir, Audit) {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::open(&folder.path().join("audit.jsonl")).unwrap();
        (folder, audit)
    }

    #[expect(clippy::disallowed_methods, reason = "a test tampers with the file")]
    fn tamper(audit: &Audit, with: impl Fn(String) -> String) {
        let text = std::fs::read_to_string(&audit.path).unwrap();
        std::fs::write(&audit.path, with(text)).unwrap();
    }

    #[test]
    fn a_whole_chain_verifies_also_when_two_processes_write() {
        let (_folder, one) = audit();
        let two = Audit::open(&one.path).unwrap();
        for n in 0..20 {
            if n % 3 == 0 { &two } else { &one }.append(entry(&format!("tool{n}"))).unwrap();
        }
        let verified = one.verify().unwrap();
        assert_eq!((verified.lines, verified.problems.len(), verified.hashes.len()), (20, 0, 20));
        assert_eq!(
            one.last(2).unwrap().iter().map(|e| e.tool.as_str()).collect::<Vec<_>>(),
            ["tool18", "tool19"]
        );
    }

    #[test]
    fn numbers_of_any_kind_do_not_look_like_tampering() {
        let (_folder, audit) = audit();
        let mut bits: u64 = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..200 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = f64::from_bits(bits);
            let input = redact(&json!({"n": number, "m": bits, "list": [number / 3.0, 1e300, -0.0]}));
            audit.append(Entry { input, ..entry("t") }).unwrap();
        }
        assert_eq!(audit.verify().unwrap().problems, Vec::<String>::new());
    }

    #[test]
    fn a_start_writes_lost_lines_once_and_old_ones_not_again() {
        let (_folder, audit) = audit();
        let commit = |id: &str, time: &str| {
            let entry = Entry { checkpoint: Some(id.into()), time: time.into(), ..entry("write") };
            (id.to_owned(), serde_json::to_value(entry).unwrap())
        };
        let old = commit("000000000001", "2026-01-01T00:00:00Z");
        let lost = commit("000000000002", "2026-01-03T00:00:00.5Z");
        audit.append(serde_json::from_value(old.1.clone()).unwrap()).unwrap();
        let long = json!({"path": vec!["x".repeat(480); 200]});
        for _ in 0..60 {
            let read = Entry { input: redact(&long), time: "2026-01-02T00:00:00Z".into(), ..entry("read") };
            audit.append(read).unwrap();
        }
        // Another call that names the lost checkpoint is not its line.
        audit
            .append(Entry { input: redact(&json!({"checkpoint": "000000000002"})), ..entry("undo") })
            .unwrap();
        assert_eq!(audit.catch_up([old.clone(), lost.clone()].into_iter()).unwrap(), 1);
        assert_eq!(audit.catch_up([old, lost].into_iter()).unwrap(), 0);
        assert_eq!(audit.verify().unwrap().problems, Vec::<String>::new());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test puts the file aside")]
    fn a_file_that_was_put_aside_is_noticed() {
        let (folder, audit) = audit();
        audit.append(entry("one")).unwrap();
        std::fs::rename(&audit.path, folder.path().join("aside")).unwrap();
        assert_eq!(audit.ready().unwrap_err().reason, "audit_unavailable");
        std::fs::write(&audit.path, "").unwrap();
        audit.ready().unwrap();
        audit.append(entry("two")).unwrap();
        let verified = audit.verify().unwrap();
        assert_eq!((verified.lines, verified.problems), (1, vec![]));
    }

    #[test]
    fn a_changed_a_removed_and_an_inserted_line_are_named() {
        for (what, change, expected) in [
            (
                "changed",
                (|text: String| text.replacen("tool1", "tool7", 1)) as fn(String) -> String,
                "line 2 was changed",
            ),
            (
                "removed",
                |text| {
                    text.lines().enumerate().filter(|(n, _)| *n != 1).map(|(_, l)| format!("{l}\n")).collect()
                },
                "line 2 does not follow",
            ),
            ("garbled", |text| text.replacen("{\"time\"", "{\"ti", 1), "line 1 cannot be read"),
        ] {
            let (_folder, audit) = audit();
            (0..4).for_each(|n| audit.append(entry(&format!("tool{n}"))).unwrap());
            tamper(&audit, change);
            let problems = audit.verify().unwrap().problems;
            assert!(problems.iter().any(|p| p.contains(expected)), "{what}: {problems:?}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_by_a_crash_does_not_swallow_the_next() {
        let (_folder, audit) = audit();
        (0..3).for_each(|n| audit.append(entry(&format!("tool{n}"))).unwrap());
        tamper(&audit, |text| text[..text.len() - 20].to_owned());
        let again = Audit::open(&audit.path).unwrap();
        assert!(again.last_hash().is_some(), "to ask for the hash changes nothing");
        again.append(entry("after")).unwrap();
        assert_eq!(again.last(1).unwrap()[0].tool, "after");
        audit.append(entry("by the other")).unwrap();
        assert_eq!(again.last(2).unwrap().len(), 2);
    }

    #[test]
    fn a_commit_without_its_line_gets_it_at_the_next_start_and_only_once() {
        let (_folder, audit) = audit();
        let note =
            serde_json::to_value(Entry { checkpoint: Some("abc".into()), ..entry("write_file") }).unwrap();
        let commits = || [("abc".to_owned(), note.clone())].into_iter();
        assert_eq!(audit.catch_up(commits()).unwrap(), 1);
        assert_eq!(audit.catch_up(commits()).unwrap(), 0);
        assert_eq!(audit.last(9).unwrap().len(), 1);
    }

    #[test]
    fn secrets_and_note_text_are_not_written_down() {
        let input = json!({
            "path": "Notes/sk-abcdefghijklmnop.md",
            "content": "my diary",
            "old_str": "x",
            "updates": {"password": "hunter2", "n": 3},
            "tags": ["private"],
            "source": "https://user:pass@host/x",
            "deep": {"a": {"b": {"c": {"d": {"e": "f"}}}}}
        });
        let shown = redact(&input).to_string();
        for secret in ["diary", "hunter2", "sk-abc", "private", "user:pass", "\"f\""] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        assert!(shown.contains("\"content\":\"[8 chars]\""), "{shown}");
        assert!(shown.contains("\"n\":3"));
    }

    #[test]
    fn every_sign_of_a_secret_is_found_in_any_case_and_place() {
        for sign in SIGNS {
            for text in [format!("x/{sign}y"), sign.to_uppercase(), format!("é{sign}")] {
                assert!(has_sign(text.as_bytes()), "{text}");
            }
            assert!(!has_sign(&sign.as_bytes()[..sign.len() - 1]), "half of {sign}");
        }
        assert!(!has_sign("Projects/Garden plan (2026).md".replace("Ga", "Za").as_bytes()));
    }

    #[test]
    fn a_line_is_the_entry_as_it_is_hashed_with_both_hashes_behind_it() {
        let (_folder, audit) = audit();
        audit.append(entry("one")).unwrap();
        let text = audit.read_all().unwrap();
        let alone = serde_json::to_string(&entry("one")).unwrap();
        assert!(
            text.starts_with(&format!("{},\"prev\":\"{FIRST}\",\"hash\":\"", &alone[..alone.len() - 1])),
            "{text}"
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test takes the right to write away")]
    fn a_file_that_may_not_be_written_any_more_is_noticed() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, audit) = audit();
        audit.ready().unwrap();
        std::fs::set_permissions(&audit.path, std::fs::Permissions::from_mode(0o444)).unwrap();
        let allowed = rustix::fs::access(&audit.path, rustix::fs::Access::WRITE_OK).is_ok();
        assert_eq!(audit.ready().is_ok(), allowed, "root may write whatever the mode says");
        std::fs::set_permissions(&audit.path, std::fs::Permissions::from_mode(0o644)).unwrap();
        audit.ready().unwrap();
    }

    #[test]
    fn an_audit_that_cannot_be_opened_is_a_refusal() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Audit::open(folder.path()).unwrap_err().reason, "audit_unavailable");
    }
}
