//! Native edits of a heading: its content, its name, the whole section, its place in the note.

use std::ops::Range;

use super::space::*;
use super::{
    Address, Destination, Operation, Patch, Patched, Place, Scope, levels, refusal, unsupported, within,
};
use crate::edit::section::{heading_line, is_atx};
use crate::error::Result;
use crate::note::outline::{Outline, Purpose, Section, Target, TargetKind, behind_line, label};

/// Edits the whole body.
pub(super) fn edit_root(outline: &Outline<'_>, patch: &Patch) -> Result<Patched> {
    let region = outline.body..outline.text.len();
    if patch.within.is_some() {
        let end = outline.sections.first().map_or(region.end, |section| section.start);
        return within::edit(outline, region.start..end, 0, patch);
    }
    match patch.scope {
        Scope::Content => content(outline, region, 0, patch),
        _ => Err(unsupported("the whole note")),
    }
}

/// Edits one section.
pub(super) fn edit(outline: &Outline<'_>, path: &[String], patch: &Patch) -> Result<Patched> {
    let section = match outline.heading(path, Purpose::Write) {
        Ok(section) => section,
        Err(error) if error.reason() == "section_target_missing" && creates(patch) => {
            return create(outline, path, patch);
        }
        Err(error) => return Err(error),
    };
    if patch.within.is_some() {
        let after = outline.sections.partition_point(|other| other.start <= section.start);
        let end = outline.sections.get(after).map_or(section.content.end, |next| next.start);
        return within::edit(
            outline,
            section.content.start..end.min(section.content.end),
            section.level,
            patch,
        );
    }
    match (patch.scope, patch.operation) {
        (Scope::Content, _) => content(outline, section.content.clone(), section.level, patch),
        (Scope::Marker, Operation::Replace) => rename(outline, section, patch.text()?),
        (Scope::Marker, Operation::Delete) => dissolve(outline, section),
        (Scope::MarkerAndContent, Operation::Delete) => delete(outline, section),
        (Scope::MarkerAndContent, _) => whole(outline, section, patch),
        (Scope::Parent, Operation::Replace) => match &patch.destination {
            Some(destination) => relocate(outline, section, destination, patch),
            None => Err(unsupported("a heading")),
        },
        _ => Err(unsupported("a heading")),
    }
}

fn creates(patch: &Patch) -> bool {
    patch.create_target_if_missing
        && patch.scope == Scope::Content
        && patch.operation != Operation::Delete
        && patch.within.is_none()
}

fn content(outline: &Outline<'_>, region: Range<usize>, level: u8, patch: &Patch) -> Result<Patched> {
    let text = outline.text;
    let core = filled(text, region.clone());
    if patch.operation == Operation::Delete {
        return clear(outline, region, core);
    }
    let given = trimmed(outline, patch.text()?);
    patch.refuse_preexisting(&text[region.clone()], &given)?;
    if given.is_empty() && patch.operation == Operation::Replace {
        return clear(outline, region, core);
    }
    let own = patch.operation == Operation::Replace && is_own(outline, core.clone(), &given);
    if given.is_empty() || own {
        return Ok(Patched { text: text.to_owned(), warnings: Vec::new() });
    }
    let leveled = levels::under(&given, level);
    let (span, put) = match patch.operation {
        _ if core.is_empty() => first_content(outline, region, &leveled.text),
        Operation::Append => behind(outline, core, region.end, &leveled.text),
        Operation::Prepend => (core.start..core.start, in_front(outline, core.start, &leveled.text)),
        _ => {
            let end = if core.end == text.len() { outline.newline() } else { "" };
            (core, format!("{}{end}", leveled.text))
        }
    };
    Ok(Patched { text: finish(outline, span, &put)?, warnings: leveled.warnings })
}

