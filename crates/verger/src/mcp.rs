//! `verger mcp`: the door for AI clients that speak the Model Context Protocol over stdin and stdout.
//!
//! stdout carries JSON-RPC and nothing else; trouble goes to stderr. The protocol itself is the official SDK's (`rmcp`);
//! every call walks the road. Deliberately not here: what the tools do, and HTTP.

mod answer;
mod app;
mod asker;
mod complete;
mod desktop;
mod dry;
mod frame;
mod news;
mod progress;
mod prompts;
mod resource;
mod rest;
mod server;
mod stdio;
mod surface;
mod turn;
mod vaults;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Rights, Road, World};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tools::obsidian::app::App;

use crate::args::{Global, McpOptions};
use crate::config::Config;
use crate::door;
use crate::failure::{Exit, Failure};
use crate::place::{self, Place};
use crate::terminal::Terminal;
use crate::world::RealWorld;
use server::{Approval, Connection, Server};
use stdio::Stdio;
use vaults::Vaults;

pub use surface::Surface;

/// How long the threads of calls that were cut off may take to end.
const FAREWELL: Duration = Duration::from_millis(500);

/// Serves one client until it closes stdin.
pub fn serve(global: &Global, options: &McpOptions, terminal: &Terminal) -> Result<(), Failure> {
    let connection = open(global, options, terminal)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        Failure::new(
            Exit::Failed,
            "internal",
            format!("cannot start: {error}"),
            "free some memory and try again",
        )
    })?;
    let ended = runtime.block_on(talk(Server::new(connection)));
    // A call that is still busy ends with the process; what it would write is wholly there or not at all.
    runtime.shutdown_timeout(FAREWELL);
    ended
}

/// Everything that a connection needs. Nothing that takes time on a large vault happens here: the client waits.
fn open(global: &Global, options: &McpOptions, terminal: &Terminal) -> Result<Connection, Failure> {
    let mut config = Config::load(&place::config_folder()?)?;
    config.limits.read_only |= options.read_only;
    let places: Vec<Place> = match global.vault.as_slice() {
        [] => vec![place::find(None, &config)?],
        named => named.iter().map(|vault| place::find(Some(vault), &config)).collect::<Result<_, _>>()?,
    };
    let variable = |name: &str| std::env::var(name).ok();
    let mut roads: Vec<(&Path, Arc<Road>)> = Vec::new();
    let mut beside = App::default();
    for place in &places {
        let name = place.root.file_name().map(|name| name.to_string_lossy().into_owned());
        // The app has one vault open; it is taken for the first.
        let app = match roads.is_empty() {
            true => app::from_environment(&variable, name)?,
            false => App { vault: name, ..App::default() },
        };
        if roads.iter().any(|(root, _)| *root == place.root) {
            let message = format!("{} is named twice", place.root.display());
            return Err(Failure::usage(message, "give each vault once"));
        }
        roads.push((&place.root, open_road(place, options, &app, terminal)?));
        if roads.len() == 1 {
            beside = app;
        }
    }
    let vaults = Vaults::new(roads);
    let Some(road) = vaults.all().next().map(|served| Arc::clone(&served.road)) else {
        return Err(Failure::usage("no vault is named", "give --vault PATH"));
    };
    Ok(Connection {
        road,
        vaults: Arc::new(vaults),
        app: beside,
        news: Arc::default(),
        all_tools: options.all_tools,
        id: format!("mcp-{}", RealWorld.id()?),
        rights: if config.limits.read_only { Rights::read_only() } else { Rights::all() },
        limits: config.limits,
        retention: config.retention,
        surface: options.surface,
        approval: if options.ask { Approval::Ask } else { Approval::Allow },
        dry_run: options.dry_run,
    })
}

/// The road of one vault.
fn open_road(
    place: &Place,
    options: &McpOptions,
    app: &App,
    terminal: &Terminal,
) -> Result<Arc<Road>, Failure> {
    let registry = surface::registry(options.surface, app);
    registry.register(Arc::new(resource::ReadResource::default()))?;
    let road = door::build_road_with(place, registry)?;
    for (id, _) in road.vault().recovered() {
        terminal.note(&format!("note: an interrupted change was put in order at start ({id})"));
    }
    Ok(Arc::new(road))
}

async fn talk(server: Server) -> Result<(), Failure> {
    let failed = |message: String| Failure::new(Exit::Failed, "mcp", message, "start it again");
    let transport = Stdio::start(server.is_edit()).map_err(|error| failed(format!("no thread: {error}")))?;
    match server.serve(transport).await {
        Ok(running) => match running.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(failed(format!("the connection broke down: {error}"))),
        },
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(failed(format!("the client and verger did not come together: {error}"))),
    }
}
