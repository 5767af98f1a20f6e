//! What a chat note says about itself, merged with what is said elsewhere: its provider's defaults, the defaults of all chats,
//! `config.toml`, its agent, and the note itself, the last being the strongest.

use serde_json::{Map, Value, json};

use crate::config::Note;
use crate::failure::{Exit, Failure};

/// How a chat is named where nothing else is said.
pub const DATE_FORMAT: &str = "YYYYMMDDHHmmss";

/// The settings of one chat.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Its model.
    pub model: Option<String>,
    /// What the model is asked with.
    pub asked: agent::Settings,
    /// What holds for all of it.
    pub system: Vec<String>,
    /// Whether the answer is written as it comes.
    pub stream: bool,
    /// Whether the model may call tools.
    pub tools: bool,
    /// The level of headings.
    pub level: u8,
    /// Whether it is named by what it is about.
    pub infer_title: bool,
    /// In which language.
    pub title_language: Option<String>,
    /// How chats are named by their date.
    pub date_format: String,
    /// What the person should know.
    pub notices: Vec<String>,
}

/// Merges layers, the weakest first. A key without a value says nothing.
pub fn merge(layers: &[&Map<String, Value>]) -> Map<String, Value> {
    let mut merged = Map::new();
    for (key, value) in layers.iter().flat_map(|layer| layer.iter()).filter(|(_, value)| !value.is_null()) {
        merged.insert(key.clone(), value.clone());
    }
    merged
}

/// What `config.toml` says, in the names that notes use.
pub fn of_config(config: &Note) -> Map<String, Value> {
    let all = json!({
        "headingLevel": config.heading_level,
        "autoInferTitle": config.infer_title,
        "inferTitleLanguage": config.title_language,
        "dateFormat": config.date_format,
    });
    all.as_object().cloned().unwrap_or_default()
}

/// The defaults of all chats.
pub fn of_defaults(config: &Note) -> Map<String, Value> {
    object(&config.defaults)
}

/// The defaults of a model's provider.
pub fn of_provider(config: &Note, model: Option<&str>) -> Map<String, Value> {
    let provider = model.and_then(|model| model.split_once('@')).map(|(provider, _)| provider);
    let table = provider.and_then(|provider| config.providers.get(provider)).and_then(toml::Value::as_table);
    table.map(object).unwrap_or_default()
}

fn object(table: &toml::Table) -> Map<String, Value> {
    serde_json::to_value(table).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

/// The model that a layer names; an old spelling of Ollama's models is still understood.
pub fn model(map: &Map<String, Value>) -> Option<String> {
    let name = map.get("model")?.as_str()?.trim();
    let name = name.strip_prefix("local@").map_or_else(|| name.to_owned(), |name| format!("ollama@{name}"));
    (!name.is_empty()).then_some(name)
}

impl Settings {
    /// Reads merged layers. A value of the wrong kind is an error: it would be ignored without a word otherwise.
    pub fn read(map: &Map<String, Value>) -> Result<Settings, Failure> {
        let mut notices = Vec::new();
        let stop = match map.get("stop") {
            None => Vec::new(),
            Some(Value::String(text)) => vec![text.clone()],
            Some(value) => texts(value).ok_or_else(|| wrong("stop", "a text or a list of texts"))?,
        };
        let system = match map.get("system_commands") {
            None => Vec::new(),
            Some(value) => texts(value).unwrap_or_else(|| {
                notices.push("`system_commands` is not a list of texts; it is not sent".to_owned());
                Vec::new()
            }),
        };
        for (key, usual) in [("presence_penalty", 0.0), ("frequency_penalty", 0.0), ("n", 1.0)] {
            if map.get(key).and_then(Value::as_f64).is_some_and(|value| value != usual) {
                notices.push(format!("`{key}` is not sent: not every model knows it"));
            }
        }
        for key in map.keys().filter(|key| *key == "url" || key.ends_with("Url")) {
            notices.push(format!("`{key}` is not followed: addresses of services stand in config.toml"));
        }
        let max_tokens = number(map, "max_tokens", "a whole number from 1 on", |value| {
            u32::try_from(value.as_u64()?).ok().filter(|count| *count > 0)
        })?;
        let share = |value: &Value, most: f64| {
            value.as_f64().filter(|number| (0.0..=most).contains(number)).map(|number| number as f32)
        };
        Ok(Settings {
            model: model(map),
            asked: agent::Settings {
                temperature: number(map, "temperature", "a number from 0 to 2", |value| share(value, 2.0))?,
                top_p: number(map, "top_p", "a number from 0 to 1", |value| share(value, 1.0))?,
                max_tokens,
                stop,
            },
            system: system.into_iter().filter(|text| !text.trim().is_empty()).collect(),
            stream: flag(map, "stream", true)?,
            tools: flag(map, "enableToolCalling", true)?,
            level: number(map, "headingLevel", "a number from 0 to 6", |value| {
                value.as_u64().map(|level| u8::try_from(level.min(6)).unwrap_or(6))
            })?
            .unwrap_or(3),
            infer_title: flag(map, "autoInferTitle", false)?,
            title_language: text(map, "inferTitleLanguage"),
            date_format: text(map, "dateFormat").unwrap_or_else(|| DATE_FORMAT.to_owned()),
            notices,
        })
    }
}

/// The agent that a layer names.
pub fn agent(map: &Map<String, Value>) -> Option<String> {
    text(map, "agent")
}

fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key)?.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

