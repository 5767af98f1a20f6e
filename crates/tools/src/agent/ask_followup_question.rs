//! `ask_followup_question`: the name by which other assistants know `ask_user` with one question.

use pipeline::plan::Asked;
use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;

use super::question::{ask, checked};

/// The tool.
pub struct AskFollowupQuestion;

/// Ask the user one question and wait for the answer, like `ask_user`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The question.
    question: String,
    /// Answers to choose from; an answer of their own stays welcome.
    #[serde(default)]
    options: Vec<String>,
    /// Whether several options may be chosen.
    #[serde(default)]
    allow_multiple: bool,
}

impl Tool for AskFollowupQuestion {
    const SPEC: Spec = Spec::new("ask_followup_question", Group::Agent, Effect::Steers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        let Input { question, options, allow_multiple } = input;
        let asked = Asked { question, header: None, options, several: allow_multiple, free_text: true };
        Ok(ask(vec![checked("question", asked)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::json;

    #[test]
    fn one_question_is_asked_and_an_own_answer_is_welcome() {
        check(
            AskFollowupQuestion,
            "a.md: x",
            json!({"question": "Which?", "options": ["a"]}),
            expect![[r#"
                Which?
                  1. a
                  (or an answer of your own)"#]],
        );
        check(
            AskFollowupQuestion,
            "a.md: x",
            json!({"question": ""}),
            expect!["refused: input_invalid: `question` is empty. say it in words"],
        );
    }
}
