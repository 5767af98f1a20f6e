//! What operators do between values, and how values are ordered and compared: JavaScript's ways, with dates, durations,
//! links and files besides. Where nothing stands on one side, arithmetic gives nothing and an order is never true.

use std::cmp::Ordering;

use super::ast::Operator;
use super::dates::{moved, parse_date, parse_duration};
use super::evaluate::{Computed, Evaluator, failed};
use super::show::{length, show, show_link};
use super::value::{Day, Value};
use crate::query::dql::collate;

/// `a operator b`.
pub(crate) fn apply(at: &Evaluator<'_>, operator: Operator, a: &Value, b: &Value) -> Computed {
    at.charge(1)?;
    match operator {
        Operator::Equal => equal(at, a, b).map(Value::Bool),
        Operator::Unequal => equal(at, a, b).map(|same| Value::Bool(!same)),
        Operator::Less => Ok(Value::Bool(order(at, a, b) == Some(Ordering::Less))),
        Operator::More => Ok(Value::Bool(order(at, a, b) == Some(Ordering::Greater))),
        Operator::LessOrEqual => Ok(Value::Bool(order(at, a, b).is_some_and(Ordering::is_le))),
        Operator::MoreOrEqual => Ok(Value::Bool(order(at, a, b).is_some_and(Ordering::is_ge))),
        Operator::Add => add(at, a, b),
        Operator::Subtract => subtract(operator, a, b),
        Operator::Multiply => multiply(operator, a, b),
        Operator::Divide => match (a, b) {
            (Value::Duration(duration), Value::Number(by)) => Ok(Value::Duration(duration.times(1.0 / by))),
            _ => numbers(operator, a, b, |a, b| a / b),
        },
        Operator::Remainder => numbers(operator, a, b, |a, b| a % b),
    }
}

/// `-a`.
pub(crate) fn negative(value: &Value) -> Computed {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Duration(duration) => Ok(Value::Duration(duration.times(-1.0))),
        other => match number(other) {
            Some(number) => Ok(Value::Number(-number)),
            None => failed(format!("`-` does not work on a {}", other.type_name())),
        },
    }
}

fn add(at: &Evaluator<'_>, a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Date(day), Value::Duration(by)) | (Value::Duration(by), Value::Date(day)) => {
            date(moved(day, by))
        }
        (Value::Date(day), Value::Text(text)) if parse_duration(text).is_some() => {
            date(parse_duration(text).and_then(|by| moved(day, &by)))
        }
        (Value::Duration(a), Value::Duration(b)) => Ok(Value::Duration(a.plus(b))),
        (Value::Duration(a), Value::Text(text)) if parse_duration(text).is_some() => {
            Ok(parse_duration(text).map_or(Value::Null, |b| Value::Duration(a.plus(&b))))
        }
        (Value::Date(_), Value::Null) | (Value::Null, Value::Date(_)) => Ok(Value::Null),
        (Value::Date(_), Value::Number(_) | Value::Bool(_))
        | (Value::Number(_) | Value::Bool(_), Value::Date(_)) => {
            failed("to a date a duration is added, e.g. `date + \"1d\"`")
        }
        (a, b) if is_textual(a) || is_textual(b) => {
            at.fits(length(a) + length(b))?;
            at.text(show(a) + &show(b))
        }
        (a, b) => numbers(Operator::Add, a, b, |a, b| a + b),
    }
}

fn subtract(operator: Operator, a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Date(a), Value::Date(b)) => Ok(Value::Number((a.at.instant() - b.at.instant()) as f64)),
        (Value::Date(day), Value::Duration(by)) => date(moved(day, &by.times(-1.0))),
        (Value::Date(day), Value::Text(text)) => match parse_duration(text) {
            Some(by) => date(moved(day, &by.times(-1.0))),
            None => failed(format!("`{}` is no duration; write e.g. \"1d\" or \"2 weeks\"", clipped(text))),
        },
        (Value::Duration(a), Value::Duration(b)) => Ok(Value::Duration(a.plus(&b.times(-1.0)))),
        _ => numbers(operator, a, b, |a, b| a - b),
    }
}

fn multiply(operator: Operator, a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Duration(duration), Value::Number(by)) => Ok(Value::Duration(duration.times(*by))),
        (Value::Number(_), Value::Duration(_)) => {
            failed("the duration must stand on the left: `duration(\"5h\") * 2`")
        }
        _ => numbers(operator, a, b, |a, b| a * b),
    }
}

fn date(day: Option<Day>) -> Computed {
    day.map_or_else(
        || failed("this date is outside of the years that dates have"),
        |day| Ok(Value::Date(day)),
    )
}

fn numbers(operator: Operator, a: &Value, b: &Value, compute: impl Fn(f64, f64) -> f64) -> Computed {
    if matches!(a, Value::Null) || matches!(b, Value::Null) {
        return Ok(Value::Null);
    }
    match (number(a), number(b)) {
        (Some(a), Some(b)) => Ok(Value::Number(compute(a, b))),
        _ => failed(format!(
            "`{}` does not work on a {} and a {}",
            operator.sign(),
            a.type_name(),
            b.type_name()
        )),
    }
}

