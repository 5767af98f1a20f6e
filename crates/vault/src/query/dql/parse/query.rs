//! Whole queries: the header, the source, the clauses, and comments between them.

use super::Cursor;
use crate::query::dql::ast::{Clause, Direction, Header, Id, Named, Query, Source};
use crate::text::Text;

/// How many clauses a query may have.
const MOST_CLAUSES: usize = 100;

impl Cursor<'_> {
    /// A query.
    pub(crate) fn query(&mut self) -> Option<Query> {
        self.space_and_comments();
        let header = self.header()?;
        self.space_and_comments();
        let source = self.attempt(Self::from).unwrap_or_else(|| Source::Folder(String::new()));
        let mut clauses = Vec::new();
        loop {
            self.space_and_comments();
            let Some(clause) = self.attempt(Self::clause) else { break };
            clauses.push(clause);
            if clauses.len() > MOST_CLAUSES {
                self.too_deep = true;
                return None;
            }
        }
        if self.at < self.text.len() {
            return self.missing("FROM, WHERE, SORT, LIMIT, GROUP BY, FLATTEN or the end");
        }
        Some(Query { header, source, clauses })
    }

    pub(crate) fn comment(&mut self) -> Option<()> {
        self.take("//")?;
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        Some(())
    }

    fn space_and_comments(&mut self) {
        loop {
            self.space();
            if self.attempt(Self::comment).is_none() {
                return;
            }
        }
    }

    /// The kind of a query, in lower case.
    pub(crate) fn query_type(&mut self) -> Option<&'static str> {
        for word in ["table", "list", "task", "calendar"] {
            if self.rest().get(..word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word)) {
                self.at += word.len();
                return Some(word);
            }
        }
        self.missing("TABLE, LIST, TASK or CALENDAR")
    }

    fn header(&mut self) -> Option<Header> {
        match self.query_type()? {
            "table" => {
                let id = self.without_id();
                let fields = self.attempt(|cursor| {
                    cursor.some_space()?;
                    Some(cursor.separated(Self::named_field, Self::comma))
                });
                Some(Header::Table { fields: fields.unwrap_or_default(), id })
            }
            "list" => {
                let id = self.without_id();
                let value = self.attempt(|cursor| {
                    cursor.some_space()?;
                    cursor.expression()
                });
                Some(Header::List { value, id })
            }
            "task" => Some(Header::Task),
            _ => {
                self.some_space()?;
                self.named_field().map(Header::Calendar)
            }
        }
    }

    fn without_id(&mut self) -> Id {
        let found = self.attempt(|cursor| {
            cursor.some_space()?;
            cursor.word("WITHOUT")?;
            cursor.some_space()?;
            cursor.word("ID")
        });
        if found.is_some() { Id::Hidden } else { Id::Shown }
    }

    /// `expression AS name`, or an expression that is its own name.
    pub(crate) fn named_field(&mut self) -> Option<Named> {
        let start = self.at;
        let field = self.expression()?;
        let end = self.at;
        let name = self.attempt(|cursor| {
            cursor.some_space()?;
            cursor.word("AS")?;
            cursor.some_space()?;
            cursor.attempt(Self::identifier).or_else(|| cursor.attempt(Self::string))
        });
        let name = name.unwrap_or_else(|| joined_lines(&self.text[start..end]));
        Some(Named { name, field })
    }

    pub(crate) fn sort_field(&mut self) -> Option<(crate::query::dql::ast::Expression, Direction)> {
        let field = self.expression()?;
        self.space();
        for (word, direction) in [
            ("ASCENDING", Direction::Ascending),
            ("DESCENDING", Direction::Descending),
            ("ASC", Direction::Ascending),
            ("DESC", Direction::Descending),
        ] {
            if self.attempt(|cursor| cursor.word(word)).is_some() {
                return Some((field, direction));
            }
        }
        Some((field, Direction::Ascending))
    }

    fn from(&mut self) -> Option<Source> {
        self.word("FROM")?;
        self.some_space()?;
        self.source()
    }

    fn clause(&mut self) -> Option<Clause> {
        let word = ["FROM", "WHERE", "SORT", "LIMIT", "GROUP BY", "FLATTEN"]
            .into_iter()
            .find(|word| self.attempt(|cursor| cursor.word(word)).is_some())?;
        self.some_space()?;
        Some(match word {
            "FROM" => {
                self.source()?;
                Clause::From
            }
            "WHERE" => Clause::Where(self.expression()?),
            "SORT" => {
                let fields = self.separated(Self::sort_field, Self::comma);
                if fields.is_empty() {
                    return None;
                }
                Clause::Sort(fields)
            }
            "LIMIT" => Clause::Limit(self.expression()?),
            "GROUP BY" => Clause::Group(self.named_field()?),
            _ => Clause::Flatten(self.named_field()?),
        })
    }
}

fn joined_lines(text: &str) -> Text {
    text.split(['\r', '\n']).map(str::trim).collect::<String>().into()
}
