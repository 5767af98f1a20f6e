//! The text index on disk: segments that never change, and one small file that says which of them count.
//!
//! Called by `crate::index`. The folder is a cache: whatever is wrong in it is reported as [`Trouble::Damaged`], and the
//! caller builds anew from the notes. A file is written beside its place, synced and renamed, under a lock that one
//! process holds at a time; readers need no lock, because a mapped file stays alive when its name is gone.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::index_map::Map;

const MAGIC: &[u8; 8] = b"VGRLIST1";
const LIST: &str = "segments";
/// The list is a few bits for each note; a larger one is damage.
const LARGEST_LIST: u64 = 64 << 20;

/// The folder of one vault's index.
#[derive(Debug)]
pub struct IndexFolder {
    path: PathBuf,
}

/// Which segments count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    /// Goes up with every write.
    pub generation: u64,
    /// The segments.
    pub segments: Vec<Listed>,
}

/// One segment of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The number in its name.
    pub number: u64,
    /// The hash that its footer carries.
    pub identity: [u8; 8],
    /// Which documents of it are gone, as bits.
    pub dead: Vec<u8>,
}

/// Why the folder cannot be used.
#[derive(Debug)]
pub enum Trouble {
    /// There is no index yet.
    None,
    /// What is there is not what was written.
    Damaged(String),
    /// The system refused.
    Io(io::Error),
}

/// Proof that no other process writes; given back when dropped.
#[derive(Debug)]
pub struct Writing {
    lock: File,
}

impl Drop for Writing {
    fn drop(&mut self) {
        // Closing the file would release it as well.
        self.lock.unlock().ok();
    }
}

#[expect(clippy::disallowed_methods, reason = "the index's own folder, outside the vault")]
impl IndexFolder {
    /// The folder, made if need be.
    pub fn open(path: &Path) -> io::Result<IndexFolder> {
        std::fs::create_dir_all(path)?;
        Ok(IndexFolder { path: path.to_owned() })
    }

    /// Whether there is a list in the folder at `path`.
    pub fn is_saved(path: &Path) -> bool {
        path.join(LIST).exists()
    }

    /// Waits until no other process writes.
    pub fn lock(&self) -> io::Result<Writing> {
        let lock = self.lock_file()?;
        lock.lock()?;
        Ok(Writing { lock })
    }

    /// Takes the lock if nobody has it.
    pub fn try_lock(&self) -> io::Result<Option<Writing>> {
        let lock = self.lock_file()?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Writing { lock })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn lock_file(&self) -> io::Result<File> {
        File::options().create(true).truncate(false).write(true).open(self.path.join("lock"))
    }

    /// Reads the list.
    pub fn list(&self) -> Result<List, Trouble> {
        let mut bytes = Vec::new();
        match File::open(self.path.join(LIST)) {
            Ok(file) => file.take(LARGEST_LIST).read_to_end(&mut bytes).map_err(Trouble::Io)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(Trouble::None),
            Err(error) => return Err(Trouble::Io(error)),
        };
        parse(&bytes).ok_or_else(|| Trouble::Damaged("its list of parts is not what was written".to_owned()))
    }

