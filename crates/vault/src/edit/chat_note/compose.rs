//! What is added to a chat note: separators, headings, and text of a model that cannot pass for either.

use super::{COMMENT, COMMENT_END, ROLE, Role, SEPARATOR};
use crate::note::blocks::{BlockKind, Blocks};
use crate::note::front;

/// The heading of a message, e.g. `### role::assistant<span …> (model)</span>`. Level 0 has no `#`, more than 6 are 6.
pub fn heading(role: Role, level: u8, model: Option<&str>) -> String {
    let marks = "#".repeat(usize::from(level.min(6)));
    let gap = if marks.is_empty() { "" } else { " " };
    let role = match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Developer => "developer",
    };
    let small = model.map_or_else(String::new, |model| {
        format!("<span style=\"font-size: small;\"> ({})</span>", one_line(model))
    });
    format!("{marks}{gap}{ROLE}{role}{small}")
}

/// A separator and a heading, with a blank line after each.
pub fn opening(role: Role, level: u8, model: Option<&str>, newline: &str) -> String {
    format!("{SEPARATOR}{newline}{newline}{}{newline}{newline}", heading(role, level, model))
}

/// The line end of a note: CRLF if there is one.
pub fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// What must be put behind `text` so that a separator can follow: the end of a code block that was left open (or the separator
/// would be code), and line ends up to one blank line.
pub fn gap(text: &str) -> String {
    let newline = newline(text);
    let mut gap = String::new();
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let body = front::split(text).map_or(mark, |front| front.block.end);
    if let Some(fence) = open_fence(text, body) {
        if !text.ends_with('\n') {
            gap.push_str(newline);
        }
        gap.push_str(&fence);
        gap.push_str(newline);
        gap.push_str(newline);
        return gap;
    }
    if text[body..].trim().is_empty() {
        // Behind spaces a separator would be code.
        if !text[body..].is_empty() && !text.ends_with('\n') {
            gap.push_str(newline);
        }
        return gap;
    }
    let ended = text.len() - text.trim_end_matches(['\n', '\r']).len();
    let lines = text[text.len() - ended..].matches('\n').count();
    for _ in lines..2 {
        gap.push_str(newline);
    }
    gap
}

/// The fence that would close a code block that runs to the end of the text. One inside a list or a quote ends with it.
fn open_fence(text: &str, body: usize) -> Option<String> {
    let blocks = Blocks::scan(text, body);
    let end = text.trim_end().len();
    let last = blocks.blocks.iter().rev().find(|block| matches!(block.kind, BlockKind::Code(Some(_))))?;
    if last.parent.is_some() || last.span.end < end {
        return None;
    }
    let code = text[last.span.clone()].trim_end();
    let first = code.lines().next()?.trim_start();
    let mark = first.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = first.chars().take_while(|c| *c == mark).count();
    let closing = code.lines().skip(1).last().map(str::trim).unwrap_or_default();
    let closed = closing.chars().all(|c| c == mark) && closing.chars().count() >= count;
    (!closed).then(|| mark.to_string().repeat(count))
}

/// A model's text as it may stand in a note: it holds no separator and no comment mark that would count, so it can neither
/// speak for the user in the next turn nor hide a part of the chat. Line ends are those of the note.
pub fn defused(text: &str, newline: &str) -> String {
    let broken = |mark: &str| mark.replacen('-', "\\-", 1);
    let text = text
        .replace("\r\n", "\n")
        .replace(SEPARATOR, "&lt;hr class=\"__chatgpt_plugin\"&gt;")
        .replace(COMMENT, &broken(COMMENT))
        .replace(COMMENT_END, &broken(COMMENT_END))
        .replace('\0', "\u{fffd}");
    if newline == "\n" { text } else { text.replace('\n', newline) }
}

/// Lines about what was done, as a comment: people see them, no model is sent them.
pub fn comment(lines: &[String], newline: &str) -> String {
    let lines: Vec<String> = lines.iter().map(|line| defused(&one_line(line), newline)).collect();
    format!("{COMMENT}{newline}{}{newline}{COMMENT_END}", lines.join(newline))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['<', '>'], "")
}
