//! `mcp --http`: signed tokens, their scopes and whose sessions are; the token in a file.

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use ring::{hmac, signature};
use serde_json::{Value, json};

use crate::mcp_http_rig::{Seated, Web};
use crate::rig::Rig;

const SECRET: &str = "a secret that is long enough for a test";

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

fn signed(header: Value, claims: Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let text = format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
    let signature = encode(&sign(text.as_bytes()));
    format!("Bearer {text}.{signature}")
}

/// The `Authorization` of a client with these scopes.
fn jwt(client: &str, scopes: &str, lasts: i64) -> String {
    let claims =
        json!({"client_id": client, "sub": "p", "scope": scopes, "exp": now().cast_signed() + lasts});
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    signed(json!({"alg": "HS256"}), claims, |text| hmac::sign(&key, text).as_ref().to_vec())
}

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
}

#[test]
fn a_signed_token_reaches_as_far_as_its_scopes() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &[], &[("MCP_AUTH_MODE", "jwt"), ("MCP_AUTH_SECRET_KEY", SECRET)]);
    let reader = jwt("reader", "tool:obsidian_get_note:read resource:tags:read", 60);
    let ask = |token: &str, method: &str, params: Value| {
        web.alone_with(&[("authorization", token)], json!({}), method, params)
    };
    let listed = ask(&reader, "tools/list", json!({})).result();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(ask(&reader, "resources/list", json!({})).result()["resources"].as_array().unwrap().len(), 1);
    assert_eq!(ask(&reader, "resources/read", json!({"uri": "obsidian://tags"})).status, 200);
    let write = json!({"name": "obsidian_write_note",
                       "arguments": {"target": {"type": "path", "path": "x.md"}, "content": "x"}});
    let refused = ask(&reader, "tools/call", write.clone());
    assert_eq!(refused.status, 403);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("insufficient_scope") && challenge.contains("tool:obsidian_write_note:write"));
    assert_eq!(ask(&reader, "resources/read", json!({"uri": "obsidian://status"})).status, 403);
    assert!(!rig.has("x.md"));
    let writer = jwt("writer", "tool:obsidian_write_note:write", 60);
    assert_eq!(ask(&writer, "tools/call", write).result()["isError"], false);
    assert!(rig.has("x.md"));
    let audit = rig.ok(&["audit", "--vault", ".", "--json"]);
    assert!(audit.contains("mcp:alone@writer"), "the audit names whose token it was: {audit}");

    let expired = ask(&jwt("reader", "tool:obsidian_get_note:read", -120), "tools/list", json!({}));
    assert_eq!(expired.status, 401);
    assert!(expired.header("www-authenticate").unwrap().contains("expired"), "{expired:?}");
    let unsigned = signed(
        json!({"alg": "none"}),
        json!({"client_id": "x", "scope": "y", "exp": now() + 60}),
        |_| vec![],
    );
    assert_eq!(ask(&unsigned, "tools/list", json!({})).status, 401);
    web.end();
}

#[test]
fn a_session_belongs_to_whom_it_was_given() {
    let rig = Rig::tour();
    let web = Web::start(&rig, &[], &[("MCP_AUTH_MODE", "jwt"), ("MCP_AUTH_SECRET_KEY", SECRET)]);
    let scopes = "tool:obsidian_get_note:read";
    let (ines, eve) = (jwt("ines", scopes, 60), jwt("eve", scopes, 60));
    let seated = Seated::with_token(&web, json!({}), Some(&ines));
    let mut stolen = seated.headers();
    stolen.retain(|(name, _)| *name != "authorization");
    stolen.push(("authorization", &eve));
    assert_eq!(web.post(&stolen, &list()).status, 404);
    assert_eq!(web.send("GET", "/mcp", &stolen, "").status, 404);
    assert_eq!(web.send("DELETE", "/mcp", &stolen, "").status, 404);
    assert_eq!(seated.ask("tools/list", json!({})).status, 200);
    let renewed = jwt("ines", scopes, 600);
    let mut again = seated.headers();
    again.retain(|(name, _)| *name != "authorization");
    again.push(("authorization", &renewed));
    assert_eq!(web.post(&again, &list()).status, 200, "a newer token of the same client");
    web.end();
}

