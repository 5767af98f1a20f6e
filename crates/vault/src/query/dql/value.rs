//! The values that queries compute with.
//!
//! Lists, objects and texts are shared, so that a row costs little to copy. How values are compared is in
//! [`super::compare`], how they are shown in [`super::show`], how they leave as JSON in [`super::encode`].

use std::collections::HashMap;
use std::sync::Arc;

use super::ast::Expression;
use super::date::Date;
use super::duration::Duration;
use super::text::heading_link_text;
use crate::text::Text;

/// A value.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(Text),
    /// A date with its zone.
    Date(Date),
    /// A length of time.
    Duration(Duration),
    /// A link to a note or a part of one.
    Link(Arc<Link>),
    /// A list.
    List(Arc<List>),
    /// Named values, in order.
    Object(Arc<Object>),
    /// A function written in the query.
    Function(Arc<Lambda>),
    /// A link to somewhere else: address and text.
    ExternalLink(Arc<(String, String)>),
    /// An item of `LIST value`: what the row is and its value.
    Pair(Arc<(Value, Value)>),
}

impl Value {
    /// The name of its type, as `typeof` says it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::Text(_) => "string",
            Value::Date(_) => "date",
            Value::Duration(_) => "duration",
            Value::Link(_) => "link",
            Value::List(_) => "array",
            Value::Object(_) => "object",
            Value::Function(_) => "function",
            Value::ExternalLink(_) | Value::Pair(_) => "widget",
        }
    }

    /// A text.
    pub fn text(text: impl Into<Text>) -> Value {
        Value::Text(text.into())
    }

    /// A list.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Arc::new(List::new(items)))
    }

    /// An object.
    pub fn object(object: Object) -> Value {
        Value::Object(Arc::new(object))
    }

    /// A link.
    pub fn link(link: Link) -> Value {
        Value::Link(Arc::new(link))
    }

    /// How deep lists and objects are nested in it.
    pub fn depth(&self) -> u32 {
        match self {
            Value::List(list) => list.depth,
            Value::Object(object) => object.depth,
            Value::Pair(pair) => 1 + pair.0.depth().max(pair.1.depth()),
            Value::Function(lambda) => 1 + lambda.scope.depth(),
            _ => 0,
        }
    }

    /// How much it is when it is written out, in bytes or so. What is shared counts wherever it is seen: a small value can
    /// hold one list so often, in itself, that nobody could write it.
    pub fn size(&self) -> u64 {
        match self {
            Value::Text(text) => 8 + text.len() as u64,
            Value::Link(link) => 16 + link.path.len() as u64,
            Value::List(list) => list.size,
            Value::Object(object) => object.size,
            Value::Pair(pair) => pair.0.size().saturating_add(pair.1.size()),
            Value::ExternalLink(link) => 16 + link.0.len() as u64 + link.1.len() as u64,
            _ => 8,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Value {
        Value::Bool(yes)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

/// A list of values that knows how deep it is nested.
#[derive(Debug, Default)]
pub struct List {
    items: Vec<Value>,
    depth: u32,
    size: u64,
}

impl List {
    /// A list of these.
    pub fn new(items: Vec<Value>) -> List {
        let depth = 1 + items.iter().map(Value::depth).max().unwrap_or(0);
        let size = items.iter().fold(8_u64, |sum, item| sum.saturating_add(item.size()));
        List { items, depth, size }
    }
}

impl std::ops::Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

/// Named values in the order in which they were set.
#[derive(Debug, Default, Clone)]
pub struct Object {
    entries: Vec<(Text, Value)>,
    /// Kept for larger objects only; small ones are searched.
    places: Option<HashMap<Text, usize>>,
    depth: u32,
    size: u64,
}

const SEARCHED: usize = 32;

impl Object {
    /// These names, each of which is there once.
    pub(crate) fn of_distinct(entries: Vec<(Text, Value)>) -> Object {
        if entries.len() > SEARCHED {
            return entries.into_iter().collect();
        }
        let depth = entries.iter().map(|(_, value)| 1 + value.depth()).max().unwrap_or(0);
        let size = entries.iter().fold(8_u64, |sum, (name, value)| entry_size(sum, name, value));
        Object { entries, places: None, depth, size }
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.place(name).map(|place| &self.entries[place].1)
    }

    /// Whether there is such a name.
    pub fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// Sets a name; a new one goes to the end.
    pub fn set(&mut self, name: impl Into<Text>, value: Value) {
        let name = name.into();
        self.depth = self.depth.max(1 + value.depth());
        self.size = entry_size(self.size, &name, &value);
        match self.place(&name) {
            Some(place) => self.entries[place].1 = value,
            None => {
                self.entries.push((name, value));
                self.index();
            }
        }
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Text, &Value)> + DoubleEndedIterator {
        self.entries.iter().map(|(name, value)| (name, value))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How much it is when it is written out, as [`Value::size`].
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn place(&self, name: &str) -> Option<usize> {
        if self.entries.len() <= SEARCHED {
            return self.entries.iter().position(|(known, _)| **known == *name);
        }
        self.places.as_ref().and_then(|places| places.get(name)).copied()
    }

    fn index(&mut self) {
        let from = match self.entries.len() {
            count if count <= SEARCHED => return,
            count if count == SEARCHED + 1 => 0,
            count => count - 1,
        };
        for place in from..self.entries.len() {
            let name = self.entries[place].0.clone();
            self.places.get_or_insert_default().insert(name, place);
        }
    }
}

fn entry_size(sum: u64, name: &str, value: &Value) -> u64 {
    sum.saturating_add(8 + name.len() as u64).saturating_add(value.size())
}

impl FromIterator<(Text, Value)> for Object {
    fn from_iter<T: IntoIterator<Item = (Text, Value)>>(entries: T) -> Object {
        let mut out = Object::default();
        entries.into_iter().for_each(|(name, value)| out.set(name, value));
        out
    }
}

/// What a link points at inside its note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// The note itself.
    File,
    /// A heading.
    Header,
    /// A block by its id.
    Block,
}

impl LinkType {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            LinkType::File => "file",
            LinkType::Header => "header",
            LinkType::Block => "block",
        }
    }
}

/// A link to a note.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The full path if the link was resolved, else the text as written.
    pub path: String,
    /// What it points at.
    pub kind: LinkType,
    /// The heading or block id.
    pub subpath: Option<String>,
    /// The text to show instead.
    pub display: Option<String>,
    /// Whether it embeds.
    pub embed: bool,
}

