//! Native edits of one block in a heading's own text, named by its number.

use std::ops::Range;

use super::space::*;
use super::{Operation, Patch, Patched, Scope, levels, refusal, unsupported};
use crate::error::Result;
use crate::note::blocks::BlockKind;
use crate::note::outline::{Outline, behind_line};

/// Edits the block `patch.within` of the text in this span, which holds no heading.
pub(super) fn edit(outline: &Outline<'_>, own: Range<usize>, level: u8, patch: &Patch) -> Result<Patched> {
    let units = units(outline, &own);
    let unit = pick(&units, patch.within.unwrap_or(0))?;
    match (patch.scope, patch.operation) {
        (Scope::Content | Scope::MarkerAndContent, Operation::Delete) => {
            finished(outline, cut(outline, unit.text.start, unit.end), "")
        }
        (Scope::Content, _) => literal(outline, unit, patch),
        (Scope::MarkerAndContent, _) => sibling(outline, unit, level, patch),
        _ => Err(unsupported("a block")),
    }
}

/// A block, with the id that stands alone below it.
struct Unit {
    /// Its text, from the start of its first line.
    text: Range<usize>,
    /// The end of the id below it, or of the text.
    end: usize,
}

fn units(outline: &Outline<'_>, own: &Range<usize>) -> Vec<Unit> {
    let mut out: Vec<Unit> = Vec::new();
    let mut ids = outline.ids.iter().filter(|id| id.isolated).peekable();
    for block in outline.blocks.blocks.iter().filter(|block| block.parent.is_none()) {
        if !own.contains(&block.span.start) || matches!(block.kind, BlockKind::Heading(_)) {
            continue;
        }
        while ids.next_if(|id| id.span.start < block.span.start).is_some() {}
        let start = outline.text[own.start..block.span.start]
            .rfind(['\n', '\r'])
            .map_or(own.start, |at| own.start + at + 1);
        let end = filled(outline.text, start..block.span.end.min(own.end)).end;
        match (ids.peek(), out.last_mut()) {
            (Some(id), Some(last)) if id.span.start == block.span.start => last.end = end,
            _ => out.push(Unit { text: start..end, end }),
        }
    }
    out
}

fn pick(units: &[Unit], index: i64) -> Result<&Unit> {
    let found = match usize::try_from(index) {
        Ok(index) => units.get(index),
        Err(_) => usize::try_from(index.unsigned_abs())
            .ok()
            .and_then(|back| units.len().checked_sub(back))
            .and_then(|at| units.get(at)),
    };
    found.ok_or_else(|| {
        refusal(
            "section_target_missing",
            &format!("there is no block {index}: the heading's own text has {}", units.len()),
            "count from 0, or from the end with -1; blocks under sub-headings belong to those",
        )
    })
}

fn literal(outline: &Outline<'_>, unit: &Unit, patch: &Patch) -> Result<Patched> {
    let content = outline.with_newlines(patch.text()?);
    patch.refuse_preexisting(&outline.text[unit.text.clone()], &content)?;
    let span = match patch.operation {
        Operation::Prepend => unit.text.start..unit.text.start,
        Operation::Append => unit.text.end..unit.text.end,
        _ => unit.text.clone(),
    };
    finished(outline, span, &content)
}

fn sibling(outline: &Outline<'_>, unit: &Unit, level: u8, patch: &Patch) -> Result<Patched> {
    let newline = outline.newline();
    let text = outline.text;
    let given = trimmed(outline, patch.text()?);
    patch.refuse_preexisting(&text[unit.text.start..unit.end], &given)?;
    if given.is_empty() {
        return Err(crate::edit::section::preexists());
    }
    let leveled = levels::under(&given, level);
    let start = unit.text.start;
    let after = behind_line(text, unit.end);
    let open = if after == unit.end { newline } else { "" };
    let (span, put) = match patch.operation {
        Operation::Prepend => {
            let apart = follows_text(outline, start) && !follows_heading(outline, start);
            let apart = if apart { newline } else { "" };
            (start..start, format!("{apart}{}{newline}{newline}", leveled.text))
        }
        Operation::Append => {
            let free = after == text.len() || starts_blank(&text[after..]);
            let apart = if free { "" } else { newline };
            (after..after, format!("{open}{newline}{}{newline}{apart}", leveled.text))
        }
        _ => (start..unit.end, format!("{}{open}", leveled.text)),
    };
    Ok(Patched { text: finish(outline, span, &put)?, warnings: leveled.warnings })
}
