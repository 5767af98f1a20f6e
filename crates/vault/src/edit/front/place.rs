//! Where a key's lines stand in a note, and the text with them changed.
//!
//! Called by [`super`] only, which reads every result again before anybody sees it.

use std::ops::Range;

use saphyr_parser::ScalarStyle;
use serde_json::{Map, Value};

use super::write::{self, Lines};
use crate::edit::replace::line_end;
use crate::error::{Error, Result};
use crate::note::front::yaml::{self, Document, Entry, Form, Tail};
use crate::note::front::{self, Front};

/// A front matter block that can be read, with the places of its keys.
pub(super) struct Place<'a> {
    text: &'a str,
    front: Front,
    document: Document,
    /// Byte of each character of the YAML; empty if all are one byte.
    bytes: Vec<usize>,
}

/// The bytes of one key and its value in the note.
struct Span {
    /// From the start of the key's line.
    line: usize,
    /// Behind the colon.
    colon: usize,
    value: Range<usize>,
    /// Behind the line end of the value's last line.
    end: usize,
}

impl<'a> Place<'a> {
    /// The block of the text, if it has one.
    pub fn find(text: &'a str) -> Result<Option<Place<'a>>> {
        let Some(front) = front::split(text) else { return Ok(None) };
        let yaml = &text[front.yaml.clone()];
        let document = yaml::read(yaml)?;
        let bytes =
            if yaml.is_ascii() { Vec::new() } else { yaml.char_indices().map(|(at, _)| at).collect() };
        Ok(Some(Place { text, front, document, bytes }))
    }

    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.document.entries.iter().find(|entry| entry.key == key)
    }

    /// Refuses while an alias elsewhere refers to an anchor in the entry.
    pub fn may_replace(&self, entry: &Entry) -> Result<()> {
        let referred = |other: &&Entry| {
            other.key != entry.key && other.aliases.iter().any(|anchor| entry.anchors.contains(anchor))
        };
        let users: Vec<String> =
            self.document.entries.iter().filter(referred).map(|entry| entry.key.clone()).collect();
        if users.is_empty() {
            return Ok(());
        }
        Err(Error::Edit {
            reason: "anchor_in_use",
            message: format!(
                "`{}` sets an anchor that `{}` refers to; changing it would change both",
                entry.key,
                users.join("`, `")
            ),
            hint: "first set the keys that refer to it to values of their own".to_owned(),
            candidates: users,
        })
    }

    /// Whether the entry is all there is: no comment would be lost with the block.
    pub fn holds_only(&self, entry: &Entry) -> bool {
        let yaml = self.front.yaml.clone();
        let own = match self.document.braces.clone() {
            Some(braces) => self.byte(braces.start)..self.closed(self.byte(braces.end)),
            None => self.span(entry).map_or(yaml.start..yaml.start, |span| span.line..span.end),
        };
        self.text[yaml.start..own.start].trim().is_empty() && self.text[own.end..yaml.end].trim().is_empty()
    }

    /// The whole mapping anew, if it is written in braces.
    pub fn rewritten(&self, values: &Map<String, Value>) -> Option<String> {
        let braces = self.document.braces.clone()?;
        let range = self.byte(braces.start)..self.closed(self.byte(braces.end));
        Some(self.spliced(range, &write::braces(values)))
    }

    /// The text with the key's value replaced, in the forms to try: the old one's, then plainer ones.
    pub fn with_value(&self, entry: &Entry, value: &Value) -> Result<Vec<String>> {
        let span = self.span(entry)?;
        let mut out = Vec::new();
        if let Value::Array(items) = value {
            out.extend(self.with_items(entry, &span, items));
        }
        if entry.form == Form::FlowMap && value.is_object() {
            out.push(self.with_inline(&span, &write::flow(value)));
        }
        let lines = self.lines();
        let written = write::after_colon(value, style_of(entry, value), lines);
        match written.strip_prefix(' ') {
            Some(inline) => out.push(self.with_inline(&span, inline)),
            None => out.push(self.with_block(&span, &written)),
        }
        out.push(self.with_inline(&span, &write::json(value)));
        Ok(out)
    }

