//! Rows of a Markdown table, given as JSON: checked against the columns, escaped, put in their place.
//!
//! Used by the 1.x and the native edits. Cells are content, not source: `|` is escaped, a line break is refused.

use std::ops::Range;

use serde_json::Value;

use super::{Operation, wrong_content};
use crate::error::{Error, Result};
use crate::note::outline::Outline;

/// Rows that fit a table, each as its finished line.
pub(crate) struct Rows(Vec<String>);

impl Rows {
    /// Reads one row or a list of rows for the table in this span.
    pub(crate) fn read(text: &str, table: &Range<usize>, value: &Value) -> Result<Rows> {
        let Value::Array(items) = value else {
            return Err(wrong_content("rows are a list, or a list of lists"));
        };
        let columns = columns(&text[table.clone()]);
        let rows: Vec<&[Value]> = match items.iter().any(Value::is_array) {
            true => items.iter().map(row).collect::<Result<_>>()?,
            false if items.is_empty() => Vec::new(),
            false => vec![items],
        };
        rows.into_iter().map(|row| line(row, columns)).collect::<Result<_>>().map(Rows)
    }
}

/// The text with the rows added to, or in place of, the body of the table.
pub(crate) fn edit(outline: &Outline<'_>, table: &Range<usize>, rows: &Rows, operation: Operation) -> String {
    let text = outline.text;
    let newline = outline.newline();
    let body = behind_delimiter(text, table);
    let prefix = prefix(text, table);
    let lines: String = rows.0.iter().map(|row| format!("{newline}{prefix}{row}")).collect();
    let span = match operation {
        Operation::Append => table.end..table.end,
        Operation::Prepend => body..body,
        Operation::Replace => body..table.end,
    };
    format!("{}{lines}{}", &text[..span.start], &text[span.end..])
}

fn row(value: &Value) -> Result<&[Value]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| wrong_content("rows and single cells are mixed"))
}

fn line(cells: &[Value], columns: usize) -> Result<String> {
    if cells.len() != columns {
        return Err(wrong_content(&format!("a row has {} cells, the table {columns} columns", cells.len())));
    }
    let cells = cells.iter().map(cell).collect::<Result<Vec<_>>>()?;
    Ok(format!("| {} |", cells.join(" | ")))
}

fn cell(value: &Value) -> Result<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => {
            return Err(wrong_content("a cell is text, a number or a boolean"));
        }
    };
    if text.contains(['\n', '\r']) {
        return Err(Error::Edit {
            reason: "table_cell_invalid",
            message: "a table cell cannot hold a line break".to_owned(),
            hint: "write `<br>` instead".to_owned(),
            candidates: Vec::new(),
        });
    }
    Ok(escaped(&text))
}

/// `|` gets a backslash if it has none.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut backslashes = 0;
    for c in text.chars() {
        if c == '|' && backslashes % 2 == 0 {
            out.push('\\');
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        out.push(c);
    }
    // A backslash at the end would escape the bar that closes the cell.
    if backslashes % 2 == 1 {
        out.push('\\');
    }
    out
}

fn delimiter(table: &str) -> &str {
    table.lines().nth(1).unwrap_or("")
}

fn columns(table: &str) -> usize {
    let row = delimiter(table).trim_matches([' ', '\t', '>', '\r']);
    let row = row.strip_prefix('|').unwrap_or(row);
    row.strip_suffix('|').unwrap_or(row).split('|').count()
}

/// End of the delimiter row, without its line end.
fn behind_delimiter(text: &str, table: &Range<usize>) -> usize {
    let piece = &text[table.clone()];
    let Some(first) = piece.find('\n') else { return table.end };
    let end = piece[first + 1..].find('\n').map_or(piece.len(), |end| first + 1 + end);
    table.start + piece[..end].trim_end_matches('\r').len()
}

/// What stands in front of the rows: white space and the `>` of quotes.
fn prefix<'a>(text: &'a str, table: &Range<usize>) -> &'a str {
    let row = delimiter(&text[table.clone()]);
    &row[..row.len() - row.trim_start_matches([' ', '\t', '>']).len()]
}
