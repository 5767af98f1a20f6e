//! What the door says about itself: its card, whose tokens it takes, and how to get in for those who may not.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

use super::{Gate, reply};
use crate::mcp::auth::{Unwelcome, tool_scope};
use crate::mcp::hall::Hall;
use crate::mcp::http::settings::{AuthSettings, Settings};
use crate::mcp::resource;

/// What the door says about itself.
pub struct Papers {
    /// Its card.
    card: Value,
    /// Whose tokens it takes, where an authorization server makes them, and where that can be read.
    resource: Option<(Value, String)>,
}

impl Papers {
    /// For a door at this address.
    pub fn new(hall: &Hall, address: SocketAddr, settings: &Settings) -> Papers {
        let public = settings.public_url.as_deref().map(|url| url.trim_end_matches('/'));
        let base = public.map_or_else(|| format!("http://{address}"), str::to_owned);
        let base = base.strip_suffix(&settings.path).unwrap_or(&base);
        let resource = match &settings.auth {
            AuthSettings::OAuth { issuer, audience, .. } => {
                let about = json!({
                    "resource": audience, "resource_name": "Verger", "authorization_servers": [issuer],
                    "bearer_methods_supported": ["header"], "scopes_supported": scopes(hall),
                });
                Some((about, format!("{base}/.well-known/oauth-protected-resource{}", settings.path)))
            }
            _ => None,
        };
        let asks = settings.auth != AuthSettings::Off;
        let card = json!({
            "name": "verger", "title": "Verger", "version": env!("CARGO_PKG_VERSION"),
            "description": "The caretaker of a Markdown vault",
            "transport": {"type": "streamable-http", "endpoint": settings.path},
            "authentication": {"required": asks, "schemes": if asks { vec!["bearer"] } else { Vec::new() }},
        });
        Papers { card, resource }
    }

    /// Its card.
    pub fn card(&self) -> &Value {
        &self.card
    }

    /// The answer to somebody who is not let in.
    pub fn unwelcome(&self, why: Unwelcome) -> Response {
        let error = match why {
            Unwelcome::Missing => String::new(),
            why => format!(", error=\"invalid_token\", error_description=\"{why}\""),
        };
        self.challenge(StatusCode::UNAUTHORIZED, &why.to_string(), &error)
    }

    /// The answer to somebody whose token does not reach that far.
    pub fn out_of_scope(&self, scope: &str) -> Response {
        let error = format!(", error=\"insufficient_scope\", scope=\"{scope}\"");
        self.challenge(StatusCode::FORBIDDEN, &format!("the token needs the scope {scope}"), &error)
    }

    fn challenge(&self, status: StatusCode, text: &str, error: &str) -> Response {
        let place = self.resource.as_ref().map(|(_, place)| format!(", resource_metadata=\"{place}\""));
        let value = format!("Bearer realm=\"verger\"{}{error}", place.unwrap_or_default());
        let mut answer = reply::plain(status, text);
        if let Ok(value) = HeaderValue::from_str(&value) {
            answer.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
        answer
    }
}

/// The scopes that tokens can have.
fn scopes(hall: &Hall) -> Vec<String> {
    let listings = hall.connection.road.registry.list(&hall.connection.rights);
    let tools = listings.iter().map(|listing| &listing.spec).filter(|spec| spec.name != resource::TOOL);
    let tools = tools.map(|spec| tool_scope(&spec.name, spec.effect));
    tools.chain(["note", "status", "tags"].map(|name| format!("resource:{name}:read"))).collect()
}

/// The card.
pub async fn card(State(gate): State<Arc<Gate>>) -> Response {
    reply::json(StatusCode::OK, &gate.papers.card)
}

/// Whose tokens are taken here (RFC 9728).
pub async fn protected_resource(State(gate): State<Arc<Gate>>) -> Response {
    match &gate.papers.resource {
        Some((about, _)) => reply::json(StatusCode::OK, about),
        None => reply::plain(StatusCode::NOT_FOUND, "no authorization server makes tokens for this server"),
    }
}