fn number<T>(
    map: &Map<String, Value>,
    key: &str,
    kind: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Option<T>, Failure> {
    map.get(key).map(|value| read(value).ok_or_else(|| wrong(key, kind))).transpose()
}

fn flag(map: &Map<String, Value>, key: &str, usual: bool) -> Result<bool, Failure> {
    match map.get(key) {
        None => Ok(usual),
        Some(value) => value.as_bool().ok_or_else(|| wrong(key, "true or false")),
    }
}

fn wrong(key: &str, kind: &str) -> Failure {
    Failure::new(
        Exit::Failed,
        "setting_invalid",
        format!("`{key}` of this chat is not {kind}"),
        "mend it in the note's front matter, in its agent's, or in [note] of config.toml",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn the_note_is_stronger_than_its_agent_the_config_the_defaults_and_the_provider() {
        let layers = [
            map(json!({"a": "provider", "b": "provider", "c": "provider", "d": "provider", "e": "provider"})),
            map(json!({"b": "defaults", "c": "defaults", "d": "defaults", "e": "defaults"})),
            map(json!({"c": "config", "d": "config", "e": "config"})),
            map(json!({"d": "agent", "e": "agent"})),
            map(json!({"e": "note", "a": null})),
        ];
        let merged = merge(&layers.iter().collect::<Vec<_>>());
        let expected = json!({"a": "provider", "b": "defaults", "c": "config", "d": "agent", "e": "note"});
        assert_eq!(Value::Object(merged), expected);
    }

    #[test]
    fn a_provider_has_its_own_defaults() {
        let config = crate::config::Config::parse(
            "[note.providers.ollama]\ntemperature = 0.1\n[note.defaults]\nmodel = \"ollama@q\"\n",
        );
        let config = config.unwrap().note;
        assert_eq!(Value::Object(of_provider(&config, Some("ollama@q"))), json!({"temperature": 0.1}));
        assert!(of_provider(&config, Some("openai@q")).is_empty());
        assert_eq!(model(&of_defaults(&config)).as_deref(), Some("ollama@q"));
    }

    #[test]
    fn settings_are_read_and_what_is_not_followed_is_said() {
        let read = Settings::read(&map(json!({
            "model": "local@llama", "temperature": 0.7, "top_p": 1, "max_tokens": 400, "stop": "END",
            "system_commands": ["one", " "], "headingLevel": 9, "presence_penalty": 0.5, "openaiUrl": "https://x",
        })))
        .unwrap();
        assert_eq!(read.model.as_deref(), Some("ollama@llama"));
        assert_eq!((read.asked.temperature, read.asked.max_tokens), (Some(0.7), Some(400)));
        assert_eq!((read.system, read.level, read.asked.stop), (vec!["one".into()], 6, vec!["END".into()]));
        assert_eq!(read.notices.len(), 2, "{:?}", read.notices);
        for wrong in [json!({"temperature": "hot"}), json!({"max_tokens": 0}), json!({"stream": "yes"})] {
            assert!(Settings::read(&map(wrong)).is_err());
        }
        let read = Settings::read(&map(json!({"system_commands": "one"}))).unwrap();
        assert!(read.system.is_empty() && read.notices.len() == 1);
    }
}
