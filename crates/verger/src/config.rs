//! `config.toml`: read once, every key known, unknown keys refused with the key that was probably meant.
//!
//! [`KEYS`] is the one table: the reader, the template that `init` writes and `docs/config.md` all follow from it.
//! The environment (`OBSIDIAN_READ_PATHS` …) narrows what the file says, never widens it.

pub mod write;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pipeline::refusal::nearest;
use toml::{Table, Value};
use vault::policy::Limits;
use vault::store::gc::Retention;

use crate::embedding::Settings;
use crate::failure::{Exit, Failure};

/// A key of `config.toml`.
pub struct Key {
    /// Its name, with its table: `limits.read`.
    pub name: &'static str,
    /// What its value is, in words.
    pub kind: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// Every key there is.
pub const KEYS: [Key; 37] = [
    Key {
        name: "vault",
        kind: "path",
        default: "none",
        meaning: "The vault to use when a command is run outside of one and `--vault` is not given. `~/` is your home folder.",
    },
    Key {
        name: "limits.read",
        kind: "list of paths",
        default: "everything",
        meaning: "Only these folders and files may be read. Folders that may be written can be read too.",
    },
    Key {
        name: "limits.write",
        kind: "list of paths",
        default: "everything",
        meaning: "Only these folders and files may be changed.",
    },
    Key {
        name: "limits.read_only",
        kind: "true or false",
        default: "false",
        meaning: "Nothing may be changed.",
    },
    Key {
        name: "approve.reads",
        kind: "true or false",
        default: "false",
        meaning: "Before the agent reads notes, you are asked which of them it may read.",
    },
    Key {
        name: "approve.results",
        kind: "true or false",
        default: "false",
        meaning: "Before what a search found goes to the model, you are asked which of it may go.",
    },
    Key {
        name: "checkpoints.keep_days",
        kind: "whole number",
        default: "90",
        meaning: "Checkpoints older than this many days are dropped, now and then after a change and by `verger checkpoints gc`.",
    },
    Key {
        name: "checkpoints.keep_bytes",
        kind: "whole number",
        default: "1073741824",
        meaning: "Beyond this many bytes the oldest checkpoints are dropped.",
    },
    Key {
        name: "mcp.servers",
        kind: "table of servers",
        default: "{}",
        meaning: "Other MCP servers whose tools may be called, each under its name: `command`, `args`, `env`, `cwd` (a program) or `url`, `type` (`http` or `sse`), `headers`; and `tools` (only these), `timeout` (seconds, 60), `enabled`, `auth`. Write keys as `${VARIABLE}`.",
    },
    Key {
        name: "embedding.model",
        kind: "kind of model",
        default: "built-in",
        meaning: "What turns text into vectors for the search by meaning: `built-in`, `folder`, `ollama` or `openai`. With the last two the text of your notes is sent to the service. See `docs/guide/meaning.md`.",
    },
    Key {
        name: "embedding.folder",
        kind: "path",
        default: "none",
        meaning: "With `folder`: the model's folder. `~/` is your home folder.",
    },
    Key {
        name: "embedding.name",
        kind: "text",
        default: "none",
        meaning: "With `ollama` and `openai`: the model's name there.",
    },
    Key {
        name: "embedding.url",
        kind: "text",
        default: "that of Ollama or OpenAI",
        meaning: "With `ollama` and `openai`: the service's address. Plain http:// only to this machine.",
    },
    Key {
        name: "embedding.key_env",
        kind: "text",
        default: "`OPENAI_API_KEY` if there is no `url`",
        meaning: "With `openai`: the environment variable that holds the key. The key itself is never written down.",
    },
    Key {
        name: "embedding.dimensions",
        kind: "whole number",
        default: "the model's",
        meaning: "With `openai`: ask for shorter vectors.",
    },
    Key {
        name: "embedding.query_prefix",
        kind: "text",
        default: "nothing",
        meaning: "With `ollama` and `openai`: put in front of every question, for models that want it.",
    },
    Key {
        name: "embedding.text_prefix",
        kind: "text",
        default: "nothing",
        meaning: "With `ollama` and `openai`: put in front of every piece of a note.",
    },
    Key {
        name: "models.main",
        kind: "text",
        default: "none",
        meaning: "The model for conversations, as `provider@model`, e.g. `anthropic@claude-sonnet-4-5` or `ollama@qwen3`. See `docs/guide/models.md`.",
    },
    Key {
        name: "models.fast",
        kind: "text",
        default: "`models.main`",
        meaning: "The model for small work: summaries, titles, collecting.",
    },
    Key {
        name: "models.flagship",
        kind: "text",
        default: "none",
        meaning: "The model that is asked for advice when the work is hard.",
    },
    Key {
        name: "models.aliases",
        kind: "table of names",
        default: "{}",
        meaning: "Short names for models: `sonnet = \"anthropic@claude-sonnet-4-5\"`.",
    },
    Key {
        name: "providers",
        kind: "table of providers",
        default: "{}",
        meaning: "Services that have models, each under its name: `dialect` (`openai`, `responses`, `anthropic`, `gemini`, `ollama`), `url`, `key_env` (the environment variable that holds the key) or `key = \"keyring\"` (the system's keyring holds it) or `key_file` (a file that only you can read), `window`, `stream`, `tools`, `prices`. The well-known ones need no entry. See `docs/guide/models.md`.",
    },
    Key {
        name: "chat.agent",
        kind: "text",
        default: "`agent`",
        meaning: "The agent that speaks when none is named.",
    },
    Key {
        name: "chat.rounds",
        kind: "whole number",
        default: "25",
        meaning: "At most this many answers of the model in one turn.",
    },
    Key {
        name: "chat.seconds",
        kind: "whole number",
        default: "no limit",
        meaning: "At most this long, without the time in which you are asked.",
    },
    Key {
        name: "chat.tokens",
        kind: "whole number",
        default: "no limit",
        meaning: "At most this many tokens, in and out, in one turn.",
    },
    Key {
        name: "chat.dollars",
        kind: "number",
        default: "no limit",
        meaning: "At most this much money in one turn. Needs models whose price is known.",
    },
    Key {
        name: "chat.condense_at",
        kind: "whole number",
        default: "80",
        meaning: "How full a model's window may be, in percent, before the conversation is made shorter.",
    },
    Key {
        name: "note.chat_folder",
        kind: "folder of the vault",
        default: "`ChatGPT_MD/chats`",
        meaning: "Where `verger note new` makes chats. See `docs/guide/notes-chat.md`.",
    },
    Key {
        name: "note.template_folder",
        kind: "folder of the vault",
        default: "`ChatGPT_MD/templates`",
        meaning: "Where the templates of chats lie.",
    },
    Key {
        name: "note.agent_folder",
        kind: "folder of the vault",
        default: "`ChatGPT_MD/agents`",
        meaning: "Where the agents of chats lie, a note each: its text is what the model is told first.",
    },
    Key {
        name: "note.date_format",
        kind: "text",
        default: "`YYYYMMDDHHmmss`",
        meaning: "How a new chat is named, in moment's tokens, in local time.",
    },
    Key {
        name: "note.heading_level",
        kind: "whole number",
        default: "3",
        meaning: "The level of the headings of messages, 0 to 6; 0 is none.",
    },
    Key {
        name: "note.infer_title",
        kind: "true or false",
        default: "false",
        meaning: "A chat that is still named by its date is renamed by what it is about, once it has more than four messages.",
    },
    Key {
        name: "note.title_language",
        kind: "text",
        default: "that of the chat",
        meaning: "The language of such titles, e.g. `English`.",
    },
    Key {
        name: "note.defaults",
        kind: "table of settings",
        default: "{}",
        meaning: "The front matter of new chats, and what holds where a chat does not say: `model`, `temperature`, `top_p`, `max_tokens`, `stop`, `system_commands`, `agent`, `stream`.",
    },
    Key {
        name: "note.providers",
        kind: "table of tables",
        default: "{}",
        meaning: "The same for the models of one provider, weakest of all: `[note.providers.ollama]`.",
    },
];

/// Environment variables that matter, and what they do.
const VARIABLES: [(&str, &str); 10] = [
    ("VERGER_CONFIG_DIR", "The folder that holds `config.toml`, instead of `$XDG_CONFIG_HOME/verger`."),
    ("VERGER_DATA_DIR", "The folder for checkpoints, audit and grants, instead of `$XDG_DATA_HOME/verger`."),
    ("VERGER_VAULT", "The vault, as `--vault` names it."),
    ("OBSIDIAN_READ_PATHS", "Comma-separated paths; narrows `limits.read`."),
    ("OBSIDIAN_WRITE_PATHS", "Comma-separated paths; narrows `limits.write`."),
    ("OBSIDIAN_READ_ONLY", "`true` or `false` (also 1/0, yes/no, on/off); `true` forbids every change."),
    (
        "OBSIDIAN_API_KEY, OBSIDIAN_BASE_URL, OBSIDIAN_VERIFY_SSL, OBSIDIAN_REQUEST_TIMEOUT_MS",
        "The Local REST API plugin of a running Obsidian, for `verger mcp`: its key, its address (`http://127.0.0.1:27123`), whether its certificate is checked on this machine too (`false`), and how long it may take (30000). Plain http only on this machine.",
    ),
    (
        "OBSIDIAN_ENABLE_COMMANDS",
        "`true` lets clients of `verger mcp` list and run the commands of the running Obsidian; needs `OBSIDIAN_API_KEY`.",
    ),
    ("NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM=dumb", "Whether output is coloured."),
    ("XDG_CONFIG_HOME, XDG_DATA_HOME", "Where configuration and data lie, by the usual rules."),
];

/// What `config.toml` and the environment say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The vault to use outside of one.
    pub vault: Option<PathBuf>,
    /// What may be read and written.
    pub limits: Limits,
    /// How long checkpoints are kept.
    pub retention: Retention,
    /// What is asked beyond changes.
    pub approve: Approve,
    /// Other MCP servers.
    pub servers: Vec<tools::foreign::Server>,
    /// What turns text into vectors.
    pub embedding: Settings,
    /// Models and conversations.
    pub chat: Chat,
    /// Chats that live in notes.
    pub note: Note,
}

