//! Questions for the person, checked and shown: what `ask_user` and `ask_followup_question` share.

use pipeline::plan::Asked;
use pipeline::{Control, Output, Plan, Refusal};
use serde_json::json;

use super::words::{invalid, said, said_or_not};

const LONGEST: usize = 2_000;
const LONGEST_HEADER: usize = 40;
const LONGEST_OPTION: usize = 200;
const MOST_OPTIONS: usize = 20;

/// A question that can be shown; `field` is what a refusal calls it.
pub(crate) fn checked(field: &str, asked: Asked) -> Result<Asked, Refusal> {
    let header = said_or_not(&format!("{field}.header"), asked.header.as_deref(), LONGEST_HEADER)?;
    if asked.options.len() > MOST_OPTIONS {
        return Err(invalid("options", &format!("are more than {MOST_OPTIONS}"), "offer the likeliest few"));
    }
    let mut options = Vec::new();
    for option in &asked.options {
        let option = said("options", option, LONGEST_OPTION)?;
        // The answer is the text of an option, so two alike could not be told apart.
        if options.contains(&option) {
            return Err(invalid("options", &format!("hold `{option}` twice"), "make them differ"));
        }
        options.push(option);
    }
    if asked.several && options.is_empty() {
        return Err(invalid("multi_select", "needs options", "give `options` to choose from"));
    }
    let free_text = asked.free_text || options.is_empty();
    Ok(Asked { question: said(field, &asked.question, LONGEST)?, header, options, free_text, ..asked })
}

/// The plan that asks them.
pub(crate) fn ask(questions: Vec<Asked>) -> Plan {
    let text: Vec<String> = questions.iter().map(shown).collect();
    let output = Output::new(text.join("\n"), json!({ "questions": questions }));
    Plan::Steer(Control::Ask { questions }, output)
}

fn shown(asked: &Asked) -> String {
    let mut text = match &asked.header {
        Some(header) => format!("[{header}] {}", asked.question),
        None => asked.question.clone(),
    };
    for (number, option) in asked.options.iter().enumerate() {
        text += &format!("\n  {}. {option}", number + 1);
    }
    match (asked.several, asked.free_text && !asked.options.is_empty()) {
        (true, true) => text + "\n  (several, or an answer of your own)",
        (true, false) => text + "\n  (several)",
        (false, true) => text + "\n  (or an answer of your own)",
        (false, false) => text,
    }
}
