//! A note's values as the catalog holds them, looked at without being copied: for [`super::sieve`].

use std::borrow::Cow;
use std::cell::Cell;

use super::date::Zone;
use super::fields::{Typist, is_plain_text, raw, spells};
use super::value::Value;
use crate::catalog::{ByAddress, FileInfo, Property, address};
use crate::text::Text;

/// How many typed texts are remembered.
const REMEMBERED: usize = 20_000;

/// A value of a note: `'c` lives in the catalog, `'m` in the memory of typed texts.
pub(crate) enum Held<'c, 'm> {
    /// A text.
    Text(&'c str),
    /// What holds no other values and no link.
    Plain(Cow<'m, Value>),
    /// A link, a list or an object. What is in it may depend on other files.
    Deep {
        /// The name of its type.
        kind: &'static str,
        /// Whether it counts as true.
        truthy: bool,
    },
}

/// A plain value to sort by.
pub(crate) enum Key<'c> {
    /// A text of the catalog.
    Text(&'c str),
    /// Another value.
    Value(Value),
}

/// A plain value, looked at.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// A text.
    Text(&'a str),
    /// Another value, or a text that is one.
    Value(&'a Value),
}

impl<'c> Held<'c, '_> {
    /// A value that was just made.
    pub(crate) fn plain(value: Value) -> Held<'c, 'static> {
        Held::Plain(Cow::Owned(value))
    }

    /// To sort by; nothing if that depends on other files.
    pub(crate) fn into_key(self) -> Option<Key<'c>> {
        match self {
            Held::Text(text) => Some(Key::Text(text)),
            Held::Plain(value) => Some(Key::Value(value.into_owned())),
            Held::Deep { .. } => None,
        }
    }

    /// The same without keeping it.
    pub(crate) fn part(&self) -> Option<Part<'_>> {
        match self {
            Held::Text(text) => Some(Part::Text(text)),
            Held::Plain(value) => Some(Part::Value(value)),
            Held::Deep { .. } => None,
        }
    }

    fn of(value: Value) -> Held<'c, 'static> {
        match value {
            // A link without a path is one to its own note, so it leads somewhere as well.
            Value::Link(_) => Held::Deep { kind: "link", truthy: true },
            Value::List(list) => Held::Deep { kind: "array", truthy: !list.is_empty() },
            Value::Object(object) => Held::Deep { kind: "object", truthy: !object.is_empty() },
            other => Held::plain(other),
        }
    }
}

impl Key<'_> {
    /// What is compared.
    pub(crate) fn part(&self) -> Part<'_> {
        match self {
            Key::Text(text) => Part::Text(text),
            Key::Value(value) => Part::Value(value),
        }
    }
}

/// A field that a sieve asks for.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: Text,
    /// Where its property stood in the note before: notes of one vault are alike.
    pub(crate) hint: Cell<usize>,
}

/// What a name in a note is to a field.
#[derive(Clone, Copy, PartialEq)]
enum Fit {
    /// Its name.
    Same,
    /// Another spelling of it.
    Spells,
    /// Something else.
    Other,
}

/// The names that notes use, by their address, in a table without chains: what does not fit in is worked out again.
struct Names(Box<[(usize, Fit); NAMES]>);

/// More names than a vault mostly has.
const NAMES: usize = 256;

impl Default for Names {
    fn default() -> Names {
        Names(Box::new([(0, Fit::Other); NAMES]))
    }
}

/// The table of a field; a sieve has few.
fn names_of<'m>(names: &'m mut Vec<(usize, Names)>, field: &Field) -> &'m mut Names {
    let wanted = address(&field.name);
    let place = names.iter().position(|(known, _)| *known == wanted).unwrap_or_else(|| {
        names.push((wanted, Names::default()));
        names.len() - 1
    });
    &mut names[place].1
}

impl Names {
    /// The same as [`super::fields::front_property`].
    fn property<'c>(&mut self, info: &'c FileInfo, field: &Field) -> Option<&'c Property> {
        if let Some((key, value)) = info.properties.get(field.hint.get())
            && self.fit(key, &field.name) == Fit::Same
        {
            return Some(value);
        }
        let mut spelled = None;
        for (place, (key, value)) in info.properties.iter().enumerate() {
            match self.fit(key, &field.name) {
                Fit::Same => {
                    field.hint.set(place);
                    return Some(value);
                }
                Fit::Spells => spelled = Some(value),
                Fit::Other => {}
            }
        }
        spelled
    }

    fn fit(&mut self, key: &str, name: &str) -> Fit {
        let address = address(key);
        let slot = &mut self.0[(address >> 4) % NAMES];
        if slot.0 != address {
            let fit = match key == name {
                true => Fit::Same,
                false if spells(key, name) => Fit::Spells,
                false => Fit::Other,
            };
            *slot = (address, fit);
        }
        slot.1
    }
}

/// Typed texts by their address. The catalog shares equal texts, and none goes away while it is looked at, so one
/// memory serves one look at the catalog and no more.
pub(crate) struct Memo {
    typist: Typist,
    typed: ByAddress<Value>,
    /// For every field of the sieve, what its name is to the names in notes.
    names: Vec<(usize, Names)>,
}

impl Memo {
    /// For a reader in this zone.
    pub(crate) fn new(local: Zone) -> Memo {
        Memo { typist: Typist::new(local), typed: ByAddress::default(), names: Vec::new() }
    }

    /// A field of a note; null if it has none.
    pub(crate) fn field<'c>(&mut self, info: &'c FileInfo, field: &Field) -> Held<'c, '_> {
        let names = names_of(&mut self.names, field);
        // Many notes have inline fields, and few of them this one.
        if info.fields.iter().any(|(key, _)| names.fit(key, &field.name) != Fit::Other) {
            return Held::of(self.typist.field(info, &field.name, &field.hint).unwrap_or_default());
        }
        match names.property(info, field) {
            None => Held::plain(Value::Null),
            Some(Property::Text(text)) if is_plain_text(text) => Held::Text(text),
            Some(Property::Text(text)) => self.typed(text),
            Some(Property::List(items)) => Held::Deep { kind: "array", truthy: !items.is_empty() },
            Some(Property::Object(entries)) => Held::Deep { kind: "object", truthy: !entries.is_empty() },
            Some(plain) => Held::plain(raw(plain)),
        }
    }

    fn typed<'c>(&mut self, text: &'c Text) -> Held<'c, '_> {
        let address = address(text);
        if self.typed.len() >= REMEMBERED && !self.typed.contains_key(&address) {
            return Held::of(self.typist.text(text));
        }
        let typist = &self.typist;
        match self.typed.entry(address).or_insert_with(|| typist.text(text)) {
            deep @ (Value::Link(_) | Value::List(_) | Value::Object(_)) => Held::of(deep.clone()),
            Value::Text(_) => Held::Text(text),
            plain => Held::Plain(Cow::Borrowed(plain)),
        }
    }
}