/// What the person wants to be asked beyond changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Approve {
    /// Which notes may be read.
    pub reads: bool,
    /// Which results may go to the model.
    pub results: bool,
}

/// What `config.toml` says about chats that live in notes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Note {
    /// Where chats are made.
    pub chat_folder: Option<vault::VaultFolder>,
    /// Where their templates lie.
    pub template_folder: Option<vault::VaultFolder>,
    /// Where their agents lie.
    pub agent_folder: Option<vault::VaultFolder>,
    /// How a new chat is named.
    pub date_format: Option<String>,
    /// The level of headings.
    pub heading_level: Option<u8>,
    /// Whether chats are named by what they are about.
    pub infer_title: Option<bool>,
    /// In which language.
    pub title_language: Option<String>,
    /// The front matter of new chats.
    pub defaults: Table,
    /// The same for the models of a provider.
    pub providers: Table,
}

/// What `config.toml` says about models and conversations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chat {
    /// The model for conversations.
    pub main: Option<String>,
    /// The model for small work.
    pub fast: Option<String>,
    /// The model for advice.
    pub flagship: Option<String>,
    /// Short names.
    pub aliases: Vec<(String, String)>,
    /// Services, as they are written.
    pub providers: Table,
    /// Which agent speaks.
    pub agent: Option<String>,
    /// What a turn may take.
    pub limits: agent::Limits,
    /// How full a window may be.
    pub condense_at: Option<u8>,
}

