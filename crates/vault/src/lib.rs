//! A Markdown vault on disk: read it, find in it, plan a change, commit it safely, take it back.
//!
//! Called by `pipeline` (which owns the one [`Vault`] and hands out scoped views) and, through views, by `tools`.
//! Deliberately not here: models, networks, approval, audit. Plain synchronous code, useful alone.

mod arrears;
pub mod canvas;
pub mod catalog;
pub mod change;
pub mod commit;
pub mod disk;
pub mod edit;
pub mod error;
pub mod files;
pub mod finder;
pub mod health;
pub mod index;
pub mod links;
pub mod meaning;
pub mod moment;
pub mod moves;
pub mod note;
pub mod past;
pub mod path;
pub mod periodic;
pub mod policy;
pub mod query;
pub mod recover;
pub mod restore;
mod rules;
pub mod search;
mod sights;
pub mod store;
pub mod template;
pub mod text;
pub mod vault;
pub mod view;
pub mod watch;

pub use change::Change;
pub use error::Error;
pub use path::{PathError, VaultFolder, VaultPath};
pub use vault::Vault;
pub use view::View;
