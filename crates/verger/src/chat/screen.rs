//! What a conversation looks like at the terminal: the answer on stdout, everything else as single lines on stderr; or every
//! event as a line of JSON.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent::door::Answering;
use agent::{Answers, Door, News};
use pipeline::Asker;
use pipeline::plan::{Asked, TodoState};
use serde_json::Value;

use super::markdown::Painter;
use crate::paper::{self, Colour, Role};
use crate::terminal::Terminal;

/// A conversation's screen.
pub struct Screen {
    terminal: Arc<Terminal>,
    asker: Arc<dyn Asker>,
    /// Whether the person can answer questions.
    asks: bool,
    state: Mutex<State>,
    added: Mutex<Vec<String>>,
}

#[derive(Default)]
struct State {
    /// What the answer that runs has said.
    text: String,
    /// Whether the line on the screen is not ended.
    open: bool,
    thinking: bool,
    painter: Painter,
    /// What the last line of the meter says.
    meter: Option<String>,
    /// What the calls that run are about, by id.
    about: BTreeMap<String, String>,
}

impl Screen {
    /// A screen with somebody who decides.
    pub fn new(terminal: Arc<Terminal>, asker: Arc<dyn Asker>, asks: bool) -> Screen {
        Screen { terminal, asker, asks, state: Mutex::default(), added: Mutex::default() }
    }

    /// The answer that was given last.
    pub fn last_answer(&self) -> String {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).text.clone()
    }

    /// What the conversation has cost so far, in words.
    pub fn meter(&self) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).meter.clone()
    }

    /// Something that the person says while the turn runs.
    pub fn add(&self, text: String) {
        self.added.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn plain(&self, news: &News) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match news {
            News::Text { text } => self.text(&mut state, text),
            News::Thinking { .. } if !state.thinking => {
                state.thinking = true;
                drop(state);
                self.aside("thinking …");
            }
            News::Void => {
                self.end_line(&mut state);
                state.text.clear();
            }
            News::CallBegan { id, input, .. } => {
                self.end_line(&mut state);
                state.about.insert(id.clone(), about(input));
                // What was said before a call is not the answer.
                state.text.clear();
                state.thinking = false;
            }
            other => {
                self.end_line(&mut state);
                if let News::Spent { .. } = other {
                    state.meter = meter(other);
                }
                let what = match other {
                    News::CallEnded { id, .. } => state.about.remove(id).unwrap_or_default(),
                    _ => String::new(),
                };
                drop(state);
                if let Some(line) = line(other, &what) {
                    self.aside(&line);
                }
            }
        }
    }

    fn text(&self, state: &mut State, text: &str) {
        state.text.push_str(text);
        if !self.terminal.is_screen() {
            return;
        }
        let safe = self.terminal.out.text(text);
        let painted = match self.terminal.out.colour {
            Colour::On => state.painter.paint(&safe),
            Colour::Off => safe.into_owned(),
        };
        self.terminal.data(&painted);
        state.open = !text.ends_with('\n');
    }

    fn end_line(&self, state: &mut State) {
        if state.open {
            let rest = state.painter.end();
            self.terminal.data(&format!("{rest}\n"));
            state.open = false;
        }
    }

    fn aside(&self, line: &str) {
        self.terminal.say(&self.terminal.err.paint(Role::Dim, line));
    }
}

impl Door for Screen {
    fn show(&self, news: &News) {
        if self.terminal.json {
            self.terminal.json(news);
            return;
        }
        self.plain(news);
    }

    fn asker(&self) -> Arc<dyn Asker> {
        Arc::clone(&self.asker)
    }

    fn answer<'a>(&'a self, questions: &'a [Asked]) -> Answering<'a> {
        Box::pin(async move {
            if !self.asks {
                return Answers::Nobody;
            }
            let (terminal, questions) = (Arc::clone(&self.terminal), questions.to_vec());
            let asked = tokio::task::spawn_blocking(move || ask(&terminal, &questions)).await;
            asked.ok().flatten().map_or(Answers::Cancelled, Answers::Given)
        })
    }