impl Config {
    /// Reads `config.toml` in this folder and narrows it by the environment. No file is an empty one.
    pub fn load(folder: &Path) -> Result<Config, Failure> {
        let file = folder.join("config.toml");
        let text = read(&file)?;
        Config::of_text(&file, text.as_deref().unwrap_or_default())
    }

    /// What this text would say as the `config.toml` at this place, narrowed by the environment.
    pub fn of_text(file: &Path, text: &str) -> Result<Config, Failure> {
        let checked = |config: Config| config.embedding.choice().map(|_| config);
        let parsed = Config::parse(text).and_then(checked);
        let config = parsed.map_err(|problem| bad(file, &problem.message, &problem.hint))?;
        config.narrowed_by(&|name| std::env::var(name).ok())
    }

    /// Reads the text of a `config.toml`.
    pub fn parse(text: &str) -> Result<Config, Problem> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| Problem {
            message: format!("it is not valid TOML: {}", error.to_string().trim().replace('\n', " ")),
            hint: "mend the line that is named".to_owned(),
        })?;
        let mut config = Config::default();
        for (name, value) in flat(&table) {
            config.set(&name, value)?;
        }
        Ok(config)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), Problem> {
        match name {
            "vault" => self.vault = Some(PathBuf::from(text(name, value)?)),
            "limits.read" => self.limits.read = paths(name, value)?,
            "limits.write" => self.limits.write = paths(name, value)?,
            "limits.read_only" => {
                self.limits.read_only = value.as_bool().ok_or_else(|| wrong(name, "true or false"))?;
            }
            "approve.reads" => self.approve.reads = yes_or_no(name, value)?,
            "approve.results" => self.approve.results = yes_or_no(name, value)?,
            "checkpoints.keep_days" => {
                self.retention.age_ms = whole(name, value)?.saturating_mul(24 * 3_600 * 1_000);
            }
            "checkpoints.keep_bytes" => {
                self.retention.bytes = u64::try_from(whole(name, value)?).unwrap_or_default();
            }
            "mcp.servers" => self.servers = servers(name, value)?,
            "embedding.model" => self.embedding.model = Some(text(name, value)?.to_owned()),
            "embedding.folder" => self.embedding.folder = Some(PathBuf::from(text(name, value)?)),
            "embedding.name" => self.embedding.name = Some(text(name, value)?.to_owned()),
            "embedding.url" => self.embedding.url = Some(text(name, value)?.to_owned()),
            "embedding.key_env" => self.embedding.key_env = Some(text(name, value)?.to_owned()),
            "embedding.dimensions" => {
                let number = u32::try_from(whole(name, value)?).ok().filter(|number| *number > 0);
                self.embedding.dimensions = Some(number.ok_or_else(|| wrong(name, "a number from 1 on"))?);
            }
            "embedding.query_prefix" => self.embedding.query_prefix = Some(text(name, value)?.to_owned()),
            "embedding.text_prefix" => self.embedding.text_prefix = Some(text(name, value)?.to_owned()),
            "models.main" => self.chat.main = Some(text(name, value)?.to_owned()),
            "models.fast" => self.chat.fast = Some(text(name, value)?.to_owned()),
            "models.flagship" => self.chat.flagship = Some(text(name, value)?.to_owned()),
            "models.aliases" => self.chat.aliases = names(name, value)?,
            "providers" => {
                self.chat.providers =
                    value.as_table().cloned().ok_or_else(|| wrong(name, "a table of providers"))?;
            }
            "chat.agent" => self.chat.agent = Some(text(name, value)?.to_owned()),
            "chat.rounds" => {
                let rounds =
                    u32::try_from(whole(name, value)?).ok().filter(|rounds| (1..=1_000).contains(rounds));
                self.chat.limits.rounds = rounds.ok_or_else(|| wrong(name, "a number from 1 to 1000"))?;
            }
            "chat.seconds" => {
                let seconds = u64::try_from(whole(name, value)?).unwrap_or_default();
                self.chat.limits.time = Some(std::time::Duration::from_secs(seconds));
            }
            "chat.tokens" => {
                self.chat.limits.tokens = Some(u64::try_from(whole(name, value)?).unwrap_or_default())
            }
            "chat.dollars" => self.chat.limits.dollars = Some(money(name, value)?),
            "chat.condense_at" => {
                let percent =
                    u8::try_from(whole(name, value)?).ok().filter(|percent| (10..=95).contains(percent));
                self.chat.condense_at = Some(percent.ok_or_else(|| wrong(name, "a number from 10 to 95"))?);
            }
            "note.chat_folder" => self.note.chat_folder = Some(folder(name, value)?),
            "note.template_folder" => self.note.template_folder = Some(folder(name, value)?),
            "note.agent_folder" => self.note.agent_folder = Some(folder(name, value)?),
            "note.date_format" => self.note.date_format = Some(text(name, value)?.to_owned()),
            "note.heading_level" => {
                let level = u8::try_from(whole(name, value)?).ok().filter(|level| *level <= 6);
                self.note.heading_level = Some(level.ok_or_else(|| wrong(name, "a number from 0 to 6"))?);
            }
            "note.infer_title" => {
                self.note.infer_title = Some(value.as_bool().ok_or_else(|| wrong(name, "true or false"))?);
            }
            "note.title_language" => self.note.title_language = Some(text(name, value)?.to_owned()),
            "note.defaults" => {
                self.note.defaults = value.as_table().cloned().ok_or_else(|| wrong(name, "a table"))?;
            }
            "note.providers" => {
                let tables = value.as_table().filter(|table| table.values().all(Value::is_table));
                self.note.providers = tables.cloned().ok_or_else(|| wrong(name, "a table of tables"))?;
            }
            unknown => return Err(unknown_key(unknown)),
        }
        Ok(())
    }

    /// The same, as far as the environment leaves it.
    pub fn narrowed_by(mut self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Config, Failure> {
        let list = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => Limits::parse_list(&text).map_err(|error| {
                bad_variable(name, &error.to_string(), "give folders of the vault, separated by commas")
            }),
        };
        let read_only = flag("OBSIDIAN_READ_ONLY", variable("OBSIDIAN_READ_ONLY").as_deref())?;
        let environment = Limits {
            read: list("OBSIDIAN_READ_PATHS")?,
            write: list("OBSIDIAN_WRITE_PATHS")?,
            read_only,
            ..Limits::default()
        };
        self.limits = self.limits.narrowed(&environment);
        Ok(self)
    }
}

