//! Section edits of the 1.x format: append to, prepend to or replace the content of a heading, a block or a property.
//!
//! Called by the tools that speak that format (patch, append, write with a section). Text goes where it is told, with no
//! line end added beyond the rules below; the native edits, which own white space, are in [`crate::edit::patch`].
//! Whatever the content, a heading that the edit is not about stays a heading on a line of its own (or the edit is refused),
//! CR and LF are not parted, and a CRLF note gets no lone LF.

pub(crate) mod table;

use std::ops::Range;

use serde_json::Value;

use crate::edit::front;
use crate::error::{Error, Result};
use crate::note::blocks::{BlockKind, Blocks, is_id};
use crate::note::outline::{Outline, Purpose, Section, Target};

/// One edit.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// What is edited.
    pub target: Target,
    /// What is done.
    pub operation: Operation,
    /// With what.
    pub content: Content,
    /// Make the heading, block or key if it is not there.
    pub create_target_if_missing: bool,
    /// Edit even if the content is in the target already.
    pub apply_if_content_preexists: bool,
    /// Cut the white space that the content would be put next to.
    pub trim_target_whitespace: bool,
}

/// What is done to the target's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Put the content at the end.
    Append,
    /// Put the content at the start.
    Prepend,
    /// Put the content in place of what is there.
    Replace,
}

/// What is put there.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Markdown, or the text of a property.
    Text(String),
    /// Rows of a table, or the value of a property.
    Json(Value),
}

impl Instruction {
    /// An instruction without any of the options.
    pub fn new(target: Target, operation: Operation, content: Content) -> Instruction {
        Instruction {
            target,
            operation,
            content,
            create_target_if_missing: false,
            apply_if_content_preexists: false,
            trim_target_whitespace: false,
        }
    }
}

/// The text after the edit.
pub fn apply(text: &str, instruction: &Instruction) -> Result<String> {
    let outline = Outline::read(text);
    match &instruction.target {
        Target::Front(key) => edit_property(&outline, key, instruction),
        Target::Block(id) => edit_block(&outline, id, instruction),
        Target::Heading(path) => edit_heading(&outline, path, instruction),
        Target::Root => {
            let content = markdown(&outline, instruction)?;
            edit_region(&outline, outline.body..text.len(), &content, instruction)
        }
    }
}

fn edit_heading(outline: &Outline<'_>, path: &[String], instruction: &Instruction) -> Result<String> {
    match outline.heading(path, Purpose::Write) {
        Ok(section) => {
            let content = markdown(outline, instruction)?;
            edit_region(outline, section.content.clone(), &content, instruction)
        }
        Err(error) if error.reason() == "section_target_missing" && instruction.create_target_if_missing => {
            create_heading(outline, path, &markdown(outline, instruction)?)
        }
        Err(error) => Err(error),
    }
}

fn edit_region(
    outline: &Outline<'_>,
    region: Range<usize>,
    content: &str,
    instruction: &Instruction,
) -> Result<String> {
    refuse_preexisting(&outline.text[region.clone()], content, instruction)?;
    match instruction.operation {
        Operation::Append => append(outline, region, content, instruction.trim_target_whitespace),
        Operation::Prepend => prepend(outline, region, content, instruction.trim_target_whitespace),
        Operation::Replace => replace(outline, region, content),
    }
}

fn append(outline: &Outline<'_>, region: Range<usize>, content: &str, trim: bool) -> Result<String> {
    let text = outline.text;
    let floor = behind_last_heading(outline, &region);
    let body = &text[floor..region.end];
    if trim {
        let end = floor + body.trim_end().len();
        return splice(outline, end..region.end, guarded(outline, region.end, content));
    }
    if region.end == text.len() {
        let end = floor + without_blank_lines(body);
        return splice(outline, end..region.end, content.to_owned());
    }
    if ends_in_blank_line(&text[region.clone()]) && !content.is_empty() {
        return splice(outline, region.end..region.end, padded(outline, content));
    }
    splice(outline, region.end..region.end, guarded(outline, region.end, content))
}

