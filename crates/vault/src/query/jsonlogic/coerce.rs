//! What JavaScript makes of a value where it needs a number, a text or a yes.

use std::cmp::Ordering;

use serde_json::Value as Json;

use crate::query::dql::show::show_number;

/// JSONLogic's own truth: empty lists are false.
pub(super) fn is_truthy(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(yes) => *yes,
        Json::Number(number) => number.as_f64().is_some_and(|number| number != 0.0 && !number.is_nan()),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(_) => true,
    }
}

pub(super) fn to_text(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(yes) => yes.to_string(),
        Json::Number(number) => show_number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => text.clone(),
        Json::Array(items) => joined(items, ","),
        Json::Object(_) => "[object Object]".to_owned(),
    }
}

/// As `join` does: nothing for null.
pub(super) fn joined(items: &[Json], between: &str) -> String {
    let text = |item: &Json| if item.is_null() { String::new() } else { to_text(item) };
    items.iter().map(text).collect::<Vec<_>>().join(between)
}

pub(super) fn to_number(value: &Json) -> f64 {
    match value {
        Json::Null => 0.0,
        Json::Bool(yes) => f64::from(u8::from(*yes)),
        Json::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        Json::String(text) => text_to_number(text.trim()),
        Json::Array(_) => text_to_number(&to_text(value)),
        Json::Object(_) => f64::NAN,
    }
}

fn text_to_number(text: &str) -> f64 {
    if text.is_empty() {
        return 0.0;
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).map_or(f64::NAN, |number| number as f64);
    }
    let plain =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'));
    if plain { text.parse().unwrap_or(f64::NAN) } else { f64::NAN }
}

/// The number at the start of a text.
pub(super) fn parse_float(value: &Json) -> f64 {
    if let Json::Number(number) = value {
        return number.as_f64().unwrap_or(f64::NAN);
    }
    let text = to_text(value);
    let text = text.trim_start();
    let fits = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    let longest = text.bytes().take(400).take_while(fits).count();
    (1..=longest).rev().find_map(|end| text[..end].parse::<f64>().ok()).unwrap_or(f64::NAN)
}

/// A number as JSON; what is none in JSON is null.
pub(super) fn number(number: f64) -> Json {
    if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
        return Json::from(number as i64);
    }
    serde_json::Number::from_f64(number).map_or(Json::Null, Json::Number)
}

/// `===`; lists and objects are never the same.
pub(super) fn strictly_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
        (Json::Array(_) | Json::Object(_), _) => false,
        _ => a == b,
    }
}

/// `==`.
pub(super) fn loosely_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::Null, _) | (_, Json::Null) => false,
        (Json::Array(_) | Json::Object(_), Json::Array(_) | Json::Object(_)) => false,
        (Json::String(a), Json::String(b)) => a == b,
        (Json::Array(_) | Json::Object(_), Json::String(text))
        | (Json::String(text), Json::Array(_) | Json::Object(_)) => {
            let other = if matches!(a, Json::String(_)) { b } else { a };
            to_text(other) == *text
        }
        _ => to_number(a) == to_number(b),
    }
}

/// How `<` sees two values; nothing if they cannot be compared.
pub(super) fn order(a: &Json, b: &Json) -> Option<Ordering> {
    let is_text = |value: &Json| matches!(value, Json::String(_) | Json::Array(_) | Json::Object(_));
    if is_text(a) && is_text(b) {
        return Some(to_text(a).encode_utf16().cmp(to_text(b).encode_utf16()));
    }
    to_number(a).partial_cmp(&to_number(b))
}
