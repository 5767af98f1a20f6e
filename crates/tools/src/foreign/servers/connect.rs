//! Reaching a server: start or connect, log in where that is all that is missing, and what to make of faults.

use std::path::PathBuf;
use std::sync::Arc;

use super::Foreign;
use super::entry::Entry;
use crate::egress::{Blocked, Way};
use crate::foreign::connection::{Connection, Era, Fault, speaks_otherwise};
use crate::foreign::handler::Handler;
use crate::foreign::oauth::{self, Login};
use crate::foreign::process::{self, Start};
use crate::foreign::server::{Auth, Server, Transport, expand};
use crate::foreign::tokens::Tokens;
use crate::foreign::trouble::Trouble;
use crate::foreign::{http, sse, stdio};

/// How often a login is tried for one call.
const LOGINS: usize = 3;
/// How deep servers may start servers.
const DEEPEST: u32 = 3;

impl Foreign {
    /// After a fault: the connection is given up. `Ok` means that a login was all that was missing.
    pub(super) async fn recover(
        &self,
        entry: &Arc<Entry>,
        fault: Fault,
        attempt: usize,
    ) -> Result<(), Trouble> {
        if let Fault::Login { challenge, scope } = &fault
            && attempt < LOGINS
        {
            entry.drop_connection().await;
            return self.login_again(&entry.server, Some(challenge), scope.as_deref()).await;
        }
        // A server that answers with an error, or is only slow, goes on living.
        if !matches!(fault, Fault::Answered(_) | Fault::Slow) {
            entry.drop_connection().await;
        }
        Err(trouble(&entry.server, fault))
    }

    /// The connection to a server, made anew if there is none.
    pub(super) async fn live(&self, entry: &Arc<Entry>) -> Result<Arc<Connection>, Trouble> {
        let mut live = entry.live.lock().await;
        if let Some(open) = live.as_ref().filter(|live| live.is_open()) {
            return Ok(Arc::clone(open));
        }
        if let Some(seconds) = entry.waiting() {
            return Err(Trouble::Waiting { name: entry.server.name.clone(), seconds });
        }
        for attempt in 0.. {
            match self.connect(entry).await {
                Ok(connection) => {
                    let connection = Arc::new(connection);
                    *live = Some(Arc::clone(&connection));
                    entry.set_known(Some(Arc::clone(&connection)));
                    entry.succeeded();
                    return Ok(connection);
                }
                Err(Failed::Fault(Fault::Login { challenge, scope })) if attempt < LOGINS => {
                    self.login_again(&entry.server, Some(&challenge), scope.as_deref()).await?;
                }
                Err(Failed::Fault(fault)) => {
                    entry.failed();
                    return Err(not_started(&entry.server, fault));
                }
                Err(Failed::Trouble(trouble)) => return Err(trouble),
            }
        }
        Err(Trouble::Gone(entry.server.name.clone()))
    }

    async fn connect(&self, entry: &Entry) -> Result<Connection, Failed> {
        let server = &entry.server;
        let limit = server.timeout;
        let handler = Handler { forms: self.means.forms, ..Handler::default() };
        match &server.transport {
            Transport::Stdio { .. } => {
                let pipes = self.pipes(entry).await?;
                match Connection::open(pipes, handler.clone(), Era::Handshake, limit).await {
                    Err(fault) if speaks_otherwise(&fault) => {
                        let pipes = self.pipes(entry).await?;
                        Ok(Connection::open(pipes, handler, Era::Stateless, limit).await?)
                    }
                    other => Ok(other?),
                }
            }
            Transport::Http { url, headers } => {
                let (url, way) = self.way(server, url)?;
                let headers = http::headers(&server.name, headers, &|text| self.expand(server, text))?;
                let client = way.client().map_err(|_| Fault::Broken("no HTTP client".to_owned()))?;
                let open = async |era: Era| {
                    let manager = self.authorized(server, &url, &way).await?;
                    let transport = http::transport(&url, headers.clone(), client.clone(), manager);
                    Ok::<_, Failed>(Connection::open(transport, handler.clone(), era, limit).await)
                };
                let opened = match open(self.means.era).await? {
                    // An older server may answer the newer first question with anything at all.
                    Err(Fault::Gone | Fault::Answered(_) | Fault::Broken(_))
                        if self.means.era == Era::Either =>
                    {
                        open(Era::Handshake).await??
                    }
                    other => other?,
                };
                opened.settle().await;
                Ok(opened)
            }
            Transport::Sse { url, headers } => {
                let (url, way) = self.way(server, url)?;
                let headers = http::headers(&server.name, headers, &|text| self.expand(server, text))?;
                let client = way.client().map_err(|_| Fault::Broken("no HTTP client".to_owned()))?;
                let address = reqwest::Url::parse(&url).map_err(|_| bad_address(server))?;
                let events = tokio::time::timeout(limit, sse::Events::open(client, address, headers)).await;
                let events = events.map_err(|_| Fault::Slow)?.map_err(sse_fault)?;
                Ok(Connection::open(events, handler, Era::Handshake, limit).await?)
            }
        }
    }

    async fn pipes(&self, entry: &Entry) -> Result<stdio::Pipes, Failed> {
        let server = &entry.server;
        if process::depth() >= DEEPEST {
            return Err(Trouble::Depth(server.name.clone()).into());
        }
        let Transport::Stdio { command, args, env, cwd } = &server.transport else {
            return Err(bad_address(server).into());
        };
        let put_in = |text: &String| self.expand(server, text);
        let start = Start {
            command: put_in(command)?,
            args: args.iter().map(put_in).collect::<Result<_, _>>()?,
            env: env
                .iter()
                .map(|(name, value)| Ok((name.clone(), put_in(value)?)))
                .collect::<Result<_, Trouble>>()?,
            cwd: cwd.as_ref().map(put_in).transpose()?.map(PathBuf::from),
            through: self.means.through.clone(),
        };
        let started = process::start(start, entry.log.clone()).await;
        let failed = |error: std::io::Error| {
            Fault::Broken(format!("the program cannot be started ({})", error.kind()))
        };
        Ok(stdio::Pipes::new(started.map_err(failed)?))
    }

