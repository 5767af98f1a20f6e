//! What a view says about a whole column: the fourteen summaries that every base has, and those that it defines.

use std::collections::HashSet;

use super::evaluate::{Computed, Evaluator, Scope};
use super::methods::list::{key, mean};
use super::names;
use super::value::{Day, Value};

/// The summaries that every base has.
pub(crate) const BUILT_IN: [&str; 14] = [
    "Average",
    "Min",
    "Max",
    "Sum",
    "Range",
    "Median",
    "Stddev",
    "Earliest",
    "Latest",
    "Checked",
    "Unchecked",
    "Empty",
    "Filled",
    "Unique",
];

/// A summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Summary {
    /// One that every base has.
    BuiltIn(&'static str),
    /// One of the base, by its place in it.
    Custom(usize),
}

impl Summary {
    /// The summary of this name, or a hint at what was meant.
    pub(crate) fn named(name: &str, custom: &[String]) -> Result<Summary, String> {
        if let Some(place) = custom.iter().position(|known| known == name) {
            return Ok(Summary::Custom(place));
        }
        let built_in = BUILT_IN.iter().find(|known| known.eq_ignore_ascii_case(name));
        let hint = || names::suggestion(name, BUILT_IN.into_iter().chain(custom.iter().map(String::as_str)));
        built_in.map(|known| Summary::BuiltIn(known)).ok_or_else(hint)
    }

    /// Its name.
    pub(crate) fn name(self, at: &Evaluator<'_>) -> String {
        match self {
            Summary::BuiltIn(name) => name.to_owned(),
            Summary::Custom(place) => {
                at.base.summaries.get(place).map(|custom| custom.name.clone()).unwrap_or_default()
            }
        }
    }

    /// Sums up the values of a column.
    pub(crate) fn compute(self, at: &Evaluator<'_>, values: &[Value]) -> Computed {
        at.charge(values.len() * 4)?;
        match self {
            Summary::BuiltIn(name) => Ok(built_in(name, values)),
            Summary::Custom(place) => match at.base.summaries.get(place) {
                Some(custom) => {
                    let values = at.list(values.to_vec())?;
                    at.evaluate(&custom.test.expression, Scope { values: Some(&values), ..Scope::default() })
                }
                None => Ok(Value::Null),
            },
        }
    }
}

fn built_in(name: &str, values: &[Value]) -> Value {
    let numbers: Vec<f64> = values
        .iter()
        .filter_map(|value| if let Value::Number(n) = value { Some(*n) } else { None })
        .collect();
    let days: Vec<&Day> = values
        .iter()
        .filter_map(|value| if let Value::Date(day) = value { Some(day) } else { None })
        .collect();
    let count =
        |wanted: fn(&Value) -> bool| Value::count(values.iter().filter(|value| wanted(value)).count());
    let number = |found: Option<f64>| found.map_or(Value::Null, Value::Number);
    let day = |found: Option<&&Day>| found.map_or(Value::Null, |day| Value::Date((*day).clone()));
    let earliest = days.iter().min_by_key(|day| day.at.instant());
    let latest = days.iter().max_by_key(|day| day.at.instant());
    match name {
        "Average" => mean(values),
        "Min" => number(numbers.iter().copied().reduce(f64::min)),
        "Max" => number(numbers.iter().copied().reduce(f64::max)),
        "Sum" => number(numbers.iter().copied().reduce(|a, b| a + b)),
        "Range" => match (numbers.is_empty(), earliest, latest) {
            (true, Some(from), Some(to)) => to.at.since(&from.at).map_or(Value::Null, Value::Duration),
            _ => number(numbers.iter().copied().reduce(f64::max))
                .minus(&number(numbers.iter().copied().reduce(f64::min))),
        },
        "Median" => number(median(numbers)),
        "Stddev" => number(deviation(&numbers)),
        "Earliest" => day(earliest),
        "Latest" => day(latest),
        "Checked" => count(|value| matches!(value, Value::Bool(true))),
        "Unchecked" => count(|value| matches!(value, Value::Bool(false))),
        "Empty" => count(Value::is_empty),
        "Filled" => count(|value| !value.is_empty()),
        "Unique" => {
            let filled = values.iter().filter(|value| !value.is_empty());
            Value::count(filled.map(key).collect::<HashSet<_>>().len())
        }
        _ => Value::Null,
    }
}

impl Value {
    fn minus(&self, other: &Value) -> Value {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => Value::Number(a - b),
            _ => Value::Null,
        }
    }
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        1 => numbers.get(middle).copied(),
        _ => Some((numbers.get(middle.checked_sub(1)?)? + numbers.get(middle)?) / 2.0),
    }
}

/// Of all numbers, not of a sample.
fn deviation(numbers: &[f64]) -> Option<f64> {
    let count = numbers.len() as f64;
    let mean = (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / count)?;
    let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
    Some((squares / count).sqrt())
}
