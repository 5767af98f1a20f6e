//! Dataview's query language over a vault: `TABLE`, `LIST`, `TASK`, `CALENDAR`, and expressions by themselves.
//!
//! Called by the query tools and by `verger query`. A query is parsed ([`parse`]), its source picks the pages
//! ([`Pages`]), its clauses run in written order, and the rows that remain are answered as typed values that
//! [`encode`] turns into JSON, Markdown or CSV. Work is bounded: rows, steps and nesting have limits that say so.
//! Deliberately not here: inline queries in notes, JavaScript, and everything that draws.

pub mod ast;
mod collate;
pub mod compare;
pub mod date;
pub mod duration;
pub mod encode;
mod error;
mod evaluate;
pub mod format;
mod functions;
mod operators;
mod pages;
pub mod parse;
mod pattern;
pub mod show;
pub mod text;
pub mod value;

use jiff::Zoned;

pub use error::QueryError;
pub use evaluate::MOST_STEPS;
pub use pages::{NoPages, Pages};
pub use value::Value;

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

/// Computes one expression outside of any row.
pub fn evaluate(text: &str, pages: &dyn Pages, context: &Context) -> Result<Value, QueryError> {
    let expression = parse::expression(text.trim())?;
    let evaluator = Evaluator::new(pages, context)?;
    Ok(evaluator.evaluate(&expression, &value::Scope::default())?)
}

#[cfg(test)]
mod tests;
