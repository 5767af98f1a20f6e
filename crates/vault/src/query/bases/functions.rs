//! The functions that stand by themselves: `if(…)`, `date(…)`, `link(…)` and the rest.

use std::sync::Arc;

use super::ast::Expression;
use super::dates::{parse_date, parse_duration};
use super::evaluate::{Computed, Evaluator, Scope, failed};
use super::operators::text_number;
use super::show::show;
use super::value::{Day, Drawn, DrawnKind, Link, Value};
use crate::query::dql::date::Date;
use crate::query::dql::duration::{Duration, Unit};

/// Calls a function; the parser has counted its arguments.
pub(crate) fn call(at: &Evaluator<'_>, name: &str, arguments: &[Expression], scope: Scope<'_>) -> Computed {
    if let ("if", [condition, yes, rest @ ..]) = (name, arguments) {
        // Only the side that is taken is looked at.
        return match (at.evaluate(condition, scope)?.is_truthy(), rest.first()) {
            (true, _) => at.evaluate(yes, scope),
            (false, Some(no)) => at.evaluate(no, scope),
            (false, None) => Ok(Value::Null),
        };
    }
    let arguments = at.all(arguments, scope)?;
    let first = arguments.first().cloned().unwrap_or_default();
    match name {
        "now" => Ok(Value::Date(Day { at: at.now.clone(), clock: true })),
        "today" => match at.now.start_of_day() {
            Some(day) => Ok(Value::Date(Day { at: day, clock: false })),
            None => failed("today is outside of the years that dates have"),
        },
        "random" => Ok(Value::Number(at.random())),
        "max" => extreme(&arguments, name, |a, b| a > b),
        "min" => extreme(&arguments, name, |a, b| a < b),
        "list" => Ok(if matches!(first, Value::List(_)) { first } else { Value::list(vec![first]) }),
        "link" => link(at, &first, arguments.get(1)),
        "file" => file(at, &first),
        _ if matches!(first, Value::Null) => Ok(Value::Null),
        "date" => date(at, first),
        "duration" => duration(first),
        "number" => number(&first),
        "escapeHTML" => at.text(escape(&show(&first))),
        "html" => Ok(drawn(DrawnKind::Html, show(&first))),
        "icon" => Ok(drawn(DrawnKind::Icon, show(&first))),
        "image" => Ok(drawn(DrawnKind::Image, address(&first))),
        other => failed(format!("there is no function `{other}`")),
    }
}

fn drawn(kind: DrawnKind, text: String) -> Value {
    Value::Drawn(Arc::new(Drawn { kind, text }))
}

/// Where a picture lies.
fn address(value: &Value) -> String {
    match value {
        Value::Link(link) => {
            link.path.as_ref().map_or_else(|| link.target.clone(), |path| path.as_str().to_owned())
        }
        other => show(other),
    }
}

/// The largest or smallest of numbers or dates; what is nothing is left out.
fn extreme(values: &[Value], name: &str, better: impl Fn(f64, f64) -> bool) -> Computed {
    let mut best: Option<(f64, &Value)> = None;
    for value in values.iter().filter(|value| !matches!(value, Value::Null)) {
        let size = match value {
            Value::Number(number) => *number,
            Value::Bool(yes) => f64::from(u8::from(*yes)),
            Value::Date(day) => day.at.instant() as f64,
            Value::Duration(duration) => duration.total_milliseconds(),
            Value::Text(text) => text_number(text).unwrap_or(f64::NAN),
            other => return failed(format!("`{name}` takes numbers, not a {}", other.type_name())),
        };
        if size.is_nan() {
            return Ok(Value::Number(f64::NAN));
        }
        if best.is_none_or(|(known, _)| better(size, known)) {
            best = Some((size, value));
        }
    }
    Ok(match best {
        Some((_, value @ (Value::Date(_) | Value::Duration(_)))) => value.clone(),
        Some((size, _)) => Value::Number(size),
        None => Value::Null,
    })
}

fn date(at: &Evaluator<'_>, value: Value) -> Computed {
    match &value {
        Value::Date(_) => Ok(value),
        Value::Number(instant) if instant.abs() < 1e15 => match Date::at(*instant as i64, at.local.clone()) {
            Some(at) => Ok(Value::Date(Day { at, clock: true })),
            None => failed("this date is outside of the years that dates have"),
        },
        // A link to a daily note is its day.
        Value::Text(_) | Value::Link(_) => {
            let text = match &value {
                Value::Link(link) => link.target.rsplit('/').next().unwrap_or("").to_owned(),
                other => show(other),
            };
            match parse_date(&text, &at.local) {
                Some(day) => Ok(Value::Date(day)),
                None => failed(format!(
                    "`{}` is no date; it is written 2025-01-31 or 2025-01-31 12:00:00",
                    clipped(&text)
                )),
            }
        }
        other => failed(format!("`date` takes a text, not a {}", other.type_name())),
    }
}

fn duration(value: Value) -> Computed {
    match &value {
        Value::Duration(_) => Ok(value),
        Value::Number(milliseconds) => Ok(Value::Duration(Duration::of(Unit::Milliseconds, *milliseconds))),
        Value::Text(text) => match parse_duration(text) {
            Some(duration) => Ok(Value::Duration(duration)),
            None => failed(format!("`{}` is no duration; it is written 1d, 2 weeks or 1M 4h", clipped(text))),
        },
        other => failed(format!("`duration` takes a text, not a {}", other.type_name())),
    }
}

fn number(value: &Value) -> Computed {
    match value {
        Value::Number(number) => Ok(Value::Number(*number)),
        Value::Bool(yes) => Ok(Value::Number(f64::from(u8::from(*yes)))),
        Value::Date(day) => Ok(Value::Number(day.at.instant() as f64)),
        Value::Duration(duration) => Ok(Value::Number(duration.total_milliseconds())),
        Value::Text(text) => match text_number(text) {
            Some(number) => Ok(Value::Number(number)),
            None => failed(format!("`{}` is no number", clipped(text))),
        },
        other => failed(format!("a {} is no number", other.type_name())),
    }
}

fn link(at: &Evaluator<'_>, target: &Value, display: Option<&Value>) -> Computed {
    let display = display.filter(|display| !matches!(display, Value::Null)).map(show);
    let made = match target {
        Value::Null => return Ok(Value::Null),
        Value::Link(link) => Link::clone(link),
        Value::File(path) => to_file(path),
        other => {
            let text = show(other);
            at.charge(8)?;
            at.wiki_link(&text, None).unwrap_or_else(|| at.link_to(&text, None))
        }
    };
    let display = display.or_else(|| made.display.clone());
    Ok(Value::Link(Arc::new(Link { display, ..made })))
}

/// A link to a file.
pub(crate) fn to_file(path: &crate::path::VaultPath) -> Link {
    Link { target: path.as_str().to_owned(), fragment: None, path: Some(path.clone()), display: None }
}

fn file(at: &Evaluator<'_>, value: &Value) -> Computed {
    at.charge(8)?;
    Ok(match value {
        Value::File(_) => value.clone(),
        Value::Link(link) => link.path.as_ref().map_or(Value::Null, Value::file),
        Value::Text(text) => {
            let link = at.wiki_link(text, None).unwrap_or_else(|| at.link_to(text, None));
            link.path.as_ref().map_or(Value::Null, Value::file)
        }
        Value::Null => Value::Null,
        other => return failed(format!("`file` takes a path, not a {}", other.type_name())),
    })
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn clipped(text: &str) -> String {
    text.chars().take(40).collect()
}
