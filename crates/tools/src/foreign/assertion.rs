//! Signed assertions (JWT, ES256): how a client without a person proves who it is. Fifteen lines of format, signed by
//! ring.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

/// How long an assertion holds, in seconds.
const HOLDS: i64 = 300;

/// What is asserted.
pub struct Claims<'c> {
    /// The client: who says it, and about whom.
    pub client: &'c str,
    /// For whom it is meant.
    pub audience: &'c str,
    /// A name that was never used before.
    pub id: &'c str,
    /// The time, in seconds.
    pub now: i64,
}

/// Signs an assertion with a P-256 key (PKCS #8 in PEM).
pub fn sign(claims: &Claims<'_>, key: &str) -> Result<String, &'static str> {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der(key)?, &random)
        .map_err(|_| "the private key is no P-256 key in PKCS #8")?;
    let body = json!({
        "iss": claims.client, "sub": claims.client, "aud": claims.audience, "jti": claims.id,
        "iat": claims.now, "exp": claims.now + HOLDS,
    });
    let signed = format!("{}.{}", part(&json!({"alg": "ES256", "typ": "JWT"})), part(&body));
    let signature = key.sign(&random, signed.as_bytes()).map_err(|_| "the private key does not sign")?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn der(pem: &str) -> Result<Vec<u8>, &'static str> {
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).map(str::trim).collect();
    STANDARD.decode(body).map_err(|_| "the private key is not in PEM")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair, UnparsedPublicKey};

    #[test]
    fn an_assertion_verifies_with_the_public_key_and_says_what_it_should() {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(document.as_ref())
        );
        let claims = Claims { client: "me", audience: "https://as.example", id: "1", now: 1_000 };
        let token = sign(&claims, &pem).unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref())
            .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
            .unwrap();
        let body = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (&body["sub"], &body["aud"], &body["exp"]),
            (&json!("me"), &json!("https://as.example"), &json!(1_300))
        );
    }

    #[test]
    fn a_key_that_is_none_is_refused() {
        let claims = Claims { client: "me", audience: "x", id: "1", now: 0 };
        assert!(sign(&claims, "not a key").is_err());
        assert!(sign(&claims, "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----").is_err());
    }
}
