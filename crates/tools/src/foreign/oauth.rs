//! Logging in: with a person and a browser, as a machine with a secret or a key, or vouched for by the company's
//! identity provider. Discovery, registration, PKCE and the checks of issuer and resource are the SDK's; every
//! request goes out through `egress`. What comes of it is a token in [`Tokens`].

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use reqwest::Client;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore,
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest, StoredCredentials,
};
use serde_json::Value;

use super::assertion::{self, Claims};
use super::legacy;
use super::server::{Auth, Identity};
use super::tokens::Tokens;
use crate::egress::{self, Blocked, EgressError, HOPS, Way};

/// The most bytes of one answer of a login server.
const LARGEST: usize = 1024 * 1024;

/// Whoever brings the person to a page and comes back with the address to which they were sent on.
pub trait Browser: Send + Sync {
    /// The address to come back to.
    fn redirect(&self) -> &str;
    /// Shows the page, and waits for the address to which the person is sent on.
    fn visit<'v>(
        &'v self,
        page: &'v str,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'v>>;
}

/// Time and chance, for assertions.
pub trait Chance: Send + Sync {
    /// Seconds since 1970.
    fn seconds(&self) -> i64;
    /// A name that was never used before.
    fn id(&self) -> String;
}

/// One login.
pub struct Login<'l> {
    /// The server's address.
    pub url: &'l str,
    /// How to log in, with variables put in.
    pub auth: &'l Auth,
    /// What may be reached.
    pub way: &'l Way,
    /// Where the token is kept.
    pub tokens: &'l Tokens,
    /// What the server said, if it did.
    pub challenge: Option<&'l str>,
    /// What the token lacked.
    pub missing: Option<&'l str>,
}