    fn added(&self) -> Vec<String> {
        std::mem::take(&mut self.added.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One line about what happened; nothing about what is shown otherwise.
fn line(news: &News, about: &str) -> Option<String> {
    match news {
        News::CallEnded { name, outcome, text, failed, changed, milliseconds, .. } => {
            let what = match (changed.as_slice(), *failed) {
                (_, true) => why(text),
                ([], _) => about.to_owned(),
                ([only], _) => only.clone(),
                (several, _) => format!("{} notes", several.len()),
            };
            let sign = if *failed { "✗" } else { "✓" };
            let gap = if what.is_empty() { "" } else { " " };
            Some(format!("{sign} {name} {outcome}{gap}{what} ({milliseconds} ms)"))
        }
        News::Retry { why, milliseconds } => {
            Some(format!("… {why}; trying again in {:.1} s", *milliseconds as f64 / 1_000.0))
        }
        News::Condensed { before, after } => {
            Some(format!("· the conversation was made shorter: about {before} tokens before, {after} now"))
        }
        News::Todo { items } => {
            let mark = |state: TodoState| match state {
                TodoState::Open => "[ ]",
                TodoState::Begun => "[~]",
                TodoState::Done => "[x]",
            };
            let lines: Vec<String> =
                items.iter().map(|item| format!("  {} {}", mark(item.state), item.text)).collect();
            Some(format!("· to do:\n{}", lines.join("\n")))
        }
        News::Agent { slug } => Some(format!("· `{slug}` goes on")),
        News::Notice { text } => Some(format!("· {text}")),
        News::Child { name, news } => match &**news {
            News::Text { .. } | News::Thinking { .. } | News::Spent { .. } | News::CallBegan { .. } => None,
            inner => line(inner, "").map(|line| format!("  {name}: {line}")),
        },
        News::Over { how, text } if !how.is_done() => Some(format!("· {text}")),
        News::Turn { .. }
        | News::Thinking { .. }
        | News::Text { .. }
        | News::Void
        | News::CallNamed { .. }
        | News::CallInput { .. }
        | News::CallBegan { .. }
        | News::Spent { .. }
        | News::Over { .. } => None,
    }
}

/// Why a call was refused, in words: the reason's code is for programs.
fn why(text: &str) -> String {
    let object: Option<Value> = serde_json::from_str(text).ok();
    let told = object.as_ref().and_then(|object| object.get("message")?.as_str());
    let words = told.or_else(|| text.split_once(": ").map(|(_, words)| words)).unwrap_or(text);
    paper::one_line(words).chars().take(160).collect()
}

/// Tokens and money so far.
fn meter(news: &News) -> Option<String> {
    let News::Spent { total_tokens, total_dollars, dollars, window, .. } = news else { return None };
    let money = match dollars {
        Some(_) => format!(", ${total_dollars:.4}"),
        None => String::new(),
    };
    let full = window.map_or_else(String::new, |percent| format!(", window {percent} % full"));
    Some(format!("{total_tokens} tokens{money}{full}"))
}

/// Puts questions one after the other; `None` if the person would rather not.
fn ask(terminal: &Terminal, questions: &[Asked]) -> Option<Vec<String>> {
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        let title = question.header.as_ref().map_or_else(String::new, |header| format!("{header}: "));
        terminal.note(&format!("? {title}{}", question.question));
        for (number, option) in question.options.iter().enumerate() {
            terminal.note(&format!("  {}. {option}", number + 1));
        }
        let prompt = match (question.options.is_empty(), question.several) {
            (true, _) => "your answer: ",
            (false, false) => "a number, or your own answer: ",
            (false, true) => "numbers with commas, or your own answer: ",
        };
        let line = terminal.ask(prompt)?;
        answers.push(chosen(line.trim(), &question.options)?);
    }
    Some(answers)
}

/// What was chosen: numbers stand for options.
fn chosen(line: &str, options: &[String]) -> Option<String> {
    if line.is_empty() || line.starts_with('\u{1b}') {
        return None;
    }
    let picked: Option<Vec<&str>> = line
        .split(',')
        .map(|number| {
            let number: usize = number.trim().parse().ok()?;
            options.get(number.checked_sub(1)?).map(String::as_str)
        })
        .collect();
    match picked.filter(|_| !options.is_empty()) {
        Some(picked) => Some(picked.join(", ")),
        None => Some(line.to_owned()),
    }
}

/// What a call is about, in a few words: its path or what it looks for.
fn about(input: &Value) -> String {
    let found = ["path", "source", "query", "pattern", "note_path", "name", "question", "message"]
        .iter()
        .find_map(|key| input.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()));
    let short: String = paper::one_line(found.unwrap_or_default()).chars().take(80).collect();
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_words() {
        assert_eq!(
            why("note_missing: there is no `a.md`. list the folder"),
            "there is no `a.md`. list the folder"
        );
        assert_eq!(
            why(r#"{"error": "x", "code": "tool_unknown", "message": "there is no tool"}"#),
            "there is no tool"
        );
        assert_eq!(why("no colon"), "no colon");
    }

    #[test]
    fn numbers_stand_for_options_and_anything_else_for_itself() {
        let options = ["red".to_owned(), "blue".to_owned()];
        for (line, expected) in [
            ("1", Some("red")),
            ("2, 1", Some("blue, red")),
            ("3", Some("3")),
            ("green", Some("green")),
            ("", None),
            ("\u{1b}[A", None),
        ] {
            assert_eq!(chosen(line, &options).as_deref(), expected, "{line:?}");
        }
        assert_eq!(chosen("1", &[]).as_deref(), Some("1"));
    }
}
