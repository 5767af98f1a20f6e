//! `verger mcp`: the door for AI clients that speak the Model Context Protocol, over stdin and stdout or over HTTP.
//!
//! Over stdin, stdout carries JSON-RPC and nothing else; trouble goes to stderr. The protocol itself is the official
//! SDK's (`rmcp`); every call walks the road. Deliberately not here: what the tools do.

mod answer;
mod asker;
mod auth;
mod fixtures;
mod frame;
mod hall;
mod http;
mod keys;
mod resource;
mod server;
mod stdio;
mod surface;
mod tasks;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Rights, World};
use rmcp::ServiceExt;
use rmcp::model::RequestStateCodec;
use rmcp::service::ServerInitializeError;

use crate::args::{Global, McpOptions};
use crate::config::Config;
use crate::door;
use crate::embedding;
use crate::failure::{Exit, Failure};
use crate::foreign;
use crate::place;
use crate::terminal::Terminal;
use crate::world::RealWorld;
use fixtures::Fixtures;
use hall::{Approval, Connection, Hall};
use http::settings::{self, Settings};
use server::Server;
use stdio::Stdio;

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
    let road = Arc::clone(&hall.connection.road);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        Failure::new(
            Exit::Failed,
            "internal",
            format!("cannot start: {error}"),
            "free some memory and try again",
        )
    })?;
    let ended = match http {
        Some(settings) => runtime.block_on(http::serve(hall, settings)),
        None => runtime.block_on(talk(&hall)),
    };
    // A call that is still busy ends with the process; what it would write is wholly there or not at all.
    runtime.shutdown_timeout(FAREWELL);
    if let Err(error) = road.vault().save() {
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
    let place = place::find(global.vault.as_deref(), &config)?;
    let registry = surface::registry(options.surface);
    foreign::offer(&registry, &config, &place, options)?;
    registry.register(Arc::new(resource::ReadResource::default()))?;
    let road = door::build_road_with(&place, registry)?;
    embedding::attach(road.vault(), &config, embedding::Effort::Half)?;
    for (id, _) in road.vault().recovered() {
        terminal.note(&format!("note: an interrupted change was put in order at start ({id})"));
    }
    Ok(Connection {
        road: Arc::new(road),
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
    let transport = Stdio::start(hall.is_edit()).map_err(|error| failed(format!("no thread: {error}")))?;
    match Server::new(Arc::clone(hall)).serve(transport).await {
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
