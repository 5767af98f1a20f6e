//! The outline of a note: its headings as sections, its block ids and its front-matter keys, and how each is addressed.
//!
//! Section reads, the 1.x edits ([`crate::edit::section`]) and the native edits ([`crate::edit::patch`]) all find their
//! target here, so that what is read is what is written. Nothing here edits.
//!
//! A heading's address is the texts of its ancestors and its own, joined by `::`. Of several headings with the same path
//! the first has the plain address; later ones end in an ordinal, `Log[2]`, `Log[3]`. An ordinal that would be the path
//! of a real heading is passed over (`two_headings_never_share_an_address`). Headings inside quotes and lists are text,
//! not sections, as in Obsidian. Of a heading longer than [`LABEL_LIMIT`] characters the address holds the beginning.

mod find;

pub use find::{Purpose, Target, TargetKind};

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::Result;
use crate::note::blocks::{self, BlockId, Blocks, Heading};
use crate::note::front::{self, Front};
use crate::store::blob::Hash;

/// How many characters of a heading its address holds. Without a limit, one huge heading over many small ones would
/// make the list of addresses as large as the square of the note.
pub const LABEL_LIMIT: usize = 200;

/// A note's text, cut into sections.
#[derive(Debug, Clone)]
pub struct Outline<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The front matter block, if there is one.
    pub front: Option<Front>,
    /// Byte at which the body starts.
    pub body: usize,
    /// Every heading at the top level of the note, in order.
    pub sections: Vec<Section>,
    /// The Markdown blocks.
    pub blocks: Blocks,
    /// The block ids.
    pub ids: Vec<BlockId>,
}

/// One heading and what stands under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it is called in a target: unique in the note.
    pub address: String,
    /// The texts of its ancestors and its own joined by `::`, where that is not the address.
    pub path: Option<String>,
    /// The heading's text on one line.
    pub label: String,
    /// 1 to 6.
    pub level: u8,
    /// Index of the nearest earlier heading of a lower level.
    pub parent: Option<usize>,
    /// The heading from its `#` (or the first byte of its text) to its end, line end excluded.
    pub marker: Range<usize>,
    /// First byte of the heading's first line.
    pub start: usize,
    /// From behind the heading's line end to the next heading of the same or a lower level, or the end of the note.
    pub content: Range<usize>,
}

/// What a note offers as targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentMap {
    /// Addresses of the headings, in order.
    pub headings: Vec<String>,
    /// Block ids, in order; later ones of the same id end in an ordinal, `id[2]`.
    pub blocks: Vec<String>,
    /// Front-matter keys, in order.
    pub frontmatter_fields: Vec<String>,
    /// Hash of the text, for `ifMatch`.
    pub version: String,
}

/// One section, read.
#[derive(Debug, Clone, PartialEq)]
pub struct SectionText {
    /// The address of what was found.
    pub address: String,
    /// A heading with its subtree, or a block with its id; trailing line ends cut.
    pub text: String,
    /// What an edit of the content replaces: without the heading line, without the id, without blank lines around it.
    pub content: String,
    /// The value, for a front-matter key.
    pub value: Option<Value>,
}

/// Short hash of a text: what `ifMatch` is compared with.
pub fn version(text: &str) -> String {
    Hash::of(text.as_bytes()).short()
}

/// What the text offers as targets.
pub fn document_map(text: &str) -> DocumentMap {
    let outline = Outline::read(text);
    let keys = outline.front.as_ref().and_then(|front| front.values.as_ref().ok());
    DocumentMap {
        headings: outline.sections.iter().map(|section| section.address.clone()).collect(),
        blocks: outline.block_addresses(),
        frontmatter_fields: keys.map(|map| map.keys().cloned().collect()).unwrap_or_default(),
        version: version(text),
    }
}

/// Reads one section of the text.
pub fn read_section(text: &str, target: &Target) -> Result<SectionText> {
    let outline = Outline::read(text);
    match target {
        Target::Root => Ok(outline.read_root()),
        Target::Heading(path) => Ok(outline.read_heading(outline.heading(path, Purpose::Read)?)),
        Target::Block(id) => Ok(outline.read_block(outline.block(id, Purpose::Read)?)),
        Target::Front(key) => {
            let value = outline.front_value(key, Purpose::Read)?.clone();
            let text = match &value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Ok(SectionText { address: key.clone(), content: text.clone(), text, value: Some(value) })
        }
    }
}

