//! The commands, a file for each family. Each takes a [`Door`](crate::door::Door) and what was typed.

pub mod audit;
pub mod check;
pub mod embed;
pub mod find;
pub mod help;
pub mod history;
pub mod init;
pub mod query;
pub mod rank;
pub mod read;
pub mod tool;
pub mod undo;
pub mod write;
