//! The commands, a file for each family. Each takes a [`Door`](crate::door::Door) and what was typed.

pub mod agents;
pub mod audit;
pub mod check;
pub mod dev;
pub mod embed;
pub mod find;
pub mod help;
pub mod history;
pub mod init;
pub mod query;
pub mod query_base;
pub mod rank;
pub mod read;
pub mod servers;
pub mod sessions;
pub mod skills;
pub mod tool;
pub mod trust;
pub mod undo;
pub mod write;
