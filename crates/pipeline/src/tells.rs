//! What an answer tells of notes, so that a person can be asked before a model gets it.
//!
//! The reading and searching tools say it, and only where somebody wants to know ([`View::is_reviewed`]): a conversation
//! without review pays nothing. A tool that reads notes and says nothing is not let through unseen; see `run/review.rs`.

use std::collections::HashMap;

use vault::VaultPath;

use crate::plan::Output;
use crate::view::View;

/// Characters of an excerpt that a person is shown.
const EXCERPT: usize = 300;

/// What an answer tells of notes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tells {
    /// The tool did not say.
    #[default]
    Unsaid,
    /// No text of a note: names and counts, or what the model was shown before.
    Nothing,
    /// Text of these notes.
    Notes(Vec<VaultPath>),
    /// These rows of a search.
    Rows(Vec<ResultRow>),
}

/// A note that a search found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ResultRow {
    /// The note.
    pub path: VaultPath,
    /// Its title.
    pub title: String,
    /// What would be told of it; empty if nothing but its name.
    pub excerpt: String,
}

impl ResultRow {
    /// A row. The name stands for the title.
    pub fn new(path: &VaultPath, excerpt: impl Into<String>) -> ResultRow {
        ResultRow { title: path.stem().to_owned(), path: path.clone(), excerpt: excerpt.into() }
    }
}

impl Output {
    /// The same; it holds no text of a note.
    #[must_use]
    pub fn telling_nothing(mut self) -> Output {
        self.tells = Tells::Nothing;
        self
    }

    /// The same; it holds text of this note.
    #[must_use]
    pub fn telling_note(mut self, view: &View<'_>, path: &VaultPath) -> Output {
        if view.is_reviewed() {
            self.tells = Tells::Notes(vec![path.clone()]);
        }
        self
    }

    /// The same; it holds text of these notes.
    #[must_use]
    pub fn telling_notes(mut self, view: &View<'_>, notes: impl FnOnce() -> Vec<VaultPath>) -> Output {
        if view.is_reviewed() {
            self.tells = Tells::Notes(notes());
        }
        self
    }

    /// The same; it holds these rows of a search. Rows of one note become one.
    #[must_use]
    pub fn telling_rows(mut self, view: &View<'_>, rows: impl FnOnce() -> Vec<ResultRow>) -> Output {
        if view.is_reviewed() {
            self.tells = Tells::Rows(one_for_each_note(rows()));
        }
        self
    }
}

fn one_for_each_note(rows: Vec<ResultRow>) -> Vec<ResultRow> {
    let mut places: HashMap<VaultPath, usize> = HashMap::with_capacity(rows.len());
    let mut notes: Vec<ResultRow> = Vec::with_capacity(rows.len());
    for row in rows {
        match places.get(&row.path) {
            Some(place) => join(&mut notes[*place].excerpt, &row.excerpt),
            None => {
                places.insert(row.path.clone(), notes.len());
                let mut excerpt = String::new();
                join(&mut excerpt, &row.excerpt);
                notes.push(ResultRow { excerpt, ..row });
            }
        }
    }
    notes
}

/// Adds a line as far as there is room.
fn join(excerpt: &mut String, more: &str) {
    let room = EXCERPT.saturating_sub(excerpt.chars().count() + 1);
    if room == 0 || more.trim().is_empty() {
        return;
    }
    if !excerpt.is_empty() {
        excerpt.push('\n');
    }
    excerpt.extend(more.trim().chars().take(room));
    if more.trim().chars().nth(room).is_some() {
        excerpt.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_note_are_one_row_and_a_long_one_is_cut() {
        let path = |text: &str| VaultPath::parse(text).unwrap();
        let rows = one_for_each_note(vec![
            ResultRow::new(&path("x/a.md"), " one "),
            ResultRow::new(&path("b.md"), "é".repeat(1_000)),
            ResultRow::new(&path("x/a.md"), "two"),
            ResultRow::new(&path("b.md"), "never seen"),
        ]);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].title.as_str(), rows[0].excerpt.as_str()), ("a", "one\ntwo"));
        assert!(rows[1].excerpt.ends_with("é…") && rows[1].excerpt.chars().count() <= EXCERPT + 1);
    }
}