/// What a variable says that is true or false; a word that is neither is a mistake, not a no.
pub fn flag(name: &str, value: Option<&str>) -> Result<bool, Failure> {
    match value.map(|value| value.trim().to_lowercase()).as_deref() {
        None | Some("" | "false" | "0" | "no" | "off") => Ok(false),
        Some("true" | "1" | "yes" | "on") => Ok(true),
        Some(other) => {
            let message = format!("`{other}` is neither true nor false");
            Err(bad_variable(name, &message, "set it to `true` or `false`"))
        }
    }
}

/// What is wrong with a `config.toml`, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// The page `docs/config.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# Configuration\n\nMade from the table of keys by `verger docs config`; a test compares the two.\n\n\
         `config.toml` lies in `$XDG_CONFIG_HOME/verger/` (usually `~/.config/verger/`). Every key may be left out; \
         an unknown key is an error.\n\n| key | value | without it | meaning |\n|---|---|---|---|\n",
    );
    for key in &KEYS {
        let _ = writeln!(page, "| `{}` | {} | {} | {} |", key.name, key.kind, key.default, key.meaning);
    }
    page.push_str("\n## Environment\n\n| variable | meaning |\n|---|---|\n");
    for (name, meaning) in VARIABLES {
        let names: Vec<String> = name.split(", ").map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "| {} | {meaning} |", names.join(", "));
    }
    page.push_str(
        "\n## Rules that travel with the vault\n\n`.verger/ignore` hides paths from every tool, `.verger/protect` \
         makes them read-only; both are written like `.gitignore`. `verger init` makes them.\n",
    );
    page
}

