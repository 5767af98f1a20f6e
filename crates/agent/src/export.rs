//! A conversation as Markdown, for people: who said what, which tools were called and what they changed.

use std::fmt::Write as _;

use llm::chat::{CallInput, Message, Part, Role};
use serde_json::Value;

use crate::step::Step;

/// How much of a call's input is shown.
const INPUT: usize = 200;

/// The conversation of these steps as Markdown.
pub fn markdown(title: &str, steps: &[state::Step]) -> String {
    let mut page = format!("# {}\n", one_line(title));
    for step in steps.iter().filter_map(Step::read) {
        match &step {
            Step::Asked { parts, .. } => {
                let message = Message { role: Role::User, parts: parts.clone() };
                let pictures = parts.iter().filter(|part| matches!(part, Part::Image { .. })).count();
                let _ = write!(page, "\n## You\n\n{}\n", message.text().trim());
                if pictures > 0 {
                    let _ = writeln!(page, "\n*({pictures} pictures)*");
                }
            }
            Step::Added { text } => {
                let _ = write!(page, "\n## You, meanwhile\n\n{}\n", text.trim());
            }
            Step::Answered { message, model, .. } => answered(&mut page, message, model),
            Step::Ended { name, failed, checkpoint, text, .. } => {
                let _ = match (failed, checkpoint) {
                    (true, _) => writeln!(page, "- `{name}` failed: {}", clip(&one_line(text), INPUT)),
                    (false, Some(id)) => writeln!(page, "- `{name}` done, undo with `verger undo {id}`"),
                    (false, None) => writeln!(page, "- `{name}` answered"),
                };
            }
            Step::Condensed { before, after, .. } => {
                let _ =
                    writeln!(page, "\n*(made shorter here: about {before} tokens before, {after} after)*");
            }
            Step::Agent { slug } => {
                let _ = writeln!(page, "\n*(`{slug}` goes on)*");
            }
            Step::Model { name } => {
                let _ = writeln!(page, "\n*(the model is `{name}` from here)*");
            }
            Step::Over { how } if !how.is_done() => {
                let _ = writeln!(page, "\n*({})*", how.describe());
            }
            _ => {}
        }
    }
    page
}

fn answered(page: &mut String, message: &Message, model: &str) {
    let text = message.text();
    if !text.trim().is_empty() {
        let _ = write!(page, "\n## Verger ({model})\n\n{}\n", text.trim());
    }
    let mut calls = message.calls().peekable();
    if calls.peek().is_some() {
        page.push('\n');
    }
    for call in calls {
        let input = match &call.input {
            CallInput::Object(Value::Object(map)) if map.is_empty() => String::new(),
            CallInput::Object(value) => format!(" `{}`", clip(&value.to_string().replace('`', "'"), INPUT)),
            CallInput::Broken(_) => " (input not readable)".to_owned(),
        };
        let _ = writeln!(page, "- calls `{}`{input}", call.name);
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
