//! `ask_user`: one question for the person, or several at once. The loop waits for the answer.

use pipeline::plan::Asked;
use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;

use super::question::{ask, checked};
use super::words::invalid;

const MOST: usize = 20;

/// The tool.
pub struct AskUser;

/// Ask the user and wait for the answer. Only for what you cannot find out yourself. Give `question` or `questions`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The question.
    question: Option<String>,
    /// Several at once instead, up to 20.
    questions: Option<Vec<One>>,
    /// Answers to choose from, 2 to 5 at best.
    #[serde(default)]
    options: Vec<String>,
    /// Whether several options may be chosen.
    #[serde(default)]
    multi_select: bool,
    /// Whether another answer than the options is welcome.
    #[serde(default)]
    allow_free_text: bool,
}

/// One of several questions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    /// The question.
    question: String,
    /// A word or two that name it.
    header: Option<String>,
    /// Answers to choose from.
    #[serde(default)]
    options: Vec<String>,
}

impl Tool for AskUser {
    const SPEC: Spec = Spec::new("ask_user", Group::Agent, Effect::Steers);
    type Input = Input;
    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        let questions = match (input.question, input.questions) {
            (Some(question), None) => vec![checked(
                "question",
                Asked {
                    question,
                    header: None,
                    options: input.options,
                    several: input.multi_select,
                    free_text: input.allow_free_text,
                },
            )?],
            (None, Some(questions)) => {
                if !input.options.is_empty() || input.multi_select {
                    return Err(invalid(
                        "options",
                        "and `multi_select` go with one `question` only",
                        "give each of the `questions` its own options",
                    ));
                }
                several(questions, input.allow_free_text)?
            }
            (None, None) => {
                return Err(invalid("question", "is missing", "give `question`, or `questions` for several"));
            }
            (Some(_), Some(_)) => {
                return Err(invalid("question", "and `questions` were both given", "give one of them"));
            }
        };
        Ok(ask(questions))
    }
}

fn several(questions: Vec<One>, free_text: bool) -> Result<Vec<Asked>, Refusal> {
    if questions.is_empty() || questions.len() > MOST {
        let what = format!("are {}, and there may be 1 to {MOST}", questions.len());
        return Err(invalid("questions", &what, "ask the ones that matter now"));
    }
    let each = questions.into_iter().enumerate().map(|(at, one)| {
        let asked = Asked {
            question: one.question,
            header: one.header,
            options: one.options,
            several: false,
            free_text,
        };
        checked(&format!("questions[{at}]"), asked)
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::json;

    #[test]
    fn a_question_is_shown_with_its_options() {
        let v = "a.md: x";
        check(AskUser, v, json!({"question": " Which year? "}), expect!["Which year?"]);
        check(
            AskUser,
            v,
            json!({"question": "Which?", "options": ["a", "b"], "multi_select": true, "allow_free_text": true}),
            expect![[r#"
                Which?
                  1. a
                  2. b
                  (several, or an answer of your own)"#]],
        );
        check(
            AskUser,
            v,
            json!({"questions": [{"question": "Who?", "header": "Name"}, {"question": "When?", "options": ["now"]}]}),
            expect![[r#"
                [Name] Who?
                When?
                  1. now"#]],
        );
    }

    #[test]
    fn a_refusal_names_the_field_that_is_wrong() {
        let many: Vec<_> = (0..21).map(|_| json!({"question": "?"})).collect();
        for (input, field) in [
            (json!({}), "`question` is missing"),
            (json!({"question": "  "}), "`question` is empty"),
            (json!({"question": "a", "questions": []}), "`question` and `questions`"),
            (json!({"questions": []}), "`questions` are 0"),
            (json!({"questions": many}), "`questions` are 21"),
            (json!({"questions": [{"question": "a"}, {"question": ""}]}), "`questions[1]` is empty"),
            (json!({"questions": [{"question": "a"}], "multi_select": true}), "go with one `question` only"),
            (json!({"question": "a", "multi_select": true}), "`multi_select` needs options"),
            (json!({"question": "a", "options": ["x", "x "]}), "hold `x` twice"),
            (json!({"question": "a", "options": "x"}), "expected a sequence"),
            (json!({"question": "é".repeat(2_001)}), "`question` is longer than 2000 characters"),
        ] {
            let told = crate::agent::tests::told(AskUser, input);
            assert!(told.starts_with("refused: input_invalid") && told.contains(field), "{told}");
        }
    }
}