    /// The address of a server with variables put in, and the way there. Only what a person wrote down may be private.
    fn way(&self, server: &Server, url: &str) -> Result<(String, Way), Trouble> {
        let url = self.expand(server, url)?;
        let mut named = vec![url.as_str()];
        let identity =
            server.auth.identity.as_ref().map(|identity| self.expand(server, &identity.token_endpoint));
        let identity = identity.transpose()?;
        named.extend(identity.as_deref());
        let way = Way::naming(named);
        let blocked =
            |blocked: Blocked| Trouble::Blocked { name: server.name.clone(), why: blocked.to_string() };
        way.address(&url).map_err(blocked)?;
        Ok((url, way))
    }

    fn expand(&self, server: &Server, text: &str) -> Result<String, Trouble> {
        expand(&server.name, text, &|name| (self.means.variable)(name))
    }

    /// What looks after the tokens of a server. Tokens that are of no use any more are as good as none.
    async fn authorized(
        &self,
        server: &Server,
        url: &str,
        way: &Way,
    ) -> Result<rmcp::transport::AuthorizationManager, Failed> {
        let tokens = Tokens::of(self.files()?.tokens.clone(), &server.name, url);
        let mut manager = oauth::manager(url, way).await.map_err(Fault::Broken)?;
        manager.set_credential_store(tokens.clone());
        if tokens.any()? && manager.initialize_from_store().await.is_err() {
            tokens.forget()?;
        }
        Ok(manager)
    }

    async fn login_again(
        &self,
        server: &Server,
        challenge: Option<&str>,
        missing: Option<&str>,
    ) -> Result<(), Trouble> {
        let url = server.transport.url().ok_or_else(|| bad_address(server))?;
        let (url, way) = self.way(server, url)?;
        let auth = self.auth(server)?;
        let tokens = Tokens::of(self.files()?.tokens.clone(), &server.name, &url);
        let login = Login { url: &url, auth: &auth, way: &way, tokens: &tokens, challenge, missing };
        let done = match (&self.means.browser, login.is_alone()) {
            (_, true) => login.alone(&*self.means.chance).await,
            (Some(browser), false) => login.with(&**browser).await,
            (None, false) => return Err(Trouble::Login(server.name.clone())),
        };
        done.map_err(|why| Trouble::LoginFailed { name: server.name.clone(), why })
    }

    /// Logs in at a server, whether or not it asked.
    pub async fn login(&self, name: &str) -> Result<(), Trouble> {
        let entry = self.usable(name)?;
        entry.drop_connection().await;
        self.login_again(&entry.server, None, None).await
    }

    /// Forgets the tokens of a server.
    pub async fn logout(&self, name: &str) -> Result<bool, Trouble> {
        let entry = self.entry(name)?;
        entry.drop_connection().await;
        let url = entry.server.transport.url().ok_or_else(|| bad_address(&entry.server))?;
        let url = self.expand(&entry.server, url)?;
        Tokens::of(self.files()?.tokens.clone(), name, &url).forget()
    }

    fn auth(&self, server: &Server) -> Result<Auth, Trouble> {
        let mut auth = server.auth.clone();
        let texts =
            [&mut auth.client_id, &mut auth.client_secret, &mut auth.private_key, &mut auth.assertion];
        for text in texts.into_iter().flatten() {
            *text = self.expand(server, text)?;
        }
        if let Some(identity) = &mut auth.identity {
            identity.id_token = self.expand(server, &identity.id_token)?;
            identity.token_endpoint = self.expand(server, &identity.token_endpoint)?;
        }
        Ok(auth)
    }
}

/// Why a connection did not come about.
enum Failed {
    Fault(Fault),
    Trouble(Trouble),
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Failed {
        Failed::Fault(fault)
    }
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Failed {
        Failed::Trouble(trouble)
    }
}

fn bad_address(server: &Server) -> Trouble {
    Trouble::Entry { name: server.name.clone(), why: "its address is none".to_owned() }
}

fn sse_fault(error: sse::SseError) -> Fault {
    match error {
        sse::SseError::Login(error) => Fault::Login { challenge: error.www_authenticate_header, scope: None },
        sse::SseError::Http(_) => Fault::Broken("it cannot be reached".to_owned()),
        other => Fault::Broken(other.to_string()),
    }
}

fn trouble(server: &Server, fault: Fault) -> Trouble {
    let name = server.name.clone();
    match fault {
        Fault::Gone => Trouble::Gone(name),
        Fault::Slow => Trouble::Slow { name, seconds: server.timeout.as_secs() },
        Fault::Login { .. } => Trouble::Login(name),
        Fault::Answered(error) => {
            Trouble::Protocol { name, why: format!("it answers with error {}", error.code.0) }
        }
        Fault::Broken(why) => Trouble::Protocol { name, why },
    }
}

fn not_started(server: &Server, fault: Fault) -> Trouble {
    let name = server.name.clone();
    let why = match fault {
        Fault::Login { .. } => return Trouble::Login(name),
        Fault::Gone => "it ended before it answered".to_owned(),
        Fault::Slow => format!("it did not answer within {} s", server.timeout.as_secs()),
        Fault::Answered(error) => format!("it answers with error {}", error.code.0),
        Fault::Broken(why) => why,
    };
    Trouble::Start { name, why }
}
