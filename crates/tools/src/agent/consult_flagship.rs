//! `consult_flagship`: the strongest model is asked for advice. It sees only what is written here.

use pipeline::{Control, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::words::{said, said_or_not};

/// The tool.
pub struct ConsultFlagship;

/// Ask the strongest model for advice when you are stuck. It sees only what you write here and changes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What is wrong, up to 1,500 characters.
    problem: String,
    /// What it should know, up to 3,000.
    relevant_context: Option<String>,
    /// What you tried, up to 1,500.
    failed_attempts: Option<String>,
    /// What must hold, up to 500.
    constraints: Option<String>,
}

impl Tool for ConsultFlagship {
    const SPEC: Spec = Spec::new("consult_flagship", Group::Agent, Effect::Steers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        let mut question = format!("# Problem\n{}", said("problem", &input.problem, 1_500)?);
        for (field, title, text, most) in [
            ("relevant_context", "Context", &input.relevant_context, 3_000),
            ("failed_attempts", "What was tried", &input.failed_attempts, 1_500),
            ("constraints", "Constraints", &input.constraints, 500),
        ] {
            if let Some(text) = said_or_not(field, text.as_deref(), most)? {
                question += &format!("\n\n# {title}\n{text}");
            }
        }
        let output = Output::new(question.clone(), json!({ "characters": question.chars().count() }));
        Ok(Plan::Steer(Control::Consult { question }, output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tests::told;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn the_question_holds_all_that_was_said() {
        check(
            ConsultFlagship,
            "a.md: x",
            json!({"problem": "p", "failed_attempts": "f", "constraints": " "}),
            expect![[r#"
                # Problem
                p

                # What was tried
                f"#]],
        );
    }

    #[test]
    fn each_part_has_its_own_limit() {
        for (field, most) in [
            ("problem", 1_500),
            ("relevant_context", 3_000),
            ("failed_attempts", 1_500),
            ("constraints", 500),
        ] {
            let mut input = json!({"problem": "p"});
            input[field] = json!("ü".repeat(most));
            assert!(told(ConsultFlagship, input.clone()).starts_with("# Problem"), "{field}");
            input[field] = json!("ü".repeat(most + 1));
            let told = told(ConsultFlagship, input);
            assert!(told.contains(&format!("`{field}` is longer than {most}")), "{told}");
        }
    }
}
