//! `spawn_agent`: up to ten children at once, each with its own task, role and limits.

use std::collections::BTreeSet;

use pipeline::plan::{Child, Role};
use pipeline::refusal::nearest;
use pipeline::{Control, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::words::{invalid, said, said_or_not, slug};

const MOST: usize = 10;
const LONGEST_NAME: usize = 64;
const LONGEST_TASK: usize = 16_384;
const LONGEST_CONTEXT: usize = 32_000;
const LONGEST_MODEL: usize = 100;
const MOST_TURNS: u32 = 50;
const MOST_SECONDS: u64 = 3_600;
const MOST_DOLLARS: f64 = 50.0;

/// The tool.
pub struct SpawnAgent;

/// Give parts of the work to children that run at the same time; their results come back together. Each knows only
/// what you tell it, and may do no more than you.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The children, up to 10.
    agents: Vec<One>,
}

/// A child.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct One {
    /// What to call it.
    name: String,
    /// What it shall do.
    task: String,
    /// What it should know beforehand.
    context: Option<String>,
    /// Which agent; else like you.
    agent: Option<String>,
    /// What it is for.
    role: Option<Role>,
    /// A model, an alias or a tier: `fast`, `balanced`, `deep`.
    model: Option<String>,
    /// At most these tools.
    tools: Option<Vec<String>>,
    /// More words about who it is.
    system_prompt: Option<String>,
    /// Rounds, 1 to 50.
    max_turns: Option<u32>,
    /// Tokens in all.
    max_tokens: Option<u64>,
    /// US dollars, up to 50.
    max_budget_usd: Option<f64>,
    /// Seconds, 1 to 3600.
    max_seconds: Option<u64>,
    /// Whether it knows nothing of what is remembered.
    #[serde(default)]
    isolated_memory: bool,
}

impl Tool for SpawnAgent {
    const SPEC: Spec = Spec::new("spawn_agent", Group::Agent, Effect::Steers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let count = input.agents.len();
        if count == 0 || count > MOST {
            let what = format!("are {count}, and there may be 1 to {MOST}");
            return Err(invalid("agents", &what, "split the work differently"));
        }
        let known: BTreeSet<String> =
            view.tools().into_iter().map(|tool| tool.spec.name.into_owned()).collect();
        let mut names = BTreeSet::new();
        let mut children = Vec::new();
        for (at, one) in input.agents.into_iter().enumerate() {
            let child = child(&format!("agents[{at}]"), one, &known)?;
            // The results are told apart by their names.
            if !names.insert(child.name.clone()) {
                let what = format!("has the name `{}` of another", child.name);
                return Err(invalid(&format!("agents[{at}].name"), &what, "give each its own name"));
            }
            children.push(child);
        }
        let names: Vec<&str> = children.iter().map(|child| child.name.as_str()).collect();
        let output = Output::new(format!("hand parts to {}", names.join(", ")), json!({ "children": names }));
        Ok(Plan::Steer(Control::Spawn { children }, output))
    }
}

fn child(at: &str, one: One, known: &BTreeSet<String>) -> Result<Child, Refusal> {
    let field = |name: &str| format!("{at}.{name}");
    let name = said(&field("name"), &one.name, LONGEST_NAME)?;
    if name.chars().any(char::is_control) {
        return Err(invalid(&field("name"), "holds control characters", "use plain words"));
    }
    if let Some(tools) = &one.tools {
        check_tools(&field("tools"), tools, known)?;
    }
    within(&field("max_turns"), one.max_turns.map(u64::from), 1, u64::from(MOST_TURNS))?;
    within(&field("max_tokens"), one.max_tokens, 1, u64::MAX)?;
    within(&field("max_seconds"), one.max_seconds, 1, MOST_SECONDS)?;
    // Written so that NaN does not fit either.
    if one.max_budget_usd.is_some_and(|dollars| !(dollars > 0.0 && dollars <= MOST_DOLLARS)) {
        return Err(invalid(
            &field("max_budget_usd"),
            "must be above 0 and at most 50",
            "give another limit",
        ));
    }
    Ok(Child {
        name,
        task: said(&field("task"), &one.task, LONGEST_TASK)?,
        context: said_or_not(&field("context"), one.context.as_deref(), LONGEST_CONTEXT)?,
        agent: one.agent.as_deref().map(|agent| slug(&field("agent"), agent)).transpose()?,
        role: one.role,
        model: said_or_not(&field("model"), one.model.as_deref(), LONGEST_MODEL)?,
        tools: one.tools,
        instructions: said_or_not(&field("system_prompt"), one.system_prompt.as_deref(), LONGEST_TASK)?,
        turns: one.max_turns,
        tokens: one.max_tokens,
        dollars: one.max_budget_usd,
        seconds: one.max_seconds,
        isolated: one.isolated_memory,
    })
}

