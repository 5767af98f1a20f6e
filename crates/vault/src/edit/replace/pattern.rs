//! From what the caller wrote to a compiled pattern, with ECMAScript's spelling translated.
//!
//! Look-around and back-references are not translated: they need a backtracking engine, and that can be made to hang.

use regex::{Regex, RegexBuilder};

use super::Replacement;
use crate::error::{Error, Result};

/// Longest regular expression.
const LONGEST: usize = 1024;

/// The pattern of a replacement, for a note with these line ends.
pub(super) fn compile(replacement: &Replacement, line_end: &str) -> Result<Regex> {
    let search = &replacement.search;
    if search.is_empty() {
        return Err(empty());
    }
    let source = match replacement.use_regex {
        true if search.chars().count() > LONGEST => return Err(too_long()),
        true => words(replacement, translate(search), true, true),
        false => {
            let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let (first, last) = (word(search.chars().next()), word(search.chars().next_back()));
            words(replacement, literal(replacement, line_end), first, last)
        }
    };
    let mut builder = RegexBuilder::new(&source);
    // As in ECMAScript, `.` stops at either kind of line end.
    builder.case_insensitive(!replacement.case_sensitive).crlf(true);
    if !replacement.use_regex {
        builder.size_limit(64 << 20);
    }
    builder.build().map_err(|error| invalid(search, &error))
}

fn words(replacement: &Replacement, pattern: String, first: bool, last: bool) -> String {
    if !replacement.whole_word {
        return pattern;
    }
    let edge = |there: bool| if there { "\\b" } else { "" };
    format!("{}(?:{pattern}){}", edge(first), edge(last))
}

fn literal(replacement: &Replacement, line_end: &str) -> String {
    if replacement.flexible_whitespace {
        return flexible(&replacement.search);
    }
    let escaped = regex::escape(&replacement.search.replace("\r\n", "\n"));
    // A search over two lines finds them in a note with Windows line ends too.
    if line_end == "\r\n" { escaped.replace('\n', "\\r?\\n") } else { regex::escape(&replacement.search) }
}

fn flexible(search: &str) -> String {
    let mut out = String::new();
    let mut in_space = false;
    for c in search.chars() {
        if !c.is_whitespace() {
            out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
        } else if !in_space {
            out.push_str("\\s+");
        }
        in_space = c.is_whitespace();
    }
    out
}

/// What is literal in ECMAScript and special here, escaped: `[` and doubled signs in a class, `{` that counts nothing.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.char_indices().peekable();
    let mut in_class = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                // `\d` and `\w` are Unicode here, which is what people mean.
                out.push(c);
                out.extend(chars.next().map(|(_, escaped)| escaped));
            }
            // Nothing, and anything.
            '[' if !in_class && pattern[at..].starts_with("[]") => {
                chars.next();
                out.push_str("[^\\s\\S]");
            }
            '[' if !in_class && pattern[at..].starts_with("[^]") => {
                chars.nth(1);
                out.push_str("[\\s\\S]");
            }
            '[' if !in_class => {
                in_class = true;
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(c);
            }
            '[' | '&' | '~' => out.extend(['\\', c]),
            '-' if in_class && chars.peek().is_some_and(|(_, next)| *next == '-') => out.push_str("\\-"),
            '{' if !in_class && !is_count(&pattern[at..]) => out.push_str("\\{"),
            c => out.push(c),
        }
    }
    out
}

/// `{2}`, `{2,}`, `{2,3}`
fn is_count(rest: &str) -> bool {
    let Some((inside, _)) = rest[1..].split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

/// An empty search.
pub(super) fn empty() -> Error {
    Error::Edit {
        reason: "search_empty",
        message: "there is nothing to search for".to_owned(),
        hint: "give the text that is to be replaced".to_owned(),
        candidates: Vec::new(),
    }
}

fn too_long() -> Error {
    Error::Edit {
        reason: "regex_unsafe",
        message: format!("the regular expression is longer than {LONGEST} characters"),
        hint: "use a shorter one, or plain text without useRegex".to_owned(),
        candidates: Vec::new(),
    }
}

/// Counted repeats inside of others: what would have to be built is many times larger than what was written.
fn too_large() -> Error {
    Error::Edit {
        reason: "regex_unsafe",
        message: "the regular expression would become too large".to_owned(),
        hint: "use no counted repeats inside of others, or plain text without useRegex".to_owned(),
        candidates: Vec::new(),
    }
}

fn invalid(search: &str, error: &regex::Error) -> Error {
    let message = match error {
        regex::Error::CompiledTooBig(_) => return too_large(),
        // The parser draws a picture of several lines; its last line says it in words.
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or("").trim_start_matches("error: ");
            format!(
                "`{}` is no regular expression that we know: {last}",
                search.chars().take(80).collect::<String>()
            )
        }
    };
    Error::Edit {
        reason: "regex_invalid",
        message,
        hint: "mend the pattern; look-around and back-references are not supported (match more, and keep parts with $1)"
            .to_owned(),
        candidates: Vec::new(),
    }
}
