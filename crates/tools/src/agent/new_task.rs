//! `new_task`: one part of the work for a child that starts with a clean slate.

use pipeline::plan::{Child, Role};
use pipeline::{Control, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::words::{invalid, said, slug};

/// 8,000 tokens, at four characters each.
const LONGEST: usize = 32_000;
const LONGEST_REASON: usize = 1_000;
const SHORTEST_REASON: usize = 20;

/// The tool.
pub struct NewTask;

/// Give one part of the work to a child that knows only your message; its result comes back. Without `profile` say why.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// All that it needs to know, up to 8,000 tokens.
    message: String,
    /// Which agent; else like you. It never may do more than you.
    #[serde(alias = "mode")]
    agent: Option<String>,
    /// A child that only reads: `research` finds out with a fast model, `advisor` thinks with the strongest.
    profile: Option<Profile>,
    /// Why a child.
    justification_category: Option<Category>,
    /// Why, in 20 characters or more.
    justification_reason: Option<String>,
}

/// A child that only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Profile {
    Research,
    Advisor,
}

/// Why a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
enum Category {
    Parallel,
    Specialist,
    Escalation,
}

impl Tool for NewTask {
    const SPEC: Spec = Spec::new("new_task", Group::Agent, Effect::Steers);
    type Input = Input;
    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        let task = said("message", &input.message, LONGEST)?;
        let agent = input.agent.as_deref().map(|agent| slug("agent", agent)).transpose()?;
        if input.profile.is_none() {
            justified(input.justification_category, input.justification_reason.as_deref())?;
        }
        let child = child(task, agent, input.profile);
        let text = format!("hand a part to {}", child.name);
        let why = json!({ "category": input.justification_category, "reason": input.justification_reason });
        let output = Output::new(text, json!({ "child": child.name, "profile": input.profile, "why": why }));
        Ok(Plan::Steer(Control::Spawn { children: vec![child] }, output))
    }
}

fn child(task: String, agent: Option<String>, profile: Option<Profile>) -> Child {
    let (name, model, instructions) = match profile {
        Some(Profile::Research) => ("research", Some("fast"), Some("Find out and report; change nothing.")),
        Some(Profile::Advisor) => (
            "advisor",
            Some("flagship"),
            Some("Advise in at most 3,000 tokens: what is going on, what to do, what could go wrong."),
        ),
        None => (agent.as_deref().unwrap_or("task"), None, None),
    };
    Child {
        name: name.to_owned(),
        task,
        role: profile.map(|_| Role::Researcher),
        model: model.map(str::to_owned),
        instructions: instructions.map(str::to_owned),
        agent,
        ..Child::default()
    }
}

/// A child costs a conversation of its own, so a reason that says nothing is none.
fn justified(category: Option<Category>, reason: Option<&str>) -> Result<(), Refusal> {
    if category.is_none() {
        let hint = "give PARALLEL, SPECIALIST or ESCALATION, or a `profile`";
        return Err(invalid("justification_category", "is missing", hint));
    }
    let reason = reason.unwrap_or_default().trim();
    super::words::at_most("justification_reason", reason, LONGEST_REASON)?;
    let mut words: Vec<String> = reason.split_whitespace().map(str::to_lowercase).collect();
    words.sort();
    words.dedup();
    if reason.chars().count() < SHORTEST_REASON || words.len() < 3 {
        let what = format!("says too little ({SHORTEST_REASON} characters at least)");
        return Err(invalid(
            "justification_reason",
            &what,
            "say what the child does better than you, or do it yourself",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tests::{control, told};
    use serde_json::Value;

    fn spawned(input: Value) -> Child {
        let Control::Spawn { mut children } = control(NewTask, input) else { panic!() };
        assert_eq!(children.len(), 1);
        children.remove(0)
    }

    #[test]
    fn a_profile_reads_only_and_needs_no_reason() {
        let research = spawned(json!({"message": "find it", "profile": "research"}));
        assert_eq!((research.role, research.model.as_deref()), (Some(Role::Researcher), Some("fast")));
        let advisor = spawned(json!({"message": "think", "profile": "advisor", "agent": "reader"}));
        assert_eq!((advisor.role, advisor.model.as_deref()), (Some(Role::Researcher), Some("flagship")));
        assert_eq!(advisor.agent.as_deref(), Some("reader"));
    }

    #[test]
    fn without_a_profile_there_must_be_a_reason() {
        let reason = "two folders can be read at the same time";
        let child = spawned(json!({"message": "m", "mode": "writer", "justification_category": "PARALLEL",
                                   "justification_reason": reason}));
        assert_eq!(
            (child.name.as_str(), child.agent.as_deref(), child.role),
            ("writer", Some("writer"), None)
        );
        for (category, reason, field) in [
            (None, Some(reason), "`justification_category` is missing"),
            (Some("PARALLEL"), None, "`justification_reason` says too little"),
            (Some("PARALLEL"), Some("needed"), "`justification_reason` says too little"),
            (Some("PARALLEL"), Some("needed needed needed needed"), "`justification_reason` says too little"),
            (Some("BECAUSE"), Some(reason), "unknown variant `BECAUSE`"),
        ] {
            let input =
                json!({"message": "m", "justification_category": category, "justification_reason": reason});
            let told = told(NewTask, input);
            assert!(told.contains(field), "{told}");
        }
    }

    #[test]
    fn a_message_of_more_than_eight_thousand_tokens_is_refused() {
        let told_long = told(NewTask, json!({"message": "x".repeat(LONGEST + 1), "profile": "research"}));
        assert!(told_long.contains("`message` is longer than 32000"), "{told_long}");
        spawned(json!({"message": "x".repeat(LONGEST), "profile": "research"}));
        assert!(told(NewTask, json!({"message": "", "profile": "research"})).contains("`message` is empty"));
    }
}
