//! The file in which the vectors of a vault outlive the program.
//!
//! Called by [`crate::meaning::Meaning`]. It is a cache: whatever cannot be read is embedded again, and nothing in it
//! is anybody's only copy. Layout, all numbers little-endian: magic (8) · length of the model's name (u16) · name ·
//! width (u32) · notes (u32) · rows (u32) · first 16 bytes of the BLAKE3 of all that; then blocks: length (u32) · first
//! 16 bytes of the payload's BLAKE3 · payload; the last block is empty. A payload is notes one behind the other: length
//! of the path (u16) · path · size · time · inode (8 each) · chunks without a vector · rows (u32 each), each row: hash (u64) · start · length · scale
//! (4 each) · the vector (width bytes). A damaged block costs the notes in it, not the others.
//! Written beside the old file, synced and renamed, by one process at a time; readers always see a whole file.
//! Every model has its own file, so that a program which still runs with another model writes over nothing, and going
//! back to a model costs nothing.

use std::fs::{File, TryLockError};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::Stat;
use crate::meaning::vectors::{Facts, Row, Vectors};
use crate::path::VaultPath;

/// Goes up with the layout and with the way notes are cut into chunks.
const MAGIC: &[u8; 8] = b"VGRVEC2\n";
const CHECK: usize = 16;
/// Bytes of a note without its path and rows, and of a row without its vector.
const NOTE: usize = 34;
const ROW: usize = 20;
/// A block is closed when it has grown to this.
const BLOCK: usize = 256 * 1024;
/// A longer block is damage, not a reason to allocate: even one note of 25 MB needs less.
const LONGEST_BLOCK: usize = 256 * 1024 * 1024;

/// What the file held.
#[derive(Debug)]
pub enum Loaded {
    /// There is none yet.
    Nothing,
    /// It was made by another model, which it names.
    OtherModel(String),
    /// Vectors; some are missing if there was damage.
    Vectors {
        /// All that could be read.
        vectors: Vectors,
        /// What could not.
        damage: Option<String>,
    },
}

/// Whether the vectors were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// They are on disk.
    Written,
    /// Another process is writing its own just now; they are as good as ours.
    Busy,
}

/// Reads the vectors of this model from the data folder.
pub fn load(folder: &Path, model: &str, width: usize) -> Result<Loaded> {
    let cannot = |error| Error::io("cannot read the saved vectors", error);
    let file = match open_existing(&file_path(folder, model)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(newest_other(folder).map_or(Loaded::Nothing, Loaded::OtherModel));
        }
        Err(error) => return Err(cannot(error)),
    };
    let size = file.metadata().map_err(cannot)?.len();
    let mut input = BufReader::with_capacity(BLOCK, file);
    let damaged =
        |detail: &str| Loaded::Vectors { vectors: Vectors::new(width), damage: Some(detail.to_owned()) };
    let Some(head) = read_head(&mut input).map_err(cannot)? else {
        return Ok(damaged("the file does not start as it should"));
    };
    if head.model != model || head.width != width {
        return Ok(Loaded::OtherModel(head.model));
    }
    let mut vectors = Vectors::new(width);
    // No more room than the file can fill, whatever its head says.
    let most = usize::try_from(size).unwrap_or(usize::MAX);
    vectors.reserve(head.notes.min(most / NOTE), head.rows.min(most / (ROW + width)));
    let damage = read_blocks(&mut input, &mut vectors, width).map_err(cannot)?;
    Ok(Loaded::Vectors { vectors, damage })
}

/// Writes the vectors in place of the old ones.
pub fn save(folder: &Path, model: &str, width: usize, vectors: &Vectors) -> Result<Saved> {
    let cannot = |error| Error::io("cannot write the saved vectors", error);
    make_folder(folder).map_err(cannot)?;
    let lock = create(&folder.join("vectors.lock"), Truncate::No).map_err(cannot)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Saved::Busy),
        Err(TryLockError::Error(error)) => return Err(cannot(error)),
    }
    let fresh = folder.join("vectors.new");
    let mut output = BufWriter::with_capacity(BLOCK, create(&fresh, Truncate::Yes).map_err(cannot)?);
    write_all(&mut output, model, width, vectors).map_err(cannot)?;
    let file = output.into_inner().map_err(|error| cannot(error.into_error()))?;
    file.sync_all().map_err(cannot)?;
    put_in_place(&fresh, &file_path(folder, model)).map_err(cannot)?;
    Ok(Saved::Written)
}

