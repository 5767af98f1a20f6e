//! The fields of a page: from its front matter, its lines and its list items, typed when somebody asks.
//!
//! The catalog keeps the text of inline fields ([`Marks::of`] finds them while a note is parsed anyway), so that a query
//! over the whole vault opens no file for them. A key also counts in its canonical spelling; a key that is used more
//! than once has a list.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::date::Zone;
use super::inline::{EmojiDates, InlineField, LONGEST_LINE, full_line_field, inline_fields};
use super::items::{self, Lines, distinct};
use super::parse::{front_value, inline_value};
use super::text::canonical_key;
use super::value::{Object, Value};
use crate::catalog::{FileInfo, Property};
use crate::note::Parsed;
use crate::note::blocks::BlockKind;
use crate::text::Text;

/// How many typed texts are remembered for one query.
const REMEMBERED: usize = 20_000;

/// What the catalog keeps of a note for queries.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Keys and values of the inline fields that belong to the page, in the order in which they count.
    pub(crate) fields: Box<[(Text, Text)]>,
    /// Whether there is a list item.
    pub(crate) lists: bool,
    /// Whether there is one with a box.
    pub(crate) boxes: bool,
}

impl Marks {
    /// Reads them off a parsed note.
    pub(crate) fn of(text: &str, parsed: &Parsed) -> Marks {
        let blocks = parsed.blocks.blocks.iter();
        let items: Vec<_> = blocks.filter(|block| block.kind == BlockKind::Item).collect();
        let boxes = items.iter().any(|block| items::has_box(text, &block.span));
        let mut fields = Vec::new();
        // Most notes have none, and then nothing more is looked at.
        if memchr::memmem::find(text.as_bytes(), b"::").is_some() || !text.is_ascii() && !items.is_empty() {
            let lines = Lines::of(text);
            fields = line_fields(parsed, &lines);
            fields.extend(items::page_fields(text, parsed, &lines));
        }
        let kept = |field: InlineField| (Text::from(field.key), Text::from(field.value));
        Marks { fields: fields.into_iter().map(kept).collect(), lists: !items.is_empty(), boxes }
    }
}

/// The fields of all lines that are in no list and are no rule.
fn line_fields(parsed: &Parsed, lines: &Lines<'_>) -> Vec<InlineField> {
    let mut out = Vec::new();
    let skipped = |kind: &BlockKind| matches!(kind, BlockKind::List | BlockKind::Rule);
    let mut skip = parsed.blocks.blocks.iter().filter(|block| skipped(&block.kind)).map(|block| {
        let end = block.span.end.saturating_sub(1).max(block.span.start);
        lines.at(block.span.start)..=lines.at(end)
    });
    let mut current = skip.next();
    for number in lines.at(parsed.body)..lines.count() {
        while current.as_ref().is_some_and(|range| *range.end() < number) {
            current = skip.next();
        }
        let line = lines.get(number);
        let in_list = current.as_ref().is_some_and(|range| range.contains(&number));
        if in_list || line.len() > LONGEST_LINE || !line.contains("::") {
            continue;
        }
        let found = inline_fields(line.trim(), EmojiDates::Ignore);
        if found.is_empty() {
            out.extend(full_line_field(line.trim()));
        } else {
            out.extend(found);
        }
    }
    out
}

/// Types texts, and remembers what it made of each: a vault has many notes and few different values.
#[derive(Debug)]
pub(crate) struct Typist {
    local: Zone,
    front: RefCell<HashMap<Text, Value>>,
}

impl Typist {
    pub(crate) fn new(local: Zone) -> Typist {
        Typist { local, front: RefCell::default() }
    }

    pub(crate) fn local(&self) -> &Zone {
        &self.local
    }

    /// A value of front matter, texts read as dates, durations and links where they are such.
    pub(crate) fn property(&self, property: &Property) -> Value {
        match property {
            Property::Text(text) => self.front_text(text),
            Property::List(items) => Value::list(items.iter().map(|item| self.property(item)).collect()),
            Property::Object(entries) => {
                let typed = |(name, value): &(Text, Property)| (name.clone(), self.property(value));
                Value::object(entries.iter().map(typed).collect())
            }
            other => raw(other),
        }
    }

