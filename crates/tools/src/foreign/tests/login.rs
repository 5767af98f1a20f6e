//! Logging in at a server on this machine that is its own login server, honest or not.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::egress::Way;
use crate::foreign::oauth::Browser;
use crate::foreign::{Foreign, Means, Origin, Places, Server, Trouble};

/// The server, its manners, and what it saw.
#[derive(Default)]
struct Office {
    origin: Mutex<String>,
    /// Who it says is the issuer when it sends the person back.
    says_it_is: Option<&'static str>,
    /// Where it says one must log in.
    sends_to: Option<&'static str>,
    /// Whether no scope is ever enough.
    never_enough: bool,
    /// The scopes of the last token, and all requests for pages and tokens.
    granted: Mutex<String>,
    pages: Mutex<Vec<HashMap<String, String>>>,
    tokens: Mutex<Vec<HashMap<String, String>>>,
}

type Shared = State<Arc<Office>>;

async fn mcp(State(office): Shared, headers: HeaderMap, Json(message): Json<Value>) -> Response {
    let origin = office.origin.lock().unwrap().clone();
    let scopes = office.granted.lock().unwrap().clone();
    let bearer = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let metadata = format!("resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"");
    if bearer != format!("Bearer token-for-{}", scopes.replace(' ', "-")) || scopes.is_empty() {
        let challenge = format!("Bearer scope=\"basic\", {metadata}");
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response();
    }
    let Some(id) = message.get("id").cloned() else { return StatusCode::ACCEPTED.into_response() };
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "office", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "write", "inputSchema": {"type": "object"}}]}),
        "tools/call" if office.never_enough || !scopes.contains("write") => {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"write\", {metadata}");
            return (StatusCode::FORBIDDEN, [("www-authenticate", challenge)]).into_response();
        }
        "tools/call" => json!({"content": [{"type": "text", "text": "written"}]}),
        _ => {
            let error = json!({"code": -32601, "message": "no"});
            return Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
}

async fn resource(State(office): Shared) -> Json<Value> {
    let origin = office.origin.lock().unwrap().clone();
    let to = office.sends_to.map_or_else(|| origin.clone(), str::to_owned);
    Json(json!({"resource": format!("{origin}/mcp"), "authorization_servers": [to]}))
}

async fn metadata(State(office): Shared) -> Json<Value> {
    let origin = office.origin.lock().unwrap().clone();
    Json(json!({
        "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
        "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "authorization_response_iss_parameter_supported": true,
    }))
}

async fn authorize(State(office): Shared, Query(asked): Query<HashMap<String, String>>) -> Redirect {
    let origin = office.origin.lock().unwrap().clone();
    let issuer = office.says_it_is.map_or(origin, str::to_owned);
    let to = format!("{}?code=c&state={}&iss={issuer}", asked["redirect_uri"], asked["state"]);
    office.pages.lock().unwrap().push(asked);
    Redirect::to(&to)
}

async fn token(State(office): Shared, headers: HeaderMap, body: Bytes) -> Json<Value> {
    let body = String::from_utf8_lossy(&body).into_owned();
    let address = reqwest::Url::parse(&format!("http://x/?{body}")).unwrap();
    let mut asked: HashMap<String, String> = address.query_pairs().into_owned().collect();
    if let Some(basic) = headers.get("authorization") {
        asked.insert("authorization".to_owned(), basic.to_str().unwrap().to_owned());
    }
    let last = office.pages.lock().unwrap().last().and_then(|page| page.get("scope").cloned());
    let scope = last.unwrap_or_else(|| "basic write".to_owned());
    office.tokens.lock().unwrap().push(asked);
    *office.granted.lock().unwrap() = scope.clone();
    let token = format!("token-for-{}", scope.replace(' ', "-"));
    Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": scope}))
}

async fn open(office: Office) -> (Arc<Office>, String) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let office = Arc::new(office);
    *office.origin.lock().unwrap() = origin.clone();
    let router = Router::new()
        .route("/mcp", post(mcp))
        .route("/.well-known/oauth-protected-resource/mcp", get(resource))
        .route("/.well-known/oauth-authorization-server", get(metadata))
        .route("/authorize", get(authorize))
        .route(
            "/register",
            post(|| async { (StatusCode::CREATED, Json(json!({"client_id": "c1", "redirect_uris": []}))) }),
        )
        .route("/token", post(token))
        .with_state(Arc::clone(&office));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (office, format!("{origin}/mcp"))
}

/// A person who clicks "yes" on every page.
struct Clicks;

impl Browser for Clicks {
    fn redirect(&self) -> &str {
        "http://127.0.0.1:9/callback"
    }
    fn visit<'v>(
        &'v self,
        page: &'v str,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'v>> {
        Box::pin(async move {
            let client = Way::naming([page]).client().unwrap();
            let response = client.get(page).send().await.unwrap();
            Ok(response.headers()["location"].to_str().unwrap().to_owned())
        })
    }
}

