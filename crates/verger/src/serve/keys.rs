//! Login links and cookies: both are signed with a key that lies in the data folder, readable by its owner only.
//!
//! A link holds a token that counts once, for ten minutes, and only at a server that ran already when it was made: what
//! was used is remembered until it would have ended anyway. A cookie counts for 30 days and outlives a restart.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use pipeline::World as _;
use ring::hmac;
use tools::foreign::store::JsonFile;

use crate::failure::{Exit, Failure};
use crate::mcp::auth;
use crate::place::{self, Place};
use crate::world::RealWorld;

/// The key's file in the data folder.
const FILE: &str = "web-key";
/// The file of cookies that were given back.
const GONE: &str = "web-gone.json";
/// How long a link counts, in seconds.
const LINK: i64 = 600;
/// How long a cookie counts, in seconds.
pub const COOKIE: i64 = 30 * 24 * 3_600;
/// Wrong tokens in a minute before nobody is listened to.
const TRIES: usize = 10;
/// In seconds.
const MINUTE: i64 = 60;

/// What a signed word is for; one is never taken for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Link,
    Cookie,
    Token,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwelcome {
    /// The token is none of ours, was used, or is too old.
    Stale,
    /// Too many wrong ones came.
    Wait,
}

/// The key and what was done with it.
pub struct Keys {
    key: hmac::Key,
    /// When this process took the key up. Which links an earlier one took is not known, so those made before count no more.
    since: i64,
    state: Mutex<State>,
    /// Cookies that were given back, by their hash, with the time when they would have ended.
    gone: JsonFile,
}

#[derive(Default)]
struct State {
    /// Tokens that were used, with the time when they would have ended.
    spent: HashMap<String, i64>,
    /// Hashes of cookies that were given back.
    gone: BTreeMap<String, i64>,
    /// When wrong tokens came.
    wrong: VecDeque<i64>,
}

impl Keys {
    /// The key of this vault; it is made when there is none.
    pub fn open(place: &Place) -> Result<Keys, Failure> {
        let fresh = auth::new_token().ok_or_else(no_chance)?;
        place::make_data(place)?;
        let mut keys = Keys::from_secret(&place::secret(&place.data.join(FILE), &fresh)?);
        keys.gone = JsonFile::at(place.data.join(GONE));
        // What cannot be read stops the start: a cookie that was given back must not count again.
        let gone = keys.gone.read().map_err(|why| {
            Failure::new(
                Exit::Failed,
                "state",
                why.to_string(),
                "mend it, or remove it together with web-key",
            )
        })?;
        keys.state().gone = gone;
        Ok(keys)
    }

    pub(super) fn from_secret(secret: &str) -> Keys {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        Keys { key, since: now(), state: Mutex::default(), gone: JsonFile::in_memory() }
    }

    /// The hash of an access token under this key.
    pub fn tag(&self, token: &str) -> String {
        BASE64.encode(hmac::sign(&self.key, &sealed(Purpose::Token, token)).as_ref())
    }