/// Takes the content away; one gap before the next heading stays.
fn clear(outline: &Outline<'_>, region: Range<usize>, core: Range<usize>) -> Result<Patched> {
    let text = outline.text;
    if core.is_empty() {
        return Ok(Patched { text: text.to_owned(), warnings: Vec::new() });
    }
    let after = behind_line(text, core.end).min(region.end);
    let span =
        if after == region.end && region.end < text.len() { core.start..after } else { region.start..after };
    finished(outline, span, "")
}

/// Content for a section that has none: a gap as this note has it, the same gap again before the next heading.
fn first_content(outline: &Outline<'_>, region: Range<usize>, content: &str) -> (Range<usize>, String) {
    let newline = outline.newline();
    let gap = &outline.text[region.clone()];
    let before = &outline.text[..region.start];
    let begun = region.start > outline.body && !before.ends_with(['\n', '\r']);
    let open = if begun || (region.start == outline.body && before.ends_with('-')) { newline } else { "" };
    let last = region.end == outline.text.len();
    let lead = match () {
        () if !gap.is_empty() && gap.ends_with('\n') => gap,
        () if region.start == outline.body || !last || flush_below(outline) => "",
        () => newline,
    };
    let tail = match (last, starts_blank(gap)) {
        (true, _) => "",
        (false, true) => gap,
        (false, false) => apart_from_setext(outline, region.end),
    };
    (region, format!("{open}{lead}{content}{newline}{tail}"))
}

/// Content behind the lines that end at `core.end`; `end` is where the next heading starts.
fn behind(outline: &Outline<'_>, core: Range<usize>, end: usize, content: &str) -> (Range<usize>, String) {
    let text = outline.text;
    let newline = outline.newline();
    let at = behind_line(text, core.end);
    let last = end == text.len();
    let flush = match last {
        true => flush_above(outline),
        false => !starts_blank(&text[at..end]),
    };
    let (starts, _) = heading_edges(content);
    let setext = starts && !content.starts_with('#');
    let meets_heading = starts || follows_heading(outline, core.end);
    let gap = if meets_heading && flush && !setext { "" } else { newline };
    // The line before keeps its own line end, which in a mixed note need not be ours.
    let open = if at == core.end { newline } else { "" };
    let apart = if flush && !last { apart_from_setext(outline, end) } else { "" };
    (at..at, format!("{open}{gap}{content}{newline}{apart}"))
}

/// Content in front of the line at `at`, which holds text or a heading.
fn in_front(outline: &Outline<'_>, at: usize, content: &str) -> String {
    let newline = outline.newline();
    let (_, ends) = heading_edges(content);
    let next = section_at(outline, at);
    let setext = next.is_some_and(|section| !is_atx(outline, section));
    let flush = (ends || next.is_some()) && follows_text(outline, at) && !setext;
    let gap = if flush { "" } else { newline };
    format!("{content}{newline}{gap}")
}

fn create(outline: &Outline<'_>, path: &[String], patch: &Patch) -> Result<Patched> {
    let known = (1..path.len())
        .rev()
        .find_map(|count| outline.exact_heading(&path[..count]).map(|section| (count, section)));
    let (count, level, region) = match known {
        Some((count, section)) => (count, section.level, section.content.clone()),
        None => (0, 0, outline.body..outline.text.len()),
    };
    let newline = outline.newline();
    let gap = if flush_below(outline) { newline.to_owned() } else { newline.repeat(2) };
    let mut pieces = Vec::new();
    for (depth, name) in (1..).zip(&path[count..]) {
        pieces.push(heading_line(usize::from(level) + depth, name)?);
    }
    let given = trimmed(outline, patch.text()?);
    let depth = level as usize + pieces.len() + 1;
    let leveled = levels::rebase(&given, u8::try_from(depth).unwrap_or(7));
    if !given.is_empty() {
        pieces.push(leveled.text);
    }
    let added = pieces.join(&gap);
    let core = filled(outline.text, region.clone());
    let (span, put) = match core.is_empty() {
        true => first_content(outline, region, &added),
        false => behind(outline, core, region.end, &added),
    };
    Ok(Patched { text: finish(outline, span, &put)?, warnings: leveled.warnings })
}

