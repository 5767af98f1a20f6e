//! Functions on texts. Lengths and places count UTF-16 units, as in the notes' own plugins.

use crate::query::dql::evaluate::{Evaluator, Fault};
use crate::query::dql::pattern;
use crate::query::dql::text::{unit_slice, units};
use crate::query::dql::value::Value;

pub(super) fn apply(at: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, Fault> {
    if let Some(found) = with_null(name, arguments) {
        return Ok(Some(found));
    }
    if let [Value::Text(text), ..] = arguments {
        at.charge(text.len() / 16)?;
    }
    Ok(Some(match (name, arguments) {
        ("lower", [Value::Text(text)]) => Value::from(text.to_lowercase()),
        ("upper", [Value::Text(text)]) => Value::from(text.to_uppercase()),
        ("replace", [Value::Text(text), Value::Text(old), Value::Text(new)]) => {
            at.charge(grown(text.len(), text.matches(&**old).count(), new.len()))?;
            Value::from(replace(text, old, new))
        }
        ("regextest", [Value::Text(pattern), Value::Text(text)]) => {
            Value::Bool(at.pattern(pattern, pattern::compile)?.is_match(text))
        }
        ("regexmatch", [Value::Text(pattern), Value::Text(text)]) => {
            let anchored = pattern.starts_with('^') || pattern.ends_with('$');
            let pattern = if anchored { pattern.to_string() } else { format!("^{pattern}$") };
            Value::Bool(at.pattern(&pattern, pattern::compile)?.is_match(text))
        }
        ("regexreplace", [Value::Text(text), Value::Text(pattern), Value::Text(new)]) => {
            let pattern = at.pattern(pattern, pattern::compile)?;
            at.charge(grown(text.len(), pattern.find_iter(text).count(), new.len() + text.len()))?;
            Value::from(pattern::replace_all(&pattern, text, new))
        }
        ("split", [Value::Text(text), Value::Text(pattern)]) => split(at, text, pattern, f64::INFINITY)?,
        ("split", [Value::Text(text), Value::Text(pattern), Value::Number(most)]) => {
            split(at, text, pattern, *most)?
        }
        ("startswith", [Value::Text(text), Value::Text(start)]) => Value::Bool(text.starts_with(&**start)),
        ("endswith", [Value::Text(text), Value::Text(end)]) => Value::Bool(text.ends_with(&**end)),
        ("containsword", [Value::Text(text), Value::Text(word)]) => Value::Bool(has_word(at, text, word)?),
        ("padleft" | "padright", [Value::Text(text), Value::Number(length)]) => {
            pad(at, name, text, *length, " ")?
        }
        ("padleft" | "padright", [Value::Text(text), Value::Number(length), Value::Text(with)]) => {
            pad(at, name, text, *length, with)?
        }
        ("substring", [Value::Text(text), Value::Number(start)]) => substring(text, *start, f64::INFINITY),
        ("substring", [Value::Text(text), Value::Number(start), Value::Number(end)]) => {
            substring(text, *start, *end)
        }
        ("truncate", [Value::Text(text), Value::Number(length)]) => truncate(text, *length, "..."),
        ("truncate", [Value::Text(text), Value::Number(length), Value::Text(suffix)]) => {
            truncate(text, *length, suffix)
        }
        _ => return Ok(None),
    }))
}

/// What a null among the arguments gives; most functions give null, tests of a pattern give false.
fn with_null(name: &str, arguments: &[Value]) -> Option<Value> {
    let takes = match name {
        "lower" | "upper" => 1..=1,
        "startswith" | "endswith" | "containsword" | "regextest" | "regexmatch" => 2..=2,
        "replace" | "regexreplace" => 3..=3,
        _ => 2..=3,
    };
    if !takes.contains(&arguments.len()) || !arguments.iter().any(Value::is_null) {
        return None;
    }
    let tested = matches!(name, "regextest" | "regexmatch");
    Some(if tested { Value::Bool(false) } else { Value::Null })
}

fn grown(length: usize, times: usize, by: usize) -> usize {
    length.saturating_add(times.saturating_mul(by))
}

/// An empty text stands between all characters, as in JavaScript's split and join.
fn replace(text: &str, old: &str, new: &str) -> String {
    if old.is_empty() {
        let parts: Vec<String> = text.chars().map(String::from).collect();
        return parts.join(new);
    }
    text.replace(old, new)
}

fn split(at: &Evaluator<'_>, text: &str, pattern: &str, most: f64) -> Result<Value, Fault> {
    let parts = pattern::split(&*at.pattern(pattern, pattern::compile)?, text);
    at.charge(parts.len())?;
    let most = if most < 0.0 { usize::MAX } else { most as usize };
    Ok(Value::list(parts.into_iter().take(most).map(Value::from).collect()))
}

fn has_word(at: &Evaluator<'_>, text: &str, word: &str) -> Result<bool, Fault> {
    let pattern = format!("(?i:{}(?-u:\\b){}(?-u:\\b))", "", regex::escape(word));
    Ok(at.pattern(&pattern, |pattern| regex::Regex::new(pattern).ok())?.is_match(text))
}

fn pad(at: &Evaluator<'_>, name: &str, text: &str, length: f64, with: &str) -> Result<Value, Fault> {
    let missing = if length > 0.0 { (length as usize).saturating_sub(units(text)) } else { 0 };
    if missing == 0 || with.is_empty() {
        return Ok(Value::from(text));
    }
    at.charge(missing)?;
    let width = units(with);
    let filling = with.repeat(missing / width) + &unit_slice(with, 0, missing % width);
    Ok(Value::from(match name {
        "padleft" => filling + text,
        _ => text.to_owned() + &filling,
    }))
}

fn substring(text: &str, start: f64, end: f64) -> Value {
    let length = units(text);
    let place = |number: f64| if number > 0.0 { (number as usize).min(length) } else { 0 };
    let (start, end) = (place(start), place(end));
    Value::from(unit_slice(text, start.min(end), start.max(end)))
}

fn truncate(text: &str, length: f64, suffix: &str) -> Value {
    let kept = length - units(suffix) as f64;
    if units(text) as f64 <= kept {
        return Value::from(text);
    }
    let kept = if kept > 0.0 { kept as usize } else { 0 };
    Value::from(unit_slice(text, 0, kept) + suffix)
}
