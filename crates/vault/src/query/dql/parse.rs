//! Reads queries, expressions and literals. Hand-written: ordered choice, no going back over what was accepted.
//!
//! The rules follow Dataview's grammar choice by choice (`true` is tried before names, so `trueish` is an error). Linear
//! time; nesting deeper than [`DEEPEST`] is an error. Values in notes are read by [`inline_value`] and [`front_value`].

mod expression;
mod literal;
mod query;

use super::ast::{Expression, Literal, Query, Source};
use super::date::Zone;
use super::error::QueryError;
use super::value::Value;

pub(crate) use literal::Found;

/// How deep brackets may be nested.
pub const DEEPEST: u32 = 64;
/// How long a query may be, in bytes.
pub const LONGEST: usize = 100_000;

/// Reads a whole query.
pub fn query(text: &str) -> Result<Query, QueryError> {
    whole(text, Cursor::query)
}

/// Reads one expression.
pub fn expression(text: &str) -> Result<Expression, QueryError> {
    whole(text, Cursor::expression)
}

/// Reads what may stand behind `FROM`.
pub fn source(text: &str) -> Result<Source, QueryError> {
    whole(text, Cursor::source)
}

/// Reads a text with one rule, if the rule takes all of it. For literals in notes, where nobody asks why not.
pub(crate) fn literal<'a, T>(text: &'a str, rule: impl FnOnce(&mut Cursor<'a>) -> Option<T>) -> Option<T> {
    let mut cursor = Cursor::new(text);
    let found = rule(&mut cursor)?;
    (cursor.at == text.len() && !cursor.too_deep).then_some(found)
}

/// The value of an inline field: typed if the whole text is a literal or a list of them, else the text.
pub fn inline_value(text: &str, local: &Zone) -> Value {
    if text.trim().is_empty() {
        return Value::Null;
    }
    match literal(text, Cursor::inline_field).and_then(|found| known_value(&found, local)) {
        Some(value) => value,
        None => Value::text(text),
    }
}

/// The value of a text in front matter: a date, a duration or a link if the whole text is one, else the text.
pub fn front_value(text: &str, local: &Zone) -> Value {
    let date = || literal(text, Cursor::date).and_then(|date| date.in_zone(local)).map(Value::Date);
    let duration = || literal(text, Cursor::duration).map(Value::Duration);
    let link = || literal(text, Cursor::link).map(Value::link);
    date().or_else(duration).or_else(link).unwrap_or_else(|| Value::text(text))
}

/// The value of a literal that needs no clock.
pub(crate) fn known_value(literal: &Literal, local: &Zone) -> Option<Value> {
    Some(match literal {
        Literal::Null => Value::Null,
        Literal::Bool(yes) => Value::Bool(*yes),
        Literal::Number(number) => Value::Number(*number),
        Literal::Text(text) => Value::Text(text.clone()),
        Literal::Date(date) => Value::Date(date.in_zone(local)?),
        Literal::Shorthand(_) => return None,
        Literal::Duration(duration) => Value::Duration(*duration),
        Literal::Link(link) => Value::Link(link.clone()),
        Literal::List(items) => {
            Value::list(items.iter().map(|item| known_value(item, local)).collect::<Option<Vec<_>>>()?)
        }
    })
}

fn whole<'a, T>(text: &'a str, rule: impl FnOnce(&mut Cursor<'a>) -> Option<T>) -> Result<T, QueryError> {
    if text.len() > LONGEST {
        return Err(QueryError::limit(format!("the query has {} bytes, more than {LONGEST}", text.len())));
    }
    let mut cursor = Cursor::new(text);
    let found = rule(&mut cursor);
    if cursor.too_deep {
        return Err(QueryError::limit(format!("the query is nested deeper than {DEEPEST} brackets")));
    }
    match found {
        Some(found) if cursor.at == text.len() => Ok(found),
        _ => Err(cursor.error()),
    }
}

/// A place in the text, and what was missing at the furthest place that was reached.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    too_deep: bool,
    furthest: usize,
    expected: Vec<&'static str>,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0, depth: 0, too_deep: false, furthest: 0, expected: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Notes what would have fitted here, for the error message.
    fn missing<T>(&mut self, what: &'static str) -> Option<T> {
        if self.at > self.furthest {
            self.furthest = self.at;
            self.expected.clear();
        }
        if self.at == self.furthest && !self.expected.contains(&what) {
            self.expected.push(what);
        }
        None
    }

    /// Takes exactly this text.
    fn take(&mut self, text: &'static str) -> Option<()> {
        if !self.rest().starts_with(text) {
            return self.missing(text);
        }
        self.at += text.len();
        Some(())
    }

    /// Takes a word in any case.
    fn word(&mut self, word: &'static str) -> Option<()> {
        match self.rest().get(..word.len()) {
            Some(here) if here.eq_ignore_ascii_case(word) => {
                self.at += word.len();
                Some(())
            }
            _ => self.missing(word),
        }
    }

    /// White space that may be there.
    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_space).len();
    }

    /// White space that must be there.
    fn some_space(&mut self) -> Option<()> {
        let before = self.at;
        self.space();
        if self.at == before { self.missing("a space") } else { Some(()) }
    }

    /// Tries a rule; where it does not fit, nothing was taken.
    fn attempt<T>(&mut self, rule: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let before = self.at;
        let found = rule(self);
        if found.is_none() {
            self.at = before;
        }
        found
    }

    /// A rule one level deeper, if that is not too deep.
    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEEPEST || self.too_deep {
            self.too_deep = true;
            return None;
        }
        self.depth += 1;
        let found = rule(self);
        self.depth -= 1;
        found
    }

    /// Elements with a separator between them; possibly none. A separator without an element behind it is left alone.
    fn separated<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Option<T>,
        mut separator: impl FnMut(&mut Self) -> Option<()>,
    ) -> Vec<T> {
        let mut out = Vec::new();
        let Some(first) = self.attempt(&mut element) else { return out };
        out.push(first);
        while let Some(next) = self.attempt(|cursor| {
            separator(cursor)?;
            element(cursor)
        }) {
            out.push(next);
        }
        out
    }

    fn comma(&mut self) -> Option<()> {
        self.space();
        self.take(",")?;
        self.space();
        Some(())
    }

    fn error(&self) -> QueryError {
        QueryError::parse(self.text, self.furthest.max(self.at), &self.expected)
    }
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

#[cfg(test)]
mod tests;
