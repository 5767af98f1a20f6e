//! Which value comes first, which are equal, which count as true. Any two values can be compared.

use std::cmp::Ordering;
use std::sync::Arc;

use super::collate;
use super::value::{Link, Object, Value};

/// How values are compared that are neither less nor equal, such as `NaN`, or 36 hours and 1.5 days.
#[derive(Clone, Copy, PartialEq)]
enum Ties {
    /// As the operators have it: each is greater than the other.
    Greater,
    /// As sorting needs it: a total order, in which they are equal and `NaN` is the last number.
    Equal,
}

/// Compares two values for sorting: as [`compare`], but a total order.
pub fn sort_order(a: &Value, b: &Value, path: &dyn Fn(&str) -> String) -> Ordering {
    compare_by(a, b, path, Ties::Equal)
}

/// Compares two values. `path` gives the full path of a link's path, so that `[[A]]` equals `[[Folder/A.md]]`.
/// Null comes first; values of different types are in the order of the names of their types.
pub fn compare(a: &Value, b: &Value, path: &dyn Fn(&str) -> String) -> Ordering {
    compare_by(a, b, path, Ties::Greater)
}

fn compare_by(a: &Value, b: &Value, path: &dyn Fn(&str) -> String, ties: Ties) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Text(a), Value::Text(b)) => collate::compare(a, b),
        (Value::Number(a), Value::Number(b)) => order(*a, *b, a == b, ties),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => order(a.instant() as f64, b.instant() as f64, a == b, ties),
        (Value::Duration(a), Value::Duration(b)) => {
            order(a.total_milliseconds(), b.total_milliseconds(), a == b, ties)
        }
        (Value::Link(a), Value::Link(b)) => links(a, b, path),
        (Value::List(a), Value::List(b)) => {
            if Arc::ptr_eq(a, b) {
                return Ordering::Equal;
            }
            lists(a, b, path, ties)
        }
        (Value::Object(a), Value::Object(b)) => {
            if Arc::ptr_eq(a, b) {
                return Ordering::Equal;
            }
            objects(a, b, path, ties)
        }
        _ => a.type_name().cmp(b.type_name()),
    }
}

/// Whether a value counts as true.
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => *number != 0.0,
        Value::Text(text) => !text.is_empty(),
        Value::Date(date) => date.instant() != 0,
        Value::Duration(duration) => duration.total_milliseconds() != 0.0,
        Value::Link(link) => !link.path.is_empty(),
        Value::List(list) => !list.is_empty(),
        Value::Object(object) => !object.is_empty(),
        Value::Function(_) | Value::ExternalLink(_) | Value::Pair(_) => true,
    }
}

/// What is neither less nor equal is greater, unless sorting needs it otherwise.
fn order(a: f64, b: f64, equal: bool, ties: Ties) -> Ordering {
    match ties {
        Ties::Equal => a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        Ties::Greater if a < b => Ordering::Less,
        Ties::Greater if equal => Ordering::Equal,
        Ties::Greater => Ordering::Greater,
    }
}

fn links(a: &Link, b: &Link, path: &dyn Fn(&str) -> String) -> Ordering {
    let paths = || match a.path == b.path {
        true => Ordering::Equal,
        false => collate::compare(&path(&a.path), &path(&b.path)),
    };
    let (left, right) = (a.subpath.as_deref().unwrap_or(""), b.subpath.as_deref().unwrap_or(""));
    paths()
        .then_with(|| a.kind.name().cmp(b.kind.name()))
        .then_with(|| left.is_empty().cmp(&right.is_empty()).reverse())
        .then_with(|| collate::compare(left, right))
}

fn lists(a: &[Value], b: &[Value], path: &dyn Fn(&str) -> String, ties: Ties) -> Ordering {
    let pairs = a.iter().zip(b).map(|(a, b)| compare_by(a, b, path, ties));
    pairs.into_iter().find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

fn objects(a: &Object, b: &Object, path: &dyn Fn(&str) -> String, ties: Ties) -> Ordering {
    let (left, right) = (sorted_names(a), sorted_names(b));
    let names = left.iter().zip(&right).map(|(a, b)| collate::compare(a, b));
    let by_name = names.into_iter().find(|order| order.is_ne()).unwrap_or(left.len().cmp(&right.len()));
    if by_name.is_ne() {
        return by_name;
    }
    let null = Value::Null;
    let value = |object: &Object, name: &str| object.get(name).unwrap_or(&null).clone();
    let pairs = left.iter().map(|name| compare_by(&value(a, name), &value(b, name), path, ties));
    pairs.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn sorted_names(object: &Object) -> Vec<&str> {
    let mut names: Vec<&str> = object.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    names
}
