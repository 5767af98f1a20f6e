//! An answer that grows in a note while somebody else types into the same note.
//!
//! Nothing is remembered of the note but the answer's own opening and text: each time the note is read anew, the answer is found
//! by them, and only it is replaced. What stands before and behind it is whatever it is now.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{ChatNote, Part, Role, SEPARATOR, compose, separators};
use crate::note::blocks::Blocks;

/// An answer that grows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growing {
    /// Its separator and heading, as written.
    pub opening: String,
    /// What has been written of it so far.
    pub written: String,
    /// How much was written at each earlier time, in bytes: a program that saves an old copy of the note takes the answer back
    /// to one of these.
    pub earlier: Vec<usize>,
    /// Where it began, in bytes from the start.
    pub start: usize,
    /// The same from the end.
    pub from_end: usize,
}

/// A note with the answer in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grown {
    /// The whole text.
    pub text: String,
    /// The answer as it stands now.
    pub growing: Growing,
}

/// Adds the opening of an answer at the end of a note, in the place of one that a process left there when it died.
pub fn begin(text: &str, model: &str, level: u8) -> Grown {
    let newline = compose::newline(text);
    let text = without_empty_answer(text);
    let opening = compose::opening(Role::Assistant, level, Some(model), newline);
    let before = format!("{text}{}", compose::gap(text));
    let start = before.len();
    let growing =
        Growing { from_end: opening.len(), opening, written: String::new(), earlier: Vec::new(), start };
    Grown { text: format!("{before}{}", growing.opening), growing }
}

/// The text without an answer at its end of which nothing but the opening is there.
fn without_empty_answer(text: &str) -> &str {
    let Ok(note) = ChatNote::read(text) else { return text };
    let empty = |part: &&Part<'_>| {
        let heading = part.heading.unwrap_or_default();
        part.role == Role::Assistant && part.raw.trim() == heading && note.parts.len() > 1
    };
    let Some(last) = note.parts.last().filter(empty) else { return text };
    &text[..text.len() - last.raw.len() - SEPARATOR.len()]
}

/// Puts `answer` in the place of what was written so far. `None`: what was written is not there any more as it was.
pub fn grow(text: &str, growing: &Growing, answer: &str) -> Option<Grown> {
    let place = place(text, growing)?;
    Some(put(text, growing, place, answer, ""))
}

/// The same for the last time; with a level, a heading for the user's next message follows.
pub fn end(text: &str, growing: &Growing, answer: &str, user: Option<u8>) -> Option<Grown> {
    let place = place(text, growing)?;
    let answer = answer.trim_end();
    Some(put(text, growing, place, answer, &tail(&format!("{}{answer}", growing.opening), user)))
}

/// Adds what is left of an answer behind what somebody made of its beginning: at the end of that message, or, if its heading is
/// gone, all of `whole` as a message of its own at the end of the note.
pub fn rest(text: &str, growing: &Growing, rest: &str, whole: &str, user: Option<u8>) -> String {
    let newline = compose::newline(text);
    let opening = growing.opening.trim_end();
    let Some(at) = nearest(text, opening, growing) else {
        let before = format!("{text}{}{}{}", compose::gap(text), growing.opening, whole.trim_end());
        let tail = tail(&before, user);
        return before + &tail;
    };
    let blocks = Blocks::scan(text, 0);
    let end = separators(text, at + opening.len(), &blocks).next().unwrap_or(text.len());
    let (before, after) = text.split_at(end);
    if rest.trim().is_empty() && !after.is_empty() {
        return text.to_owned();
    }
    let mut out = before.trim_end().to_owned();
    if !rest.trim().is_empty() {
        out += &compose::gap(&out);
        out += rest.trim();
    }
    if after.is_empty() {
        let tail = tail(&out, user);
        return out + &tail;
    }
    format!("{out}{newline}{newline}{after}")
}

fn tail(before: &str, user: Option<u8>) -> String {
    let Some(level) = user else { return String::new() };
    format!("{}{}", compose::gap(before), compose::opening(Role::User, level, None, compose::newline(before)))
}

fn put(text: &str, growing: &Growing, place: Range<usize>, answer: &str, tail: &str) -> Grown {
    let (before, after) = (&text[..place.start], &text[place.end..]);
    let block = format!("{}{answer}{tail}", growing.opening);
    let mut earlier = growing.earlier.clone();
    earlier.push(growing.written.len());
    Grown {
        growing: Growing {
            opening: growing.opening.clone(),
            written: answer.to_owned(),
            earlier,
            start: place.start,
            from_end: block.len() + after.len(),
        },
        text: format!("{before}{block}{after}"),
    }
}

/// Where the answer stands now, blank lines at its end included as far as we wrote them.
fn place(text: &str, growing: &Growing) -> Option<Range<usize>> {
    let whole = format!("{}{}", growing.opening, growing.written);
    if let Some(at) = nearest(text, whole.trim_end(), growing) {
        let blank = &whole[whole.trim_end().len()..];
        let end = at + whole.trim_end().len();
        return Some(at..end + shared(&text[end..], blank));
    }
    set_back(text, growing)
}

/// Where the answer stands if somebody saved an older copy of the note: as it was at one of the earlier times, with nothing
/// behind it or with text that is not a part of the answer. Without this, what was written since would be lost.
fn set_back(text: &str, growing: &Growing) -> Option<Range<usize>> {
    let opening = growing.opening.trim_end();
    let at = nearest(text, opening, growing)?;
    let end = text[at + opening.len()..].find(SEPARATOR).map_or(text.len(), |end| at + opening.len() + end);
    let message = &text[at..end];
    let mut earlier = growing.earlier.clone();
    earlier.sort_unstable();
    earlier.into_iter().rev().find_map(|length| {
        let (before, since) = growing.written.split_at_checked(length)?;
        let whole = format!("{}{before}", growing.opening);
        let behind = message.strip_prefix(whole.trim_end())?;
        // Of an answer of one line that is gone nobody can tell whether it was edited or not saved.
        let is_certain =
            !before.trim().is_empty() || since.lines().filter(|line| !line.trim().is_empty()).count() > 1;
        let is_typed = is_certain && !have_a_line_in_common(behind, since);
        let blank = shared(behind, &whole[whole.trim_end().len()..]);
        (behind.trim().is_empty() || is_typed).then(|| at..at + whole.trim_end().len() + blank)
    })
}

fn have_a_line_in_common(one: &str, other: &str) -> bool {
    let lines: std::collections::BTreeSet<&str> = other.lines().map(str::trim).collect();
    one.lines().map(str::trim).any(|line| !line.is_empty() && lines.contains(line))
}

/// The place of `wanted` that is nearest to where the answer was, from the start or from the end: what somebody typed before it
/// moves the one, what they typed behind it the other.
fn nearest(text: &str, wanted: &str, growing: &Growing) -> Option<usize> {
    let distance = |at: usize| {
        let from_end = text.len() - at;
        at.abs_diff(growing.start).min(from_end.abs_diff(growing.from_end))
    };
    // Of two that are equally near the later one: answers are added at the end.
    text.match_indices(wanted).map(|(at, _)| at).min_by_key(|at| (distance(*at), usize::MAX - *at))
}

fn shared(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}