    /// A text of front matter, typed anew.
    pub(crate) fn text(&self, text: &Text) -> Value {
        if is_plain_text(text) { Value::Text(text.clone()) } else { front_value(text, &self.local) }
    }

    fn front_text(&self, text: &Text) -> Value {
        if is_plain_text(text) {
            return Value::Text(text.clone());
        }
        if let Some(known) = self.front.borrow().get(text) {
            return known.clone();
        }
        let value = front_value(text, &self.local);
        let mut front = self.front.borrow_mut();
        if front.len() < REMEMBERED {
            front.insert(text.clone(), value.clone());
        }
        value
    }

    fn inline_text(&self, text: &Text) -> Value {
        // A letter that begins neither `true`, `false` nor `null` begins nothing but text.
        let first = text.as_bytes().first().map(u8::to_ascii_lowercase);
        match first {
            Some(b't' | b'f' | b'n') => inline_value(text, &self.local),
            Some(b'a'..=b'z') => Value::Text(text.clone()),
            _ => inline_value(text, &self.local),
        }
    }

    /// All fields of a note, in their order, links not followed.
    pub(crate) fn fields(&self, info: &FileInfo) -> Object {
        let mut found = Found::default();
        info.fields.iter().for_each(|(key, value)| found.add(key, value, &self.local));
        found.merged_with(self.front_fields(info))
    }

    /// One field of a note by its name; the same as that of [`Typist::fields`], without the others.
    /// `hint` is where the property stood in the note before: notes of one vault are alike.
    pub(crate) fn field(&self, info: &FileInfo, name: &str, hint: &Cell<usize>) -> Option<Value> {
        let front = front_property(info, name, hint).map(|property| self.property(property));
        if info.fields.is_empty() {
            return front;
        }
        let same = |key: &str| key == name || spells(key, name);
        let found = info.fields.iter().filter(|(key, _)| same(key));
        let values: Vec<Value> = found.map(|(_, value)| self.inline_text(value)).collect();
        if values.is_empty() { front } else { Some(joined(front.as_ref(), values)) }
    }

    fn front_fields(&self, info: &FileInfo) -> Object {
        let mut out = Object::default();
        for (key, value) in &info.properties {
            let value = self.property(value);
            out.set(key.clone(), value.clone());
            if is_canonical(key) {
                continue;
            }
            let canonical = canonical_key(key);
            if canonical != **key && !canonical.is_empty() && info.property(&canonical).is_none() {
                out.set(canonical, value);
            }
        }
        out
    }
}

/// Whether a text of front matter is sure to be nothing else: a date or duration starts with a digit or a sign, a link
/// with a bracket.
pub(crate) fn is_plain_text(text: &str) -> bool {
    let first = text.as_bytes().first();
    !first.is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'[' | b'!' | b'.'))
}

/// The property that a name means: the one of that name, else the last whose canonical spelling it is.
fn front_property<'a>(info: &'a FileInfo, name: &str, hint: &Cell<usize>) -> Option<&'a Property> {
    let is_it = |(key, _): &&(Text, Property)| **key == *name;
    if let Some((_, value)) = info.properties.get(hint.get()).filter(is_it) {
        return Some(value);
    }
    if let Some(place) = info.properties.iter().position(|entry| is_it(&entry)) {
        hint.set(place);
        return Some(&info.properties[place].1);
    }
    info.properties.iter().rfind(|(key, _)| spells(key, name)).map(|(_, value)| value)
}

/// Whether this is the canonical spelling of a key that is written in another way.
pub(crate) fn spells(key: &str, name: &str) -> bool {
    !name.is_empty() && !is_canonical(key) && canonical_key(key) == name
}

