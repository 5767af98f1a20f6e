//! Streamable HTTP: a transport that goes out through `egress`, with a token where there is one.

use std::collections::{BTreeMap, HashMap};

use reqwest::Client;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{AuthClient, AuthorizationManager};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::careful::Careful;
use super::trouble::Trouble;

/// A transport to a server that speaks streamable HTTP.
pub type Streamable = StreamableHttpClientTransport<AuthClient<Careful>>;

/// Headers that the protocol itself sets.
const RESERVED: [&str; 6] =
    ["accept", "content-type", "last-event-id", "mcp-method", "mcp-protocol-version", "mcp-session-id"];

/// Makes the transport. Nothing is sent yet.
pub fn transport(
    url: &str,
    headers: HashMap<HeaderName, HeaderValue>,
    client: Client,
    manager: AuthorizationManager,
) -> Streamable {
    // A call is never sent twice by itself, so an expired session is an error and the next call opens a new one.
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers)
        .reinit_on_expired_session(false);
    StreamableHttpClientTransport::with_client(AuthClient::new(Careful(client), manager), config)
}

/// The headers of an entry, as they are sent.
pub fn headers(
    server: &str,
    entry: &BTreeMap<String, String>,
    expand: &dyn Fn(&str) -> Result<String, Trouble>,
) -> Result<HashMap<HeaderName, HeaderValue>, Trouble> {
    let mut headers = HashMap::new();
    for (name, value) in entry {
        let bad = |what: &str| Trouble::Entry {
            name: server.to_owned(),
            why: format!("the header `{name}` {what}"),
        };
        let value =
            HeaderValue::from_str(&expand(value)?).map_err(|_| bad("has a value that cannot be sent"))?;
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("has a name that cannot be sent"))?;
        if RESERVED.contains(&name.as_str()) {
            return Err(bad("belongs to the protocol itself"));
        }
        headers.insert(name, value);
    }
    Ok(headers)
}
