//! Which models there are: by full name, by alias, by tier.
//!
//! Used by the doors, which fill it from `config.toml`, and by the agent's loop, which asks it for a model. A model of a
//! provider is made when it is first asked for. Deliberately not here: where keys come from.

mod list;
mod provider;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::chat::{Model, Remote};
use crate::http::Base;
pub use list::{Listed, Listing};
pub(crate) use provider::Flavour;
pub use provider::{Dialect, Limits, Provider, ProviderSettings};

/// Where servers on this machine usually are.
const NEAR: [(&str, &str); 2] = [("ollama", "http://127.0.0.1:11434"), ("lmstudio", "http://127.0.0.1:1234")];
/// An older name for Ollama.
const OLLAMA_TOO: &str = "local";

/// What a model is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Small work: summaries, titles, collecting.
    Fast,
    /// The conversation.
    Main,
    /// Hard questions.
    Flagship,
}

impl Tier {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Fast => "fast",
            Tier::Main => "main",
            Tier::Flagship => "flagship",
        }
    }
}

/// All models that can be asked.
#[derive(Default, Clone)]
pub struct Models {
    made: BTreeMap<String, Arc<dyn Model>>,
    providers: BTreeMap<String, Arc<Provider>>,
    /// Models of providers that were asked for; what was learnt of them is kept.
    asked: Arc<Mutex<BTreeMap<String, Arc<dyn Model>>>>,
    aliases: BTreeMap<String, String>,
    tiers: BTreeMap<Tier, String>,
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models")
            .field("made", &self.made.keys())
            .field("providers", &self.providers.keys())
            .field("aliases", &self.aliases)
            .field("tiers", &self.tiers)
            .finish()
    }
}

impl Models {
    /// Adds a model under its full name.
    pub fn add(&mut self, model: Arc<dyn Model>) {
        self.made.insert(model.name().to_owned(), model);
    }

    /// Gives a model another name.
    pub fn alias(&mut self, alias: &str, name: &str) {
        self.aliases.insert(alias.to_owned(), name.to_owned());
    }

    /// Says which model is for what.
    pub fn tier(&mut self, tier: Tier, name: &str) {
        self.tiers.insert(tier, name.to_owned());
    }

    /// The name that a tier stands for; a missing one is served by the next lower, the fast one by the main one. Nobody is
    /// called a flagship who is not.
    pub fn of_tier(&self, tier: Tier) -> Option<&str> {
        let order: &[Tier] = match tier {
            Tier::Fast => &[Tier::Fast, Tier::Main],
            Tier::Main => &[Tier::Main, Tier::Fast],
            Tier::Flagship => &[Tier::Flagship],
        };
        order.iter().find_map(|tier| self.tiers.get(tier)).map(String::as_str)
    }

    /// Adds a provider, or puts another in its place.
    pub fn provide(&mut self, provider: Provider) {
        // Models of the one before stay with whoever shares them; here they are made anew.
        self.asked = Arc::default();
        self.providers.insert(provider.name().to_owned(), Arc::new(provider));
    }

    /// The names of the providers.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// The model of this name, alias or tier: `provider@model`, or `provider/model` where the provider is known. Whether
    /// the provider has such a model is seen when it is asked.
    pub fn find(&self, name: &str) -> Result<Arc<dyn Model>, Error> {
        let name = self.meant(name);
        if let Some(model) = self.made.get(name) {
            return Ok(Arc::clone(model));
        }
        let Some((provider, model)) = self.split(name) else { return Err(self.unknown(name)) };
        let full = format!("{}@{model}", provider.name());
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let made = asked.entry(full).or_insert_with(|| Arc::new(Remote::new(Arc::clone(provider), model)));
        Ok(Arc::clone(made))
    }

    /// The models of all providers, asked for at the same time, and what was added by name.
    pub async fn list(&self) -> Vec<Listing> {
        let mut listings = list::listings(self.providers.values().cloned()).await;
        let mut added: BTreeMap<&str, Vec<Listed>> = BTreeMap::new();
        for (name, model) in &self.made {
            let provider = name.split_once('@').map_or("", |(provider, _)| provider);
            let window = model.abilities().window;
            added.entry(provider).or_default().push(Listed {
                name: name.clone(),
                window,
                price: model.price(),
            });
        }
        listings.extend(
            added
                .into_iter()
                .map(|(provider, models)| Listing { provider: provider.to_owned(), models: Ok(models) }),
        );
        listings
    }

    /// Looks for servers on this machine and adds those that run and are not known yet; their names and models.
    pub async fn discover(&mut self) -> Vec<Listing> {
        let places: Vec<(&str, Base)> =
            NEAR.iter().filter_map(|(name, url)| Some((*name, Base::parse(url).ok()?))).collect();
        self.discover_at(&places).await
    }

    /// The same at these places: the name of a built-in provider, and where it may be.
    pub async fn discover_at(&mut self, places: &[(&str, Base)]) -> Vec<Listing> {
        let unknown: Vec<(&str, Base)> =
            places.iter().filter(|(name, _)| !self.providers.contains_key(*name)).cloned().collect();
        let mut found = Vec::new();
        for (provider, models) in list::running(&unknown).await {
            let name = provider.name().to_owned();
            self.providers.insert(name.clone(), provider);
            found.push(Listing { provider: name, models: Ok(models) });
        }
        found
    }

