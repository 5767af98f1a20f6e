//! Values as texts: what `toString()` and `"" + …` give.

use super::dates;
use super::value::{Day, Link, Value};
use crate::query::dql::show::{show_duration, show_number};

/// A value as text. Nothing is no text.
pub fn show(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => show_number(*number),
        Value::Text(text) => text.to_string(),
        Value::Date(day) => show_day(day),
        Value::Duration(duration) => show_duration(duration),
        Value::Link(link) => show_link(link),
        Value::File(path) => path.as_str().to_owned(),
        Value::List(list) => list.iter().map(show).collect::<Vec<_>>().join(", "),
        Value::Object(object) => {
            let inner = object.entries().iter().map(|(name, value)| format!("{name}: {}", show(value)));
            format!("{{{}}}", inner.collect::<Vec<_>>().join(", "))
        }
        Value::Pattern(pattern) => format!("/{}/{}", pattern.source, pattern.flags),
        Value::Drawn(drawn) => drawn.text.clone(),
    }
}

/// About how many bytes the text of a value takes: what making it costs.
pub(crate) fn length(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::List(list) => list.iter().map(|item| 2 + length(item)).sum(),
        Value::Object(object) => {
            object.entries().iter().map(|(name, value)| name.len() + 4 + length(value)).sum()
        }
        Value::Drawn(drawn) => drawn.text.len(),
        Value::Link(link) => link.target.len() + link.display.as_ref().map_or(8, String::len),
        _ => 16,
    }
}

/// `2025-05-27`, with its time if it has one.
pub(crate) fn show_day(day: &Day) -> String {
    let pattern = if day.clock { "YYYY-MM-DD HH:mm:ss" } else { "YYYY-MM-DD" };
    dates::format(&day.at, pattern).unwrap_or_default()
}

/// `[[Target#Fragment|Display]]`, or a Markdown link for an address.
pub(crate) fn show_link(link: &Link) -> String {
    if link.is_external() {
        return match &link.display {
            Some(display) => format!("[{display}]({})", link.target),
            None => link.target.clone(),
        };
    }
    let fragment = link.fragment.as_ref().map(|fragment| format!("#{fragment}")).unwrap_or_default();
    match &link.display {
        Some(display) => format!("[[{}{fragment}|{display}]]", link.target),
        None => format!("[[{}{fragment}]]", link.target),
    }
}
