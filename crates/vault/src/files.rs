//! What the catalog and the search need of a file system, and nothing more; `disk.rs` is the real one.

use crate::error::Result;
use crate::path::VaultPath;

/// Files to read: a real vault, or one made up for a test.
pub trait Files: Send + Sync {
    /// Calls `each` for every file and folder that is not hidden.
    fn walk(&self, each: &mut dyn FnMut(Entry)) -> Result<()>;
    /// A file's bytes.
    fn read(&self, path: &VaultPath) -> Result<Vec<u8>>;
    /// A file's state; `None` if there is no regular file.
    fn stat(&self, path: &VaultPath) -> Result<Option<Stat>>;
}

/// One file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it lies.
    pub path: VaultPath,
    /// What it is.
    pub kind: Kind,
    /// Its state.
    pub stat: Stat,
}

/// File or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
}

/// A file's state, enough to see that it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    /// Bytes.
    pub size: u64,
    /// Last change, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Which file it is.
    pub inode: u64,
    /// Permission bits.
    pub permissions: u32,
}