/// What `init` writes where there is no `config.toml` yet.
pub fn template(vault: &Path) -> String {
    let mut text = String::from("# Verger's settings. `verger docs config` explains every key.\n");
    let _ = writeln!(text, "{}", vault_line(vault));
    let mut table = "";
    // A key of no table must stand before the first table.
    let (alone, tabled): (Vec<&Key>, Vec<&Key>) = KEYS.iter().partition(|key| !key.name.contains('.'));
    for key in alone.into_iter().chain(tabled).filter(|key| key.name != "vault") {
        let (head, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if head != table {
            table = head;
            let _ = writeln!(text, "\n[{table}]");
        }
        let example = match (key.kind, key.default) {
            (_, "everything") => "[\"Notes\", \"Journal\"]",
            ("kind of model", _) => "\"built-in\"",
            ("path", _) => "\"~/models/all-MiniLM-L6-v2\"",
            ("folder of the vault", _) => "\"Chats\"",
            ("text", _) => "\"\u{2026}\"",
            (_, "the model's") => "512",
            ("whole number" | "number", "no limit") => "100000",
            (_, default) => default,
        };
        let _ = writeln!(text, "# {}\n# {name} = {example}", key.meaning);
    }
    text
}

/// The line that names the vault.
pub fn vault_line(vault: &Path) -> String {
    format!("vault = {}", Value::String(vault.display().to_string()))
}

/// The top-level key or table, with the names of tables joined by `.`.
fn flat(table: &Table) -> Vec<(String, &Value)> {
    let mut all = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(inner) if KEYS.iter().any(|key| key.name.starts_with(&format!("{name}."))) => {
                all.extend(inner.iter().map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            other => all.push((name.clone(), other)),
        }
    }
    all
}

fn text<'v>(name: &str, value: &'v Value) -> Result<&'v str, Problem> {
    value.as_str().filter(|text| !text.trim().is_empty()).ok_or_else(|| wrong(name, "a text in quotes"))
}

