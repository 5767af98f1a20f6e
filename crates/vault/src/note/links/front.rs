//! Links in front matter: the raw YAML is searched, so that every span is exact and a rename can be spliced in.
//!
//! Called by the link scanner beside it. What the YAML *means* is read in [`crate::note::front`]; here only comments,
//! quotes and block scalars are told apart, because a `#` in a string is no comment and `''` in one is a quote.

use std::ops::Range;

use memchr::memmem;

use super::{Link, LinkStyle, Masks, Quote, Scanner};

/// The links of a YAML block.
pub(super) fn scan(text: &str, yaml: Range<usize>) -> Vec<Link> {
    let mut out = Vec::new();
    let Some(raw) = text.get(yaml.clone()).map(str::as_bytes) else { return out };
    if memmem::find(raw, b"[[").is_none() && memmem::find(raw, b"](").is_none() {
        return out;
    }
    let pieces = Pieces::read(text.as_bytes(), yaml.clone());
    Scanner::new(text, Masks::new([&pieces.comments, &[], &[]]), None, &mut out).run(yaml);
    out.sort_by_key(|link| link.span.start);
    out.retain_mut(|link| pieces.place(link));
    out
}

/// Where comments and quoted strings lie.
#[derive(Default)]
struct Pieces {
    comments: Vec<Range<usize>>,
    strings: Vec<(Range<usize>, Quote)>,
}

impl Pieces {
    /// Reads the YAML line by line; a line in a block scalar is text.
    fn read(bytes: &[u8], yaml: Range<usize>) -> Pieces {
        let mut out = Pieces::default();
        let bytes = &bytes[..yaml.end];
        let mut block: Option<usize> = None;
        let mut at = yaml.start;
        while at < bytes.len() {
            let end = line_end(bytes, at);
            let indent = bytes[at..end].iter().take_while(|byte| **byte == b' ').count();
            let is_blank = bytes[at..end].iter().all(u8::is_ascii_whitespace);
            if block.is_some_and(|outer| is_blank || indent > outer) {
                at = end + 1;
                continue;
            }
            let (next, opens_block) = out.line(bytes, at);
            block = opens_block.then_some(indent);
            at = next;
        }
        out
    }

    /// Reads from `at` to the end of the line on which the last string ends; says whether a block scalar opens there.
    fn line(&mut self, bytes: &[u8], mut at: usize) -> (usize, bool) {
        let mut token = true;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' => break,
                b'#' if at == 0 || bytes[at - 1].is_ascii_whitespace() => {
                    let end = line_end(bytes, at);
                    self.comments.push(at..end);
                    at = end;
                    continue;
                }
                b'"' | b'\'' if token => {
                    at = self.string(bytes, at);
                    token = false;
                    continue;
                }
                b'|' | b'>' if token => return (line_end(bytes, at) + 1, true),
                b' ' | b'\t' => {}
                b'[' | b'{' | b',' => token = true,
                b':' | b'-' | b'?' => {
                    token = bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace) && (*byte == b':' || token);
                }
                _ => token = false,
            }
            at += 1;
        }
        (at + 1, false)
    }

    fn string(&mut self, bytes: &[u8], open: usize) -> usize {
        let quote = bytes[open];
        let mut at = open + 1;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\\' if quote == b'"' => at += 1,
                b'\'' if quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') => at += 1,
                byte if *byte == quote => break,
                _ => {}
            }
            at += 1;
        }
        let end = at.min(bytes.len());
        self.strings.push((open + 1..end, if quote == b'"' { Quote::Double } else { Quote::Single }));
        end + 1
    }

    /// Says where the link stands and decodes it; false for what only looks like a link (a list in a list).
    fn place(&self, link: &mut Link) -> bool {
        link.in_front = true;
        let after = self.strings.partition_point(|(span, _)| span.start <= link.span.start);
        let quote = after.checked_sub(1).map(|index| &self.strings[index]);
        match quote.filter(|(span, _)| link.span.start < span.end) {
            Some((span, _)) if link.span.end > span.end => return false,
            Some((_, quote)) => {
                link.quote = *quote;
                link.target = unquote(&link.target, *quote);
                link.fragment = link.fragment.take().map(|fragment| unquote(&fragment, *quote));
                link.display = link.display.take().map(|display| unquote(&display, *quote));
            }
            None if link.style == LinkStyle::Wiki => return !link.target.contains(['[', ']', ',']),
            None => {}
        }
        true
    }
}

/// What a piece of a YAML string spells.
fn unquote(written: &str, quote: Quote) -> String {
    match quote {
        Quote::None => written.to_owned(),
        Quote::Single => written.replace("''", "'"),
        Quote::Double if !written.contains('\\') => written.to_owned(),
        Quote::Double => {
            let quoted = format!("\"{written}\"");
            serde_json::from_str(&quoted).unwrap_or_else(|_| written.to_owned())
        }
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline)
}
