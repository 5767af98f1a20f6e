//! `read_skill`: the text of a skill. The loop has it, because whether a skill is trusted is no business of a tool.

use pipeline::{Control, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::words::slug;

/// The tool.
pub struct ReadSkill;

/// Read a listed skill before you do what it is for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name.
    name: String,
}

impl Tool for ReadSkill {
    const SPEC: Spec = Spec::new("read_skill", Group::Agent, Effect::Steers);
    type Input = Input;
    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        let name = slug("name", &input.name)?;
        let output = Output::new(format!("read the skill {name}"), json!({ "name": name }));
        Ok(Plan::Steer(Control::ReadSkill { name }, output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tests::{control, told};

    #[test]
    fn the_name_is_handed_on_and_a_path_is_no_name() {
        assert_eq!(
            control(ReadSkill, json!({"name": "tidy-up"})),
            Control::ReadSkill { name: "tidy-up".into() }
        );
        for name in ["../tidy", "Tidy", "a/b", ""] {
            assert!(told(ReadSkill, json!({ "name": name })).contains("`name` is no name"));
        }
    }
}
