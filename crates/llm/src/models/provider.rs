//! A provider of models: where it is, how it is spoken to, what is known of it.
//!
//! Made from the settings of `config.toml` and a key that the caller found. Built-in names need no settings; any other
//! name needs a dialect and an address.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::chat::Price;
use crate::http::{Base, Http, KeyHeader, Patience};
use crate::{Error, Secret};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// OpenAI's Chat Completions, which most servers speak.
    OpenAi,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's own.
    Ollama,
}

/// The settings of a provider; what is absent is as built in.
#[derive(Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderSettings {
    /// The wire format.
    pub dialect: Option<Dialect>,
    /// The base address.
    pub url: Option<String>,
    /// Headers that go with every request; their values are never shown.
    pub headers: BTreeMap<String, String>,
    /// Azure's `api-version`; without it Azure's newer addresses are used.
    pub api_version: Option<String>,
    /// How many tokens a conversation may have.
    pub window: Option<u64>,
    /// What models cost, by name.
    pub prices: BTreeMap<String, Price>,
    /// Whether answers are streamed; some servers cannot.
    pub stream: Option<bool>,
    /// Whether tools are offered; some models cannot call them.
    pub tools: Option<bool>,
    /// Whether pictures are shown; some models cannot see them.
    pub images: Option<bool>,
    /// Seconds of silence after which an answer is given up.
    pub idle_seconds: Option<u64>,
}

/// Headers may hold keys, so their values are not shown.
impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSettings")
            .field("dialect", &self.dialect)
            .field("url", &self.url)
            .field("headers", &self.headers.keys())
            .field("api_version", &self.api_version)
            .field("window", &self.window)
            .field("prices", &self.prices)
            .field("stream", &self.stream)
            .field("tools", &self.tools)
            .field("images", &self.images)
            .field("idle_seconds", &self.idle_seconds)
            .finish()
    }
}

/// How long, how often, how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How often to try, and how long to wait in between.
    pub patience: Patience,
    /// The longest silence, before an answer and in it.
    pub idle: Duration,
    /// The most bytes of one answer.
    pub largest: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { patience: Patience::CHAT, idle: Patience::CHAT.limit, largest: 64 * 1024 * 1024 }
    }
}

/// What servers of one dialect do in their own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    OpenAi,
    Azure,
    OpenRouter,
    Zai,
    Anthropic,
    Plain,
}

/// What a service told of one of its models.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Known {
    pub window: Option<u64>,
    pub price: Option<Price>,
    pub tools: Option<bool>,
    pub images: Option<bool>,
}

/// A provider.
#[derive(Debug)]
pub struct Provider {
    pub(crate) name: String,
    pub(crate) dialect: Dialect,
    pub(crate) flavour: Flavour,
    pub(crate) base: Base,
    pub(crate) http: Http,
    pub(crate) settings: ProviderSettings,
    pub(crate) limits: Limits,
    known: Mutex<BTreeMap<String, Known>>,
}

struct Preset {
    name: &'static str,
    dialect: Dialect,
    flavour: Flavour,
    url: Option<&'static str>,
    key: Option<&'static str>,
}

#[rustfmt::skip]
const PRESETS: [Preset; 8] = [
    Preset { name: "openai", dialect: Dialect::Responses, flavour: Flavour::OpenAi, url: Some("https://api.openai.com"), key: Some("OPENAI_API_KEY") },
    Preset { name: "anthropic", dialect: Dialect::Anthropic, flavour: Flavour::Anthropic, url: Some("https://api.anthropic.com"), key: Some("ANTHROPIC_API_KEY") },
    Preset { name: "gemini", dialect: Dialect::Gemini, flavour: Flavour::Plain, url: Some("https://generativelanguage.googleapis.com"), key: Some("GEMINI_API_KEY") },
    Preset { name: "openrouter", dialect: Dialect::OpenAi, flavour: Flavour::OpenRouter, url: Some("https://openrouter.ai"), key: Some("OPENROUTER_API_KEY") },
    Preset { name: "ollama", dialect: Dialect::Ollama, flavour: Flavour::Plain, url: Some("http://127.0.0.1:11434"), key: None },
    Preset { name: "lmstudio", dialect: Dialect::OpenAi, flavour: Flavour::Plain, url: Some("http://127.0.0.1:1234"), key: None },
    Preset { name: "zai", dialect: Dialect::OpenAi, flavour: Flavour::Zai, url: Some("https://api.z.ai"), key: Some("ZAI_API_KEY") },
    Preset { name: "azure", dialect: Dialect::OpenAi, flavour: Flavour::Azure, url: None, key: Some("AZURE_OPENAI_API_KEY") },
];

