//! The MCP door inside of another server (`verger serve`): the same gate and protocol, behind that server's own judgement of who
//! comes from where, with its access tokens in the place of the ones of `verger mcp --http`.
//!
//! It walks on the road that the server has open, with the tools of the Obsidian surface beside the agent's: one vault in
//! memory, one audit, one list of grants.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use pipeline::{Effect, Rights, Road, World as _};
use tools::obsidian::app::App;
use vault::watch::Report;

use super::auth::jwt::Scopes;
use super::auth::{self, Auth, Principal, TokenHash, tool_scope};
use super::hall::{Approval, Connection, Hall};
use super::http::gate::Gate;
use super::http::settings::{AuthSettings, Sessions, Settings};
use super::surface::{self, Surface};
use super::vaults::Vaults;
use super::{news, resource, seal};
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::place::Place;
use crate::world::RealWorld;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";
/// The largest message.
const MAX_BODY: usize = 1024 * 1024;
/// After how long a quiet session ends.
const STALE: Duration = Duration::from_secs(1_800);
/// How often a silent stream says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How far the token of a client reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It reads.
    Read,
    /// It changes notes, too.
    Edit,
}

/// The MCP door beside another one.
pub struct Beside {
    gate: Arc<Gate>,
    hall: Arc<Hall>,
    reporter: Box<dyn Fn(Report) + Send + Sync>,
}

impl Beside {
    /// A door on this road, which the server at this address has open. To be called inside of the runtime.
    pub fn open(road: &Road, config: &Config, place: &Place, address: SocketAddr) -> Result<Beside, Failure> {
        let name = place.root.file_name().map(|name| name.to_string_lossy().into_owned());
        let app = App { vault: name, ..App::default() };
        let registry = surface::registry(Surface::Obsidian, &app);
        registry.register(Arc::new(resource::ReadResource::default()))?;
        let road = Arc::new(road.beside(registry, Box::new(RealWorld)));
        let vaults = Arc::new(Vaults::new(vec![(&place.root, Arc::clone(&road))]));
        let connection = Connection {
            road,
            vaults,
            app,
            news: Arc::default(),
            all_tools: false,
            id: format!("mcp-{}", RealWorld.id()?),
            rights: if config.limits.read_only { Rights::read_only() } else { Rights::all() },
            limits: config.limits.clone(),
            retention: config.retention,
            surface: Surface::Obsidian,
            // Whoever made the token said whether it may change notes; a client without that word has no tool for it.
            approval: Approval::Allow,
            dry_run: false,
            fixtures: None,
        };
        let hall = Arc::new(Hall::watched_elsewhere(connection, seal()?));
        let reporter =
            Box::new(news::reporter(&hall.connection.vaults, &hall.connection.news, &config.limits));
        let gate = Arc::new(Gate::new(Arc::clone(&hall), nobody()?, address, settings(address)));
        Ok(Beside { gate, hall, reporter })
    }

    /// Answers a request of the holder of this token.
    pub async fn answer(&self, request: Request, name: &str, reach: Reach) -> Response {
        self.gate.answer(request, self.principal(name, reach)).await
    }

    /// Tells what the door is.
    pub fn card(&self) -> Response {
        self.gate.card()
    }

    /// Answers somebody without a token that counts.
    pub fn unwelcome(&self, why: &'static str) -> Response {
        self.gate.unwelcome(why)
    }

    /// The vault's watcher saw something.
    pub fn report(&self, report: Report) {
        (self.reporter)(report);
    }

    /// Ends all streams and sessions.
    pub async fn end(&self) {
        self.gate.end().await;
    }

    fn principal(&self, name: &str, reach: Reach) -> Principal {
        let connection = &self.hall.connection;
        let listings = connection.road.registry.list(&connection.rights);
        let within = |effect: Effect| match effect {
            Effect::Answers | Effect::Steers => true,
            Effect::Edits => reach == Reach::Edit,
            // What leaves the vault is for no token.
            Effect::Acts => false,
        };
        let specs = listings.iter().map(|listing| &listing.spec).filter(|spec| within(spec.effect));
        let tools = specs.map(|spec| tool_scope(&spec.name, spec.effect));
        let window = |scope: &String| reach == Reach::Edit || !scope.ends_with(":write");
        let resources = ["note", "status", "tags"].map(|name| format!("resource:{name}:read"));
        let scopes: BTreeSet<String> = tools.filter(window).chain(resources).collect();
        Principal::with_scopes(format!("token {name}"), scopes)
    }
}

/// The gate's own judgement lets nobody in: this door's clients were judged before.
fn nobody() -> Result<Auth, Failure> {
    let token = auth::new_token().and_then(|token| TokenHash::of(&token));
    token.map(Auth::Token).ok_or_else(|| {
        Failure::new(Exit::Failed, "internal", "the machine has no random numbers to give", "start it again")
    })
}

fn settings(address: SocketAddr) -> Settings {
    Settings {
        address,
        path: PATH.to_owned(),
        max_body: MAX_BODY,
        port_retries: 0,
        retry_delay: Duration::ZERO,
        origins: Vec::new(),
        public_url: None,
        sessions: Sessions::Kept,
        stale: STALE,
        heartbeat: HEARTBEAT,
        auth: AuthSettings::Token(None),
        scopes: Scopes::Checked,
    }
}
