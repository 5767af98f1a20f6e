//! All foreign servers: which there are, which run, and the way from a planned call to its result.
//!
//! A server is started when it is first needed and given up when nobody used it for a while. One that fails is left
//! alone for a moment that grows. A call is sent once; only one that the server refused for want of a login is sent
//! again, after the login.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use pipeline::Output;
use pipeline::refusal::nearest;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::connection::{Connection, Era, Fault, speaks_otherwise};
use super::handler::{Forms, Handler};
use super::oauth::{self, Browser, Chance, Login};
use super::pins::{self, Pin, Pins};
use super::process::{self, Log, Start};
use super::server::{Auth, Origin, Server, Transport, expand, parse_file};
use super::store::JsonFile;
use super::tokens::Tokens;
use super::trouble::Trouble;
use super::{http, result, sse, stdio};
use crate::egress::{Blocked, Way};

/// After how long without a call a server is given up.
const IDLE: Duration = Duration::from_secs(600);
/// How often a login is tried for one call.
const LOGINS: usize = 3;
/// How deep servers may start servers.
const DEEPEST: u32 = 3;
/// The longest that a failing server is left alone.
const LONGEST_WAIT: u64 = 60;

/// Where our files lie.
#[derive(Debug, Clone)]
pub struct Places {
    /// `mcp-pins.json`.
    pub pins: PathBuf,
    /// `mcp-trust.json`.
    pub trust: PathBuf,
    /// `mcp-tokens.json`.
    pub tokens: PathBuf,
    /// `mcp.json`: servers that were added.
    pub added: PathBuf,
}

/// A change of the servers that were added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Add or replace one.
    Add(Box<Server>),
    /// Remove one.
    Remove(String),
    /// Switch one on or off.
    Enable(String, bool),
}

/// What stays the same for all servers.
pub struct Means {
    /// What is done with forms.
    pub forms: Forms,
    /// Whoever can bring a person to a page.
    pub browser: Option<Arc<dyn Browser>>,
    /// Time and chance.
    pub chance: Arc<dyn Chance>,
    /// Verger's own program, which becomes a server so that it ends with us.
    pub through: Option<PathBuf>,
    /// Which wire is spoken over HTTP.
    pub era: Era,
    /// The environment.
    pub variable: fn(&str) -> Option<String>,
}

/// All foreign servers.
pub struct Foreign {
    entries: RwLock<BTreeMap<String, Arc<Entry>>>,
    problems: RwLock<Vec<String>>,
    files: Option<Files>,
    means: Means,
}

struct Files {
    pins: Pins,
    trust: JsonFile,
    tokens: JsonFile,
    added: JsonFile,
}

/// A server and its connection.
struct Entry {
    server: Server,
    log: Log,
    live: tokio::sync::Mutex<Option<Arc<Connection>>>,
    /// The same for those who only look.
    known: Mutex<Option<Arc<Connection>>>,
    failures: Mutex<Option<(u32, Instant)>>,
    uses: AtomicU64,
}

/// What is known of a server, for people and models: no key is in it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: &'static str,
    /// Where it is.
    pub place: String,
    /// Who wrote it down.
    pub origin: Origin,
    /// `ready`, `running`, `disabled`, `untrusted`, `failing`.
    pub state: &'static str,
    /// How many tools it is known to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
}

struct NoChance;
impl Chance for NoChance {
    fn seconds(&self) -> i64 {
        0
    }
    fn id(&self) -> String {
        String::new()
    }
}

impl Default for Means {
    fn default() -> Means {
        Means {
            forms: Forms::Decline,
            browser: None,
            chance: Arc::new(NoChance),
            through: None,
            era: Era::Either,
            variable: |name| std::env::var(name).ok(),
        }
    }
}

impl Default for Foreign {
    /// No server at all.
    fn default() -> Foreign {
        Foreign {
            entries: RwLock::default(),
            problems: RwLock::default(),
            files: None,
            means: Means::default(),
        }
    }
}

