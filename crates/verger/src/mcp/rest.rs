//! Obsidian by way of its Local REST API plugin: commands, the open file, opening a file. Nothing is read or written through
//! it that the engine can do on the files.
//!
//! The key is a secret: it goes to this machine, or over TLS with a certificate that was checked, and is in no message.

use std::time::Duration;

use pipeline::Refusal;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use tools::obsidian::app::{AppCommand, AppLink, Linked, Page, Tab};

/// Bytes of an answer at most.
const LARGEST: usize = 4 * 1024 * 1024;
/// The form of a note in which the plugin tells its path.
const NOTE: &str = "application/vnd.olrapi.note+json";

/// Whether certificates are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Everywhere.
    Always,
    /// The plugin signs its own; on this machine that will do.
    NotOnLoopback,
}

/// The plugin.
pub struct Rest {
    client: Client,
    base: Url,
    key: String,
}

impl Rest {
    /// The plugin at this address, or what is wrong with it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the app's own plugin, at the address that the person named"
    )]
    pub fn new(base: &str, key: &str, verify: Verify, patience: Duration) -> Result<Rest, String> {
        let base = Url::parse(base).map_err(|error| format!("it is no address ({error})"))?;
        let loopback = match base.host_str() {
            Some("localhost" | "[::1]") => true,
            Some(host) => host.parse::<std::net::Ipv4Addr>().is_ok_and(|host| host.is_loopback()),
            None => return Err("it names no host".to_owned()),
        };
        match base.scheme() {
            "https" => {}
            "http" if loopback => {}
            "http" => return Err("over a network the key would go in clear; use https".to_owned()),
            _ => return Err("it starts neither with http:// nor with https://".to_owned()),
        }
        // Another part of the program may have chosen already; it is the same choice.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = Client::builder()
            .timeout(patience)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .danger_accept_invalid_certs(loopback && verify == Verify::NotOnLoopback)
            .build()
            .map_err(|error| format!("no connection can be made: {error}"))?;
        Ok(Rest { client, base, key: key.to_owned() })
    }

    fn request(&self, method: Method, segments: &[&str]) -> Result<RequestBuilder, Refusal> {
        Ok(self.client.request(method, self.url(segments)?).bearer_auth(&self.key))
    }

    fn url(&self, segments: &[&str]) -> Result<Url, Refusal> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| unreachable("the address cannot be used"))?
            .pop_if_empty()
            .extend(segments);
        Ok(url)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Refusal> {
        let response = request.send().await.map_err(|error| match error.is_timeout() {
            true => Refusal::new(
                "timeout",
                "Obsidian did not answer in time",
                "look whether it waits for the user, or raise OBSIDIAN_REQUEST_TIMEOUT_MS",
            ),
            false => {
                unreachable(if error.is_connect() { "nobody listens there" } else { "the answer broke off" })
            }
        })?;
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Refusal::new(
                "app_unauthorized",
                "Obsidian does not accept the key",
                "copy OBSIDIAN_API_KEY anew from the settings of the Local REST API plugin",
            )),
            _ => Ok(response),
        }
    }

    async fn list(&self) -> Result<Vec<AppCommand>, Refusal> {
        let response = self.send(self.request(Method::GET, &["commands", ""])?).await?;
        check(&response)?;
        #[derive(Deserialize)]
        struct Listed {
            commands: Vec<AppCommand>,
        }
        let listed: Listed = serde_json::from_slice(&bytes(response).await?).map_err(|_| garbled())?;
        Ok(listed.commands)
    }

    async fn run(&self, id: &str) -> Result<(), Refusal> {
        let response = self.send(self.request(Method::POST, &["commands", id, ""])?).await?;
        if response.status() == StatusCode::NOT_FOUND {
            let message = "Obsidian has no such command any more";
            return Err(Refusal::new("command_unknown", message, "use an id from obsidian_list_commands"));
        }
        check(&response)
    }

    async fn active_path(&self) -> Result<Option<String>, Refusal> {
        let request = self.request(Method::GET, &["active", ""])?.header("Accept", NOTE);
        let response = self.send(request).await?;
        if matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
            return Ok(None);
        }
        check(&response)?;
        #[derive(Deserialize)]
        struct Open {
            path: String,
        }
        let open: Open = serde_json::from_slice(&bytes(response).await?).map_err(|_| garbled())?;
        Ok(Some(open.path))
    }

    async fn show(&self, page: &Page) -> Result<bool, Refusal> {
        let mut segments = vec!["open"];
        segments.extend(page.path.as_str().split('/'));
        let mut url = self.url(&segments)?;
        url.set_query((page.tab == Tab::New).then_some("newLeaf=true"));
        check(&self.send(self.client.post(url).bearer_auth(&self.key)).await?)?;
        Ok(true)
    }
}

impl AppLink for Rest {
    fn commands(&self) -> Linked<'_, Vec<AppCommand>> {
        Box::pin(self.list())
    }

    fn execute(&self, id: String) -> Linked<'_, ()> {
        Box::pin(async move { self.run(&id).await })
    }

    fn active(&self) -> Linked<'_, Option<String>> {
        Box::pin(self.active_path())
    }

    fn open(&self, page: Page) -> Linked<'_, bool> {
        Box::pin(async move { self.show(&page).await })
    }
}

fn check(response: &Response) -> Result<(), Refusal> {
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(unreachable(&format!("it answered with status {}", status.as_u16()))),
    }
}

/// The body, as far as it is of a sensible size.
async fn bytes(mut response: Response) -> Result<Vec<u8>, Refusal> {
    let mut all = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| unreachable("the answer broke off"))? {
        if all.len() + chunk.len() > LARGEST {
            return Err(unreachable("the answer is too large"));
        }
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

fn garbled() -> Refusal {
    unreachable("the answer is not what the Local REST API plugin says")
}

fn unreachable(problem: &str) -> Refusal {
    Refusal::new(
        "app_unreachable",
        format!("Obsidian cannot be reached: {problem}"),
        "start Obsidian with the Local REST API plugin, and compare OBSIDIAN_BASE_URL with its settings",
    )
}
