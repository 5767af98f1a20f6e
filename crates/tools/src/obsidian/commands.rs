//! `obsidian_list_commands` and `obsidian_execute_command`: what the app and its plugins can do. They are there only where
//! somebody enabled them, and running one is an action: the road asks, and what was read before counts.

use std::time::Duration;

use pipeline::plan::Leaves;
use pipeline::{Action, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::app::{App, TARGET};
use super::names;
use crate::page::{clip, count};

/// Commands of one answer at most.
const MOST: usize = 2_000;
/// The longest id that is sent.
const LONGEST: usize = 300;
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// List the commands of the running Obsidian and its plugins.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListInput {
    /// Only commands whose name matches.
    name_regex: Option<String>,
}

/// The tool.
pub struct ListCommands(pub App);

impl Tool for ListCommands {
    const SPEC: Spec = Spec::new("obsidian_list_commands", Group::Mcp, Effect::Answers);
    type Input = ListInput;

    async fn plan(&self, input: ListInput, _: &View<'_>) -> Result<Plan, Refusal> {
        let name = names::pattern(input.name_regex.as_deref())?;
        let mut commands = self.0.link()?.commands().await?;
        commands.retain(|command| name.as_ref().is_none_or(|name| name.is_match(&command.name)));
        commands.truncate(MOST);
        let mut text = count(commands.len(), "command");
        commands.iter().for_each(|command| text += &format!("\n{}: {}", command.id, command.name));
        let mut data = json!({ "commands": commands });
        if let Some(name) = name {
            data["appliedFilters"] = json!({ "nameRegex": name.as_str() });
        }
        Ok(Plan::Answer(Output::new(text, data).from_outside("commands of Obsidian and its plugins")))
    }
}

/// Run a command of the running Obsidian by its id.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecuteInput {
    /// Id from obsidian_list_commands.
    #[schemars(length(min = 1))]
    command_id: String,
}

/// The tool.
pub struct ExecuteCommand(pub App);

impl Tool for ExecuteCommand {
    const SPEC: Spec = Spec::new("obsidian_execute_command", Group::Mcp, Effect::Acts);
    type Input = ExecuteInput;

    async fn plan(&self, input: ExecuteInput, _: &View<'_>) -> Result<Plan, Refusal> {
        let id = input.command_id;
        if id.trim().is_empty() || id.len() > LONGEST {
            return Err(unknown(&id));
        }
        let link = self.0.link()?;
        // Only what the app itself names is sent to it.
        let known = link.commands().await?.into_iter().find(|command| command.id == id);
        let name = known.ok_or_else(|| unknown(&id))?.name;
        let summary = format!("run the command `{id}` ({}) in Obsidian", clip(&name, 100));
        // A command may publish or sync; nobody can tell from here.
        Ok(Plan::Act(Action::new(summary, TARGET, Leaves::Something, PATIENCE, move || async move {
            link.execute(id.clone()).await?;
            Ok(Output::new(format!("ran `{id}`"), json!({ "commandId": id, "executed": true })))
        })))
    }
}

fn unknown(id: &str) -> Refusal {
    Refusal::new(
        "command_unknown",
        format!("Obsidian has no command `{}`", clip(id, 100)),
        "use an id from obsidian_list_commands",
    )
}
