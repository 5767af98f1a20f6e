//! The YAML of a base as a tree in which everything knows where it stands; for reading with places and for edits.
//!
//! Size, depth, aliases and double keys are bounded by the reader of front matter, which looks at the text first.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};
use serde_json::{Map, Value as Json};

use super::error::BaseError;
use crate::note::front::FrontError;
use crate::note::front::yaml as front;

/// A value in the YAML.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub kind: NodeKind,
    /// Its bytes. A list or mapping without brackets ends where its last part does.
    pub span: Range<usize>,
    /// From 1.
    pub line: usize,
    /// Whether it stands in brackets or braces.
    pub flow: bool,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    /// Nothing behind the colon, or `null`.
    Empty,
    /// Anything else that is no list and no mapping, as text.
    Scalar(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in order.
    Map(Vec<Entry>),
}

/// One key with its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub key: String,
    /// Where the key stands, its quotes included.
    pub name: Range<usize>,
    pub line: usize,
    pub value: Node,
}

/// A base as a tree and as plain data.
#[derive(Debug)]
pub(crate) struct Tree {
    pub root: Node,
    pub data: Map<String, Json>,
}

/// Reads the YAML of a base.
pub(crate) fn read(text: &str) -> Result<Tree, BaseError> {
    let yaml = text.strip_prefix('\u{feff}').unwrap_or(text);
    let data = front::read(yaml).map_err(yaml_error)?.values;
    let offset = text.len() - yaml.len();
    let mut builder =
        Builder { text, offset, bytes: places(yaml), open: Vec::new(), anchors: HashMap::new(), root: None };
    for event in Parser::<StrInput<'_>>::new_from_str(yaml) {
        let Ok((event, span)) = event else { break };
        // `- !done` is a tag in front of nothing: taken for an empty filter, it would let everything pass.
        if let Event::Scalar(_, _, _, Some(tag)) = &event
            && !tag.is_yaml_core_schema()
        {
            return Err(BaseError::Yaml {
                line: span.start.line(),
                message: "`!` starts a YAML tag here; an expression that starts with `!` stands in quotes"
                    .to_owned(),
            });
        }
        builder.take(event, span);
    }
    let nothing =
        Node { kind: NodeKind::Map(Vec::new()), span: text.len()..text.len(), line: 1, flow: false };
    let root = builder.root.filter(|root| matches!(root.kind, NodeKind::Map(_))).unwrap_or(nothing);
    Ok(Tree { root, data })
}

fn yaml_error(error: FrontError) -> BaseError {
    match error {
        // Front matter counts the fence above it.
        FrontError::Yaml { line, message } => {
            BaseError::Yaml { line: line.saturating_sub(1).max(1), message }
        }
        FrontError::NotAMapping => {
            BaseError::Yaml { line: 1, message: "a base is a list of `key: value` lines".to_owned() }
        }
        FrontError::TooLarge => BaseError::Limit {
            message: "the base is too large, nested too deep, or grows too far by its aliases".to_owned(),
        },
    }
}

/// The byte of each character; empty if all are one byte.
fn places(yaml: &str) -> Vec<usize> {
    if yaml.is_ascii() { Vec::new() } else { yaml.char_indices().map(|(at, _)| at).collect() }
}

/// A list or mapping that is not closed yet.
struct Open {
    node: Node,
    anchor: usize,
    /// The key that waits for its value.
    key: Option<(String, Range<usize>, usize)>,
}

