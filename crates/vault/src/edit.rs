//! Edits, planned: each function takes a note's text and returns the new text, or says why not. Nothing here writes.

pub mod base;
pub mod chat_note;
pub mod front;
pub mod patch;
pub mod relink;
pub mod replace;
pub mod section;
pub mod tags;
