//! Search and replace in a note's text: the many-at-once tool (`replace`) and the exact edit (`exact`, in `exact.rs`).
//!
//! Both take the whole text, front matter included, and return the new text. The regular expressions are those of
//! `regex` (linear time); what ECMAScript writes differently is translated in `pattern.rs`.

mod exact;
mod pattern;

use regex::{Captures, Regex};

use crate::error::{Error, Result};
pub use exact::exact;

/// A text may not grow beyond this by one call.
const LARGEST: usize = 64 << 20;

/// One thing to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// What to look for: text, or a pattern with `use_regex`.
    pub search: String,
    /// What to put there; `$1 $& $$ $<name>` mean something only with `use_regex`.
    pub replace: String,
    /// `search` is a regular expression.
    pub use_regex: bool,
    /// Upper and lower case differ.
    pub case_sensitive: bool,
    /// Only where words start and end.
    pub whole_word: bool,
    /// Any white space in `search` stands for any run of white space (text only).
    pub flexible_whitespace: bool,
    /// Every hit, not only the first.
    pub replace_all: bool,
}

impl Replacement {
    /// This text for that, everywhere, as it is written.
    pub fn new(search: impl Into<String>, replace: impl Into<String>) -> Replacement {
        Replacement {
            search: search.into(),
            replace: replace.into(),
            use_regex: false,
            case_sensitive: true,
            whole_word: false,
            flexible_whitespace: false,
            replace_all: true,
        }
    }
}

/// What [`replace`] gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The new text.
    pub text: String,
    /// How often each replacement was made, in the order given.
    pub counts: Vec<usize>,
}

/// Makes the replacements in order, each on what the one before left.
pub fn replace(text: &str, replacements: &[Replacement]) -> Result<Replaced> {
    let mut out = Replaced { text: text.to_owned(), counts: Vec::with_capacity(replacements.len()) };
    for replacement in replacements {
        let pattern = pattern::compile(replacement, line_end(text))?;
        let (text, count) = apply(&out.text, &pattern, replacement)?;
        out.text = text;
        out.counts.push(count);
    }
    Ok(out)
}

/// The line end of a text: `\r\n` if it occurs at all.
pub(crate) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// New text with the line ends of the note it goes into.
pub(crate) fn with_line_end(new: &str, end: &str) -> String {
    if end == "\r\n" && new.contains('\n') {
        new.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        new.to_owned()
    }
}

/// Goes on as ECMAScript does: behind a hit, or one character on behind an empty one.
fn apply(text: &str, pattern: &Regex, replacement: &Replacement) -> Result<(String, usize)> {
    let template = with_line_end(&replacement.replace, line_end(text));
    let (mut out, mut copied, mut at, mut count) = (String::new(), 0, 0, 0);
    while at <= text.len() {
        let Some(captures) = pattern.captures_at(text, at) else { break };
        let Some(whole) = captures.get(0) else { break };
        out.push_str(&text[copied..whole.start()]);
        if replacement.use_regex {
            expand(&template, text, pattern, &captures, &mut out);
        } else {
            out.push_str(&template);
        }
        if out.len() > LARGEST {
            return Err(grows_too_large());
        }
        copied = whole.end();
        count += 1;
        at = if whole.is_empty() { next_char(text, whole.end()) } else { whole.end() };
        if !replacement.replace_all {
            break;
        }
    }
    out.push_str(&text[copied..]);
    Ok((out, count))
}

fn next_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// ECMAScript's `GetSubstitution`.
fn expand(template: &str, text: &str, pattern: &Regex, captures: &Captures<'_>, out: &mut String) {
    let mut rest = template;
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        let after = &rest[dollar + 1..];
        rest = match reference(after, text, pattern, captures) {
            Some((value, used)) => {
                out.push_str(value);
                &after[used..]
            }
            None => {
                out.push('$');
                after
            }
        };
    }
    out.push_str(rest);
}

/// What the letters behind a `$` stand for, and how many bytes they are.
fn reference<'t>(
    after: &str,
    text: &'t str,
    pattern: &Regex,
    captures: &Captures<'t>,
) -> Option<(&'t str, usize)> {
    let whole = captures.get(0)?;
    match after.as_bytes().first()? {
        b'$' => Some(("$", 1)),
        b'&' => Some((whole.as_str(), 1)),
        b'`' => Some((&text[..whole.start()], 1)),
        b'\'' => Some((&text[whole.end()..], 1)),
        b'<' if pattern.capture_names().flatten().next().is_some() => {
            let end = after.find('>')?;
            Some((captures.name(&after[1..end]).map_or("", |group| group.as_str()), end + 1))
        }
        b'0'..=b'9' => numbered(after, captures),
        _ => None,
    }
}

/// Two digits if there are so many groups, else one.
fn numbered<'t>(after: &str, captures: &Captures<'t>) -> Option<(&'t str, usize)> {
    let digits = after.bytes().take(2).take_while(u8::is_ascii_digit).count();
    (1..=digits).rev().find_map(|length| {
        let group: usize = after[..length].parse().ok()?;
        let there = (1..captures.len()).contains(&group);
        there.then(|| (captures.get(group).map_or("", |group| group.as_str()), length))
    })
}

fn grows_too_large() -> Error {
    Error::Edit {
        reason: "result_too_large",
        message: format!("the replacements would make the note larger than {} MiB", LARGEST >> 20),
        hint: "search for something that occurs less often".to_owned(),
        candidates: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
