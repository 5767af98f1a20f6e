//! `verger mcp --http`: the same server over streamable HTTP, for clients that do not start it themselves.
//!
//! Here: the start and the end in good order; connections and their limits are in `socket.rs`. Who is let in is decided in
//! `http/gate.rs`; what the requests mean, in `server.rs`. One hall and one road for all.

mod busy;
pub mod gate;
pub mod settings;

use std::sync::Arc;
use std::time::Duration;

use ring::hmac;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::auth::jwt::Expected;
use super::auth::{self, Auth, TokenHash};
use super::hall::{Hall, complain};
use super::keys::Keys;
use crate::failure::{Exit, Failure};
use crate::place;
use crate::socket::{self, Signals};
use gate::Gate;
use settings::{AuthSettings, Settings};

/// How long calls in flight may take to finish at the end.
const FINISH: Duration = Duration::from_secs(10);
/// How long connections may take to close after that.
const CLOSE: Duration = Duration::from_secs(2);

/// Serves until a signal to end comes.
pub async fn serve(hall: Arc<Hall>, settings: Settings) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let (auth, token) = authentication(&settings)?;
    let listener =
        socket::listen(settings.address, settings.port_retries, settings.retry_delay, "--http").await?;
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
    socket::accept(&listener, None, &gate.router(), &closing, &mut connections, &mut signals).await;
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