impl Foreign {
    /// The servers of the configuration, those that were added, and those of the vault's `.mcp.json`. A name belongs
    /// to whoever has it first in this order, so that a vault cannot put its server in the place of another.
    pub fn open(config: Vec<Server>, vault: Option<&str>, places: &Places, means: Means) -> Foreign {
        let files = Files {
            pins: Pins::in_file(JsonFile::at(&places.pins)),
            trust: JsonFile::at(&places.trust),
            tokens: JsonFile::at(&places.tokens),
            added: JsonFile::at(&places.added),
        };
        let foreign = Foreign { files: Some(files), means, ..Foreign::default() };
        let mut problems = Vec::new();
        let mut servers = config;
        for (text, origin, name) in [
            (foreign.added_text(&mut problems), Origin::Added, "mcp.json"),
            (vault.map(str::to_owned), Origin::Vault, "the vault's .mcp.json"),
        ] {
            match text.map(|text| parse_file(&text, origin)) {
                Some(Ok(parsed)) => {
                    for entry in parsed {
                        entry.map_or_else(
                            |trouble| problems.push(trouble.to_string()),
                            |server| servers.push(server),
                        );
                    }
                }
                Some(Err(problem)) => problems.push(format!("{name}: {problem}")),
                None => {}
            }
        }
        for server in servers {
            foreign.insert(server);
        }
        *foreign.problems.write().unwrap_or_else(PoisonError::into_inner) = problems;
        foreign
    }

    /// These servers, with nothing kept on disk: for a run that should leave nothing behind.
    pub fn in_memory(servers: Vec<Server>, means: Means) -> Foreign {
        let files = Files {
            pins: Pins::in_file(JsonFile::in_memory()),
            trust: JsonFile::in_memory(),
            tokens: JsonFile::in_memory(),
            added: JsonFile::in_memory(),
        };
        let foreign = Foreign { files: Some(files), means, ..Foreign::default() };
        servers.into_iter().for_each(|server| foreign.insert(server));
        foreign
    }

    fn added_text(&self, problems: &mut Vec<String>) -> Option<String> {
        let text = self.files.as_ref().map(|files| files.added.text());
        match text {
            Some(Ok(text)) => text,
            Some(Err(trouble)) => {
                problems.push(trouble.to_string());
                None
            }
            None => None,
        }
    }

