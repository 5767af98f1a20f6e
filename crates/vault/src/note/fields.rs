//! Inline fields: `key:: value`, `[key:: value]`, `(key:: value)`.

use std::ops::Range;

use super::blocks::Blocks;

/// An inline field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The key as written, markup around it removed.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// The whole field.
    pub span: Range<usize>,
    /// The value's bytes.
    pub value_span: Range<usize>,
}

/// All inline fields, in document order.
pub fn scan(text: &str, body: usize, blocks: &Blocks) -> Vec<Field> {
    let _ = (text, body, blocks);
    Vec::new()
}
