//! `update_todo_list`: what is to be done, as Markdown lines; the whole list each time.

use pipeline::plan::{TodoItem, TodoState};
use pipeline::{Control, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::words::{invalid, said};

const MOST: usize = 200;
const LONGEST: usize = 500;

/// The tool.
pub struct UpdateTodoList;

/// Show the user the steps of a longer task. Give the whole list each time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// One line for each step: `- [ ] open`, `- [~] begun`, `- [x] done`.
    todos: String,
}

impl Tool for UpdateTodoList {
    const SPEC: Spec = Spec::new("update_todo_list", Group::Agent, Effect::Steers);
    type Input = Input;
    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        let mut items = Vec::new();
        for (at, line) in input.todos.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if items.len() == MOST {
                return Err(invalid(
                    "todos",
                    &format!("has more than {MOST} items"),
                    "keep to the main steps",
                ));
            }
            items.push(item(at + 1, line)?);
        }
        let done = items.iter().filter(|item| item.state == TodoState::Done).count();
        let text = format!("{done} of {} done", items.len());
        let output = Output::new(text, json!({ "items": items }));
        Ok(Plan::Steer(Control::Todo { items }, output))
    }
}

fn item(number: usize, line: &str) -> Result<TodoItem, Refusal> {
    let wrong = || {
        let what = format!("has no item in line {number}");
        invalid("todos", &what, "write each line as `- [ ] text`, `- [~] text` or `- [x] text`")
    };
    let rest = line.trim_start().strip_prefix(['-', '*', '+']).ok_or_else(wrong)?.trim_start();
    let (mark, text) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).ok_or_else(wrong)?;
    let state = match mark {
        "" | " " => TodoState::Open,
        "~" | "/" => TodoState::Begun,
        "x" | "X" => TodoState::Done,
        _ => return Err(wrong()),
    };
    Ok(TodoItem { text: said(&format!("todos, line {number}"), text, LONGEST)?, state })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tests::{control, told};

    #[test]
    fn each_line_becomes_an_item_with_its_state() {
        let todos = "- [ ] look\r\n\n  * [~] move [[a]]\n- [X] count\n";
        let Control::Todo { items } = control(UpdateTodoList, json!({ "todos": todos })) else { panic!() };
        let item = |text: &str, state| TodoItem { text: text.to_owned(), state };
        let expected = [
            item("look", TodoState::Open),
            item("move [[a]]", TodoState::Begun),
            item("count", TodoState::Done),
        ];
        assert_eq!(items, expected);
        assert_eq!(told(UpdateTodoList, json!({ "todos": todos })), "1 of 3 done");
    }

    #[test]
    fn an_empty_text_empties_the_list() {
        assert_eq!(control(UpdateTodoList, json!({"todos": "\n"})), Control::Todo { items: vec![] });
    }

    #[test]
    fn a_line_that_is_no_item_is_named() {
        for todos in ["- [ ] a\n\nsome prose", "- [ ] a\n\n- [?] b", "- [ ] a\n\n- b"] {
            let told = told(UpdateTodoList, json!({ "todos": todos }));
            assert!(told.contains("has no item in line 3"), "{told}");
        }
        let told_empty = told(UpdateTodoList, json!({"todos": "- [ ]  "}));
        assert!(told_empty.contains("line 1` is empty"), "{told_empty}");
        let many = "- [ ] a\n".repeat(MOST + 1);
        assert!(told(UpdateTodoList, json!({ "todos": many })).contains("more than 200"));
    }
}