    /// The text with a new key at the end of the block.
    pub fn with_new(&self, key: &str, value: &Value) -> String {
        let lines = self.lines();
        let at = self.front.yaml.end;
        let line = format!("{}{}{}", " ".repeat(lines.indent), write::pair(key, value, lines), lines.end);
        self.spliced(at..at, &line)
    }

    /// The text without the key's lines.
    pub fn without(&self, entry: &Entry) -> Result<String> {
        let span = self.span(entry)?;
        Ok(self.spliced(span.line..span.end, ""))
    }

    /// The text without the block and the blank lines under it.
    pub fn without_block(&self) -> String {
        let mut body = &self.text[self.front.block.end..];
        while let Some((line, rest)) = body.split_once('\n')
            && line.trim().is_empty()
        {
            body = rest;
        }
        let body = if body.trim().is_empty() { "" } else { body };
        format!("{}{body}", &self.text[..self.front.block.start])
    }

    /// The text with the key renamed, in its own quotes if it had some.
    pub fn with_name(&self, entry: &Entry, new_key: &str) -> Vec<String> {
        let name = self.byte(entry.name.start)..self.byte(entry.name.end);
        let style = match self.text[name.clone()].chars().next() {
            Some('\'') => ScalarStyle::SingleQuoted,
            Some('"') => ScalarStyle::DoubleQuoted,
            _ => ScalarStyle::Plain,
        };
        let styles = [style, ScalarStyle::DoubleQuoted];
        styles.map(|style| self.spliced(name.clone(), &write::key(new_key, style))).to_vec()
    }

    /// The list with the lines (or the text between brackets) of surviving items kept as they are.
    fn with_items(&self, entry: &Entry, span: &Span, items: &[Value]) -> Option<String> {
        let old = self.document.values.get(&entry.key)?.as_array()?;
        if items.is_empty() || old.len().saturating_mul(items.len()) > 1_000_000 {
            return None;
        }
        let kept = surviving(old, items);
        match entry.form {
            // A list of which nothing stays is written as a new one.
            Form::FlowList if kept.iter().any(Option::is_some) => {
                Some(self.with_inline(span, &self.flow_items(entry, items, &kept)?))
            }
            Form::BlockList => self.block_items(span, old.len(), items, &kept),
            _ => None,
        }
    }

    fn flow_items(&self, entry: &Entry, items: &[Value], kept: &[Option<usize>]) -> Option<String> {
        let source = |index: usize| -> Option<&str> {
            let item = entry.items.get(index)?;
            let source = &self.text[self.byte(item.start)..self.byte(item.end)];
            (!source.is_empty() && !source.contains(['\n', '#', ',', '&'])).then_some(source.trim())
        };
        let written = items.iter().zip(kept).map(|(value, kept)| match kept.and_then(source) {
            Some(source) => source.to_owned(),
            None => write::flow(value),
        });
        Some(format!("[{}]", written.collect::<Vec<_>>().join(", ")))
    }

    fn block_items(
        &self,
        span: &Span,
        count: usize,
        items: &[Value],
        kept: &[Option<usize>],
    ) -> Option<String> {
        let region = span.value.start..span.end;
        let first = self.line_start(region.start);
        let line = &self.text[first..region.end];
        let indent = line.len() - line.trim_start_matches(' ').len();
        let chunks = chunks(&self.text[first..region.end], indent);
        if chunks.len() != count {
            return None;
        }
        let lines = Lines { indent, ..self.lines() };
        let mut out = String::new();
        let mut next = 0;
        for (value, kept) in items.iter().zip(kept) {
            match kept {
                Some(index) => {
                    chunks[next..*index].iter().for_each(|chunk| out.push_str(chunk.1));
                    out.push_str(chunks[*index].0);
                    out.push_str(chunks[*index].1);
                    next = index + 1;
                }
                None => {
                    let item = write::item(value, lines);
                    out.push_str(&format!("{}{item}{}", " ".repeat(indent), lines.end));
                }
            }
        }
        chunks[next..].iter().for_each(|chunk| out.push_str(chunk.1));
        Some(self.spliced(first..region.end, &out))
    }

