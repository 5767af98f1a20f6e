//! A front-matter value kept small: a third of what a JSON value takes, and turned back into one when somebody asks.

use serde_json::{Map, Number, Value};

use super::intern::Interner;
use crate::text::Text;

/// A front-matter value.
#[derive(Debug, Clone, PartialEq)]
pub enum Property {
    /// Nothing behind the colon.
    Null,
    /// A check box.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text; dates are texts.
    Text(Text),
    /// A list.
    List(Box<[Property]>),
    /// A mapping, in its order.
    Object(Box<[(Text, Property)]>),
}

impl Property {
    /// Keeps a JSON value.
    pub(super) fn keep(value: &Value, interner: &Interner) -> Property {
        match value {
            Value::Null => Property::Null,
            Value::Bool(yes) => Property::Bool(*yes),
            Value::Number(number) => Property::Number(number.clone()),
            Value::String(text) => Property::Text(interner.shared_if_short(text)),
            Value::Array(items) => {
                Property::List(items.iter().map(|item| Property::keep(item, interner)).collect())
            }
            Value::Object(map) => Property::Object(keep_map(map, interner)),
        }
    }

    /// The value as JSON again.
    pub fn to_json(&self) -> Value {
        match self {
            Property::Null => Value::Null,
            Property::Bool(yes) => Value::Bool(*yes),
            Property::Number(number) => Value::Number(number.clone()),
            Property::Text(text) => Value::String(text.to_string()),
            Property::List(items) => Value::Array(items.iter().map(Property::to_json).collect()),
            Property::Object(fields) => Value::Object(map_to_json(fields)),
        }
    }

    /// The texts in it: itself, or the texts of its list.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Property::Text(text) => vec![text],
            Property::List(items) => items
                .iter()
                .filter_map(|item| match item {
                    Property::Text(text) => Some(&**text),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// Keeps a JSON mapping.
pub(super) fn keep_map(map: &Map<String, Value>, interner: &Interner) -> Box<[(Text, Property)]> {
    let kept =
        |(key, value): (&String, &Value)| (interner.shared_if_short(key), Property::keep(value, interner));
    map.iter().map(kept).collect()
}

/// A kept mapping as JSON again.
pub fn map_to_json(fields: &[(Text, Property)]) -> Map<String, Value> {
    fields.iter().map(|(key, value)| (key.to_string(), value.to_json())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_the_same() {
        let value =
            serde_json::json!({"z": [1, 2.5, "a", null], "a": {"b": true}, "n": 18446744073709551615u64});
        let interner = Interner::default();
        assert_eq!(Property::keep(&value, &interner).to_json(), value);
        assert_eq!(
            Property::keep(&value, &interner).to_json().to_string(),
            value.to_string(),
            "the order stays"
        );
    }

    #[test]
    fn a_kept_value_is_small() {
        assert!(size_of::<Property>() <= 24, "{}", size_of::<Property>());
    }
}
