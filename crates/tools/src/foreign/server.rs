//! One foreign server as it is written down: a command to start or an address to reach, what of it may be used, and
//! how to log in. `${VARIABLE}` in a value is the environment's, put in only when the server is started.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vault::store::blob::Hash;

use super::trouble::Trouble;

/// How long a call may take where its entry does not say.
const TIMEOUT: u64 = 60;
/// The longest that an entry may say.
const LONGEST: u64 = 3_600;

/// A foreign server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Who wrote it down.
    pub origin: Origin,
    /// How to reach it.
    pub transport: Transport,
    /// Which of its tools may be used; `None` is all.
    pub tools: Option<BTreeSet<String>>,
    /// How long a call may take.
    pub timeout: Duration,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// How to log in.
    pub auth: Auth,
}

/// Who wrote a server down, which is how far it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The person, in `config.toml`.
    Config,
    /// Added with the person's approval, in `mcp.json` beside it.
    Added,
    /// Whoever wrote the vault's `.mcp.json`; a person must trust it first.
    Vault,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that speaks on stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables for it.
        env: BTreeMap<String, String>,
        /// The folder to start it in.
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers for every request.
        headers: BTreeMap<String, String>,
    },
    /// The old transport: an event stream and an address to post to.
    Sse {
        /// The address of the stream.
        url: String,
        /// Headers for every request.
        headers: BTreeMap<String, String>,
    },
}

/// How to log in, where a server wants it. Values may be `${VARIABLE}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// A client that was registered beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// Its private key (PKCS #8 in PEM, P-256) for signed assertions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// A signed assertion that the platform gives to the machine, to be exchanged for a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion: Option<String>,
    /// The login server; another one gets nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The address of the client's own metadata, for servers that take it as a client id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// What to ask for; else what the server names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Whether the client logs in for itself, without a person.
    pub machine: bool,
    /// The company's identity provider, where it vouches for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// An identity provider that vouches for the person at other servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Where it exchanges tokens.
    pub token_endpoint: String,
    /// The client there.
    pub client_id: String,
    /// The person's identity token.
    pub id_token: String,
}

/// An entry as it stands in a file.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(rename = "type", alias = "transport", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Auth>,
}

const FIELDS: [&str; 13] = [
    "command",
    "args",
    "env",
    "cwd",
    "type",
    "transport",
    "url",
    "headers",
    "tools",
    "timeout",
    "enabled",
    "disabled",
    "auth",
];

impl Server {
    /// Reads an entry. Fields that nobody knows are an error, except in a file that other programs share.
    pub fn parse(name: &str, entry: &Value, origin: Origin) -> Result<Server, Trouble> {
        let bad = |why: String| Trouble::Entry { name: name.to_owned(), why };
        if !is_name(name) {
            return Err(bad("a name is up to 64 letters, digits, `-`, `_` and `.`".to_owned()));
        }
        let fields = entry.as_object().ok_or_else(|| bad("it is no table".to_owned()))?;
        if let (true, Some(field)) =
            (origin != Origin::Vault, fields.keys().find(|field| !FIELDS.contains(&field.as_str())))
        {
            return Err(bad(format!("there is no field `{field}`; the fields are {}", FIELDS.join(", "))));
        }
        let entry: Entry = serde_json::from_value(entry.clone()).map_err(|error| bad(error.to_string()))?;
        let timeout = entry.timeout.unwrap_or(TIMEOUT);
        if timeout == 0 || timeout > LONGEST {
            return Err(bad(format!("`timeout` must be 1 to {LONGEST} seconds")));
        }
        Ok(Server {
            name: name.to_owned(),
            origin,
            tools: entry.tools.clone(),
            timeout: Duration::from_secs(timeout),
            enabled: entry.enabled.unwrap_or(true) && !entry.disabled.unwrap_or(false),
            auth: entry.auth.clone().unwrap_or_default(),
            transport: entry.transport().map_err(bad)?,
        })
    }

    /// The entry as it is written down again.
    pub fn entry(&self) -> Value {
        let mut entry = Entry {
            tools: self.tools.clone(),
            timeout: (self.timeout.as_secs() != TIMEOUT).then_some(self.timeout.as_secs()),
            enabled: (!self.enabled).then_some(false),
            auth: (self.auth != Auth::default()).then(|| self.auth.clone()),
            ..Entry::default()
        };
        match self.transport.clone() {
            Transport::Stdio { command, args, env, cwd } => {
                entry = Entry { command: Some(command), args, env, cwd, ..entry };
            }
            Transport::Http { url, headers } => {
                entry = Entry { kind: Some("http".to_owned()), url: Some(url), headers, ..entry };
            }
            Transport::Sse { url, headers } => {
                entry = Entry { kind: Some("sse".to_owned()), url: Some(url), headers, ..entry };
            }
        }
        serde_json::to_value(entry).unwrap_or(Value::Null)
    }

    /// What stands for what this server is: another program or address is another server under the same name.
    pub fn fingerprint(&self) -> String {
        let entry = serde_json::to_vec(&(&self.name, self.entry())).unwrap_or_default();
        Hash::of(&entry).to_string()
    }

    /// Whether its list of tools allows this one.
    pub fn allows(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool))
    }

    /// Where it is, as others may know it: no arguments, variables, headers or queries, which may hold keys.
    pub fn place(&self) -> String {
        match &self.transport {
            Transport::Stdio { command, .. } => {
                command.rsplit('/').next().unwrap_or_default().chars().take(100).collect()
            }
            Transport::Http { url, .. } | Transport::Sse { url, .. } => address(url),
        }
    }
}

