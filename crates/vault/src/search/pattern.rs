//! What is looked for, compiled: the pattern, and the glob that picks files.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use regex::bytes::{Regex, RegexBuilder};

use super::Query;
use crate::error::{Error, Result};
use crate::path::VaultPath;

/// How large a compiled pattern may grow.
const LARGEST_PROGRAM: usize = 8 << 20;

/// A text as it stands, or a regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Exactly this text.
    Literal(String),
    /// A regular expression, matched line by line; no look-around and no back references, so it takes linear time.
    Regex(String),
}

/// Whether `A` and `a` are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// They are.
    #[default]
    Ignore,
    /// They are not.
    Exact,
}

/// A compiled pattern.
pub(crate) struct Matcher {
    pub(crate) regex: Regex,
    /// Whether a match in a line is also found by searching the whole text at once.
    pub(crate) whole_text: bool,
}

impl Matcher {
    pub(crate) fn new(query: &Query) -> Result<Matcher> {
        let pattern = match &query.pattern {
            Pattern::Literal(text) => regex::escape(text),
            Pattern::Regex(text) => {
                compile(text, query.case).map_err(|error| refusal(text, &error))?;
                text.clone()
            }
        };
        if pattern.is_empty() {
            return Err(Error::Edit {
                reason: "pattern_empty",
                message: "the search pattern is empty".to_owned(),
                hint: "give a word, a phrase or a regular expression".to_owned(),
                candidates: Vec::new(),
            });
        }
        let whole = match query.whole_word {
            true => format!(r"\b{{start-half}}(?:{pattern})\b{{end-half}}"),
            false => pattern.clone(),
        };
        let regex = compile(&whole, query.case).map_err(|error| refusal(&pattern, &error))?;
        // Anchors of the whole text would mean every line when lines are matched one by one.
        let whole_text = !pattern.contains(r"\A") && !pattern.contains(r"\z");
        Ok(Matcher { regex, whole_text })
    }
}

fn compile(pattern: &str, case: Case) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .case_insensitive(case == Case::Ignore)
        .multi_line(true)
        .crlf(true)
        .size_limit(LARGEST_PROGRAM)
        .dfa_size_limit(LARGEST_PROGRAM)
        .build()
}

fn refusal(pattern: &str, error: &regex::Error) -> Error {
    let (message, hint) = match error {
        regex::Error::CompiledTooBig(_) => (
            "the regular expression grows too large".to_owned(),
            "use smaller repeat counts, e.g. `.*` for `.{1,10000}`".to_owned(),
        ),
        other => (describe(pattern, &other.to_string()), hint_for(&other.to_string())),
    };
    Error::Edit { reason: "regex_invalid", message, hint, candidates: vec![regex::escape(pattern)] }
}

/// Takes the position (the column of the `^`) and the cause out of the parser's drawing.
fn describe(pattern: &str, drawing: &str) -> String {
    let cause = drawing.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(drawing);
    let caret = drawing.lines().find(|line| line.contains('^') && line.trim_matches([' ', '^']).is_empty());
    match caret.and_then(|line| line.find('^')) {
        // The drawing is indented by four; the position counts characters from 1.
        Some(column) if column >= 4 && !pattern.contains('\n') => {
            format!("the regular expression is not valid at character {}: {cause}", column - 3)
        }
        _ => format!("the regular expression is not valid: {cause}"),
    }
}

fn hint_for(drawing: &str) -> String {
    match drawing.contains("look-around") || drawing.contains("backreferences") {
        true => "look-around and back references are not supported; search for the plain part and read the matches",
        false => "escape special characters with `\\`, or search for the text literally",
    }
    .to_owned()
}

/// Picks files as a line of `.gitignore` would, with `!` in front for all others.
#[derive(Debug)]
pub struct Glob {
    rules: Gitignore,
    inverted: bool,
}

impl Glob {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Glob> {
        let (line, inverted) = match text.trim().strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (text.trim(), false),
        };
        let line = if line.starts_with('#') { format!("\\{line}") } else { line.to_owned() };
        let mut builder = GitignoreBuilder::new("");
        let added = builder.add_line(None, &line).map(|_| ());
        let rules =
            added.and_then(|()| builder.build()).map_err(|error| glob_refusal(text, &error.to_string()))?;
        if rules.is_empty() {
            return Err(glob_refusal(text, "it is empty"));
        }
        Ok(Glob { rules, inverted })
    }

    /// Whether the pattern picks this file.
    pub fn fits(&self, path: &VaultPath) -> bool {
        let picked = self.rules.matched_path_or_any_parents(path.as_str(), false).is_ignore();
        picked != self.inverted
    }
}

fn glob_refusal(text: &str, why: &str) -> Error {
    Error::Edit {
        reason: "glob_invalid",
        message: format!("`{}` is not a file pattern: {why}", text.chars().take(80).collect::<String>()),
        hint: "write it as in `.gitignore`: `*.md`, `Projects/**`, `{a,b}*.md`".to_owned(),
        candidates: Vec::new(),
    }
}
