//! Obsidian Bases over a vault: `.base` files and `base` code blocks, their expressions, and the rows of their views.
//!
//! Called by the base tools and by `verger query --base`. A base is read ([`Base::parse`]) into types in which every
//! expression is checked; a view is run ([`run`]) over what the asker may see, from the catalog alone: no note is
//! opened. Work is bounded in steps, nesting and sizes. Deliberately not here: drawing, and changing a base
//! (`crate::edit::base`).

mod ast;
mod dates;
pub mod encode;
mod error;
mod evaluate;
mod functions;
mod lex;
pub(crate) mod links;
mod methods;
mod model;
mod names;
mod operators;
mod parse;
mod run;
mod show;
mod summary;
mod value;
pub(crate) mod yaml;

use jiff::Zoned;

pub use error::BaseError;
pub use model::{Base, BaseView, Direction, Filter, Formula, Property, PropertyId, Test};
pub use run::{Column, GroupRows, MOST_ROWS, RowOut, Summed, ViewRows, Window, run};
pub use value::Value;

use crate::note;
use crate::note::blocks::BlockKind;
use crate::path::VaultPath;

/// When and where a base is asked.
#[derive(Debug, Clone)]
pub struct Context {
    /// The time that `now()` gives; its zone is the reader's.
    pub now: Zoned,
    /// What `this` is: the base file, or the note that holds it.
    pub this: Option<VaultPath>,
    /// Where the numbers of `random()` start; the same seed gives the same numbers.
    pub seed: u64,
}

/// The `base` code blocks of a note, in their order: each one's YAML and the line of the note on which it starts.
pub fn blocks(text: &str) -> Vec<(String, usize)> {
    let parsed = note::parse(text);
    let is_base = |kind: &BlockKind| match kind {
        BlockKind::Code(Some(info)) => info.split_whitespace().next() == Some("base"),
        _ => false,
    };
    let blocks = parsed.blocks.blocks.iter().filter(|block| is_base(&block.kind));
    blocks
        .map(|block| {
            let line = text[..block.span.start].matches('\n').count() + 2;
            (fenced(text, block.span.start, &text[block.span.clone()]), line)
        })
        .collect()
}

/// What stands between the fences, without the marks of a quote or the indent of a list around the block.
fn fenced(text: &str, start: usize, block: &str) -> String {
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let around = &text[line..start];
    let mut lines: Vec<&str> = block.lines().skip(1).collect();
    let closes = |line: &&str| {
        let line = line.trim_start_matches(['>', ' ', '\t']).trim_end();
        line.len() >= 3 && (line.bytes().all(|b| b == b'`') || line.bytes().all(|b| b == b'~'))
    };
    if lines.last().is_some_and(closes) {
        lines.pop();
    }
    let inner = |line: &&str| -> String {
        let mut rest = *line;
        for mark in around.chars() {
            let here = rest.chars().next();
            let same = here == Some(mark) || (mark != '>' && matches!(here, Some(' ' | '\t')));
            rest = if same { &rest[here.map_or(0, char::len_utf8)..] } else { rest };
        }
        format!("{rest}\n")
    };
    lines.iter().map(inner).collect()
}

#[cfg(test)]
mod tests;
