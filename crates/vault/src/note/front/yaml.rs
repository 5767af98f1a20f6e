//! The YAML of front matter as JSON values, with the place of every top-level key for [`crate::edit::front`].
//!
//! YAML's core schema: dates, `yes`, `.nan` and whole numbers beyond 64 bits stay text. Read event by event, never
//! recursively, so that depth, size and the growth by aliases are bounded before anything is built.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::{Map, Value};

use super::FrontError;

/// Larger blocks are not read: people's front matter has some hundred bytes.
const LARGEST: usize = 1 << 20;
/// Deepest nesting, aliases expanded.
const DEEPEST: usize = 64;
/// What all anchors and aliases together may copy, in bytes of text and [`NODE`]s.
const COPIED: usize = 1 << 20;
const NODE: usize = 16;

/// Front matter, read. All places are counted in characters from the start of the YAML, as the parser counts them.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// The properties in their order.
    pub values: Map<String, Value>,
    /// The same keys with their places.
    pub entries: Vec<Entry>,
    /// The mapping itself if it is written in braces.
    pub braces: Option<Range<usize>>,
    /// How far the keys are indented.
    pub indent: usize,
}

/// One top-level key and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The key as text.
    pub key: String,
    /// Where the key stands, its quotes included.
    pub name: Range<usize>,
    /// Where the value stands, its anchor and tag included.
    pub value: Range<usize>,
    /// How it is written.
    pub form: Form,
    /// What it ends in.
    pub tail: Tail,
    /// Where the items stand if it is a list.
    pub items: Vec<Range<usize>>,
    /// The anchors set in it.
    pub anchors: Vec<usize>,
    /// The anchors that its aliases refer to.
    pub aliases: Vec<usize>,
}

/// What a value ends in: the parser's end is right for plain things only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    /// A plain scalar, an alias, a bracket.
    Plain,
    /// A quoted scalar that starts here; its end as given takes in the comment behind it.
    Quoted(usize),
    /// A `|` or `>` scalar; its end as given is where the next thing starts.
    Block,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nothing after the colon.
    Empty,
    /// A scalar of this style.
    Scalar(ScalarStyle),
    /// `*name`.
    Alias,
    /// `- x` lines.
    BlockList,
    /// `[x]`.
    FlowList,
    /// `key: x` lines.
    BlockMap,
    /// `{key: x}`.
    FlowMap,
}

/// Reads the YAML between the fences.
pub(crate) fn read(yaml: &str) -> Result<Document, FrontError> {
    if yaml.len() > LARGEST {
        return Err(FrontError::TooLarge);
    }
    // The parser takes NUL for the end of its input and would not see what follows.
    if let Some(at) = memchr::memchr(0, yaml.as_bytes()) {
        return Err(wrong(line_of(yaml, at), "a NUL character"));
    }
    let mut reader = Reader::default();
    for event in Parser::<StrInput<'_>>::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| scan_error(&error))?;
        reader.take(event, span)?;
    }
    Ok(reader.document)
}

/// What a plain scalar means in the core schema.
pub(crate) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return radix(octal, 8);
    }
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return radix(hexadecimal, 16);
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        let text = text.strip_prefix('+').unwrap_or(text);
        return text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from)).ok();
    }
    if !is_float(digits) {
        return None;
    }
    serde_json::Number::from_f64(text.parse().ok()?).map(Value::Number)
}

fn radix(digits: &str, radix: u32) -> Option<Value> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_alphanumeric());
    if plain { u64::from_str_radix(digits, radix).ok().map(Value::from) } else { None }
}

/// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix(['-', '+']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    !exponent.is_empty()
        && digits(exponent)
        && digits(whole)
        && digits(part)
        && (!whole.is_empty() || !part.is_empty())
}

/// A finished value with what it costs to copy and how deep it is.
#[derive(Clone)]
struct Made {
    value: Value,
    cost: usize,
    height: usize,
}

/// A list or mapping that is not closed yet.
struct Open {
    values: Values,
    anchor: usize,
    cost: usize,
    height: usize,
}

enum Values {
    List(Vec<Value>),
    Map { map: Map<String, Value>, key: Option<String> },
}

