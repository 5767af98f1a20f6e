//! The methods of texts. Places and lengths are counted in UTF-16 units, as JavaScript does.

use super::super::evaluate::{Computed, Evaluator, failed};
use super::super::show::show;
use super::super::value::Value;
use super::no_method;
use crate::query::dql::pattern;
use crate::query::dql::text::{unit_slice, units};

/// Calls a method of a text.
pub(super) fn call(at: &Evaluator<'_>, text: &str, name: &str, arguments: &[Value]) -> Computed {
    at.charge(text.len() / 16)?;
    let first = arguments.first();
    let shown = |value: &Value| show(value);
    let holds = |value: &Value| !matches!(value, Value::Null) && text.contains(&show(value));
    match name {
        "contains" => Ok(Value::Bool(first.is_some_and(holds))),
        "containsAll" => Ok(Value::Bool(arguments.iter().all(holds))),
        "containsAny" => Ok(Value::Bool(arguments.iter().any(holds))),
        "startsWith" => Ok(Value::Bool(first.map(shown).is_some_and(|start| text.starts_with(&start)))),
        "endsWith" => Ok(Value::Bool(first.map(shown).is_some_and(|end| text.ends_with(&end)))),
        "lower" => at.text(text.to_lowercase()),
        "title" => at.text(title(text)),
        "trim" => at.text(text.trim()),
        "reverse" => at.text(text.chars().rev().collect::<String>()),
        "repeat" => repeat(at, text, first),
        "replace" => replace(at, text, first, arguments.get(1)),
        "slice" => {
            let (start, end) = bounds(units(text), first, arguments.get(1));
            at.text(unit_slice(text, start, end))
        }
        "split" => split(at, text, first, arguments.get(1)),
        _ => no_method(&Value::text(text), name),
    }
}

/// Where a slice starts and ends; negative places count from the end.
pub(super) fn bounds(length: usize, start: Option<&Value>, end: Option<&Value>) -> (usize, usize) {
    let place = |value: Option<&Value>, without: usize| match value {
        Some(Value::Number(number)) if number.is_nan() => 0,
        Some(Value::Number(number)) if *number < 0.0 => length.saturating_sub((-number) as usize),
        Some(Value::Number(number)) => (*number as usize).min(length),
        _ => without,
    };
    let start = place(start, 0);
    (start, place(end, length).max(start))
}

fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        let letter = c.is_alphanumeric() || matches!(c, '\'' | '’');
        if letter && !inside {
            out.extend(c.to_uppercase());
        } else {
            out.push(c);
        }
        inside = letter;
    }
    out
}

fn repeat(at: &Evaluator<'_>, text: &str, count: Option<&Value>) -> Computed {
    let count = match count {
        Some(Value::Number(count)) if *count >= 0.0 => *count as usize,
        _ => return failed("`repeat` takes a number that is not negative"),
    };
    at.fits(text.len().saturating_mul(count))?;
    at.text(text.repeat(if text.is_empty() { 0 } else { count }))
}

fn replace(at: &Evaluator<'_>, text: &str, wanted: Option<&Value>, by: Option<&Value>) -> Computed {
    let by = by.map(show).unwrap_or_default();
    let matches = match wanted {
        Some(Value::Pattern(pattern)) => {
            at.charge(text.len())?;
            pattern.regex.find_iter(text).take(if pattern.is_global() { usize::MAX } else { 1 }).count()
        }
        Some(wanted) => text.matches(&show(wanted)).count(),
        None => 0,
    };
    // A group may put the whole text in for each `$`.
    let grows = by.len().saturating_add(by.matches('$').count().saturating_mul(text.len()));
    at.fits(text.len().saturating_add(matches.saturating_mul(grows)))?;
    match wanted {
        Some(Value::Pattern(pattern)) if pattern.is_global() => {
            at.text(pattern::replace_all(&pattern.regex, text, &by))
        }
        Some(Value::Pattern(pattern)) => at.text(pattern::replace_first(&pattern.regex, text, &by)),
        Some(wanted) => at.text(text.replace(&show(wanted), &by)),
        None => at.text(text),
    }
}

fn split(at: &Evaluator<'_>, text: &str, by: Option<&Value>, most: Option<&Value>) -> Computed {
    at.charge(text.len())?;
    let mut parts: Vec<String> = match by {
        Some(Value::Pattern(pattern)) => pattern::split(&pattern.regex, text),
        Some(by) => match show(by).as_str() {
            "" => text.chars().map(String::from).collect(),
            by => text.split(by).map(str::to_owned).collect(),
        },
        None => vec![text.to_owned()],
    };
    if let Some(Value::Number(most)) = most {
        parts.truncate(most.max(0.0) as usize);
    }
    at.list(parts.into_iter().map(Value::text).collect())
}
