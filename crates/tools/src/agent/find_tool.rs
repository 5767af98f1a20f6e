//! `find_tool`: deferred tools by what they do. It returns their schemas and makes them callable for the task.

mod score;

use pipeline::registry::Listing;
use pipeline::{Control, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::page::{clip, first_few};
use score::Query;

/// How many tools are made callable at once.
const MOST: usize = 5;
/// Characters of one schema at most; a foreign tool could bring any.
const LONGEST_SCHEMA: usize = 8_000;
const LONGEST_DESCRIPTION: usize = 1_000;

/// The tool.
pub struct FindTool;

/// Find tools that are not listed with their schema, by name or by what they do. Up to five that fit are returned with
/// their schema and can be called from then on in this task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// A tool's name, or words for what it should do, e.g. `backlinks of a note`.
    pub(crate) query: String,
}

impl Tool for FindTool {
    const SPEC: Spec = Spec::new("find_tool", Group::Agent, Effect::Steers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        // Only what this agent may call: a tool that is announced and then refused is worse than none.
        let tools = view.tools();
        let query = Query::new(&input.query);
        let mut found: Vec<(u32, &Listing)> = tools
            .iter()
            .filter(|tool| tool.spec.deferred)
            .filter_map(|tool| Some((query.score(tool)?, tool)))
            .collect();
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.spec.name.cmp(&b.1.spec.name)));
        found.truncate(MOST);
        if found.is_empty() {
            return Ok(nothing(&input.query, &tools));
        }
        let found: Vec<&Listing> = found.into_iter().map(|(_, tool)| tool).collect();
        let names: Vec<String> = found.iter().map(|tool| tool.spec.name.to_string()).collect();
        Ok(Plan::Steer(Control::Activate { tools: names }, show(&found)))
    }
}

fn show(found: &[&Listing]) -> Output {
    let mut text = "These tools can be called now:".to_owned();
    let mut data = Vec::new();
    for tool in found {
        let schema = tool.schema.to_string();
        let fits = schema.len() <= LONGEST_SCHEMA;
        let description = clip(&tool.description, LONGEST_DESCRIPTION);
        let shown = if fits { schema } else { format!("(too long to show: {} bytes)", schema.len()) };
        text += &format!("\n\n{}: {description}\nInput schema: {shown}", tool.spec.name);
        let schema = if fits { tool.schema.clone() } else { Value::Null };
        data.push(json!({ "name": tool.spec.name, "description": description, "schema": schema }));
    }
    let output = Output::new(text, json!({ "tools": data }));
    // The words about a foreign tool are not ours.
    match found.iter().any(|tool| tool.spec.group == Group::Mcp) {
        true => output.from_outside("descriptions of foreign tools"),
        false => output,
    }
}

fn nothing(query: &str, tools: &[Listing]) -> Plan {
    let listed = tools.iter().find(|tool| !tool.spec.deferred && tool.spec.name == query.trim());
    if let Some(tool) = listed {
        let name = &tool.spec.name;
        return Plan::answer(format!("`{name}` is listed already; call it"), json!({ "tools": [] }));
    }
    let deferred: Vec<&str> =
        tools.iter().filter(|tool| tool.spec.deferred).map(|tool| tool.spec.name.as_ref()).collect();
    let text = match deferred.is_empty() {
        true => "there are no deferred tools for you; all that you may call are listed".to_owned(),
        false => format!("no deferred tool fits. There are: {}", first_few(&deferred, 200)),
    };
    let names: Vec<&&str> = deferred.iter().take(200).collect();
    Plan::answer(text, json!({ "tools": [], "deferred": names }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::approve::Nobody;
    use pipeline::testing::{Rig, check, show};
    use pipeline::{Outcome, Rights};

    /// The names found for a query among all tools, in order.
    #[track_caller]
    fn found(rig: &Rig, query: &str) -> Vec<String> {
        match rig.call("find_tool", json!({"query": query}), &Nobody) {
            Outcome::Steered(Control::Activate { tools }, _) => tools,
            other => vec![show(&other)],
        }
    }

    #[test]
    fn a_tool_is_found_by_its_name_its_words_and_what_people_call_it() {
        for (query, expected) in [
            ("list_checkpoints", "list_checkpoints"),
            ("list checkpoints", "list_checkpoints"),
            ("vault stats", "get_vault_stats"),
            ("how many notes are there", "get_vault_stats"),
            ("backlinks", "get_linked_notes"),
            ("which notes link here", "get_linked_notes"),
            ("today's journal", "get_daily_note"),
            ("search by hashtag", "search_by_tag"),
            ("orphans", "vault_health_check"),
            ("broken links", "vault_health_check"),
            ("compare versions", "diff_checkpoint"),
        ] {
            let rig = Rig::new("a.md: x", crate::table::all());
            assert_eq!(found(&rig, query).first().map(String::as_str), Some(expected), "{query}");
        }
    }

    #[test]
    fn what_is_found_can_be_called_in_this_task_and_its_schema_is_told() {
        let rig = Rig::new("a.md: x", crate::table::all());
        let deferred = rig.call("get_vault_stats", json!({}), &Nobody);
        assert_eq!(deferred.refusal().map(|refusal| &*refusal.reason), Some("tool_deferred"));
        let told = show(&rig.call("find_tool", json!({"query": "get_vault_stats"}), &Nobody));
        assert!(
            told.contains("get_vault_stats: Count the vault") && told.contains("Input schema: {"),
            "{told}"
        );
        assert!(rig.call("get_vault_stats", json!({}), &Nobody).output().is_some());
    }

    #[test]
    fn a_tool_that_the_agent_may_not_call_is_not_found() {
        let mut rig = Rig::new("a.md: x", crate::table::all());
        rig.task.rights = Rights::groups([Group::Agent, Group::Vault]);
        let told = found(&rig, "list_checkpoints").join(" ");
        assert!(!told.contains("checkpoint"), "{told}");
    }

    #[test]
    fn at_most_five_are_made_callable() {
        let rig = Rig::new("a.md: x", crate::table::all());
        assert_eq!(found(&rig, "checkpoint note vault tag linked daily").len(), MOST);
    }

    #[test]
    fn when_nothing_fits_the_names_are_listed() {
        check(
            FindTool,
            "a.md: x",
            json!({"query": "find_tool"}),
            expect![[r#"`find_tool` is listed already; call it"#]],
        );
        check(
            FindTool,
            "a.md: x",
            json!({"query": "paint a picture"}),
            expect![[r#"there are no deferred tools for you; all that you may call are listed"#]],
        );
        let rig = Rig::new("a.md: x", crate::table::all());
        let told = found(&rig, "zzzz").join("");
        assert!(told.contains("get_vault_stats") && !told.contains("read_file"), "{told}");
    }
}
