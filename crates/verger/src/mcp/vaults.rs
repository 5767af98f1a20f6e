//! The vaults of one server: each with a road of its own, chosen at the door by the argument `vault`.
//!
//! With one vault there is no such argument. Called by `server.rs`, once for every call. A name that is unknown or missing
//! is answered with the names there are.

use std::path::Path;
use std::sync::Arc;

use pipeline::refusal::nearest;
use pipeline::{Refusal, Road};
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use vault::policy::{Limits, Scope};

/// The argument.
const VAULT: &str = "vault";
/// How an address names another vault than the first.
const QUERY: &str = "?vault=";

/// A vault that is served.
pub struct Served {
    /// Its name: that of its folder, with a number where two are alike.
    pub name: String,
    /// Its road.
    pub road: Arc<Road>,
}

/// All of them; the first is the one that addresses mean where they name none.
pub struct Vaults(Vec<Served>);

impl Vaults {
    /// These vaults, by folder. There is at least one; no two have the same name.
    pub fn new(roads: Vec<(&Path, Arc<Road>)>) -> Vaults {
        let mut served: Vec<Served> = Vec::new();
        for (folder, road) in roads {
            let base = folder.file_name().map_or("vault".into(), |name| name.to_string_lossy().into_owned());
            let mut name = base.clone();
            let mut number = 2;
            while served.iter().any(|other| other.name == name) {
                name = format!("{base} {number}");
                number += 1;
            }
            served.push(Served { name, road });
        }
        Vaults(served)
    }

    /// Their names where there are several; with one there is nothing to choose.
    pub fn choice(&self) -> Vec<&str> {
        if self.0.len() < 2 { Vec::new() } else { self.0.iter().map(|served| served.name.as_str()).collect() }
    }

    /// Every vault.
    pub fn all(&self) -> impl Iterator<Item = &Served> {
        self.0.iter()
    }

    /// The vault of a call; the argument is taken out, since the tools do not know it.
    pub fn take(&self, arguments: &mut JsonObject) -> Result<&Served, Refusal> {
        let named = match self.0.as_slice() {
            [only] => return Ok(only),
            _ => arguments.remove(VAULT),
        };
        let Some(Value::String(name)) = named else {
            let message = "there are several vaults, and the call names none";
            return Err(
                Refusal::new("vault_required", message, self.hint(None)).with("vaults", self.choice())
            );
        };
        self.named(&name)
    }

    /// The vault that an address names, and the address without that.
    pub fn of_address<'u>(&self, uri: &'u str) -> Result<(&Served, &'u str), Refusal> {
        match (uri.rsplit_once(QUERY), self.0.as_slice()) {
            (Some((address, name)), [_, _, ..]) => {
                let name = super::resource::decode(name).unwrap_or_default();
                Ok((self.named(&name)?, address))
            }
            (_, [first, ..]) => Ok((first, uri)),
            (_, []) => Err(Refusal::new("internal", "no vault is served", "start the server anew")),
        }
    }

    /// The address of something in a vault.
    pub fn address(&self, served: &Served, uri: String) -> String {
        match self.0.first() {
            Some(first) if first.name != served.name => {
                format!("{uri}{QUERY}{}", super::resource::encode(&served.name))
            }
            _ => uri,
        }
    }

    fn named(&self, name: &str) -> Result<&Served, Refusal> {
        self.0.iter().find(|served| served.name == name).ok_or_else(|| {
            let shown: String = name.chars().take(100).collect();
            Refusal::new("vault_unknown", format!("there is no vault `{shown}`"), self.hint(Some(name)))
                .with("vaults", self.choice())
        })
    }

    fn hint(&self, given: Option<&str>) -> String {
        let names = self.choice();
        match given.and_then(|given| nearest(given, names.iter().copied())) {
            Some(meant) => format!("did you mean `{meant}`? There are {}", names.join(", ")),
            None => format!("name one of {}", names.join(", ")),
        }
    }
}

/// What a client with these limits may see of a vault now.
pub fn scope(road: &Road, limits: &Limits) -> Result<Scope, vault::Error> {
    Ok(Scope::new(limits.clone(), road.vault().rules()?))
}

/// Adds the argument to a schema where there is a choice.
pub fn announce(schema: &mut JsonObject, names: &[&str]) {
    if names.is_empty() {
        return;
    }
    let field = json!({"type": "string", "enum": names});
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert(VAULT.to_owned(), field);
    }
    match schema.get_mut("required") {
        Some(Value::Array(required)) => required.insert(0, json!(VAULT)),
        _ => {
            schema.insert("required".to_owned(), json!([VAULT]));
        }
    }
}
