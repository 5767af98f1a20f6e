//! The log file: records one behind the other, each with its length and hash, blobs behind their record.
//!
//! Layout of a record: magic (4) · length of the JSON (u32 LE) · length of the blobs (u64 LE) · first 8 bytes of the
//! JSON's BLAKE3 · first 8 bytes of the BLAKE3 of all that · JSON · blobs. Opening reads the JSON parts and skips the blobs. A torn tail (a crash while
//! appending) is cut off by the next writer; damage anywhere else is reported and never written over.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::blob::{self, Hash, Packing};
use super::record::{BlobPlace, Checkpoint, CheckpointId, Ending, Record};
use crate::error::{Error, Result};

const MAGIC: &[u8; 4] = b"VGR1";
const HEAD: u64 = 32;
/// A record's JSON is small; a larger length is damage, not a reason to allocate.
const LARGEST_JSON: u32 = 256 * 1024 * 1024;

/// The log, as far as it was read.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    inode: u64,
    /// Byte up to which the file was read and is good.
    end: u64,
    /// How long the file was when we last looked or wrote; more than `end` where something torn lies behind.
    written: u64,
    entries: Vec<LogEntry>,
    by_id: HashMap<CheckpointId, usize>,
    blobs: HashMap<Hash, Stored>,
    damage: Option<String>,
}

/// One commit of the log and how it ended.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// The commit.
    pub checkpoint: Checkpoint,
    /// How it ended; `None` while it runs, or when its process died.
    pub ending: Option<Ending>,
}

#[derive(Debug, Clone, Copy)]
struct Stored {
    at: u64,
    stored: u64,
    size: u64,
    packing: Packing,
    /// Whether the bytes are known to have been synced: not those of a commit that did not happen.
    durable: bool,
}

impl Log {
    /// Opens or makes the log and reads it.
    pub fn open(path: &Path) -> Result<Log> {
        let file = open_file(path)?;
        let mut log = Log {
            path: path.to_owned(),
            inode: inode(&file)?,
            file,
            end: 0,
            written: 0,
            entries: Vec::new(),
            by_id: HashMap::new(),
            blobs: HashMap::new(),
            damage: None,
        };
        log.catch_up()?;
        Ok(log)
    }

    /// Reads what other processes have appended since; starts anew if the file was replaced (by gc).
    pub fn catch_up(&mut self) -> Result<()> {
        let mut length = self.length_if_same();
        if length.is_none()
            && let Ok(file) = open_file(&self.path)
        {
            let now = inode(&file)?;
            if now != self.inode {
                self.file = file;
                self.inode = now;
                self.forget();
            }
        }
        let (known, sound) = (self.end, self.damage.is_none());
        if length.take_if(|length| *length == known).is_some() {
            // Nobody wrote since we last read or wrote; most of the time there is nobody else.
            self.written = known;
            return Ok(());
        }
        if self.length()? < known {
            self.forget();
        }
        self.read_on()?;
        if known > 0 && sound && self.damage.is_some() {
            // A reader does not wait for the lock: it may have read a record that its writer took back since.
            self.forget();
            self.read_on()?;
        }
        Ok(())
    }

    /// The file's length, if it is still the one that we have open.
    #[expect(clippy::disallowed_methods, reason = "the store's own file, outside the vault")]
    fn length_if_same(&self) -> Option<u64> {
        let data = std::fs::metadata(&self.path).ok()?;
        (data.ino() == self.inode).then_some(data.len())
    }

    fn forget(&mut self) {
        self.end = 0;
        self.entries.clear();
        self.by_id.clear();
        self.blobs.clear();
        self.damage = None;
    }

    fn read_on(&mut self) -> Result<()> {
        let length = self.length()?;
        self.written = length;
        while self.damage.is_none() && self.end < length {
            match self.read_record(self.end, length)? {
                Some((record, next)) => self.take(record, next),
                None => break,
            }
        }
        Ok(())
    }

    /// Appends a record with its blobs. The caller holds the lock and has caught up. Not yet synced.
    pub fn append(&mut self, record: Record, blobs: &[u8]) -> Result<()> {
        if let Some(damage) = &self.damage {
            return Err(Error::Damaged { what: "the checkpoint log".to_owned(), detail: damage.clone() });
        }
        let cannot = |error| Error::io("cannot write the checkpoint log", error);
        let bytes = encode(&record, blobs)?;
        if self.written > self.end {
            self.file.set_len(self.end).map_err(cannot)?;
        }
        if let Err(error) = self.file.write_all_at(&bytes, self.end) {
            // A half record would be taken for a torn tail; cutting it off now keeps the file clean.
            self.file.set_len(self.end).ok();
            self.written = u64::MAX;
            return Err(cannot(error));
        }
        let next = self.end + bytes.len() as u64;
        self.written = next;
        self.take(record, next);
        Ok(())
    }

