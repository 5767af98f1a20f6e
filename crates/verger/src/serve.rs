//! `verger serve`: a web page for the vault and its agent, on this machine, and the API behind it.
//!
//! Here: the start and the end. `house.rs` holds what all requests share, `gate.rs` decides who is let in, `page.rs` gives the
//! page, `api/*` answers it. Programs come in by `openai.rs` and `mcp.rs`, with a token of `tokens.rs`. Every call that touches notes
//! walks the road; the page is one more door.

mod api;
mod asker;
mod diffs;
mod gate;
mod house;
mod inbox;
mod keys;
mod login;
mod mcp;
mod openai;
mod page;
mod problem;
mod proposal;
mod render;
mod rooms;
mod said;
pub mod service;
pub mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::args::{Global, ServeOptions};
use crate::chat::ask::unknown_agent;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::mcp::desktop::browse;
use crate::place;
use crate::socket::origin::Origin;
use crate::socket::{self, Signals};
use crate::study::{Study, Wanted};
use crate::terminal::Terminal;
use house::{House, Reached};
use keys::Keys;
use tokens::{May, Tokens};

/// How many ports above the wanted one are tried when it is taken.
const PORT_RETRIES: u16 = 10;
/// How long connections may take to close at the end.
const CLOSE: Duration = Duration::from_secs(2);
/// How long threads that are busy may take to end.
const FAREWELL: Duration = Duration::from_millis(500);

/// Serves the page until a signal to end comes.
pub fn serve(global: &Global, options: &ServeOptions, terminal: &Terminal) -> Result<(), Failure> {
    if let Some(manager) = options.print_service {
        return service::print(manager, global, options, terminal);
    }
    if let Some(name) = &options.new_token {
        return new_token(global, name, &options.may, terminal);
    }
    let encrypted = options.tls_cert.is_some();
    let may_listen = options.address.ip().is_loopback() || options.without_tls || encrypted;
    if !may_listen {
        let message =
            format!("{} can be reached by other machines, and nothing would be encrypted", options.address);
        let hint = "give --tls-cert and --tls-key, or listen on 127.0.0.1 and let a proxy with TLS pass requests on \
                    (--public-url), or add --without-tls";
        return Err(Failure::new(Exit::Usage, "not_encrypted", message, hint));
    }
    if options.link {
        return link(global, options, terminal);
    }
    let wanted = Wanted { model: options.model.clone(), person: true, forgiving: true, ..Wanted::default() };
    let study = Study::open(global, &wanted)?;
    let (agent, known) = (options.agent.as_deref().unwrap_or(study.agent()), study.mind.cast.slugs());
    if !known.iter().any(|slug| slug == agent) {
        return Err(unknown_agent(agent, &known));
    }
    if let Err(failure) = study.model() {
        terminal
            .note(&format!("note: {}; everything but conversations works without", failure.refusal.message));
    }
    for (id, _) in study.mind.road.vault().recovered() {
        terminal.note(&format!("note: an interrupted change was put in order at start ({id})"));
    }
    let runtime = socket::runtime()?;
    let keys = Keys::open(&study.place)?;
    let reached = Reached {
        address: options.address,
        public: options.public_url.as_deref(),
        tls: encrypted,
        guests: guests(&options.allow_origin)?,
    };
    let road = Arc::clone(&study.mind.road);
    let ended = runtime.block_on(async {
        let pause = Duration::from_millis(10);
        let listener = socket::listen(options.address, PORT_RETRIES, pause, "--address").await?;
        let address = listener.local_addr().unwrap_or(options.address);
        let house = House::new(study, wanted, options.agent.clone(), keys, Reached { address, ..reached });
        run(&house, listener, address, options, terminal).await
    });
    runtime.shutdown_timeout(FAREWELL);
    if let Err(error) = road.vault().save() {
        terminal
            .note(&format!("what was indexed could not be saved, the next start reads it again: {error}"));
    }
    ended
}

async fn run(
    house: &Arc<House>,
    listener: TcpListener,
    address: SocketAddr,
    options: &ServeOptions,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let tls = match (&options.tls_cert, &options.tls_key) {
        (Some(certificates), Some(key)) => Some(socket::tls::open(certificates, key)?),
        _ => None,
    };
    house.open_mcp()?;
    let link = house.keys.link(&base(options, address))?;
    match terminal.json {
        true => terminal
            .json(&serde_json::json!({"ok": true, "data": {"url": base(options, address), "link": link}})),
        false => {
            terminal.say(&format!("the page of {} is at {}", house.name(), base(options, address)));
            terminal.say(&format!("log in once with this link (it works for 10 minutes): {link}"));
        }
    }
    if options.open && !browse(&link).await {
        terminal.note("no browser could be opened; open the link yourself");
    }
    house.begin();
    let (close, closing) = watch::channel(false);
    let mut connections = JoinSet::new();
    socket::accept(&listener, tls.as_ref(), &router(house), &closing, &mut connections, &mut signals).await;
    drop(listener);
    terminal.note("ending");
    house.end().await;
    close.send_replace(true);
    let closed = async { while connections.join_next().await.is_some() {} };
    tokio::time::timeout(CLOSE, closed).await.ok();
    Ok(())
}

/// Everything that is served.
fn router(house: &Arc<House>) -> Router {
    let inside = api::router().layer(middleware::from_fn_with_state(Arc::clone(house), gate::inside));
    Router::new()
        .merge(page::routes())
        .merge(login::routes())
        .merge(inside)
        .merge(openai::routes())
        .merge(mcp::routes())
        .fallback(page::nothing_here)
        .layer(middleware::from_fn_with_state(Arc::clone(house), gate::from_where))
        .with_state(Arc::clone(house))
}

/// The origins that were named, each of which must be one.
fn guests(named: &[String]) -> Result<Vec<Origin>, Failure> {
    let read = |text: &String| {
        let hint = "name it as browsers do, with the scheme and without a path: https://chat.example, app://obsidian.md";
        Origin::parse(text).ok_or_else(|| Failure::usage(format!("`{text}` is no origin of a page"), hint))
    };
    named.iter().map(read).collect()
}

/// Prints a login link for a server that runs already.
fn link(global: &Global, options: &ServeOptions, terminal: &Terminal) -> Result<(), Failure> {
    let config = Config::load(&place::config_folder()?)?;
    let place = place::find(global.one_vault()?, &config)?;
    let link = Keys::open(&place)?.link(&base(options, options.address))?;
    match terminal.json {
        true => terminal.json(&serde_json::json!({"ok": true, "data": {"link": link}})),
        false => terminal.data_line(&link),
    }
    Ok(())
}

/// Makes an access token and prints it.
fn new_token(global: &Global, name: &str, may: &[May], terminal: &Terminal) -> Result<(), Failure> {
    let config = Config::load(&place::config_folder()?)?;
    let place = place::find(global.one_vault()?, &config)?;
    let may = if may.is_empty() { &[May::Read, May::Chat] } else { may };
    let token = Tokens::at(&place).make(&Keys::open(&place)?, name, may)?;
    match terminal.json {
        true => terminal
            .json(&serde_json::json!({"ok": true, "data": {"name": name, "may": may, "token": token}})),
        false => {
            terminal.data_line(&token);
            terminal.note("this is shown only now; revoke it in the page's settings");
        }
    }
    Ok(())
}

/// The address that people type.
fn base(options: &ServeOptions, address: SocketAddr) -> String {
    match &options.public_url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None if options.tls_cert.is_some() => format!("https://{address}"),
        None => format!("http://{address}"),
    }
}
