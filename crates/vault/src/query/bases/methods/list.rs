//! The methods of lists. `filter`, `map` and `reduce` take an expression, which sees `value`, `index` and `acc`.

use std::collections::HashSet;

use super::super::ast::Expression;
use super::super::evaluate::{Computed, Evaluator, Scope};
use super::super::operators::{equal, sort_order};
use super::super::show::{length, show};
use super::super::value::{List, Value};
use super::no_method;
use super::text::bounds;

/// Calls a method of a list.
pub(super) fn call(
    at: &Evaluator<'_>,
    list: &List,
    name: &'static str,
    arguments: &[Expression],
    scope: Scope<'_>,
) -> Computed {
    at.charge(list.len() / 4)?;
    match (name, arguments) {
        ("filter", [test]) => return filter(at, list, test, scope),
        ("map", [each]) => return map(at, list, each, scope),
        ("reduce", [each, rest @ ..]) => return reduce(at, list, each, rest.first(), scope),
        _ => {}
    }
    let arguments = at.all(arguments, scope)?;
    let holds = |wanted: &Value| contains(at, list, wanted);
    match name {
        "contains" => Ok(Value::Bool(holds(arguments.first().unwrap_or(&Value::Null))?)),
        "containsAll" => {
            let all = arguments.iter().try_fold(true, |all, wanted| Ok(all && holds(wanted)?));
            all.map(Value::Bool)
        }
        "containsAny" => {
            let any = arguments.iter().try_fold(false, |any, wanted| Ok(any || holds(wanted)?));
            any.map(Value::Bool)
        }
        "flat" => flat(at, list),
        "join" => join(at, list, arguments.first()),
        "mean" => Ok(mean(list)),
        "reverse" => at.list(list.iter().rev().cloned().collect()),
        "slice" => {
            let (start, end) = bounds(list.len(), arguments.first(), arguments.get(1));
            at.list(list.get(start..end).unwrap_or_default().to_vec())
        }
        "sort" => {
            at.charge(list.len().saturating_mul(16))?;
            let mut items = list.to_vec();
            items.sort_by(sort_order);
            at.list(items)
        }
        "unique" => unique(at, list),
        _ => no_method(&Value::list(Vec::new()), name),
    }
}

fn contains(at: &Evaluator<'_>, list: &List, wanted: &Value) -> Computed<bool> {
    for item in list.iter() {
        if equal(at, item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn filter(at: &Evaluator<'_>, list: &List, test: &Expression, scope: Scope<'_>) -> Computed {
    let mut out = Vec::new();
    for (index, item) in list.iter().enumerate() {
        if at.evaluate(test, Scope { item: Some(item), index, ..scope })?.is_truthy() {
            out.push(item.clone());
        }
    }
    at.list(out)
}

fn map(at: &Evaluator<'_>, list: &List, each: &Expression, scope: Scope<'_>) -> Computed {
    let mut out = Vec::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        out.push(at.evaluate(each, Scope { item: Some(item), index, ..scope })?);
    }
    at.list(out)
}

fn reduce(
    at: &Evaluator<'_>,
    list: &List,
    each: &Expression,
    start: Option<&Expression>,
    scope: Scope<'_>,
) -> Computed {
    let mut sum = start.map_or(Ok(Value::Null), |start| at.evaluate(start, scope))?;
    for (index, item) in list.iter().enumerate() {
        sum = at.evaluate(each, Scope { item: Some(item), index, sum: Some(&sum), ..scope })?;
    }
    Ok(sum)
}

/// Lists in the list are laid open, one level deep as in JavaScript.
fn flat(at: &Evaluator<'_>, list: &List) -> Computed {
    let inner = |item: &Value| if let Value::List(inner) = item { inner.len() } else { 1 };
    at.charge(list.iter().map(inner).sum())?;
    let mut out = Vec::new();
    for item in list.iter() {
        match item {
            Value::List(inner) => out.extend(inner.iter().cloned()),
            other => out.push(other.clone()),
        }
    }
    at.list(out)
}

fn join(at: &Evaluator<'_>, list: &List, by: Option<&Value>) -> Computed {
    let by = by.map_or_else(|| ",".to_owned(), show);
    at.fits(list.iter().map(|item| length(item) + by.len()).sum())?;
    at.text(list.iter().map(show).collect::<Vec<_>>().join(&by))
}

/// The mean of the numbers in a list; nothing if there are none.
pub(crate) fn mean(list: &[Value]) -> Value {
    let numbers =
        list.iter().filter_map(|item| if let Value::Number(number) = item { Some(*number) } else { None });
    let (sum, count) = numbers.fold((0.0, 0usize), |(sum, count), number| (sum + number, count + 1));
    if count == 0 { Value::Null } else { Value::Number(sum / count as f64) }
}

fn unique(at: &Evaluator<'_>, list: &List) -> Computed {
    at.charge(list.iter().map(length).sum())?;
    let mut seen = HashSet::new();
    at.list(list.iter().filter(|item| seen.insert(key(item))).cloned().collect())
}

/// Two values with one key are the same for `unique` and for groups: links and files by the file that they lead to.
pub(crate) fn key(value: &Value) -> (u8, String) {
    match value {
        Value::Null => (0, String::new()),
        Value::Bool(_) => (1, show(value)),
        Value::Number(_) => (2, show(value)),
        Value::Text(text) => (3, text.to_string()),
        Value::Date(day) => (4, day.at.instant().to_string()),
        Value::Duration(duration) => (5, duration.total_milliseconds().to_string()),
        Value::File(path) => (6, path.as_str().to_owned()),
        Value::Link(link) => match &link.path {
            Some(path) => (6, path.as_str().to_owned()),
            None => (7, link.target.clone()),
        },
        Value::List(list) => {
            (8, list.iter().map(|item| format!("{:?}", key(item))).collect::<Vec<_>>().join("\u{1f}"))
        }
        other => (9, show(other)),
    }
}
