//! Reading files and checkpoints: one file for each tool. None of them changes anything.

mod checkpoint;
mod diff_checkpoint;
pub(crate) mod list_checkpoints;
mod list_files;
mod read_checkpoint;
mod read_file;
mod search_files;

pub use diff_checkpoint::DiffCheckpoint;
pub use list_checkpoints::ListCheckpoints;
pub use list_files::ListFiles;
pub use read_checkpoint::ReadCheckpoint;
pub use read_file::ReadFile;
pub use search_files::SearchFiles;

#[cfg(test)]
pub(crate) use checkpoint::testing;
