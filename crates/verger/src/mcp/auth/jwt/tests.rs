//! Tokens that hold, and all the ways in which one does not.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::*;

const NOW: i64 = 1_000_000;

fn secret() -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &[7; 32])
}

fn good() -> Value {
    json!({"iss": "https://issuer", "aud": "https://us/mcp", "sub": "ines", "client_id": "app", "exp": NOW + 100,
           "nbf": NOW - 100, "scope": "tool:read_file:read tool:write_file:write"})
}

fn token(header: &Value, claims: &Value) -> String {
    let signed =
        format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
    let tag = hmac::sign(&secret(), signed.as_bytes());
    format!("{signed}.{}", encode(tag.as_ref()))
}

fn expected() -> Expected {
    Expected {
        issuer: Some("https://issuer".to_owned()),
        audience: Some("https://us/mcp".to_owned()),
        scopes: Scopes::Checked,
    }
}

fn judge(token: &str) -> Result<Principal, Unwelcome> {
    let unsure = Unsure::read(token.as_bytes())?;
    unsure.signed_with_secret(&secret())?;
    unsure.claims(&expected(), NOW)
}

/// The good claims with one of them changed; `null` takes it away.
#[track_caller]
fn check(change: Value, answer: &str) {
    let mut claims = good();
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    let found = judge(&token(&json!({"alg": "HS256", "typ": "JWT"}), &claims));
    let found = found.map_or_else(|no| no.to_string(), |who| who.id().replace('\n', "/"));
    assert!(found.contains(answer), "{change}: {found}, not {answer}");
}

#[test]
fn a_token_holds_for_whom_and_as_long_as_it_says() {
    check(json!({}), "app//ines");
    check(json!({"cid": "other", "tid": "t"}), "other/t/ines");
    check(json!({"exp": NOW - 59}), "app");
    check(json!({"exp": NOW - 60}), "expired");
    check(json!({"exp": null}), "no end");
    check(json!({"exp": "soon"}), "no end");
    check(json!({"nbf": NOW + 60}), "app");
    check(json!({"nbf": NOW + 61}), "not hold yet");
    check(json!({"nbf": "x"}), "not hold yet");
    check(json!({"nbf": null}), "app");
    check(json!({"iss": "https://issuer/"}), "`iss`");
    check(json!({"iss": null}), "`iss`");
    check(json!({"aud": ["x", "https://us/mcp"]}), "app");
    check(json!({"aud": ["x"]}), "`aud`");
    check(json!({"aud": null}), "`aud`");
    check(json!({"client_id": null}), "no client");
    check(json!({"client_id": ""}), "no client");
    check(json!({"scope": null}), "no scopes");
    check(json!({"scope": " "}), "no scopes");
    check(json!({"scope": null, "scp": ["a"]}), "app");
    check(json!({"scope": null, "mcp_tool_scopes": ["a"]}), "app");
}

#[test]
fn scopes_are_the_union_of_the_three_claims() {
    let claims = json!({"scope": "a b", "scp": ["c"], "mcp_tool_scopes": ["b", "d", 7]});
    let found = scopes(claims.as_object().unwrap());
    assert_eq!(found.into_iter().collect::<String>(), "abcd");
}

#[test]
fn what_was_tampered_with_is_refused() {
    let whole = token(&json!({"alg": "HS256"}), &good());
    assert!(judge(&whole).is_ok());
    let parts: Vec<&str> = whole.split('.').collect();
    let forged = encode(good().to_string().replace("ines", "eve").as_bytes());
    let broken = [
        format!("{}.{forged}.{}", parts[0], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{whole}.x"),
        format!("{whole}="),
        whole[1..].to_owned(),
        String::new(),
        "..".to_owned(),
        "a.b.c".to_owned(),
    ];
    for token in broken {
        assert!(judge(&token).is_err(), "{token}");
    }
}

#[test]
fn the_token_does_not_choose_its_algorithm() {
    for alg in ["none", "None", "HS384", "RS256", "ES256", "", "hs256"] {
        assert!(judge(&token(&json!({"alg": alg}), &good())).is_err(), "{alg}");
    }
    assert!(judge(&token(&json!({"alg": "HS256", "crit": ["exp"]}), &good())).is_err());
    // The public key as the secret of an HS256 token, the old trick.
    let confused = token(&json!({"alg": "HS256"}), &good());
    let unsure = Unsure::read(confused.as_bytes()).unwrap();
    for key in [PublicKey::P256(vec![4; 65]), PublicKey::Rsa { n: vec![7; 256], e: vec![1, 0, 1] }] {
        let answer = unsure.signed_with_key(&key);
        assert!(matches!(answer, Err(Unwelcome::Invalid(why)) if why.contains("algorithm")), "{answer:?}");
    }
}

#[test]
fn es256_is_checked_against_the_published_key() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let point = pair.public_key().as_ref();
    let jwk = json!({"kty": "EC", "crv": "P-256", "kid": "k", "x": encode(&point[1..33]), "y": encode(&point[33..])});
    let (name, key) = PublicKey::of(jwk.as_object().unwrap()).unwrap();
    assert_eq!(name.as_deref(), Some("k"));
    let signed =
        format!("{}.{}", encode(br#"{"alg":"ES256","kid":"k"}"#), encode(good().to_string().as_bytes()));
    let signature = pair.sign(&random, signed.as_bytes()).unwrap();
    let token = format!("{signed}.{}", encode(signature.as_ref()));
    let unsure = Unsure::read(token.as_bytes()).unwrap();
    assert_eq!(unsure.key_id(), Some("k"));
    unsure.signed_with_key(&key).unwrap();
    let mut other = point.to_vec();
    other[40] ^= 1;
    assert!(unsure.signed_with_key(&PublicKey::P256(other)).is_err());
}

/// The example of RFC 7515, appendix A.2.
#[test]
fn rs256_is_checked_as_in_the_example_of_the_standard() {
    let jwk = json!({"kty": "RSA",
        "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
        "e": "AQAB"});
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    let (_, key) = PublicKey::of(jwk.as_object().unwrap()).unwrap();
    Unsure::read(token.as_bytes()).unwrap().signed_with_key(&key).unwrap();
    let forged = token.replacen("eyJpc3MiOiJqb2Ui", "eyJpc3MiOiJqb2Uj", 1);
    assert!(Unsure::read(forged.as_bytes()).unwrap().signed_with_key(&key).is_err());
}

#[test]
fn keys_that_are_not_for_signing_with_these_algorithms_are_left_out() {
    let rsa = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"});
    assert!(PublicKey::of(rsa.as_object().unwrap()).is_some());
    for (name, value) in [("use", "enc"), ("alg", "RS512"), ("alg", "HS256"), ("kty", "oct"), ("n", "*")] {
        let mut key = rsa.clone();
        key[name] = value.into();
        assert!(PublicKey::of(key.as_object().unwrap()).is_none(), "{name} {value}");
    }
    let ec = json!({"kty": "EC", "crv": "P-521", "x": "AQAB", "y": "AQAB"});
    assert!(PublicKey::of(ec.as_object().unwrap()).is_none());
}