#[derive(Default)]
struct Reader {
    document: Document,
    open: Vec<Open>,
    anchors: HashMap<usize, Made>,
    copied: usize,
    roots: usize,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), FrontError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.place(&span, form_of(&text, style, anchor, tag.as_deref()), anchor)?;
                let value = scalar(&text, style, tag.as_deref());
                self.finish(Made { cost: NODE + text.len(), height: 0, value }, Some(&text), anchor, &span)
            }
            Event::Alias(anchor) => {
                self.place(&span, Form::Alias, 0)?;
                let Some(made) = self.anchors.get(&anchor).cloned() else {
                    return Err(at(&span, "an alias inside of what it refers to"));
                };
                self.copied(made.cost)?;
                if self.open.len() + made.height > DEEPEST {
                    return Err(FrontError::TooLarge);
                }
                if let Some(entry) = self.document.entries.last_mut() {
                    entry.aliases.push(anchor);
                }
                let text = made.value.as_str().map(str::to_owned);
                self.finish(made, text.as_deref(), 0, &span)
            }
            Event::SequenceStart(anchor, _) => {
                self.place(&span, Form::BlockList, anchor)?;
                self.push(Values::List(Vec::new()), anchor)
            }
            Event::MappingStart(anchor, _) => {
                self.place(&span, Form::BlockMap, anchor)?;
                self.push(Values::Map { map: Map::new(), key: None }, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(&span),
            _ => Ok(()),
        }
    }

    fn copied(&mut self, cost: usize) -> Result<(), FrontError> {
        self.copied += cost;
        if self.copied > COPIED { Err(FrontError::TooLarge) } else { Ok(()) }
    }

    fn push(&mut self, values: Values, anchor: usize) -> Result<(), FrontError> {
        if self.open.len() >= DEEPEST {
            return Err(FrontError::TooLarge);
        }
        self.open.push(Open { values, anchor, cost: NODE, height: 1 });
        Ok(())
    }

    fn close(&mut self, span: &Span) -> Result<(), FrontError> {
        let Some(Open { values, anchor, cost, height }) = self.open.pop() else { return Ok(()) };
        let value = match values {
            Values::List(items) => Value::Array(items),
            Values::Map { map, .. } => Value::Object(map),
        };
        self.end(&value, span);
        if self.open.is_empty() {
            if let Value::Object(values) = value {
                self.document.values = values;
            }
            return Ok(());
        }
        self.finish(Made { value, cost, height }, None, anchor, span)
    }

    /// Hands a finished value to the list or mapping around it.
    fn finish(
        &mut self,
        made: Made,
        text: Option<&str>,
        anchor: usize,
        span: &Span,
    ) -> Result<(), FrontError> {
        if anchor > 0 {
            // Anchors inside of anchors are copies of copies: they count like aliases.
            self.copied(made.cost)?;
            self.anchors.insert(anchor, made.clone());
        }
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        open.cost += made.cost;
        open.height = open.height.max(made.height + 1);
        match &mut open.values {
            Values::List(items) => items.push(made.value),
            Values::Map { map, key } => match key.take() {
                Some(key) => {
                    map.insert(key, made.value);
                }
                None => *key = Some(self::key(map, &made.value, text, span)?),
            },
        }
        if self.open.len() == 1 {
            self.name_entry();
        }
        Ok(())
    }

    /// Gives the entry that was opened for a key its name.
    fn name_entry(&mut self) {
        let Some(Open { values: Values::Map { key: Some(key), .. }, .. }) = self.open.last() else { return };
        if let Some(entry) = self.document.entries.last_mut() {
            entry.key.clone_from(key);
        }
    }

    /// Notes where a value (or a key) starts.
    fn place(&mut self, span: &Span, form: Form, anchor: usize) -> Result<(), FrontError> {
        let range = span.start.index()..span.end.index();
        match self.open.as_slice() {
            [] => self.root(span, form)?,
            [Open { values: Values::Map { key: None, .. }, .. }] => {
                self.document.entries.push(Entry::new(range, anchor))
            }
            [Open { values: Values::Map { .. }, .. }] => {
                if let Some(entry) = self.document.entries.last_mut() {
                    entry.value = range;
                    entry.form = form;
                    entry.reach(span, form, anchor);
                }
            }
            [_, rest @ ..] => {
                let item = matches!(rest, [Open { values: Values::List(_), .. }]);
                if let Some(entry) = self.document.entries.last_mut() {
                    if item {
                        entry.items.push(range);
                    }
                    entry.reach(span, form, anchor);
                }
            }
        }
        Ok(())
    }

    fn root(&mut self, span: &Span, form: Form) -> Result<(), FrontError> {
        self.roots += 1;
        if self.roots > 1 {
            return Err(at(span, "a second YAML document"));
        }
        if form != Form::BlockMap {
            return if form == Form::Empty { Ok(()) } else { Err(FrontError::NotAMapping) };
        }
        self.document.indent = span.start.col();
        self.document.braces = Some(span.start.index()..span.start.index());
        Ok(())
    }

    /// Notes where a list or mapping ends. Only brackets have an end of their own.
    fn end(&mut self, value: &Value, span: &Span) {
        let flow = span.end.index() > span.start.index();
        // The parser's own end takes in the comment behind the bracket.
        let end = span.start.index() + 1;
        if self.open.is_empty() {
            self.document.braces =
                self.document.braces.take().filter(|_| flow).map(|braces| braces.start..end);
            return;
        }
        let depth = self.open.len();
        let Some(entry) = self.document.entries.last_mut() else { return };
        if !flow {
            return;
        }
        entry.value.end = end;
        entry.tail = Tail::Plain;
        match depth {
            1 if value.is_array() => entry.form = Form::FlowList,
            1 => entry.form = Form::FlowMap,
            _ => {}
        }
        if let Some(item) = entry.items.last_mut() {
            item.end = if depth == 1 { item.end } else { end };
        }
    }
}

