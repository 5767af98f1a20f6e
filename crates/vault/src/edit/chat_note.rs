//! A chat that lives in a note: its messages with their roles, and the texts that part them.
//!
//! The form is that of an Obsidian plugin that people have thousands of notes of: messages are parted by one literal `<hr>` tag,
//! each may begin with a heading `### role::user`. Reading is here, what is added to a note is in [`compose`], how an answer
//! grows in a note that somebody else types into is in [`grow`]. Deliberately not here: settings, links, models.

pub mod compose;
pub mod grow;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::error::{Error, Result};
use crate::note::blocks::Blocks;
use crate::note::front;

/// What parts two messages. It does not count inside code.
pub const SEPARATOR: &str = "<hr class=\"__chatgpt_plugin\">";
/// What stands in front of a role in a heading.
pub const ROLE: &str = "role::";
/// Where a comment begins, which is never sent.
pub const COMMENT: &str = "=begin-chatgpt-md-comment";
/// Where it ends.
pub const COMMENT_END: &str = "=end-chatgpt-md-comment";

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// Whoever made the chat: what holds for all of it.
    Developer,
}

/// A chat note, read.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatNote<'t> {
    /// Everything in front of the first message: a byte order mark, the front matter.
    pub head: &'t str,
    /// The messages, in order. A note without a separator has one.
    pub parts: Vec<Part<'t>>,
}

/// One message as it stands in the note.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<'t> {
    /// All bytes between two separators.
    pub raw: &'t str,
    /// Who says it.
    pub role: Role,
    /// The heading's line, if it has one.
    pub heading: Option<&'t str>,
    /// What is said: without heading, comments and blank lines around it.
    pub text: String,
    /// The line in the note where it begins, from 1.
    pub line: usize,
}

impl<'t> ChatNote<'t> {
    /// Reads a note as a chat. Front matter that is never closed, a heading with a role that does not exist and a comment
    /// that is never closed are errors: guessing would send what was not meant to be sent.
    pub fn read(text: &'t str) -> Result<ChatNote<'t>> {
        if front::split(text).is_none() && front::is_left_open(text) {
            return Err(error(
                "frontmatter_open",
                "the front matter is not closed".to_owned(),
                "put a line `---` under its last key",
            ));
        }
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let body = front::split(text).map_or(mark, |front| front.block.end);
        let blocks = Blocks::scan(text, body);
        let mut line = 1 + newlines(&text[..body]);
        let mut parts = Vec::new();
        for span in spans(text, body, &blocks) {
            let raw = &text[span.clone()];
            parts.push(Part::read(text, span, &blocks, line)?);
            line += newlines(raw);
        }
        Ok(ChatNote { head: &text[..body], parts })
    }

    /// The note again, byte for byte.
    pub fn compose(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| part.raw).collect();
        format!("{}{}", self.head, parts.join(SEPARATOR))
    }

    /// What is said in the chat, without what makes it one: for a note that links to it.
    pub fn plain(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().map(|part| part.text.trim()).collect();
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

impl<'t> Part<'t> {
    /// `line` is the one in which the span begins: counting from the top for each message would be quadratic.
    fn read(text: &'t str, span: Range<usize>, blocks: &Blocks, line: usize) -> Result<Part<'t>> {
        let raw = &text[span.clone()];
        let blank = raw.len() - raw.trim_start().len();
        let start = span.start + blank;
        let first = text[start..span.end].lines().next().unwrap_or_default();
        let line = line + newlines(&text[span.start..start]);
        let (role, heading) = match role_of(first) {
            None => (Role::User, None),
            Some(Ok(role)) => (role, Some(first)),
            Some(Err(name)) => {
                return Err(error(
                    "chat_role_unknown",
                    format!("line {line}: there is no role `{}`", name.chars().take(40).collect::<String>()),
                    "the roles are user, assistant and developer; what holds for all of it goes into system_commands",
                ));
            }
        };
        let content = start + heading.map_or(0, str::len)..span.end;
        Ok(Part { raw, role, heading, text: without_comments(text, content, blocks)?, line })
    }
}

/// The bytes of each message. The separator counts anywhere but in code.
fn spans(text: &str, body: usize, blocks: &Blocks) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut start = body;
    for at in separators(text, body, blocks) {
        spans.push(start..at);
        start = at + SEPARATOR.len();
    }
    spans.push(start..text.len());
    spans
}

/// Where the separators stand.
fn separators<'a>(text: &'a str, from: usize, blocks: &'a Blocks) -> impl Iterator<Item = usize> + 'a {
    text[from..].match_indices(SEPARATOR).map(move |(at, _)| from + at).filter(|at| !blocks.in_code(*at))
}

/// The role that a heading names: the word right behind `role::`, whatever model stands further on in the line.
fn role_of(line: &str) -> Option<std::result::Result<Role, &str>> {
    let marks = line.len() - line.trim_start_matches('#').len();
    if marks > 6 {
        return None;
    }
    let rest = line[marks..].trim_start().strip_prefix(ROLE)?.trim_start();
    let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    Some(match word {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "developer" => Ok(Role::Developer),
        _ => Err(rest),
    })
}

/// The text without its comments. A comment ends in the message in which it begins.
fn without_comments(text: &str, span: Range<usize>, blocks: &Blocks) -> Result<String> {
    let mut out = String::new();
    let mut done = span.start;
    while let Some(begin) = next_comment(text, done..span.end, blocks) {
        let Some(length) = text[begin..span.end].find(COMMENT_END) else {
            return Err(error(
                "chat_comment_open",
                format!("line {}: the comment that begins here is not closed", line_of(text, begin)),
                "put a line `=end-chatgpt-md-comment` where it ends, before the next message",
            ));
        };
        out.push_str(&text[done..begin]);
        done = begin + length + COMMENT_END.len();
    }
    out.push_str(&text[done..span.end]);
    Ok(out.trim().to_owned())
}

fn next_comment(text: &str, span: Range<usize>, blocks: &Blocks) -> Option<usize> {
    let start = span.start;
    text[span].match_indices(COMMENT).map(|(at, _)| start + at).find(|at| !blocks.in_code(*at))
}

/// Only for errors.
fn line_of(text: &str, at: usize) -> usize {
    newlines(&text[..at]) + 1
}

fn newlines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

fn error(reason: &'static str, message: String, hint: &str) -> Error {
    Error::Edit { reason, message, hint: hint.to_owned(), candidates: Vec::new() }
}
