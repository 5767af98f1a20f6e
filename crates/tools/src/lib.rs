//! Verger's tools, one file each. A tool reads through a view and returns a plan; it never acts.
//!
//! [`table::all`] lists them; the command line, `docs/tools.md`, the MCP listing and the web page follow from it.
//! Deliberately not here: policy, approval, checkpoints, audit (the road does them for every tool alike).

pub mod agent;
pub mod chat;
mod clock;
pub mod edit;
pub mod egress;
pub mod foreign;
pub mod mcp;
pub mod obsidian;
mod page;
pub mod read;
pub mod table;
pub mod vault;
mod window;

#[cfg(test)]
mod tests;