    /// Whether this is the hash of that token. It takes as long for a good guess as for a bad one.
    pub fn is_tag(&self, token: &str, tag: &str) -> bool {
        let tag = BASE64.decode(tag).unwrap_or_default();
        hmac::verify(&self.key, &sealed(Purpose::Token, token), &tag).is_ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A login link to the page at this address. The token stands behind `#`, so it is in no request line and no log.
    pub fn link(&self, base: &str) -> Result<String, Failure> {
        let token = self.sign(Purpose::Link, now() + LINK).ok_or_else(no_chance)?;
        Ok(format!("{base}/login#{token}"))
    }

    /// Takes a login token, once, and gives the cookie for it.
    pub fn log_in(&self, token: &str) -> Result<String, Unwelcome> {
        self.log_in_at(token, now())
    }

    fn log_in_at(&self, token: &str, now: i64) -> Result<String, Unwelcome> {
        {
            let mut state = self.state();
            state.tidy(now);
            let end = self.end_of(Purpose::Link, token);
            let counts = end.filter(|end| *end > now && *end <= now + LINK && *end - LINK >= self.since);
            let unused = counts.filter(|_| !state.spent.contains_key(token));
            // A right one always counts: nobody is locked out by the guesses of others.
            let Some(end) = unused else {
                if state.wrong.len() >= TRIES {
                    return Err(Unwelcome::Wait);
                }
                state.wrong.push_back(now);
                return Err(Unwelcome::Stale);
            };
            state.spent.insert(token.to_owned(), end);
        }
        self.sign(Purpose::Cookie, now + COOKIE).ok_or(Unwelcome::Wait)
    }

    /// Whether a cookie counts.
    pub fn is_cookie(&self, cookie: &str) -> bool {
        let counts = self.end_of(Purpose::Cookie, cookie).is_some_and(|end| end > now());
        counts && !self.state().gone.contains_key(&self.tag(cookie))
    }

    /// A cookie that was given back counts no longer, after a restart neither.
    pub fn log_out(&self, cookie: &str) -> Result<(), Failure> {
        let Some(end) = self.end_of(Purpose::Cookie, cookie) else { return Ok(()) };
        let (tag, now) = (self.tag(cookie), now());
        self.state().gone.insert(tag.clone(), end);
        let kept = self.gone.change(|gone: &mut BTreeMap<String, i64>| {
            gone.retain(|_, end| *end > now);
            gone.insert(tag, end);
        });
        kept.map_err(|why| {
            let hint =
                "until the server ends you are logged out; make room on the disk and log out once more";
            Failure::new(Exit::Failed, "state", why.to_string(), hint)
        })
    }

    fn sign(&self, purpose: Purpose, end: i64) -> Option<String> {
        let body = format!("{end}.{}", auth::new_token()?);
        let seal = hmac::sign(&self.key, &sealed(purpose, &body));
        Some(format!("{body}.{}", BASE64.encode(seal.as_ref())))
    }

    /// When something that we signed ends.
    fn end_of(&self, purpose: Purpose, text: &str) -> Option<i64> {
        if text.len() > 512 {
            return None;
        }
        let (body, seal) = text.rsplit_once('.')?;
        let seal = BASE64.decode(seal).ok()?;
        hmac::verify(&self.key, &sealed(purpose, body), &seal).ok()?;
        body.split_once('.')?.0.parse().ok()
    }
}

impl State {
    fn tidy(&mut self, now: i64) {
        self.spent.retain(|_, end| *end > now);
        while self.wrong.front().is_some_and(|time| *time + MINUTE <= now) {
            self.wrong.pop_front();
        }
    }
}

fn sealed(purpose: Purpose, body: &str) -> Vec<u8> {
    let word = match purpose {
        Purpose::Link => "link",
        Purpose::Cookie => "cookie",
        Purpose::Token => "token",
    };
    format!("verger web {word}\n{body}").into_bytes()
}

fn now() -> i64 {
    RealWorld.moment().as_second()
}

fn no_chance() -> Failure {
    Failure::new(Exit::Failed, "internal", "the machine has no random numbers to give", "start it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(keys: &Keys) -> String {
        keys.link("http://x").unwrap().rsplit_once('#').unwrap().1.to_owned()
    }

    #[test]
    fn a_link_counts_once_and_a_cookie_until_it_is_given_back() {
        let keys = Keys::from_secret(&"k".repeat(40));
        let token = token(&keys);
        let cookie = keys.log_in(&token).unwrap();
        assert!(keys.is_cookie(&cookie));
        assert_eq!(keys.log_in(&token), Err(Unwelcome::Stale));
        assert!(!keys.is_cookie(&token), "a link is no cookie");
        assert_eq!(keys.log_in(&cookie), Err(Unwelcome::Stale), "a cookie is no link");
        keys.log_out(&cookie).unwrap();
        assert!(!keys.is_cookie(&cookie));
    }

    #[test]
    fn a_cookie_outlives_a_restart_and_no_other_key() {
        let (keys, again) = (Keys::from_secret(&"k".repeat(40)), Keys::from_secret(&"k".repeat(40)));
        let cookie = keys.log_in(&token(&keys)).unwrap();
        assert!(again.is_cookie(&cookie));
        assert!(!Keys::from_secret(&"o".repeat(40)).is_cookie(&cookie));
        let mut torn = cookie.clone();
        torn.replace_range(0..1, "9");
        assert!(!keys.is_cookie(&torn));
    }

    #[test]
    fn a_link_ends_after_ten_minutes() {
        let keys = Keys::from_secret(&"k".repeat(40));
        assert_eq!(keys.log_in_at(&token(&keys), now() + LINK), Err(Unwelcome::Stale));
        assert!(keys.log_in_at(&token(&keys), now() + LINK - 5).is_ok());
    }

    #[test]
    fn a_link_that_was_made_before_the_start_does_not_count() {
        let (earlier, mut later) = (Keys::from_secret(&"k".repeat(40)), Keys::from_secret(&"k".repeat(40)));
        later.since += 1;
        assert_eq!(later.log_in(&token(&earlier)), Err(Unwelcome::Stale));
    }

    #[test]
    fn logging_out_lasts() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { root: folder.path().into(), data: folder.path().into() };
        let keys = Keys::open(&place).unwrap();
        let (stays, goes) = (keys.log_in(&token(&keys)).unwrap(), keys.log_in(&token(&keys)).unwrap());
        keys.log_out(&goes).unwrap();
        let again = Keys::open(&place).unwrap();
        assert!(again.is_cookie(&stays) && !again.is_cookie(&goes));
    }

    #[test]
    fn whoever_guesses_has_to_wait() {
        let keys = Keys::from_secret(&"k".repeat(40));
        for _ in 0..TRIES {
            assert_eq!(keys.log_in_at("1.x.y", 1_000), Err(Unwelcome::Stale));
        }
        assert_eq!(keys.log_in_at("1.x.y", 1_001), Err(Unwelcome::Wait));
        assert!(keys.log_in(&token(&keys)).is_ok(), "a right one counts all the same");
        assert_eq!(keys.log_in_at("1.x.y", 1_000 + MINUTE), Err(Unwelcome::Stale));
    }
}
