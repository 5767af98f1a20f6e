//! `attempt_completion`: the work is done. What else was called in the same reply is not carried out any more.

use pipeline::{Control, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::words::said;

const LONGEST: usize = 100_000;

/// The tool.
pub struct AttemptCompletion;

/// End the task with its result, once all is done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What came of it, for the user.
    result: String,
}

impl Tool for AttemptCompletion {
    const SPEC: Spec = Spec::new("attempt_completion", Group::Agent, Effect::Steers);
    type Input = Input;
    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        let result = said("result", &input.result, LONGEST)?;
        let output = Output::new(result.clone(), json!({ "result": result }));
        Ok(Plan::Steer(Control::Complete { result }, output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn the_result_is_told_and_an_empty_one_is_refused() {
        check(AttemptCompletion, "a.md: x", json!({"result": "moved 3 notes\n"}), expect!["moved 3 notes"]);
        check(
            AttemptCompletion,
            "a.md: x",
            json!({"result": " \n"}),
            expect!["refused: input_invalid: `result` is empty. say it in words"],
        );
    }
}
