//! A window on a long text, in lines: what `read_file`, the checkpoint tools and the daily note show of it, and how to
//! see the rest. Every character can be reached, also those of a line that is longer than a whole answer.

use pipeline::Refusal;
use serde::Serialize;
use serde_json::{Value, json};

use crate::page::CHARS;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    /// The line, from 1.
    #[serde(rename = "offset")]
    pub(crate) line: usize,
    /// The character in the line, from 1.
    pub(crate) column: usize,
}

/// What is seen of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    /// The text from the place that was asked for, byte by byte as it stands.
    pub(crate) content: String,
    /// The first line of it.
    pub(crate) first: usize,
    /// The last line of it, perhaps not whole.
    pub(crate) last: usize,
    /// Lines of the whole text.
    pub(crate) total_lines: usize,
    /// Characters of the whole text.
    pub(crate) total_chars: usize,
    /// Where to go on, if there is more.
    pub(crate) next: Option<Place>,
}

/// The window that starts in line `offset` (from 1; negative: counted from the end) at character `column`, at most
/// `limit` lines and [`CHARS`] characters.
pub(crate) fn window(
    text: &str,
    offset: i64,
    column: usize,
    limit: Option<usize>,
) -> Result<Window, Refusal> {
    let total_lines = text.split_inclusive('\n').count();
    let first = first_line(offset, total_lines);
    if first > total_lines.max(1) {
        return Err(Refusal::new(
            "offset_past_end",
            format!("the text has {total_lines} lines, so none starts at {offset}"),
            "use a smaller offset; a negative one counts from the end",
        )
        .with("totalLines", total_lines));
    }
    let mut window = Window {
        content: String::new(),
        first,
        last: first.min(total_lines),
        total_lines,
        total_chars: text.chars().count(),
        next: None,
    };
    window.fill(text, column.max(1), limit.unwrap_or(usize::MAX).max(1));
    Ok(window)
}

fn first_line(offset: i64, total: usize) -> usize {
    let steps = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    if offset < 0 { total.saturating_sub(steps) + 1 } else { steps.max(1) }
}

impl Window {
    fn fill(&mut self, text: &str, column: usize, limit: usize) {
        let mut room = CHARS;
        for (number, line) in (1..).zip(text.split_inclusive('\n')).skip(self.first - 1) {
            let column = if number == self.first { column } else { 1 };
            if number - self.first == limit {
                self.next = Some(Place { line: number, column: 1 });
                return;
            }
            let start = line.char_indices().nth(column - 1).map_or(line.len(), |(at, _)| at);
            let piece: String = line[start..].chars().take(room + 1).collect();
            let length = piece.chars().count();
            if length > room && number > self.first {
                self.next = Some(Place { line: number, column: 1 });
                return;
            }
            self.last = number;
            if length > room {
                self.content.extend(piece.chars().take(room));
                self.next = Some(Place { line: number, column: column + room });
                return;
            }
            room -= length;
            self.content.push_str(&piece);
        }
    }

    /// `lines 1-3 of 9`.
    pub(crate) fn lines(&self) -> String {
        match self.total_lines {
            0 => "empty".to_owned(),
            total => format!("lines {}-{} of {total}", self.first, self.last),
        }
    }

    /// How to see the rest with `tool`, whose other input is `input`; empty if nothing is missing behind the window.
    pub(crate) fn rest(&self, tool: &str, input: Value) -> String {
        let Some(next) = self.next else { return String::new() };
        let mut input = input;
        input["offset"] = json!(next.line);
        if next.column > 1 {
            input["column"] = json!(next.column);
        }
        let (shown, total) = (self.content.chars().count(), self.total_chars);
        format!(
            "\n[{} shown, {shown} of {total} characters. The rest: {tool} {input}]",
            capital(&self.lines())
        )
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, offset: i64, limit: Option<usize>, content: &str, lines: &str) {
        let window = window(text, offset, 1, limit).unwrap();
        assert_eq!((window.content.as_str(), window.lines().as_str()), (content, lines));
    }

    #[test]
    fn a_window_is_counted_in_lines_from_either_end() {
        check("a\nb\nc", 1, None, "a\nb\nc", "lines 1-3 of 3");
        check("a\nb\nc", 0, Some(1), "a\n", "lines 1-1 of 3");
        check("a\r\nb\r\nc\r\n", 2, Some(1), "b\r\n", "lines 2-2 of 3");
        check("a\nb\nc", -1, None, "c", "lines 3-3 of 3");
        check("a\nb\nc", -99, None, "a\nb\nc", "lines 1-3 of 3");
        check("", 1, None, "", "empty");
        assert_eq!(window("a\nb", 3, 1, None).unwrap_err().reason, "offset_past_end");
        assert_eq!(window("a\nb", i64::MIN, 1, None).unwrap().content, "a\nb");
    }

    #[test]
    fn windows_put_together_are_the_whole_text() {
        let long_line = "é".repeat(CHARS * 2 + 7);
        for text in [format!("a\n{long_line}\r\nb\n"), "line of text\n".repeat(20_000), long_line] {
            for limit in [None, Some(3_000)] {
                let (mut whole, mut at) = (String::new(), Some(Place { line: 1, column: 1 }));
                while let Some(place) = at {
                    let window = window(&text, place.line as i64, place.column, limit).unwrap();
                    assert!(window.content.chars().count() <= CHARS);
                    whole.push_str(&window.content);
                    at = window.next;
                }
                assert!(whole == text);
            }
        }
    }
}