    fn insert(&self, server: Server) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.entry(server.name.clone()).or_insert_with(|| Arc::new(Entry::new(server)));
    }

    /// What is wrong with the files that name servers.
    pub fn problems(&self) -> Vec<String> {
        self.problems.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A server by its name, whether or not it may be used.
    pub fn server(&self, name: &str) -> Result<Server, Trouble> {
        Ok(self.entry(name)?.server.clone())
    }

    fn entry(&self, name: &str) -> Result<Arc<Entry>, Trouble> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(name).cloned().ok_or_else(|| Trouble::Unknown {
            name: name.chars().take(64).collect(),
            near: nearest(name, entries.keys().map(String::as_str)).map(str::to_owned),
        })
    }

    /// A server that may be used: switched on, and trusted if it comes from the vault.
    fn usable(&self, name: &str) -> Result<Arc<Entry>, Trouble> {
        let entry = self.entry(name)?;
        if !entry.server.enabled {
            return Err(Trouble::Disabled(name.to_owned()));
        }
        if !self.is_trusted(&entry.server)? {
            return Err(Trouble::Untrusted(name.to_owned()));
        }
        Ok(entry)
    }

    fn files(&self) -> Result<&Files, Trouble> {
        self.files.as_ref().ok_or_else(|| Trouble::File {
            file: "the data folder".to_owned(),
            why: "it is not known here".to_owned(),
        })
    }

    /// Whether a person trusted this server as it is written down now, or wrote it down themselves.
    pub fn is_trusted(&self, server: &Server) -> Result<bool, Trouble> {
        if server.origin != Origin::Vault {
            return Ok(true);
        }
        let trusted: BTreeMap<String, String> = self.files()?.trust.read()?;
        Ok(trusted.get(&server.name) == Some(&server.fingerprint()))
    }

    /// A person trusts this server as it is written down now.
    pub fn trust(&self, name: &str) -> Result<(), Trouble> {
        let server = self.server(name)?;
        self.files()?.trust.change(|trusted: &mut BTreeMap<String, String>| {
            trusted.insert(server.name.clone(), server.fingerprint());
        })
    }

    /// All servers as they stand.
    pub fn standing(&self) -> Vec<Standing> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.values().map(|entry| self.stands(entry)).collect()
    }

    fn stands(&self, entry: &Entry) -> Standing {
        let server = &entry.server;
        let live = entry.known();
        let state = if !server.enabled {
            "disabled"
        } else if !self.is_trusted(server).unwrap_or(false) {
            "untrusted"
        } else if live.is_some() {
            "running"
        } else if entry.waiting().is_some() {
            "failing"
        } else {
            "ready"
        };
        Standing {
            name: server.name.clone(),
            transport: server.transport.kind(),
            place: server.place(),
            origin: server.origin,
            state,
            tools: live.and_then(|live| live.known_tools()).map(|tools| tools.len()),
        }
    }

    /// The last lines that a server wrote to stderr.
    pub fn log(&self, name: &str, lines: usize) -> Result<Vec<String>, Trouble> {
        Ok(self.entry(name)?.log.last(lines))
    }

    /// Checks that a tool may be called, and what is known of it. Nothing is started for that.
    pub fn planned(&self, server: &str, tool: &str) -> Result<(Server, Pin), Trouble> {
        let entry = self.usable(server)?;
        if !entry.server.allows(tool) {
            return Err(Trouble::NotAllowed { server: server.to_owned(), tool: short(tool) });
        }
        let unseen = || Trouble::Unseen { server: server.to_owned(), tool: short(tool) };
        let pin = self.files()?.pins.get(server, tool)?.ok_or_else(unseen)?;
        Ok((entry.server.clone(), pin))
    }

    /// The tools of a server that runs already, as far as its list allows them.
    pub fn known_tools(&self, server: &str) -> Result<Option<Vec<Tool>>, Trouble> {
        let entry = self.usable(server)?;
        let tools = entry.known().and_then(|live| live.known_tools());
        Ok(tools.map(|tools| allowed(&entry.server, &tools)))
    }

    /// The tools of a server, started for that if need be. What they say of themselves is noted.
    pub async fn tools(&self, name: &str) -> Result<Vec<Tool>, Trouble> {
        let entry = self.usable(name)?;
        for attempt in 0.. {
            let live = self.live(&entry).await?;
            match live.tools(entry.server.timeout).await {
                Ok(tools) => {
                    self.files()?.pins.see(&entry.server, &tools)?;
                    self.used(&entry);
                    return Ok(allowed(&entry.server, &tools));
                }
                Err(fault) => self.recover(&entry, fault, attempt).await?,
            }
        }
        Err(Trouble::Gone(name.to_owned()))
    }

    /// Calls a tool that describes itself as `expected`; if it does not, nothing is called.
    pub async fn call(
        &self,
        name: &str,
        tool: &str,
        arguments: JsonObject,
        expected: &str,
    ) -> Result<Output, Trouble> {
        let entry = self.usable(name)?;
        let server = &entry.server;
        let pins = &self.files()?.pins;
        for attempt in 0.. {
            let tools = self.tools(name).await?;
            let no_tool = || Trouble::NoTool { server: name.to_owned(), tool: short(tool) };
            let found = tools.iter().find(|found| found.name == tool).ok_or_else(no_tool)?;
            if pins::hash(server, found) != expected {
                return Err(Trouble::Changed { server: name.to_owned(), tool: short(tool) });
            }
            pins.approve(name, tool, expected)?;
            let live = self.live(&entry).await?;
            let called = live.call(tool, arguments.clone(), server.timeout).await;
            self.used(&entry);
            match called {
                Ok(answer) => return Ok(result::output(name, tool, answer)),
                Err(Fault::Answered(error)) => return Ok(result::error(name, tool, &error)),
                Err(fault) => self.recover(&entry, fault, attempt).await?,
            }
        }
        Err(Trouble::Gone(name.to_owned()))
    }

    /// After a fault: the connection is given up. `Ok` means that a login was all that was missing.
    async fn recover(&self, entry: &Arc<Entry>, fault: Fault, attempt: usize) -> Result<(), Trouble> {
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
    async fn live(&self, entry: &Arc<Entry>) -> Result<Arc<Connection>, Trouble> {
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
                match open(self.means.era).await? {
                    // An older server may answer the newer first question with anything at all.
                    Err(Fault::Gone | Fault::Answered(_) | Fault::Broken(_))
                        if self.means.era == Era::Either =>
                    {
                        Ok(open(Era::Handshake).await??)
                    }
                    other => Ok(other?),
                }
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
        for value in [&mut auth.client_id, &mut auth.client_secret, &mut auth.private_key] {
            if let Some(text) = value {
                *text = self.expand(server, text)?;
            }
        }
        if let Some(identity) = &mut auth.identity {
            identity.id_token = self.expand(server, &identity.id_token)?;
            identity.token_endpoint = self.expand(server, &identity.token_endpoint)?;
        }
        Ok(auth)
    }

    /// Starts a server afresh and says how it went, in facts.
    pub async fn test(&self, name: &str) -> Result<Value, Trouble> {
        let entry = self.usable(name)?;
        entry.drop_connection().await;
        entry.succeeded();
        let start = Instant::now();
        let tools = self.tools(name).await?;
        let revision = entry.known().map(|live| live.revision()).unwrap_or_default();
        let took = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(json!({ "server": name, "revision": revision, "tools": tools.len(), "milliseconds": took }))
    }

    /// Gives up the connection to a server; the next call makes a new one.
    pub async fn reconnect(&self, name: &str) -> Result<(), Trouble> {
        let entry = self.usable(name)?;
        entry.drop_connection().await;
        entry.succeeded();
        Ok(())
    }

    /// Changes the servers that were added. Those of `config.toml` and of the vault are not ours to change.
    pub async fn change(&self, change: Change) -> Result<(), Trouble> {
        let name = match &change {
            Change::Add(server) => server.name.clone(),
            Change::Remove(name) | Change::Enable(name, _) => name.clone(),
        };
        self.may_change(&change)?;
        self.files()?.added.change(|file: &mut Value| apply(file, &change))?;
        let before = self.entries.write().unwrap_or_else(PoisonError::into_inner).remove(&name);
        if let Some(entry) = before {
            entry.drop_connection().await;
            if let Change::Enable(_, enabled) = change {
                self.insert(Server { enabled, ..entry.server.clone() });
            }
        }
        match change {
            Change::Add(server) => self.insert(*server),
            Change::Remove(name) => self.files()?.pins.forget(&name)?,
            Change::Enable(..) => {}
        }
        Ok(())
    }

    /// Whether a change is ours to make.
    pub fn may_change(&self, change: &Change) -> Result<(), Trouble> {
        let (name, new) = match change {
            Change::Add(server) => (&server.name, true),
            Change::Remove(name) | Change::Enable(name, _) => (name, false),
        };
        match self.entry(name) {
            Ok(entry) if entry.server.origin == Origin::Added => Ok(()),
            Ok(_) => Err(Trouble::Entry {
                name: name.clone(),
                why: "it is written in config.toml or the vault's .mcp.json, where a person changes it"
                    .to_owned(),
            }),
            Err(_) if new => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Notes a use, and gives the server up once it was not used for a while.
    fn used(&self, entry: &Arc<Entry>) {
        let mark = entry.uses.fetch_add(1, Ordering::Relaxed) + 1;
        let entry = Arc::downgrade(entry);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            if let Some(entry) = entry.upgrade()
                && entry.uses.load(Ordering::Relaxed) == mark
            {
                entry.drop_connection().await;
            }
        });
    }

    /// Ends all connections and waits a moment for the servers.
    pub async fn close(&self) {
        let entries: Vec<Arc<Entry>> =
            self.entries.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for entry in entries {
            entry.drop_connection().await;
        }
    }
}