fn prepend(outline: &Outline<'_>, region: Range<usize>, content: &str, trim: bool) -> Result<String> {
    let body = &outline.text[region.clone()];
    let end = if trim { region.start + (body.len() - body.trim_start().len()) } else { region.start };
    splice(outline, region.start..end, guarded(outline, end, content))
}

fn replace(outline: &Outline<'_>, region: Range<usize>, content: &str) -> Result<String> {
    let blank = region.end < outline.text.len() && ends_in_blank_line(&outline.text[region.clone()]);
    let content = match (blank, content.is_empty()) {
        (true, true) => outline.newline().to_owned(),
        (true, false) => padded(outline, content),
        (false, _) => guarded(outline, region.end, content),
    };
    splice(outline, region, content)
}

/// Adds the headings that are not there yet under the deepest one that is.
fn create_heading(outline: &Outline<'_>, path: &[String], content: &str) -> Result<String> {
    let known = (1..path.len())
        .rev()
        .find_map(|count| outline.exact_heading(&path[..count]).map(|section| (count, section)));
    let (count, level, at) = match known {
        Some((count, section)) => (count, section.level, section.content.end),
        None => (0, 0, outline.text.len()),
    };
    let before = &outline.text[..at];
    let begun = at > bom(before) && !before.ends_with(['\n', '\r']);
    let mut added = String::from(if begun { outline.newline() } else { "" });
    for (depth, name) in (1..).zip(&path[count..]) {
        added.push_str(&heading_line(usize::from(level) + depth, name)?);
        added.push_str(outline.newline());
    }
    added.push_str(content);
    put(outline, at..at, &guarded(outline, at, &added))
}

/// `## name`, or a refusal if that would not be read as a heading of this name.
pub(crate) fn heading_line(level: usize, name: &str) -> Result<String> {
    let name = name.trim();
    if level > 6 {
        return Err(Error::Edit {
            reason: "heading_too_deep",
            message: format!("`{name}` would be a heading of level {level}; Markdown ends at 6"),
            hint: "put it under a heading further up".to_owned(),
            candidates: Vec::new(),
        });
    }
    let line = format!("{} {name}", "#".repeat(level));
    match Blocks::scan(&line, 0).headings.as_slice() {
        [heading] if heading.text == name && !name.is_empty() && !name.contains(['\n', '\r']) => Ok(line),
        _ => Err(Error::Edit {
            reason: "heading_invalid",
            message: format!("`{name}` cannot be the text of a heading"),
            hint: "use one line of text that does not end in ` #`".to_owned(),
            candidates: Vec::new(),
        }),
    }
}

fn edit_block(outline: &Outline<'_>, id: &str, instruction: &Instruction) -> Result<String> {
    let block = match outline.block(id, Purpose::Write) {
        Ok(block) => block,
        Err(_) if instruction.create_target_if_missing => {
            return create_block(outline, id, &markdown(outline, instruction)?);
        }
        Err(error) => return Err(error),
    };
    let content = match &instruction.content {
        Content::Text(content) => outline.with_newlines(content),
        Content::Json(rows) if block.kind == BlockKind::Table => {
            let rows = table::Rows::read(outline.text, &block.content, rows)?;
            return Ok(table::edit(outline, &block.content, &rows, instruction.operation));
        }
        Content::Json(_) => return Err(wrong_content("only a table takes rows as JSON")),
    };
    refuse_preexisting(&outline.text[block.content.clone()], &content, instruction)?;
    let region = block.content.clone();
    let span = match instruction.operation {
        Operation::Append if block.kind == BlockKind::Table => {
            // Behind the line end: text on the last row's own line would be part of its last cell.
            let behind = behind_line_end(outline.text, region.end);
            behind..behind
        }
        Operation::Append => region.end..region.end,
        Operation::Prepend if instruction.trim_target_whitespace => {
            let body = &outline.text[region.clone()];
            region.start..region.start + (body.len() - body.trim_start().len())
        }
        Operation::Prepend => region.start..region.start,
        Operation::Replace => region,
    };
    put(outline, span, &content)
}

