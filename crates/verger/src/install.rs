//! `verger mcp install`: Verger's entry in the settings of an AI client, written, shown or taken out.
//!
//! Every client has its own file, format and name for the entry; [`Client`] is the one table. Only the entry is touched, every
//! other byte stays, the old file is kept beside it, and what cannot be read is refused with its place.

pub mod files;
mod json;
mod toml;
mod yaml;

use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::args::{Global, Install};
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::place;
use crate::terminal::Terminal;
use files::Settings;
use json::Dialect;

/// The clients whose settings are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    /// The Claude app.
    ClaudeDesktop,
    /// Claude Code, for all projects of the user.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Zed.
    Zed,
    /// Goose.
    Goose,
    /// Codex.
    Codex,
    /// Windsurf.
    Windsurf,
}

/// Why a settings file is left as it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused(String);

impl Refused {
    fn new(message: String) -> Refused {
        Refused(message)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How an entry is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json(Dialect),
    Toml,
    Yaml,
}

impl Client {
    /// Where its settings lie below the folder of the user, and below that of the configuration.
    fn file(self) -> Result<PathBuf, Failure> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME").ok_or_else(|| {
            Failure::usage("your home folder is not known", "set HOME, or give --config FILE")
        })?;
        let mac = home.join("Library/Application Support");
        let config = match cfg!(target_os = "macos") {
            true => mac.clone(),
            false => set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
        };
        Ok(match self {
            Client::ClaudeDesktop => config.join("Claude/claude_desktop_config.json"),
            Client::ClaudeCode => home.join(".claude.json"),
            Client::Cursor => home.join(".cursor/mcp.json"),
            Client::Vscode => config.join("Code/User/mcp.json"),
            Client::Zed => {
                set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("zed/settings.json")
            }
            Client::Goose => {
                set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("goose/config.yaml")
            }
            Client::Codex => set("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml"),
            Client::Windsurf => home.join(".codeium/windsurf/mcp_config.json"),
        })
    }

    fn format(self) -> Format {
        match self {
            Client::Vscode | Client::Zed => Format::Json(Dialect::Comments),
            Client::Codex => Format::Toml,
            Client::Goose => Format::Yaml,
            _ => Format::Json(Dialect::Strict),
        }
    }

    /// What the client calls its list of servers.
    fn outer(self) -> &'static str {
        match self {
            Client::Vscode => "servers",
            Client::Zed => "context_servers",
            Client::Goose => "extensions",
            Client::Codex => "mcp_servers",
            _ => "mcpServers",
        }
    }

    /// The entry.
    fn entry(self, name: &str, command: &str, arguments: &[String]) -> Value {
        match self {
            Client::ClaudeCode | Client::Vscode => {
                json!({"type": "stdio", "command": command, "args": arguments})
            }
            Client::Zed => json!({"source": "custom", "command": command, "args": arguments, "env": {}}),
            Client::Goose => json!({
                "enabled": true, "type": "stdio", "name": name, "cmd": command, "args": arguments, "timeout": 300,
            }),
            _ => json!({"command": command, "args": arguments}),
        }
    }
}

/// Every client with the name that `verger mcp install` knows it by, and where its settings lie.
pub fn clients() -> Vec<(String, Option<PathBuf>)> {
    use clap::ValueEnum as _;
    let name = |client: &Client| client.to_possible_value().map(|value| value.get_name().to_owned());
    Client::value_variants().iter().filter_map(|client| Some((name(client)?, client.file().ok()))).collect()
}

/// Writes, shows or takes out the entry.
pub fn install(global: &Global, wanted: &Install, terminal: &Terminal) -> Result<(), Failure> {
    check_name(&wanted.name)?;
    let path = match &wanted.config {
        Some(path) => path.clone(),
        None => wanted.client.file()?,
    };
    let entry = match wanted.remove {
        true => Value::Null,
        false => wanted.client.entry(&wanted.name, &program()?, &arguments(global, wanted)?),
    };
    if wanted.print {
        let whole = edited(wanted, "", &entry).map_err(|refused| refuse(&path, &refused))?;
        terminal.note(&format!("for {}", path.display()));
        terminal.data(&whole);
        return Ok(());
    }
    let settings = Settings::read(&path)?;
    let before = settings.text.as_deref().unwrap_or_default();
    let after = edited(wanted, before, &entry).map_err(|refused| refuse(&settings.path, &refused))?;
    if after == before {
        terminal.note(&format!("{} is as it should be already", settings.path.display()));
        return Ok(());
    }
    settings.replace(&after)?;
    let done = if wanted.remove { "taken out of" } else { "written to" };
    terminal.note(&format!("`{}` {done} {}", wanted.name, settings.path.display()));
    if settings.text.is_some() {
        terminal.note(&format!("the file as it was: {}", settings.backup().display()));
    }
    terminal.note("start the client anew to see it");
    Ok(())
}

fn edited(wanted: &Install, text: &str, entry: &Value) -> Result<String, Refused> {
    let (outer, name) = (wanted.client.outer(), wanted.name.as_str());
    match (wanted.client.format(), wanted.remove) {
        (Format::Json(dialect), false) => json::set(text, dialect, outer, name, entry),
        (Format::Json(dialect), true) => json::remove(text, dialect, outer, name),
        (Format::Toml, false) => toml::set(text, outer, name, entry),
        (Format::Toml, true) => toml::remove(text, outer, name),
        (Format::Yaml, false) => yaml::set(text, outer, name, entry),
        (Format::Yaml, true) => yaml::remove(text, outer, name),
    }
}

/// A name that every format takes without quotes.
fn check_name(name: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 40 || !name.chars().all(fits) {
        return Err(Failure::usage(
            format!("`{name}` is no name for a server"),
            "use letters, digits, `-` and `_`, at most 40",
        ));
    }
    Ok(())
}

/// This program, by its whole path: clients with windows do not know the shell's.
pub fn program() -> Result<String, Failure> {
    let failed =
        |what: String| Failure::new(Exit::Failed, "internal", what, "start verger by its whole path");
    let path = std::env::current_exe()
        .map_err(|error| failed(format!("where verger lies is not known: {error}")))?;
    path.to_str().map(str::to_owned).ok_or_else(|| failed("the path of verger is not text".to_owned()))
}

/// What the client passes to it.
fn arguments(global: &Global, wanted: &Install) -> Result<Vec<String>, Failure> {
    let config = Config::load(&place::config_folder()?)?;
    let places = match global.vault.as_slice() {
        [] => vec![place::find(None, &config)?],
        named => named.iter().map(|vault| place::find(Some(vault), &config)).collect::<Result<_, _>>()?,
    };
    let mut arguments = vec!["mcp".to_owned()];
    for place in places {
        let root = place.root.to_str().ok_or_else(|| {
            Failure::usage("the path of the vault is not text", "move it to a folder with an ordinary name")
        })?;
        arguments.extend(["--vault".to_owned(), root.to_owned()]);
    }
    for (flag, set) in
        [("--read-only", wanted.read_only), ("--ask", wanted.ask), ("--all-tools", wanted.all_tools)]
    {
        if set {
            arguments.push(flag.to_owned());
        }
    }
    Ok(arguments)
}

fn refuse(path: &std::path::Path, refused: &Refused) -> Failure {
    Failure::new(
        Exit::Failed,
        "client_settings",
        format!("{}: {refused}", path.display()),
        "mend the file; or show the entry with --print and put it there yourself",
    )
}
