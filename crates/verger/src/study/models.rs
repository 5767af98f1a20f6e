//! The models that can be asked: those of `config.toml`, those of well-known services whose key is in the environment,
//! those that run on this machine, and scripts. And `verger models`, which lists them.

use std::path::Path;
use std::sync::Arc;

use llm::chat::Script;
use llm::{Listing, Models, Provider, ProviderSettings, Secret, Tier};
use serde_json::{Value, json};
use toml::Table;

use super::key::{self, Key};
use crate::chat::ask::runtime;
use crate::config::{self, Config};
use crate::failure::{Exit, Failure};
use crate::paper::Role;
use crate::place;
use crate::terminal::Terminal;

/// Services on this machine, which need no key.
const NEAR: [&str; 2] = ["ollama", "lmstudio"];

/// Two lines that say how to connect a model.
pub fn none() -> Failure {
    Failure::new(
        Exit::Failed,
        "no_model",
        "no model is connected",
        "with a key: export ANTHROPIC_API_KEY=… and put `main = \"anthropic@MODEL\"` under [models] in config.toml; \
         without one: start Ollama and use --model ollama@NAME (`verger models` lists what there is)",
    )
}

/// The models of `config.toml` and the environment, with the one that was named for this run as the main one.
pub fn open(config: &Config, named: Option<&str>) -> Result<Models, Failure> {
    let mut models = Models::default();
    for name in names(config) {
        let settings = config.chat.providers.get(&name).and_then(toml::Value::as_table);
        if let Some((provider, _)) = provider(&name, settings)? {
            models.provide(provider);
        }
    }
    for (alias, name) in &config.chat.aliases {
        models.alias(alias, name);
    }
    let tiers = [
        (Tier::Main, &config.chat.main),
        (Tier::Fast, &config.chat.fast),
        (Tier::Flagship, &config.chat.flagship),
    ];
    for (tier, name) in tiers {
        if let Some(name) = name {
            add_script(&mut models, name)?;
            models.tier(tier, name);
        }
    }
    let mocked = std::env::var("VERGER_LLM").ok().filter(|value| !value.is_empty());
    let mocked = mocked.map(|value| match value.strip_prefix("mock:") {
        Some(file) => format!("script@{file}"),
        None => value,
    });
    if let Some(name) = named.map(str::to_owned).or(mocked) {
        add_script(&mut models, &name)?;
        if name.starts_with("script@") {
            // A script plays every part.
            models.tier(Tier::Fast, &name);
        }
        // A name that is no model is told at once, not when the first question was typed.
        let full = models.find(&name).map_err(unknown)?.name().to_owned();
        models.tier(Tier::Main, &full);
    }
    if let Some(main) = models.of_tier(Tier::Main) {
        needs_its_key(config, models.find(main).map_err(unknown)?.name())?;
    }
    Ok(models)
}

fn unknown(error: llm::Error) -> Failure {
    Failure::new(Exit::Failed, "no_model", error.to_string(), error.hint())
}

/// The providers of `config.toml` and the well-known ones.
pub fn names(config: &Config) -> Vec<String> {
    let mut names: Vec<String> = Provider::built_in().map(str::to_owned).collect();
    names.extend(
        config.chat.providers.keys().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>(),
    );
    names
}

/// A provider, and whether it has what it needs to be asked. Azure has no address that everybody shares.
pub fn provider(name: &str, settings: Option<&Table>) -> Result<Option<(Provider, bool)>, Failure> {
    if name == "azure" && settings.is_none() {
        return Ok(None);
    }
    let key = Key::of(name, settings).map_err(|why| wrong(name, &why))?;
    let mut table = settings.cloned().unwrap_or_default();
    key::FIELDS.iter().for_each(|field| drop(table.remove(*field)));
    let json = serde_json::to_value(&table).unwrap_or_default();
    let settings: ProviderSettings =
        serde_json::from_value(json).map_err(|error| wrong(name, &error.to_string()))?;
    let needed = key != Key::None;
    // Where the key cannot be had is told when this provider is asked; the others work without it.
    let key = key.find(name).unwrap_or_default().map(|key| Secret::new(&key));
    let ready = key.is_some() || !needed;
    let provider = Provider::new(name, settings, key).map_err(|error| wrong(name, &error.to_string()))?;
    Ok(Some((provider, ready)))
}

fn wrong(name: &str, message: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        "config_invalid",
        format!("`providers.{name}` in config.toml: {message}"),
        "docs/guide/models.md explains what can stand there",
    )
}

