//! Functions on dates and durations.

use crate::query::dql::date::Date;
use crate::query::dql::evaluate::{Evaluator, Fault, failed};
use crate::query::dql::format;
use crate::query::dql::parse::{Cursor, Found, literal};
use crate::query::dql::value::{Link, Value};

pub(super) fn apply(at: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, Fault> {
    Ok(Some(match (name, arguments) {
        ("date", [Value::Text(text)]) => match literal(text, Cursor::date_plus) {
            Some(Found::Date(date)) => date.in_zone(&at.local).map_or(Value::Null, Value::Date),
            Some(Found::Shorthand(name)) => at.named_date(name).map_or(Value::Null, Value::Date),
            None => Value::Null,
        },
        ("date", [Value::Date(date)]) => Value::Date(date.clone()),
        ("date", [Value::Link(link)]) => linked_date(at, link)?,
        ("date", [Value::Null] | [Value::Null, Value::Text(_)]) => Value::Null,
        ("date", [Value::Text(text), Value::Text(pattern)]) => by_pattern(at, text, pattern)?,
        ("dur", [Value::Text(text)]) => {
            literal(text.trim(), Cursor::duration).map_or(Value::Null, Value::Duration)
        }
        ("dur", [Value::Duration(duration)]) => Value::Duration(*duration),
        ("dateformat", [Value::Date(date), Value::Text(pattern)]) => {
            at.charge(pattern.len())?;
            Value::from(format::format(date, pattern))
        }
        ("durationformat", [Value::Duration(duration), Value::Text(pattern)]) => {
            at.charge(pattern.len())?;
            Value::from(format::format_duration(duration, pattern))
        }
        ("dateformat" | "durationformat", [Value::Null, Value::Text(_)]) => Value::Null,
        ("localtime", [Value::Date(date)]) => Value::Date(date.seen_from(at.local.clone())),
        ("striptime", [Value::Date(date)]) => date.start_of_day().map_or(Value::Null, Value::Date),
        ("dur" | "localtime" | "striptime", [Value::Null]) => Value::Null,
        _ => return Ok(None),
    }))
}

/// The date in a link's text, in its path, or of the page that it leads to.
fn linked_date(at: &Evaluator<'_>, link: &Link) -> Result<Value, Fault> {
    for text in [link.display.as_deref(), Some(link.path.as_str())].into_iter().flatten() {
        if let Some(date) = literal(text, Cursor::date).and_then(|date| date.in_zone(&at.local)) {
            return Ok(Value::Date(date));
        }
    }
    let file = at.index(&Value::link(link.clone()), &Value::from("file"))?;
    at.index(&file, &Value::from("day"))
}

fn by_pattern(at: &Evaluator<'_>, text: &str, pattern: &str) -> Result<Value, Fault> {
    let found = match pattern {
        "x" | "X" => {
            let number: Option<i64> = text.trim().parse().ok();
            let scale = if pattern == "X" { 1000 } else { 1 };
            number.and_then(|number| Date::at(number.checked_mul(scale)?, at.local.clone()))
        }
        _ => format::parse(text, pattern, &at.now),
    };
    found.map_or_else(
        || failed(format!("`{text}` is no date by the pattern `{pattern}`")),
        |date| Ok(Value::Date(date)),
    )
}
