//! `verger mcp --http`: the same server over streamable HTTP, for clients that do not start it themselves.
//!
//! Here: the socket, the connections with their limits, and the end in good order. Who is let in is decided in
//! `http/gate.rs`; what the requests mean, in `server.rs`. One hall and one road for all.

mod busy;
mod gate;
mod origin;
pub mod settings;
mod unread;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ring::hmac;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::auth::jwt::Expected;
use super::auth::{self, Auth, TokenHash};
use super::hall::{Hall, complain};
use super::keys::Keys;
use crate::failure::{Exit, Failure};
use crate::place;
use gate::Gate;
use settings::{AuthSettings, Settings};
use unread::Unread;

/// Connections at once; the next one waits in the system's queue.
const CONNECTIONS: usize = 512;
/// How long a client may take for the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// The largest head that is read, and the most headers.
const HEAD_BYTES: usize = 64 * 1024;
const HEADERS: usize = 100;
/// How long a client may take nothing of what it is sent.
const UNREAD: Duration = Duration::from_secs(30);
/// How long calls in flight may take to finish at the end.
const FINISH: Duration = Duration::from_secs(10);
/// How long connections may take to close after that.
const CLOSE: Duration = Duration::from_secs(2);

/// Serves until a signal to end comes.
pub async fn serve(hall: Arc<Hall>, settings: Settings) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let (auth, token) = authentication(&settings)?;
    let listener = bind(&settings).await?;
    let address = listener.local_addr().unwrap_or(settings.address);
    let path = settings.path.clone();
    let gate = Arc::new(Gate::new(hall, auth, address, settings));
    complain(&format!("serving MCP at http://{address}{path}"));
    match token {
        Some(Shown::Token(token)) => complain(&format!("bearer token, shown only now: {token}")),
        Some(Shown::File(file)) => complain(&format!("bearer token: see {file}")),
        None => {}
    }
    let (close, closing) = watch::channel(false);
    let mut connections = JoinSet::new();
    accept(&listener, &gate.router(), &closing, &mut connections, &mut signals).await;
    drop(listener);
    complain("ending: calls in flight are finished first");
    close.send_replace(true);
    tokio::select! {
        () = gate.idle() => {}
        () = tokio::time::sleep(FINISH) => complain("a call took too long and was cut off"),
        () = signals.next() => {}
    }
    gate.end().await;
    let closed = async { while connections.join_next().await.is_some() {} };
    tokio::time::timeout(CLOSE, closed).await.ok();
    Ok(())
}

/// Takes connections until a signal comes.
async fn accept(
    listener: &TcpListener,
    router: &Router,
    closing: &watch::Receiver<bool>,
    connections: &mut JoinSet<()>,
    signals: &mut Signals,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = tokio::select! {
            () = signals.next() => return,
            Some(_) = connections.join_next() => continue,
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let accepted = tokio::select! {
            () = signals.next() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (router, closing) = (router.clone(), closing.clone());
                connections.spawn(async move {
                    let _place = place;
                    talk(stream, router, closing).await;
                });
            }
            // Usually too many open files; a moment later there are fewer.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// One connection, until one side closes it.
async fn talk(stream: TcpStream, router: Router, mut closing: watch::Receiver<bool>) {
    stream.set_nodelay(true).ok();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(Unread::new(stream, UNREAD)), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // What a broken connection breaks of is the client's affair, and its bytes belong in no log.
        _ = connection.as_mut() => return,
        _ = closing.wait_for(|closing| *closing) => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await.ok();
}

/// Listens; when the port is taken, on one of the next.
async fn bind(settings: &Settings) -> Result<TcpListener, Failure> {
    let mut address = settings.address;
    for _ in 0..=settings.port_retries {
        match TcpListener::bind(address).await {
            Ok(listener) => {
                if settings.address.port() != 0 && address != settings.address {
                    complain(&format!("port {} is taken", settings.address.port()));
                }
                return Ok(listener);
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let Some(port) = address.port().checked_add(1) else { break };
                address.set_port(port);
                tokio::time::sleep(settings.retry_delay).await;
            }
            Err(error) => return Err(cannot_listen(address, &error.to_string())),
        }
    }
    Err(cannot_listen(settings.address, "the port is taken, and so are the next ones"))
}

fn cannot_listen(address: SocketAddr, why: &str) -> Failure {
    let hint = "choose another address with --http ADDR:PORT";
    Failure::new(Exit::Failed, "http", format!("cannot listen on {address}: {why}"), hint)
}

/// What is said about the token at the start.
enum Shown {
    Token(String),
    File(String),
}

fn authentication(settings: &Settings) -> Result<(Auth, Option<Shown>), Failure> {
    let no_chance = || {
        Failure::new(Exit::Failed, "internal", "the machine has no random numbers to give", "start it again")
    };
    let scopes = settings.scopes;
    let auth = match &settings.auth {
        AuthSettings::Off => Auth::Off,
        AuthSettings::Token(file) => {
            let fresh = auth::new_token().ok_or_else(no_chance)?;
            let (token, shown) = match file {
                None => (fresh.clone(), Shown::Token(fresh)),
                Some(file) => (place::secret(file, &fresh)?, Shown::File(file.display().to_string())),
            };
            return Ok((Auth::Token(TokenHash::of(&token).ok_or_else(no_chance)?), Some(shown)));
        }
        AuthSettings::Jwt { secret, issuer, audience } => Auth::Jwt {
            secret: hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()),
            expected: Expected { issuer: issuer.clone(), audience: audience.clone(), scopes },
        },
        AuthSettings::OAuth { issuer, keys, audience } => Auth::Issued {
            keys: Keys::at(keys.clone())?,
            expected: Expected { issuer: Some(issuer.clone()), audience: Some(audience.clone()), scopes },
        },
    };
    Ok((auth, None))
}

/// The signals that ask us to end.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> Result<Signals, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let no_signals = |error: std::io::Error| {
            Failure::new(Exit::Failed, "internal", format!("no signals: {error}"), "start it again")
        };
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).map_err(no_signals)?,
            interrupt: signal(SignalKind::interrupt()).map_err(no_signals)?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
