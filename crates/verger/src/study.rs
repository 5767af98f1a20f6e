//! Where conversations are held: the road with the tools of a conversation, the models, the agents, the kept
//! conversations. Every door that speaks with a model opens one.

pub mod key;
pub mod models;

use std::sync::Arc;

use agent::{Cast, Limits, Mind};
use llm::{Models, Tier};
use pipeline::{Refusal, Road};
use state::Sessions;
use tools::foreign::Foreign;
use tools::table::Offered;

use crate::args::Global;
use crate::chat::cast::Company;
use crate::config::Config;
use crate::door::{STATE, build_road_with};
use crate::embedding::{self, Effort};
use crate::failure::{Exit, Failure};
use crate::foreign;
use crate::place::{self, Place};
use crate::world::RealWorld;

/// The window of a model of which nothing is known.
const USUAL_WINDOW: u64 = 128_000;

/// What a door wants.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A model instead of the configured one: a name, an alias, a tier, `script@FILE`.
    pub model: Option<String>,
    /// Limits instead of the configured ones.
    pub limits: Option<Limits>,
    /// Whether a person can be asked.
    pub person: bool,
    /// Whether it opens without a model where the configured one cannot be had: there is a place to mend that.
    pub forgiving: bool,
}

/// Where conversations are held.
pub struct Study {
    /// What all of them share.
    pub mind: Arc<Mind>,
    /// Who can speak, and with what.
    pub company: Arc<Company>,
    /// What `config.toml` says.
    pub config: Config,
    /// Where the vault and its data lie.
    pub place: Place,
    /// Other MCP servers; they end with the study.
    pub foreign: Arc<Foreign>,
    /// Why the configured models cannot be had.
    absent: Option<Box<Refusal>>,
}

impl Study {
    /// Opens the study of the vault that the options and the configuration name.
    pub fn open(global: &Global, wanted: &Wanted) -> Result<Study, Failure> {
        let config = Config::load(&place::config_folder()?)?;
        let place = place::find(global.one_vault()?, &config)?;
        let models = had(&config, wanted)?;
        let foreign = foreign::open(&config, &place, None)?;
        let sessions = Sessions::open(&place.data.join(STATE)).map_err(failed)?;
        let road = Arc::new(build_road_with(&place, tools::table::all())?);
        embedding::attach(road.vault(), &config, Effort::All)?;
        Study::furnish(config, place, road, sessions, models, foreign, wanted)
    }

    /// The same vault and conversations with what `config.toml` and the folders of agents and skills say now. The model
    /// for the search by meaning stays: it belongs to the vault.
    pub fn again(&self, wanted: &Wanted) -> Result<Study, Failure> {
        let config = Config::load(&place::config_folder()?)?;
        let models = had(&config, wanted)?;
        let foreign = foreign::open(&config, &self.place, None)?;
        let (road, sessions) = (Arc::clone(&self.mind.road), self.mind.sessions.clone());
        Study::furnish(config, self.place.clone(), road, sessions, models, foreign, wanted)
    }

    fn furnish(
        config: Config,
        place: Place,
        road: Arc<Road>,
        sessions: Sessions,
        (models, absent): (Models, Option<Box<Refusal>>),
        foreign: Arc<Foreign>,
        wanted: &Wanted,
    ) -> Result<Study, Failure> {
        tools::table::add_foreign(&road.registry, &foreign);
        let cast = Company::open(&road, &config, &place)?;
        let offered = Offered {
            flagship: models.of_tier(Tier::Flagship).is_some(),
            skills: cast.kit.skills.list().next().is_some(),
            person: wanted.person,
        };
        tools::table::add_conversation(&road.registry, offered);
        tools::table::add_history(&road.registry, &sessions);
        let cast = Arc::new(cast);
        let mind = Mind {
            road,
            models,
            sessions,
            cast: Arc::clone(&cast) as Arc<dyn Cast>,
            world: Box::new(RealWorld),
            limits: wanted.limits.unwrap_or(config.chat.limits),
            reach: config.limits.clone(),
            review: config.review,
            condense_at: config.chat.condense_at.unwrap_or(80),
            usual_window: USUAL_WINDOW,
            holder: state::holder::this_process(),
        };
        Ok(Study { mind: Arc::new(mind), company: cast, config, place, foreign, absent })
    }

    /// The agent that speaks when none is named.
    pub fn agent(&self) -> &str {
        self.config.chat.agent.as_deref().unwrap_or("agent")
    }

    /// The model that answers when none is named; without one, how to get one.
    pub fn model(&self) -> Result<&str, Failure> {
        self.mind.models.of_tier(Tier::Main).ok_or_else(|| match &self.absent {
            Some(why) => Failure { exit: Exit::Failed, refusal: why.clone() },
            None => models::none(),
        })
    }
}

/// The models, or why they cannot be had.
fn had(config: &Config, wanted: &Wanted) -> Result<(Models, Option<Box<Refusal>>), Failure> {
    match models::open(config, wanted.model.as_deref()) {
        Ok(models) => Ok((models, None)),
        Err(failure) if wanted.forgiving && wanted.model.is_none() => {
            Ok((Models::default(), Some(failure.refusal)))
        }
        Err(failure) => Err(failure),
    }
}

/// What a model is told before a conversation, for those who count its tokens.
pub fn prompt(global: &Global, agent: &str, terminal: &crate::terminal::Terminal) -> Result<(), Failure> {
    let study = Study::open(global, &Wanted { person: true, ..Wanted::default() })?;
    let persona = study.mind.cast.persona(agent);
    let told = agent::prompt::told(&study.mind, &persona);
    let tools: Vec<_> = told
        .tools
        .iter()
        .map(|tool| serde_json::json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema }))
        .collect();
    terminal.json(&serde_json::json!({ "system": told.system, "tools": tools }));
    Ok(())
}

fn failed(error: state::Error) -> Failure {
    Failure::new(Exit::Failed, "state", error.to_string(), error.hint())
}

impl From<agent::Trouble> for Failure {
    fn from(trouble: agent::Trouble) -> Failure {
        match trouble {
            agent::Trouble::Refused(refusal) => Failure::from(refusal),
            agent::Trouble::Model(error @ llm::Error::NoModel { .. }) => {
                Failure::new(Exit::Failed, "no_model", error.to_string(), error.hint())
            }
            other => {
                let hint = other.hint();
                Failure::new(Exit::Failed, "conversation", other.to_string(), hint)
            }
        }
    }
}