/// Held by the one process that embeds what waits; the others take over what it saves.
#[derive(Debug)]
pub struct Working(#[expect(dead_code, reason = "the lock lives as long as the handle")] File);

/// The right to embed what waits, unless another process has it.
pub fn try_to_work(folder: &Path, model: &str) -> Result<Option<Working>> {
    let cannot = |error| Error::io("cannot lock the saved vectors", error);
    make_folder(folder).map_err(cannot)?;
    let lock = create(&file_path(folder, model).with_extension("working"), Truncate::No).map_err(cannot)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(Working(lock))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(cannot(error)),
    }
}

/// The file of one model.
pub(crate) fn file_path(folder: &Path, model: &str) -> PathBuf {
    let mark = blake3::hash(model.as_bytes()).to_hex();
    folder.join(format!("vectors-{}.bin", &mark[..12]))
}

/// The model of the file that was written last, if there is any.
#[expect(clippy::disallowed_methods, reason = "a cache in the data folder, outside the vault")]
fn newest_other(folder: &Path) -> Option<String> {
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let files = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "bin"));
    let dated = files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())));
    let (_, newest) = dated.max()?;
    read_head(&mut open_existing(&newest).ok()?).ok()?.map(|head| head.model)
}

#[expect(clippy::disallowed_methods, reason = "a cache in the data folder, outside the vault")]
fn open_existing(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

#[expect(clippy::disallowed_methods, reason = "the data folder, outside the vault")]
fn make_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Truncate {
    Yes,
    No,
}

#[expect(clippy::disallowed_methods, reason = "a cache in the data folder, outside the vault")]
fn create(path: &Path, truncate: Truncate) -> std::io::Result<File> {
    File::options().create(true).write(true).truncate(truncate == Truncate::Yes).open(path)
}

#[expect(clippy::disallowed_methods, reason = "a cache in the data folder, outside the vault")]
fn put_in_place(fresh: &Path, path: &Path) -> std::io::Result<()> {
    std::fs::rename(fresh, path)?;
    let folder = path.parent().unwrap_or(path);
    File::open(folder)?.sync_all()
}

struct Head {
    model: String,
    width: usize,
    notes: usize,
    rows: usize,
}

fn read_head(input: &mut impl Read) -> std::io::Result<Option<Head>> {
    let mut head = vec![0; MAGIC.len() + 2];
    if !fill(input, &mut head)? || !head.starts_with(MAGIC) {
        return Ok(None);
    }
    let name = usize::from(u16::from_le_bytes([head[8], head[9]]));
    let mut rest = vec![0; name + 12 + CHECK];
    if !fill(input, &mut rest)? {
        return Ok(None);
    }
    let check = rest.split_off(name + 12);
    head.extend_from_slice(&rest);
    if check != checksum(&head) {
        return Ok(None);
    }
    let mut parts = Parts(&rest);
    Ok((|| {
        let model = String::from_utf8(parts.bytes(name)?.to_vec()).ok()?;
        let [width, notes, rows] = [parts.u32()?, parts.u32()?, parts.u32()?].map(|number| number as usize);
        Some(Head { model, width, notes, rows })
    })())
}

/// Reads block after block; says what was wrong, if anything was.
fn read_blocks(
    input: &mut impl Read,
    vectors: &mut Vectors,
    width: usize,
) -> std::io::Result<Option<String>> {
    let mut damage = None;
    let mut payload = Vec::new();
    loop {
        let mut head = [0; 4 + CHECK];
        if !fill(input, &mut head)? {
            return Ok(Some("the file ends too early".to_owned()));
        }
        let [a, b, c, d, check @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > LONGEST_BLOCK {
            return Ok(Some("a block has an impossible length".to_owned()));
        }
        payload.clear();
        input.by_ref().take(length as u64).read_to_end(&mut payload)?;
        if payload.len() < length {
            return Ok(Some("the file ends too early".to_owned()));
        }
        if checksum(&payload) != check || read_notes(&payload, vectors, width).is_none() {
            damage = Some("a block does not match its checksum".to_owned());
        } else if length == 0 {
            return Ok(damage);
        }
    }
}

fn read_notes(payload: &[u8], vectors: &mut Vectors, width: usize) -> Option<()> {
    let mut parts = Parts(payload);
    let mut rows = Vec::new();
    while !parts.0.is_empty() {
        let length = usize::from(parts.u16()?);
        let path = VaultPath::parse(std::str::from_utf8(parts.bytes(length)?).ok()?).ok()?;
        let stat = Stat { size: parts.u64()?, modified_ns: parts.u64()?.cast_signed(), inode: parts.u64()? };
        let (missing, count) = (parts.u32()?, parts.u32()?);
        rows.clear();
        for _ in 0..count {
            rows.push(read_row(&mut parts, width)?);
        }
        vectors.put(path, stat, &rows, missing as usize);
    }
    Some(())
}

fn read_row(parts: &mut Parts<'_>, width: usize) -> Option<Row> {
    let (hash, start, length) = (parts.u64()?, parts.u32()?, parts.u32()?);
    let scale = f32::from_bits(parts.u32()?);
    let numbers = parts.bytes(width)?.iter().map(|byte| byte.cast_signed()).collect();
    scale.is_finite().then_some(Row { hash, start, length, scale, numbers })
}

fn write_all(output: &mut impl Write, model: &str, width: usize, vectors: &Vectors) -> std::io::Result<()> {
    let mut head = MAGIC.to_vec();
    let name = model.as_bytes();
    let long = || std::io::Error::new(ErrorKind::InvalidInput, "the model's name is too long");
    head.extend_from_slice(&u16::try_from(name.len()).map_err(|_| long())?.to_le_bytes());
    head.extend_from_slice(name);
    for number in [width, vectors.notes(), vectors.rows()] {
        head.extend_from_slice(&(number as u32).to_le_bytes());
    }
    output.write_all(&head)?;
    output.write_all(&checksum(&head))?;
    let mut payload = Vec::with_capacity(BLOCK * 2);
    for note in vectors.iter() {
        let path = note.path.as_str().as_bytes();
        payload.extend_from_slice(&(path.len() as u16).to_le_bytes());
        payload.extend_from_slice(path);
        for number in [note.stat.size, note.stat.modified_ns.cast_unsigned(), note.stat.inode] {
            payload.extend_from_slice(&number.to_le_bytes());
        }
        payload.extend_from_slice(&note.missing.to_le_bytes());
        payload.extend_from_slice(&(note.rows().len() as u32).to_le_bytes());
        note.rows().for_each(|row| write_row(&mut payload, vectors, row));
        if payload.len() >= BLOCK {
            write_block(output, &payload)?;
            payload.clear();
        }
    }
    if !payload.is_empty() {
        write_block(output, &payload)?;
    }
    write_block(output, &[])
}

fn write_row(payload: &mut Vec<u8>, vectors: &Vectors, row: usize) {
    let Some(Facts { hash, start, length, scale }) = vectors.facts(row).copied() else { return };
    payload.extend_from_slice(&hash.to_le_bytes());
    for number in [start, length, scale.to_bits()] {
        payload.extend_from_slice(&number.to_le_bytes());
    }
    payload.extend(vectors.numbers(row).iter().map(|number| number.cast_unsigned()));
}

fn write_block(output: &mut impl Write, payload: &[u8]) -> std::io::Result<()> {
    output.write_all(&(payload.len() as u32).to_le_bytes())?;
    output.write_all(&checksum(payload))?;
    output.write_all(payload)
}

fn checksum(bytes: &[u8]) -> [u8; CHECK] {
    let hash = blake3::hash(bytes);
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}

/// Fills the whole buffer; whether there was enough.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Bytes that are taken off from the front.
struct Parts<'p>(&'p [u8]);

impl<'p> Parts<'p> {
    fn bytes(&mut self, count: usize) -> Option<&'p [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.first_chunk().copied()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests damage the file")]
mod tests {
    use super::*;

    const WIDTH: usize = 16;

    type Notes = Vec<(VaultPath, Stat, u32, Vec<Row>)>;

    fn vectors(notes: usize) -> Vectors {
        let mut vectors = Vectors::new(WIDTH);
        for note in 0..notes {
            let numbers: Vec<f32> = (0..WIDTH).map(|at| ((note * 7 + at * 3) % 11) as f32 - 5.0).collect();
            let rows: Vec<Row> = (0..note % 4)
                .filter_map(|at| Row::new((note * 10 + at) as u64, at..at + 9, &numbers))
                .collect();
            let path = VaultPath::parse(&format!("Folder/Note {note:05}.md")).unwrap();
            let stat = Stat { size: note as u64, modified_ns: -5, inode: u64::MAX };
            vectors.put(path, stat, &rows, note % 3);
        }
        vectors
    }

    fn contents(vectors: &Vectors) -> Notes {
        let rows = |note: &crate::meaning::vectors::NoteRows| {
            note.rows().filter_map(|row| vectors.row(row)).collect()
        };
        vectors.iter().map(|note| (note.path.clone(), note.stat, note.missing, rows(note))).collect()
    }

    fn saved(notes: usize) -> (tempfile::TempDir, Notes) {
        let folder = tempfile::tempdir().unwrap();
        let vectors = vectors(notes);
        assert_eq!(save(folder.path(), "model", WIDTH, &vectors).unwrap(), Saved::Written);
        (folder, contents(&vectors))
    }

    #[track_caller]
    fn loaded(folder: &Path) -> (Notes, Option<String>) {
        match load(folder, "model", WIDTH).unwrap() {
            Loaded::Vectors { vectors, damage } => (contents(&vectors), damage),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_saved_comes_back() {
        for notes in [0, 1, 20_000] {
            let (folder, before) = saved(notes);
            assert_eq!(loaded(folder.path()), (before, None));
        }
    }

    #[test]
    fn another_model_and_no_file_are_told_apart() {
        let (folder, _) = saved(3);
        assert!(
            matches!(load(folder.path(), "better", WIDTH).unwrap(), Loaded::OtherModel(name) if name == "model")
        );
        assert!(matches!(load(folder.path(), "model", 8).unwrap(), Loaded::OtherModel(_)));
        save(folder.path(), "better", WIDTH, &vectors(9)).unwrap();
        assert_eq!(loaded(folder.path()).0.len(), 3, "the other model's vectors are still there");
        assert!(matches!(load(&folder.path().join("x"), "model", WIDTH).unwrap(), Loaded::Nothing));
    }

    #[test]
    fn damage_costs_the_notes_of_its_block_only() {
        let (folder, before) = saved(20_000);
        let file = file_path(folder.path(), "model");
        let good = std::fs::read(&file).unwrap();
        assert!(good.len() > 3 * BLOCK);
        let mut bad = good.clone();
        bad[good.len() / 2] ^= 1;
        std::fs::write(&file, &bad).unwrap();
        let (after, damage) = loaded(folder.path());
        assert!(damage.is_some() && after.len() < before.len() && after.len() > before.len() / 2);
        assert!(after.iter().all(|note| before.contains(note)));
    }

    #[test]
    fn every_cut_and_every_flip_is_noticed_and_never_believed() {
        let (folder, before) = saved(30);
        let file = file_path(folder.path(), "model");
        let good = std::fs::read(&file).unwrap();
        let flips = (0..good.len()).map(|at| {
            let mut bad = good.clone();
            bad[at] ^= 0x41;
            bad
        });
        let cuts = (0..good.len()).map(|end| good[..end].to_vec());
        for bad in flips.chain(cuts) {
            std::fs::write(&file, &bad).unwrap();
            let (after, damage) = loaded(folder.path());
            assert!(damage.is_some());
            assert!(after.iter().all(|note| before.contains(note)));
        }
    }

    #[test]
    fn one_process_at_a_time_embeds_for_a_model() {
        let folder = tempfile::tempdir().unwrap();
        let first = try_to_work(folder.path(), "model").unwrap();
        assert!(first.is_some());
        assert!(try_to_work(folder.path(), "model").unwrap().is_none());
        assert!(try_to_work(folder.path(), "better").unwrap().is_some());
        drop(first);
        assert!(try_to_work(folder.path(), "model").unwrap().is_some());
    }

    #[test]
    fn a_save_that_another_process_is_making_is_left_to_it() {
        let (folder, before) = saved(5);
        let lock = std::fs::File::create(folder.path().join("vectors.lock")).unwrap();
        lock.lock().unwrap();
        assert_eq!(save(folder.path(), "model", WIDTH, &vectors(9)).unwrap(), Saved::Busy);
        drop(lock);
        assert_eq!(loaded(folder.path()).0, before);
        // What a killed process left behind is written over.
        std::fs::write(folder.path().join("vectors.new"), "half").unwrap();
        assert_eq!(save(folder.path(), "model", WIDTH, &vectors(9)).unwrap(), Saved::Written);
        assert_eq!(loaded(folder.path()).0.len(), 9);
    }
}