/// A misspelt name would silently take a tool away, so it is an error.
fn check_tools(field: &str, tools: &[String], known: &BTreeSet<String>) -> Result<(), Refusal> {
    let Some(unknown) = tools.iter().find(|tool| !known.contains(*tool)) else { return Ok(()) };
    let unknown: String = unknown.chars().take(LONGEST_NAME).collect();
    let hint = match nearest(&unknown, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "name tools that you may call yourself".to_owned(),
    };
    Err(invalid(field, &format!("names `{unknown}`, which is no tool of yours"), &hint))
}

fn within(field: &str, value: Option<u64>, least: u64, most: u64) -> Result<(), Refusal> {
    match value.is_none_or(|value| (least..=most).contains(&value)) {
        true => Ok(()),
        false if most == u64::MAX => {
            Err(invalid(field, &format!("must be {least} or more"), "give another limit"))
        }
        false => Err(invalid(field, &format!("must be {least} to {most}"), "give another limit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tests::{control, told};
    use serde_json::Value;

    fn one(more: Value) -> Value {
        let mut child = json!({"name": "a", "task": "t"});
        for (key, value) in more.as_object().unwrap() {
            child[key] = value.clone();
        }
        json!({"agents": [child]})
    }

    #[test]
    fn children_carry_all_that_was_said_about_them() {
        let input = one(json!({"context": "c", "agent": "reader", "role": "researcher", "model": "fast",
            "tools": ["spawn_agent"], "system_prompt": "be brief", "max_turns": 50, "max_tokens": 1000,
            "max_budget_usd": 0.5, "max_seconds": 60, "isolated_memory": true}));
        let Control::Spawn { children } = control(SpawnAgent, input) else { panic!() };
        let expected = Child {
            name: "a".into(),
            task: "t".into(),
            context: Some("c".into()),
            agent: Some("reader".into()),
            role: Some(Role::Researcher),
            model: Some("fast".into()),
            tools: Some(vec!["spawn_agent".into()]),
            instructions: Some("be brief".into()),
            turns: Some(50),
            tokens: Some(1_000),
            dollars: Some(0.5),
            seconds: Some(60),
            isolated: true,
        };
        assert_eq!(children, [expected]);
    }

    #[test]
    fn what_is_beyond_a_limit_is_refused_by_its_field() {
        for (input, expected) in [
            (json!({"agents": []}), "`agents` are 0"),
            (json!({"agents": vec![json!({"name": "a", "task": "t"}); 11]}), "`agents` are 11"),
            (
                json!({"agents": vec![json!({"name": "a", "task": "t"}); 2]}),
                "`agents[1].name` has the name `a`",
            ),
            (one(json!({"name": ""})), "`agents[0].name` is empty"),
            (one(json!({"name": "x".repeat(65)})), "`agents[0].name` is longer"),
            (one(json!({"name": "a\u{7}b"})), "`agents[0].name` holds control"),
            (one(json!({"task": "x".repeat(16_385)})), "`agents[0].task` is longer"),
            (one(json!({"max_turns": 0})), "`agents[0].max_turns` must be 1 to 50"),
            (one(json!({"max_turns": 51})), "`agents[0].max_turns` must be 1 to 50"),
            (one(json!({"max_tokens": 0})), "`agents[0].max_tokens` must be 1 or more"),
            (one(json!({"max_budget_usd": 0})), "`agents[0].max_budget_usd` must be"),
            (one(json!({"max_budget_usd": 50.01})), "`agents[0].max_budget_usd` must be"),
            (one(json!({"max_seconds": 3601})), "`agents[0].max_seconds` must be 1 to 3600"),
            (one(json!({"role": "king"})), "unknown variant `king`"),
            (one(json!({"tools": ["spawn_agnet"]})), "did you mean `spawn_agent`?"),
            (one(json!({"tools": ["bash"]})), "`agents[0].tools` names `bash`"),
        ] {
            let told = told(SpawnAgent, input);
            assert!(told.starts_with("refused: input_invalid") && told.contains(expected), "{told}");
        }
    }

    #[test]
    fn no_tools_is_another_thing_than_not_said() {
        let tools = |more: Value| {
            let Control::Spawn { children } = control(SpawnAgent, one(more)) else { panic!() };
            children[0].tools.clone()
        };
        assert_eq!(tools(json!({"tools": []})), Some(vec![]));
        assert_eq!(tools(json!({})), None);
    }
}
