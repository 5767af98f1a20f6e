//! Access tokens: what programs show instead of a cookie, at `/v1` and `/mcp`. Each has a name and says how far it reaches.
//!
//! A token is shown once. What is kept is a hash under the key of the data folder, in a file that only its owner can read,
//! so neither the file alone nor a copy of it opens anything. The file is read for every request: one that was made or revoked by
//! another process counts, or counts no longer, at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, header};
use pipeline::{Refusal, World as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::foreign::store::JsonFile;

use super::keys::Keys;
use crate::failure::{Exit, Failure};
use crate::mcp::auth;
use crate::place::Place;
use crate::world::RealWorld;

/// The file in the data folder.
const FILE: &str = "web-tokens.json";
/// How a token begins, so that people and programs that look for lost secrets know it.
const PREFIX: &str = "vgr_";
/// The longest that is looked at.
const LONGEST: usize = 256;
/// The most tokens.
const MOST: usize = 64;
/// The longest name.
const LONGEST_NAME: usize = 40;
/// Wrong tokens in a minute before the next one is told to wait.
const TRIES: usize = 20;
/// In seconds.
const MINUTE: i64 = 60;

/// How far a token reaches.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum May {
    /// Read notes through /mcp.
    Read,
    /// Talk with the agents through /v1; they read.
    Chat,
    /// Change notes: through /mcp without being asked, through /v1 as far as a grant covers it.
    Edit,
}

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    hash: String,
    may: Vec<May>,
    /// The day.
    created: String,
    /// The day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<String>,
}

type Book = BTreeMap<String, Kept>;

/// A token as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// How far it reaches.
    pub may: Vec<May>,
    /// The day on which it was made.
    pub created: String,
    /// The day on which it was last used.
    pub used: Option<String>,
}

/// Somebody with a token that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The token's name.
    pub name: String,
    may: Vec<May>,
}

impl Holder {
    /// Whether the token reaches that far.
    pub fn may(&self, what: May) -> bool {
        self.may.contains(&what)
    }
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwelcome {
    /// There is no token.
    Missing,
    /// It is none of ours, or was revoked.
    Wrong,
    /// It is wrong, and so were many before it.
    Wait,
    /// The tokens cannot be read.
    Broken,
}

/// The tokens of a vault.
pub struct Tokens {
    file: JsonFile,
    /// When wrong ones came.
    wrong: Mutex<VecDeque<i64>>,
}

impl Tokens {
    /// The tokens of this vault.
    pub fn at(place: &Place) -> Tokens {
        Tokens { file: JsonFile::at(place.data.join(FILE)), wrong: Mutex::default() }
    }

    /// Makes a token of this name and returns it; it can be seen only now.
    pub fn make(&self, keys: &Keys, name: &str, may: &[May]) -> Result<String, Failure> {
        let fits = |c: char| c.is_alphanumeric() || " -_.".contains(c);
        if name.trim() != name
            || name.is_empty()
            || name.chars().count() > LONGEST_NAME
            || !name.chars().all(fits)
        {
            let message = "a name has 1 to 40 letters, digits, spaces, `-`, `_` and `.`";
            return Err(Failure::new(Exit::Usage, "name_invalid", message, "choose another name"));
        }
        let chance = auth::new_token().ok_or_else(|| {
            Failure::new(
                Exit::Failed,
                "internal",
                "the machine has no random numbers to give",
                "start it again",
            )
        })?;
        let token = format!("{PREFIX}{chance}");
        let mut may = may.to_vec();
        may.sort_unstable();
        may.dedup();
        let kept = Kept { hash: keys.tag(&token), may, created: today(), used: None };
        let made = self.file.change(|book: &mut Book| {
            if book.contains_key(name) {
                let message = format!("there is a token `{name}` already");
                return Err(Failure::new(
                    Exit::Failed,
                    "exists",
                    message,
                    "choose another name, or revoke it",
                ));
            }
            if book.len() >= MOST {
                let message = format!("there are {MOST} tokens already");
                return Err(Failure::new(Exit::Failed, "too_many", message, "revoke one that is not used"));
            }
            book.insert(name.to_owned(), kept);
            Ok(())
        });
        made.map_err(Refusal::from)??;
        Ok(token)
    }

    /// All tokens, by name.
    pub fn list(&self) -> Result<Vec<Listed>, Failure> {
        let book: Book = self.file.read().map_err(Refusal::from)?;
        let listed = book.into_iter().map(|(name, kept)| {
            let Kept { may, created, used, .. } = kept;
            Listed { name, may, created, used }
        });
        Ok(listed.collect())
    }

    /// Revokes a token; whether there was one.
    pub fn revoke(&self, name: &str) -> Result<bool, Failure> {
        Ok(self.file.change(|book: &mut Book| book.remove(name).is_some()).map_err(Refusal::from)?)
    }

