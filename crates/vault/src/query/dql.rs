//! Dataview's query language over a vault: `TABLE`, `LIST`, `TASK`, `CALENDAR`, and expressions by themselves.
//!
//! Called by the query tools and by `verger query`. A query is parsed ([`parse`]), its source picks the pages
//! ([`Pages`]), its clauses run in written order, and the rows that remain are answered as typed values that
//! [`encode`] turns into JSON, Markdown or CSV. Work is bounded: rows, steps and nesting have limits that say so.
//! Deliberately not here: inline queries in notes, JavaScript, and everything that draws.

pub mod ast;
mod batch;
pub(crate) mod collate;
pub mod compare;
mod csv;
pub mod date;
pub mod duration;
pub mod encode;
mod error;
mod evaluate;
mod facts;
mod fields;
pub mod format;
mod functions;
mod held;
pub mod inline;
mod items;
mod operators;
mod page;
mod pages;
pub mod parse;
pub(crate) mod pattern;
mod rows;
mod run;
pub mod show;
mod sieve;
mod source;
pub mod text;
pub mod value;
mod vault_pages;
mod wants;

use jiff::Zoned;

pub use batch::batch;
pub use error::QueryError;
pub use evaluate::MOST_STEPS;
pub use fields::frontmatter_tags;
pub use page::Maker;
pub use pages::{NoPages, Pages};
pub use run::{MOST_ROWS, QueryResult, TaskEntry};
pub use sieve::{Sieve, Sifted};
pub use value::Value;
pub use vault_pages::VaultPages;
pub use wants::Wants;

pub(crate) use fields::Marks;

use crate::path::VaultPath;
use evaluate::Evaluator;

/// When and where a query is asked.
#[derive(Debug, Clone)]
pub struct Context {
    /// The time that `date(now)` gives; its zone is the reader's.
    pub now: Zoned,
    /// The note in which the query stands: `this`, and where relative links start.
    pub this: Option<VaultPath>,
}

/// Runs a query.
pub fn run(text: &str, pages: &dyn Pages, context: &Context) -> Result<QueryResult, QueryError> {
    let query = parse::query(text)?;
    let evaluator = Evaluator::new(pages, context, Wants::of_query(&query))?;
    Ok(run::run(&evaluator, &query)?)
}

/// Computes one expression outside of any row.
pub fn evaluate(text: &str, pages: &dyn Pages, context: &Context) -> Result<Value, QueryError> {
    let expression = parse::expression(text.trim())?;
    let evaluator = Evaluator::new(pages, context, Wants::of_expressions([&expression]))?;
    Ok(evaluator.evaluate(&expression, &value::Scope::default())?)
}

#[cfg(test)]
mod tests;
