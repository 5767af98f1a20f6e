//! Tags in the body: added on a last line, removed with the one space that belonged to them, renamed in place.
//!
//! Called by [`super`] only, with names that are valid.

use std::ops::Range;

use crate::edit::replace::line_end;
use crate::error::{Error, Result};
use crate::note::{self, tags::Tag};

/// The tags in the body, in order.
pub(super) fn tags(text: &str) -> Vec<Tag> {
    note::parse(text).tags.into_iter().filter(|tag| !tag.in_front).collect()
}

/// The text with the tags on a new last line.
pub(super) fn add(text: &str, new: &[String]) -> Result<String> {
    if new.is_empty() {
        return Ok(text.to_owned());
    }
    let end = line_end(text);
    let line = new.iter().map(|tag| format!("#{tag}")).collect::<Vec<_>>().join(" ");
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    // At the end of an HTML block or a table the line would belong to it: then a blank line goes first.
    for gap in [gap.to_owned(), format!("{gap}{end}")] {
        let candidate = format!("{text}{gap}{line}{end}");
        let found = tags(&candidate);
        if new
            .iter()
            .all(|tag| found.iter().any(|found| found.span.start >= text.len() && found.name == *tag))
        {
            return Ok(candidate);
        }
    }
    Err(Error::Edit {
        reason: "tag_unreachable",
        message: "at the end of this note a tag would not count: code or a comment is not closed".to_owned(),
        hint: "close it first, or add the tag to the front matter".to_owned(),
        candidates: Vec::new(),
    })
}

/// The text without the tags that `goes` names.
pub(super) fn remove(text: &str, goes: impl Fn(&str) -> bool) -> String {
    let spans: Vec<Range<usize>> =
        tags(text).into_iter().filter(|tag| goes(&tag.name)).map(|tag| tag.span).collect();
    // From the back, so that a tag sees what is left behind it: in `x #a #b` both take the space before them.
    let mut cuts: Vec<Range<usize>> = Vec::new();
    for span in spans.into_iter().rev() {
        let mut cut = span;
        if let Some(next) = cuts.last().filter(|next| next.start <= cut.end) {
            cut.end = cut.end.max(next.end);
            cuts.pop();
        }
        cuts.push(with_space(text, cut));
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for cut in cuts.into_iter().rev() {
        out.push_str(&text[copied..cut.start]);
        copied = cut.end;
    }
    out.push_str(&text[copied..]);
    out
}

/// The text with each tag under the name that `change` gives it.
pub(super) fn rename(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for tag in tags(text) {
        if let Some(name) = change(&tag.name) {
            out.push_str(&text[copied..tag.span.start]);
            out.push('#');
            out.push_str(&name);
            copied = tag.span.end;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// The tag with its space: the one behind it, or before it at the end of a line. Alone on its line it takes the line.
fn with_space(text: &str, cut: Range<usize>) -> Range<usize> {
    let after = &text[cut.end..];
    let rest = after.trim_start_matches([' ', '\t']);
    let ends_line = rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n");
    if !ends_line {
        let space = usize::from(rest.len() < after.len());
        return cut.start..cut.end + space;
    }
    let line_start = text[..cut.start].rfind('\n').map_or(0, |found| found + 1);
    let before = &text[line_start..cut.start];
    if before.trim().is_empty() {
        return line_start..rest.find('\n').map_or(text.len(), |found| text.len() - rest.len() + found + 1);
    }
    if before.ends_with([' ', '\t']) && !is_marker(before) { cut.start - 1..cut.end } else { cut }
}

/// Quote marks, a list marker, a task box, heading signs: the space behind them is theirs.
fn is_marker(before: &str) -> bool {
    let rest = before.trim_start_matches([' ', '\t', '>']).trim_end();
    let (marker, task) = rest.split_once(' ').unwrap_or((rest, ""));
    let number = marker.strip_suffix(['.', ')']).unwrap_or("");
    let list = matches!(marker, "-" | "*" | "+")
        || (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    let heading = task.is_empty() && marker.bytes().all(|b| b == b'#');
    let boxed = task.len() >= 3 && task.starts_with('[') && task.ends_with(']') && task.chars().count() == 3;
    heading || (list && (task.is_empty() || boxed))
}
