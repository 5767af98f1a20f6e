//! `switch_agent`: another agent takes over the conversation. Whether it may is decided by the loop, which asks the
//! person where the other one may do more.

use pipeline::{Control, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::words::{said, slug};

const LONGEST: usize = 500;

/// The tool.
pub struct SwitchAgent;

/// Hand the conversation over to another agent. The user is asked where it may do more than you.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its slug, as listed.
    #[serde(alias = "mode_slug")]
    agent: String,
    /// Why.
    reason: String,
}

impl Tool for SwitchAgent {
    const SPEC: Spec = Spec::new("switch_agent", Group::Agent, Effect::Steers);
    type Input = Input;
    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        let agent = slug("agent", &input.agent)?;
        let reason = said("reason", &input.reason, LONGEST)?;
        let output = Output::new(format!("switch to {agent}: {reason}"), json!({ "agent": agent }));
        Ok(Plan::Steer(Control::SwitchAgent { agent, reason }, output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tests::{control, told};

    #[test]
    fn the_agent_and_the_reason_are_handed_on() {
        let expected = Control::SwitchAgent { agent: "writer".into(), reason: "to write".into() };
        for field in ["agent", "mode_slug"] {
            assert_eq!(control(SwitchAgent, json!({field: "writer", "reason": "to write "})), expected);
        }
    }

    #[test]
    fn what_is_no_slug_and_a_missing_reason_are_refused() {
        for agent in ["", "../x", "The Writer", "a\nb"] {
            let told = told(SwitchAgent, json!({"agent": agent, "reason": "x"}));
            assert!(told.contains("`agent` is no name"), "{told}");
        }
        assert!(told(SwitchAgent, json!({"agent": "a", "reason": ""})).contains("`reason` is empty"));
    }
}