fn yes_or_no(name: &str, value: &Value) -> Result<bool, Problem> {
    value.as_bool().ok_or_else(|| wrong(name, "true or false"))
}

fn whole(name: &str, value: &Value) -> Result<i64, Problem> {
    value.as_integer().filter(|number| *number >= 0).ok_or_else(|| wrong(name, "a whole number from 0 on"))
}

fn money(name: &str, value: &Value) -> Result<f64, Problem> {
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    number
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| wrong(name, "a number from 0 on"))
}

fn folder(name: &str, value: &Value) -> Result<vault::VaultFolder, Problem> {
    let text = text(name, value)?;
    vault::VaultFolder::parse(text).map_err(|error| Problem {
        message: format!("`{name}` is `{text}`, which is no folder of the vault: {error}"),
        hint: error.hint().to_owned(),
    })
}

fn names(name: &str, value: &Value) -> Result<Vec<(String, String)>, Problem> {
    let table = value.as_table().ok_or_else(|| wrong(name, "a table of names"))?;
    table.iter().map(|(alias, model)| Ok((alias.clone(), text(name, model)?.to_owned()))).collect()
}

fn paths(name: &str, value: &Value) -> Result<Option<std::collections::BTreeSet<vault::VaultPath>>, Problem> {
    let list = value.as_array().ok_or_else(|| wrong(name, "a list of paths, e.g. [\"Notes\"]"))?;
    let mut paths = std::collections::BTreeSet::new();
    for item in list {
        let item = text(name, item)?;
        let path = vault::VaultPath::parse(item.trim_end_matches('/')).map_err(|error| Problem {
            message: format!("`{name}` holds `{item}`, which is no path inside the vault: {error}"),
            hint: error.hint().to_owned(),
        })?;
        paths.insert(path);
    }
    // An empty list allows nothing, which is what it says.
    Ok(Some(paths))
}

fn servers(name: &str, value: &Value) -> Result<Vec<tools::foreign::Server>, Problem> {
    use tools::foreign::{Origin, Server};
    let table = value.as_table().ok_or_else(|| wrong(name, "a table of servers"))?;
    let read = |(server, entry): (&String, &Value)| {
        let entry = serde_json::to_value(entry).unwrap_or_default();
        Server::parse(server, &entry, Origin::Config).map_err(|trouble| Problem {
            message: trouble.to_string(),
            hint: "`verger docs config` explains `mcp.servers`".to_owned(),
        })
    };
    table.iter().map(read).collect()
}

fn wrong(name: &str, expected: &str) -> Problem {
    Problem {
        message: format!("`{name}` must be {expected}"),
        hint: "`verger docs config` explains every key".to_owned(),
    }
}

fn unknown_key(name: &str) -> Problem {
    let hint = match nearest(name, KEYS.iter().map(|key| key.name)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the keys are {}", KEYS.map(|key| key.name).join(", ")),
    };
    Problem { message: format!("there is no key `{name}`"), hint }
}

fn bad(file: &Path, message: &str, hint: &str) -> Failure {
    Failure::new(Exit::Usage, "config_invalid", format!("{}: {message}", file.display()), hint)
}

