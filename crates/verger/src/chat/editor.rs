//! The line that the person types: history, and completion of commands and of notes after `@`.

use std::path::{Path, PathBuf};

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Helper};

use super::room::COMMANDS;
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
    pub fn open(data: &Path, notes: Vec<String>) -> Result<Editor, Failure> {
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
        inner.set_helper(Some(Names { notes }));
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

struct Names {
    notes: Vec<String>,
}

impl Completer for Names {
    type Candidate = Pair;
    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, found) = candidates(line.get(..at).unwrap_or(line), &self.notes);
        let pairs = found.into_iter().map(|(display, replacement)| Pair { display, replacement });
        Ok((start, pairs.collect()))
    }
}

impl Hinter for Names {
    type Hint = String;
}
impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}

/// Where the word begins, and what it may become: shown, and put in.
fn candidates(line: &str, notes: &[String]) -> (usize, Vec<(String, String)>) {
    if let Some(begun) = line.strip_prefix('/').filter(|begun| !begun.contains(' ')) {
        let names = COMMANDS.iter().map(|(name, _)| name.split(' ').next().unwrap_or(name));
        let found = names.filter(|name| name.starts_with(begun));
        return (0, found.map(|name| (format!("/{name}"), format!("/{name} "))).collect());
    }
    let Some(at) = line.rfind('@') else { return (line.len(), Vec::new()) };
    let before_is_space = line[..at].chars().next_back().is_none_or(char::is_whitespace);
    if !before_is_space {
        return (line.len(), Vec::new());
    }
    let begun = line[at + 1..].trim_start_matches("[[").trim_start_matches('"').to_lowercase();
    let name = |path: &str| path.strip_suffix(".md").unwrap_or(path).to_owned();
    let mut found: Vec<String> = notes
        .iter()
        .map(|path| name(path))
        .filter(|path| {
            let folded = path.to_lowercase();
            let base = folded.rsplit('/').next().unwrap_or(&folded);
            folded.starts_with(&begun) || base.starts_with(&begun)
        })
        .collect();
    found.truncate(MOST);
    (at, found.into_iter().map(|path| (path.clone(), format!("@[[{path}]] "))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_notes_are_completed_where_they_may_stand() {
        let notes = ["Garden/Quince tree.md".to_owned(), "Quarry.md".to_owned(), "Bees.md".to_owned()];
        let of = |line: &str| {
            let (at, found) = candidates(line, &notes);
            (at, found.into_iter().map(|(_, put)| put).collect::<Vec<_>>())
        };
        assert_eq!(of("/mo"), (0, vec!["/model ".to_owned()]));
        assert_eq!(
            of("tell me about @qu"),
            (14, vec!["@[[Garden/Quince tree]] ".to_owned(), "@[[Quarry]] ".to_owned()])
        );
        assert_eq!(of("mail a@b"), (8, vec![]));
        assert_eq!(of("/model x"), (8, vec![]));
        assert_eq!(of("@gard"), (0, vec!["@[[Garden/Quince tree]] ".to_owned()]));
    }
}
