//! What only notes have, found by the vault's own reader and replaced by a sign that the Markdown parser takes for a letter.
//!
//! So a wiki link means here what it means everywhere else in Verger, and a `|` in it breaks no table.

use std::ops::Range;

use vault::VaultPath;
use vault::note::blocks::holds;
use vault::note::links::{Link, LinkStyle, comments};
use vault::note::{self, Parsed};

use super::{Manner, Place};

/// Opens a sign. A code point that Unicode keeps for the inside of programs, so no text needs it.
const OPEN: char = '\u{fdd0}';
/// Closes a sign.
const CLOSE: char = '\u{fdd1}';

/// What a sign stands for.
#[derive(Debug)]
pub enum Mark {
    /// A wiki link or embed, and the file that it leads to.
    Wiki(Link, Option<VaultPath>),
    /// A tag, without `#`.
    Tag(String),
    /// `==` that opens.
    Opens,
    /// `==` that closes.
    Closes,
    /// The box of a task: its line in the note and what stands in it.
    Task(usize, char),
    /// A block id.
    Block(String),
}

/// A text in which signs stand for marks.
pub struct Prepared<'t> {
    /// The text with signs.
    pub text: String,
    marks: Vec<(Mark, Range<usize>)>,
    original: &'t str,
}

/// A piece of a text with signs.
pub enum Piece<'p> {
    /// Plain text.
    Text(&'p str),
    /// A mark, and how it was written.
    Mark(&'p Mark, &'p str),
}

type Found = (Range<usize>, Option<Mark>);

impl<'t> Prepared<'t> {
    /// Reads a text.
    pub fn new(original: &'t str, place: &Place<'_>, manner: Manner) -> Prepared<'t> {
        let parsed = note::parse(original);
        let hidden = match manner {
            // Where somebody speaks to the person, nothing is hidden.
            Manner::Words => Vec::new(),
            Manner::Note | Manner::Embedded => comments(original, parsed.body, &parsed.blocks),
        };
        let body = match manner {
            Manner::Words => 0,
            Manner::Note | Manner::Embedded => parsed.body,
        };
        let mut found: Vec<Found> = hidden.iter().map(|span| (span.clone(), None)).collect();
        let bright = highlights(original, &parsed, &hidden);
        gather(parsed, place, &mut found);
        found.extend(bright);
        found.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out =
            Prepared { text: String::with_capacity(original.len() - body), marks: Vec::new(), original };
        let mut at = body;
        for (span, mark) in found {
            if span.start < at {
                continue;
            }
            out.plain(&original[at..span.start]);
            at = span.end;
            if let Some(mark) = mark {
                out.text.push_str(&format!("{OPEN}{}{CLOSE}", out.marks.len()));
                out.marks.push((mark, span));
            }
        }
        out.plain(&original[at..]);
        out
    }

    fn plain(&mut self, text: &str) {
        match text.contains([OPEN, CLOSE, '\0']) {
            true => self.text.extend(text.chars().map(|c| match c {
                OPEN | CLOSE | '\0' => '\u{fffd}',
                c => c,
            })),
            false => self.text.push_str(text),
        }
    }

    /// The pieces of a text that the parser gave back.
    pub fn pieces<'p>(&'p self, text: &'p str) -> Vec<Piece<'p>> {
        let mut out = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(OPEN) {
            if at > 0 {
                out.push(Piece::Text(&rest[..at]));
            }
            let behind = &rest[at + OPEN.len_utf8()..];
            let Some((number, after)) = behind.split_once(CLOSE) else { return out };
            if let Some((mark, span)) = number.parse().ok().and_then(|number: usize| self.marks.get(number)) {
                out.push(Piece::Mark(mark, &self.original[span.clone()]));
            }
            rest = after;
        }
        if !rest.is_empty() {
            out.push(Piece::Text(rest));
        }
        out
    }

    /// The text as it was written, for code and addresses.
    pub fn written(&self, text: &str) -> String {
        let pieces = self.pieces(text);
        let as_written = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Mark(_, written) => (*written).to_owned(),
        };
        pieces.iter().map(as_written).collect()
    }
}

fn gather(parsed: Parsed, place: &Place<'_>, found: &mut Vec<Found>) {
    let wiki = |link: &Link| link.style == LinkStyle::Wiki && !link.in_front;
    let mut links: Vec<Link> = parsed.links.into_iter().filter(wiki).collect();
    let mut ends = super::links::resolve_all(place, &links);
    for (link, end) in links.iter_mut().zip(&mut ends).filter(|(_, end)| end.is_none()) {
        // `[[note^block]]` is short for `[[note#^block]]`, where no file has such a name.
        let Some((target, block)) = link.target.split_once('^').filter(|_| link.fragment.is_none()) else {
            continue;
        };
        let short =
            Link { target: target.trim().to_owned(), fragment: Some(format!("^{block}")), ..link.clone() };
        *end = super::links::resolve_all(place, std::slice::from_ref(&short)).pop().flatten();
        if end.is_some() {
            *link = short;
        }
    }
    found.extend(
        links.into_iter().zip(ends).map(|(link, end)| (link.span.clone(), Some(Mark::Wiki(link, end)))),
    );
    let tags = parsed.tags.into_iter().filter(|tag| !tag.in_front);
    found.extend(tags.map(|tag| (tag.span, Some(Mark::Tag(tag.name)))));
    found.extend(parsed.ids.into_iter().map(|id| (id.span, Some(Mark::Block(id.id)))));
    let boxes = parsed.tasks.into_iter();
    found.extend(boxes.map(|task| {
        let span = task.status_span.start - 1..task.status_span.end + 1;
        (span, Some(Mark::Task(task.line, task.status)))
    }));
}

/// The `==` that open and close a highlight: in one paragraph, outside of code, HTML, comments and links.
fn highlights(text: &str, parsed: &Parsed, hidden: &[Range<usize>]) -> Vec<Found> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut open: Option<usize> = None;
    let links: Vec<Range<usize>> = parsed.links.iter().map(|link| link.span.clone()).collect();
    let mut from = parsed.body;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("==")).map(|found| from + found) {
        let run = bytes[at..].iter().take_while(|byte| **byte == b'=').count();
        from = at + run;
        let masked = [&parsed.blocks.code[..], &parsed.blocks.html, hidden, &links];
        if run != 2 || masked.iter().any(|spans| holds(spans, at)) {
            continue;
        }
        let space = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        let may_open = !space(bytes.get(at + 2));
        let may_close = at > 0 && !space(bytes.get(at - 1));
        open = match open {
            Some(start) if may_close && at > start + 2 && !has_blank_line(&text[start..at]) => {
                out.push((start..start + 2, Some(Mark::Opens)));
                out.push((at..at + 2, Some(Mark::Closes)));
                None
            }
            _ if may_open => Some(at),
            other => other,
        };
    }
    out
}

fn has_blank_line(text: &str) -> bool {
    text.lines().skip(1).any(|line| line.trim().is_empty())
}
