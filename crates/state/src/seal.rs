//! A seal is a short hash that lies beside each row. SQLite notices damage to its own structure, not to the text that it
//! holds; with the seal a step that is not what was written is an error and never a changed sentence.

/// The hash of some fields, each with its length in front, so that no text can pass for two.
pub fn seal(fields: &[&[u8]]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for field in fields {
        hasher.update(&(field.len() as u64).to_le_bytes());
        hasher.update(field);
    }
    let mut short = [0; 16];
    for (to, from) in short.iter_mut().zip(hasher.finalize().as_bytes()) {
        *to = *from;
    }
    short
}

/// An optional text as a field: nothing is not the same as an empty text.
pub fn optional(text: Option<&str>) -> Vec<u8> {
    match text {
        Some(text) => [b"+", text.as_bytes()].concat(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_have_the_same_fields_by_chance() {
        assert_ne!(seal(&[b"ab", b"c"]), seal(&[b"a", b"bc"]));
        assert_ne!(seal(&[&optional(None)]), seal(&[&optional(Some(""))]));
    }
}
