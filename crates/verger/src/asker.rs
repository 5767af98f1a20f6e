//! Asking the person at the terminal: the diff first, then y / n / always for this rule.

use pipeline::approve::Deciding;
use pipeline::{Asker, Decision, Lifetime, Question, VaultPath};

use crate::paper::{self, Paper, Role, Simple};
use crate::terminal::Terminal;

/// The person at the terminal.
pub struct AtTerminal<'t>(pub &'t Terminal);

/// How often an answer that says nothing is asked again.
const TRIES: usize = 3;

impl Asker for AtTerminal<'_> {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async move {
            self.0.say(card(&self.0.err, question).trim_end_matches('\n'));
            for _ in 0..TRIES {
                let Some(line) = self.0.ask(&prompt(&self.0.err, question)) else { break };
                if let Some(decision) = understand(&line) {
                    return decision;
                }
                self.0.note("please answer y, n or a");
            }
            Decision::No { reason: None }
        })
    }

    fn name(&self) -> &str {
        "terminal"
    }

    fn is_person(&self) -> bool {
        true
    }
}

/// What is put before the person.
pub fn card(paper: &Paper, question: &Question<'_>) -> String {
    let mut out = paper::changes(paper, question.changes);
    if let Some(target) = question.target {
        out.push_str(&format!("reaches: {}\n", paper.text(target)));
    }
    if let Some(warning) = &question.warning {
        out.push_str(&format!("{} {}\n", paper.paint(Role::Warning, "warning:"), paper.text(warning)));
    }
    // Whoever shares the answer of a tool that does not say what it read decides by what it was asked.
    if question.changes.is_empty() && question.target.is_none() && !is_listed(question) {
        out.push_str(&format!("input: {}\n", paper.text(&paper::one_line(&question.input.to_string()))));
    }
    for (number, (path, excerpt)) in (1..).zip(listed(question)) {
        out.push_str(&format!("{number:>3}. {}\n", paper.text(path.as_str())));
        excerpt.lines().for_each(|line| out.push_str(&format!("     {}\n", paper.text(line.trim()))));
    }
    let summary = paper::one_line(question.summary);
    out.push_str(&format!("{}: {}\n", paper.paint(Role::Title, question.tool), paper.text(&summary)));
    out
}

/// The notes that a question lists, with what would be told of them.
pub fn listed<'q>(question: &Question<'q>) -> impl Iterator<Item = (&'q VaultPath, &'q str)> {
    let reads = question.reads.iter().map(|path| (path, ""));
    reads.chain(question.results.iter().map(|row| (&row.path, row.excerpt.as_str())))
}

/// Whether a question lists notes.
pub fn is_listed(question: &Question<'_>) -> bool {
    !question.reads.is_empty() || !question.results.is_empty()
}

fn prompt(paper: &Paper, question: &Question<'_>) -> String {
    let rule = question.rule.describe();
    let rule = paper.text(&rule);
    match paper.simple {
        Simple::Yes => format!("1. yes\n2. no\n3. always for: {rule}\nYour choice (2): "),
        Simple::No => format!("y = yes, n = no, a = always for: {rule}\nDo it? [y/n/a] "),
    }
}

/// What an answer means; `None` if nothing. Nothing, Escape and `n` mean no; `n because …` tells the reason.
fn understand(line: &str) -> Option<Decision> {
    let answer = line.trim();
    let (word, rest) = answer.split_once(char::is_whitespace).unwrap_or((answer, ""));
    match word.to_lowercase().as_str() {
        "y" | "yes" | "1" => Some(Decision::Yes(Lifetime::Once)),
        "a" | "always" | "3" => Some(Decision::Yes(Lifetime::Always)),
        "n" | "no" | "2" => {
            let reason = rest.trim();
            Some(Decision::No { reason: (!reason.is_empty()).then(|| reason.to_owned()) })
        }
        "" => Some(Decision::No { reason: None }),
        escape if escape.starts_with('\u{1b}') => Some(Decision::No { reason: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        let no = || Some(Decision::No { reason: None });
        for (line, expected) in [
            ("y\n", Some(Decision::Yes(Lifetime::Once))),
            ("YES\n", Some(Decision::Yes(Lifetime::Once))),
            ("a\n", Some(Decision::Yes(Lifetime::Always))),
            ("\n", no()),
            ("n\n", no()),
            ("\u{1b}\n", no()),
            ("\u{1b}[A\n", no()),
            ("n wrong note\n", Some(Decision::No { reason: Some("wrong note".to_owned()) })),
            ("maybe\n", None),
            ("yn\n", None),
        ] {
            assert_eq!(understand(line), expected, "{line:?}");
        }
    }
}
