//! The body of a step as text that can be read again, whatever a model put into it.
//!
//! A JSON text is read only if its lists and maps lie at most 128 deep in each other, and a step adds a few to what came
//! from outside. So a body that lies too deep is kept in layers: what is below a depth becomes a text of its own, in the
//! place of what it stands for. Such a text begins with [`LAYERED`], which no JSON does.

use serde_json::{Map, Value};

use crate::db::Fault;
use crate::error::Error;

/// The longest text of one step, in bytes.
pub const LARGEST: usize = 64 * 1024 * 1024;

/// How deep the lists and maps of a body may lie in each other: more than any text that is read has, and far less than a
/// stack holds.
pub const DEEPEST: usize = 300;

/// How deep one layer is.
const LAYER: usize = 100;

/// The sign in front of a text in layers, and in front of the name that stands for a layer.
const LAYERED: char = '\u{1}';

/// A body as text.
pub fn write(body: &Value) -> Result<String, Error> {
    let text = match depth(body) {
        0..=LAYER => body.to_string(),
        deep if deep > DEEPEST => {
            return Err(unfit(format!("its lists and maps lie more than {DEEPEST} deep in each other")));
        }
        _ => format!("{LAYERED}{}", fold(body, 0)),
    };
    fit(&text)?;
    Ok(text)
}

/// Refuses a text that is too long.
pub fn fit(text: &str) -> Result<(), Error> {
    match text.len() {
        0..=LARGEST => Ok(()),
        bytes => Err(unfit(format!("it has {bytes} bytes, and {LARGEST} is the most"))),
    }
}

fn unfit(why: String) -> Error {
    Error::Unfit { what: "the step", why }
}

/// The body of a text.
pub fn read(text: &str, number: u64) -> Result<Value, Fault> {
    let read = match text.strip_prefix(LAYERED) {
        Some(layers) => serde_json::from_str(layers).and_then(unfold),
        None => serde_json::from_str(text),
    };
    read.map_err(|error| Fault::Damage(format!("step {number} is no JSON: {error}")))
}

/// How many lists and maps lie in each other, a plain value counted as one. Level by level, so that a deep value does not
/// need a deep stack.
fn depth(value: &Value) -> usize {
    let mut level: Vec<&Value> = vec![value];
    let mut depth = 0;
    while !level.is_empty() && depth <= DEEPEST {
        let mut below = Vec::new();
        for value in level {
            match value {
                Value::Array(items) => below.extend(items),
                Value::Object(fields) => below.extend(fields.values()),
                _ => {}
            }
        }
        level = below;
        depth += 1;
    }
    depth
}

/// The same with everything below a layer as text: a map with one name, the sign. A name that begins with the sign already
/// gets another one.
fn fold(value: &Value, depth: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if depth == LAYER => {
            let below = Value::String(fold(value, 0).to_string());
            Value::Object(Map::from_iter([(LAYERED.to_string(), below)]))
        }
        Value::Array(items) => items.iter().map(|item| fold(item, depth + 1)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let sign = if name.starts_with(LAYERED) { LAYERED.to_string() } else { String::new() };
                (sign + name, fold(value, depth + 1))
            });
            Value::Object(fields.collect())
        }
        plain => plain.clone(),
    }
}

fn unfold(value: Value) -> Result<Value, serde_json::Error> {
    match value {
        Value::Array(items) => items.into_iter().map(unfold).collect(),
        Value::Object(fields) => {
            if let (1, Some(Value::String(below))) = (fields.len(), fields.get(&LAYERED.to_string())) {
                return unfold(serde_json::from_str(below)?);
            }
            let unsigned = |name: String| name.strip_prefix(LAYERED).map(str::to_owned).unwrap_or(name);
            fields.into_iter().map(|(name, value)| Ok((unsigned(name), unfold(value)?))).collect()
        }
        plain => Ok(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn comes_back(body: &Value) {
        let text = write(body).unwrap();
        assert_eq!(&read(&text, 1).unwrap(), body);
        assert_eq!(read(&text, 1).unwrap().to_string(), body.to_string(), "in the same order");
    }

    fn nested(depth: usize, inmost: Value) -> Value {
        (0..depth).fold(inmost, |inner, level| match level % 3 {
            0 => json!([inner, level]),
            1 => json!({"z": level, "a": inner}),
            _ => json!({"\u{1}": inner}),
        })
    }

    #[test]
    fn a_body_of_any_depth_comes_back() {
        for depth in [0, 1, 98, 99, 100, 101, 126, 127, 128, 129, 199, 200, 201, 202, 298, 299] {
            comes_back(&nested(depth, json!("inmost")));
            comes_back(&nested(depth, json!({})));
        }
    }

    #[test]
    fn names_that_look_like_our_own_sign_come_back() {
        for odd in [
            json!({"\u{1}": "[1"}),
            json!({"\u{1}\u{1}": "x", "\u{1}json": [{"\u{1}": {}}]}),
            json!("\u{1}[]"),
        ] {
            comes_back(&odd);
            comes_back(&nested(150, odd));
        }
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        assert!(matches!(write(&nested(300, json!(1))), Err(Error::Unfit { .. })));
    }
}
