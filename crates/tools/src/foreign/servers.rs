//! All foreign servers: which there are, which run, and the way from a planned call to its result.
//!
//! A server is started when it is first needed and given up when nobody used it for a while. One that fails is left
//! alone for a moment that grows. A call is sent once; only one that the server refused for want of a login is sent
//! again, after the login.

mod change;
mod connect;
mod entry;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use pipeline::Output;
use pipeline::refusal::nearest;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::connection::{Era, Fault};
use super::handler::Forms;
use super::oauth::{Browser, Chance};
use super::pins::{self, Pin, Pins};
use super::result;
use super::server::{Origin, Server, parse_file};
use super::store::JsonFile;
use super::trouble::Trouble;
use entry::Entry;

pub use change::Change;

/// After how long without a call a server is given up.
const IDLE: Duration = Duration::from_secs(600);

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
    /// After how long without a call a server is given up.
    pub idle: Duration,
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
            idle: IDLE,
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

    /// Notes a use, and gives the server up once it was not used for a while.
    fn used(&self, entry: &Arc<Entry>) {
        let mark = entry.uses.fetch_add(1, Ordering::Relaxed) + 1;
        let (entry, idle) = (Arc::downgrade(entry), self.means.idle);
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
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

fn allowed(server: &Server, tools: &[Tool]) -> Vec<Tool> {
    tools.iter().filter(|tool| server.allows(&tool.name)).cloned().collect()
}

fn short(tool: &str) -> String {
    tool.chars().filter(|c| !c.is_control()).take(100).collect()
}
