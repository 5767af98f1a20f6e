//! Functions on lists and objects.

use crate::query::dql::compare::is_truthy;
use crate::query::dql::evaluate::{Evaluator, Fault};
use crate::query::dql::show::show;
use crate::query::dql::text::units;
use crate::query::dql::value::{Lambda, Value};

pub(super) fn apply(at: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, Fault> {
    Ok(Some(match (name, arguments) {
        ("contains" | "icontains" | "econtains", [hay, needle]) => {
            Value::Bool(contains(at, name, hay, needle)?)
        }
        ("all" | "any" | "none", _) => Value::Bool(quantified(at, name, arguments)?),
        ("map", [Value::List(list), Value::Function(by)]) => Value::list(mapped(at, list, by)?),
        ("filter", [Value::List(list), Value::Function(by)]) => {
            let kept = mapped(at, list, by)?;
            let kept = list.iter().zip(&kept).filter(|(_, keep)| is_truthy(keep));
            Value::list(kept.map(|(value, _)| value.clone()).collect())
        }
        ("map" | "filter", [Value::Null, _]) => Value::Null,
        ("sort", [Value::List(list)]) => Value::list(sorted(at, list, list)?),
        ("sort", [Value::List(list), Value::Function(by)]) => {
            Value::list(sorted(at, list, &mapped(at, list, by)?)?)
        }
        ("unique", [Value::List(list)]) => unique(at, list)?,
        ("reverse", [Value::List(list)]) => Value::list(list.iter().rev().cloned().collect()),
        ("reverse", [Value::Text(text)]) => Value::from(text.chars().rev().collect::<String>()),
        ("sort" | "reverse", [other]) => other.clone(),
        ("length", [Value::List(list)]) => Value::Number(list.len() as f64),
        ("length", [Value::Object(object)]) => Value::Number(object.len() as f64),
        ("length", [Value::Text(text)]) => Value::Number(units(text) as f64),
        ("length", [Value::Null]) => Value::Number(0.0),
        ("nonnull", [Value::List(list)]) => not_null(list),
        ("nonnull", values) => not_null(values),
        ("firstvalue", [Value::List(list)]) => {
            list.iter().find(|value| !value.is_null()).cloned().unwrap_or_default()
        }
        ("join", [Value::List(list)]) => joined(at, list, ", ")?,
        ("join", [Value::List(list), Value::Text(between)]) => joined(at, list, between)?,
        ("join", [other] | [other, Value::Text(_)]) => Value::from(show(other)),
        ("flat", [Value::List(list)]) => flat(at, list, 1.0)?,
        ("flat", [Value::List(list), Value::Number(depth)]) => flat(at, list, *depth)?,
        ("slice", [Value::List(list)]) => slice(list, 0.0, f64::INFINITY),
        ("slice", [Value::List(list), Value::Number(start)]) => slice(list, *start, f64::INFINITY),
        ("slice", [Value::List(list), Value::Number(start), Value::Number(end)]) => slice(list, *start, *end),
        ("unique" | "firstvalue" | "flat" | "slice", [Value::Null]) => Value::Null,
        _ => return Ok(None),
    }))
}

fn mapped(at: &Evaluator<'_>, list: &[Value], by: &Lambda) -> Result<Vec<Value>, Fault> {
    list.iter().map(|value| at.call(by, vec![value.clone()])).collect()
}

fn not_null(values: &[Value]) -> Value {
    Value::list(values.iter().filter(|value| !value.is_null()).cloned().collect())
}

fn contains(at: &Evaluator<'_>, name: &str, hay: &Value, needle: &Value) -> Result<bool, Fault> {
    at.charge(1)?;
    Ok(match (hay, needle) {
        (Value::List(list), _) => {
            for value in list.iter() {
                let found = match name {
                    "econtains" => at.compare(value, needle).is_eq(),
                    _ => contains(at, name, value, needle)?,
                };
                at.charge(1)?;
                if found {
                    return Ok(true);
                }
            }
            false
        }
        (Value::Text(text), Value::Text(part)) if name == "icontains" => {
            text.to_lowercase().contains(&part.to_lowercase())
        }
        (Value::Text(text), Value::Text(part)) => text.contains(&**part),
        (Value::Object(object), Value::Text(key)) if name == "icontains" => {
            object.has(key) || object.iter().any(|(name, _)| name.to_lowercase() == key.to_lowercase())
        }
        (Value::Object(object), Value::Text(key)) => object.has(key),
        _ => at.compare(hay, needle).is_eq(),
    })
}

fn quantified(at: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Result<bool, Fault> {
    let computed;
    let values: &[Value] = match arguments {
        [Value::List(list), Value::Function(by)] => {
            computed = mapped(at, list, by)?;
            &computed
        }
        [Value::List(list)] => list,
        others => others,
    };
    Ok(match name {
        "all" => values.iter().all(is_truthy),
        "any" => values.iter().any(is_truthy),
        _ => !values.iter().any(is_truthy),
    })
}

/// The list in the order of the keys.
fn sorted(at: &Evaluator<'_>, list: &[Value], keys: &[Value]) -> Result<Vec<Value>, Fault> {
    at.charge(list.len() * 8)?;
    let mut places: Vec<usize> = (0..list.len()).collect();
    places.sort_by(|a, b| at.sort_order(&keys[*a], &keys[*b]));
    Ok(places.into_iter().map(|place| list[place].clone()).collect())
}

fn unique(at: &Evaluator<'_>, list: &[Value]) -> Result<Value, Fault> {
    let mut out = sorted(at, list, list)?;
    out.dedup_by(|next, known| at.compare(known, next).is_eq());
    Ok(Value::list(out))
}

fn joined(at: &Evaluator<'_>, list: &[Value], between: &str) -> Result<Value, Fault> {
    let parts: Vec<String> = list.iter().map(show).collect();
    let text = parts.join(between);
    at.charge(text.len())?;
    Ok(Value::from(text))
}

fn flat(at: &Evaluator<'_>, list: &[Value], depth: f64) -> Result<Value, Fault> {
    let mut out: Vec<Value> = list.to_vec();
    let mut left = if depth > 0.0 { depth } else { 0.0 };
    while left >= 1.0 && out.iter().any(|value| matches!(value, Value::List(_))) {
        at.charge(out.len())?;
        let mut next = Vec::with_capacity(out.len());
        for value in out {
            match value {
                Value::List(inner) => next.extend(inner.iter().cloned()),
                other => next.push(other),
            }
        }
        out = next;
        left -= 1.0;
    }
    at.charge(out.len())?;
    Ok(Value::list(out))
}

fn slice(list: &[Value], start: f64, end: f64) -> Value {
    let length = list.len() as f64;
    let place = |number: f64| {
        let number = number.trunc();
        let number = if number < 0.0 { (length + number).max(0.0) } else { number.min(length) };
        number as usize
    };
    Value::list(list.get(place(start)..place(end)).unwrap_or_default().to_vec())
}
