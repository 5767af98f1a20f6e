//! What the log says: one record before each commit, one behind it.

use serde::{Deserialize, Serialize};

use super::blob::{Hash, Packing};
use crate::change::{Stamp, Trash, is_in_trash};
use crate::path::VaultPath;

/// The name of a checkpoint: twelve random hex digits.
pub type CheckpointId = String;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// A commit is about to happen; durable before the first vault byte changes.
    Commit(Box<Checkpoint>),
    /// How the commit ended. Lost records of this kind are worked out again at the next start.
    End {
        /// Which commit.
        id: CheckpointId,
        /// How it ended.
        ending: Ending,
    },
}

/// How a commit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// Everything is in place.
    Done,
    /// Nothing was changed, or all of it was put back.
    Undone,
    /// It was interrupted half way and finished at a later start.
    Finished,
}

/// One commit: who, when, what, and the bytes of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its name.
    pub id: CheckpointId,
    /// The task (conversation, command) to which it belongs.
    pub task: String,
    /// The tool that planned it.
    pub tool: String,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// What was done, in order.
    pub steps: Vec<Step>,
    /// New blobs that this record carries.
    pub blobs: Vec<BlobPlace>,
    /// What the caller wants to keep with the commit (the road keeps its audit entry here).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Kept>,
}

/// JSON that is kept as text: as a tree it takes several times the memory, for every commit and as long as the log is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept(Box<str>);

impl Kept {
    /// Keeps a value.
    pub fn of(value: &serde_json::Value) -> Kept {
        Kept(value.to_string().into())
    }

    /// The value again.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl Serialize for Kept {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Kept, D::Error> {
        serde_json::Value::deserialize(deserializer).map(|value| Kept::of(&value))
    }
}

/// One thing done to the vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Step {
    /// A file's bytes changed, appeared (`before` absent) or went (`after` absent).
    Write {
        /// Where.
        path: VaultPath,
        /// The bytes before.
        before: Option<Side>,
        /// The bytes after.
        after: Option<Side>,
    },
    /// A file or folder got another path.
    Move {
        /// From where.
        from: VaultPath,
        /// To where.
        to: VaultPath,
        /// Through the trash?
        trash: TrashMark,
        /// The bytes that moved, where it was a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
        /// The bytes themselves, where it went to the trash: somebody may empty it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Side>,
    },
    /// A folder appeared.
    Make {
        /// Where.
        path: VaultPath,
    },
    /// An empty folder went.
    Remove {
        /// Where.
        path: VaultPath,
    },
}

/// One side of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// The bytes, by name.
    pub hash: Hash,
    /// How many.
    pub size: u64,
    /// Permissions and time, where the file was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<Stamp>,
}

/// `Trash`, written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrashMark {
    /// An ordinary move.
    No,
    /// Into the trash.
    Into,
    /// Out of it.
    OutOf,
}

impl From<Trash> for TrashMark {
    fn from(trash: Trash) -> TrashMark {
        match trash {
            Trash::No => TrashMark::No,
            Trash::Into => TrashMark::Into,
            Trash::OutOf => TrashMark::OutOf,
        }
    }
}

/// Where a blob lies behind its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobPlace {
    /// Its name.
    pub hash: Hash,
    /// Bytes when unpacked.
    pub size: u64,
    /// Bytes as stored.
    pub stored: u64,
    /// How it is packed.
    pub packing: Packing,
}

impl Step {
    /// Every path that this step touches.
    pub fn paths(&self) -> Vec<&VaultPath> {
        match self {
            Step::Write { path, .. } | Step::Make { path } | Step::Remove { path } => vec![path],
            Step::Move { from, to, .. } => vec![from, to],
        }
    }

    /// The paths that a person would name. The trash is not among them, nor where in it something lies: that is not
    /// the agent's choice.
    pub fn named(&self) -> Vec<&VaultPath> {
        self.paths().into_iter().filter(|path| !is_in_trash(path)).collect()
    }
}