/// Whole addresses that people paste where a base address is meant.
const ENDINGS: [&str; 4] = ["/chat/completions", "/v1/messages", "/responses", "/api/chat"];

impl Provider {
    /// A provider of this name. `key` is shown to it and to nobody else.
    pub fn new(name: &str, settings: ProviderSettings, key: Option<Secret>) -> Result<Provider, Error> {
        let wrong = |message: &str| Error::Setting { provider: name.to_owned(), message: message.to_owned() };
        if name.is_empty() || name.contains(['@', '/']) || name.contains(char::is_whitespace) {
            return Err(wrong("a name has no `@`, no `/` and no space"));
        }
        let preset = PRESETS.iter().find(|preset| preset.name == name);
        let url = settings.url.as_deref().or_else(|| preset.and_then(|preset| preset.url));
        let url = url.ok_or_else(|| wrong("its `url` is missing"))?;
        let base = Base::parse(url)?;
        let dialect = match (settings.dialect, preset) {
            (Some(dialect), _) => dialect,
            // Whoever puts another address under OpenAI's name has a server that may not know the newer format.
            (None, Some(preset)) if preset.name == "openai" && settings.url.is_some() => Dialect::OpenAi,
            (None, Some(preset)) if preset.name == "zai" && base.path().contains("/api/anthropic") => {
                Dialect::Anthropic
            }
            (None, Some(preset)) => preset.dialect,
            (None, None) => {
                return Err(wrong(
                    "its `dialect` is missing: openai, responses, anthropic, gemini or ollama",
                ));
            }
        };
        let flavour = match preset {
            // What only OpenAI itself knows is not said to another server under its name.
            Some(preset) if preset.name != "openai" => preset.flavour,
            _ => by_host(&base),
        };
        let base = tidied(&base, dialect);
        if let Some(bad) = settings.headers.iter().find(|(name, value)| !is_header(name, value)) {
            return Err(wrong(&format!("`{}` is no header, or its value cannot be sent", bad.0)));
        }
        let headers = settings.headers.iter().map(|(name, value)| (name.clone(), Secret::new(value)));
        let http = Http::with(key, key_header(dialect, flavour), headers.collect())?;
        let mut limits = Limits::default();
        if let Some(seconds) = settings.idle_seconds.filter(|seconds| *seconds > 0) {
            limits.idle = Duration::from_secs(seconds);
        }
        let name = name.to_owned();
        Ok(Provider { name, dialect, flavour, base, http, settings, limits, known: Mutex::default() })
    }

    /// The names that need no settings.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|preset| preset.name)
    }

    /// The environment variable in which people keep the key of a built-in provider.
    pub fn usual_key(name: &str) -> Option<&'static str> {
        PRESETS.iter().find(|preset| preset.name == name)?.key
    }

    /// The same provider with other limits.
    #[must_use]
    pub fn limited(mut self, limits: Limits) -> Provider {
        self.limits = limits;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Host and port.
    pub fn host(&self) -> String {
        self.base.host()
    }

    /// Whether what is said to it stays on this machine.
    pub fn is_local(&self) -> bool {
        self.base.is_local()
    }

    /// Whether answers are streamed.
    pub(crate) fn streams(&self) -> bool {
        self.settings.stream.unwrap_or(true)
    }

    /// What the service told of a model when its list was fetched.
    pub(crate) fn known(&self, model: &str) -> Known {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(model).copied().unwrap_or_default()
    }

    /// The models of the list that was fetched last, if one was.
    pub(crate) fn listed(&self) -> Vec<String> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Keeps what the service told.
    pub(crate) fn learn(&self, model: &str, known: Known) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned(), known);
    }
}

fn is_header(name: &str, value: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value.trim()).is_ok()
}