fn create_block(outline: &Outline<'_>, id: &str, content: &str) -> Result<String> {
    if !is_id(id) {
        return Err(invalid_id(id));
    }
    if content.trim().is_empty() {
        return Err(preexists());
    }
    let newline = outline.newline();
    // Without this, the content would go on with the last paragraph, and the id would name both.
    let end = if outline.text.is_empty() || outline.text.ends_with('\n') { "" } else { newline };
    Ok(format!("{}{end}{newline}{content}{newline}{newline}^{id}", outline.text))
}

fn edit_property(outline: &Outline<'_>, key: &str, instruction: &Instruction) -> Result<String> {
    let value = match &instruction.content {
        Content::Text(text) => Value::String(text.clone()),
        Content::Json(value) => value.clone(),
    };
    let place = match instruction.operation {
        Operation::Append => front::Place::Append,
        Operation::Prepend => front::Place::Prepend,
        Operation::Replace => {
            if !instruction.create_target_if_missing {
                outline.front_value(key, Purpose::Write)?;
            }
            return front::set(outline.text, key, &value);
        }
    };
    match outline.front_value(key, Purpose::Write) {
        Ok(_) => front::merge(outline.text, key, &value, place),
        Err(error) if error.reason() != "section_target_missing" => Err(error),
        Err(error) if !instruction.create_target_if_missing => Err(error),
        Err(_) if value.is_array() || value.is_object() || value.is_string() => {
            front::set(outline.text, key, &value)
        }
        Err(_) => Err(Error::Edit {
            reason: "content_not_mergeable",
            message: format!("there is no `{key}` to which {value} could be added"),
            hint: "use replace to set a number, a boolean or null".to_owned(),
            candidates: Vec::new(),
        }),
    }
}

fn markdown(outline: &Outline<'_>, instruction: &Instruction) -> Result<String> {
    match &instruction.content {
        Content::Text(content) => Ok(outline.with_newlines(content)),
        Content::Json(_) => Err(wrong_content("a heading takes Markdown")),
    }
}

fn refuse_preexisting(region: &str, content: &str, instruction: &Instruction) -> Result<()> {
    if instruction.apply_if_content_preexists || !region.contains(content.trim()) {
        return Ok(());
    }
    Err(preexists())
}

pub(crate) fn preexists() -> Error {
    Error::Edit {
        reason: "content_preexists",
        message: "the target holds this content already, or the content is empty".to_owned(),
        hint: "change the content, or say that it is to be written all the same".to_owned(),
        candidates: Vec::new(),
    }
}

pub(crate) fn wrong_content(what: &str) -> Error {
    Error::Edit {
        reason: "content_type_invalid",
        message: format!("this target does not take such content: {what}"),
        hint: "give Markdown for headings and blocks, rows as JSON for tables, a JSON value for properties"
            .to_owned(),
        candidates: Vec::new(),
    }
}

pub(crate) fn invalid_id(id: &str) -> Error {
    Error::Edit {
        reason: "block_id_invalid",
        message: format!("`{id}` cannot be a block id"),
        hint: "use Latin letters, digits and `-`".to_owned(),
        candidates: Vec::new(),
    }
}

/// Replaces the span; what goes in always starts on a new line if it stands behind a heading or the front matter.
fn splice(outline: &Outline<'_>, span: Range<usize>, content: String) -> Result<String> {
    let before = &outline.text[..span.start];
    let ends_heading =
        span.start == outline.body || outline.sections.iter().any(|s| s.content.start == span.start);
    let open = ends_heading && span.start > bom(before) && !before.ends_with(['\n', '\r']);
    let newline = if open && !content.is_empty() { outline.newline() } else { "" };
    put(outline, span, &format!("{newline}{content}"))
}