struct Builder<'t> {
    text: &'t str,
    offset: usize,
    bytes: Vec<usize>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    root: Option<Node>,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let node = self.scalar(&text, style, &span);
                self.finish(node, Some(&text), anchor);
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else { return };
                let range = self.byte(span.start.index())..self.byte(span.end.index());
                // What an alias stands for is not there to be changed: it is one closed thing.
                let node = Node { span: range, line: span.start.line(), flow: true, ..node };
                let text = match &node.kind {
                    NodeKind::Scalar(text) => Some(text.clone()),
                    _ => None,
                };
                self.finish(node, text.as_deref(), 0);
            }
            Event::SequenceStart(anchor, _) => self.start(NodeKind::List(Vec::new()), anchor, &span),
            Event::MappingStart(anchor, _) => self.start(NodeKind::Map(Vec::new()), anchor, &span),
            Event::SequenceEnd | Event::MappingEnd => self.close(&span),
            _ => {}
        }
    }

    fn start(&mut self, kind: NodeKind, anchor: usize, span: &Span) {
        let at = self.byte(span.start.index());
        let node = Node { kind, span: at..at, line: span.start.line(), flow: false };
        self.open.push(Open { node, anchor, key: None });
    }

    fn close(&mut self, span: &Span) {
        let Some(Open { mut node, anchor, .. }) = self.open.pop() else { return };
        if span.end.index() > span.start.index() {
            node.flow = true;
            node.span.end = self.closed(self.byte(span.start.index()) + 1).max(node.span.start);
        }
        if self.open.is_empty() {
            self.root.get_or_insert(node);
        } else {
            self.finish(node, None, anchor);
        }
    }

    fn finish(&mut self, node: Node, text: Option<&str>, anchor: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        match (&mut open.node.kind, open.key.take()) {
            (NodeKind::List(items), _) => {
                open.node.span.end = open.node.span.end.max(node.span.end);
                items.push(node);
            }
            (NodeKind::Map(entries), Some((key, name, line))) => {
                let mut value = node;
                if matches!(value.kind, NodeKind::Empty) && value.span.is_empty() {
                    // An empty scalar has no place of its own: it is behind the colon.
                    let behind = &self.text[name.end..];
                    let colon = name.end + behind.find(':').map_or(0, |at| at + 1);
                    value.span = colon..colon;
                    value.line = line;
                }
                open.node.span.end = open.node.span.end.max(value.span.end);
                entries.push(Entry { key, name, line, value });
            }
            (NodeKind::Map(_), None) => {
                let key = text.map(str::to_owned).unwrap_or_default();
                open.node.span.end = open.node.span.end.max(node.span.end);
                open.key = Some((key, node.span, node.line));
            }
            _ => {}
        }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, span: &Span) -> Node {
        let start = self.byte(span.start.index());
        let end = self.byte(span.end.index()).max(start);
        let is_null = style == ScalarStyle::Plain && front::plain(text).is_null();
        let kind = if is_null { NodeKind::Empty } else { NodeKind::Scalar(text.to_owned()) };
        let end = match style {
            // Only brackets and plain words have their true end from the parser.
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => self.quoted_end(start, end),
            ScalarStyle::Literal | ScalarStyle::Folded => self.block_end(start, end),
            _ if text.is_empty() => start,
            _ => end,
        };
        Node { kind, span: start..end, line: span.start.line(), flow: false }
    }

    fn quoted_end(&self, start: usize, end: usize) -> usize {
        let piece = &self.text[start..end];
        let Some(open) = piece.find(['\'', '"']) else { return end };
        let bytes = piece.as_bytes();
        let quote = bytes[open];
        let mut at = open + 1;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' if quote == b'"' => at += 1,
                byte if byte == quote && quote == b'\'' && bytes.get(at + 1) == Some(&quote) => at += 1,
                byte if byte == quote => return start + at + 1,
                _ => {}
            }
            at += 1;
        }
        end
    }

    /// The parser gives a `|` scalar up to the next thing; blank lines behind it are not its own.
    fn block_end(&self, start: usize, end: usize) -> usize {
        let line = self.text[..end].rfind('\n').map_or(0, |at| at + 1);
        let end = if end < self.text.len() { line.max(start) } else { end };
        start + self.text[start..end].trim_end().len()
    }

    /// Behind the bracket: with a comma before it, the parser gives the comma's place.
    fn closed(&self, end: usize) -> usize {
        if !self.text.get(..end).is_some_and(|before| before.ends_with(',')) {
            return end;
        }
        let rest = &self.text[end..];
        let blank = rest.len() - rest.trim_start().len();
        if rest[blank..].starts_with(['}', ']']) { end + blank + 1 } else { end }
    }

    fn byte(&self, char: usize) -> usize {
        let at =
            if self.bytes.is_empty() { char } else { self.bytes.get(char).copied().unwrap_or(usize::MAX) };
        self.offset.saturating_add(at).min(self.text.len())
    }
}

impl Node {
    /// The value of a key, if this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        match &self.kind {
            NodeKind::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// What it is, in a word.
    pub(crate) fn what(&self) -> String {
        match &self.kind {
            NodeKind::Empty => "empty".to_owned(),
            NodeKind::Scalar(text) => format!("`{}`", text.chars().take(40).collect::<String>()),
            NodeKind::List(_) => "a list".to_owned(),
            NodeKind::Map(_) => "a mapping".to_owned(),
        }
    }
}
