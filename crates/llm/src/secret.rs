//! A key that can be sent and never shown.

use std::fmt;

/// A key. It has no `Display`, and its `Debug` shows nothing of it; only [`crate::http`] takes it out.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key as it was given; spaces and line ends around it are a slip of whoever pasted it.
    pub fn new(text: &str) -> Secret {
        Secret(text.trim().to_owned())
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key itself, for the header of a request.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text without the key: services like to quote it in their errors.
    pub(crate) fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([key])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = Secret::new(" sk-12345\n");
        assert_eq!(format!("{key:?} {key:#?}"), "Secret([key]) Secret([key])");
        assert_eq!(key.scrub("the key sk-12345 is wrong"), "the key [key] is wrong");
        assert_eq!(Secret::new("").scrub("as it was"), "as it was");
        assert_eq!(key.reveal(), "sk-12345");
    }
}
