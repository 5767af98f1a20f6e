//! Keys of providers: taken once, kept in the keyring or in a file that only the person can read, and never given back.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{save, setting, sheet};
use crate::config::write::{Setting, word};
use crate::serve::api::area::Area;
use crate::serve::api::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::study::key::{self, Key};
use crate::{keyring, place};

/// The longest key.
const LONGEST: usize = 4_000;

/// The routes.
pub fn area() -> Area {
    Area::default()
        .put::<Given, _, _>(
            "/api/settings/key",
            "Keeps the key of a provider in the keyring or in a file of its own; it is never given back.",
            given,
        )
        .post::<Forgotten, _, _>("/api/settings/key/forget", "Forgets the key of a provider.", forgotten)
}

/// Where a key is kept.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Keep {
    /// In the system's keyring.
    Keyring,
    /// In a file below the configuration's folder that only its owner can read.
    File,
    /// In an environment variable, whose name is given instead of the key.
    Variable,
}

/// A key.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Given {
    /// Whose.
    provider: String,
    /// The key; for `variable`, the name of the variable.
    key: String,
    /// Where it is kept.
    keep: Keep,
}

/// A provider whose key goes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Forgotten {
    /// Its name.
    provider: String,
}

async fn given(State(house): State<Arc<House>>, Told(told): Told<Given>) -> Result<Json<Value>, Problem> {
    house.look(move |house| keep(house, &told)).await.map(Json)
}

fn keep(house: &House, told: &Given) -> Result<Value, Problem> {
    let (name, key) = (told.provider.as_str(), told.key.trim());
    check_name(name)?;
    if key.is_empty() || key.len() > LONGEST || !key.chars().all(|letter| letter.is_ascii_graphic()) {
        return Err(Problem::bad(
            "this is no key: it is empty, too long, or holds spaces or letters that no key has",
            "copy it again from the provider's page",
        ));
    }
    let file = format!("keys/{name}");
    let said = match told.keep {
        Keep::Keyring => {
            keyring::set(name, key).map_err(|trouble| closed(&trouble))?;
            "kept in the keyring"
        }
        Keep::File => {
            let place = key::path(Path::new(&file))
                .map_err(|why| Problem::bad(why, "check the configuration's folder"))?;
            place::write_private(&place, &format!("{key}\n")).map_err(|error| cannot_write(&error))?;
            "kept in a file that only you can read"
        }
        Keep::Variable if is_variable(key) => "taken from the environment variable",
        Keep::Variable => {
            return Err(Problem::bad(
                "this is no name of a variable",
                "use letters, digits and `_`, e.g. OPENAI_API_KEY",
            ));
        }
    };
    let fields: [(&str, Value); 3] = match told.keep {
        Keep::Keyring => [("key", json!("keyring")), ("key_env", Value::Null), ("key_file", Value::Null)],
        Keep::File => [("key", Value::Null), ("key_env", Value::Null), ("key_file", json!(file))],
        Keep::Variable => [("key", Value::Null), ("key_env", json!(key)), ("key_file", Value::Null)],
    };
    let settings: Vec<Setting> =
        fields.into_iter().map(|(field, value)| setting(&["providers", name, field], value)).collect();
    let after = match save(house, &sheet()?, &settings) {
        Ok(after) => after,
        Err(problem) => {
            take_away(house, told, &file);
            return Err(problem);
        }
    };
    Ok(json!({"done": {"text": said, "word": word(&after)}}))
}

/// A key that nothing points to is not left behind; one that was in use before stays.
fn take_away(house: &House, told: &Given, file: &str) {
    let study = house.study();
    let kept = study.config.chat.providers.get(&told.provider).and_then(toml::Value::as_table);
    let before = Key::of(&told.provider, kept).unwrap_or(Key::None);
    match told.keep {
        Keep::Keyring if before != Key::Keyring => drop(keyring::forget(&told.provider)),
        Keep::File if before != Key::File(file.into()) => {
            if let Ok(place) = key::path(Path::new(file)) {
                place::remove_private(&place).ok();
            }
        }
        _ => {}
    }
}

async fn forgotten(
    State(house): State<Arc<House>>,
    Told(told): Told<Forgotten>,
) -> Result<Json<Value>, Problem> {
    house.look(move |house| forget(house, &told.provider)).await.map(Json)
}

fn forget(house: &House, name: &str) -> Result<Value, Problem> {
    check_name(name)?;
    let study = house.study();
    let kept = study.config.chat.providers.get(name).and_then(toml::Value::as_table);
    let place = Key::of(name, kept).unwrap_or(Key::None);
    let fields: Vec<Setting> = key::FIELDS
        .iter()
        .filter(|field| kept.is_some_and(|table| table.contains_key(**field)))
        .map(|field| setting(&["providers", name, *field], Value::Null))
        .collect();
    // First the configuration: when the model that speaks needs this key, it is refused and the key stays.
    if !fields.is_empty() {
        save(house, &sheet()?, &fields)?;
    }
    match place {
        Key::Keyring => drop(keyring::forget(name).map_err(|trouble| closed(&trouble))?),
        Key::File(file) if file == Path::new(&format!("keys/{name}")) => {
            let place =
                key::path(&file).map_err(|why| Problem::bad(why, "check the configuration's folder"))?;
            place::remove_private(&place).map_err(|error| cannot_write(&error))?;
        }
        _ => {}
    }
    Ok(json!({"done": {"text": "forgotten"}}))
}

/// A name that is a file's name too.
fn check_name(name: &str) -> Result<(), Problem> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    match !name.is_empty() && name.len() <= 60 && !name.starts_with('.') && name.chars().all(fits) {
        true => Ok(()),
        false => Err(Problem::bad("this is no name of a provider", "use letters, digits, `-`, `_` and `.`")),
    }
}

fn is_variable(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.len() <= 100 && name.chars().all(fits) && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn closed(trouble: &keyring::Trouble) -> Problem {
    Problem::new(StatusCode::CONFLICT, "no_keyring", trouble.to_string(), trouble.hint())
}

fn cannot_write(error: &std::io::Error) -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "io",
        format!("the key file cannot be written: {error}"),
        "check the permissions of the configuration's folder",
    )
}
