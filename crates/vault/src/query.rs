//! Questions to a vault in the query languages that people know from Obsidian.
//!
//! Called by the query tools and by the command `query`. A query sees the vault through a view, so what may not be read
//! is absent from its rows, its links and its counts. Nothing here writes. Text search is in [`crate::search`].

pub mod bases;
pub mod dql;
pub mod jsonlogic;
