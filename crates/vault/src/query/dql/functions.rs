//! The functions of the language: which there are, over which arguments they map, and who computes them.
//!
//! A function that maps over an argument is called once for each element of a list there; of several lists the shortest
//! decides. The files below hold the functions by subject; arguments that no arm takes are an error.

mod collections;
mod numbers;
mod strings;
mod time;
mod values;

use super::evaluate::{Evaluator, Fault, failed};
use super::value::Value;

/// All functions.
const NAMES: [&str; 66] = [
    "all",
    "any",
    "array",
    "average",
    "ceil",
    "choice",
    "contains",
    "containsword",
    "currencyformat",
    "date",
    "dateformat",
    "default",
    "display",
    "dur",
    "durationformat",
    "econtains",
    "elink",
    "embed",
    "endswith",
    "extract",
    "filter",
    "firstvalue",
    "flat",
    "floor",
    "hash",
    "icontains",
    "join",
    "ldefault",
    "length",
    "link",
    "list",
    "localtime",
    "lower",
    "map",
    "max",
    "maxby",
    "meta",
    "min",
    "minby",
    "none",
    "nonnull",
    "number",
    "object",
    "padleft",
    "padright",
    "product",
    "reduce",
    "regexmatch",
    "regexreplace",
    "regextest",
    "replace",
    "reverse",
    "round",
    "slice",
    "sort",
    "split",
    "startswith",
    "string",
    "striptime",
    "substring",
    "sum",
    "trunc",
    "truncate",
    "typeof",
    "unique",
    "upper",
];

/// Whether there is such a function; the name in lower case.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// A hint at a function that may have been meant.
pub(crate) fn near(name: &str) -> String {
    let alike = NAMES.iter().find(|known| {
        known.len() > 2 && (known.starts_with(name) || name.starts_with(**known)) && name.len() > 2
    });
    alike.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default()
}

/// Calls a function by its name in lower case.
pub(crate) fn call(at: &Evaluator<'_>, name: &str, arguments: Vec<Value>) -> Result<Value, Fault> {
    let mapped: Vec<(usize, std::sync::Arc<super::value::List>)> = mapped_over(name, arguments.len())
        .iter()
        .filter_map(|place| match arguments.get(*place) {
            Some(Value::List(list)) => Some((*place, list.clone())),
            _ => None,
        })
        .collect();
    let Some(count) = mapped.iter().map(|(_, list)| list.len()).min() else {
        return apply(at, name, &arguments);
    };
    let mut out = Vec::with_capacity(count);
    for element in 0..count {
        let mut each = arguments.clone();
        for (place, list) in &mapped {
            each[*place] = list[element].clone();
        }
        out.push(at.function(name, each)?);
    }
    Ok(Value::list(out))
}

fn apply(at: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Result<Value, Fault> {
    let found = match name {
        "list" | "array" | "object" | "typeof" | "string" | "number" | "link" | "embed" | "elink"
        | "meta" | "default" | "ldefault" | "choice" | "display" | "hash" | "extract" => {
            values::apply(at, name, arguments)?
        }
        "date" | "dur" | "dateformat" | "durationformat" | "localtime" | "striptime" => {
            time::apply(at, name, arguments)?
        }
        "round" | "trunc" | "floor" | "ceil" | "min" | "max" | "sum" | "product" | "average" | "minby"
        | "maxby" | "currencyformat" | "reduce" => numbers::apply(at, name, arguments)?,
        "lower" | "upper" | "replace" | "regextest" | "regexmatch" | "regexreplace" | "split"
        | "startswith" | "endswith" | "padleft" | "padright" | "substring" | "truncate" | "containsword" => {
            strings::apply(at, name, arguments)?
        }
        _ => collections::apply(at, name, arguments)?,
    };
    found.map_or_else(|| wrong_arguments(name, arguments), Ok)
}

fn wrong_arguments(name: &str, arguments: &[Value]) -> Result<Value, Fault> {
    let types: Vec<&str> = arguments.iter().map(Value::type_name).collect();
    failed(format!("`{name}` does not take ({})", types.join(", ")))
}

/// The arguments over which a call with so many maps.
fn mapped_over(name: &str, arguments: usize) -> &'static [usize] {
    match (name, arguments) {
        ("lower" | "upper" | "number" | "date" | "dur" | "striptime" | "localtime" | "embed", 1)
        | ("round" | "trunc" | "floor" | "ceil" | "link" | "elink", 1)
        | ("round" | "date" | "dateformat" | "durationformat" | "currencyformat" | "elink", 2)
        | ("choice", 3) => &[0],
        ("contains" | "icontains" | "econtains" | "join" | "reduce", 2) => &[1],
        ("default" | "link" | "embed" | "regextest" | "regexmatch" | "startswith" | "endswith", 2)
        | ("padleft" | "padright" | "substring" | "truncate" | "containsword", 2) => &[0, 1],
        ("replace" | "regexreplace" | "padleft" | "padright" | "substring" | "truncate", 3) => &[0, 1, 2],
        _ => &[],
    }
}
