//! Markdown as HTML that is safe to show: rendered and cleaned here, so that the page never parses text of others.
//!
//! Four steps: `marks.rs` finds what only notes have (wiki links, tags, tasks, comments) and puts a sign in its place, the
//! Markdown parser reads the rest, `writer.rs` writes HTML of our own, and `clean.rs` lets through what is on its list
//! and nothing else. What the view hides looks exactly like what does not exist.

mod callout;
mod clean;
mod embed;
pub mod links;
mod marks;
mod raw;
#[cfg(test)]
mod tests;
mod writer;

use std::cell::Cell;

use serde::Serialize;
use vault::{VaultPath, View};

use marks::Prepared;
use writer::Writer;

/// The most text of one note that is rendered; the rest is left to an editor.
const MOST: usize = 2 * 1024 * 1024;
/// How many files one note may embed, those inside of embedded ones included.
const EMBEDS: usize = 60;
/// How much text embeds may bring along.
const EMBEDDED: usize = 512 * 1024;

/// From where a text is looked at.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// What may be seen.
    pub view: &'a View<'a>,
    /// The note in which the text stands.
    pub from: Option<&'a VaultPath>,
}

/// A note as the page shows it.
#[derive(Debug, Default)]
pub struct Rendered {
    /// Clean HTML.
    pub html: String,
    /// Its headings.
    pub outline: Vec<Heading>,
}

/// A heading of a rendered note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text, without markup.
    pub text: String,
    /// What it is known by in the HTML.
    pub id: String,
}

/// How a text is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// As a note: embeds are shown, HTML counts, tasks can be ticked.
    Note,
    /// As a note inside of another: the same without ids and without tasks that can be ticked.
    Embedded,
    /// As somebody's words: no file is embedded and HTML is text.
    Words,
}

/// What all embeds of one note share.
struct Budget {
    embeds: Cell<usize>,
    bytes: Cell<usize>,
}

/// A note's text as HTML.
pub fn markdown(text: &str, place: &Place<'_>) -> String {
    note(text, place).html
}

/// A note's text as HTML, with its outline.
pub fn note(text: &str, place: &Place<'_>) -> Rendered {
    let (shown, cut) = cut(text);
    let mut rendered = write(shown, place, Manner::Note);
    if cut {
        rendered.html.push_str(
            "<p class=\"render-cut\">This note goes on. It is too large for this page; open it in your editor to read all of it.</p>",
        );
    }
    rendered
}

/// A model's or a person's words as HTML: cleaned alike, but no file is embedded and HTML in it is shown as text.
pub fn answer(text: &str, place: &Place<'_>) -> String {
    write(cut(text).0, place, Manner::Words).html
}

/// One line of a note as HTML, without the marker of its list, heading or quote.
pub fn line(text: &str, place: &Place<'_>) -> String {
    let html = answer(&bare(text.trim().lines().next().unwrap_or_default()), place);
    let html = html.trim();
    let inside = html.strip_prefix("<p>").and_then(|html| html.strip_suffix("</p>"));
    inside.filter(|inside| !inside.contains("<p")).unwrap_or(html).to_owned()
}

/// Plain text with some of its bytes marked. Spans that do not fit are left out.
pub fn marked(text: &str, spans: &[(usize, usize)]) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut at = 0;
    for &(start, end) in spans {
        let (Some(before), Some(inside)) = (text.get(at..start), text.get(start..end)) else { continue };
        writer::escape(before, &mut out);
        out.push_str("<mark>");
        writer::escape(inside, &mut out);
        out.push_str("</mark>");
        at = end;
    }
    writer::escape(text.get(at..).unwrap_or_default(), &mut out);
    out
}

/// What a heading is known by, before a number tells it from others of its name.
pub fn heading_id(text: &str) -> String {
    let mut id = String::from("h-");
    for c in text.chars().take(120) {
        match c.is_alphanumeric() {
            true => id.extend(c.to_lowercase()),
            false if id.ends_with('-') => {}
            false => id.push('-'),
        }
    }
    let end = id.trim_end_matches('-').len().max(1);
    id.truncate(end);
    if id == "h" {
        id.push_str("-section");
    }
    id
}

fn write(text: &str, place: &Place<'_>, manner: Manner) -> Rendered {
    let budget = Budget { embeds: Cell::new(EMBEDS), bytes: Cell::new(EMBEDDED) };
    let (html, outline, has_raw) = inner(text, place, manner, &[], &budget);
    Rendered { html: clean::clean(html, has_raw), outline }
}

/// The HTML before it is cleaned, the outline, and whether HTML of the note's own is in it.
fn inner(
    text: &str,
    place: &Place<'_>,
    manner: Manner,
    around: &[VaultPath],
    budget: &Budget,
) -> (String, Vec<Heading>, bool) {
    let prepared = Prepared::new(text, place, manner);
    Writer::new(&prepared, place, manner, around, budget).write()
}

fn cut(text: &str) -> (&str, bool) {
    if text.len() <= MOST {
        return (text, false);
    }
    let mut end = MOST;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..text[..end].rfind('\n').unwrap_or(end)], true)
}

/// The line without what marks it as an item, a task, a heading or a quote.
fn bare(text: &str) -> String {
    let mut rest = text.trim();
    loop {
        let next = rest.trim_start_matches(['>', '#', ' ', '\t']);
        let next = ["- ", "* ", "+ "].iter().find_map(|marker| next.strip_prefix(marker)).unwrap_or(next);
        let boxed = next.strip_prefix('[').and_then(|inside| {
            let mut chars = inside.chars();
            let status = chars.next()?;
            (status != '[' && status != '^').then(|| chars.as_str().strip_prefix("] "))?
        });
        let next = boxed.unwrap_or(next);
        if next.len() == rest.len() {
            return rest.to_owned();
        }
        // `#tag` at the start of a line is a tag, not a heading.
        if rest.starts_with('#') && !rest.trim_start_matches('#').starts_with([' ', '\t']) {
            return rest.to_owned();
        }
        rest = next;
    }
}
