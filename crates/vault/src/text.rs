//! A text that many hold: one pointer wide, counted, and freed with the last who holds it.
//!
//! The catalog has millions of them (link targets, tags, properties), and an `Arc<str>` is twice as wide. Queries hold the
//! same texts, so that a value of a note is not copied to be compared.

/// A shared text.
pub type Text = arcstr::ArcStr;
