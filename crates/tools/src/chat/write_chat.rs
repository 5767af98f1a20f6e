//! `write_chat`: an answer, written into a chat note step by step. Called by Verger itself, never by a model.
//!
//! Each call reads the note anew and replaces the answer alone, so what somebody types elsewhere in the note meanwhile stays.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::edit::chat_note::grow::{self, Growing, Grown};
use vault::{Change, VaultPath};

/// The tool.
pub struct WriteChat;

/// Write an answer into a chat note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the note.
    path: VaultPath,
    /// What to write.
    step: Step,
    /// The answer as the step before left it.
    #[serde(default)]
    growing: Value,
    /// The level of the headings.
    #[serde(default = "three")]
    level: u8,
    /// The model's name, for its heading.
    #[serde(default)]
    model: String,
    /// The whole answer as far as it is known.
    #[serde(default)]
    content: String,
    /// What was not written before somebody edited the answer.
    #[serde(default)]
    rest: String,
}

fn three() -> u8 {
    3
}

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// The opening of an answer.
    Begin,
    /// More of it.
    Grow,
    /// The last of it.
    End,
    /// The last of it, and a heading for the user's next message.
    EndWithUser,
    /// What is left of an answer that somebody has edited.
    Rest,
    /// The same, and a heading for the user's next message.
    RestWithUser,
}

impl Tool for WriteChat {
    const SPEC: Spec = Spec::new("write_chat", Group::Edit, Effect::Edits);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let text = view.text(&input.path)?;
        let user = matches!(input.step, Step::EndWithUser | Step::RestWithUser).then_some(input.level);
        if input.step == Step::Begin {
            // There was a question a moment ago: another program is just writing the note.
            if text.trim().is_empty() {
                return Err(vault::Error::Stale { path: input.path }.into());
            }
            let grown = grow::begin(&text, &input.model, input.level);
            return Ok(edit(&input.path, text, grown));
        }
        let growing: Growing = serde_json::from_value(input.growing).map_err(|error| {
            Refusal::new("input_invalid", format!("`growing` does not fit: {error}"), "begin the answer anew")
        })?;
        let grown = match input.step {
            Step::Begin | Step::Grow => grow::grow(&text, &growing, &input.content),
            Step::End | Step::EndWithUser => grow::end(&text, &growing, &input.content, user),
            Step::Rest | Step::RestWithUser => {
                let text = grow::rest(&text, &growing, &input.rest, &input.content, user);
                Some(Grown { text, growing })
            }
        };
        match grown {
            Some(grown) => Ok(edit(&input.path, text, grown)),
            None => Err(Refusal::new(
                "answer_edited",
                format!("somebody has edited the answer in `{}`", input.path),
                "what they made of it stays; the rest comes behind it",
            )
            .with("version", vault::note::outline::version(&text))),
        }
    }
}

fn edit(path: &VaultPath, before: String, grown: Grown) -> Plan {
    let output = Output::new("written", json!({ "growing": grown.growing }));
    if before == grown.text {
        return Plan::Answer(output);
    }
    let change = Change::replace(path.clone(), before, grown.text);
    Plan::edit(vec![change], format!("write the answer into {path}"), output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn the_opening_of_an_answer_stands_under_the_question() {
        check(
            WriteChat,
            "a.md: Hi\n",
            json!({"path": "a.md", "step": "begin", "model": "x@y"}),
            expect![[r##"
                written
                ~ a.md (3 -> 101 bytes)
                 Hi
                +
                +<hr class="__chatgpt_plugin">
                +
                +### role::assistant<span style="font-size: small;"> (x@y)</span>
                +
            "##]],
        );
    }

    #[test]
    fn an_answer_that_is_not_there_as_it_was_is_not_touched() {
        let growing = json!({"opening": "<hr>", "written": "x", "earlier": [], "start": 0, "from_end": 0});
        check(
            WriteChat,
            "a.md: Hi\n",
            json!({"path": "a.md", "step": "grow", "content": "xy", "growing": growing}),
            expect![
                "refused: answer_edited: somebody has edited the answer in `a.md`. what they made of it stays; the rest comes behind it"
            ],
        );
    }
}