    /// The name behind a tier or an alias; a tier may name an alias.
    fn meant<'a>(&'a self, name: &'a str) -> &'a str {
        let tier = [Tier::Fast, Tier::Main, Tier::Flagship].into_iter().find(|tier| tier.name() == name);
        let name = tier.and_then(|tier| self.of_tier(tier)).unwrap_or(name);
        self.aliases.get(name).map_or(name, String::as_str)
    }

    fn split<'a>(&self, name: &'a str) -> Option<(&Arc<Provider>, &'a str)> {
        let of =
            |provider: &str| self.providers.get(if provider == OLLAMA_TOO { "ollama" } else { provider });
        // OpenRouter's names have slashes of their own, so an `@` decides, and a slash only behind a known name.
        let parts = name.split_once('@').filter(|(provider, _)| of(provider).is_some());
        let (provider, model) = parts.or_else(|| name.split_once('/'))?;
        Some((of(provider)?, model)).filter(|(_, model)| !model.is_empty())
    }

    fn unknown(&self, name: &str) -> Error {
        let near = self.near(name);
        match near.is_empty() {
            true => Error::NoModel { name: name.to_owned() },
            false => Error::NearModel { name: name.to_owned(), near },
        }
    }

    /// Names that look like this one, at most three: those that are known, else those that could be meant.
    fn near(&self, name: &str) -> Vec<String> {
        let cut = name.find(['@', '/']);
        let model = cut.map_or(name, |at| &name[at + 1..]);
        if model.is_empty() {
            return Vec::new();
        }
        let own =
            self.made.keys().chain(self.aliases.keys()).map(|known| (distance(name, known), known.clone()));
        let listed = self.providers.values().flat_map(|provider| {
            let far = |id: &str| distance(model, id).min(distance(name, id));
            let full = |id: String| (far(&id), format!("{}@{id}", provider.name()));
            provider.listed().into_iter().map(full).collect::<Vec<_>>()
        });
        let known = closest(own.chain(listed).collect(), 2.max(name.len() / 5));
        if !known.is_empty() {
            return known;
        }
        // A slip in the provider's name, or none at all.
        let could = self.providers.keys().map(|provider| {
            let far = cut.map_or(0, |at| distance(&name[..at], provider));
            (far, format!("{provider}@{model}"))
        });
        closest(could.collect(), 2)
    }
}

fn closest(mut names: Vec<(usize, String)>, most: usize) -> Vec<String> {
    names.retain(|(distance, _)| *distance <= most);
    names.sort();
    names.into_iter().map(|(_, name)| name).take(3).collect()
}

/// How many letters must be changed, added or left out.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(200).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().take(200).enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for (place, known) in other.iter().enumerate() {
            let changed = corner + usize::from(letter != *known);
            corner = row[place + 1];
            row[place + 1] = changed.min(corner + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Script;

    fn models() -> Models {
        let mut models = Models::default();
        for name in ["openai", "openrouter", "ollama"] {
            models.provide(Provider::new(name, ProviderSettings::default(), None).unwrap());
        }
        models.add(Arc::new(Script::parse("/s.jsonl", "").unwrap()));
        models.alias("opus", "openrouter@anthropic/claude-opus");
        models.tier(Tier::Main, "opus");
        models
    }

    #[test]
    fn a_model_is_found_by_every_name_it_has() {
        let models = models();
        for (name, full) in [
            ("openai@gpt-5", "openai@gpt-5"),
            ("openai/gpt-5", "openai@gpt-5"),
            ("openrouter/anthropic/claude-opus", "openrouter@anthropic/claude-opus"),
            ("openrouter@anthropic/claude@beta", "openrouter@anthropic/claude@beta"),
            ("ollama@qwen3:8b", "ollama@qwen3:8b"),
            ("local@qwen3:8b", "ollama@qwen3:8b"),
            ("opus", "openrouter@anthropic/claude-opus"),
            ("main", "openrouter@anthropic/claude-opus"),
            ("fast", "openrouter@anthropic/claude-opus"),
            ("script@/s.jsonl", "script@/s.jsonl"),
        ] {
            assert_eq!(models.find(name).map(|model| model.name().to_owned()).as_deref(), Ok(full), "{name}");
        }
        let twice = [models.find("openai@gpt-5").unwrap(), models.clone().find("openai/gpt-5").unwrap()];
        assert!(Arc::ptr_eq(&twice[0], &twice[1]), "what was learnt of a model is kept");
    }

    #[test]
    fn a_slip_in_a_name_is_answered_with_names_that_there_are() {
        let models = models();
        for (name, near) in [
            ("opsu", Some("opus")),
            ("opnai@gpt-5", Some("openai@gpt-5")),
            ("gpt-5", Some("openai@gpt-5")),
            ("anthropic/claude", None),
            ("flagship", Some("openai@flagship")),
            ("", None),
            ("openai@", None),
        ] {
            let error = models.find(name).err().unwrap();
            match near {
                Some(near) => {
                    assert!(
                        matches!(&error, Error::NearModel { near: names, .. } if names.contains(&near.to_owned())),
                        "{name}: {error}"
                    );
                }
                None => assert!(matches!(&error, Error::NoModel { .. }), "{name}: {error}"),
            }
        }
    }

    #[tokio::test]
    async fn a_script_is_listed_as_one() {
        let mut models = Models::default();
        models.add(Arc::new(Script::parse("/s.jsonl", "").unwrap()));
        let listings = models.list().await;
        assert_eq!(listings.len(), 1);
        assert_eq!(listings[0].provider, "script");
        assert_eq!(listings[0].models.as_ref().unwrap()[0].name, "script@/s.jsonl");
    }
}
