//! A Markdown vault on disk: read it, find in it, plan a change, commit it safely, take it back.
//!
//! Called by `pipeline` (which owns the one [`Vault`] and hands out scoped views) and, through views, by `tools`.
//! Deliberately not here: models, networks, approval, audit. Plain synchronous code, useful alone.

pub mod canvas;
pub mod catalog;
pub mod edit;
pub mod error;
pub mod files;
pub mod health;
pub mod links;
pub mod moment;
pub mod note;
pub mod path;
pub mod periodic;
pub mod search;
pub mod watch;

pub use error::Error;
pub use path::{PathError, VaultFolder, VaultPath};