impl Login<'_> {
    /// Whether no person is needed.
    pub fn is_alone(&self) -> bool {
        self.auth.machine || self.auth.identity.is_some()
    }

    /// Logs in without a person.
    pub async fn alone(&self, chance: &dyn Chance) -> Result<(), String> {
        let manager = self.discovered().await?;
        match &self.auth.identity {
            Some(identity) => self.vouched(&manager, identity).await,
            None => self.machine(&manager, chance).await,
        }
    }

    /// Logs in with a person.
    pub async fn with(&self, browser: &dyn Browser) -> Result<(), String> {
        let (manager, _) = self.discovered().await?;
        let mut request = AuthorizationRequest::new(browser.redirect())
            .with_client_name("Verger")
            .with_initial_scope_selection()
            .with_scopes(self.scopes().await?);
        if let Some(id) = &self.auth.client_id {
            request = request.with_preregistered_client(id);
            if let Some(secret) = &self.auth.client_secret {
                request = request.with_client_secret(secret);
            }
        }
        if let Some(metadata) = &self.auth.client_metadata_url {
            request = request.with_client_metadata_url(metadata);
        }
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| why(&error))?;
        let back = browser.visit(session.get_authorization_url()).await?;
        session.handle_callback_url(&back).await.map_err(|error| why(&error))?;
        Ok(())
    }

    /// What to ask for: nothing leaves it to the server's metadata; otherwise what there was and what was missing.
    async fn scopes(&self) -> Result<Vec<String>, String> {
        let mut scopes: BTreeSet<String> = self.auth.scopes.iter().cloned().collect();
        if let Some(missing) = self.missing {
            let stored = self.tokens.load().await.map_err(|error| why(&error))?;
            scopes.extend(stored.map(|stored| stored.granted_scopes).unwrap_or_default());
            scopes.extend(missing.split_whitespace().map(str::to_owned));
        }
        Ok(scopes.into_iter().collect())
    }

    async fn discovered(&self) -> Result<(AuthorizationManager, Endpoints), String> {
        let mut manager = manager(self.url, self.way).await?;
        manager.set_credential_store(self.tokens.clone());
        let found = match manager.resolve_metadata_from_challenge(self.challenge).await {
            Ok(found) => found.metadata,
            Err(error @ AuthError::AuthorizationServerMismatch { .. }) => {
                legacy::metadata(self.url, self.way, self.challenge).await.ok_or_else(|| why(&error))?
            }
            Err(error) => return Err(why(&error)),
        };
        // A secret must not go wherever a server says: where the person named the login server, it is that one.
        if self.auth.issuer.is_some() && self.auth.issuer != found.issuer {
            return Err("the server names another login server than `auth.issuer`".to_owned());
        }
        let endpoints = Endpoints { token: found.token_endpoint.clone(), issuer: found.issuer.clone() };
        manager.set_metadata(found);
        Ok((manager, endpoints))
    }

    async fn machine(
        &self,
        found: &(AuthorizationManager, Endpoints),
        chance: &dyn Chance,
    ) -> Result<(), String> {
        let (_, endpoints) = found;
        let client = self.auth.client_id.as_deref().ok_or("a machine's login needs `client_id`")?;
        let auth = self.auth;
        let mut form = vec![("resource", self.url.to_owned())];
        let mut secret = None;
        match (&auth.assertion, &auth.private_key, &auth.client_secret) {
            (Some(vouched), ..) => {
                form.push(("grant_type", BEARER.to_owned()));
                form.push(("assertion", vouched.clone()));
                form.push(("client_id", client.to_owned()));
            }
            (None, Some(key), _) => {
                let audience = endpoints.issuer.as_deref().unwrap_or(&endpoints.token);
                let claims = Claims { client, audience, id: &chance.id(), now: chance.seconds() };
                form.push(("grant_type", "client_credentials".to_owned()));
                form.push(("client_assertion_type", ASSERTION.to_owned()));
                form.push(("client_assertion", assertion::sign(&claims, key)?));
            }
            (None, None, Some(_)) => {
                form.push(("grant_type", "client_credentials".to_owned()));
                secret = auth.client_secret.as_deref();
            }
            (None, None, None) => {
                return Err(
                    "a machine's login needs `client_secret`, `private_key` or `assertion`".to_owned()
                );
            }
        }
        if !auth.scopes.is_empty() {
            form.push(("scope", auth.scopes.join(" ")));
        }
        let token = self.ask(&endpoints.token, secret.map(|secret| (client, secret)), &form).await?;
        self.keep(client, token, endpoints.issuer.clone()).await
    }

    /// The identity provider turns the person's token into one for the login server, which turns it into one for us.
    async fn vouched(
        &self,
        found: &(AuthorizationManager, Endpoints),
        identity: &Identity,
    ) -> Result<(), String> {
        let (_, endpoints) = found;
        let client = self.auth.client_id.as_deref().ok_or("this login needs `client_id`")?;
        let secret = self.auth.client_secret.as_deref().ok_or("this login needs `client_secret`")?;
        let audience = endpoints.issuer.clone().ok_or("the login server does not name itself")?;
        let exchange = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag".to_owned()),
            ("subject_token", identity.id_token.clone()),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token".to_owned()),
            ("audience", audience.clone()),
            ("resource", self.url.to_owned()),
            ("client_id", identity.client_id.clone()),
        ];
        let granted = self.ask(&identity.token_endpoint, None, &exchange).await?;
        let grant = granted["access_token"].as_str().ok_or("the identity provider gave no token")?;
        let bearer = vec![
            ("grant_type", BEARER.to_owned()),
            ("assertion", grant.to_owned()),
            ("resource", self.url.to_owned()),
        ];
        let token = self.ask(&endpoints.token, Some((client, secret)), &bearer).await?;
        self.keep(client, token, Some(audience)).await
    }

    /// Asks a login server for a token.
    async fn ask(
        &self,
        endpoint: &str,
        basic: Option<(&str, &str)>,
        form: &[(&str, String)],
    ) -> Result<Value, String> {
        let url = self.way.address(endpoint).map_err(|blocked| blocked.to_string())?;
        let client = self.way.client().map_err(|_| "no HTTP client".to_owned())?;
        let mut request = client
            .post(url)
            .timeout(TAKES)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .body(encoded(form));
        if let Some((name, secret)) = basic {
            request = request.basic_auth(percent(name), Some(percent(secret)));
        }
        let response = request.send().await.map_err(|_| "the login server cannot be reached".to_owned())?;
        let status = response.status();
        let body =
            egress::body(response, LARGEST).await.map_err(|_| "its answer cannot be read".to_owned())?;
        if !status.is_success() {
            return Err(format!("the login server answers with HTTP {}", status.as_u16()));
        }
        serde_json::from_slice(&body).map_err(|_| "its answer is no JSON".to_owned())
    }

    async fn keep(&self, client: &str, token: Value, issuer: Option<String>) -> Result<(), String> {
        let token = serde_json::from_value(token).map_err(|_| "its answer is no token".to_owned())?;
        // Without the moment of receipt it is used until the server refuses it; then a new one is fetched.
        let stored =
            StoredCredentials::new(client.to_owned(), Some(token), Vec::new(), None).with_issuer(issuer);
        self.tokens.save(stored).await.map_err(|error| why(&error))
    }
}

