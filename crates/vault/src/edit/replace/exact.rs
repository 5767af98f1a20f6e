//! The exact edit: this text, so many times, for that. Called by the edit_file tool.
//!
//! If the text is not there as given, white space is taken less seriously; nothing else is guessed.

use std::ops::Range;

use memchr::memmem;

use super::{line_end, pattern, with_line_end};
use crate::error::{Error, Result};

/// Replaces `old` by `new`, if it occurs `expected` times.
///
/// Only if it does not occur at all, CRLF counts as LF and any run of spaces and tabs as one.
pub fn exact(text: &str, old: &str, new: &str, expected: usize) -> Result<String> {
    if old.is_empty() {
        return Err(pattern::empty());
    }
    let mut hits: Vec<Range<usize>> =
        memmem::find_iter(text.as_bytes(), old).map(|at| at..at + old.len()).collect();
    if hits.is_empty() {
        hits = lenient(text, old);
    }
    if hits.is_empty() {
        return Err(not_found(text, old));
    }
    if hits.len() != expected {
        return Err(other_count(text, &hits, expected));
    }
    let new = with_line_end(new, line_end(text));
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for hit in hits {
        out.push_str(&text[copied..hit.start]);
        out.push_str(&new);
        copied = hit.end;
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

/// Where `old` stands if white space is taken less seriously, as spans of the text as it is.
fn lenient(text: &str, old: &str) -> Vec<Range<usize>> {
    let (needle, _) = loosened(old);
    let (hay, places) = loosened(text);
    let place = |at: usize| places.get(at).copied().unwrap_or(text.len());
    memmem::find_iter(&hay, &needle).map(|at| place(at)..place(at + needle.len())).collect()
}

/// The text with CRLF as LF and runs of spaces and tabs as one space, and where each byte came from.
fn loosened(text: &str) -> (Vec<u8>, Vec<usize>) {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut places = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().copied().enumerate() {
        let byte = match byte {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => b'\n',
            b'\n' if at > 0 && bytes[at - 1] == b'\r' => continue,
            b' ' | b'\t' if at > 0 && matches!(bytes[at - 1], b' ' | b'\t') => continue,
            b'\t' => b' ',
            byte => byte,
        };
        out.push(byte);
        places.push(at);
    }
    (out, places)
}

fn other_count(text: &str, hits: &[Range<usize>], expected: usize) -> Error {
    let lines: Vec<String> =
        hits.iter().take(10).map(|hit| format!("line {}", line_number(text, hit.start))).collect();
    Error::Edit {
        reason: "match_count",
        message: format!(
            "the text occurs {} times, not {expected} ({}{})",
            hits.len(),
            lines.join(", "),
            if hits.len() > lines.len() { ", …" } else { "" }
        ),
        hint: format!(
            "give more of the text around the right place, or say that {} replacements are expected",
            hits.len()
        ),
        candidates: lines,
    }
}

fn not_found(text: &str, old: &str) -> Error {
    let near = nearest_line(text, old);
    Error::Edit {
        reason: "text_not_found",
        message: "the text to replace does not occur in the note".to_owned(),
        hint: match &near {
            Some((line, found)) => format!("read the note again; the nearest is line {line}: `{found}`"),
            None => "read the note again and copy the text from it".to_owned(),
        },
        candidates: near.into_iter().map(|(_, line)| line).collect(),
    }
}

/// The line most like the first line of the text sought, if any is half like it. Looks at so much of a note only.
fn nearest_line(text: &str, old: &str) -> Option<(usize, String)> {
    let sought = pairs(old.lines().find(|line| !line.trim().is_empty())?);
    let score = |line: &str| {
        let found = pairs(line);
        let shared = found.iter().filter(|pair| sought.binary_search(pair).is_ok()).count();
        shared * 200 / (found.len() + sought.len()).max(1)
    };
    let lines = text.lines().take(5_000).enumerate().map(|(number, line)| (score(line), number + 1, line));
    let (score, number, line) =
        lines.max_by_key(|(score, number, _)| (*score, std::cmp::Reverse(*number)))?;
    (score >= 50).then(|| (number, line.trim().chars().take(120).collect()))
}

/// The neighbouring characters of a line, each pair once.
fn pairs(line: &str) -> Vec<(char, char)> {
    let chars: Vec<char> = line.trim().chars().take(200).flat_map(char::to_lowercase).collect();
    let mut pairs: Vec<_> = chars.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn line_number(text: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1
}
