//! `read_result`: the next page of an answer that was too long.

use pipeline::results::PAGE;
use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// The tool.
pub struct ReadResult;

/// Read more of a long result of this task. The first page of it names the id and the offset to go on with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The result's id, e.g. `r1`.
    id: String,
    /// How many characters to pass over.
    #[serde(default)]
    offset: usize,
    /// Characters to read at most, up to 20,000.
    #[serde(default = "page")]
    limit: usize,
}

fn page() -> usize {
    PAGE
}

impl Tool for ReadResult {
    const SPEC: Spec = Spec::new("read_result", Group::Agent, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let page = view.results().read(&input.id, input.offset, input.limit)?;
        if page.offset >= page.total && page.total > 0 {
            return Err(Refusal::new(
                "offset_past_end",
                format!("the result has {} characters", page.total),
                "use a smaller offset",
            ));
        }
        let text = match page.next {
            Some(next) => format!(
                "{}\n[Characters {} to {next} of {}. The rest: read_result {}]",
                page.text,
                page.offset,
                page.total,
                json!({ "id": input.id, "offset": next }),
            ),
            None => page.text.clone(),
        };
        // What was kept may be a note or come from outside, and a later page has lost its wrapper. Whoever reviews answers has
        // seen the whole of it.
        Ok(Plan::Answer(Output::new(text, page).from_vault(format!("result {}", input.id)).telling_nothing()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use pipeline::Registry;
    use pipeline::approve::Nobody;
    use pipeline::testing::{Rig, show};
    use serde_json::Value;

    #[track_caller]
    fn check(input: Value, expected: Expect) {
        let registry = Registry::default();
        registry.add(ReadResult);
        let rig = Rig::new("a.md: x", registry);
        rig.task.results.keep("äöü and the rest");
        expected.assert_eq(&show(&rig.call("read_result", input, &Nobody)));
    }

    #[test]
    fn pages_are_turned_by_characters() {
        check(
            json!({"id": "r1", "limit": 3}),
            expect![[r#"
            äöü
            [Characters 0 to 3 of 16. The rest: read_result {"id":"r1","offset":3}]"#]],
        );
        check(json!({"id": "r1", "offset": 3}), expect![[r#" and the rest"#]]);
        check(
            json!({"id": "r1", "offset": 99}),
            expect![[r#"refused: offset_past_end: the result has 16 characters. use a smaller offset"#]],
        );
        check(
            json!({"id": "r2"}),
            expect![[
                r#"refused: result_missing: there is no kept result `r2` in this task. call the tool again; long results are kept for one task only"#
            ]],
        );
    }
}
