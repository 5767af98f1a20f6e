//! What the catalog keeps of one file: everything a query needs, nothing of the text itself.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use memchr::memchr_iter;
use serde_json::{Map, Value};

use super::fold;
use super::intern::Interner;
use super::property::{self, Property};
use crate::error::Result;
use crate::files::{Entry, Stat};
use crate::note::blocks::Blocks;
use crate::note::links::LinkStyle;
use crate::note::{self, Parsed};
use crate::path::VaultPath;
use crate::query::dql::Marks;
use crate::text::Text;

thread_local! {
    /// The blocks of the note that this thread has parsed last.
    static BEFORE: Cell<Blocks> = Cell::default();
}

/// A file of the vault. For attachments everything behind `stat` is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct FileInfo {
    /// Where it lies.
    pub path: VaultPath,
    /// Size, time and number of the version that was read.
    pub stat: Stat,
    /// Headings in document order.
    pub headings: Box<[HeadingInfo]>,
    /// Links and embeds, front matter first, in document order.
    pub links: Box<[LinkInfo]>,
    /// Tags with how often each stands there, in the order of their first use; each spelling is one entry.
    pub tags: Box<[TagInfo]>,
    /// Front-matter properties in their order.
    pub properties: Box<[(Text, Property)]>,
    /// Inline fields that belong to the page, key and value as written.
    pub fields: Box<[(Text, Text)]>,
    /// Tasks that are not done.
    pub open_tasks: u32,
    /// Tasks that are done.
    pub done_tasks: u32,
    /// Whether nothing but white space stands behind the front matter.
    pub blank: bool,
    /// Whether there is a list item.
    pub lists: bool,
    /// Whether there is a list item with a box.
    pub boxes: bool,
    /// What could not be read.
    pub problems: Box<[Problem]>,
    /// Known without a look at the path, which lies elsewhere in memory; most questions ask this of every file.
    note: bool,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadingInfo {
    /// 1 to 6.
    pub level: u8,
    /// Line in the note, from 1.
    pub line: u32,
    /// Raw Markdown inside the heading.
    pub text: Text,
}

/// A link or embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkInfo {
    /// What it points to, without fragment; empty for a link inside the same note.
    pub target: Text,
    /// What follows `#`.
    pub fragment: Option<Text>,
    /// Line in the note, from 1.
    pub line: u32,
    /// How it is written.
    pub style: LinkStyle,
    /// Whether it embeds.
    pub embed: bool,
    /// Whether it stands in front matter.
    pub in_front: bool,
}

/// A tag in one spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagInfo {
    /// The name without `#`, as written.
    pub name: Text,
    /// How often it stands in the note.
    pub uses: u32,
    /// Its place among the tags of the body, from 1; 0 if it stands only in front matter.
    pub body: u32,
}

/// What could not be read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The front matter is no valid YAML mapping.
    Front(Box<str>),
    /// Bytes that are not UTF-8; they were read as `�`.
    NotText,
    /// The file could not be opened or is too large.
    Unreadable(Box<str>),
}

impl FileInfo {
    /// Whether this is a Markdown note by its extension.
    pub fn is_note(&self) -> bool {
        self.note
    }

    /// The first heading of level 1, or the name without its extension.
    pub fn title(&self) -> &str {
        let first = self.headings.iter().find(|heading| heading.level == 1 && !heading.text.is_empty());
        first.map_or(self.path.stem(), |heading| &heading.text)
    }

    /// Its other names: `aliases` (or `alias`) in front matter, a list or a text with commas.
    pub fn aliases(&self) -> Vec<&str> {
        let named = |key: &str| key.eq_ignore_ascii_case("aliases") || key.eq_ignore_ascii_case("alias");
        let mut out = Vec::new();
        for (_, value) in self.properties.iter().filter(|(key, _)| named(key)) {
            match value {
                Property::Text(text) => out.extend(text.split(',')),
                other => out.extend(other.texts()),
            }
        }
        out.into_iter().map(str::trim).filter(|alias| !alias.is_empty()).collect()
    }

    /// The front matter as JSON.
    pub fn front(&self) -> Map<String, Value> {
        property::map_to_json(&self.properties)
    }

    /// One front-matter property, by its exact name.
    pub fn property(&self, key: &str) -> Option<&Property> {
        self.properties.iter().find(|(name, _)| **name == *key).map(|(_, value)| value)
    }

    /// The tags as they are listed to people: spelling of the first use, no duplicates in another case.
    pub fn tag_names(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        self.tags.iter().map(|tag| &*tag.name).filter(|name| seen.insert(fold(name))).collect()
    }

    /// Takes in a file; `bytes` is what reading it gave, and is not looked at for attachments.
    pub(super) fn read<B: AsRef<[u8]>>(
        entry: Entry,
        interner: &Interner,
        bytes: impl FnOnce(&VaultPath) -> Result<B>,
    ) -> FileInfo {
        let mut info = FileInfo::attachment(entry);
        if info.is_note() {
            match bytes(&info.path) {
                Ok(bytes) => info.take_bytes(bytes.as_ref(), interner),
                Err(error) => info.problems = Box::new([Problem::Unreadable(error.to_string().into())]),
            }
        }
        info
    }

