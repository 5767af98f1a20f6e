//! Foreign tools: Verger as a client of other MCP servers.
//!
//! [`Foreign`] knows the servers (from `config.toml`, from `mcp.json` beside it, and from a `.mcp.json` in the vault
//! once a person trusted it), starts them when they are first needed, and gives them up when they idle. The four tools
//! in `crate::mcp` plan; everything here happens only when the road fires an action. Nothing that a server says
//! becomes part of a message in Verger's own words: results, descriptions and errors are given back as text from
//! outside. Deliberately not here: policy, approval and audit (the road), where the files lie (`verger`).

pub mod assertion;
pub mod careful;
pub mod connection;
mod events;
pub mod handler;
pub mod http;
mod legacy;
pub mod oauth;
pub mod pins;
pub mod process;
pub mod result;
pub mod server;
pub mod servers;
pub mod sse;
pub mod stdio;
pub mod store;
pub mod tokens;
pub mod trouble;

pub use server::{Origin, Server, Transport};
pub use servers::{Change, Foreign, Means, Places};
pub use trouble::Trouble;

#[cfg(test)]
mod tests;