/// A number, or what JavaScript takes for one; a text that is none is not a number.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        Value::Text(text) => Some(text_number(text).unwrap_or(f64::NAN)),
        _ => None,
    }
}

/// The number that a text says as a whole.
pub(crate) fn text_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let shaped = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
    if text.is_empty() || !shaped { None } else { text.parse().ok() }
}

fn is_textual(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(_) | Value::Number(_) | Value::Duration(_))
}

/// Whether two values are the same. Links and files are the same if they lead to the same file.
pub(crate) fn equal(at: &Evaluator<'_>, a: &Value, b: &Value) -> Computed<bool> {
    at.charge(1)?;
    Ok(match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::Number(_), Value::Text(_) | Value::Bool(_))
        | (Value::Text(_) | Value::Bool(_), Value::Number(_)) => number(a) == number(b),
        (Value::Date(a), Value::Date(b)) => a.at.instant() == b.at.instant(),
        (Value::Date(day), Value::Text(text)) | (Value::Text(text), Value::Date(day)) => {
            parse_date(text, &at.local).is_some_and(|other| other.at.instant() == day.at.instant())
        }
        (Value::Duration(a), Value::Duration(b)) => a.total_milliseconds() == b.total_milliseconds(),
        (Value::File(a), Value::File(b)) => a == b,
        (Value::Link(link), Value::File(file)) | (Value::File(file), Value::Link(link)) => {
            link.path.as_ref() == Some(file)
        }
        (Value::Link(a), Value::Link(b)) => match (&a.path, &b.path) {
            (Some(a), Some(b)) => a == b,
            (None, None) => a.target == b.target,
            _ => false,
        },
        (Value::Link(link), Value::Text(text)) | (Value::Text(text), Value::Link(link)) => {
            **text == show_link(link) || **text == link.target
        }
        (Value::List(a), Value::List(b)) => a.len() == b.len() && all_equal(at, a.iter().zip(b.iter()))?,
        (Value::Object(a), Value::Object(b)) => {
            let pairs = a.entries().iter().map(|(name, value)| (value, b.get(name)));
            let known: Option<Vec<(&Value, &Value)>> = pairs.map(|(a, b)| Some((a, b?))).collect();
            match known {
                Some(known) if a.entries().len() == b.entries().len() => all_equal(at, known.into_iter())?,
                _ => false,
            }
        }
        (Value::Pattern(a), Value::Pattern(b)) => a.source == b.source && a.flags == b.flags,
        (Value::Drawn(a), Value::Drawn(b)) => a == b,
        _ => false,
    })
}

fn all_equal<'v>(
    at: &Evaluator<'_>,
    mut pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
) -> Computed<bool> {
    pairs.try_fold(true, |same, (a, b)| Ok(same && equal(at, a, b)?))
}

/// How two values stand to each other, if they can be ordered.
fn order(at: &Evaluator<'_>, a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Date(a), Value::Date(b)) => Some(a.at.instant().cmp(&b.at.instant())),
        (Value::Date(day), Value::Text(text)) => {
            parse_date(text, &at.local).map(|other| day.at.instant().cmp(&other.at.instant()))
        }
        (Value::Text(text), Value::Date(day)) => {
            parse_date(text, &at.local).map(|other| other.at.instant().cmp(&day.at.instant()))
        }
        (Value::Duration(a), Value::Duration(b)) => {
            a.total_milliseconds().partial_cmp(&b.total_milliseconds())
        }
        (Value::Duration(a), Value::Number(b)) => a.total_milliseconds().partial_cmp(b),
        (Value::Number(a), Value::Duration(b)) => a.partial_cmp(&b.total_milliseconds()),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (a, b) => number(a)?.partial_cmp(&number(b)?),
    }
}

/// A total order for sorting: by kind, then within the kind; nothing comes last.
pub(crate) fn sort_order(a: &Value, b: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Bool(_) => 0,
        Value::Number(_) => 1,
        Value::Date(_) => 2,
        Value::Duration(_) => 3,
        Value::Null => 9,
        _ => 4,
    };
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
        (Value::Date(a), Value::Date(b)) => a.at.instant().cmp(&b.at.instant()),
        (Value::Duration(a), Value::Duration(b)) => a.total_milliseconds().total_cmp(&b.total_milliseconds()),
        (Value::Text(a), Value::Text(b)) => collate::compare(a, b),
        (a, b) if rank(a) == rank(b) && rank(a) == 4 => collate::compare(&sort_text(a), &sort_text(b)),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

/// What a value is sorted by: a link by the text that it shows.
fn sort_text(value: &Value) -> String {
    match value {
        Value::Link(link) => link.display.clone().unwrap_or_else(|| link.target.clone()),
        other => show(other),
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(40).collect()
}