    /// Forgets the last record again, because what it announced will not happen.
    pub fn retract(&mut self, id: &str, at: u64) {
        if self.file.set_len(at).is_ok() {
            self.end = at;
            self.written = at;
            if let Some(index) = self.by_id.remove(id) {
                self.entries.truncate(index);
            }
            self.blobs.retain(|_, stored| stored.at < at);
        }
    }

    /// Makes what was appended durable.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| Error::io("cannot sync the checkpoint log", error))
    }

    /// A handle to sync from another thread.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where the next record will start.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// All commits, oldest first.
    pub fn entries(&self) -> &[LogEntry] {
        &self.entries
    }

    /// Whether these bytes are stored already, for good.
    pub fn has(&self, hash: &Hash) -> bool {
        self.blobs.get(hash).is_some_and(|stored| stored.durable)
    }

    /// Stored bytes by their name.
    pub fn blob(&self, hash: &Hash) -> Result<Vec<u8>> {
        let Some(stored) = self.blobs.get(hash) else {
            return Err(Error::Damaged {
                what: format!("the stored file {}", hash.short()),
                detail: "it is not in the log".to_owned(),
            });
        };
        let mut bytes = vec![0; usize::try_from(stored.stored).unwrap_or(usize::MAX)];
        self.file
            .read_exact_at(&mut bytes, stored.at)
            .map_err(|error| Error::io("cannot read the checkpoint log", error))?;
        blob::unpack(stored.packing, bytes, usize::try_from(stored.size).unwrap_or(usize::MAX), hash)
    }

    /// The commit with this id, or with the only id that starts so.
    pub fn find(&self, prefix: &str) -> Result<&LogEntry> {
        self.find_among(prefix, Some)
    }

    /// The same, among the commits for which `seen` gives something.
    pub fn find_among<'l, T>(&'l self, prefix: &str, seen: impl Fn(&'l LogEntry) -> Option<T>) -> Result<T> {
        let whole = self.by_id.get(prefix).map(|index| &self.entries[*index]);
        if let Some(found) = whole.and_then(&seen) {
            return Ok(found);
        }
        let fits = |entry: &&LogEntry| !prefix.is_empty() && entry.checkpoint.id.starts_with(prefix);
        let mut found = self.entries.iter().filter(fits).filter_map(seen);
        match (found.next(), found.next()) {
            (None, _) => Err(Error::Checkpoint {
                reason: "checkpoint_missing",
                message: format!("there is no checkpoint `{prefix}`"),
            }),
            (Some(_), Some(_)) => Err(Error::Checkpoint {
                reason: "checkpoint_ambiguous",
                message: format!("several checkpoints start with `{prefix}`"),
            }),
            (Some(only), None) => Ok(only),
        }
    }

    /// Whether a commit of exactly this id was written down.
    pub fn knows(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// What is wrong with the file's structure, if anything.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Bytes behind the last good record: what a crash left half written.
    pub fn torn_tail(&self) -> Result<u64> {
        Ok(self.length()?.saturating_sub(self.end))
    }

    /// The file's length.
    pub fn length(&self) -> Result<u64> {
        self.file
            .metadata()
            .map(|data| data.len())
            .map_err(|error| Error::io("cannot read the checkpoint log", error))
    }

    /// Where the log lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn take(&mut self, record: Record, next: u64) {
        match record {
            Record::Commit(checkpoint) => {
                let total: u64 = checkpoint.blobs.iter().map(|place| place.stored).sum();
                let mut at = next - total;
                for BlobPlace { hash, size, stored, packing } in &checkpoint.blobs {
                    self.blobs.insert(
                        *hash,
                        Stored { at, stored: *stored, size: *size, packing: *packing, durable: true },
                    );
                    at += stored;
                }
                self.by_id.insert(checkpoint.id.clone(), self.entries.len());
                self.entries.push(LogEntry { checkpoint: *checkpoint, ending: None });
            }
            Record::End { id, ending } => {
                if let Some(index) = self.by_id.get(&id) {
                    self.entries[*index].ending = Some(ending);
                    if ending == Ending::Undone {
                        // After a power cut its blobs may be zeros behind a whole record: nobody may build on them.
                        for place in &self.entries[*index].checkpoint.blobs {
                            if let Some(stored) = self.blobs.get_mut(&place.hash) {
                                stored.durable = false;
                            }
                        }
                    }
                }
            }
        }
        self.end = next;
    }

    /// Reads the record at `at`; `None` for a torn tail. Damage that is no torn tail is remembered.
    fn read_record(&mut self, at: u64, length: u64) -> Result<Option<(Record, u64)>> {
        let cannot = |error| Error::io("cannot read the checkpoint log", error);
        let mut head = [0; HEAD as usize];
        if at + HEAD > length {
            return Ok(None);
        }
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at)).map_err(cannot)?;
        file.read_exact(&mut head).map_err(cannot)?;
        let json_length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let blob_length = u64::from_le_bytes([
            head[8], head[9], head[10], head[11], head[12], head[13], head[14], head[15],
        ]);
        let next = (at + HEAD).saturating_add(u64::from(json_length)).saturating_add(blob_length);
        // Without its own hash, a flipped bit in a length would make good records behind it look like a torn tail.
        let head_is_good = blake3::hash(&head[..24]).as_bytes()[..8] == head[24..32];
        if &head[..4] != MAGIC || !head_is_good || json_length > LARGEST_JSON {
            return Ok(self.broken(at, length, "the record does not start as it should"));
        }
        if next > length {
            return Ok(None);
        }
        let mut json = vec![0; json_length as usize];
        match file.read_exact(&mut json) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            other => other.map_err(cannot)?,
        }
        if blake3::hash(&json).as_bytes()[..8] != head[16..24] {
            return Ok(self.broken(at, length, "the record's hash does not fit"));
        }
        match serde_json::from_slice::<Record>(&json) {
            Ok(record) if fits(&record, blob_length) => Ok(Some((record, next))),
            Ok(_) => Ok(self.broken(at, length, "the record's blobs do not add up")),
            Err(error) => Ok(self.broken(at, length, &format!("the record cannot be read: {error}"))),
        }
    }

    /// A bad record is a torn tail if nothing good can follow it (all zeros to the end); else it is damage.
    fn broken(&mut self, at: u64, length: u64, detail: &str) -> Option<(Record, u64)> {
        let mut rest = vec![0; usize::try_from((length - at).min(1 << 20)).unwrap_or(0)];
        let zeros = self.file.read_exact_at(&mut rest, at).is_ok() && rest.iter().all(|byte| *byte == 0);
        if !zeros {
            self.damage = Some(format!("byte {at}: {detail}"));
        }
        None
    }
}

