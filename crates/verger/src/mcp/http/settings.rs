//! How the HTTP door is set up: flags first, then the variables that users of the well-known server have set already.
//!
//! A value that does not make sense stops the start and names its variable; nothing is guessed. Called by `http.rs`.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::args::McpOptions;
use crate::failure::{Exit, Failure};
use crate::mcp::auth::jwt::Scopes;
use crate::socket::origin::Origin;

const PORT: u16 = 3_010;
const PATH: &str = "/mcp";
/// Only a client that lost its way sends more; the vault's tools take notes, not films.
const MAX_BODY: usize = 1024 * 1024;
/// What `0` means for the largest body: as much as a line over stdin.
const UNBOUNDED_BODY: usize = 32 * 1024 * 1024;
/// The shortest secret that is worth the name.
const SHORTEST_SECRET: usize = 32;

/// How the HTTP door is set up.
#[derive(Debug)]
pub struct Settings {
    /// Where to listen.
    pub address: SocketAddr,
    /// The path of the endpoint.
    pub path: String,
    /// The largest body that is read.
    pub max_body: usize,
    /// How many ports above it are tried when one is taken.
    pub port_retries: u16,
    /// The pause before the next port.
    pub retry_delay: Duration,
    /// Pages of these origins may call, besides those on this machine.
    pub origins: Vec<Origin>,
    /// The address under which others reach it, if it is not the one it listens on.
    pub public_url: Option<String>,
    /// Whether clients of older revisions get sessions.
    pub sessions: Sessions,
    /// After how long a quiet session ends.
    pub stale: Duration,
    /// How often a silent stream says that it lives.
    pub heartbeat: Duration,
    /// How people show who they are.
    pub auth: AuthSettings,
    /// Whether scopes are looked at.
    pub scopes: Scopes,
}

/// Whether clients of older revisions get sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// They do.
    Kept,
    /// Every request comes alone.
    None,
}

/// How people show who they are.
#[derive(Debug, PartialEq, Eq)]
pub enum AuthSettings {
    /// Not at all.
    Off,
    /// With one token: the one in this file, or a new one.
    Token(Option<PathBuf>),
    /// With a token signed with this secret.
    Jwt {
        /// The secret.
        secret: String,
        /// Who must have made it.
        issuer: Option<String>,
        /// For whom it must be made.
        audience: Option<String>,
    },
    /// With a token of an authorization server.
    OAuth {
        /// Who must have made it.
        issuer: String,
        /// Where its keys are.
        keys: String,
        /// For whom it must be made.
        audience: String,
    },
}

/// A variable of the environment by its name.
pub type Variable<'v> = &'v dyn Fn(&str) -> Option<OsString>;

/// Whether to serve HTTP, by the flag or else by `MCP_TRANSPORT_TYPE`.
pub fn wants_http(options: &McpOptions, variable: Variable<'_>) -> Result<bool, Failure> {
    if options.http.is_some() {
        return Ok(true);
    }
    match text(variable, "MCP_TRANSPORT_TYPE")?.as_deref() {
        None | Some("stdio") => Ok(false),
        Some("http") => Ok(true),
        Some(_) => Err(wrong("MCP_TRANSPORT_TYPE", "it is neither `stdio` nor `http`", "set one of them")),
    }
}

impl Settings {
    /// The settings from flags and variables.
    pub fn read(options: &McpOptions, variable: Variable<'_>) -> Result<Settings, Failure> {
        let address = match options.http.as_ref().and_then(Option::as_deref) {
            Some(given) => address(given)?,
            None => SocketAddr::new(
                text(variable, "MCP_HTTP_HOST")?.map_or(Ok(Ipv4Addr::LOCALHOST.into()), |text| {
                    host(&text).ok_or_else(|| {
                        wrong("MCP_HTTP_HOST", "it is no IP address", "set an address such as 127.0.0.1")
                    })
                })?,
                number(variable, "MCP_HTTP_PORT", PORT)?,
            ),
        };
        let body = number(variable, "MCP_HTTP_MAX_BODY_BYTES", MAX_BODY)?;
        let heartbeat = number::<u32>(variable, "MCP_HEARTBEAT_INTERVAL_MS", 0)?;
        let settings = Settings {
            address,
            path: path(variable)?,
            max_body: if body == 0 { UNBOUNDED_BODY } else { body.min(UNBOUNDED_BODY) },
            port_retries: number(variable, "MCP_HTTP_MAX_PORT_RETRIES", 15)?,
            retry_delay: milliseconds(variable, "MCP_HTTP_PORT_RETRY_DELAY_MS", 50)?,
            origins: origins(variable)?,
            public_url: url(variable, "MCP_PUBLIC_URL")?,
            sessions: sessions(variable)?,
            stale: milliseconds(variable, "MCP_STATEFUL_SESSION_STALE_TIMEOUT_MS", 1_800_000)?,
            heartbeat: Duration::from_millis(if heartbeat == 0 { 15_000 } else { heartbeat.into() }),
            auth: auth(options, variable)?,
            scopes: match boolean(variable, "MCP_AUTH_DISABLE_SCOPE_CHECKS")? {
                true => Scopes::Ignored,
                false => Scopes::Checked,
            },
        };
        settings.guard()?;
        Ok(settings)
    }

