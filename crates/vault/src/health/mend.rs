//! The edits that mend findings, as data: which note, and what to do with its text.
//!
//! Only what is certain is here; whoever plans them (`vault_health_repair`) applies several to one note in turn.

use crate::catalog::Leads;
use crate::edit::tags;
use crate::error::Result;
use crate::note;
use crate::note::links::{Link, LinkStyle, Quote};
use crate::path::VaultPath;

/// An edit that mends a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mend {
    /// Write a tag as the others do.
    RenameTag {
        /// The note.
        path: VaultPath,
        /// The tag as it is written.
        from: String,
        /// The tag to write.
        to: String,
    },
    /// Let the links to `target` lead to `to`; what they show stays.
    Relink {
        /// The note.
        path: VaultPath,
        /// Where the links lead now.
        target: String,
        /// Where they are to lead.
        to: String,
    },
    /// Add a line at the end.
    Append {
        /// The note.
        path: VaultPath,
        /// The line.
        text: String,
    },
    /// Put the note into the trash.
    Delete {
        /// The note.
        path: VaultPath,
    },
}

impl Mend {
    /// The note that it changes.
    pub fn path(&self) -> &VaultPath {
        match self {
            Mend::RenameTag { path, .. }
            | Mend::Relink { path, .. }
            | Mend::Append { path, .. }
            | Mend::Delete { path } => path,
        }
    }

    /// The note's text afterwards; the same where there is nothing left to mend. A note that is deleted keeps its text.
    pub fn apply(&self, text: &str) -> Result<String> {
        match self {
            Mend::RenameTag { from, to, .. } => Ok(tags::rename(text, from, to)?.text),
            Mend::Relink { target, to, .. } => Ok(relink(text, target, to)),
            Mend::Append { text: line, .. } => Ok(append(text, line)),
            Mend::Delete { .. } => Ok(text.to_owned()),
        }
    }
}

/// A link to `to` at the end of `from`, in the shortest form that leads there; none where no wiki link can.
pub(super) fn see_also(leads: &mut Leads<'_, '_>, from: &VaultPath, to: &VaultPath) -> Option<Mend> {
    let whole = to.as_str().strip_suffix(".md").unwrap_or(to.as_str());
    let target = [to.stem(), whole, to.as_str()]
        .into_iter()
        .find(|text| is_plain(text) && leads_to(leads, text, from, to))?;
    Some(Mend::Append { path: from.clone(), text: format!("See also [[{target}]]") })
}

fn leads_to(leads: &mut Leads<'_, '_>, text: &str, from: &VaultPath, to: &VaultPath) -> bool {
    leads.resolve(LinkStyle::Wiki, text, from) == Some(to)
}

/// Whether a text can stand in a wiki link, and in the quotes of front matter, without escaping.
fn is_plain(text: &str) -> bool {
    !text.contains(['#', '|', '[', ']', '^', '"', '\'', '\\', '\n'])
}

fn append(text: &str, line: &str) -> String {
    if text.lines().any(|there| there == line) {
        return text.to_owned();
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => end,
        _ => &[end, end].concat(),
    };
    format!("{text}{gap}{line}{end}")
}

fn relink(text: &str, target: &str, to: &str) -> String {
    if !is_plain(to) {
        return text.to_owned();
    }
    let links = note::parse(text).links;
    let wanted = links.iter().filter(|link| link.style == LinkStyle::Wiki && link.target == target);
    let mut out = text.to_owned();
    // From the back, so that the spans in front stay true.
    for link in wanted.collect::<Vec<_>>().into_iter().rev() {
        if link.display.is_none() && !link.embed {
            out.insert_str(link.span.end - 2, &shown(text, link));
        }
        out.replace_range(link.target_span.clone(), to);
    }
    out
}

/// The alias that keeps a link looking as it did. In a table the bar must be escaped, and in double quotes the escape too.
fn shown(text: &str, link: &Link) -> String {
    let line = text[..link.span.start].rfind('\n').map_or(0, |at| at + 1);
    let in_table = !link.in_front && text[line..].trim_start().starts_with('|');
    let bar = if in_table && link.quote == Quote::None { "\\|" } else { "|" };
    format!("{bar}{}", link.target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_by_an_alias_gets_the_name_in_front_and_looks_as_before() {
        for (before, after) in [
            ("see [[Bee]].", "see [[b|Bee]]."),
            ("see [[Bee#x|that]] and [[Bee#x]]", "see [[b#x|that]] and [[b#x|Bee]]"),
            ("| [[Bee]] | x |\n|---|---|\n", "| [[b\\|Bee]] | x |\n|---|---|\n"),
            ("---\nup: \"[[Bee]]\"\n---\n", "---\nup: \"[[b|Bee]]\"\n---\n"),
            ("`[[Bee]]` [[Other]]", "`[[Bee]]` [[Other]]"),
            ("[[Bee]] [[Bee]]", "[[b|Bee]] [[b|Bee]]"),
        ] {
            assert_eq!(relink(before, "Bee", "b"), after);
        }
        assert_eq!(relink("[[Bee]]", "Bee", "odd#name"), "[[Bee]]", "what cannot be written is left alone");
    }

    #[test]
    fn a_line_is_added_once_with_the_line_ends_of_the_note() {
        assert_eq!(append("a", "x"), "a\n\nx\n");
        assert_eq!(append("a\r\n", "x"), "a\r\n\r\nx\r\n");
        assert_eq!(append("", "x"), "x\n");
        assert_eq!(append("a\nx\n", "x"), "a\nx\n");
    }
}
