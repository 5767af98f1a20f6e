//! Signed tokens (JSON Web Token, RFC 7519): whether one was signed by whom we trust, and what it says.
//!
//! Three algorithms and no more: HS256 where a secret is shared, RS256 and ES256 where keys are published. Which of
//! them may count is said by the server's settings and the key, never by the token.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::{hmac, signature};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Principal, Unwelcome};

/// By how much clocks may differ, in seconds.
const LEEWAY: i64 = 60;

/// What must be true of a token besides its signature.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Who made it.
    pub issuer: Option<String>,
    /// For whom it was made.
    pub audience: Option<String>,
    /// Whether scopes are looked at.
    pub scopes: Scopes,
}

/// Whether scopes are looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scopes {
    /// A token reaches as far as its scopes.
    #[default]
    Checked,
    /// Whoever comes in may do what the connection may.
    Ignored,
}

/// A published key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// For RS256.
    Rsa {
        /// The modulus.
        n: Vec<u8>,
        /// The exponent.
        e: Vec<u8>,
    },
    /// For ES256: the point on P-256, uncompressed.
    P256(Vec<u8>),
}

impl PublicKey {
    /// A key of a published set, with its name; `None` for keys that are not for us.
    pub fn of(key: &Map<String, Value>) -> Option<(Option<String>, PublicKey)> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let bytes = |name: &str| text(name).and_then(|text| decode(text.as_bytes()));
        if text("use").is_some_and(|usage| usage != "sig") {
            return None;
        }
        let public = match (text("kty")?, text("alg")) {
            ("RSA", None | Some("RS256")) => PublicKey::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", None | Some("ES256")) if text("crv") == Some("P-256") => {
                let (x, y) = (bytes("x")?, bytes("y")?);
                (x.len() == 32 && y.len() == 32).then(|| PublicKey::P256([&[4][..], &x, &y].concat()))?
            }
            _ => return None,
        };
        Some((text("kid").map(str::to_owned), public))
    }
}

/// A token that was taken apart and not believed yet.
pub struct Unsure<'t> {
    header: Header,
    signed: &'t [u8],
    claims: Vec<u8>,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

impl<'t> Unsure<'t> {
    /// Takes a token apart.
    pub fn read(token: &'t [u8]) -> Result<Unsure<'t>, Unwelcome> {
        Unsure::parts(token).ok_or(Unwelcome::Invalid("the token is not a signed token"))
    }

    fn parts(token: &'t [u8]) -> Option<Unsure<'t>> {
        let mut dots = token.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
        let (first, second) = (dots.next()?, dots.next()?);
        if dots.next().is_some() {
            return None;
        }
        let header: Header = serde_json::from_slice(&decode(token.get(..first)?)?).ok()?;
        // What is critical and not understood must be refused, and we understand none.
        header.crit.is_none().then_some(())?;
        Some(Unsure {
            header,
            signed: token.get(..second)?,
            claims: decode(token.get(first + 1..second)?)?,
            signature: decode(token.get(second + 1..)?)?,
        })
    }

    /// Which key it names.
    pub fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// Whether it was signed with this secret.
    pub fn signed_with_secret(&self, secret: &hmac::Key) -> Result<(), Unwelcome> {
        if self.header.alg != "HS256" {
            return Err(Unwelcome::Invalid("the token is not signed with HS256"));
        }
        hmac::verify(secret, self.signed, &self.signature).map_err(|_| WRONG_SIGNATURE)
    }

    /// Whether it was signed with the other half of this key.
    pub fn signed_with_key(&self, key: &PublicKey) -> Result<(), Unwelcome> {
        match (self.header.alg.as_str(), key) {
            ("RS256", PublicKey::Rsa { n, e }) => signature::RsaPublicKeyComponents { n, e }
                .verify(&signature::RSA_PKCS1_2048_8192_SHA256, self.signed, &self.signature)
                .map_err(|_| WRONG_SIGNATURE),
            ("ES256", PublicKey::P256(point)) => {
                signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point)
                    .verify(self.signed, &self.signature)
                    .map_err(|_| WRONG_SIGNATURE)
            }
            // A token that names another kind of signature than its key has is a forgery.
            _ => Err(Unwelcome::Invalid("the token's algorithm is not the one of its key")),
        }
    }

    /// As whom its holder comes in, if it holds now. To be called after its signature was found good.
    pub fn claims(&self, expected: &Expected, now: i64) -> Result<Principal, Unwelcome> {
        let claims: Map<String, Value> = serde_json::from_slice(&self.claims)
            .map_err(|_| Unwelcome::Invalid("the token says nothing that can be read"))?;
        check_time(&claims, now)?;
        check_people(&claims, expected)?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let client = text("cid")
            .or(text("client_id"))
            .ok_or(Unwelcome::Invalid("the token names no client (`cid` or `client_id`)"))?;
        let scopes = scopes(&claims);
        if scopes.is_empty() {
            return Err(Unwelcome::Invalid("the token has no scopes"));
        }
        let tenant = text("tid").unwrap_or_default();
        let id = format!("{client}\n{tenant}\n{}", text("sub").unwrap_or_default());
        Ok(match expected.scopes {
            Scopes::Checked => Principal::with_scopes(id, scopes),
            Scopes::Ignored => Principal { id: id.into(), scopes: None },
        })
    }
}

const WRONG_SIGNATURE: Unwelcome = Unwelcome::Invalid("the token's signature is wrong");

fn check_time(claims: &Map<String, Value>, now: i64) -> Result<(), Unwelcome> {
    // A time need not be whole; what is no number is no time.
    let time = |name: &str| claims.get(name).map(|value| value.as_f64().ok_or(()));
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
    let (now, leeway) = (now as f64, LEEWAY as f64);
    match time("exp") {
        Some(Ok(end)) if now < end + leeway => {}
        Some(Ok(_)) => return Err(Unwelcome::Invalid("the token has expired")),
        _ => return Err(Unwelcome::Invalid("the token has no end (`exp`)")),
    }
    match time("nbf") {
        None => Ok(()),
        Some(Ok(begin)) if begin <= now + leeway => Ok(()),
        Some(_) => Err(Unwelcome::Invalid("the token does not hold yet")),
    }
}

fn check_people(claims: &Map<String, Value>, expected: &Expected) -> Result<(), Unwelcome> {
    if let Some(issuer) = &expected.issuer
        && claims.get("iss").and_then(Value::as_str) != Some(issuer)
    {
        return Err(Unwelcome::Invalid("the token was made by somebody else (`iss`)"));
    }
    if let Some(audience) = &expected.audience {
        let found = match claims.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(many)) => many.iter().any(|one| one.as_str() == Some(audience)),
            _ => false,
        };
        if !found {
            return Err(Unwelcome::Invalid("the token was made for somebody else (`aud`)"));
        }
    }
    Ok(())
}

/// Everything that the token names as a scope, wherever it does so.
fn scopes(claims: &Map<String, Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in ["scp", "scope", "mcp_tool_scopes"] {
        match claims.get(name) {
            Some(Value::String(words)) => found.extend(words.split_whitespace().map(str::to_owned)),
            Some(Value::Array(many)) => {
                let words = many.iter().filter_map(Value::as_str).filter(|word| !word.is_empty());
                found.extend(words.map(str::to_owned));
            }
            _ => {}
        }
    }
    found
}

/// Bytes as letters for addresses and headers.
pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests;
