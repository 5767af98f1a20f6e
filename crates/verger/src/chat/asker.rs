//! Asking the person in a conversation: the diff, then once, for the task, for the session, always, edited, or no. Notes that
//! would be shared are listed with numbers.

mod ticks;

use std::sync::Arc;

use pipeline::approve::Deciding;
use pipeline::{Asker, Decision, Lifetime, Question, VaultPath};
use serde_json::Value;

use crate::asker::{card, is_listed, listed};
use crate::paper::{Paper, Simple};
use crate::terminal::Terminal;

/// How often an answer that says nothing is asked again.
const TRIES: usize = 3;

/// The person at the terminal, in a conversation.
pub struct Person(pub Arc<Terminal>);

impl Asker for Person {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async move {
            // The keyboard is waited for on a thread of its own: the screen goes on.
            let terminal = Arc::clone(&self.0);
            let shown = card(&terminal.err, question);
            let prompt = prompt(&terminal.err, question);
            let input = question.input.clone();
            let listed: Vec<VaultPath> = listed(question).map(|(path, _)| path.clone()).collect();
            let decided =
                tokio::task::spawn_blocking(move || decide(&terminal, &shown, &prompt, &input, &listed))
                    .await;
            decided.unwrap_or(Decision::No { reason: None })
        })
    }

    fn name(&self) -> &str {
        "terminal"
    }

    fn is_person(&self) -> bool {
        true
    }
}

fn decide(terminal: &Terminal, shown: &str, prompt: &str, input: &Value, listed: &[VaultPath]) -> Decision {
    terminal.say(shown.trim_end_matches('\n'));
    for _ in 0..TRIES {
        let Some(line) = terminal.ask(prompt) else { break };
        let meant = match listed {
            [] => understand(&line),
            listed => ticks::understand(&line, listed),
        };
        match meant {
            Some(Meant::Decided(decision)) => return decision,
            Some(Meant::Edit) => match edited(terminal, input) {
                Some(input) => return Decision::Edited(input),
                None => terminal.note("nothing was changed"),
            },
            None if listed.is_empty() => terminal.note("please answer y, t, s, a, e or n"),
            None => {
                terminal.note("please answer y, t, s, a, e, n, or with numbers of the list: 1 3-5, not 2")
            }
        }
    }
    Decision::No { reason: None }
}

/// The input as the person wants it, one field after the other.
fn edited(terminal: &Terminal, input: &Value) -> Option<Value> {
    terminal.note("the input is:");
    terminal.say(&terminal.err.text(&serde_json::to_string_pretty(input).unwrap_or_default()));
    let mut line = terminal.ask("the new input as one line of JSON (empty: leave it): ")?;
    line = line.trim().to_owned();
    if line.is_empty() {
        return None;
    }
    match serde_json::from_str::<Value>(&line) {
        Ok(value) if value.is_object() => Some(value),
        Ok(_) => {
            terminal.note("that is no JSON object");
            None
        }
        Err(error) => {
            terminal.note(&format!("that is no JSON: {error}"));
            None
        }
    }
}

fn prompt(paper: &Paper, question: &Question<'_>) -> String {
    let rule = question.rule.describe();
    let rule = paper.text(&rule);
    if is_listed(question) {
        return ticks::prompt(paper.simple, &rule);
    }
    match paper.simple {
        Simple::Yes => format!(
            "1. yes, once\n2. no\n3. always for: {rule}\n4. yes, for this task\n5. yes, for this session\n6. edit the input\nYour choice (2): "
        ),
        Simple::No => format!(
            "y = once, t = for this task, s = for this session, a = always for: {rule}\ne = edit, n = no (n because …)\nDo it? [y/t/s/a/e/n] "
        ),
    }
}

#[derive(Debug, PartialEq)]
enum Meant {
    Decided(Decision),
    Edit,
}

/// What an answer means; `None` if nothing. Nothing, Escape and `n` mean no; `n because …` tells the reason.
fn understand(line: &str) -> Option<Meant> {
    let answer = line.trim();
    let (word, rest) = answer.split_once(char::is_whitespace).unwrap_or((answer, ""));
    let yes = |lifetime| Some(Meant::Decided(Decision::Yes(lifetime)));
    match word.to_lowercase().as_str() {
        "y" | "yes" | "1" => yes(Lifetime::Once),
        "t" | "task" | "4" => yes(Lifetime::Task),
        "s" | "session" | "5" => yes(Lifetime::Session),
        "a" | "always" | "3" => yes(Lifetime::Always),
        "e" | "edit" | "6" => Some(Meant::Edit),
        "n" | "no" | "2" => {
            let reason = rest.trim();
            let reason = (!reason.is_empty()).then(|| reason.to_owned());
            Some(Meant::Decided(Decision::No { reason }))
        }
        "" => Some(Meant::Decided(Decision::No { reason: None })),
        escape if escape.starts_with('\u{1b}') => Some(Meant::Decided(Decision::No { reason: None })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_means_one_thing_and_what_is_not_clear_means_nothing() {
        let yes = |lifetime| Some(Meant::Decided(Decision::Yes(lifetime)));
        let no =
            |reason: Option<&str>| Some(Meant::Decided(Decision::No { reason: reason.map(str::to_owned) }));
        for (line, expected) in [
            ("y\n", yes(Lifetime::Once)),
            ("T\n", yes(Lifetime::Task)),
            ("session\n", yes(Lifetime::Session)),
            ("a\n", yes(Lifetime::Always)),
            ("e\n", Some(Meant::Edit)),
            ("n wrong note\n", no(Some("wrong note"))),
            ("\n", no(None)),
            ("\u{1b}[A\n", no(None)),
            ("sure\n", None),
        ] {
            assert_eq!(understand(line), expected, "{line:?}");
        }
    }
}
