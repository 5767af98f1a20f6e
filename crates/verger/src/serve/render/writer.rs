//! From the parser's events to HTML. Every tag that is opened here is closed here, and nothing nests without end.

mod text;

use std::borrow::Cow;
use std::collections::HashMap;

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, Options, Parser, Tag, TextMergeStream};
use vault::VaultPath;

use super::callout::Callout;
use super::marks::Prepared;
use super::{Budget, Heading, Manner, Place, heading_id, links};

pub(super) use text::{escape, picture, shown, with_size};

/// How many elements may stand in each other; what is deeper shows as plain text.
const DEEPEST: usize = 64;
/// How many headings an outline holds.
const MOST_HEADINGS: usize = 2000;

/// Fences whose content another program would run; the card says which.
const CARDS: &[(&str, &str)] = &[
    ("dataview", "Dataview query"),
    ("dataviewjs", "Dataview script (not run)"),
    ("base", "Base"),
    ("mermaid", "Mermaid diagram"),
    ("tasks", "Tasks query"),
    ("query", "Search"),
    ("chart", "Chart"),
];

/// What is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Paragraph,
    Item,
    Heading,
    Link,
    Cell,
    Code,
    Inline,
    Image,
    Block,
    Footnote,
}

/// An open element.
struct Open {
    kind: Kind,
    close: Cow<'static, str>,
    /// How many tags of the note's own HTML were open outside of it.
    raw: usize,
}

/// Writes one text.
pub struct Writer<'a> {
    pub(super) place: &'a Place<'a>,
    pub(super) manner: Manner,
    pub(super) around: &'a [VaultPath],
    pub(super) budget: &'a Budget,
    pub(super) out: String,
    /// Open tags of the note's own HTML.
    pub(super) raw: Vec<&'static str>,
    /// The element of the note's own HTML that is passed over with all that is in it.
    pub(super) hushed: Option<String>,
    pub(super) has_raw: bool,
    pub(super) in_html_block: bool,
    prepared: &'a Prepared<'a>,
    open: Vec<Open>,
    tables: Vec<(Vec<Alignment>, usize, bool)>,
    item_at: usize,
    mark_at: Option<usize>,
    heading: Option<(u8, usize, String)>,
    outline: Vec<Heading>,
    ids: HashMap<String, usize>,
    images: Vec<(String, String)>,
    notes: Footnotes,
}

#[derive(Default)]
struct Footnotes {
    order: Vec<String>,
    texts: HashMap<String, String>,
    outer: Vec<(String, String)>,
}