    /// Without authentication only this machine may reach it.
    fn guard(&self) -> Result<(), Failure> {
        if self.auth != AuthSettings::Off || self.address.ip().is_loopback() {
            return Ok(());
        }
        Err(Failure::usage(
            format!("{} can be reached by others, and nobody would be asked who they are", self.address),
            "leave --no-auth and MCP_AUTH_MODE=none out, or listen on 127.0.0.1",
        ))
    }
}

fn auth(options: &McpOptions, variable: Variable<'_>) -> Result<AuthSettings, Failure> {
    let bypass = boolean(variable, "DEV_MCP_AUTH_BYPASS")?;
    let mode = text(variable, "MCP_AUTH_MODE")?;
    if options.no_auth || bypass {
        return Ok(AuthSettings::Off);
    }
    if options.token_file.is_some() {
        return Ok(AuthSettings::Token(options.token_file.clone()));
    }
    match mode.as_deref() {
        None | Some("token") => Ok(AuthSettings::Token(None)),
        Some("none") => Ok(AuthSettings::Off),
        Some("jwt") => Ok(AuthSettings::Jwt {
            secret: secret(variable)?,
            issuer: text(variable, "MCP_JWT_EXPECTED_ISSUER")?,
            audience: text(variable, "MCP_JWT_EXPECTED_AUDIENCE")?,
        }),
        Some("oauth") => oauth(variable),
        Some(_) => {
            Err(wrong("MCP_AUTH_MODE", "it is none of `none`, `token`, `jwt` and `oauth`", "set one of them"))
        }
    }
}

fn secret(variable: Variable<'_>) -> Result<String, Failure> {
    const NAME: &str = "MCP_AUTH_SECRET_KEY";
    let hint = "set a secret of at least 32 characters";
    match text(variable, NAME)? {
        Some(secret) if secret.chars().count() >= SHORTEST_SECRET => Ok(secret),
        Some(_) => Err(wrong(NAME, "it is too short", hint)),
        None => Err(wrong(NAME, "MCP_AUTH_MODE=jwt needs it", hint)),
    }
}

fn oauth(variable: Variable<'_>) -> Result<AuthSettings, Failure> {
    let needed = |name: &str, found: Option<String>| {
        found.ok_or_else(|| wrong(name, "MCP_AUTH_MODE=oauth needs it", "set it, or choose another mode"))
    };
    let issuer = needed("OAUTH_ISSUER_URL", url(variable, "OAUTH_ISSUER_URL")?)?;
    let keys = url(variable, "OAUTH_JWKS_URI")?
        .unwrap_or_else(|| format!("{}/.well-known/jwks.json", issuer.trim_end_matches('/')));
    let audience = match text(variable, "OAUTH_AUDIENCE")? {
        Some(audience) => Some(audience),
        None => text(variable, "MCP_SERVER_RESOURCE_IDENTIFIER")?,
    };
    Ok(AuthSettings::OAuth { issuer, keys, audience: needed("OAUTH_AUDIENCE", audience)? })
}

fn path(variable: Variable<'_>) -> Result<String, Failure> {
    const NAME: &str = "MCP_HTTP_ENDPOINT_PATH";
    let Some(path) = text(variable, NAME)? else { return Ok(PATH.to_owned()) };
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    let taken = path == "/healthz" || path.starts_with("/.well-known");
    if !path.starts_with('/') || path.len() < 2 || path.ends_with('/') || !path.chars().all(plain) || taken {
        return Err(wrong(NAME, "it cannot be the path of the endpoint", "set a path such as /mcp"));
    }
    Ok(path)
}

