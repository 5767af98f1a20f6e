//! The values that the expressions of a base compute with.
//!
//! How they are written is in `show.rs`, how they are compared in `operators.rs`, how they leave in `encode.rs`.

use std::sync::Arc;

use regex::Regex;

use crate::path::VaultPath;
use crate::query::dql::date::Date;
use crate::query::dql::duration::Duration;
use crate::text::Text;

/// A value.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// Nothing: also a property that a note does not have.
    #[default]
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(Text),
    /// A date, with or without a time of day.
    Date(Day),
    /// A length of time.
    Duration(Duration),
    /// A link to a file or an address.
    Link(Arc<Link>),
    /// A file of the vault.
    File(Arc<VaultPath>),
    /// A list.
    List(Arc<List>),
    /// Named values, in order.
    Object(Arc<Object>),
    /// A pattern.
    Pattern(Arc<Pattern>),
    /// Something that a view draws: HTML, a picture, an icon.
    Drawn(Arc<Drawn>),
}

/// A date.
#[derive(Debug, Clone)]
pub struct Day {
    /// The moment.
    pub at: Date,
    /// Whether the time of day belongs to it.
    pub clock: bool,
}

/// A link.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// What it points to as written, without fragment.
    pub target: String,
    /// What follows `#`.
    pub fragment: Option<String>,
    /// The file that it leads to, if there is one that may be seen.
    pub path: Option<VaultPath>,
    /// The text to show instead.
    pub display: Option<String>,
}

impl Link {
    /// Whether it leads out of the vault.
    pub fn is_external(&self) -> bool {
        self.path.is_none() && self.target.contains("://")
    }
}

/// A list that knows how deep it is nested.
#[derive(Debug, Default)]
pub struct List {
    items: Vec<Value>,
    depth: u32,
}

impl std::ops::Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

/// Named values in their order.
#[derive(Debug, Default)]
pub struct Object {
    entries: Vec<(Text, Value)>,
    depth: u32,
}

impl Object {
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.entries.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }

    /// Names and values in order.
    pub fn entries(&self) -> &[(Text, Value)] {
        &self.entries
    }
}

/// A pattern between slashes.
#[derive(Debug)]
pub struct Pattern {
    /// As written, without the slashes.
    pub source: String,
    /// The letters behind it.
    pub flags: String,
    /// Ready to use.
    pub regex: Regex,
}

impl Pattern {
    /// Whether all matches are meant.
    pub fn is_global(&self) -> bool {
        self.flags.contains('g')
    }
}

/// Something that a view draws.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// What it is.
    pub kind: DrawnKind,
    /// The HTML, the picture's address or the icon's name.
    pub text: String,
}

/// What a view draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawnKind {
    /// HTML.
    Html,
    /// A picture.
    Image,
    /// An icon.
    Icon,
}

impl Value {
    /// The name of its type, as `isType` knows it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::Text(_) => "string",
            Value::Date(_) => "date",
            Value::Duration(_) => "duration",
            Value::Link(_) => "link",
            Value::File(_) => "file",
            Value::List(_) => "list",
            Value::Object(_) => "object",
            Value::Pattern(_) => "regexp",
            Value::Drawn(drawn) => match drawn.kind {
                DrawnKind::Html => "html",
                DrawnKind::Image => "image",
                DrawnKind::Icon => "icon",
            },
        }
    }

    /// A text.
    pub fn text(text: impl Into<Text>) -> Value {
        Value::Text(text.into())
    }

    /// A list.
    pub fn list(items: Vec<Value>) -> Value {
        let depth = 1 + items.iter().map(Value::depth).max().unwrap_or(0);
        Value::List(Arc::new(List { items, depth }))
    }

    /// Named values.
    pub fn object(entries: Vec<(Text, Value)>) -> Value {
        let depth = 1 + entries.iter().map(|(_, value)| value.depth()).max().unwrap_or(0);
        Value::Object(Arc::new(Object { entries, depth }))
    }

    /// A file.
    pub fn file(path: &VaultPath) -> Value {
        Value::File(Arc::new(path.clone()))
    }

    /// A number from a count.
    pub fn count(count: usize) -> Value {
        Value::Number(count as f64)
    }

    /// How deep lists and objects are nested in it.
    pub fn depth(&self) -> u32 {
        match self {
            Value::List(list) => list.depth,
            Value::Object(object) => object.depth,
            _ => 0,
        }
    }

    /// Whether nothing is there: null, an empty text, list or object.
    pub fn is_empty(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Text(text) => text.is_empty(),
            Value::List(list) => list.is_empty(),
            Value::Object(object) => object.entries.is_empty(),
            _ => false,
        }
    }

    /// As JavaScript takes it for yes or no.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(yes) => *yes,
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::Text(text) => !text.is_empty(),
            _ => true,
        }
    }
}
