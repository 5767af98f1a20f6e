//! Where conversations are held: the road with the tools of a conversation, the models, the agents, the kept
//! conversations. Every door that speaks with a model opens one.

use std::path::Path;
use std::sync::Arc;

use agent::{Cast, Limits, Mind};
use llm::chat::Script;
use llm::{Models, Tier};
use state::Sessions;
use tools::foreign::Foreign;
use tools::table::Offered;

use crate::args::Global;
use crate::config::{self, Config};
use crate::door::build_road_with;
use crate::embedding::{self, Effort};
use crate::failure::{Exit, Failure};
use crate::foreign;
use crate::place::{self, Place};
use crate::world::RealWorld;

/// The kept conversations in the data folder.
pub const STATE: &str = "state.db";
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
}

/// Where conversations are held.
pub struct Study {
    /// What all of them share.
    pub mind: Arc<Mind>,
    /// What `config.toml` says.
    pub config: Config,
    /// Where the vault and its data lie.
    pub place: Place,
    /// Other MCP servers; they end with the study.
    pub foreign: Arc<Foreign>,
}

impl Study {
    /// Opens the study of the vault that the options and the configuration name.
    pub fn open(global: &Global, wanted: &Wanted) -> Result<Study, Failure> {
        let config = Config::load(&place::config_folder()?)?;
        let place = place::find(global.one_vault()?, &config)?;
        let models = models(&config, wanted.model.as_deref())?;
        let foreign = foreign::open(&config, &place, None)?;
        let registry = tools::table::all();
        tools::table::add_foreign(&registry, &foreign);
        let sessions = Sessions::open(&place.data.join(STATE)).map_err(failed)?;
        let cast: Arc<dyn Cast> = Arc::new(crate::chat::cast::open(&place)?);
        let offered = Offered {
            flagship: models.of_tier(Tier::Flagship).is_some(),
            skills: !cast.skills().is_empty(),
            person: wanted.person,
        };
        tools::table::add_conversation(&registry, offered);
        let road = build_road_with(&place, registry)?;
        embedding::attach(road.vault(), &config, Effort::All)?;
        let mind = Mind {
            road: Arc::new(road),
            models,
            sessions,
            cast,
            world: Box::new(RealWorld),
            limits: wanted.limits.unwrap_or(config.chat.limits),
            reach: config.limits.clone(),
            condense_at: config.chat.condense_at.unwrap_or(80),
            usual_window: USUAL_WINDOW,
            holder: state::holder::this_process(),
        };
        Ok(Study { mind: Arc::new(mind), config, place, foreign })
    }

    /// The agent that speaks when none is named.
    pub fn agent(&self) -> &str {
        self.config.chat.agent.as_deref().unwrap_or("agent")
    }

    /// The model that answers when none is named; without one, how to get one.
    pub fn model(&self) -> Result<&str, Failure> {
        self.mind.models.of_tier(Tier::Main).ok_or_else(no_model)
    }
}

/// Two lines that say how to connect a model.
pub fn no_model() -> Failure {
    Failure::new(
        Exit::Failed,
        "no_model",
        "no model is connected",
        "with a key: export ANTHROPIC_API_KEY=… and put [models] main = \"anthropic@claude-sonnet-4-5\" into config.toml; \
         without one: start Ollama and use --model ollama@NAME",
    )
}

/// The models of `config.toml`, and the one that was named for this run.
pub fn models(config: &Config, named: Option<&str>) -> Result<Models, Failure> {
    let mut models = Models::default();
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
        models.tier(Tier::Main, &name);
    }
    Ok(models)
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
    let script = Script::parse(name, &text)
        .map_err(|error| Failure::new(Exit::Failed, "script_invalid", error.to_string(), error.hint()))?;
    models.add(Arc::new(script));
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
