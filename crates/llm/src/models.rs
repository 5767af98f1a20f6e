//! Which models there are: by full name, by alias, by tier.
//!
//! Used by the doors, which fill it from `config.toml`, and by the agent's loop, which asks it for a model.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::chat::Model;

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
    aliases: BTreeMap<String, String>,
    tiers: BTreeMap<Tier, String>,
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models")
            .field("made", &self.made.keys())
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

    /// The model of this name, alias or tier.
    pub fn find(&self, name: &str) -> Result<Arc<dyn Model>, Error> {
        let tier = [Tier::Fast, Tier::Main, Tier::Flagship].into_iter().find(|tier| tier.name() == name);
        let name = tier.and_then(|tier| self.of_tier(tier)).unwrap_or(name);
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.made.get(name).cloned().ok_or_else(|| Error::NoModel { name: name.to_owned() })
    }
}
