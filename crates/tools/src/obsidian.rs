//! The Obsidian surface: the tools of the well-known Obsidian MCP server, with its names, inputs and answers, so that
//! whoever used it finds everything in its place. No Obsidian runs behind them; the engine does the work.
//!
//! [`crate::table::obsidian`] lists them. Each is a thin door: what a section, a tag or a move is, is decided in `vault`
//! and shared with the agent's own tools. Data has the fields of the original, and `version` for `ifMatch` on top.
//! The few that need the app reach it by `app.rs`; what is not among the listed fourteen is deferred (`find_tool.rs`).

pub mod app;
mod append_to_note;
mod batch_edit;
mod commands;
mod delete_note;
mod find_tool;
mod get_links;
mod get_note;
mod history;
mod list_notes;
mod list_tags;
mod manage_frontmatter;
mod manage_tags;
mod move_note;
mod names;
mod open_in_ui;
pub mod output;
mod patch_note;
mod replace_in_note;
mod rooted;
mod search_modes;
mod search_notes;
mod section;
mod shape;
mod target;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod whole_vault;
mod write_note;

pub use append_to_note::AppendToNote;
pub use batch_edit::BatchEdit;
pub use commands::{ExecuteCommand, ListCommands};
pub use delete_note::DeleteNote;
pub use find_tool::FindTool;
pub use get_links::GetLinks;
pub use get_note::GetNote;
pub use history::{History, Undo};
pub use list_notes::ListNotes;
pub use list_tags::ListTags;
pub use manage_frontmatter::ManageFrontmatter;
pub use manage_tags::ManageTags;
pub use move_note::MoveNote;
pub use open_in_ui::OpenInUi;
pub use patch_note::PatchNote;
pub use replace_in_note::ReplaceInNote;
pub use search_notes::SearchNotes;
pub use whole_vault::{HealthCheck, PeriodicNote};
pub use write_note::WriteNote;