/// Replaces the span, or refuses if headings outside of it would be lost.
fn put(outline: &Outline<'_>, span: Range<usize>, content: &str) -> Result<String> {
    let text = format!("{}{content}{}", &outline.text[..span.start], &outline.text[span.end..]);
    refuse_lost_headings(outline, &span, &Outline::read(&text))?;
    Ok(text)
}

/// All headings before and behind the span must be there after the edit, each at its own place.
pub(crate) fn refuse_lost_headings(
    outline: &Outline<'_>,
    span: &Range<usize>,
    after: &Outline<'_>,
) -> Result<()> {
    let (old, new) = (&outline.sections, &after.sections);
    let head = old.partition_point(|section| section.start < span.start);
    let tail = old.len() - old.partition_point(|section| section.start < span.end);
    let same = |old: &Section, new: &Section| old.level == new.level && old.label == new.label;
    let (length, grown) = (outline.text.len(), after.text.len());
    let kept = new.len() >= head + tail
        && old[..head].iter().zip(new).all(|(old, new)| same(old, new) && old.start == new.start)
        && old[old.len() - tail..]
            .iter()
            .zip(&new[new.len() - tail..])
            .all(|(old, new)| same(old, new) && length - old.start == grown - new.start);
    if kept { Ok(()) } else { Err(structure_broken()) }
}

pub(crate) fn structure_broken() -> Error {
    Error::Edit {
        reason: "structure_broken",
        message: "with this content, headings or properties outside of the target would be lost".to_owned(),
        hint: "close every code fence, comment and HTML block in the content, and do not start a note with `---`"
            .to_owned(),
        candidates: Vec::new(),
    }
}

fn bom(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// The content, ended so that a heading which starts at `at` stays a heading.
fn guarded(outline: &Outline<'_>, at: usize, content: &str) -> String {
    let Some(next) =
        outline.sections.iter().find(|section| section.start == at || section.marker.start == at)
    else {
        return content.to_owned();
    };
    if content.is_empty() || (content.ends_with('\n') && is_atx(outline, next)) {
        return content.to_owned();
    }
    match is_atx(outline, next) {
        true => format!("{content}{}", outline.newline()),
        // Over `Title` and `===`, any line of text would become part of the title.
        false => padded(outline, content),
    }
}

/// Whether the heading is of the `#` kind.
pub(crate) fn is_atx(outline: &Outline<'_>, section: &Section) -> bool {
    let marker = &outline.text[section.marker.clone()];
    let hashes = marker.len() - marker.trim_start_matches('#').len();
    hashes == usize::from(section.level)
        && !marker.contains('\n')
        && !marker[hashes..].starts_with(|c: char| !c.is_whitespace())
}

/// The content, ended by one blank line at least.
fn padded(outline: &Outline<'_>, content: &str) -> String {
    let newline = outline.newline();
    let open = match content.strip_suffix(newline) {
        Some(rest) if rest.ends_with(newline) => 0,
        Some(_) => 1,
        None => 2,
    };
    format!("{content}{}", newline.repeat(open))
}

fn behind_last_heading(outline: &Outline<'_>, region: &Range<usize>) -> usize {
    let after = outline.sections.partition_point(|section| section.start < region.end);
    let last = outline.sections[..after].last().map_or(region.start, |section| section.content.start);
    last.clamp(region.start, region.end)
}

fn ends_in_blank_line(region: &str) -> bool {
    let Some(rest) = region.strip_suffix('\n') else { return false };
    rest.rfind('\n').map_or(rest, |at| &rest[at + 1..]).trim().is_empty()
}

/// Length without the blank lines at the end.
fn without_blank_lines(body: &str) -> usize {
    let text = body.trim_end().len();
    if text == 0 { 0 } else { text + body[text..].find('\n').map_or(body.len() - text, |at| at + 1) }
}

fn behind_line_end(text: &str, at: usize) -> usize {
    match &text[at..] {
        rest if rest.starts_with("\r\n") => at + 2,
        rest if rest.starts_with('\n') => at + 1,
        _ => at,
    }
}

#[cfg(test)]
mod tests;