impl Transport {
    /// Its name.
    pub fn kind(&self) -> &'static str {
        match self {
            Transport::Stdio { .. } => "stdio",
            Transport::Http { .. } => "http",
            Transport::Sse { .. } => "sse",
        }
    }

    /// The address, where there is one.
    pub fn url(&self) -> Option<&str> {
        match self {
            Transport::Stdio { .. } => None,
            Transport::Http { url, .. } | Transport::Sse { url, .. } => Some(url),
        }
    }
}

impl Entry {
    fn transport(self) -> Result<Transport, String> {
        let Entry { command, args, env, cwd, kind, url, headers, .. } = self;
        match (kind.as_deref(), command, url) {
            (None | Some("stdio"), Some(command), None) if !command.trim().is_empty() => {
                Ok(Transport::Stdio { command, args, env, cwd })
            }
            (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(url)) => {
                Ok(Transport::Http { url, headers })
            }
            (Some("sse"), None, Some(url)) => Ok(Transport::Sse { url, headers }),
            (Some(other), ..) if !matches!(other, "stdio" | "http" | "streamable-http" | "sse") => {
                Err(format!("`{other}` is no transport; they are stdio, http and sse"))
            }
            _ => Err("give either `command` (stdio) or `url` (http, sse)".to_owned()),
        }
    }
}

/// The servers in a `.mcp.json` or `mcp.json`; entries that cannot be read are told apart.
pub fn parse_file(text: &str, origin: Origin) -> Result<Vec<Result<Server, Trouble>>, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let servers = file.get("mcpServers").or_else(|| file.get("servers")).unwrap_or(&Value::Null);
    match servers {
        Value::Null => Ok(Vec::new()),
        Value::Object(servers) => {
            Ok(servers.iter().map(|(name, entry)| Server::parse(name, entry, origin)).collect())
        }
        _ => Err("`mcpServers` is no table".to_owned()),
    }
}

/// A text with the environment's values put in for `${NAME}` and `${NAME:-otherwise}`.
pub fn expand(
    server: &str,
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Trouble> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, behind)) = after.split_once('}') else { break };
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        let value = variable(name).filter(|value| !value.is_empty()).or(otherwise.map(str::to_owned));
        let missing = || Trouble::Variable { name: server.to_owned(), variable: name.to_owned() };
        out.push_str(before);
        out.push_str(&value.ok_or_else(missing)?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// An address without what may be secret in it.
fn address(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(url) => {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
        }
        Err(_) => "(no address)".to_owned(),
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits) && !name.starts_with(['-', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_is_read_and_written_down_as_it_was() {
        for entry in [
            json!({"command": "npx", "args": ["-y", "x"], "env": {"KEY": "${KEY}"}, "tools": ["a"]}),
            json!({"type": "http", "url": "https://x.org/mcp", "headers": {"A": "b"}, "timeout": 5}),
            json!({"type": "sse", "url": "https://x.org/sse", "enabled": false, "auth": {"client_id": "c", "machine": true}}),
        ] {
            let server = Server::parse("x", &entry, Origin::Config).unwrap();
            assert_eq!(server.entry(), entry);
        }
    }

    #[test]
    fn a_mistake_in_an_entry_is_named() {
        let check = |name: &str, entry: Value, says: &str| {
            let trouble = Server::parse(name, &entry, Origin::Config).unwrap_err();
            assert!(trouble.to_string().contains(says), "{trouble}");
        };
        check("x", json!({}), "either `command`");
        check("x", json!({"command": "a", "url": "b"}), "either `command`");
        check("x", json!({"command": "a", "urll": "b"}), "no field `urll`");
        check("x", json!({"type": "carrier-pigeon", "url": "b"}), "no transport");
        check("x", json!({"command": "a", "timeout": 0}), "timeout");
        check("x", json!([]), "no table");
        check("../x", json!({"command": "a"}), "a name is");
        check("x", json!({"command": 7}), "expected a string");
    }

    #[test]
    fn what_others_may_know_of_a_server_holds_no_key() {
        let place = |entry: Value| Server::parse("x", &entry, Origin::Config).unwrap().place();
        assert_eq!(
            place(json!({"url": "https://u:secret@x.org:8443/secret?key=secret"})),
            "https://x.org:8443"
        );
        assert_eq!(place(json!({"command": "/usr/bin/npx", "args": ["--key=secret"]})), "npx");
    }

    #[test]
    fn variables_are_put_in_and_a_missing_one_is_named() {
        let variable = |name: &str| (name == "KEY").then(|| "k$1".to_owned());
        let put = |text: &str| expand("x", text, &variable);
        assert_eq!(put("Bearer ${KEY}!").unwrap(), "Bearer k$1!");
        assert_eq!(put("${NONE:-else}${KEY}").unwrap(), "elsek$1");
        assert_eq!(put("$KEY ${open").unwrap(), "$KEY ${open");
        assert!(matches!(put("${NONE}"), Err(Trouble::Variable { variable, .. }) if variable == "NONE"));
    }

    #[test]
    fn a_shared_file_is_read_with_its_mistakes_told_apart() {
        let text = r#"{"mcpServers": {"a": {"command": "x", "alwaysAllow": []}, "b": {"command": 1}}}"#;
        let servers = parse_file(text, Origin::Vault).unwrap();
        assert!(servers[0].is_ok() && servers[1].is_err());
        assert!(parse_file("{", Origin::Vault).is_err());
        assert!(parse_file("{\"mcpServers\": []}", Origin::Vault).is_err());
        assert!(parse_file("{}", Origin::Vault).unwrap().is_empty());
    }
}