/// The client: `s` at this address, with a person or without.
fn client(folder: &tempfile::TempDir, entry: Value, person: bool) -> Foreign {
    let at = |name: &str| folder.path().join(name);
    let places =
        Places { pins: at("pins"), trust: at("trust"), tokens: at("tokens.json"), added: at("added") };
    let server = Server::parse("s", &entry, Origin::Config).unwrap();
    let browser = person.then(|| Arc::new(Clicks) as Arc<dyn Browser>);
    Foreign::open(vec![server], None, &places, Means { browser, ..Means::default() })
}

async fn write(client: &Foreign) -> Result<String, Trouble> {
    client.tools("s").await?;
    let (_, pin) = client.planned("s", "write")?;
    Ok(client.call("s", "write", serde_json::Map::new(), &pin.seen).await?.text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_needs_a_person_once_and_a_missing_scope_is_asked_for_in_addition() {
    let (office, url) = open(Office::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let alone = client(&folder, json!({"url": url}), false);
    assert_eq!(write(&alone).await, Err(Trouble::Login("s".to_owned())));
    assert!(office.pages.lock().unwrap().is_empty());

    let attended = client(&folder, json!({"url": url}), true);
    assert_eq!(write(&attended).await.as_deref(), Ok("written"));
    let pages = office.pages.lock().unwrap().clone();
    let scopes: Vec<&str> = pages.iter().map(|page| page["scope"].as_str()).collect();
    assert_eq!(scopes, ["basic", "basic write"]);
    assert!(pages.iter().all(|page| page["code_challenge_method"] == "S256" && page["resource"] == url));
    assert!(office.tokens.lock().unwrap().iter().all(|asked| asked.contains_key("code_verifier")));

    // The next run needs no person, and a logout ends that.
    let later = client(&folder, json!({"url": url}), false);
    assert_eq!(write(&later).await.as_deref(), Ok("written"));
    assert_eq!(office.pages.lock().unwrap().len(), 2);
    assert_eq!(later.logout("s").await, Ok(true));
    assert_eq!(write(&later).await, Err(Trouble::Login("s".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_goes_only_to_the_address_for_which_it_was_given() {
    let (_, url) = open(Office::default()).await;
    let folder = tempfile::tempdir().unwrap();
    write(&client(&folder, json!({"url": url}), true)).await.unwrap();
    // Another server under the same name.
    let (other, elsewhere) = open(Office::default()).await;
    *other.granted.lock().unwrap() = "basic write".to_owned();
    let moved = client(&folder, json!({"url": elsewhere}), false);
    assert_eq!(write(&moved).await, Err(Trouble::Login("s".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_never_satisfied_is_given_up() {
    let (office, url) = open(Office { never_enough: true, ..Office::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(write(&client(&folder, json!({"url": url}), true)).await, Err(Trouble::Login("s".to_owned())));
    assert_eq!(office.pages.lock().unwrap().len(), 4, "one login, and three for more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_not_redeemed_for_another_issuer_and_nobody_is_sent_into_the_network() {
    let (office, url) = open(Office { says_it_is: Some("https://evil.example"), ..Office::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let failed = write(&client(&folder, json!({"url": url}), true)).await;
    assert!(matches!(failed, Err(Trouble::LoginFailed { .. })), "{failed:?}");
    assert_eq!(office.pages.lock().unwrap().len(), 1);
    assert!(office.tokens.lock().unwrap().is_empty(), "the code was not redeemed");

    let (office, url) = open(Office { sends_to: Some("http://169.254.169.254/"), ..Office::default() }).await;
    let failed = write(&client(&folder, json!({"url": url}), true)).await;
    assert!(matches!(failed, Err(Trouble::LoginFailed { .. })), "{failed:?}");
    assert!(office.pages.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_logs_in_without_a_person() {
    let (office, url) = open(Office::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let auth = json!({"machine": true, "client_id": "me", "client_secret": "${NO_SECRET:-s3cret}", "scopes": ["basic", "write"]});
    let machine = client(&folder, json!({"url": url, "auth": auth.clone()}), false);
    assert_eq!(write(&machine).await.as_deref(), Ok("written"));
    let asked = office.tokens.lock().unwrap().pop().unwrap();
    assert_eq!(
        (asked["grant_type"].as_str(), asked["resource"].as_str()),
        ("client_credentials", url.as_str())
    );
    assert_eq!(asked["authorization"], "Basic bWU6czNjcmV0");
    // The secret goes to the login server that the person named, and to no other.
    let mut elsewhere = auth.clone();
    elsewhere["issuer"] = json!("https://login.example");
    let other = tempfile::tempdir().unwrap();
    let failed = write(&client(&other, json!({"url": url, "auth": elsewhere}), false)).await;
    assert!(matches!(failed, Err(Trouble::LoginFailed { .. })), "{failed:?}");
    assert!(office.tokens.lock().unwrap().is_empty());
    // A token that is no longer good is fetched anew.
    *office.granted.lock().unwrap() = "other write".to_owned();
    assert_eq!(write(&machine).await.as_deref(), Ok("written"));
}
