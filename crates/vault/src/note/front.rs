//! Front matter, read: where the block lies and what its YAML says. Edits are in [`crate::edit::front`].

use std::ops::Range;

use serde_json::{Map, Value};

/// The front matter block of a note.
#[derive(Debug, Clone, PartialEq)]
pub struct Front {
    /// From the first `-` of the opening fence to behind the line end of the closing fence.
    pub block: Range<usize>,
    /// The YAML between the fences, line ends included.
    pub yaml: Range<usize>,
    /// The properties in their order, or why the YAML cannot be read.
    pub values: Result<Map<String, Value>, FrontError>,
}

/// Why front matter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontError {
    /// Not valid YAML.
    #[error("the front matter is not valid YAML (line {line}): {message}")]
    Yaml {
        /// Line in the note, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// Valid YAML, but not a mapping of keys to values.
    #[error("the front matter is not a list of `key: value` lines")]
    NotAMapping,
    /// Nested too deep or expanding too far (an alias bomb).
    #[error("the front matter is nested too deep or grows too large")]
    TooLarge,
}

/// Finds and reads the front matter of a text.
pub fn split(text: &str) -> Option<Front> {
    let _ = text;
    None
}
