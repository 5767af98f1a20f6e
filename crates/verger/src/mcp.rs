//! `verger mcp`: the door for AI clients that speak the Model Context Protocol, over stdin and stdout or over HTTP.
//!
//! Over stdin, stdout carries JSON-RPC and nothing else; trouble goes to stderr. The protocol itself is the official
//! SDK's (`rmcp`); every call walks the road. Deliberately not here: what the tools do.

mod answer;
mod app;
mod asker;
pub mod auth;
pub mod beside;
mod complete;
mod desk;
pub mod desktop;
mod dry;
mod fixtures;
mod frame;
mod hall;
mod http;
mod keys;
mod line;
mod news;
mod progress;
mod prompts;
mod resource;
mod rest;
mod server;
mod short;
pub(crate) mod stdio;
mod surface;
mod tasks;
mod turn;
mod vaults;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Rights, Road, World};
use rmcp::ServiceExt;
use rmcp::model::RequestStateCodec;
use rmcp::service::ServerInitializeError;
use tools::obsidian::app::App;

use crate::args::{Global, McpOptions};
use crate::config::Config;
use crate::door;
use crate::embedding;
use crate::failure::{Exit, Failure};
use crate::foreign;
use crate::place::{self, Place};
use crate::socket;
use crate::terminal::Terminal;
use crate::world::RealWorld;
use fixtures::Fixtures;
use hall::{Approval, Connection, Hall};
use http::settings::{self, Settings};
use server::{Clients, Server};
use short::Short;
use stdio::Stdio;
use vaults::Vaults;

pub use hall::complain;
pub use surface::Surface;

/// How long the threads of calls that were cut off may take to end.
const FAREWELL: Duration = Duration::from_millis(500);

/// Serves one client until it closes stdin, or many over HTTP until a signal comes.
pub fn serve(global: &Global, options: &McpOptions, terminal: &Terminal) -> Result<(), Failure> {
    let variable = |name: &str| std::env::var_os(name);
    let http = match settings::wants_http(options, &variable)? {
        true => Some(Settings::read(options, &variable)?),
        false => None,
    };
    let hall = Arc::new(Hall::new(open(global, options, terminal)?, seal()?));
    let vaults = Arc::clone(&hall.connection.vaults);
    let runtime = socket::runtime()?;
    let ended = match http {
        Some(settings) => runtime.block_on(http::serve(hall, settings)),
        None => runtime.block_on(talk(&hall)),
    };
    // A call that is still busy ends with the process; what it would write is wholly there or not at all.
    runtime.shutdown_timeout(FAREWELL);
    for error in vaults.all().filter_map(|served| served.road.vault().save().err()) {
        terminal
            .note(&format!("what was indexed could not be saved, the next start reads it again: {error}"));
    }
    ended
}

/// A seal under a key that nobody knows.
fn seal() -> Result<RequestStateCodec, Failure> {
    let codec = auth::chance().and_then(|key| RequestStateCodec::try_new(key).ok());
    codec.ok_or_else(|| {
        Failure::new(Exit::Failed, "internal", "the machine has no random numbers to give", "start it again")
    })
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
        roads.push((&place.root, open_road(place, &config, options, &app, terminal)?));
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
        fixtures: options.conformance_fixtures.then(seal).transpose()?.map(Fixtures::new),
    })
}

/// The road of one vault.
fn open_road(
    place: &Place,
    config: &Config,
    options: &McpOptions,
    app: &App,
    terminal: &Terminal,
) -> Result<Arc<Road>, Failure> {
    let registry = surface::registry(options.surface, app);
    foreign::offer(&registry, config, place, options)?;
    registry.register(Arc::new(resource::ReadResource::default()))?;
    let road = door::build_road_with(place, registry)?;
    embedding::attach(road.vault(), config, embedding::Effort::Half)?;
    for (id, _) in road.vault().recovered() {
        terminal.note(&format!("note: an interrupted change was put in order at start ({id})"));
    }
    Ok(Arc::new(road))
}

/// Waits for the signal by which other programs end this one. Where it cannot be heard, it ends the process at once.
async fn told_to_end() {
    #[cfg(unix)]
    if let Ok(mut signal) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        signal.recv().await;
        return;
    }
    std::future::pending().await
}

async fn talk(hall: &Arc<Hall>) -> Result<(), Failure> {
    let failed = |message: String| Failure::new(Exit::Failed, "mcp", message, "start it again");
    let server = Arc::new(Server::new(Arc::clone(hall), Clients::One));
    let short = Short::new(Arc::clone(&server), tokio::runtime::Handle::current());
    let transport =
        Stdio::start(hall.is_edit(), short).map_err(|error| failed(format!("no thread: {error}")))?;
    match server.serve(transport).await {
        Ok(running) => tokio::select! {
            ended = running.waiting() => match ended {
                Ok(_) => Ok(()),
                Err(error) => Err(failed(format!("the connection broke down: {error}"))),
            },
            () = told_to_end() => Ok(()),
        },
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(failed(format!("the client and verger did not come together: {error}"))),
    }
}