impl<'a> Writer<'a> {
    /// A writer for this text.
    pub fn new(
        prepared: &'a Prepared<'a>,
        place: &'a Place<'a>,
        manner: Manner,
        around: &'a [VaultPath],
        budget: &'a Budget,
    ) -> Writer<'a> {
        Writer {
            place,
            manner,
            around,
            budget,
            out: String::with_capacity(prepared.text.len() * 3 / 2),
            raw: Vec::new(),
            hushed: None,
            has_raw: false,
            in_html_block: false,
            prepared,
            open: Vec::new(),
            tables: Vec::new(),
            item_at: 0,
            mark_at: None,
            heading: None,
            outline: Vec::new(),
            ids: HashMap::new(),
            images: Vec::new(),
            notes: Footnotes::default(),
        }
    }

    /// The HTML, the outline, and whether HTML of the note's own is in it.
    pub fn write(mut self) -> (String, Vec<Heading>, bool) {
        let prepared = self.prepared;
        let events: Vec<Event<'_>> =
            TextMergeStream::new(Parser::new_ext(&prepared.text, options())).collect();
        let mut at = 0;
        while let Some(event) = events.get(at) {
            at += match event {
                Event::Start(Tag::BlockQuote(_)) => self.quote(&events, at),
                event => {
                    self.event(event);
                    1
                }
            };
        }
        self.close_raw(0);
        self.footnotes();
        (self.out, self.outline, self.has_raw)
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) if self.in_html_block && !self.in_code() => {
                self.in_html_block = false;
                self.hushed = None;
            }
            Event::End(_) => self.end(),
            Event::Text(text) => self.text(text),
            Event::Code(code) => self.wrapped("<code>", code, "</code>"),
            Event::InlineMath(math) => self.wrapped("<code class=\"math\">", math, "</code>"),
            Event::DisplayMath(math) => self.wrapped("<code class=\"math math-block\">", math, "</code>"),
            Event::Html(html) | Event::InlineHtml(html) => self.html(html),
            Event::FootnoteReference(name) => self.footnote_reference(name),
            Event::SoftBreak if self.images.is_empty() => self.out.push('\n'),
            Event::HardBreak if self.images.is_empty() => self.out.push_str("<br>\n"),
            Event::SoftBreak | Event::HardBreak => self.alt(" "),
            Event::Rule => self.out.push_str("<hr>\n"),
            // The vault's own reader found the tasks.
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph => self.push(Kind::Paragraph, "<p>", "</p>\n"),
            Tag::Heading { level, .. } => self.start_heading(*level as u8),
            Tag::CodeBlock(kind) => self.start_code(kind),
            Tag::HtmlBlock if self.manner == Manner::Words => self.push(Kind::Paragraph, "<p>", "</p>\n"),
            Tag::HtmlBlock => self.in_html_block = true,
            Tag::List(None) => self.push(Kind::Block, "<ul>\n", "</ul>\n"),
            Tag::List(Some(first)) => self.push(Kind::Block, &format!("<ol start=\"{first}\">\n"), "</ol>\n"),
            Tag::Item => {
                self.push(Kind::Item, "<li>", "</li>\n");
                self.item_at = self.out.len();
            }
            Tag::FootnoteDefinition(name) => {
                let outer = std::mem::take(&mut self.out);
                self.notes.outer.push((name.to_string(), outer));
                self.push(Kind::Footnote, "", "");
            }
            Tag::Table(sides) => {
                self.tables.push((sides.clone(), 0, true));
                self.push(Kind::Block, "<div class=\"table-scroll\"><table>\n", "</tbody></table></div>\n");
            }
            Tag::TableHead => self.push(Kind::Block, "<thead><tr>", "</tr></thead>\n<tbody>\n"),
            Tag::TableRow => self.push(Kind::Block, "<tr>", "</tr>\n"),
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.push(Kind::Inline, "<em>", "</em>"),
            Tag::Strong => self.push(Kind::Inline, "<strong>", "</strong>"),
            Tag::Strikethrough => self.push(Kind::Inline, "<del>", "</del>"),
            Tag::Superscript => self.push(Kind::Inline, "<sup>", "</sup>"),
            Tag::Subscript => self.push(Kind::Inline, "<sub>", "</sub>"),
            Tag::Link { dest_url, .. } => self.start_link(dest_url),
            Tag::Image { dest_url, .. } => {
                self.images.push((self.prepared.written(dest_url), String::new()));
                self.push(Kind::Image, "", "");
            }
            _ => self.push(Kind::Block, "<div>", "</div>\n"),
        }
    }

    fn end(&mut self) {
        let Some(open) = self.open.pop() else { return };
        self.hushed = None;
        self.close_raw(open.raw);
        if self.mark_at.is_some_and(|at| at > self.open.len()) {
            self.out.push_str("</mark>");
            self.mark_at = None;
        }
        match open.kind {
            Kind::Heading => self.end_heading(),
            Kind::Footnote => self.end_footnote(),
            Kind::Cell => {
                if let Some((_, column, _)) = self.tables.last_mut() {
                    *column += 1;
                }
            }
            Kind::Image => return self.end_image(),
            Kind::Paragraph if !open.close.is_empty() && self.out.ends_with("<p>") => {
                self.out.truncate(self.out.len() - "<p>".len());
                return;
            }
            _ => {}
        }
        match &*open.close {
            "</tr></thead>\n<tbody>\n" | "</tr>\n" => {
                if let Some((_, column, head)) = self.tables.last_mut() {
                    (*column, *head) = (0, false);
                }
            }
            "</tbody></table></div>\n" => drop(self.tables.pop()),
            _ => {}
        }
        self.out.push_str(&open.close);
    }

    /// Opens an element; too deep it stays away, with what closes it.
    pub(super) fn push(&mut self, kind: Kind, opens: &str, closes: impl Into<Cow<'static, str>>) {
        let deep = self.open.len() >= DEEPEST;
        if !deep && self.images.is_empty() {
            self.out.push_str(opens);
        }
        let close = if deep || !self.images.is_empty() { Cow::Borrowed("") } else { closes.into() };
        self.open.push(Open { kind, close, raw: self.raw.len() });
    }

    /// The innermost open element.
    pub(super) fn innermost(&self) -> Option<Kind> {
        self.open.last().map(|open| open.kind)
    }

    /// How many tags of the note's own HTML were open before the innermost element.
    pub(super) fn raw_floor(&self) -> usize {
        self.open.last().map_or(0, |open| open.raw)
    }

    /// Whether a link is open, ours or the note's own: links do not nest.
    pub(super) fn in_link(&self) -> bool {
        self.open.iter().any(|open| open.kind == Kind::Link) || self.raw.contains(&"a")
    }

    fn in_code(&self) -> bool {
        self.innermost() == Some(Kind::Code)
    }

    fn start_heading(&mut self, level: u8) {
        self.push(Kind::Heading, &format!("<h{level}>"), format!("</h{level}>\n"));
        let at = self.out.len().saturating_sub(1);
        self.heading = Some((level, at, String::new()));
    }

    fn end_heading(&mut self) {
        let Some((level, at, text)) = self.heading.take() else { return };
        if self.manner != Manner::Note || self.outline.len() >= MOST_HEADINGS {
            return;
        }
        let plain = heading_id(&text);
        let count = self.ids.entry(plain.clone()).or_insert(0);
        *count += 1;
        let id = if *count == 1 { plain } else { format!("{plain}-{count}") };
        if self.out.get(..=at).is_some_and(|before| before.ends_with(&format!("<h{level}>"))) {
            self.out.insert_str(at, &format!(" id=\"{id}\""));
        }
        self.outline.push(Heading { level, text: text.trim().to_owned(), id });
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        let info = match kind {
            CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        let plain = |c: &char| c.is_ascii_alphanumeric() || "+-_#".contains(*c);
        let language: String = info.chars().filter(plain).take(30).collect::<String>().to_ascii_lowercase();
        if let Some((_, name)) = CARDS.iter().find(|(known, _)| *known == language) {
            let opens = format!(
                "<figure class=\"code-card\"><figcaption>{name}</figcaption><pre><code class=\"language-{language}\">"
            );
            return self.push(Kind::Code, &opens, "</code></pre></figure>\n");
        }
        match language.is_empty() {
            true => self.push(Kind::Code, "<pre><code>", "</code></pre>\n"),
            false => {
                let opens = format!("<pre><code class=\"language-{language}\">");
                self.push(Kind::Code, &opens, "</code></pre>\n");
            }
        }
    }

    fn start_cell(&mut self) {
        let (side, head) = self.tables.last().map_or((Alignment::None, false), |(sides, column, head)| {
            (sides.get(*column).copied().unwrap_or(Alignment::None), *head)
        });
        let side = match side {
            Alignment::Right => " class=\"right\"",
            Alignment::Center => " class=\"center\"",
            Alignment::Left | Alignment::None => "",
        };
        let name = if head { "th" } else { "td" };
        self.push(Kind::Cell, &format!("<{name}{side}>"), if head { "</th>" } else { "</td>" });
    }

    fn start_link(&mut self, address: &CowStr<'_>) {
        if self.in_link() {
            return self.push(Kind::Inline, "<span>", "</span>");
        }
        let address = self.prepared.written(address);
        match self.anchor(&links::target(&address, self.place)) {
            Some(opens) => self.push(Kind::Link, &opens, "</a>"),
            None => self.push(Kind::Link, "<span class=\"dead-link\">", "</span>"),
        }
    }

    fn end_image(&mut self) {
        // Images in the text of an image are text.
        let Some((address, alt)) = self.images.pop() else { return };
        match self.images.is_empty() {
            true => self.image(&address, &alt),
            false => self.alt(&alt),
        }
    }

    /// Adds to what stands for an image, if one is open.
    fn alt(&mut self, text: &str) {
        if let Some((_, alt)) = self.images.last_mut() {
            alt.push_str(text);
        }
    }

    fn wrapped(&mut self, opens: &str, inside: &str, closes: &str) {
        let inside = self.prepared.written(inside);
        if self.hushed.is_some() {
            return;
        }
        if let Some((_, _, heading)) = &mut self.heading {
            heading.push_str(&inside);
        }
        if !self.images.is_empty() {
            return self.alt(&inside);
        }
        self.out.push_str(opens);
        escape(&inside, &mut self.out);
        self.out.push_str(closes);
    }

    fn html(&mut self, html: &str) {
        let html = self.prepared.written(html);
        match self.manner {
            Manner::Words => match self.images.is_empty() {
                true => escape(&html, &mut self.out),
                false => self.alt(&html),
            },
            _ if !self.images.is_empty() => {}
            _ => self.raw_html(&html),
        }
    }

    /// A quote, or a callout with its title. Says how many events it used.
    fn quote(&mut self, events: &[Event<'_>], at: usize) -> usize {
        let first = match (events.get(at + 1), events.get(at + 2)) {
            (Some(Event::Start(Tag::Paragraph)), Some(Event::Text(text))) => Some(text),
            _ => None,
        };
        let callout = first.and_then(|text| Callout::parse(text));
        let Some(callout) = callout.filter(|_| self.open.len() + 2 < DEEPEST) else {
            self.push(Kind::Block, "<blockquote>\n", "</blockquote>\n");
            return 1;
        };
        let look = callout.look;
        let (opens, closes, title_closes) = match callout.fold {
            Some(open) => {
                let open = if open { " open" } else { "" };
                let opens = format!(
                    "<details class=\"callout callout-{look}\"{open}><summary class=\"callout-title\">"
                );
                (opens, "</details>\n", "</summary>\n")
            }
            None => {
                let opens = format!("<div class=\"callout callout-{look}\"><p class=\"callout-title\">");
                (opens, "</div>\n", "</p>\n")
            }
        };
        self.push(Kind::Block, &opens, closes);
        self.push(Kind::Heading, "", title_closes);
        let used = self.callout_title(&callout, &events[at + 3..]);
        self.end();
        if !matches!(events.get(at + 3 + used - 1), Some(Event::End(_))) {
            self.push(Kind::Paragraph, "<p>", "</p>\n");
        }
        3 + used
    }

    /// Writes the title of a callout up to the end of its line. Says how many events it used.
    fn callout_title(&mut self, callout: &Callout<'_>, rest: &[Event<'_>]) -> usize {
        let mut depth = 0usize;
        let mut used = 0;
        let nothing_more =
            matches!(rest.first(), None | Some(Event::End(_) | Event::SoftBreak | Event::HardBreak));
        match callout.title.trim().is_empty() && nothing_more {
            true => escape(&callout.usual_title(), &mut self.out),
            false => self.text(callout.title),
        }
        for event in rest {
            used += 1;
            match event {
                Event::SoftBreak | Event::HardBreak if depth == 0 => return used,
                Event::End(_) if depth == 0 => return used,
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
            self.event(event);
        }
        used
    }

    fn footnote_reference(&mut self, name: &str) {
        let known = self.notes.order.iter().position(|other| other == name);
        let number = known.unwrap_or_else(|| {
            self.notes.order.push(name.to_owned());
            self.notes.order.len() - 1
        }) + 1;
        match (self.manner, self.place.from) {
            (Manner::Note, Some(from)) if !self.in_link() => {
                let id = if known.is_none() { format!(" id=\"fnref-{number}\"") } else { String::new() };
                let to = links::page_of(from.as_str(), Some(&format!("fn-{number}")));
                self.out
                    .push_str(&format!("<sup class=\"footnote\"{id}><a href=\"{to}\">{number}</a></sup>"));
            }
            _ => self.out.push_str(&format!("<sup class=\"footnote\">{number}</sup>")),
        }
    }

    fn end_footnote(&mut self) {
        let Some((name, outer)) = self.notes.outer.pop() else { return };
        let text = std::mem::replace(&mut self.out, outer);
        self.notes.texts.entry(name).or_insert(text);
    }

    fn footnotes(&mut self) {
        if !self.notes.order.iter().any(|name| self.notes.texts.contains_key(name)) {
            return;
        }
        self.out.push_str("<section class=\"footnotes\"><ol>\n");
        for (number, name) in (1..).zip(std::mem::take(&mut self.notes.order)) {
            let text = self.notes.texts.remove(&name).unwrap_or_default();
            match (self.manner, self.place.from) {
                (Manner::Note, Some(from)) => {
                    let back = links::page_of(from.as_str(), Some(&format!("fnref-{number}")));
                    self.out.push_str(&format!(
                        "<li id=\"fn-{number}\">{text}<a class=\"footnote-back\" href=\"{back}\" title=\"Back to the text\">\u{21a9}</a></li>\n"
                    ));
                }
                _ => self.out.push_str(&format!("<li>{text}</li>\n")),
            }
        }
        self.out.push_str("</ol></section>\n");
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH
}
