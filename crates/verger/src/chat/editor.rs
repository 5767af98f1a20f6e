//! The line that the person types: history, and completion of commands and of notes after `@`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::mentions;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Helper};

use super::cast::Company;
use crate::failure::{Exit, Failure};

/// At most this many candidates are offered.
const MOST: usize = 30;
/// The history's file in the data folder.
const HISTORY: &str = "chat-history";

/// A line editor.
pub struct Editor {
    inner: rustyline::Editor<Names, FileHistory>,
    history: PathBuf,
}

/// What was typed.
pub enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C on a line: nothing.
    Nothing,
    /// Ctrl-D: the end.
    End,
}

impl Editor {
    /// An editor that remembers in this folder and completes these notes.
    pub fn open(data: &Path, names: Names) -> Result<Editor, Failure> {
        let failed = |error: ReadlineError| {
            Failure::new(
                Exit::Failed,
                "terminal",
                format!("the terminal cannot be used: {error}"),
                "use `verger ask`, or another terminal",
            )
        };
        let config = Config::builder()
            .max_history_size(1_000)
            .map_err(failed)?
            .completion_type(rustyline::CompletionType::List)
            .build();
        let mut inner = rustyline::Editor::with_config(config).map_err(failed)?;
        inner.set_helper(Some(names));
        let history = data.join(HISTORY);
        // A history that is not there yet, or not readable, is an empty one.
        inner.load_history(&history).ok();
        Ok(Editor { inner, history })
    }

    /// Reads a line. One that ends with `\` goes on in the next.
    pub fn line(&mut self, prompt: &str) -> Typed {
        let mut whole = String::new();
        loop {
            let shown = if whole.is_empty() { prompt } else { "… " };
            match self.inner.readline(shown) {
                Ok(line) => match line.strip_suffix('\\') {
                    Some(part) => {
                        whole.push_str(part);
                        whole.push('\n');
                    }
                    None => {
                        whole.push_str(&line);
                        self.remember(&whole);
                        return Typed::Line(whole);
                    }
                },
                Err(ReadlineError::Interrupted) => return Typed::Nothing,
                Err(_) => return Typed::End,
            }
        }
    }

    fn remember(&mut self, line: &str) {
        if !line.trim().is_empty() && self.inner.add_history_entry(line).unwrap_or(false) {
            // A history that cannot be kept is no reason to stop.
            self.inner.append_history(&self.history).ok();
        }
    }
}

/// What can be completed.
pub struct Names {
    /// Paths of notes, for `@`.
    pub notes: Vec<String>,
    /// Commands, for `/`.
    pub company: Arc<Company>,
}

impl Completer for Names {
    type Candidate = Pair;
    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..at).unwrap_or(line);
        let commands = self.company.commands.candidates(before);
        if !commands.is_empty() {
            let pair = |name: &str| Pair { display: format!("/{name}"), replacement: format!("/{name} ") };
            return Ok((0, commands.into_iter().map(|command| pair(&command.name)).collect()));
        }
        let found = mentions::candidates(before, &self.notes);
        let start = found.first().map_or(at, |candidate| candidate.span.start);
        let pairs = found.into_iter().take(MOST).map(|candidate| Pair {
            display: candidate.text.clone(),
            replacement: format!("{} ", candidate.text),
        });
        Ok((start, pairs.collect()))
    }
}

impl Hinter for Names {
    type Hint = String;
}
impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}
