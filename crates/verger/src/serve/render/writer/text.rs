//! Text inside of elements: marks become what they stand for, bare addresses become links, the rest is escaped.

use vault::VaultPath;
use vault::note::links::Link;

use super::super::Manner;
use super::super::links::{self, Target};
use super::super::marks::{Mark, Piece};
use super::Writer;

/// Text as HTML shows it.
pub fn escape(text: &str, out: &mut String) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let entity = match byte {
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'&' => "&amp;",
            b'"' => "&quot;",
            _ => continue,
        };
        out.push_str(&text[from..at]);
        out.push_str(entity);
        from = at + 1;
    }
    out.push_str(&text[from..]);
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(text, &mut out);
    out
}

impl Writer<'_> {
    pub(super) fn text(&mut self, text: &str) {
        if self.hushed.is_some() {
            return;
        }
        let prepared = self.prepared;
        if self.in_code() {
            escape(&prepared.written(text), &mut self.out);
            return;
        }
        if self.in_html_block {
            return self.html(text);
        }
        for piece in prepared.pieces(text) {
            match piece {
                Piece::Text(text) => self.plain(text),
                Piece::Mark(mark, written) => self.mark(mark, written),
            }
        }
    }

    fn plain(&mut self, text: &str) {
        if let Some((_, _, heading)) = &mut self.heading {
            heading.push_str(text);
        }
        if !self.images.is_empty() {
            return self.alt(text);
        }
        match self.in_link() {
            true => escape(text, &mut self.out),
            false => self.with_addresses(text),
        }
    }

    /// Text in which addresses that stand by themselves are links.
    fn with_addresses(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find("http") {
            let address = address_at(&rest[at..]);
            let starts = rest[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
            if address.is_empty() || !starts {
                escape(&rest[..at + 4], &mut self.out);
                rest = &rest[at + 4..];
                continue;
            }
            escape(&rest[..at], &mut self.out);
            let address = address.to_owned();
            match self.anchor(&Target::Outside(address.clone())) {
                Some(opens) => self.out.push_str(&format!("{opens}{}</a>", escaped(&address))),
                None => escape(&address, &mut self.out),
            }
            rest = &rest[at + address.len()..];
        }
        escape(rest, &mut self.out);
    }

    fn mark(&mut self, mark: &Mark, written: &str) {
        if !self.images.is_empty() {
            return self.alt(written);
        }
        match mark {
            Mark::Wiki(link, end) => self.wiki(link, end.as_ref()),
            Mark::Tag(name) => self.tag(name),
            Mark::Opens if self.mark_at.is_none() => {
                self.out.push_str("<mark>");
                self.mark_at = Some(self.open.len());
            }
            Mark::Closes if self.mark_at == Some(self.open.len()) => {
                self.out.push_str("</mark>");
                self.mark_at = None;
            }
            // The other half stands elsewhere; the element around closes what is open.
            Mark::Opens | Mark::Closes => {}
            Mark::Task(line, status) => self.task(*line, *status),
            Mark::Block(id) if self.manner == Manner::Note => {
                self.out
                    .push_str(&format!("<span class=\"block-id\" id=\"{}\"></span>", links::block_id(id)));
            }
            Mark::Block(_) => {}
        }
    }

    fn tag(&mut self, name: &str) {
        if let Some((_, _, heading)) = &mut self.heading {
            heading.push('#');
            heading.push_str(name);
        }
        let shown = escaped(name);
        match self.in_link() {
            true => self.out.push_str(&format!("#{shown}")),
            false => {
                let to = links::encode(&format!("tag:{name}"), "");
                self.out.push_str(&format!("<a class=\"tag\" href=\"#/find?q={to}\">#{shown}</a>"));
            }
        }
    }

    fn task(&mut self, line: usize, status: char) {
        let behind = self.out.get(self.item_at..).unwrap_or("elsewhere");
        let begins = self.out.get(..self.item_at).is_some_and(|before| before.ends_with("<li>"));
        if begins && (behind.is_empty() || behind == "<p>") {
            let state = match status {
                ' ' => "task",
                'x' | 'X' => "task task-done",
                _ => "task task-other",
            };
            self.out.insert_str(self.item_at - 1, &format!(" class=\"{state}\""));
        }
        let place = match self.manner {
            Manner::Note => format!(" data-line=\"{line}\""),
            Manner::Embedded | Manner::Words => " disabled".to_owned(),
        };
        let checked = if matches!(status, 'x' | 'X') { " checked" } else { "" };
        self.out.push_str(&format!("<input type=\"checkbox\" aria-label=\"Done\"{place}{checked}>"));
        if !matches!(status, ' ' | 'x' | 'X') {
            self.out.push_str(&format!("<span class=\"task-mark\">{}</span>", escaped(&status.to_string())));
        }
    }

    fn wiki(&mut self, link: &Link, end: Option<&VaultPath>) {
        let shown = shown(link);
        if let Some((_, _, heading)) = &mut self.heading {
            heading.push_str(&shown);
        }
        if link.embed && self.manner != Manner::Words && !self.in_link() {
            return self.embed(link, end);
        }
        self.wiki_link(link, end, &shown);
    }

    /// A link to where a wiki link leads.
    pub(in super::super) fn wiki_link(&mut self, link: &Link, end: Option<&VaultPath>, shown: &str) {
        let id = link.fragment.as_deref().map(links::fragment_id);
        let target = match end {
            Some(path) => Target::File(path.clone(), id),
            None => Target::Missing(link.target.clone()),
        };
        match self.anchor(&target).filter(|_| !self.in_link()) {
            Some(opens) => self.out.push_str(&format!("{opens}{}</a>", escaped(shown))),
            None => escape(shown, &mut self.out),
        }
    }

    /// The tag that opens a link; none where nobody should be sent.
    pub(in super::super) fn anchor(&self, target: &Target) -> Option<String> {
        match target {
            Target::File(path, id) => Some(format!(
                "<a class=\"note-link\" href=\"{}\">",
                links::page_of(path.as_str(), id.as_deref())
            )),
            Target::Missing(target) => {
                Some(format!("<a class=\"note-link missing\" href=\"{}\">", links::page_of_missing(target)))
            }
            Target::Outside(address) => {
                let address = escaped(address);
                Some(format!(
                    "<a class=\"outside\" href=\"{address}\" title=\"{address}\" rel=\"noreferrer noopener\" target=\"_blank\">"
                ))
            }
            Target::Refused => None,
        }
    }

    /// An image of the vault, or a link to one from outside: nothing is fetched from there.
    pub(in super::super) fn image(&mut self, address: &str, alt: &str) {
        let (alt, size) = with_size(alt);
        let target = links::target(address, self.place);
        if let (Target::File(path, _), true) = (&target, self.manner != Manner::Words)
            && links::media(path) == links::Media::Image
        {
            self.out.push_str(&picture(path, alt, size));
            return;
        }
        let shown = if alt.trim().is_empty() { address } else { alt };
        let shown: String = shown.chars().take(200).collect();
        match self.anchor(&target).filter(|_| !self.in_link()) {
            Some(opens) => self.out.push_str(&format!("{opens}{}</a>", escaped(&shown))),
            None => escape(if matches!(target, Target::Refused) { alt } else { &shown }, &mut self.out),
        }
    }
}