/// Whether a key is sure to be its own canonical spelling.
fn is_canonical(key: &str) -> bool {
    key.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

/// Values behind one that is known already.
fn joined(known: Option<&Value>, mut values: Vec<Value>) -> Value {
    match known {
        Some(Value::List(known)) => values = known.iter().cloned().chain(values).collect(),
        Some(Value::Null) | None => {}
        Some(other) => values.insert(0, other.clone()),
    }
    if values.len() == 1 { values.remove(0) } else { Value::list(values) }
}

/// Inline fields by key, in the order of their first use.
#[derive(Default)]
pub(crate) struct Found {
    keys: Vec<Text>,
    values: HashMap<Text, Vec<Value>>,
}

impl Found {
    pub(crate) fn add(&mut self, key: &str, text: &str, local: &Zone) {
        let value = inline_value(text, local);
        let canonical = canonical_key(key);
        self.push(key, value.clone());
        if canonical != key && !canonical.is_empty() {
            self.push(&canonical, value);
        }
    }

    fn push(&mut self, key: &str, value: Value) {
        match self.values.get_mut(key) {
            Some(values) => values.push(value),
            None => {
                let key: Text = key.into();
                self.keys.push(key.clone());
                self.values.insert(key, vec![value]);
            }
        }
    }

    /// These fields behind others.
    pub(crate) fn merged_with(mut self, mut out: Object) -> Object {
        for key in self.keys {
            let values = self.values.remove(&key).unwrap_or_default();
            let value = joined(out.get(&key), values);
            out.set(key, value);
        }
        out
    }
}

/// The tags of front matter, with `#`: lists, or texts with commas or spaces, under `tag` or `tags`.
pub fn frontmatter_tags(front: &Map<String, Json>) -> Vec<String> {
    front_tags(&crate::catalog::kept_properties(front))
}

/// The same for a note of the catalog.
pub(crate) fn front_tags(front: &[(Text, Property)]) -> Vec<String> {
    let tags = words(front, ["tag", "tags"], |c| c == ',' || c.is_whitespace());
    tags.into_iter().map(|tag| if tag.starts_with('#') { tag } else { format!("#{tag}") }).collect()
}

/// Whether any of the tags of front matter, with or without `#`, is such.
pub(crate) fn has_front_tag(front: &[(Text, Property)], fits: &dyn Fn(&str) -> bool) -> bool {
    let named = |key: &str| key.eq_ignore_ascii_case("tag") || key.eq_ignore_ascii_case("tags");
    front.iter().filter(|(key, _)| named(key)).any(|(_, value)| any_tag(value, fits))
}

fn any_tag(value: &Property, fits: &dyn Fn(&str) -> bool) -> bool {
    let any = |text: &str| {
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).map(str::trim);
        words.filter(|word| !word.is_empty()).any(fits)
    };
    match value {
        Property::Null => false,
        Property::List(items) => items.iter().any(|item| any_tag(item, fits)),
        Property::Text(text) => any(text),
        other => any(&other.to_json().to_string()),
    }
}

/// The other names of a note of the catalog.
pub(crate) fn front_aliases(front: &[(Text, Property)]) -> Vec<String> {
    distinct(words(front, ["alias", "aliases"], |c| c == ','))
}

fn words(front: &[(Text, Property)], names: [&str; 2], between: impl Fn(char) -> bool + Copy) -> Vec<String> {
    let mut out = Vec::new();
    let named = |key: &str| names.iter().any(|name| key.eq_ignore_ascii_case(name));
    front.iter().filter(|(key, _)| named(key)).for_each(|(_, value)| split_words(value, between, &mut out));
    out
}

fn split_words(value: &Property, between: impl Fn(char) -> bool + Copy, out: &mut Vec<String>) {
    let text = match value {
        Property::Null => return,
        Property::List(items) => return items.iter().for_each(|item| split_words(item, between, out)),
        Property::Text(text) => text.to_string(),
        other => other.to_json().to_string(),
    };
    out.extend(text.split(between).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned));
}

/// Front matter as it is written, nothing typed.
pub(crate) fn raw_object(front: &[(Text, Property)]) -> Object {
    front.iter().map(|(name, value)| (name.clone(), raw(value))).collect()
}

/// A value of front matter as it is written.
pub(crate) fn raw(property: &Property) -> Value {
    match property {
        Property::Null => Value::Null,
        Property::Bool(yes) => Value::Bool(*yes),
        Property::Number(number) => number.as_f64().map_or(Value::Null, Value::Number),
        Property::Text(text) => Value::Text(text.clone()),
        Property::List(items) => Value::list(items.iter().map(raw).collect()),
        Property::Object(entries) => Value::object(raw_object(entries)),
    }
}