fn bad_variable(name: &str, message: &str, hint: &str) -> Failure {
    Failure::new(Exit::Usage, "config_invalid", format!("the variable {name} is wrong: {message}"), hint)
}

/// The text of a file that the person named, outside of the vault; `None` if it is not there.
#[expect(clippy::disallowed_methods, reason = "the configuration lies outside the vault")]
pub fn read(file: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(bad(file, &format!("it cannot be read: {error}"), "check the file and its permissions"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, message: &str, hint: &str) {
        let problem = Config::parse(text).unwrap_err();
        assert!(problem.message.contains(message), "{problem:?}");
        assert!(problem.hint.contains(hint), "{problem:?}");
    }

    #[test]
    fn a_mistake_is_named_with_the_way_out() {
        check("vaults = \"x\"", "no key `vaults`", "did you mean `vault`?");
        check("[limits]\nreadonly = true", "no key `limits.readonly`", "did you mean `limits.read_only`?");
        check("[colours]\nx = 1", "no key `colours`", "the keys are vault");
        check("vault = 3", "`vault` must be a text", "verger docs config");
        check("[limits]\nread_only = \"yes\"", "must be true or false", "docs config");
        check("[limits]\nread = [\"../x\"]", "no path inside the vault", "");
        check("[checkpoints]\nkeep_days = -1", "whole number", "");
        check("[mcp.servers.x]\nurl = \"http://x\"\nurll = 1", "no field `urll`", "docs config");
        check("[mcp.servers.x]\n", "either `command`", "docs config");
        check("[note]\nchat_folder = \"../x\"", "no folder of the vault", "");
        check("[note]\nheading_level = 7", "from 0 to 6", "");
        check("vault = ", "not valid TOML", "mend");
    }

    #[test]
    fn every_key_of_the_table_is_read_and_the_template_reads_as_it_says() {
        for key in &KEYS {
            let value = match key.kind {
                "path" | "text" => "\"/v\"",
                "kind of model" => "\"ollama\"",
                "list of paths" => "[\"Notes\"]",
                "true or false" => "true",
                "table of servers" => "{ x = { command = \"y\" } }",
                "table of names" => "{ x = \"y@z\" }",
                "table of providers" => "{ x = { dialect = \"openai\" } }",
                "table of settings" => "{ x = 1 }",
                "table of tables" => "{ x = { y = 1 } }",
                "folder of the vault" => "\"Chats\"",
                "whole number" if key.name == "chat.condense_at" => "70",
                "whole number" if key.name == "note.heading_level" => "2",
                _ => "7",
            };
            let config = Config::parse(&format!("{} = {value}", key.name)).unwrap();
            assert_ne!(config, Config::default(), "{}", key.name);
        }
        let config = Config::parse(&template(Path::new("/my \"vault\""))).unwrap();
        assert_eq!(config, Config { vault: Some("/my \"vault\"".into()), ..Config::default() });
        let all: String = template(Path::new("/v"))
            .lines()
            .map(|line| {
                let is_key = |line: &&str| line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
                let line = line.strip_prefix("# ").filter(is_key).unwrap_or(line);
                format!("{line}\n")
            })
            .collect();
        Config::parse(&all).unwrap();
    }

    #[test]
    fn the_environment_narrows_and_is_strict() {
        let with = |pairs: &'static [(&'static str, &'static str)]| {
            let config = Config::parse("[limits]\nread = [\"Notes\"]").unwrap();
            config.narrowed_by(&|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let narrowed =
            with(&[("OBSIDIAN_READ_PATHS", "Notes/a, Other"), ("OBSIDIAN_READ_ONLY", "true")]).unwrap();
        assert_eq!(narrowed.limits.read, Limits::parse_list("Notes/a").unwrap());
        assert!(narrowed.limits.read_only);
        assert!(with(&[("OBSIDIAN_READ_ONLY", "maybe")]).is_err());
        assert!(with(&[("OBSIDIAN_READ_ONLY", "On")]).unwrap().limits.read_only);
        assert!(with(&[("OBSIDIAN_WRITE_PATHS", "/etc")]).is_err());
        assert!(!with(&[("OBSIDIAN_READ_ONLY", "")]).unwrap().limits.read_only);
    }
}
