//! Providers, models, short names: what there is, where each key is, and whether a service answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use llm::{Models, Provider, ProviderSettings, Secret, Tier};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toml::Table;

use crate::keyring;
use crate::serve::api::area::{Area, Nothing};
use crate::serve::api::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::study::key::{self, Key};
use crate::study::models;

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<Nothing, _, _>(
            "/api/settings/models",
            "The providers, where the key of each is, and which model is for what.",
            shown,
        )
        .post::<Trial, _, _>(
            "/api/settings/models/test",
            "Asks a provider for its models, with a key that was typed or with the one that is kept.",
            test,
        )
        .post::<Nothing, _, _>(
            "/api/settings/models/near",
            "Looks for model servers that run on this machine.",
            near,
        )
}

/// A provider to be tried.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Trial {
    /// Its name.
    provider: String,
    /// Its address, where it is not the known one.
    url: Option<String>,
    /// How it is spoken to, where it is not a known one.
    dialect: Option<String>,
    /// A key that is used for this question only.
    key: Option<String>,
}

async fn shown(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    house.look(all).await.map(Json)
}

fn all(house: &House) -> Result<Value, Problem> {
    let study = house.study();
    let config = &study.config;
    let known: Vec<&str> = Provider::built_in().collect();
    let providers: Vec<Value> = models::names(config)
        .iter()
        .map(|name| {
            let settings = config.chat.providers.get(name).and_then(toml::Value::as_table);
            one(name, settings, known.contains(&name.as_str()))
        })
        .collect();
    let aliases: Vec<Value> =
        config.chat.aliases.iter().map(|(alias, model)| json!({"alias": alias, "model": model})).collect();
    let in_force = |tier| study.mind.models.of_tier(tier);
    let keyring = keyring::reach().err();
    Ok(json!({
        "providers": providers,
        "written": {"main": config.chat.main, "fast": config.chat.fast, "flagship": config.chat.flagship},
        "in_force": {
            "main": in_force(Tier::Main), "fast": in_force(Tier::Fast), "flagship": in_force(Tier::Flagship),
        },
        "aliases": aliases,
        "keyring": {
            "there": keyring.is_none(),
            "why": keyring.as_ref().map(ToString::to_string),
            "hint": keyring.as_ref().map(keyring::Trouble::hint),
        },
    }))
}

/// A provider as it stands; never its key.
fn one(name: &str, settings: Option<&Table>, known: bool) -> Value {
    let text = |field: &str| settings.and_then(|table| table.get(field)).and_then(toml::Value::as_str);
    let key = Key::of(name, settings);
    let (kind, place) = match &key {
        Ok(Key::None) => ("none", None),
        Ok(Key::Variable(variable)) => ("variable", Some(variable.clone())),
        Ok(Key::Keyring) => ("keyring", None),
        Ok(Key::File(file)) => ("file", Some(file.display().to_string())),
        Err(_) => ("wrong", None),
    };
    let found = key.clone().and_then(|key| key.find(name));
    json!({
        "name": name,
        "known": known,
        "configured": settings.is_some(),
        "url": text("url"),
        "dialect": text("dialect"),
        "local": matches!(models::provider(name, settings), Ok(Some((provider, _))) if provider.is_local()),
        "usual_variable": Provider::usual_key(name),
        "key": {
            "kind": kind, "place": place, "there": matches!(found, Ok(Some(_))), "trouble": found.err(),
        },
    })
}

async fn test(State(house): State<Arc<House>>, Told(trial): Told<Trial>) -> Result<Json<Value>, Problem> {
    let provider = house.look(move |house| made(house, &trial)).await?;
    let mut models = Models::default();
    models.provide(provider);
    let listing = models.list().await.into_iter().next();
    Ok(Json(listing.map_or(Value::Null, |listing| models::as_json(&listing))))
}

/// The provider that is meant, with what was typed over what is kept.
fn made(house: &House, trial: &Trial) -> Result<Provider, Problem> {
    let study = house.study();
    let kept = study.config.chat.providers.get(&trial.provider).and_then(toml::Value::as_table);
    let mut table = kept.cloned().unwrap_or_default();
    for (field, typed) in [("url", &trial.url), ("dialect", &trial.dialect)] {
        if let Some(typed) = typed.as_deref().filter(|typed| !typed.is_empty()) {
            table.insert(field.to_owned(), toml::Value::String(typed.to_owned()));
        }
    }
    let typed = trial.key.as_deref().map(str::trim).filter(|key| !key.is_empty() && key.len() <= 4_000);
    let elsewhere = trial.url.is_some() && table.get("url") != kept.and_then(|kept| kept.get("url"));
    let key = match typed {
        Some(key) => Some(Secret::new(key)),
        // A key that is kept is sent to the address that it is kept for, and to no other.
        None if elsewhere => None,
        None => {
            let place = Key::of(&trial.provider, kept).map_err(|why| invalid(&why))?;
            place.find(&trial.provider).map_err(|why| invalid(&why))?.map(|key| Secret::new(&key))
        }
    };
    if elsewhere {
        // They may hold a secret as well.
        table.remove("headers");
    }
    key::FIELDS.iter().for_each(|field| drop(table.remove(*field)));
    let json = serde_json::to_value(&table).unwrap_or_default();
    let settings: ProviderSettings =
        serde_json::from_value(json).map_err(|error| invalid(&error.to_string()))?;
    Provider::new(&trial.provider, settings, key).map_err(|error| invalid(&error.to_string()))
}

fn invalid(why: &str) -> Problem {
    Problem::bad(why.to_owned(), "check the address and the key")
}

async fn near(State(_): State<Arc<House>>, Told(Nothing {}): Told<Nothing>) -> Result<Json<Value>, Problem> {
    let found: Vec<Value> = Models::default().discover().await.iter().map(models::as_json).collect();
    Ok(Json(json!({ "found": found })))
}
