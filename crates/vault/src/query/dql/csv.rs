//! CSV files as rows: the first line names the fields, `#` starts a comment, cells are typed.

use std::sync::Arc;

use super::date::Zone;
use super::parse::front_value;
use super::text::canonical_key;
use super::value::{Object, Value};

/// The rows of a CSV text.
pub(crate) fn rows(text: &str, local: &Zone) -> Vec<Arc<Object>> {
    let mut records = records(text).into_iter();
    let Some(names) = records.next() else { return Vec::new() };
    let row = |cells: Vec<String>| {
        let mut out = Object::default();
        for (name, cell) in names.iter().zip(&cells) {
            let value = typed(cell, local);
            let canonical = canonical_key(name);
            out.set(name.as_str(), value.clone());
            if canonical != *name && !canonical.is_empty() {
                out.set(canonical, value);
            }
        }
        Arc::new(out)
    };
    records.map(row).collect()
}

fn typed(cell: &str, local: &Zone) -> Value {
    match cell {
        "" => Value::Null,
        "true" | "TRUE" => Value::Bool(true),
        "false" | "FALSE" => Value::Bool(false),
        _ => match cell.trim().parse::<f64>() {
            Ok(number) if number.is_finite() && cell.contains(|c: char| c.is_ascii_digit()) => {
                Value::Number(number)
            }
            _ => front_value(cell, local),
        },
    }
}

/// Cells by line; quotes hold commas, line ends and doubled quotes. Empty lines and comments are left out.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let mut record = vec![String::new()];
    let mut chars = text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        let at_start = record.len() == 1 && record[0].is_empty();
        let Some(cell) = record.last_mut() else { break };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' if quoted => quoted = false,
            _ if quoted => cell.push(c),
            '"' if cell.is_empty() => quoted = true,
            ',' => record.push(String::new()),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' => finish(&mut record, &mut out),
            '#' if at_start => while chars.next_if(|c| *c != '\n').is_some() {},
            _ => cell.push(c),
        }
    }
    finish(&mut record, &mut out);
    out
}

fn finish(record: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    let done = std::mem::replace(record, vec![String::new()]);
    if done.len() > 1 || !done[0].is_empty() {
        out.push(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_typed_and_quotes_hold_anything() {
        let text = "name,My Age,on\n# no row\n\"a, \"\"b\"\"\n\",30,2024-01-01\nz,,true\n\n";
        let rows = rows(text, &Zone::Fixed(0));
        assert_eq!(rows.len(), 2);
        let shown = |name: &str| rows[0].get(name).map(super::super::show::show);
        assert_eq!(shown("name").as_deref(), Some("a, \"b\"\n"));
        assert_eq!(shown("My Age"), shown("my-age"));
        assert_eq!(shown("on").as_deref(), Some("January 01, 2024"));
        assert_eq!(rows[1].get("on").map(Value::type_name), Some("boolean"));
    }
}