    pub(super) fn is_unreadable(&self) -> bool {
        self.problems.iter().any(|problem| matches!(problem, Problem::Unreadable(_)))
    }

    fn attachment(entry: Entry) -> FileInfo {
        FileInfo {
            note: entry.path.is_note(),
            path: entry.path,
            stat: entry.stat,
            headings: Box::default(),
            links: Box::default(),
            tags: Box::default(),
            properties: Box::default(),
            fields: Box::default(),
            open_tasks: 0,
            done_tasks: 0,
            blank: false,
            lists: false,
            boxes: false,
            problems: Box::default(),
        }
    }

    fn take_bytes(&mut self, bytes: &[u8], interner: &Interner) {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        };
        let mut problems = Vec::new();
        if matches!(text, Cow::Owned(_)) {
            problems.push(Problem::NotText);
        }
        let parsed = note::facts(&text, BEFORE.take());
        match parsed.front.as_ref().map(|front| &front.values) {
            Some(Ok(values)) => self.properties = property::keep_map(values, interner),
            Some(Err(error)) => problems.push(Problem::Front(error.to_string().into())),
            None => {}
        }
        self.problems = problems.into();
        self.blank = text.get(parsed.body..).is_none_or(|body| body.trim().is_empty());
        self.take_parts(&text, &parsed, interner);
        // A huge note must not keep its memory for as long as the thread lives.
        if parsed.blocks.runs.capacity().max(parsed.blocks.blocks.capacity()) < 1 << 12 {
            BEFORE.set(parsed.blocks);
        }
    }

    fn take_parts(&mut self, text: &str, parsed: &Parsed, interner: &Interner) {
        let mut lines = Lines::of(text);
        self.headings = parsed
            .blocks
            .headings
            .iter()
            .map(|heading| HeadingInfo {
                level: heading.level,
                line: lines.at(heading.span.start),
                text: interner.shared_if_short(&heading.text),
            })
            .collect();
        let mut lines = Lines::of(text);
        self.links = parsed
            .links
            .iter()
            .map(|link| LinkInfo {
                target: interner.shared(&link.target),
                fragment: link.fragment.as_deref().map(|text| interner.shared_if_short(text)),
                line: lines.at(link.span.start),
                style: link.style,
                embed: link.embed,
                in_front: link.in_front,
            })
            .collect();
        self.tags = count_tags(parsed, interner);
        let marks = Marks::of(text, parsed);
        (self.lists, self.boxes) = (marks.lists, marks.boxes);
        self.fields = marks
            .fields
            .into_iter()
            .map(|(key, value)| (interner.shared_if_short(&key), interner.shared_if_short(&value)))
            .collect();
        let done = parsed.tasks.iter().filter(|task| task.is_done()).count();
        self.done_tasks = narrow(done);
        self.open_tasks = narrow(parsed.tasks.len() - done);
    }
}

fn count_tags(parsed: &Parsed, interner: &Interner) -> Box<[TagInfo]> {
    /// From so many different tags on a table finds them faster than a look at each.
    const MANY: usize = 24;
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut out: Vec<TagInfo> = Vec::new();
    let mut in_body = 0;
    for tag in &parsed.tags {
        let known = match out.len() {
            0..MANY => out.iter().position(|known| *known.name == *tag.name),
            MANY.. => {
                if places.is_empty() {
                    // Every tag so far has its first use in `parsed`; those are the texts that live long enough.
                    for tag in &parsed.tags {
                        let place = out.iter().position(|known| *known.name == *tag.name);
                        places.extend(place.map(|place| (tag.name.as_str(), place)));
                        if places.len() == out.len() {
                            break;
                        }
                    }
                }
                places.get(tag.name.as_str()).copied()
            }
        };
        let place = known.unwrap_or_else(|| {
            if out.len() >= MANY {
                places.insert(&tag.name, out.len());
            }
            out.push(TagInfo { name: interner.shared(&tag.name), uses: 0, body: 0 });
            out.len() - 1
        });
        out[place].uses += 1;
        if !tag.in_front && out[place].body == 0 {
            in_body += 1;
            out[place].body = in_body;
        }
    }
    out.into()
}

/// Line numbers by byte; asked in ascending order, or it starts anew.
struct Lines<'a> {
    bytes: &'a [u8],
    counted: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Lines<'a> {
        Lines { bytes: text.as_bytes(), counted: 0, line: 1 }
    }

    fn at(&mut self, byte: usize) -> u32 {
        if byte < self.counted {
            (self.counted, self.line) = (0, 1);
        }
        self.line += memchr_iter(b'\n', &self.bytes[self.counted..byte]).count();
        self.counted = byte;
        narrow(self.line)
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
