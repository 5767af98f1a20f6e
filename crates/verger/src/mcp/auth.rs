//! Who may come in over HTTP, and what they may do there.
//!
//! A bearer token of our own, a signed token with a shared secret, or one of an authorization server. Called by
//! `http/gate.rs` for every request. A token is compared and forgotten: it is in no log and no message.

pub mod jwt;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use pipeline::Effect;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use super::keys::Keys;
use jwt::Expected;

/// The longest token that is looked at.
const LONGEST: usize = 16 * 1024;

/// As whom a request came in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    id: Arc<str>,
    /// What the token covers; everything, if it says nothing about it.
    scopes: Option<Arc<BTreeSet<String>>>,
}

impl Principal {
    /// Whoever started us, or holds the one token: may do what the connection may.
    pub fn local() -> Principal {
        Principal { id: "".into(), scopes: None }
    }

    /// Somebody with a token that names its scopes.
    pub fn with_scopes(id: String, scopes: BTreeSet<String>) -> Principal {
        Principal { id: id.into(), scopes: Some(Arc::new(scopes)) }
    }

    /// Its name. Sessions belong to it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The client that its token names: letters, digits and a few signs, 60 at most.
    pub fn client(&self) -> Option<String> {
        let name = self.id.lines().next()?.chars();
        Some(name.filter(|c| c.is_alphanumeric() || "-_.:/".contains(*c)).take(60).collect())
    }

    /// Whether no scope limits it.
    pub fn is_unbounded(&self) -> bool {
        self.scopes.is_none()
    }

    /// Whether it may call this tool.
    pub fn may_call(&self, tool: &str, effect: Effect) -> bool {
        self.holds(&tool_scope(tool, effect))
    }

    /// Whether it may read resources of this name.
    pub fn may_read(&self, resource: &str) -> bool {
        self.holds(&format!("resource:{resource}:read"))
    }

    fn holds(&self, scope: &str) -> bool {
        self.scopes.as_ref().is_none_or(|scopes| scopes.contains(scope))
    }
}

/// The scope that a call of this tool needs.
pub fn tool_scope(tool: &str, effect: Effect) -> String {
    let level = match (tool, effect) {
        // It opens a window on the person's screen.
        ("obsidian_open_in_ui", _) | (_, Effect::Edits) => "write",
        (_, Effect::Acts) => "admin",
        (_, Effect::Answers | Effect::Steers) => "read",
    };
    format!("tool:{tool}:{level}")
}

/// Why somebody is not let in. The words go to the client; they never hold anything of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwelcome {
    /// There is no token.
    Missing,
    /// It is not one that counts here, and why.
    Invalid(&'static str),
    /// It cannot be judged now, and why.
    Undecided(&'static str),
}

impl fmt::Display for Unwelcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unwelcome::Missing => out.write_str("a bearer token is needed"),
            Unwelcome::Invalid(why) | Unwelcome::Undecided(why) => out.write_str(why),
        }
    }
}

/// How people show who they are.
pub enum Auth {
    /// Not at all. Only for addresses that nobody else can reach.
    Off,
    /// With one token, of which only a keyed hash is kept.
    Token(TokenHash),
    /// With a token signed with a shared secret.
    Jwt {
        /// The secret.
        secret: hmac::Key,
        /// What else must be true of it.
        expected: Expected,
    },
    /// With a token of an authorization server.
    Issued {
        /// Its public keys.
        keys: Keys,
        /// What else must be true of the token.
        expected: Expected,
    },
}

impl Auth {
    /// As whom somebody with this `Authorization` header comes in. `now` is in seconds since 1970.
    pub async fn admit(&self, header: Option<&[u8]>, now: i64) -> Result<Principal, Unwelcome> {
        if let Auth::Off = self {
            return Ok(Principal::local());
        }
        let token = header.and_then(bearer).ok_or(Unwelcome::Missing)?;
        if token.len() > LONGEST {
            return Err(Unwelcome::Invalid("the token is too long"));
        }
        match self {
            Auth::Off => Ok(Principal::local()),
            Auth::Token(hash) if hash.fits(token) => Ok(Principal::local()),
            Auth::Token(_) => Err(Unwelcome::Invalid("the token is not the one of this server")),
            Auth::Jwt { secret, expected } => {
                let unsure = jwt::Unsure::read(token)?;
                unsure.signed_with_secret(secret)?;
                unsure.claims(expected, now)
            }
            Auth::Issued { keys, expected } => {
                let unsure = jwt::Unsure::read(token)?;
                let key = keys.find(unsure.key_id(), now).await?;
                unsure.signed_with_key(&key)?;
                unsure.claims(expected, now)
            }
        }
    }
}

/// The token behind `Bearer`.
fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = header.split_at_checked(7)?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

/// A keyed hash of the one token. Comparing takes as long for a good guess as for a bad one.
pub struct TokenHash {
    key: hmac::Key,
    tag: hmac::Tag,
}

impl TokenHash {
    /// The hash of this token, under a key that nobody knows.
    pub fn of(token: &str) -> Option<TokenHash> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &chance()?);
        let tag = hmac::sign(&key, token.as_bytes());
        Some(TokenHash { key, tag })
    }

    fn fits(&self, token: &[u8]) -> bool {
        hmac::verify(&self.key, token, self.tag.as_ref()).is_ok()
    }
}

/// 256 bits that nobody can guess; `None` if the machine has none to give.
pub fn chance() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}

/// A new token: 256 bits in 43 letters.
pub fn new_token() -> Option<String> {
    chance().map(|bytes| jwt::encode(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn admit(auth: &Auth, header: Option<&str>) -> Result<Principal, Unwelcome> {
        auth.admit(header.map(str::as_bytes), 0).await
    }

    #[tokio::test]
    async fn only_the_one_token_opens() {
        let token = new_token().unwrap();
        assert_eq!(token.len(), 43);
        assert_ne!(token, new_token().unwrap());
        let auth = Auth::Token(TokenHash::of(&token).unwrap());
        assert_eq!(admit(&auth, Some(&format!("Bearer {token}"))).await, Ok(Principal::local()));
        assert_eq!(admit(&auth, Some(&format!("bearer  {token} "))).await, Ok(Principal::local()));
        assert_eq!(admit(&auth, None).await, Err(Unwelcome::Missing));
        for header in ["", "Bearer", "Bearer ", "Basic eDp5", &token] {
            assert_eq!(admit(&auth, Some(header)).await, Err(Unwelcome::Missing), "{header}");
        }
        for wrong in [&token[1..], &format!("{token}x"), "x", &"x".repeat(LONGEST + 1)] {
            let answer = admit(&auth, Some(&format!("Bearer {wrong}"))).await;
            assert!(matches!(answer, Err(Unwelcome::Invalid(_))), "{answer:?}");
        }
    }

    #[test]
    fn a_scope_covers_one_tool_at_one_level() {
        let scopes = ["tool:read_file:read", "tool:write_file:read", "resource:tags:read"];
        let who = Principal::with_scopes("c".to_owned(), scopes.map(str::to_owned).into());
        assert!(who.may_call("read_file", Effect::Answers));
        assert!(!who.may_call("read_files", Effect::Answers));
        assert!(!who.may_call("write_file", Effect::Edits), "reading is not writing");
        assert!(who.may_read("tags") && !who.may_read("note"));
        assert_eq!(tool_scope("shell", Effect::Acts), "tool:shell:admin");
        assert_eq!(tool_scope("obsidian_open_in_ui", Effect::Answers), "tool:obsidian_open_in_ui:write");
        assert!(Principal::local().may_call("anything", Effect::Acts));
    }
}