impl<'a> Outline<'a> {
    /// Cuts a text into sections.
    pub fn read(text: &'a str) -> Outline<'a> {
        let front = front::split(text);
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let body = front.as_ref().map_or(mark, |front| front.block.end);
        let blocks = Blocks::scan(text, body);
        let ids = blocks::ids(text, &blocks);
        let sections = sections(text, body, &blocks.headings);
        Outline { text, front, body, sections, blocks, ids }
    }

    /// The line end of this note: CRLF if there is one.
    pub fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// The text with this note's line ends. A note without any line keeps what is given.
    pub fn with_newlines(&self, content: &str) -> String {
        if !self.text.contains('\n') {
            return content.to_owned();
        }
        let plain = content.replace("\r\n", "\n");
        if self.newline() == "\n" { plain } else { plain.replace('\n', "\r\n") }
    }

    /// The ids as the map shows them.
    pub fn block_addresses(&self) -> Vec<String> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let address = |id: &'_ BlockId, count: usize| match count {
            1 => id.id.clone(),
            _ => format!("{}[{count}]", id.id),
        };
        let mut out = Vec::with_capacity(self.ids.len());
        for id in &self.ids {
            let count = seen.entry(id.id.as_str()).or_insert(0);
            *count += 1;
            out.push(address(id, *count));
        }
        out
    }

    fn read_root(&self) -> SectionText {
        let body = &self.text[self.body..];
        SectionText {
            address: String::new(),
            text: body.trim_end_matches(['\r', '\n']).to_owned(),
            content: self.text[core(self.text, self.body..self.text.len())].to_owned(),
            value: None,
        }
    }

    fn read_heading(&self, section: &Section) -> SectionText {
        SectionText {
            address: section.address.clone(),
            text: self.text[section.start..section.content.end].trim_end_matches(['\r', '\n']).to_owned(),
            content: self.text[core(self.text, section.content.clone())].to_owned(),
            value: None,
        }
    }

    fn read_block(&self, id: &BlockId) -> SectionText {
        let end = if id.isolated { id.content.end } else { id.span.end };
        SectionText {
            address: id.id.clone(),
            text: self.text[id.content.start..end].to_owned(),
            content: self.text[id.content.clone()].to_owned(),
            value: None,
        }
    }
}

/// The span without the blank lines at its start and end, without the last line end.
pub(crate) fn core(text: &str, span: Range<usize>) -> Range<usize> {
    let end = span.start + text[span.clone()].trim_end().len();
    let mut start = span.start;
    for line in text[span.start..end].split_inclusive('\n') {
        if !line.trim().is_empty() {
            break;
        }
        start += line.len();
    }
    start.min(end)..end
}

/// The byte behind the line end that follows `at`. A lone CR ends a line too.
pub(crate) fn behind_line(text: &str, at: usize) -> usize {
    let Some(end) = text[at..].find(['\n', '\r']).map(|end| at + end) else { return text.len() };
    if text[end..].starts_with("\r\n") { end + 2 } else { end + 1 }
}

fn sections(text: &str, body: usize, headings: &[Heading]) -> Vec<Section> {
    let mut out: Vec<Section> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for heading in headings.iter().filter(|heading| heading.inside.is_none()) {
        let start = text[body..heading.span.start].rfind(['\n', '\r']).map_or(body, |at| body + at + 1);
        let behind = behind_line(text, heading.span.end);
        while let Some(&last) = open.last().filter(|&&last| out[last].level >= heading.level) {
            out[last].content.end = start;
            open.pop();
        }
        let parent = open.last().copied();
        open.push(out.len());
        out.push(Section {
            address: String::new(),
            path: None,
            label: label(&heading.text),
            level: heading.level,
            parent,
            marker: heading.span.clone(),
            start,
            content: behind..text.len(),
        });
    }
    name(&mut out);
    out
}

/// The text on one line, clipped.
pub(crate) fn label(text: &str) -> String {
    let text = text.trim();
    match text.contains(['\n', '\r']) {
        true => text.lines().map(str::trim).collect::<Vec<_>>().join(" ").chars().take(LABEL_LIMIT).collect(),
        false => text.chars().take(LABEL_LIMIT).collect(),
    }
}

/// Gives each section its address.
fn name(sections: &mut [Section]) {
    let paths = paths(sections);
    let real: HashSet<&str> = paths.iter().map(String::as_str).collect();
    let mut taken: HashSet<String> = HashSet::new();
    let mut next: HashMap<String, usize> = HashMap::new();
    for (index, path) in paths.iter().enumerate() {
        let base = match sections[index].parent {
            Some(parent) => format!("{}::{}", sections[parent].address, sections[index].label),
            None => sections[index].label.clone(),
        };
        let free = |address: &str, taken: &HashSet<String>| {
            !taken.contains(address) && (address == path || !real.contains(address))
        };
        let mut address = base.clone();
        if !free(&address, &taken) {
            let ordinal = next.entry(base.clone()).or_insert(2);
            address = format!("{base}[{ordinal}]");
            while !free(&address, &taken) {
                *ordinal += 1;
                address = format!("{base}[{ordinal}]");
            }
            *ordinal += 1;
        }
        taken.insert(address.clone());
        sections[index].path = (address != *path).then(|| path.clone());
        sections[index].address = address;
    }
}

