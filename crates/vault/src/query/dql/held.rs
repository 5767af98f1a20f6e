//! A note's values as the catalog holds them, looked at without being copied: for [`super::sieve`].

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::date::Zone;
use super::fields::{Typist, front_property, is_plain_text, raw};
use super::value::Value;
use crate::catalog::{FileInfo, Property};

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

/// Typed texts by their address. The catalog shares equal texts, and none goes away while it is looked at, so one
/// memory serves one look at the catalog and no more.
pub(crate) struct Memo {
    typist: Typist,
    typed: HashMap<usize, Value, BuildHasherDefault<ByAddress>>,
}

impl Memo {
    /// For a reader in this zone.
    pub(crate) fn new(local: Zone) -> Memo {
        Memo { typist: Typist::new(local), typed: HashMap::default() }
    }

    /// A field of a note; null if it has none.
    pub(crate) fn field<'c>(&mut self, info: &'c FileInfo, name: &str, hint: &Cell<usize>) -> Held<'c, '_> {
        if !info.fields.is_empty() {
            return Held::of(self.typist.field(info, name, hint).unwrap_or_default());
        }
        match front_property(info, name, hint) {
            None => Held::plain(Value::Null),
            Some(Property::Text(text)) if is_plain_text(text) => Held::Text(text),
            Some(Property::Text(text)) => self.typed(text),
            Some(Property::List(items)) => Held::Deep { kind: "array", truthy: !items.is_empty() },
            Some(Property::Object(entries)) => Held::Deep { kind: "object", truthy: !entries.is_empty() },
            Some(plain) => Held::plain(raw(plain)),
        }
    }

    fn typed<'c>(&mut self, text: &'c Arc<str>) -> Held<'c, '_> {
        let address = text.as_ptr().addr();
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

/// Addresses are spread over the table by a multiplication.
#[derive(Default)]
struct ByAddress(u64);

impl Hasher for ByAddress {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}
