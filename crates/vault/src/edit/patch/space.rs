//! Blank lines: where they are, where one is needed, and how a piece is taken out or put in without disturbing the rest.

use std::ops::Range;

use super::Patched;
use crate::edit::section::{is_atx, refuse_lost_headings, structure_broken};
use crate::error::Result;
use crate::note::blocks::Blocks;
use crate::note::outline::{Outline, Section, behind_line};

/// The lines of a span that hold text: from the start of the first to the end of the last, without its line end.
pub(super) fn filled(text: &str, span: Range<usize>) -> Range<usize> {
    let core = crate::note::outline::core(text, span.clone());
    if core.is_empty() {
        return core;
    }
    let end = text[core.end..span.end].find(['\n', '\r']).map_or(span.end, |at| core.end + at);
    core.start..end
}

/// Content without blank lines around it, with the note's line ends.
pub(super) fn trimmed(outline: &Outline<'_>, content: &str) -> String {
    let content = outline.with_newlines(content);
    content[crate::note::outline::core(&content, 0..content.len())].to_owned()
}

/// Whether content is what stands in the span, line ends and white space around it aside: then there is nothing to do.
pub(super) fn is_own(outline: &Outline<'_>, span: Range<usize>, content: &str) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n");
    let core = |text: &str| plain(&text[crate::note::outline::core(text, 0..text.len())]);
    core(&outline.text[span]) == core(content)
}

/// Whether the text starts with a blank line.
pub(super) fn starts_blank(text: &str) -> bool {
    let line = &text[..behind_line(text, 0)];
    line.ends_with(['\n', '\r']) && line.trim().is_empty()
}

/// Whether a line that holds text ends right before `at`.
pub(super) fn follows_text(outline: &Outline<'_>, at: usize) -> bool {
    let before = &outline.text[outline.body..at];
    let line = before.trim_end_matches(['\n', '\r']);
    let breaks = before[line.len()..].replace("\r\n", "\n").len();
    let last = &line[line.rfind(['\n', '\r']).map_or(0, |at| at + 1)..];
    breaks <= 1 && !last.trim().is_empty()
}

/// Whether the heading of a section ends right before `at`, blank lines aside.
pub(super) fn follows_heading(outline: &Outline<'_>, at: usize) -> bool {
    let end = outline.body + outline.text[outline.body..at].trim_end().len();
    let after = outline.sections.partition_point(|section| section.start < at);
    outline.sections[..after].last().is_some_and(|section| section.marker.end >= end)
}

/// The section whose first line starts at `at`.
pub(super) fn section_at<'a>(outline: &'a Outline<'_>, at: usize) -> Option<&'a Section> {
    let index = outline.sections.binary_search_by_key(&at, |section| section.start).ok()?;
    outline.sections.get(index)
}

/// Whether content starts, and whether it ends, with a heading.
pub(super) fn heading_edges(content: &str) -> (bool, bool) {
    let blocks = Blocks::scan(content, 0);
    let mut top = blocks.headings.iter().filter(|heading| heading.inside.is_none());
    let first = top.next();
    let last = top.next_back().or(first);
    let starts = first.is_some_and(|heading| content[..heading.span.start].trim().is_empty());
    (starts, last.is_some_and(|heading| content[heading.span.end..].trim().is_empty()))
}

/// Whether this note writes headings right under the text before them: told by the first that has text before it.
pub(super) fn flush_above(outline: &Outline<'_>) -> bool {
    let told = |section: &&Section| section.start > outline.body && !follows_heading(outline, section.start);
    outline.sections.iter().find(told).is_some_and(|section| follows_text(outline, section.start))
}

/// Whether this note writes text right under its headings: told by the first that has text.
pub(super) fn flush_below(outline: &Outline<'_>) -> bool {
    let text = outline.text;
    let mut bare = false;
    for section in &outline.sections {
        let start = section.content.start;
        if section_at(outline, start).is_some() {
            bare = true;
        } else if !text[section.content.clone()].trim().is_empty() {
            let own = filled(text, section.content.clone());
            if section_at(outline, own.start).is_none() {
                return own.start == start;
            }
        }
    }
    bare
}

/// The line end that a setext heading at `at` needs to stay one, if text would come right before it.
pub(super) fn apart_from_setext(outline: &Outline<'_>, at: usize) -> &'static str {
    match section_at(outline, at) {
        Some(section) if !is_atx(outline, section) => outline.newline(),
        _ => "",
    }
}

/// The bytes to cut so that the lines from `start` to `stop` go, and one of the two gaps around them.
pub(super) fn cut(outline: &Outline<'_>, start: usize, stop: usize) -> Range<usize> {
    let text = outline.text;
    let after = behind_line(text, stop);
    let kept = outline.body + text[outline.body..start].trim_end().len();
    let floor = if kept == outline.body { outline.body } else { behind_line(text, kept).min(start) };
    if start == outline.body {
        let mut end = after;
        while starts_blank(&text[end..]) {
            end = behind_line(text, end);
        }
        return start..end;
    }
    let flush = section_at(outline, after).is_some_and(|next| is_atx(outline, next));
    if after == text.len() || flush || starts_blank(&text[after..]) { floor..after } else { start..after }
}

/// Puts text in place of a span and makes sure that the front matter and all headings outside are what they were.
pub(super) fn finish(outline: &Outline<'_>, span: Range<usize>, put: &str) -> Result<String> {
    let text = format!("{}{put}{}", &outline.text[..span.start], &outline.text[span.end..]);
    let after = Outline::read(&text);
    let yaml = |outline: &Outline<'_>| outline.front.as_ref().map(|front| front.yaml.clone());
    if yaml(&after) != yaml(outline) {
        return Err(structure_broken());
    }
    refuse_lost_headings(outline, &span, &after)?;
    Ok(text)
}

/// The same without warnings.
pub(super) fn finished(outline: &Outline<'_>, span: Range<usize>, put: &str) -> Result<Patched> {
    Ok(Patched { text: finish(outline, span, put)?, warnings: Vec::new() })
}
