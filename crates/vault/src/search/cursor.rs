//! Where a page of matches ended. It names a place, not a count, so it stays right when files come and go.

use std::fmt;
use std::str::FromStr;

use super::Match;
use crate::error::Error;
use crate::path::VaultPath;

/// A place between two matches; as text, `LINE:PATH`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    path: VaultPath,
    line: usize,
}

impl Cursor {
    pub(super) fn behind(last: &Match) -> Cursor {
        Cursor { path: last.path.clone(), line: last.line }
    }

    /// The file in which the page ended.
    pub(crate) fn path(&self) -> &VaultPath {
        &self.path
    }

    /// The first line of a file that lies behind the place; nothing if none can.
    pub(super) fn first_line(&self, path: &VaultPath) -> Option<usize> {
        match path.cmp(&self.path) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(self.line.saturating_add(1)),
            std::cmp::Ordering::Greater => Some(1),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.path)
    }
}

impl FromStr for Cursor {
    type Err = Error;
    fn from_str(text: &str) -> Result<Cursor, Error> {
        let parts = text.split_once(':');
        let place = parts.and_then(|(line, path)| Some((line.parse().ok()?, VaultPath::parse(path).ok()?)));
        let Some((line, path)) = place else {
            return Err(Error::Edit {
                reason: "cursor_invalid",
                message: format!(
                    "{:?} is not a place where a page ended",
                    text.chars().take(80).collect::<String>()
                ),
                hint: "pass `next` of the page before as it came, or leave it out for the first page"
                    .to_owned(),
                candidates: Vec::new(),
            });
        };
        Ok(Cursor { path, line })
    }
}