struct Endpoints {
    token: String,
    issuer: Option<String>,
}

const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const TAKES: std::time::Duration = std::time::Duration::from_secs(30);

/// What looks after the tokens of one server while it is used.
pub async fn manager(url: &str, way: &Way) -> Result<AuthorizationManager, String> {
    let client = way.client().map_err(|_| "no HTTP client".to_owned())?;
    let out = Arc::new(Out { client, way: way.clone() });
    AuthorizationManager::new_with_oauth_http_client(url, out).await.map_err(|error| why(&error))
}

/// The SDK's requests, through our way out.
struct Out {
    client: Client,
    way: Way,
}

impl OAuthHttpClient for Out {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let hops = match request.redirect_policy {
                OAuthHttpRedirectPolicy::Follow => HOPS,
                _ => 0,
            };
            let limit = request.timeout.unwrap_or(TAKES).min(TAKES);
            let mut next: reqwest::Request = request.request.try_into()?;
            for _ in 0..=hops {
                self.way.check(next.url())?;
                *next.timeout_mut() = Some(limit);
                let again = next.try_clone();
                let response = self.client.execute(next).await?;
                let to = response.headers().get("location").and_then(|to| to.to_str().ok());
                let to = to.filter(|_| hops > 0 && response.status().is_redirection());
                match (to.and_then(|to| response.url().join(to).ok()), again) {
                    // Only within the same server, and only what carries nothing.
                    (Some(to), Some(mut again))
                        if again.method() == reqwest::Method::GET
                            && to.origin() == response.url().origin() =>
                    {
                        *again.url_mut() = to;
                        next = again;
                    }
                    _ => return Ok(whole(response).await?),
                }
            }
            Err(Blocked::Redirects.into())
        })
    }
}

/// The answer with its body read.
async fn whole(response: reqwest::Response) -> Result<http::Response<Vec<u8>>, EgressError> {
    let (status, headers) = (response.status(), response.headers().clone());
    let mut answer = http::Response::new(egress::body(response, LARGEST).await?);
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    Ok(answer)
}

/// What went wrong, without what the other side wrote.
fn why(error: &AuthError) -> String {
    match error {
        AuthError::AuthorizationServerMismatch { .. } => "another login server answered than was asked",
        AuthError::AuthorizationServerMissingIssuer { .. } => "the login server did not say who it is",
        AuthError::PkceUnsupported => "the login server does not protect the code (PKCE)",
        AuthError::NoAuthorizationSupport => "the server does not say where to log in",
        AuthError::RegistrationFailed(_) => "the login server does not take new clients; set `client_id`",
        AuthError::TokenExchangeFailed(_) => "the login server gave no token",
        AuthError::CredentialStoreError(_) => "the file of tokens cannot be used",
        AuthError::HttpError(_) => "the login server cannot be reached",
        AuthError::MetadataError(_) | AuthError::OAuthError(_) => {
            "the login server's own description is wrong"
        }
        _ => "the login server refused",
    }
    .to_owned()
}

fn encoded(form: &[(&str, String)]) -> String {
    let pairs: Vec<String> = form.iter().map(|(name, value)| format!("{name}={}", percent(value))).collect();
    pairs.join("&")
}

fn percent(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