impl Link {
    /// A link to a whole file.
    pub fn file(path: impl Into<String>) -> Link {
        Link { path: path.into(), kind: LinkType::File, subpath: None, display: None, embed: false }
    }

    /// A link to a heading.
    pub fn header(path: impl Into<String>, heading: &str) -> Link {
        Link { kind: LinkType::Header, subpath: Some(heading_link_text(heading)), ..Link::file(path) }
    }

    /// A link to a block.
    pub fn block(path: impl Into<String>, id: &str) -> Link {
        Link { kind: LinkType::Block, subpath: Some(id.to_owned()), ..Link::file(path) }
    }

    /// Reads what stands between `[[` and `]]`.
    pub fn from_inner(inner: &str) -> Link {
        let (target, display) = split_on_pipe(inner);
        Link { display, ..Link::from_target(&target) }
    }

    /// Reads a target with its fragment: `Note`, `Note#Heading`, `Note#^id`.
    pub fn from_target(target: &str) -> Link {
        if let Some((path, rest)) = target.split_once("#^") {
            return Link::block(path, rest.split("#^").next().unwrap_or(rest));
        }
        match target.split_once('#') {
            Some((path, rest)) => Link::header(path, rest.split('#').next().unwrap_or(rest)),
            None => Link::file(target),
        }
    }
}

/// Cuts at the first `|` without a back slash in front.
fn split_on_pipe(inner: &str) -> (String, Option<String>) {
    for (at, _) in inner.match_indices('|') {
        if !inner[..at].ends_with('\\') {
            return (inner[..at].replace("\\|", "|"), Some(inner[at + 1..].to_owned()));
        }
    }
    (inner.replace("\\|", "|"), None)
}

/// A function of the query, with the variables that it saw where it was written.
#[derive(Debug)]
pub struct Lambda {
    /// The names of its parameters.
    pub parameters: Vec<Text>,
    /// What it computes.
    pub body: Arc<Expression>,
    /// What it saw.
    pub scope: Scope,
}

/// The variables that an expression sees: parameters of the functions around it, then its row.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// The row.
    pub row: Arc<Object>,
    /// Parameters, innermost first.
    pub frame: Option<Arc<Frame>>,
}

/// The arguments of one call.
#[derive(Debug)]
pub struct Frame {
    names: Vec<(Text, Value)>,
    outer: Option<Arc<Frame>>,
    depth: u32,
}

impl Scope {
    /// A scope that sees only a row.
    pub fn of_row(row: Arc<Object>) -> Scope {
        Scope { row, frame: None }
    }

    /// This scope with arguments in front of it.
    pub fn with(&self, names: Vec<(Text, Value)>) -> Scope {
        let values = names.iter().map(|(_, value)| value.depth()).max().unwrap_or(0);
        let depth = 1 + values.max(self.depth());
        Scope {
            row: self.row.clone(),
            frame: Some(Arc::new(Frame { names, outer: self.frame.clone(), depth })),
        }
    }

    /// How deep frames and what they hold are nested; the row is not counted, for it never holds a scope of its own.
    pub fn depth(&self) -> u32 {
        self.frame.as_ref().map_or(0, |frame| frame.depth)
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut frame = self.frame.as_deref();
        while let Some(here) = frame {
            if let Some((_, value)) = here.names.iter().rev().find(|(known, _)| **known == *name) {
                return Some(value);
            }
            frame = here.outer.as_deref();
        }
        self.row.get(name)
    }
}
