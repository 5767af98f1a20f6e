//! Front matter, read: where the block lies and what its YAML says. Edits are in [`crate::edit::front`].
//!
//! Called by [`crate::note::parse`] for every note, so it is one pass and gives up early on hostile YAML.
//! The YAML itself is read in `yaml.rs`.

mod simple;
pub(crate) mod yaml;

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

/// Finds and reads the front matter of a text. A byte order mark in front of it is tolerated.
pub fn split(text: &str) -> Option<Front> {
    let (block, yaml, fence) = bounds(text)?;
    let written = &text[yaml.clone()];
    let values = match simple::read(written) {
        Some(values) => Ok(values),
        None => yaml::read(written).map(|document| document.values),
    };
    // Prose under a rule may well hold a line of three dots: dots close a block only if it reads as one.
    if fence == "..." && values.is_err() {
        return None;
    }
    Some(Front { block, yaml, values })
}

/// Whether the text opens a block with `---` and a `key:` line, but never closes it.
pub(crate) fn is_left_open(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines();
    if lines.next().is_none_or(|line| fence(line) != Some("---")) || bounds(text).is_some() {
        return false;
    }
    let first = lines.find(|line| !line.trim().is_empty()).unwrap_or("");
    first.split_once(':').is_some_and(|(key, rest)| {
        !key.is_empty() && !key.contains([' ', '\t']) && (rest.trim().is_empty() || rest.starts_with(' '))
    })
}

/// The block, the YAML in it, and the fence that closes it.
fn bounds(text: &str) -> Option<(Range<usize>, Range<usize>, &'static str)> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let open = line_end(text, start)?;
    if fence(&text[start..open]) != Some("---") {
        return None;
    }
    let mut at = open;
    while at < text.len() {
        let end = line_end(text, at).unwrap_or(text.len());
        if let Some(fence) = fence(&text[at..end]) {
            return Some((start..end, open..at, fence));
        }
        at = end;
    }
    None
}

/// Byte behind the line feed that ends the line at `from`.
fn line_end(text: &str, from: usize) -> Option<usize> {
    memchr::memchr(b'\n', &text.as_bytes()[from..]).map(|found| from + found + 1)
}

fn fence(line: &str) -> Option<&'static str> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    match line.strip_suffix('\r').unwrap_or(line).trim_end_matches([' ', '\t']) {
        "---" => Some("---"),
        "..." => Some("..."),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
