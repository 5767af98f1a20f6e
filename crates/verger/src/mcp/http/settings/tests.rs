//! Which settings make sense, and which stop the start.

use super::*;

fn read(options: &McpOptions, set: &[(&str, &str)]) -> Result<Settings, String> {
    let variable =
        |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
    Settings::read(options, &variable).map_err(|failure| failure.refusal.message.clone())
}

fn with(set: &[(&str, &str)]) -> Result<Settings, String> {
    read(&McpOptions::default(), set)
}

fn http(given: &str) -> McpOptions {
    McpOptions { http: Some(Some(given.to_owned())), ..McpOptions::default() }
}

#[test]
fn without_settings_it_listens_here_and_asks_for_a_token() {
    let settings = with(&[]).unwrap();
    assert_eq!(settings.address.to_string(), "127.0.0.1:3010");
    assert_eq!(settings.path, "/mcp");
    assert_eq!(settings.auth, AuthSettings::Token(None));
    assert_eq!(settings.max_body, 1024 * 1024);
    assert_eq!(settings.sessions, Sessions::Kept);
    assert_eq!(settings.stale, Duration::from_secs(1_800));
    assert_eq!(settings.scopes, Scopes::Checked);
}

#[test]
fn the_flag_names_an_address_in_any_usual_form() {
    for (given, expected) in [
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("[::1]:80", "[::1]:80"),
        ("::1", "[::1]:3010"),
        ("localhost:0", "127.0.0.1:0"),
        (":81", "127.0.0.1:81"),
        ("82", "127.0.0.1:82"),
        ("0.0.0.0", "0.0.0.0:3010"),
    ] {
        assert_eq!(read(&http(given), &[]).unwrap().address.to_string(), expected, "{given}");
    }
    for given in ["", "x", "example.com:80", "127.0.0.1:x", "127.0.0.1:70000", "1.2.3"] {
        let message = read(&http(given), &[]).unwrap_err();
        assert!(message.contains("--http"), "{given}: {message}");
    }
    let flag_wins = read(&http("127.0.0.1:1"), &[("MCP_HTTP_PORT", "2")]).unwrap();
    assert_eq!(flag_wins.address.port(), 1);
}

#[test]
fn a_wrong_value_stops_the_start_and_names_its_variable() {
    for (name, value) in [
        ("MCP_HTTP_HOST", "example.com"),
        ("MCP_HTTP_PORT", "http"),
        ("MCP_HTTP_PORT", "65536"),
        ("MCP_HTTP_ENDPOINT_PATH", "mcp"),
        ("MCP_HTTP_ENDPOINT_PATH", "/"),
        ("MCP_HTTP_ENDPOINT_PATH", "/a b"),
        ("MCP_HTTP_ENDPOINT_PATH", "/{x}"),
        ("MCP_HTTP_ENDPOINT_PATH", "/healthz"),
        ("MCP_HTTP_MAX_BODY_BYTES", "-1"),
        ("MCP_HTTP_MAX_PORT_RETRIES", "many"),
        ("MCP_ALLOWED_ORIGINS", "https://a.example, *"),
        ("MCP_ALLOWED_ORIGINS", "a.example"),
        ("MCP_PUBLIC_URL", "ftp://x"),
        ("MCP_PUBLIC_URL", "http://vault.example"),
        ("MCP_SESSION_MODE", "sometimes"),
        ("MCP_AUTH_MODE", "basic"),
        ("MCP_AUTH_MODE", "None"),
        ("MCP_AUTH_DISABLE_SCOPE_CHECKS", "maybe"),
        ("DEV_MCP_AUTH_BYPASS", "2"),
        ("MCP_STATEFUL_SESSION_STALE_TIMEOUT_MS", "soon"),
    ] {
        let message = with(&[(name, value)]).unwrap_err();
        assert!(message.contains(name) && !message.contains("secret"), "{name}={value}: {message}");
    }
    let variable = |_: &str| Some(OsString::from("pigeon"));
    assert!(wants_http(&McpOptions::default(), &variable).is_err());
}

#[test]
fn signed_tokens_need_their_keys() {
    let jwt = |secret: &str| with(&[("MCP_AUTH_MODE", "jwt"), ("MCP_AUTH_SECRET_KEY", secret)]);
    assert!(jwt("").unwrap_err().contains("MCP_AUTH_SECRET_KEY"));
    let short = jwt("thirty-one characters are short").unwrap_err();
    assert!(short.contains("too short") && !short.contains("thirty"), "{short}");
    assert!(matches!(jwt(&"k".repeat(32)).unwrap().auth, AuthSettings::Jwt { .. }));

    let oauth =
        [("MCP_AUTH_MODE", "oauth"), ("OAUTH_ISSUER_URL", "https://i.example/"), ("OAUTH_AUDIENCE", "a")];
    let AuthSettings::OAuth { keys, .. } = with(&oauth).unwrap().auth else { panic!("not oauth") };
    assert_eq!(keys, "https://i.example/.well-known/jwks.json");
    assert!(with(&oauth[..2]).unwrap_err().contains("OAUTH_AUDIENCE"));
    assert!(with(&oauth[..1]).unwrap_err().contains("OAUTH_ISSUER_URL"));
}

#[test]
fn nobody_is_let_in_unasked_from_elsewhere() {
    let open = McpOptions { no_auth: true, ..http("0.0.0.0:1") };
    assert!(read(&open, &[]).unwrap_err().contains("reached by others"));
    for set in [("MCP_AUTH_MODE", "none"), ("DEV_MCP_AUTH_BYPASS", "yes")] {
        assert!(with(&[set]).is_ok());
        assert!(with(&[set, ("MCP_HTTP_HOST", "192.0.2.1")]).is_err(), "{set:?}");
    }
    assert!(with(&[("MCP_HTTP_HOST", "0.0.0.0")]).is_ok(), "a token is asked for");
}