    /// A value on the key's own line; the comment there stays.
    fn with_inline(&self, span: &Span, value: &str) -> String {
        let comment = self.gap_comment(span);
        if comment.is_empty() {
            return self.spliced(span.colon..span.value.end, &format!(" {value}"));
        }
        // `key: # why` over a list: the comment moves behind the new value.
        self.spliced(span.colon..self.content_end(span), &format!(" {value} {comment}"))
    }

    /// A value on the lines below its key; a comment behind the key or behind the old scalar stays behind the key.
    fn with_block(&self, span: &Span, value: &str) -> String {
        let mut comment = self.gap_comment(span);
        let tail = &self.text[span.value.end..self.content_end(span)];
        if comment.is_empty() && !self.text[span.colon..span.value.end].contains('\n') {
            comment = tail.trim();
        }
        let comment = if comment.is_empty() { String::new() } else { format!(" {comment}") };
        self.spliced(span.colon..self.content_end(span), &format!("{comment}{value}"))
    }

    /// The comment between a colon and a value that starts on a later line.
    fn gap_comment(&self, span: &Span) -> &str {
        let gap = &self.text[span.colon..span.value.start.max(span.colon)];
        match gap.split_once('\n') {
            Some((first, _)) if first.trim().starts_with('#') => first.trim(),
            _ => "",
        }
    }

    /// The end of the value's last line, its line end excluded.
    fn content_end(&self, span: &Span) -> usize {
        span.line + self.text[span.line..span.end].trim_end_matches(['\n', '\r']).len()
    }

    fn span(&self, entry: &Entry) -> Result<Span> {
        let name = self.byte(entry.name.start)..self.byte(entry.name.end);
        let line = self.line_start(name.start);
        let rest = &self.text[name.end..self.front.yaml.end];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let colon = name.end + blank + 1;
        // `? key` and anchored keys: rare, and not worth a way of their own.
        let simple = rest[blank..].starts_with(':')
            && self.text[line..name.start].bytes().all(|b| b == b' ')
            && !self.text[name.clone()].contains('\n');
        if !simple {
            return Err(super::unsafe_edit());
        }
        let value = self.value_span(entry, colon);
        let end = memchr::memchr(b'\n', &self.text.as_bytes()[value.end..self.front.yaml.end])
            .map_or(self.front.yaml.end, |found| value.end + found + 1);
        Ok(Span { line, colon, value, end })
    }

    fn value_span(&self, entry: &Entry, colon: usize) -> Range<usize> {
        if entry.form == Form::Empty {
            return colon..colon;
        }
        let start = self.byte(entry.value.start).max(colon);
        let mut end = self.byte(entry.value.end).max(start);
        if matches!(entry.form, Form::FlowList | Form::FlowMap) {
            end = self.closed(end);
        }
        match entry.tail {
            Tail::Plain => {}
            Tail::Quoted(from) => end = self.quoted_end(self.byte(from), end),
            Tail::Block => end = self.block_scalar_end(start, end),
        }
        start..end
    }

