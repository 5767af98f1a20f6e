//! Changing notes and folders. Each tool plans one change that is approved, checkpointed and undone as a whole.
//!
//! What they share: [`rewrite`] (a text file before and after), [`replacement`] (search and replace as tools take it)
//! and [`place`] (where files are moved to). The edits themselves are in `vault::edit`, the moves in `vault::moves`.

pub(crate) mod append_to_file;
mod base;
mod batch_files;
mod create_base;
mod create_folder;
pub(crate) mod delete_file;
mod edit_file;
mod manage_tags;
pub(crate) mod move_file;
mod patch_note;
pub(crate) mod place;
mod replace_in_file;
pub(crate) mod replacement;
pub(crate) mod restore_checkpoint;
pub(crate) mod rewrite;
#[cfg(test)]
mod tests;
mod update_base;
mod update_frontmatter;
pub(crate) mod write_file;

pub use append_to_file::AppendToFile;
pub use batch_files::BatchFiles;
pub use create_base::CreateBase;
pub use create_folder::CreateFolder;
pub use delete_file::DeleteFile;
pub use edit_file::EditFile;
pub use manage_tags::ManageTags;
pub use move_file::MoveFile;
pub use patch_note::PatchNote;
pub use replace_in_file::ReplaceInFile;
pub use restore_checkpoint::RestoreCheckpoint;
pub use update_base::UpdateBase;
pub use update_frontmatter::UpdateFrontmatter;
pub use write_file::WriteFile;
