//! The chat surface: what a chat that lives in a note can call, and the two tools by which Verger itself reads and writes
//! such a note. A model is never offered the last two.

pub mod expand;
mod file_read;
pub mod read_chat;
mod vault_search;
mod write_chat;

pub use file_read::FileRead;
pub use read_chat::ReadChat;
pub use vault_search::VaultSearch;
pub use write_chat::WriteChat;

/// Tools by which Verger keeps a chat note. No agent has a right to them.
pub const KEEPERS: [&str; 2] = ["read_chat", "write_chat"];
/// Tools that a chat in a note has, whoever speaks.
pub const OFFERED: [&str; 3] = ["vault_search", "file_read", "read_result"];
