//! Servers of the revision of 2025-03-26, which were their own login servers: no metadata of the resource, and metadata
//! of the login server at the root of their origin. Some of them name a path of that origin as the issuer, which later
//! revisions forbid. That is let pass here, and only here: nothing but the server's own origin is involved.

use reqwest::{StatusCode, Url};
use rmcp::transport::auth::AuthorizationMetadata;
use std::time::Duration;

use crate::egress::{self, Way};

const LARGEST: usize = 1024 * 1024;
const TAKES: Duration = Duration::from_secs(15);

/// The metadata of a server that is its own login server in the old way; `None` if it is not one.
pub async fn metadata(url: &str, way: &Way, challenge: Option<&str>) -> Option<AuthorizationMetadata> {
    let base = Url::parse(url).ok()?;
    if challenge.is_some_and(|challenge| challenge.contains("resource_metadata")) {
        return None;
    }
    let path = base.path().trim_end_matches('/').to_owned();
    for place in [
        format!("/.well-known/oauth-protected-resource{path}"),
        "/.well-known/oauth-protected-resource".to_owned(),
    ] {
        if get(way, base.join(&place).ok()?).await.is_some() {
            return None;
        }
    }
    let found = get(way, base.join("/.well-known/oauth-authorization-server").ok()?).await?;
    let metadata: AuthorizationMetadata = serde_json::from_slice(&found).ok()?;
    let ours = |address: &str| Url::parse(address).is_ok_and(|address| address.origin() == base.origin());
    let all = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    let all_ours =
        all.into_iter().chain(&metadata.issuer).chain(&metadata.registration_endpoint).all(|one| ours(one));
    all_ours.then_some(metadata)
}

async fn get(way: &Way, url: Url) -> Option<Vec<u8>> {
    way.check(&url).ok()?;
    let response = way.client().ok()?.get(url).timeout(TAKES).send().await.ok()?;
    if response.status() != StatusCode::OK {
        return None;
    }
    egress::body(response, LARGEST).await.ok()
}