    /// Behind the closing quote. An anchor or a tag may stand in front of the opening one.
    fn quoted_end(&self, start: usize, end: usize) -> usize {
        let piece = &self.text[start..end];
        let mut open = 0;
        while piece[open..].starts_with(['&', '!']) {
            let token = piece[open..].find(char::is_whitespace).unwrap_or(piece.len() - open);
            open += token + (piece[open + token..].len() - piece[open + token..].trim_start().len());
        }
        let quote = piece.as_bytes().get(open).copied().unwrap_or(0);
        let mut at = open + 1;
        let bytes = piece.as_bytes();
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
    fn block_scalar_end(&self, start: usize, end: usize) -> usize {
        let end = if end < self.front.yaml.end { self.line_start(end) } else { end };
        let piece = &self.text[start..end.max(start)];
        start + piece.trim_end_matches(['\n', '\r', ' ', '\t']).len()
    }

    /// Behind the bracket: with a comma before it, the parser gives the comma's place.
    fn closed(&self, end: usize) -> usize {
        if !self.text[..end].ends_with(',') {
            return end;
        }
        let rest = &self.text[end..self.front.yaml.end];
        let blank = rest.len() - rest.trim_start().len();
        if rest[blank..].starts_with(['}', ']']) { end + blank + 1 } else { end }
    }

    fn lines(&self) -> Lines<'a> {
        let fence = &self.text[self.front.block.start..self.front.yaml.start];
        Lines { end: if fence.ends_with("\r\n") { "\r\n" } else { "\n" }, indent: self.document.indent }
    }

    fn yaml(&self) -> &'a str {
        &self.text[self.front.yaml.clone()]
    }

    fn byte(&self, char: usize) -> usize {
        let at =
            if self.bytes.is_empty() { char } else { self.bytes.get(char).copied().unwrap_or(usize::MAX) };
        self.front.yaml.start + at.min(self.yaml().len())
    }

    fn line_start(&self, at: usize) -> usize {
        let before = &self.text[self.front.yaml.start..at];
        before.rfind('\n').map_or(self.front.yaml.start, |found| self.front.yaml.start + found + 1)
    }

    fn spliced(&self, range: Range<usize>, new: &str) -> String {
        format!("{}{new}{}", &self.text[..range.start], &self.text[range.end..])
    }
}

/// The text with a new block in front (behind a byte order mark).
pub(super) fn new_block(text: &str, key: &str, value: &Value) -> String {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let lines = Lines { end: line_end(text), indent: 0 };
    let end = lines.end;
    format!("{mark}---{end}{}{end}---{end}{body}", write::pair(key, value, lines))
}

/// The style of the old scalar where the new one is of its kind.
fn style_of(entry: &Entry, value: &Value) -> ScalarStyle {
    match (entry.form, value) {
        (Form::Scalar(ScalarStyle::Literal | ScalarStyle::Folded), Value::String(_)) => ScalarStyle::Literal,
        (Form::Scalar(style @ (ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted)), Value::String(_)) => {
            style
        }
        _ => write::natural_style(value),
    }
}

/// For each new item the old one that it is, in order.
fn surviving(old: &[Value], new: &[Value]) -> Vec<Option<usize>> {
    let mut from = 0;
    let find = |value: &Value| {
        let found = old[from..].iter().position(|old| old == value).map(|found| from + found);
        from = found.map_or(from, |found| found + 1);
        found
    };
    new.iter().map(find).collect()
}

/// Each item's own lines, and the comments and blank lines behind it.
fn chunks(text: &str, indent: usize) -> Vec<(&str, &str)> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let rest = line.get(indent..).filter(|_| line.bytes().take(indent).all(|b| b == b' '));
        if rest
            .is_some_and(|rest| rest.starts_with("- ") || rest.trim_end() == "-" || rest.starts_with("-\t"))
        {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| own_lines(&text[*start..end])).collect()
}

/// An item without the comments and blank lines behind it, and those.
fn own_lines(chunk: &str) -> (&str, &str) {
    let mut own = chunk.len();
    for line in chunk.split_inclusive('\n').rev() {
        let line_text = line.trim();
        if own == line.len() || !(line_text.is_empty() || line_text.starts_with('#')) {
            break;
        }
        own -= line.len();
    }
    chunk.split_at(own)
}