/// A model whose key is missing is told of before anything is asked.
fn needs_its_key(config: &Config, full: &str) -> Result<(), Failure> {
    let Some((name, _)) = full.split_once('@') else { return Ok(()) };
    let settings = config.chat.providers.get(name).and_then(toml::Value::as_table);
    if name == "script" || !names(config).iter().any(|known| known == name) {
        return Ok(());
    }
    match provider(name, settings)? {
        Some((_, false)) => {
            let (why, hint) = Key::of(name, settings).unwrap_or(Key::None).missing(name);
            Err(Failure::new(Exit::Failed, "no_key", format!("{full} needs a key, and {why}"), hint))
        }
        _ => Ok(()),
    }
}

/// A script is a file that the person named.
fn add_script(models: &mut Models, name: &str) -> Result<(), Failure> {
    let Some(file) = name.strip_prefix("script@") else { return Ok(()) };
    let text = config::read(Path::new(file))?.ok_or_else(|| {
        Failure::new(
            Exit::Failed,
            "script_missing",
            format!("there is no script {file}"),
            "give the path of a file of JSON lines; docs/guide/models.md tells what stands in them",
        )
    })?;
    let script = Script::parse(file, &text)
        .map_err(|error| Failure::new(Exit::Failed, "script_invalid", error.to_string(), error.hint()))?;
    models.add(Arc::new(script));
    Ok(())
}

/// `verger models`: what can be asked now.
pub fn list(terminal: &Terminal) -> Result<(), Failure> {
    let config = Config::load(&place::config_folder()?)?;
    let mut models = Models::default();
    let mut silent = Vec::new();
    for name in names(&config) {
        let settings = config.chat.providers.get(&name).and_then(toml::Value::as_table);
        // What nobody configured is looked for below.
        if NEAR.contains(&name.as_str()) && settings.is_none() {
            continue;
        }
        match provider(&name, settings)? {
            Some((provider, true)) => models.provide(provider),
            Some((_, false)) => silent.push(name),
            None => {}
        }
    }
    let (mut listings, near) = runtime()?.block_on(async {
        let listings = models.list().await;
        (listings, models.discover().await)
    });
    listings.extend(near);
    if terminal.json {
        let providers: Vec<Value> = listings.iter().map(as_json).collect();
        let tiers =
            json!({ "main": config.chat.main, "fast": config.chat.fast, "flagship": config.chat.flagship });
        terminal.json(
            &json!({ "ok": true, "data": { "providers": providers, "tiers": tiers, "without_key": silent } }),
        );
        return Ok(());
    }
    tell(terminal, &config, &listings, &silent);
    Ok(())
}

pub fn as_json(listing: &Listing) -> Value {
    match &listing.models {
        Ok(models) => {
            let models: Vec<Value> = models
                .iter()
                .map(|model| json!({ "name": model.name, "window": model.window, "price": model.price }))
                .collect();
            json!({ "provider": listing.provider, "models": models })
        }
        Err(error) => {
            json!({ "provider": listing.provider, "error": error.to_string(), "hint": error.hint() })
        }
    }
}

fn tell(terminal: &Terminal, config: &Config, listings: &[Listing], silent: &[String]) {
    let paper = &terminal.out;
    for (tier, name) in
        [("main", &config.chat.main), ("fast", &config.chat.fast), ("flagship", &config.chat.flagship)]
    {
        if let Some(name) = name {
            terminal.data_line(&format!("{} {}", paper.paint(Role::Title, tier), paper.text(name)));
        }
    }
    for listing in listings {
        match &listing.models {
            Ok(models) if models.is_empty() => {
                terminal.note(&format!("{} has no models yet", listing.provider));
            }
            Ok(models) => models.iter().for_each(|model| {
                let window = model.window.map_or_else(String::new, |window| format!("  window {window}"));
                let price = model.price.map_or_else(String::new, |price| {
                    format!("  ${} in, ${} out per million", price.input, price.output)
                });
                terminal.data_line(&format!("{}{window}{price}", paper.text(&model.name)));
            }),
            Err(error) => terminal.error(&error.to_string(), error.hint()),
        }
    }
    if !silent.is_empty() {
        terminal.note(&format!("without a key in the environment: {}", silent.join(", ")));
    }
    if listings.is_empty() {
        terminal.note(&none().refusal.hint);
    }
}
