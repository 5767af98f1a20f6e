//! Which models the providers have, and which servers run on this machine.
//!
//! Every provider is asked at the same time and for a short while; one that does not answer keeps its error and spoils
//! nothing for the others. What a list tells of windows and prices is kept with the provider.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;

use super::provider::{Dialect, Flavour, Known, Provider, ProviderSettings};
use crate::Error;
use crate::chat::{Price, headers};
use crate::http::Base;

/// How long a list may take.
const LIMIT: Duration = Duration::from_secs(6);
/// How long a server on this machine may take to answer at all.
const NEAR: Duration = Duration::from_millis(300);

/// The models of one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The provider.
    pub provider: String,
    /// Its models, or why they are not known.
    pub models: Result<Vec<Listed>, Error>,
}

/// A model in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its full name, `provider@model`.
    pub name: String,
    /// How many tokens a conversation may have, if the list says so.
    pub window: Option<u64>,
    /// What it costs, if the list says so.
    pub price: Option<Price>,
}

/// Asks all of them at once.
pub(super) async fn listings(providers: impl Iterator<Item = Arc<Provider>>) -> Vec<Listing> {
    let ask = |provider: Arc<Provider>| async move {
        let models = fetch(&provider, LIMIT).await;
        Listing { provider: provider.name.clone(), models }
    };
    join_all(providers.map(ask)).await
}

/// The servers among these that run, with their models.
pub(super) async fn running(places: &[(&str, Base)]) -> Vec<(Arc<Provider>, Vec<Listed>)> {
    let ask = |(name, base): &(&str, Base)| {
        let settings = ProviderSettings { url: Some(base.text()), ..ProviderSettings::default() };
        let provider = Provider::new(name, settings, None);
        async move {
            let provider = Arc::new(provider.ok()?);
            let models = fetch(&provider, NEAR).await.ok()?;
            Some((provider, models))
        }
    };
    join_all(places.iter().map(ask)).await.into_iter().flatten().collect()
}

async fn fetch(provider: &Provider, limit: Duration) -> Result<Vec<Listed>, Error> {
    let address = address(provider);
    let asked = provider.http.get_with(&address, headers(provider.dialect), limit).await;
    let scrubber = provider.http.scrubber();
    let answer = asked.map_err(|error| error.with_message(|text| scrubber.shown(text)))?;
    let rows = ["data", "models"].into_iter().find_map(|field| answer[field].as_array());
    let rows = rows.or_else(|| answer.as_array()).ok_or_else(|| Error::Answer {
        service: provider.host(),
        message: "it holds no list of models".to_owned(),
    })?;
    let mut models: Vec<Listed> = rows.iter().filter_map(|row| listed(provider, row)).collect();
    models.sort_by(|one, other| one.name.cmp(&other.name));
    models.dedup_by(|one, other| one.name == other.name);
    Ok(models)
}

fn address(provider: &Provider) -> Base {
    let base = &provider.base;
    match provider.dialect {
        Dialect::OpenAi | Dialect::Responses => match (&provider.settings.api_version, provider.flavour) {
            (Some(version), Flavour::Azure) => base.at("/openai", "models").with("api-version", version),
            (_, flavour) => base.at(crate::chat::root(flavour), "models"),
        },
        Dialect::Anthropic => crate::chat::anthropic_address(provider, "models").with("limit", "1000"),
        Dialect::Gemini => base.at("/v1beta", "models").with("pageSize", "1000"),
        Dialect::Ollama => base.at("", "api/tags"),
    }
}

fn listed(provider: &Provider, row: &Value) -> Option<Listed> {
    let id = ["id", "model", "name"].into_iter().find_map(|field| row[field].as_str())?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    if id.is_empty() || !chats(provider, id, row) {
        return None;
    }
    let known = known(row);
    provider.learn(id, known);
    Some(Listed { name: format!("{}@{id}", provider.name), window: known.window, price: known.price })
}

/// Whether a model of a list is one to talk with.
fn chats(provider: &Provider, id: &str, row: &Value) -> bool {
    if let Some(methods) = row["supportedGenerationMethods"].as_array() {
        return methods.iter().any(|method| method == "generateContent");
    }
    if provider.flavour != Flavour::OpenAi {
        return !id.contains("embed");
    }
    let other = ["audio", "realtime", "transcribe", "tts", "image", "instruct", "search-api", "o1-pro"];
    let numbered =
        id.strip_prefix('o').is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()));
    (id.starts_with("gpt-") || id.starts_with("chatgpt-") || numbered)
        && !other.iter().any(|word| id.contains(word))
}

fn known(row: &Value) -> Known {
    let windows =
        ["context_length", "max_context_length", "max_model_len", "inputTokenLimit", "max_input_tokens"];
    let has = |list: &Value, word: &str| list.as_array().map(|list| list.iter().any(|entry| entry == word));
    Known {
        window: windows.into_iter().find_map(|field| row[field].as_u64()),
        price: price(&row["pricing"]),
        tools: has(&row["supported_parameters"], "tools"),
        images: has(&row["architecture"]["input_modalities"], "image"),
    }
}

/// OpenRouter's prices: dollars for one token, as text.
fn price(pricing: &Value) -> Option<Price> {
    let million = |field: &str| -> Option<f64> {
        let dollars: f64 = pricing[field].as_str()?.parse().ok()?;
        (dollars.is_finite() && dollars >= 0.0).then_some(dollars * 1_000_000.0)
    };
    Some(Price {
        input: million("prompt")?,
        output: million("completion")?,
        cache_read: million("input_cache_read"),
        cache_write: million("input_cache_write"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_openai_s_list_only_models_to_talk_with_are_shown() {
        let provider = Provider::new("openai", ProviderSettings::default(), None).unwrap();
        for (id, shown) in [
            ("gpt-5", true),
            ("o4-mini", true),
            ("chatgpt-4o-latest", true),
            ("gpt-4o-audio-preview", false),
            ("gpt-4o-transcribe", false),
            ("text-embedding-3-small", false),
            ("omni-moderation-latest", false),
            ("dall-e-3", false),
        ] {
            assert_eq!(listed(&provider, &json!({ "id": id })).is_some(), shown, "{id}");
        }
    }
}
