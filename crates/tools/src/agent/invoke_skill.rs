//! `invoke_skill`: a child does what a skill says, with the tools that the skill names.

use pipeline::{Control, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::words::{at_most, invalid, slug};

const LONGEST: usize = 16_384;
const MOST_TURNS: u32 = 25;

/// The tool.
pub struct InvokeSkill;

/// Let a child do what a listed skill says, with that skill's tools; its result comes back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The skill's name.
    #[serde(alias = "name")]
    skill_name: String,
    /// What to do with it.
    #[serde(default)]
    args: String,
    /// Rounds, 1 to 25.
    #[serde(default = "turns")]
    max_iterations: u32,
}

fn turns() -> u32 {
    12
}

impl Tool for InvokeSkill {
    const SPEC: Spec = Spec::new("invoke_skill", Group::Skill, Effect::Steers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        let name = slug("skill_name", &input.skill_name)?;
        at_most("args", &input.args, LONGEST)?;
        if !(1..=MOST_TURNS).contains(&input.max_iterations) {
            return Err(invalid("max_iterations", "must be 1 to 25", "give another limit"));
        }
        let output = Output::new(format!("run the skill {name}"), json!({ "name": name }));
        let turns = Some(input.max_iterations);
        Ok(Plan::Steer(Control::RunSkill { name, arguments: input.args.trim().to_owned(), turns }, output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tests::{control, told};

    #[test]
    fn a_skill_runs_twelve_rounds_unless_told_otherwise_and_never_more_than_25() {
        let expected = Control::RunSkill { name: "tidy".into(), arguments: "Inbox".into(), turns: Some(12) };
        assert_eq!(control(InvokeSkill, json!({"skill_name": "tidy", "args": "Inbox "})), expected);
        for rounds in [0, 26] {
            let told = told(InvokeSkill, json!({"skill_name": "tidy", "max_iterations": rounds}));
            assert!(told.contains("`max_iterations` must be 1 to 25"), "{told}");
        }
    }
}