/// An `img` for a file of the vault.
pub(in super::super) fn picture(path: &VaultPath, alt: &str, size: Option<(u32, Option<u32>)>) -> String {
    let alt = if alt.trim().is_empty() { path.stem() } else { alt };
    let size = match size {
        Some((width, Some(height))) => format!(" width=\"{width}\" height=\"{height}\""),
        Some((width, None)) => format!(" width=\"{width}\""),
        None => String::new(),
    };
    format!("<img src=\"{}\" alt=\"{}\"{size} loading=\"lazy\">", links::bytes_of(path), escaped(alt))
}

/// `alt|300` and `alt|300x200` say how large an image is shown.
pub(in super::super) fn with_size(alt: &str) -> (&str, Option<(u32, Option<u32>)>) {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|size| (1..=8000).contains(size));
    let size = |text: &str| match text.split_once('x') {
        Some((width, height)) => {
            number(width).zip(number(height)).map(|(width, height)| (width, Some(height)))
        }
        None => number(text).map(|width| (width, None)),
    };
    match alt.rsplit_once('|') {
        Some((name, behind)) if size(behind).is_some() => (name, size(behind)),
        None if size(alt).is_some() => ("", size(alt)),
        _ => (alt, None),
    }
}

/// What a wiki link shows.
pub(in super::super) fn shown(link: &Link) -> String {
    if let Some(display) = link.display.as_deref().filter(|display| !display.is_empty()) {
        return display.to_owned();
    }
    let fragment =
        link.fragment.as_deref().map(|fragment| fragment.trim_start_matches('^').replace('#', " > "));
    match (link.target.as_str(), fragment) {
        ("", Some(fragment)) => fragment,
        (target, None) => target.to_owned(),
        (target, Some(fragment)) => format!("{target} > {fragment}"),
    }
}

/// The address at the start of a text, without the punctuation behind it.
fn address_at(text: &str) -> &str {
    if !(text.starts_with("http://") || text.starts_with("https://")) {
        return "";
    }
    let end =
        text.find(|c: char| c.is_whitespace() || c.is_control() || "<>\"`".contains(c)).unwrap_or(text.len());
    let address = text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
    let address = match address.contains('(') {
        true => address,
        false => address.trim_end_matches(')'),
    };
    let host = address.split_once("://").map_or("", |(_, host)| host);
    if host.is_empty() { "" } else { address }
}
