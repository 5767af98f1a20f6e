//! A note: its text and what stands in it, each thing with its byte span.
//!
//! Parsing never fails: any bytes are a note. Broken front matter is reported in [`Front`], not thrown.
//! Nothing here edits; edits are planned in [`crate::edit`] from the spans found here.

pub mod blocks;
pub mod fields;
pub mod front;
pub mod links;
pub mod outline;
pub mod tags;
pub mod tasks;

use blocks::Blocks;
use fields::Field;
use front::Front;
use links::Link;
use tags::Tag;
use tasks::Task;

/// Everything found in one note's text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The front matter block, if the text starts with one.
    pub front: Option<Front>,
    /// Byte at which the body starts (0 without front matter).
    pub body: usize,
    /// Headings, blocks, code.
    pub blocks: Blocks,
    /// Block ids (`^id`).
    pub ids: Vec<blocks::BlockId>,
    /// Tags in the body and in front matter.
    pub tags: Vec<Tag>,
    /// Links and embeds in the body and in front matter.
    pub links: Vec<Link>,
    /// Inline fields (`key:: value`).
    pub fields: Vec<Field>,
    /// Tasks (`- [ ] text`).
    pub tasks: Vec<Task>,
}

/// Reads a note.
pub fn parse(text: &str) -> Parsed {
    let mut parsed = facts(text, Blocks::default());
    parsed.ids = blocks::ids(text, &parsed.blocks);
    parsed.fields = fields::scan(text, parsed.body, &parsed.blocks);
    parsed
}

/// Reads what the catalog keeps of a note: everything but block ids and inline fields. The blocks of the note before give
/// their memory: growing fresh lists for each of a hundred thousand notes costs more than what is put into them.
pub(crate) fn facts(text: &str, before: Blocks) -> Parsed {
    let front = front::split(text);
    let body = front.as_ref().map_or(0, |front| front.block.end);
    let blocks = before.scan_again(text, body);
    let comments = links::comments(text, body, &blocks);
    Parsed {
        body,
        ids: Vec::new(),
        tags: tags::scan(text, body, &blocks, &comments, front.as_ref()),
        links: links::scan(text, body, &blocks, &comments, front.as_ref()),
        fields: Vec::new(),
        tasks: tasks::scan(text, body, &blocks, &comments),
        front,
        blocks,
    }
}
