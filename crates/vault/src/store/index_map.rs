//! A file of the text index, mapped into memory. One of two places in the crate with `unsafe` in it (the other is `meaning/dot.rs`).
//!
//! Called by `store/index.rs`. What the bytes mean and whether they are good is judged in `crate::index`, which checks a
//! block's hash before it believes it and reads any bytes without panicking.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// At least the size of a page, and a multiple of it, on every machine we know.
const PAGE: usize = 1 << 16;

/// A whole file, read-only.
pub struct Map {
    start: *mut std::ffi::c_void,
    length: usize,
}

impl Map {
    /// Maps a file of at least one byte.
    pub fn of(file: &File) -> std::io::Result<Map> {
        let length = usize::try_from(file.metadata()?.len()).map_err(std::io::Error::other)?;
        if length == 0 {
            return Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the file is empty"));
        }
        #[expect(unsafe_code, reason = "mapping is what keeps an index of any size out of our memory")]
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing of ours.
        let start = unsafe {
            mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file.as_fd(), 0)
        }?;
        Ok(Map { start, length })
    }
}

impl Map {
    /// Gives the memory of these bytes back, and of those right in front of them. Whoever looks at them again waits for the file.
    pub fn let_go(&self, bytes: std::ops::Range<usize>) {
        // A piece that lies on a border was passed as far as it lies in front of the bytes.
        let start = bytes.start / PAGE * PAGE;
        let end = match bytes.end < self.length {
            true => bytes.end / PAGE * PAGE,
            false => self.length,
        };
        if start < end {
            #[expect(unsafe_code, reason = "see `Map::of`")]
            // SAFETY: whole pages within our mapping, which is shared, read-only and of a file that is never changed:
            // what is read there afterwards is the same. A failure only keeps the memory.
            unsafe { madvise(self.start.byte_add(start), end - start, Advice::LinuxDontNeed) }.ok();
        }
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        #[expect(unsafe_code, reason = "see `Map::of`")]
        // SAFETY: the mapping is `length` bytes, readable, and lives as long as `self`. Our files are never changed in
        // place: a new one takes the old one's name, and the mapping keeps the old one alive.
        unsafe {
            std::slice::from_raw_parts(self.start.cast::<u8>(), self.length)
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "see `Map::of`")]
        // SAFETY: made by `Map::of`, and no slice of it outlives `self`. A failure would only leak address space.
        unsafe { munmap(self.start, self.length) }.ok();
    }
}

#[expect(unsafe_code, reason = "see `Map::of`")]
// SAFETY: the mapping is read-only and belongs to no thread.
unsafe impl Send for Map {}

#[expect(unsafe_code, reason = "see `Map::of`")]
// SAFETY: as above; shared reads of read-only memory.
unsafe impl Sync for Map {}