impl Entry {
    fn new(server: Server) -> Entry {
        Entry {
            server,
            log: Log::default(),
            live: tokio::sync::Mutex::default(),
            known: Mutex::default(),
            failures: Mutex::default(),
            uses: AtomicU64::new(0),
        }
    }

    fn known(&self) -> Option<Arc<Connection>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone().filter(|live| live.is_open())
    }

    fn set_known(&self, live: Option<Arc<Connection>>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = live;
    }

    async fn drop_connection(&self) {
        let live = self.live.lock().await.take();
        self.set_known(None);
        if let Some(live) = live.and_then(Arc::into_inner) {
            live.close().await;
        }
    }

    /// For how many seconds a failing server is still left alone.
    fn waiting(&self) -> Option<u64> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, since) = (*failures)?;
        let wait = Duration::from_secs(2_u64.saturating_pow(count).min(LONGEST_WAIT));
        let left = wait.checked_sub(since.elapsed())?;
        Some(left.as_secs() + 1)
    }

    fn failed(&self) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        *failures = Some((failures.map_or(0, |(count, _)| count + 1), Instant::now()));
    }

    fn succeeded(&self) {
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner) = None;
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

fn apply(file: &mut Value, change: &Change) {
    if !file.is_object() {
        *file = json!({});
    }
    if !file["mcpServers"].is_object() {
        file["mcpServers"] = json!({});
    }
    match change {
        Change::Add(server) => file["mcpServers"][&server.name] = server.entry(),
        Change::Remove(name) => {
            file["mcpServers"].as_object_mut().map(|servers| servers.remove(name));
        }
        Change::Enable(name, enabled) => file["mcpServers"][name]["enabled"] = json!(enabled),
    }
}

fn allowed(server: &Server, tools: &[Tool]) -> Vec<Tool> {
    tools.iter().filter(|tool| server.allows(&tool.name)).cloned().collect()
}

fn short(tool: &str) -> String {
    tool.chars().filter(|c| !c.is_control()).take(100).collect()
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
