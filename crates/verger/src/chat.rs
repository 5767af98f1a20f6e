//! Conversations at the terminal: `verger ask` and `verger chat`.

pub mod ask;
pub mod asker;
pub mod cast;
mod editor;
mod keys;
mod markdown;
pub mod room;
pub mod screen;