impl Entry {
    fn new(name: Range<usize>, anchor: usize) -> Entry {
        Entry {
            key: String::new(),
            value: name.end..name.end,
            name,
            form: Form::Empty,
            tail: Tail::Plain,
            items: Vec::new(),
            anchors: if anchor > 0 { vec![anchor] } else { Vec::new() },
            aliases: Vec::new(),
        }
    }

    /// The value reaches at least to the end of this part of it.
    fn reach(&mut self, span: &Span, form: Form, anchor: usize) {
        if anchor > 0 {
            self.anchors.push(anchor);
        }
        self.value.end = self.value.end.max(span.end.index());
        self.tail = match form {
            Form::Scalar(ScalarStyle::Literal | ScalarStyle::Folded) => Tail::Block,
            Form::Scalar(ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) => {
                Tail::Quoted(span.start.index())
            }
            _ => Tail::Plain,
        };
        if let Some(item) = self.items.last_mut() {
            item.end = item.end.max(span.end.index());
        }
    }
}

fn form_of(text: &str, style: ScalarStyle, anchor: usize, tag: Option<&Tag>) -> Form {
    // An empty scalar has no place of its own; the parser gives that of the nearest token.
    let nothing = text.is_empty() && style == ScalarStyle::Plain && anchor == 0 && tag.is_none();
    if nothing { Form::Empty } else { Form::Scalar(style) }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let core = tag.is_some_and(Tag::is_yaml_core_schema);
    let typed = match tag {
        None => style == ScalarStyle::Plain,
        Some(tag) => core && matches!(tag.suffix.as_str(), "null" | "bool" | "int" | "float"),
    };
    if typed { plain(text) } else { Value::String(text.to_owned()) }
}

/// A key as text; the same key twice is an error, as it is for Obsidian.
fn key(
    map: &Map<String, Value>,
    value: &Value,
    text: Option<&str>,
    span: &Span,
) -> Result<String, FrontError> {
    let key = match (text, value) {
        (_, Value::String(text)) => text.clone(),
        (Some(text), _) => text.to_owned(),
        (None, Value::Array(_) | Value::Object(_)) => return Err(at(span, "a list or mapping as a key")),
        (None, value) => value.to_string(),
    };
    if map.contains_key(&key) {
        return Err(at(span, &format!("the key `{key}` stands there twice")));
    }
    Ok(key)
}

fn scan_error(error: &ScanError) -> FrontError {
    if error.info().contains("recursion limit") {
        return FrontError::TooLarge;
    }
    wrong(error.marker().line(), error.info())
}

fn at(span: &Span, message: &str) -> FrontError {
    wrong(span.start.line(), message)
}

/// An error in this line of the YAML; the note has its fence above.
fn wrong(line: usize, message: &str) -> FrontError {
    FrontError::Yaml { line: line.max(1) + 1, message: message.to_owned() }
}

fn line_of(yaml: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', &yaml.as_bytes()[..at]).count() + 1
}
