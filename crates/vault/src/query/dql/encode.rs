//! Answers as JSON with types, Markdown and CSV.

use serde_json::{Map, Value as Json, json};

use super::show::show_number;
use super::value::Value;

/// A value as JSON; what JSON has no word for is marked: `{"$date": …}`, `{"$link": …}`.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(yes) => Json::Bool(*yes),
        Value::Number(number) => number_to_json(*number),
        Value::Text(text) => Json::String(text.to_string()),
        Value::Date(date) => json!({"$date": date.iso()}),
        Value::Duration(duration) => {
            let parts =
                duration.parts().map(|(unit, amount)| (unit.name().to_owned(), number_to_json(amount)));
            json!({"$duration": parts.collect::<Map<_, _>>()})
        }
        Value::Link(link) => json!({"$link": {
            "path": link.path,
            "type": link.kind.name(),
            "subpath": link.subpath,
            "display": link.display,
            "embed": link.embed,
        }}),
        Value::List(list) => Json::Array(list.iter().map(to_json).collect()),
        Value::Object(object) => {
            Json::Object(object.iter().map(|(name, value)| (name.to_string(), to_json(value))).collect())
        }
        Value::Function(_) => json!({"$function": true}),
        Value::ExternalLink(link) => json!({"$elink": [link.0, link.1]}),
        Value::Pair(pair) => json!({"$pair": [to_json(&pair.0), to_json(&pair.1)]}),
    }
}

/// Whole numbers without a point; what is no number in JSON is marked.
fn number_to_json(number: f64) -> Json {
    if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
        return Json::from(number as i64);
    }
    serde_json::Number::from_f64(number).map_or_else(|| json!({"$number": show_number(number)}), Json::Number)
}
