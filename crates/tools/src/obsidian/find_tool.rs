//! `obsidian_find_tool`: the tools of this surface that are not listed with their schema, by name or by what they do.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::FindTool as AgentFindTool;
use crate::agent::find_tool;

/// More tools, by name or purpose; what is found can be called from then on: obsidian_batch_edit (several edits, one undo),
/// obsidian_health_check, obsidian_history, obsidian_move_note (links follow), obsidian_periodic_note
/// (create daily, weekly … notes), obsidian_undo.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Name, or words for what it should do.
    query: String,
}

/// The tool.
pub struct FindTool;

impl Tool for FindTool {
    const SPEC: Spec = Spec::new("obsidian_find_tool", Group::Agent, Effect::Steers);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        AgentFindTool.plan(find_tool::Input { query: input.query }, view).await
    }
}

#[cfg(test)]
mod tests {
    use pipeline::Rights;
    use pipeline::approve::Nobody;
    use pipeline::testing::{Rig, show};
    use serde_json::json;

    use crate::table::obsidian;

    #[test]
    fn its_description_names_every_deferred_tool_and_no_other() {
        let tools = obsidian().list(&Rights::all());
        let finder = tools.iter().find(|tool| tool.spec.name == "obsidian_find_tool").unwrap();
        for tool in &tools {
            let named = finder.description.contains(&*tool.spec.name);
            assert_eq!(named, tool.spec.deferred, "{}", tool.spec.name);
        }
    }

    #[test]
    fn a_deferred_tool_is_refused_with_the_way_to_it_and_runs_once_it_was_found() {
        let rig = Rig::new("a.md: [[b]]\n--- b.md: x", obsidian());
        let call = |tool: &str, input| show(&rig.call(tool, input, &Nobody));
        let early = call("obsidian_history", json!({}));
        assert!(early.contains("tool_deferred") && early.contains("call obsidian_find_tool with"), "{early}");
        for (words, tool) in [
            ("history", "obsidian_history"),
            ("undo", "obsidian_undo"),
            ("rename a note", "obsidian_move_note"),
            ("create the weekly note", "obsidian_periodic_note"),
            ("several edits at once", "obsidian_batch_edit"),
            ("broken links", "obsidian_health_check"),
        ] {
            let found = call("obsidian_find_tool", json!({"query": words}));
            assert!(found.contains(&format!("\n{tool}: ")), "{words}: {found}");
        }
        let late = call("obsidian_history", json!({}));
        assert!(!late.contains("tool_deferred") && !late.contains("refused"), "{late}");
    }
}
