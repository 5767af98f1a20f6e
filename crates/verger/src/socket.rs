//! The socket of the doors that speak HTTP: connections with their limits, and the signals that end a server.
//!
//! Called by `mcp/http.rs` and `serve.rs`. Deliberately not here: who is let in, and what requests mean.

pub mod origin;
pub mod tls;
mod unread;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::failure::{Exit, Failure};
use crate::mcp::complain;
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

/// Listens; when the port is taken, on one of the next.
pub async fn listen(
    wanted: SocketAddr,
    retries: u16,
    pause: Duration,
    flag: &str,
) -> Result<TcpListener, Failure> {
    let mut address = wanted;
    for _ in 0..=retries {
        match TcpListener::bind(address).await {
            Ok(listener) => {
                if wanted.port() != 0 && address != wanted {
                    complain(&format!("port {} is taken", wanted.port()));
                }
                return Ok(listener);
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let Some(port) = address.port().checked_add(1) else { break };
                address.set_port(port);
                tokio::time::sleep(pause).await;
            }
            Err(error) => return Err(cannot_listen(address, &error.to_string(), flag)),
        }
    }
    Err(cannot_listen(wanted, "the port is taken, and so are the next ones", flag))
}

fn cannot_listen(address: SocketAddr, why: &str, flag: &str) -> Failure {
    let hint = format!("choose another address with {flag} ADDR:PORT");
    Failure::new(Exit::Failed, "http", format!("cannot listen on {address}: {why}"), hint)
}

/// Takes connections until a signal comes; encrypted ones, where there is something to do that with.
pub async fn accept(
    listener: &TcpListener,
    tls: Option<&TlsAcceptor>,
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
                let (router, closing, tls) = (router.clone(), closing.clone(), tls.cloned());
                stream.set_nodelay(true).ok();
                connections.spawn(async move {
                    let _place = place;
                    match tls {
                        None => talk(stream, router, closing).await,
                        // Who cannot agree with us on a key, or takes too long, is let go without a word.
                        Some(tls) => {
                            let agreed = tokio::time::timeout(HEAD, tls.accept(stream)).await;
                            if let Ok(Ok(stream)) = agreed {
                                talk(stream, router, closing).await;
                            }
                        }
                    }
                });
            }
            // Usually too many open files; a moment later there are fewer.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// One connection, until one side closes it.
async fn talk<S>(stream: S, router: Router, mut closing: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
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

/// A runtime for a server: a thread for each core.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        Failure::new(
            Exit::Failed,
            "internal",
            format!("cannot start: {error}"),
            "free some memory and try again",
        )
    })
}

/// The signals that ask us to end.
pub struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// Listens for them from now on.
    pub fn new() -> Result<Signals, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let no_signals = |error: std::io::Error| {
            Failure::new(Exit::Failed, "internal", format!("no signals: {error}"), "start it again")
        };
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).map_err(no_signals)?,
            interrupt: signal(SignalKind::interrupt()).map_err(no_signals)?,
        })
    }

    /// Waits for the next.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