fn fits(record: &Record, blob_length: u64) -> bool {
    match record {
        Record::Commit(checkpoint) => {
            checkpoint.blobs.iter().map(|place| place.stored).fold(0u64, u64::saturating_add) == blob_length
        }
        Record::End { .. } => blob_length == 0,
    }
}

/// A record as it stands in the file.
pub fn encode(record: &Record, blobs: &[u8]) -> Result<Vec<u8>> {
    let json =
        serde_json::to_vec(record).map_err(|error| Error::io("cannot write the checkpoint log", error))?;
    if json.len() > LARGEST_JSON as usize {
        // Written, it would be taken for damage by the next reader.
        return Err(Error::Edit {
            reason: "too_many_changes",
            message: format!("a commit whose record has {} bytes is too large", json.len()),
            hint: "do it in several steps".to_owned(),
            candidates: Vec::new(),
        });
    }
    let mut bytes = Vec::with_capacity(HEAD as usize + json.len() + blobs.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&u32::try_from(json.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(&(blobs.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&blake3::hash(&json).as_bytes()[..8]);
    let head_hash = blake3::hash(&bytes);
    bytes.extend_from_slice(&head_hash.as_bytes()[..8]);
    bytes.extend_from_slice(&json);
    bytes.extend_from_slice(blobs);
    Ok(bytes)
}

#[expect(clippy::disallowed_methods, reason = "the store's own file, outside the vault")]
fn open_file(path: &Path) -> Result<File> {
    File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| Error::io(format!("cannot open {}", path.display()), error))
}

fn inode(file: &File) -> Result<u64> {
    file.metadata().map(|data| data.ino()).map_err(|error| Error::io("cannot read the checkpoint log", error))
}