fn origins(variable: Variable<'_>) -> Result<Vec<Origin>, Failure> {
    const NAME: &str = "MCP_ALLOWED_ORIGINS";
    let list = text(variable, NAME)?.unwrap_or_default();
    let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| {
            Origin::parse(entry).ok_or_else(|| {
                let hint = "name each as a browser does, e.g. https://app.example.com, with commas between";
                wrong(NAME, &format!("`{entry}` is no origin"), hint)
            })
        })
        .collect()
}

fn sessions(variable: Variable<'_>) -> Result<Sessions, Failure> {
    match text(variable, "MCP_SESSION_MODE")?.as_deref() {
        None | Some("auto" | "stateful") => Ok(Sessions::Kept),
        Some("stateless") => Ok(Sessions::None),
        Some(_) => Err(wrong(
            "MCP_SESSION_MODE",
            "it is none of `auto`, `stateful` and `stateless`",
            "set one of them",
        )),
    }
}

/// `127.0.0.1:3010`, `[::1]:3010`, `localhost:3010`, `:3010`, `3010`, `127.0.0.1`.
fn address(given: &str) -> Result<SocketAddr, Failure> {
    let mistake = || {
        Failure::usage(
            format!("--http: `{given}` is no address to listen on"),
            "give an IP address and a port, e.g. 127.0.0.1:3010",
        )
    };
    if let Ok(port) = given.strip_prefix(':').unwrap_or(given).parse() {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    if let Some(host) = host(given) {
        return Ok(SocketAddr::new(host, PORT));
    }
    let (name, port) = given.rsplit_once(':').ok_or_else(mistake)?;
    let host = host(name).ok_or_else(mistake)?;
    Ok(SocketAddr::new(host, port.parse().map_err(|_| mistake())?))
}

fn host(name: &str) -> Option<IpAddr> {
    match name {
        "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
        name => name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name).parse().ok(),
    }
}

/// An address of the web. Only this machine may be asked without encryption.
fn url(variable: Variable<'_>, name: &str) -> Result<Option<String>, Failure> {
    let Some(text) = text(variable, name)? else { return Ok(None) };
    let origin = text.split_once("://").and_then(|(scheme, rest)| {
        let authority = rest.split(['/', '?', '#']).next()?;
        Origin::parse(&format!("{scheme}://{authority}"))
    });
    match origin {
        Some(origin) if origin.is_https() || origin.is_local() => Ok(Some(text)),
        Some(_) => Err(wrong(name, "it is not encrypted", "use https://")),
        None => Err(wrong(name, "it is no address of the web", "use https://")),
    }
}

/// What is set and not empty.
fn text(variable: Variable<'_>, name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = variable(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    value.into_string().map(Some).map_err(|_| wrong(name, "it is no text", "set it anew"))
}

fn number<N: std::str::FromStr>(variable: Variable<'_>, name: &str, otherwise: N) -> Result<N, Failure> {
    let Some(text) = text(variable, name)? else { return Ok(otherwise) };
    text.parse().map_err(|_| wrong(name, "it is no number that fits", "set a whole number, or leave it out"))
}

fn milliseconds(variable: Variable<'_>, name: &str, otherwise: u32) -> Result<Duration, Failure> {
    number::<u32>(variable, name, otherwise).map(|time| Duration::from_millis(time.into()))
}

fn boolean(variable: Variable<'_>, name: &str) -> Result<bool, Failure> {
    let value = text(variable, name)?.map(|text| text.to_ascii_lowercase());
    match value.as_deref() {
        None | Some("false" | "0" | "no" | "off") => Ok(false),
        Some("true" | "1" | "yes" | "on") => Ok(true),
        Some(_) => Err(wrong(name, "it is neither true nor false", "set `true` or `false`")),
    }
}

/// A variable that stops the start. Its value is not repeated: it may be a secret.
fn wrong(name: &str, why: &str, hint: &str) -> Failure {
    Failure::new(Exit::Usage, "config_invalid", format!("the variable {name} is wrong: {why}"), hint)
}

#[cfg(test)]
mod tests;