fn paths(sections: &[Section]) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(sections.len());
    for section in sections {
        out.push(match section.parent {
            Some(parent) => format!("{}::{}", out[parent], section.label),
            None => section.label.clone(),
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[track_caller]
    fn headings(text: &str, expected: &[&str]) {
        assert_eq!(document_map(text).headings, expected, "{text:?}");
    }

    #[test]
    fn the_map_lists_every_heading_by_its_path() {
        headings("# T\n\n### Deep\nx\n\n## Mid\n\n#### Four\n", &["T", "T::Deep", "T::Mid", "T::Mid::Four"]);
        headings("T\r\n===\r\n# **Bold** `c` [l](u) #\r\n", &["T", "**Bold** `c` [l](u)"]);
        headings("two\nlines\n---\n> # quoted\n\n- # listed\n\n```\n# code\n```\n", &["two lines"]);
        headings("", &[]);
    }

    #[test]
    fn two_headings_never_share_an_address() {
        headings("# T\n## A\n## A\n## A\n", &["T", "T::A", "T::A[2]", "T::A[3]"]);
        headings("# A\n## B\n# A\n## B\n", &["A", "A::B", "A[2]", "A[2]::B"]);
        headings("# A\n# A\n# A[2]\n", &["A", "A[3]", "A[2]"]);
        headings("# A::B\n# A\n## B\n", &["A::B", "A", "A::B[2]"]);
        headings("# A\n# A[2]\n## C\n# A\n## C\n", &["A", "A[2]", "A[2]::C", "A[3]", "A[3]::C"]);
    }

    #[test]
    fn the_map_lists_ids_and_a_version_that_follows_the_text() {
        let map = document_map("x ^a\n\ny ^b\n\nz ^a\n");
        assert_eq!(map.blocks, ["a", "b", "a[2]"]);
        assert_eq!(map.version.len(), 16);
        assert_ne!(map.version, version("x ^a\n\ny ^b\n\nz ^a"));
    }

    const NOTE: &str = "intro\n\n# T\n\ntext\n\n## A\none\n\n### S\ntwo\n\n## B\n\nlist:\n- a ^i\n- b\n\n^l\n\n## A\nthree\n";

    #[track_caller]
    fn read(target: Target, expected: &str) {
        assert_eq!(read_section(NOTE, &target).unwrap().text, expected);
    }

    #[test]
    fn a_section_is_its_heading_and_subtree() {
        read(Target::heading("T::A"), "## A\none\n\n### S\ntwo");
        read(Target::heading(" T :: A[2] "), "## A\nthree");
        read(Target::heading("S"), "### S\ntwo");
        read(Target::heading("A::S"), "### S\ntwo");
        read(Target::Block("i".into()), "- a ^i");
        read(Target::parse(TargetKind::Block, "^L"), "- a ^i\n- b");
        assert_eq!(read_section(NOTE, &Target::heading("B")).unwrap().content, "list:\n- a ^i\n- b\n\n^l");
        assert!(read_section(NOTE, &Target::Root).unwrap().text.starts_with("intro\n\n# T"));
    }

    #[track_caller]
    fn refused(target: Target, reason: &str, expected: &[&str]) {
        match read_section(NOTE, &target) {
            Err(Error::Edit { reason: found, candidates, hint, .. }) => {
                assert_eq!(
                    (found, candidates.iter().map(String::as_str).collect::<Vec<_>>()),
                    (reason, expected.to_vec())
                );
                assert!(!hint.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_found_is_refused_with_what_could_be_meant() {
        refused(Target::heading("A"), "ambiguous_section", &["T::A", "T::A[2]"]);
        refused(Target::heading("t::b"), "section_missing", &["T::B"]);
        refused(Target::heading("**S**"), "section_missing", &["T::A::S"]);
        refused(Target::Block("zz".into()), "section_missing", &["i", "l"]);
        refused(Target::Front("key".into()), "section_missing", &[]);
    }

    #[test]
    fn many_equal_headings_are_named_in_linear_time() {
        let text = "# same\n".repeat(20_000);
        let map = document_map(&text);
        assert_eq!(map.headings.last().map(String::as_str), Some("same[20000]"));
    }
}
