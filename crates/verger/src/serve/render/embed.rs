//! Files that a note shows inside of itself: pictures, sound, other notes and parts of them.
//!
//! Depth, number and size are bounded, and a note that embeds itself shows a link instead.

use vault::VaultPath;
use vault::note::links::Link;
use vault::note::outline::{Outline, Purpose};

use super::links::{self, Media};
use super::writer::{Kind, Writer, picture, shown, with_size};
use super::{Manner, Place, inner};

/// How deep notes may stand in each other.
const DEPTH: usize = 3;

impl Writer<'_> {
    /// An embed; a link where it cannot be shown here.
    pub(super) fn embed(&mut self, link: &Link, end: Option<&VaultPath>) {
        let name = shown(link);
        let Some(path) = end else { return self.wiki_link(link, None, &name) };
        let left = self.budget.embeds.get();
        if left == 0 {
            return self.wiki_link(link, Some(path), &name);
        }
        self.budget.embeds.set(left - 1);
        let bytes = links::bytes_of(path);
        match links::media(path) {
            Media::Image => {
                let (alt, size) = with_size(link.display.as_deref().unwrap_or_default());
                self.out.push_str(&picture(path, alt, size));
            }
            Media::Audio => {
                self.out.push_str(&format!("<audio controls preload=\"none\" src=\"{bytes}\"></audio>"))
            }
            Media::Video => {
                self.out.push_str(&format!("<video controls preload=\"none\" src=\"{bytes}\"></video>"))
            }
            Media::Other => self.embed_note(link, path, &name),
        }
    }

    fn embed_note(&mut self, link: &Link, path: &VaultPath, name: &str) {
        let in_itself = self.place.from == Some(path) || self.around.contains(path);
        // A part of the note itself may be shown again, the whole may not.
        let fits = matches!(self.innermost(), Some(Kind::Paragraph | Kind::Item));
        let text = (path.is_note() && fits && !in_itself && self.around.len() < DEPTH)
            .then(|| part(self.place, path, link.fragment.as_deref()))
            .flatten()
            .filter(|text| text.len() <= self.budget.bytes.get());
        let Some(text) = text else { return self.wiki_link(link, Some(path), name) };
        self.budget.bytes.set(self.budget.bytes.get() - text.len());
        let mut around = self.around.to_vec();
        around.extend(self.place.from.cloned());
        let place = Place { view: self.place.view, from: Some(path) };
        let (html, _, has_raw) = inner(&text, &place, Manner::Embedded, &around, self.budget);
        self.has_raw |= has_raw;
        let in_paragraph = self.innermost() == Some(Kind::Paragraph);
        let raw_floor = self.raw_floor();
        self.close_raw(raw_floor);
        match in_paragraph {
            true if self.out.ends_with("<p>") => self.out.truncate(self.out.len() - "<p>".len()),
            true => self.out.push_str("</p>\n"),
            false => {}
        }
        self.out.push_str("<div class=\"embed\"><div class=\"embed-title\">");
        self.wiki_link(link, Some(path), name);
        self.out.push_str("</div>");
        self.out.push_str(&html);
        self.out.push_str(if in_paragraph { "</div>\n<p>" } else { "</div>\n" });
    }
}

/// The text of a note, or of the part of it that a fragment names.
fn part(place: &Place<'_>, path: &VaultPath, fragment: Option<&str>) -> Option<String> {
    let text = place.view.text(path).ok()?;
    let Some(fragment) = fragment else { return Some(text) };
    let outline = Outline::read(&text);
    let last = fragment.rsplit('#').next().unwrap_or(fragment).trim();
    if let Some(block) = last.strip_prefix('^') {
        let block = outline.block(block, Purpose::Read).ok()?;
        return text.get(block.content.clone()).map(str::to_owned);
    }
    let wanted = super::heading_id(last);
    let section = outline.sections.iter().find(|section| super::heading_id(&section.label) == wanted)?;
    text.get(section.start..section.content.end).map(str::to_owned)
}