/// Publishes one key until the test is over.
fn publish(pair: &EcdsaKeyPair) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let point = pair.public_key().as_ref().to_vec();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            std::io::Read::read(&mut stream, &mut [0; 4096]).ok();
            let key = json!({"kty": "EC", "crv": "P-256", "kid": "one", "alg": "ES256", "use": "sig",
                             "x": encode(&point[1..33]), "y": encode(&point[33..])});
            let body = json!({"keys": [key]}).to_string();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).ok();
        }
    });
    address
}

#[test]
fn tokens_of_an_authorization_server_are_checked_with_its_published_keys() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = signature::EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random)
        .unwrap();
    let issuer = publish(&pair);
    let rig = Rig::tour();
    let web = Web::start(
        &rig,
        &[],
        &[
            ("MCP_AUTH_MODE", "oauth"),
            ("OAUTH_ISSUER_URL", &issuer),
            ("OAUTH_JWKS_URI", &format!("{issuer}/keys")),
            ("OAUTH_AUDIENCE", "https://vault.example/mcp"),
        ],
    );
    let about = web.send("GET", "/.well-known/oauth-protected-resource", &[], "").message();
    assert_eq!(about["resource"], "https://vault.example/mcp");
    assert_eq!(about["authorization_servers"][0], issuer.as_str());
    assert_eq!(web.send("GET", "/.well-known/oauth-protected-resource/mcp", &[], "").message(), about);
    let missing = web.post(&[], &list());
    let challenge = missing.header("www-authenticate").unwrap();
    assert_eq!(missing.status, 401);
    assert!(challenge.contains("resource_metadata=\"http://127.0.0.1"), "{challenge}");

    let claims = |changed: Value| {
        let mut claims = json!({"iss": issuer, "aud": "https://vault.example/mcp", "client_id": "app", "exp": now() + 60,
                                "scope": "tool:obsidian_get_note:read"});
        claims.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        claims
    };
    let sign = |text: &[u8]| pair.sign(&random, text).unwrap().as_ref().to_vec();
    let status =
        |token: &str| web.alone_with(&[("authorization", token)], json!({}), "tools/list", json!({})).status;
    let header = || json!({"alg": "ES256", "kid": "one"});
    assert_eq!(status(&signed(header(), claims(json!({})), sign)), 200);
    assert_eq!(status(&signed(header(), claims(json!({"aud": "https://other.example"})), sign)), 401);
    assert_eq!(status(&signed(header(), claims(json!({"iss": "https://other.example"})), sign)), 401);
    assert_eq!(status(&signed(header(), claims(json!({"exp": 1})), sign)), 401);
    assert_eq!(status(&signed(json!({"alg": "ES256", "kid": "two"}), claims(json!({})), sign)), 401);
    // The published key taken for a shared secret.
    let point = pair.public_key().as_ref().to_vec();
    let confused = signed(json!({"alg": "HS256", "kid": "one"}), claims(json!({})), |text| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &point), text).as_ref().to_vec()
    });
    assert_eq!(status(&confused), 401);
    web.end();
}

#[test]
fn a_token_file_is_made_for_its_owner_alone_and_used_again() {
    let rig = Rig::tour();
    let file = rig.path("home/token");
    let arguments = ["--token-file", file.to_str().unwrap()];
    let web = Web::start(&rig, &arguments, &[]);
    let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!web.said().contains(&token));
    let bearer = format!("Bearer {token}");
    let status =
        |web: &Web| web.alone_with(&[("authorization", &bearer)], json!({}), "tools/list", json!({})).status;
    assert_eq!(status(&web), 200);
    web.end();
    let web = Web::start(&rig, &arguments, &[]);
    assert_eq!(status(&web), 200, "the same token again");
    web.end();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = rig.run(&[&["mcp", "--http"], &arguments[..]].concat());
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("read by others") && !said.err.contains(&token), "{said:?}");
}
