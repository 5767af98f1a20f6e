//! Native edits of a block that has an id: its text, its id, both, or a sibling beside it.

use std::ops::Range;

use super::space::*;
use super::{Operation, Patch, Patched, Scope, refusal, unsupported};
use crate::edit::section::{self, invalid_id, table};
use crate::error::{Error, Result};
use crate::note::blocks::{BlockId, BlockKind, is_id};
use crate::note::outline::{Outline, Purpose};

/// Edits the block of this id.
pub(super) fn edit(outline: &Outline<'_>, id: &str, patch: &Patch) -> Result<Patched> {
    if patch.within.is_some() {
        return Err(unsupported("a block id with `within`"));
    }
    let block = match outline.block(id, Purpose::Write) {
        Ok(block) => block,
        Err(_) if patch.create_target_if_missing && creates(patch) => return create(outline, id, patch),
        Err(error) => return Err(error),
    };
    match (patch.scope, patch.operation) {
        (Scope::Content, Operation::Delete) => Err(refusal(
            "edit_unsupported",
            "a block without text has nothing that its id could name",
            "delete with scope markerAndContent, or replace the content",
        )),
        (Scope::Content, _) => content(outline, block, patch),
        (Scope::Marker, Operation::Replace) => rename(outline, block, patch.text()?),
        (Scope::Marker, Operation::Delete) => unname(outline, block),
        (Scope::MarkerAndContent, Operation::Delete) => {
            let whole = whole(outline, block);
            finished(outline, cut(outline, line_start(outline, whole.start), whole.end), "")
        }
        (Scope::MarkerAndContent, _) => sibling(outline, block, patch),
        _ => Err(unsupported("a block")),
    }
}

fn creates(patch: &Patch) -> bool {
    patch.scope == Scope::Content && patch.operation != Operation::Delete && patch.content.is_some()
}

fn create(outline: &Outline<'_>, id: &str, patch: &Patch) -> Result<Patched> {
    let given = trimmed(outline, patch.text()?);
    if !is_id(id) {
        return Err(invalid_id(id));
    }
    if given.is_empty() {
        return Err(section::preexists());
    }
    let newline = outline.newline();
    let end = outline.body + outline.text[outline.body..].trim_end().len();
    let gap = match () {
        () if end > outline.body => newline.repeat(2),
        () if outline.text[..end].ends_with('-') => newline.to_owned(),
        () => String::new(),
    };
    finished(outline, end..outline.text.len(), &format!("{gap}{given}{newline}{newline}^{id}{newline}"))
}

/// Literal, so that a word can be added to a line.
fn content(outline: &Outline<'_>, block: &BlockId, patch: &Patch) -> Result<Patched> {
    let operation = match patch.operation {
        Operation::Append => section::Operation::Append,
        Operation::Prepend => section::Operation::Prepend,
        _ => section::Operation::Replace,
    };
    if let Some(value) = &patch.value {
        if block.kind != BlockKind::Table {
            return Err(section::wrong_content("only a table takes rows"));
        }
        let rows = table::Rows::read(outline.text, &block.content, value)?;
        let text = table::edit(outline, &block.content, &rows, operation);
        return Ok(Patched { text, warnings: Vec::new() });
    }
    let given = outline.with_newlines(patch.text()?);
    patch.refuse_preexisting(&outline.text[block.content.clone()], &given)?;
    let span = match patch.operation {
        Operation::Append => block.content.end..block.content.end,
        Operation::Prepend => block.content.start..block.content.start,
        _ if outline.text[block.content.clone()].replace("\r\n", "\n") == given.replace("\r\n", "\n") => {
            return Ok(Patched { text: outline.text.to_owned(), warnings: Vec::new() });
        }
        _ => block.content.clone(),
    };
    finished(outline, span, &given)
}

fn rename(outline: &Outline<'_>, block: &BlockId, name: &str) -> Result<Patched> {
    let name = name.trim();
    let name = name.strip_prefix('^').unwrap_or(name);
    if !is_id(name) {
        return Err(invalid_id(name));
    }
    let taken = |id: &&BlockId| id.id.eq_ignore_ascii_case(name) && id.span != block.span;
    if outline.ids.iter().find(taken).is_some() {
        return Err(Error::Edit {
            reason: "block_id_taken",
            message: format!("another block of this note has the id `{name}`"),
            hint: "choose another id".to_owned(),
            candidates: Vec::new(),
        });
    }
    finished(outline, block.span.clone(), &format!("^{name}"))
}

fn unname(outline: &Outline<'_>, block: &BlockId) -> Result<Patched> {
    let start = line_start(outline, block.span.start);
    let alone = outline.text[start..block.span.start].trim_matches([' ', '\t', '>']).is_empty();
    match alone {
        true => finished(outline, cut(outline, start, block.span.end), ""),
        false => finished(outline, block.content.end..block.span.end, ""),
    }
}

/// The block with its id; an item with what is nested under it.
fn whole(outline: &Outline<'_>, block: &BlockId) -> Range<usize> {
    let start = block.content.start;
    let end = block.span.end.max(block.content.end);
    if block.kind != BlockKind::Item {
        return start..end;
    }
    let item =
        outline.blocks.blocks.iter().find(|other| other.kind == BlockKind::Item && other.span.start == start);
    item.map_or(start..end, |item| start..filled(outline.text, item.span.clone()).end.max(end))
}

fn sibling(outline: &Outline<'_>, block: &BlockId, patch: &Patch) -> Result<Patched> {
    let given = trimmed(outline, patch.text()?);
    let span = whole(outline, block);
    patch.refuse_preexisting(&outline.text[span.clone()], &given)?;
    if given.is_empty() {
        return Err(section::preexists());
    }
    let start = line_start(outline, span.start);
    let prefix = &outline.text[start..span.start];
    let prefix = if prefix.trim_matches([' ', '\t', '>']).is_empty() { prefix } else { "" };
    let newline = outline.newline();
    let given = given.split('\n').collect::<Vec<_>>().join(&format!("\n{prefix}"));
    let gap = match block.kind {
        BlockKind::Item => format!("{newline}{prefix}"),
        _ => format!("{newline}{}{newline}{prefix}", prefix.trim_end()),
    };
    match patch.operation {
        Operation::Append => {
            let after = crate::note::outline::behind_line(outline.text, span.end);
            let free = block.kind == BlockKind::Item
                || after == outline.text.len()
                || starts_blank(&outline.text[after..]);
            let close = if free { "" } else { newline };
            finished(outline, span.end..span.end, &format!("{gap}{given}{close}"))
        }
        Operation::Prepend => finished(outline, span.start..span.start, &format!("{given}{gap}")),
        _ => finished(outline, span, &given),
    }
}

fn line_start(outline: &Outline<'_>, at: usize) -> usize {
    outline.text[outline.body..at].rfind(['\n', '\r']).map_or(outline.body, |end| outline.body + end + 1)
}
