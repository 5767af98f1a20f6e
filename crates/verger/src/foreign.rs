//! Other MCP servers, wired: where their files lie, the clock, and the browser of the person at the terminal.
//!
//! The tools that start them are offered where somebody is asked: at the terminal, and to MCP clients with `--ask`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Registry, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tools::foreign::oauth::{Browser, Chance};
use tools::foreign::{Foreign, Means, Places};

use crate::args::McpOptions;
use crate::config::Config;
use crate::failure::Failure;
use crate::place::{self, Place};
use crate::world::RealWorld;

/// How long a person may take to log in.
const PATIENCE: Duration = Duration::from_secs(600);
/// The longest first line of a request that is looked at.
const LONGEST: usize = 16 * 1024;

/// The servers that the configuration, `mcp.json` beside it and the vault's `.mcp.json` name.
pub fn open(
    config: &Config,
    place: &Place,
    browser: Option<Arc<dyn Browser>>,
) -> Result<Arc<Foreign>, Failure> {
    let places = Places {
        pins: place.data.join("mcp-pins.json"),
        trust: place.data.join("mcp-trust.json"),
        tokens: place.data.join("mcp-tokens.json"),
        added: place::config_folder()?.join("mcp.json"),
    };
    let vault = place::read_small(&place.root.join(".mcp.json"));
    let means = Means { browser, ..means() };
    Ok(Arc::new(Foreign::open(config.servers.clone(), vault.as_deref(), &places, means)))
}

/// Offers the tools for other servers to an MCP client if its user is asked; else takes them away.
pub fn offer(
    registry: &Registry,
    config: &Config,
    place: &Place,
    options: &McpOptions,
) -> Result<(), Failure> {
    tools::table::remove_foreign(registry);
    if options.ask && options.surface == crate::mcp::Surface::Agent {
        tools::table::add_foreign(registry, &open(config, place, None)?);
    }
    Ok(())
}

/// What all servers get: the real clock, and our own program, so that they end with us.
pub fn means() -> Means {
    Means { chance: Arc::new(Real), through: std::env::current_exe().ok(), ..Means::default() }
}

struct Real;

impl Chance for Real {
    fn seconds(&self) -> i64 {
        RealWorld.now().timestamp().as_second()
    }

    fn id(&self) -> String {
        // Without chance there is no name; the login server refuses an empty one.
        RealWorld.id().unwrap_or_default()
    }
}

/// The browser of the person at the terminal: the page is named, and they are waited for on this machine.
pub struct AtTerminal {
    listener: TcpListener,
    redirect: String,
    say: fn(&str),
}

impl AtTerminal {
    /// Listens for the way back, on a port that nobody else has.
    pub async fn listen(say: fn(&str)) -> std::io::Result<AtTerminal> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let redirect = format!("http://127.0.0.1:{}/callback", listener.local_addr()?.port());
        Ok(AtTerminal { listener, redirect, say })
    }

    /// Waits until somebody comes back with what belongs to a login.
    async fn back(&self) -> Result<String, String> {
        loop {
            let (stream, _) = self.listener.accept().await.map_err(|_| "nobody can come back".to_owned())?;
            // Another program that connects and says nothing must not hold up the person.
            let asked = tokio::time::timeout(Duration::from_secs(10), answer(stream)).await;
            let Ok(Some(path)) = asked else { continue };
            if path.starts_with("/callback?") && path.contains("error=") && !path.contains("code=") {
                return Err("the login was refused".to_owned());
            }
            if path.starts_with("/callback?") && path.contains("code=") {
                let here = self.redirect.trim_end_matches("/callback");
                return Ok(format!("{here}{path}"));
            }
        }
    }
}

impl Browser for AtTerminal {
    fn redirect(&self) -> &str {
        &self.redirect
    }

    fn visit<'v>(
        &'v self,
        page: &'v str,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'v>> {
        Box::pin(async move {
            (self.say)(page);
            let waited = tokio::time::timeout(PATIENCE, self.back()).await;
            waited.unwrap_or_else(|_| Err("nobody logged in".to_owned()))
        })
    }
}

/// Answers one request and says what it asked for.
async fn answer(mut stream: TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST {
        match stream.read(&mut piece).await {
            Ok(read @ 1..) => request.extend_from_slice(&piece[..read]),
            _ => break,
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    let text = "You can close this page and go back to the terminal.\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n";
    let whole = format!("{head}content-length: {}\r\n\r\n{text}", text.len());
    stream.write_all(whole.as_bytes()).await.ok();
    stream.shutdown().await.ok();
    Some(path)
}