fn by_host(base: &Base) -> Flavour {
    match base.host().as_str() {
        "api.openai.com" => Flavour::OpenAi,
        "openrouter.ai" => Flavour::OpenRouter,
        "api.z.ai" => Flavour::Zai,
        "api.anthropic.com" => Flavour::Anthropic,
        host if host.ends_with(".openai.azure.com") => Flavour::Azure,
        _ => Flavour::Plain,
    }
}

fn key_header(dialect: Dialect, flavour: Flavour) -> KeyHeader {
    match (dialect, flavour) {
        (_, Flavour::Azure) => KeyHeader::ApiKey,
        (Dialect::Anthropic, Flavour::Zai) => KeyHeader::Bearer,
        (Dialect::Anthropic, _) => KeyHeader::XApiKey,
        (Dialect::Gemini, _) => KeyHeader::XGoogApiKey,
        _ => KeyHeader::Bearer,
    }
}

fn tidied(base: &Base, dialect: Dialect) -> Base {
    let path = base.path();
    let mut short = path;
    for ending in ENDINGS {
        short = short.strip_suffix(ending).unwrap_or(short);
    }
    // Ollama's own format lies beside the compatible one.
    if dialect == Dialect::Ollama {
        short = short.strip_suffix("/v1").or_else(|| short.strip_suffix("/api")).unwrap_or(short);
    }
    if short == path { base.clone() } else { base.with_path(short) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> ProviderSettings {
        ProviderSettings { url: Some(url.to_owned()), ..ProviderSettings::default() }
    }

    #[test]
    fn built_in_names_need_no_settings_and_others_say_what_is_missing() {
        for name in Provider::built_in().filter(|name| *name != "azure") {
            assert!(Provider::new(name, ProviderSettings::default(), None).is_ok(), "{name}");
        }
        for (name, given, why) in [
            ("azure", ProviderSettings::default(), "`url` is missing"),
            ("mine", ProviderSettings::default(), "`url` is missing"),
            ("mine", settings("https://e.org"), "`dialect` is missing"),
            ("a@b", ProviderSettings::default(), "no `@`"),
            ("openai", settings("http://e.org"), "without TLS"),
        ] {
            let error = Provider::new(name, given, None).unwrap_err();
            assert!(error.to_string().contains(why), "{name}: {error}");
        }
    }

    #[test]
    fn the_dialect_follows_from_the_address_where_nobody_says() {
        for (name, url, dialect) in [
            ("openai", None, Dialect::Responses),
            ("openai", Some("https://litellm.example.com/v1"), Dialect::OpenAi),
            ("zai", None, Dialect::OpenAi),
            ("zai", Some("https://api.z.ai/api/anthropic"), Dialect::Anthropic),
        ] {
            let provider = Provider::new(name, url.map(settings).unwrap_or_default(), None).unwrap();
            assert_eq!(provider.dialect, dialect, "{name} {url:?}");
            assert_eq!(provider.flavour == Flavour::OpenAi, name == "openai" && url.is_none());
        }
    }

    #[test]
    fn what_a_header_holds_is_not_shown_and_a_bad_one_is_refused() {
        let with = |name: &str, value: &str| ProviderSettings {
            headers: [(name.to_owned(), value.to_owned())].into(),
            ..ProviderSettings::default()
        };
        let provider =
            Provider::new("openai", with("x-gate", "canary"), Some(Secret::new("canary"))).unwrap();
        assert!(!format!("{provider:?} {:?}", with("x-gate", "canary")).contains("canary"));
        for (name, value) in [("", "x"), ("a b", "x"), ("x", "canary\nhost: y")] {
            let error = Provider::new("openai", with(name, value), None).unwrap_err();
            assert!(
                matches!(error, Error::Setting { .. }) && !error.to_string().contains("canary"),
                "{error}"
            );
        }
    }

    #[test]
    fn settings_are_read_from_text_and_a_slip_is_an_error() {
        let text =
            r#"{"dialect": "openai", "url": "https://e.org", "prices": {"m": {"input": 1, "output": 2}}}"#;
        let settings: ProviderSettings = serde_json::from_str(text).unwrap();
        assert_eq!(settings.dialect, Some(Dialect::OpenAi));
        assert!(serde_json::from_str::<ProviderSettings>(r#"{"adress": "x"}"#).is_err());
    }
}
