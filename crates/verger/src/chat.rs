//! Conversations at the terminal: `verger ask` and `verger chat`.

pub mod ask;
pub mod asker;
pub mod cast;
mod markdown;
pub mod screen;
