//! The operators whose arguments are computed first.

use serde_json::Value as Json;

use super::coerce::{
    is_truthy, joined, loosely_equal, number, order, parse_float, strictly_equal, to_number, to_text,
};
use super::{Logic, LogicError};
use crate::query::dql::text::{unit_slice, units};

const KNOWN: &str = "var missing missing_some if ?: == === != !== ! !! or and > >= < <= max min + - * / % map filter \
                     reduce all none some merge in cat substr log glob regexp";

/// What copying a value costs, in steps.
pub(super) fn weight(value: &Json) -> usize {
    match value {
        Json::String(text) => 1 + text.len() / 16,
        Json::Array(items) => items.iter().fold(1, |sum, item| sum.saturating_add(weight(item))),
        Json::Object(map) => map.values().fold(1, |sum, item| sum.saturating_add(weight(item))),
        _ => 1,
    }
}

pub(super) fn apply(at: &Logic, name: &str, values: &[Json], data: &Json) -> Result<Json, LogicError> {
    // Before the work is done: what is made is never larger than what goes in and what was looked up.
    at.charge(values.iter().map(weight).sum())?;
    let found = compute(at, name, values, data)?;
    if name == "var" {
        at.charge(weight(&found))?;
    }
    Ok(found)
}

fn compute(at: &Logic, name: &str, values: &[Json], data: &Json) -> Result<Json, LogicError> {
    let value = |place: usize| values.get(place).unwrap_or(&Json::Null);
    let (a, b) = (value(0), value(1));
    let numbers = || values.iter().map(to_number);
    Ok(match name {
        "var" => variable(a, b, data),
        "missing" => Json::Array(missing(values, data)),
        "missing_some" => missing_some(a, b, data),
        "==" => Json::Bool(loosely_equal(a, b)),
        "!=" => Json::Bool(!loosely_equal(a, b)),
        "===" => Json::Bool(strictly_equal(a, b)),
        "!==" => Json::Bool(!strictly_equal(a, b)),
        "!" => Json::Bool(!is_truthy(a)),
        "!!" => Json::Bool(is_truthy(a)),
        "<" | "<=" | ">" | ">=" => Json::Bool(compared(name, values)),
        "+" => number(values.iter().map(parse_float).sum()),
        "*" if values.len() == 1 => a.clone(),
        "*" => number(values.iter().map(parse_float).product()),
        "-" if values.len() < 2 => number(-to_number(a)),
        "-" => number(to_number(a) - to_number(b)),
        "/" => number(to_number(a) / to_number(b)),
        "%" => number(to_number(a) % to_number(b)),
        "max" => number(numbers().fold(f64::NEG_INFINITY, larger)),
        "min" => number(-numbers().map(|number| -number).fold(f64::NEG_INFINITY, larger)),
        "merge" => Json::Array(merged(values)),
        "in" => Json::Bool(contains(a, b)),
        "cat" => Json::String(joined(values, "")),
        "substr" => Json::String(substring(a, b, values.get(2))),
        "log" => a.clone(),
        "glob" => Json::Bool(glob(a, b)),
        "regexp" => match (a, b) {
            (Json::String(pattern), Json::String(text)) => Json::Bool(at.pattern(pattern)?.is_match(text)),
            _ => Json::Bool(false),
        },
        _ => {
            let (name, place) = (name.to_owned(), super::Place::default());
            return Err(LogicError::UnknownOperator { name, known: KNOWN, place });
        }
    })
}

/// Any number that is none makes the whole none.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn compared(name: &str, values: &[Json]) -> bool {
    let holds = |a: &Json, b: &Json| match (name, order(a, b)) {
        (_, None) => false,
        ("<", Some(order)) => order.is_lt(),
        ("<=", Some(order)) => order.is_le(),
        (">", Some(order)) => order.is_gt(),
        (_, Some(order)) => order.is_ge(),
    };
    match values {
        // Three values of `<` and `<=` mean between.
        [a, b, c] if name.starts_with('<') => holds(a, b) && holds(b, c),
        [a, b, ..] => holds(a, b),
        _ => false,
    }
}

fn variable(name: &Json, otherwise: &Json, data: &Json) -> Json {
    if name.is_null() || name.as_str() == Some("") {
        return data.clone();
    }
    let mut here = data;
    for part in to_text(name).split('.') {
        let next = match here {
            Json::Object(map) => map.get(part),
            Json::Array(items) => part.parse::<usize>().ok().and_then(|place| items.get(place)),
            _ => None,
        };
        match next {
            Some(next) => here = next,
            None => return otherwise.clone(),
        }
    }
    here.clone()
}

fn missing(values: &[Json], data: &Json) -> Vec<Json> {
    let keys = match values.first() {
        Some(Json::Array(keys)) => keys,
        _ => values,
    };
    let is_missing = |key: &&Json| match variable(key, &Json::Null, data) {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        _ => false,
    };
    keys.iter().filter(is_missing).cloned().collect()
}

fn missing_some(needed: &Json, keys: &Json, data: &Json) -> Json {
    let keys = keys.as_array().map(Vec::as_slice).unwrap_or_default();
    let absent = missing(&[Json::Array(keys.to_vec())], data);
    let enough = (keys.len() - absent.len()) as f64 >= to_number(needed);
    Json::Array(if enough { Vec::new() } else { absent })
}

fn merged(values: &[Json]) -> Vec<Json> {
    let mut out = Vec::new();
    for value in values {
        match value {
            Json::Array(items) => out.extend(items.iter().cloned()),
            other => out.push(other.clone()),
        }
    }
    out
}

fn contains(needle: &Json, hay: &Json) -> bool {
    match hay {
        Json::String(text) => text.contains(&to_text(needle)),
        Json::Array(items) => items.iter().any(|item| strictly_equal(needle, item)),
        _ => false,
    }
}

fn substring(text: &Json, start: &Json, length: Option<&Json>) -> String {
    let text = to_text(text);
    let whole = units(&text);
    let from_end = |number: f64| if number < 0.0 { (whole as f64 + number).max(0.0) } else { number };
    let start = (from_end(to_number(start)) as usize).min(whole);
    let end = match length.map(to_number) {
        None => whole,
        Some(length) if length < 0.0 => whole.saturating_sub(-length as usize),
        Some(length) => start.saturating_add(length as usize).min(whole),
    };
    unit_slice(&text, start, end)
}

/// `*` and `**` stand for anything. The pattern comes first; where only the second has a star, that one is it.
fn glob(a: &Json, b: &Json) -> bool {
    let (Json::String(a), Json::String(b)) = (a, b) else { return false };
    let (pattern, text) = if !a.contains('*') && b.contains('*') { (b, a) } else { (a, b) };
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return pattern == text };
    let inner = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
    inner.is_some_and(|inner| in_order(inner, middle))
}

/// Whether the parts stand in the text one behind the other.
fn in_order(mut text: &str, parts: &[&str]) -> bool {
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    true
}