    /// Whose token these headers show. Reads a file. A right token counts also while wrong ones are told to wait, so
    /// nobody can lock others out.
    pub fn admit(&self, keys: &Keys, headers: &HeaderMap) -> Result<Holder, Unwelcome> {
        let header = headers.get(header::AUTHORIZATION).and_then(|header| header.to_str().ok());
        let token = header.and_then(bearer).ok_or(Unwelcome::Missing)?;
        self.admit_at(keys, token, RealWorld.moment().as_second())
    }

    fn admit_at(&self, keys: &Keys, token: &str, now: i64) -> Result<Holder, Unwelcome> {
        let book: Book = self.file.read().map_err(|_| Unwelcome::Broken)?;
        let fits = |kept: &Kept| token.len() <= LONGEST && keys.is_tag(token, &kept.hash);
        let Some((name, kept)) = book.into_iter().find(|(_, kept)| fits(kept)) else {
            return Err(self.guessed(now));
        };
        let today = today();
        if kept.used.as_deref() != Some(&today) {
            // The day is a convenience; the token counts.
            let used = |book: &mut Book| {
                if let Some(kept) = book.get_mut(&name) {
                    kept.used = Some(today);
                }
            };
            self.file.change(used).ok();
        }
        Ok(Holder { name, may: kept.may })
    }

    fn guessed(&self, now: i64) -> Unwelcome {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        while wrong.front().is_some_and(|time| *time + MINUTE <= now) {
            wrong.pop_front();
        }
        if wrong.len() >= TRIES {
            return Unwelcome::Wait;
        }
        wrong.push_back(now);
        Unwelcome::Wrong
    }
}

/// The token behind `Bearer`.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn today() -> String {
    RealWorld.now().date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> (Tokens, Keys) {
        let tokens = Tokens { file: JsonFile::in_memory(), wrong: Mutex::default() };
        (tokens, Keys::from_secret(&"k".repeat(40)))
    }

    #[test]
    fn a_token_counts_until_it_is_revoked_and_only_its_hash_is_kept() {
        let (tokens, keys) = tokens();
        let token = tokens.make(&keys, "my phone", &[May::Chat, May::Read, May::Chat]).unwrap();
        assert!(!tokens.file.text().unwrap().unwrap().contains(&token[4..]));
        let holder = tokens.admit_at(&keys, &token, 0).unwrap();
        assert_eq!(holder.name, "my phone");
        assert!(holder.may(May::Read) && holder.may(May::Chat) && !holder.may(May::Edit));
        assert_eq!(tokens.list().unwrap()[0].used.as_deref(), Some(today().as_str()));
        let other = Keys::from_secret(&"o".repeat(40));
        assert_eq!(tokens.admit_at(&other, &token, 0), Err(Unwelcome::Wrong), "another key, another house");
        assert!(tokens.revoke("my phone").unwrap() && !tokens.revoke("my phone").unwrap());
        assert_eq!(tokens.admit_at(&keys, &token, 0), Err(Unwelcome::Wrong));
    }

    #[test]
    fn names_are_plain_and_unique() {
        let (tokens, keys) = tokens();
        let long = "x".repeat(41);
        for name in ["", " x", "a/b", "a\nb", "<b>", long.as_str()] {
            assert_eq!(
                tokens.make(&keys, name, &[May::Read]).unwrap_err().refusal.reason,
                "name_invalid",
                "{name:?}"
            );
        }
        tokens.make(&keys, "Büro 1", &[May::Read]).unwrap();
        assert_eq!(tokens.make(&keys, "Büro 1", &[May::Read]).unwrap_err().refusal.reason, "exists");
    }

    #[test]
    fn whoever_guesses_has_to_wait_and_nobody_else() {
        let (tokens, keys) = tokens();
        let token = tokens.make(&keys, "a", &[May::Read]).unwrap();
        for _ in 0..TRIES {
            assert_eq!(tokens.admit_at(&keys, "vgr_wrong", 1_000), Err(Unwelcome::Wrong));
        }
        assert_eq!(tokens.admit_at(&keys, "vgr_wrong", 1_001), Err(Unwelcome::Wait));
        assert!(tokens.admit_at(&keys, &token, 1_001).is_ok());
        assert_eq!(tokens.admit_at(&keys, "vgr_wrong", 1_000 + MINUTE), Err(Unwelcome::Wrong));
    }

    #[test]
    fn only_a_bearer_is_one() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc "), Some("abc"));
        for none in ["", "Bearer", "Bearer ", "Basic abc", "abc"] {
            assert_eq!(bearer(none), None, "{none:?}");
        }
    }
}
