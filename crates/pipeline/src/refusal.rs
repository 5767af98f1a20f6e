//! A refusal: an answer that names the reason, what would be allowed, and the next move.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Why a call was not carried out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refusal {
    /// The reason code, e.g. `path_forbidden`.
    pub reason: Cow<'static, str>,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// More about it: paths, candidates, scopes.
    #[serde(skip_serializing_if = "is_empty")]
    pub data: Box<Map<String, Value>>,
}

fn is_empty(data: &Map<String, Value>) -> bool {
    data.is_empty()
}

impl Refusal {
    /// A refusal for this reason.
    pub fn new(
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Refusal {
        Refusal { reason: reason.into(), message: message.into(), hint: hint.into(), data: Box::default() }
    }

    /// The same with one more fact about it.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Serialize) -> Refusal {
        self.data.insert(key.to_owned(), serde_json::to_value(value).unwrap_or(Value::Null));
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}. {}", self.reason, self.message, self.hint)
    }
}

impl std::error::Error for Refusal {}

impl From<vault::Error> for Refusal {
    fn from(error: vault::Error) -> Refusal {
        let refusal = Refusal::new(error.reason(), error.to_string(), error.hint());
        match &error {
            vault::Error::Missing { path, near } => refusal.with("path", path).with("suggestions", near),
            vault::Error::Forbidden { path, subreason, allowed } => refusal
                .with("path", path)
                .with("op", "read")
                .with("subreason", subreason)
                .with("activeScope", allowed),
            vault::Error::Exists { path }
            | vault::Error::IsFolder { path }
            | vault::Error::NotAFolder { path }
            | vault::Error::Symlink { path }
            | vault::Error::Special { path }
            | vault::Error::Binary { path, .. }
            | vault::Error::Stale { path }
            | vault::Error::NotEmpty { path }
            | vault::Error::TooLarge { path, .. } => refusal.with("path", path),
            vault::Error::Edit { candidates, .. } if !candidates.is_empty() => {
                refusal.with("candidates", json!(candidates))
            }
            _ => refusal,
        }
    }
}

/// The name among `names` that was most likely meant, if one is close.
pub fn nearest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    names
        .into_iter()
        .map(|name| (distance(&given.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= (name.len().max(given.len()) / 3).max(1))
        .min()
        .map(|(_, name)| name)
}

/// Edits between two names (Levenshtein); names are short, longer texts are cut.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_suggested_and_a_far_one_is_not() {
        assert_eq!(nearest("raed_file", ["read_file", "write_file"]), Some("read_file"));
        assert_eq!(nearest("Path", ["path", "content"]), Some("path"));
        assert_eq!(nearest("zzz", ["path", "content"]), None);
    }
}