/// A new text for the heading; level, style and block id stay.
fn rename(outline: &Outline<'_>, section: &Section, name: &str) -> Result<Patched> {
    let name = name.trim();
    let invalid = || {
        refusal(
            "heading_invalid",
            "this cannot be the text of this heading",
            "use one line of text, without `#` in front",
        )
    };
    if name.is_empty() || name.contains(['\n', '\r']) {
        return Err(invalid());
    }
    let marker = &outline.text[section.marker.clone()];
    let start = match is_atx(outline, section) {
        true => {
            let rest = marker.trim_start_matches('#');
            section.marker.end - rest.trim_start().len()
        }
        false => section.marker.start,
    };
    let raw = outline.blocks.headings.iter().find(|heading| heading.span == section.marker);
    let span = start..start + raw.map_or(0, |heading| heading.text.len());
    let id = outline.ids.iter().find(|id| !id.isolated && span.contains(&id.span.start));
    let kept = id.map_or("", |id| &outline.text[id.content.end..id.span.end]);
    let space = if is_atx(outline, section) && marker.ends_with('#') && span.is_empty() { " " } else { "" };
    let whole = section.start..section.marker.end;
    let head = &outline.text[whole.start..span.start];
    let tail = &outline.text[span.end..whole.end];
    let text = finish(outline, whole, &format!("{head}{space}{name}{kept}{tail}"))?;
    let after = Outline::read(&text);
    let wanted = label(&format!("{name}{kept}"));
    match section_at(&after, section.start) {
        Some(found) if found.level == section.level && found.label == wanted => {
            Ok(Patched { text, warnings: Vec::new() })
        }
        _ => Err(invalid()),
    }
}

/// Takes the heading's line away; what stood under it belongs to the section before.
fn dissolve(outline: &Outline<'_>, section: &Section) -> Result<Patched> {
    let core = filled(outline.text, section.content.clone());
    if core.is_empty() {
        return delete(outline, section);
    }
    let open = match section_at(outline, core.start) {
        None => opening(outline, section.start, "text"),
        Some(_) => "",
    };
    finished(outline, section.start..core.start, open)
}

fn delete(outline: &Outline<'_>, section: &Section) -> Result<Patched> {
    let lines = filled(outline.text, section.start..section.content.end);
    finished(outline, cut(outline, section.start, lines.end), "")
}

/// Replace the section, or put a sibling before or behind it.
fn whole(outline: &Outline<'_>, section: &Section, patch: &Patch) -> Result<Patched> {
    let text = outline.text;
    let given = trimmed(outline, patch.text()?);
    patch.refuse_preexisting(&text[section.start..section.content.end], &given)?;
    let lines = filled(text, section.start..section.content.end);
    if given.is_empty() {
        return match patch.operation {
            Operation::Replace => delete(outline, section),
            _ => Ok(Patched { text: text.to_owned(), warnings: Vec::new() }),
        };
    }
    if patch.operation == Operation::Replace && is_own(outline, lines.clone(), &given) {
        return Ok(Patched { text: text.to_owned(), warnings: Vec::new() });
    }
    let leveled = levels::rebase(&given, section.level);
    let (span, put) = match patch.operation {
        Operation::Append => behind(outline, lines, section.content.end, &leveled.text),
        Operation::Prepend => before(outline, section.start, &leveled.text),
        _ => {
            let close = if lines.end == text.len() { outline.newline() } else { "" };
            let open = opening(outline, section.start, &leveled.text);
            (lines, format!("{open}{}{close}", leveled.text))
        }
    };
    Ok(Patched { text: finish(outline, span, &put)?, warnings: leveled.warnings })
}

/// Content before the section that starts at `at`.
fn before(outline: &Outline<'_>, at: usize, content: &str) -> (Range<usize>, String) {
    (at..at, format!("{}{}", opening(outline, at, content), in_front(outline, at, content)))
}

