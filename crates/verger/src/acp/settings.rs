//! What the person can choose for a conversation in the editor: who speaks, which model answers, which commands there are.

use agent::{Cast, Mind};
use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandsUpdate, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOption, SessionMode, SessionModeState, SessionUpdate,
};

use crate::config::Config;
use crate::talks;

/// The option by which another agent is chosen.
pub const AGENT: &str = "mode";
/// The option by which another model is chosen.
pub const MODEL: &str = "model";

/// A command of Verger's own, typed as `/name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Go on with a turn that was left half way.
    Continue,
    /// Take back what the newest turn changed.
    Undo,
    /// Say who speaks, with which model, and what it has cost.
    Status,
}

/// The commands, and what the person reads about them.
const ORDERS: [(&str, Order, &str); 3] = [
    ("continue", Order::Continue, "Go on with a turn that was left half way"),
    ("undo", Order::Undo, "Take back what the newest turn changed; the diff is shown first"),
    ("status", Order::Status, "Who speaks, which model answers, what it has cost"),
];

/// The command that a text is, if it is nothing else.
pub fn order(text: &str) -> Option<Order> {
    let name = text.trim().strip_prefix('/')?;
    ORDERS.iter().find(|(known, ..)| *known == name).map(|(_, order, _)| *order)
}

/// The commands as an editor lists them.
pub fn commands() -> SessionUpdate {
    let command = |(name, _, about): &(&str, Order, &str)| AvailableCommand::new(*name, *about);
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(ORDERS.iter().map(command).collect()))
}

/// The agents as modes.
pub fn modes(cast: &dyn Cast, current: &str) -> SessionModeState {
    let mode = |slug: String| {
        let persona = cast.persona(&slug);
        SessionMode::new(slug, persona.name)
            .description(talks::about_agent(persona.rights.may_edit()).to_owned())
    };
    SessionModeState::new(current.to_owned(), cast.slugs().into_iter().map(mode).collect())
}

/// Agents and models as options. A client that knows options looks at nothing else, so the agents are here as well.
pub fn options(mind: &Mind, config: &Config, agent: &str, model: &str) -> Vec<SessionConfigOption> {
    let modes = modes(&*mind.cast, agent);
    let agents: Vec<SessionConfigSelectOption> = modes
        .available_modes
        .into_iter()
        .map(|mode| {
            let id = mode.id.0.to_string();
            SessionConfigSelectOption::new(id, mode.name).description(mode.description)
        })
        .collect();
    let mut options = vec![
        SessionConfigOption::select(AGENT, "Agent", agent.to_owned(), agents)
            .category(SessionConfigOptionCategory::Mode),
    ];
    let named = |name: String| SessionConfigSelectOption::new(name.clone(), name);
    let models: Vec<SessionConfigSelectOption> =
        talks::models(mind, config, model).into_iter().map(named).collect();
    if !models.is_empty() {
        options.push(
            SessionConfigOption::select(MODEL, "Model", model.to_owned(), models)
                .category(SessionConfigOptionCategory::Model),
        );
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_alone_is_a_command() {
        for (text, expected) in [
            ("/continue", Some(Order::Continue)),
            (" /undo\n", Some(Order::Undo)),
            ("/status", Some(Order::Status)),
            ("/undo the last thing", None),
            ("/nothing", None),
            ("undo", None),
        ] {
            assert_eq!(order(text), expected, "{text:?}");
        }
    }
}