    /// Maps a segment.
    pub fn map(&self, number: u64) -> Result<Map, Trouble> {
        match File::open(self.segment(number)) {
            Ok(file) => Map::of(&file).map_err(|error| Trouble::Damaged(format!("a part: {error}"))),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Trouble::Damaged("a part of it is missing".to_owned()))
            }
            Err(error) => Err(Trouble::Io(error)),
        }
    }

    /// Writes a segment, durable when this returns.
    pub fn write_segment(
        &self,
        _held: &Writing,
        number: u64,
        write: impl FnOnce(BufWriter<File>) -> io::Result<BufWriter<File>>,
    ) -> io::Result<()> {
        let place = self.segment(number);
        self.replace(&place, |file| {
            write(BufWriter::with_capacity(1 << 20, file))?
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
        })
    }

    /// Puts bytes into a file without a name, out of our memory, for as long as they are mapped.
    pub fn put_aside(&self, _held: &Writing, bytes: &[u8]) -> io::Result<Map> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let place = self.path.join(format!("aside-{}.new", COUNT.fetch_add(1, Ordering::Relaxed)));
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&place)?;
        // At once: then nobody has to clean up, whatever happens to us.
        std::fs::remove_file(&place)?;
        file.write_all(bytes)?;
        Map::of(&file)
    }

    /// Writes the list and removes what it does not name.
    pub fn write_list(&self, _held: &Writing, list: &List) -> io::Result<()> {
        self.replace(&self.path.join(LIST), |mut file| file.write_all(&bytes(list)).map(|()| file))?;
        self.sweep(list);
        Ok(())
    }

    /// Removes every file of the index; the next opening builds it anew.
    pub fn clear(&self, _held: &Writing) {
        // What cannot be removed is replaced by the next write.
        std::fs::remove_file(self.path.join(LIST)).ok();
        self.sweep(&List::default());
    }

    fn replace(&self, place: &Path, write: impl FnOnce(File) -> io::Result<File>) -> io::Result<()> {
        let beside = place.with_extension("new");
        let file = write(File::create(&beside)?)?;
        file.sync_all()?;
        std::fs::rename(&beside, place)?;
        File::open(&self.path)?.sync_all()
    }

    /// Leftovers of a process that died, and segments that were merged. A failure costs space, nothing else.
    fn sweep(&self, list: &List) {
        let Ok(entries) = std::fs::read_dir(&self.path) else { return };
        let keep: Vec<PathBuf> = list.segments.iter().map(|listed| self.segment(listed.number)).collect();
        for entry in entries.flatten() {
            let path = entry.path();
            let ours = path.extension().is_some_and(|ending| ending == "text" || ending == "new");
            if ours && !keep.contains(&path) {
                std::fs::remove_file(path).ok();
            }
        }
    }

    fn segment(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number:016x}.text"))
    }
}

fn bytes(list: &List) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(list.generation.to_le_bytes());
    out.extend((list.segments.len() as u64).to_le_bytes());
    for listed in &list.segments {
        out.extend(listed.number.to_le_bytes());
        out.extend(listed.identity);
        out.extend((listed.dead.len() as u64).to_le_bytes());
        out.extend(&listed.dead);
    }
    let hash = blake3::hash(&out);
    out.extend(hash.as_bytes());
    out
}

fn parse(bytes: &[u8]) -> Option<List> {
    let (content, hash) = bytes.split_at(bytes.len().checked_sub(32)?);
    if blake3::hash(content).as_bytes() != hash {
        return None;
    }
    let mut rest = content.strip_prefix(MAGIC)?;
    let mut number = || {
        let (first, later) = rest.split_first_chunk::<8>()?;
        rest = later;
        Some(u64::from_le_bytes(*first))
    };
    let generation = number()?;
    let count = number()?;
    let mut segments = Vec::new();
    for _ in 0..count {
        let mut take = |length: usize| {
            let (first, later) = rest.split_at_checked(length)?;
            rest = later;
            Some(first)
        };
        let number = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let identity = take(8)?.try_into().ok()?;
        let length = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let dead = take(usize::try_from(length).ok()?)?.to_vec();
        segments.push(Listed { number, identity, dead });
    }
    Some(List { generation, segments })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back_and_every_changed_bit_is_noticed() {
        let listed = Listed { number: 7, identity: *b"12345678", dead: vec![1, 0, 255] };
        let list = List { generation: 3, segments: vec![listed.clone(), listed] };
        let written = bytes(&list);
        assert_eq!(parse(&written), Some(list));
        for bit in 0..written.len() * 8 {
            let mut changed = written.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&changed), None, "bit {bit}");
        }
        assert!((0..written.len()).all(|length| parse(&written[..length]).is_none()));
    }
}