/// The line end without which content at `at` would run on from the text before.
fn opening(outline: &Outline<'_>, at: usize, content: &str) -> &'static str {
    let text_before = follows_text(outline, at) && !follows_heading(outline, at);
    let runs_on = text_before && !(heading_edges(content).0 && content.starts_with('#'));
    if runs_on { outline.newline() } else { "" }
}

/// Moves the section: puts it where it goes, then takes it away from where it was.
fn relocate(outline: &Outline<'_>, section: &Section, to: &Destination, patch: &Patch) -> Result<Patched> {
    let parent = find(outline, &to.parent, patch)?;
    let anchor = match &to.place {
        Place::Before(address) | Place::After(address) => find(outline, address, patch)?,
        Place::First | Place::Last => None,
    };
    refuse_destination(outline, section, parent, anchor)?;
    let lines = filled(outline.text, section.start..section.content.end);
    let leveled = levels::rebase(&outline.text[lines], parent.map_or(1, |parent| parent.level + 1));
    let region = parent.map_or(outline.body..outline.text.len(), |parent| parent.content.clone());
    let (span, put) = match (&to.place, anchor) {
        (Place::Before(_), Some(anchor)) => before(outline, anchor.start, &leveled.text),
        (Place::After(_), Some(anchor)) => {
            let lines = filled(outline.text, anchor.start..anchor.content.end);
            behind(outline, lines, anchor.content.end, &leveled.text)
        }
        (Place::First, _) => first_child(outline, parent, region, &leveled.text),
        _ => last_child(outline, region, &leveled.text),
    };
    let start = match span.start <= section.start {
        true => (section.start + put.len()).saturating_sub(span.len()),
        false => section.start,
    };
    let text = finish(outline, span, &put)?;
    let moved = Outline::read(&text);
    match section_at(&moved, start) {
        Some(old) => Ok(Patched { text: delete(&moved, old)?.text, warnings: leveled.warnings }),
        None => Err(unsupported("this heading")),
    }
}

fn refuse_destination(
    outline: &Outline<'_>,
    section: &Section,
    parent: Option<&Section>,
    anchor: Option<&Section>,
) -> Result<()> {
    let own = section.start..section.content.end.max(section.start + 1);
    if [parent, anchor].into_iter().flatten().any(|other| own.contains(&other.start)) {
        let message = "a section cannot go under or beside itself";
        return Err(refusal("move_into_itself", message, "name another heading"));
    }
    let start_of = |section: &Section| section.start;
    let above = |anchor: &Section| anchor.parent.map(|index| start_of(&outline.sections[index]));
    if anchor.is_some_and(|anchor| above(anchor) != parent.map(start_of)) {
        let message = "the sibling is not under that parent";
        return Err(refusal("edit_unsupported", message, "name the sibling's own parent"));
    }
    Ok(())
}

fn first_child(
    outline: &Outline<'_>,
    parent: Option<&Section>,
    region: Range<usize>,
    content: &str,
) -> (Range<usize>, String) {
    let from =
        parent.map_or(0, |parent| outline.sections.partition_point(|other| other.start <= parent.start));
    match outline.sections.get(from).filter(|child| child.start < region.end) {
        Some(child) => before(outline, child.start, content),
        None => last_child(outline, region, content),
    }
}

fn last_child(outline: &Outline<'_>, region: Range<usize>, content: &str) -> (Range<usize>, String) {
    let core = filled(outline.text, region.clone());
    match core.is_empty() {
        true => first_content(outline, region, content),
        false => behind(outline, core, region.end, content),
    }
}

fn find<'a>(outline: &'a Outline<'_>, address: &Address, patch: &Patch) -> Result<Option<&'a Section>> {
    match patch.target(TargetKind::Heading, address)? {
        Target::Heading(path) => outline.heading(&path, Purpose::Write).map(Some),
        _ => Ok(None),
    }
}
