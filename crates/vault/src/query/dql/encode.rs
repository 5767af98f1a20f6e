//! Answers as JSON with types, Markdown and CSV.

use serde_json::{Map, Value as Json, json};

use super::run::{QueryResult, TaskEntry};
use super::show::{show, show_number};
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
pub(crate) fn number_to_json(number: f64) -> Json {
    if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
        return Json::from(number as i64);
    }
    serde_json::Number::from_f64(number).map_or_else(|| json!({"$number": show_number(number)}), Json::Number)
}

/// The fields of a task in an answer, in their order.
const TASK_FIELDS: [&str; 19] = [
    "path",
    "line",
    "text",
    "symbol",
    "task",
    "status",
    "checked",
    "completed",
    "fullyCompleted",
    "tags",
    "section",
    "link",
    "parent",
    "blockId",
    "due",
    "created",
    "completion",
    "start",
    "scheduled",
];

/// A query's answer as JSON.
pub fn result_to_json(result: &QueryResult) -> Json {
    match result {
        QueryResult::Table { headers, rows } => {
            let rows = rows.iter().map(|row| row.iter().map(to_json).collect::<Json>());
            json!({"type": "table", "headers": headers, "rows": rows.collect::<Vec<_>>()})
        }
        QueryResult::List { values } => {
            json!({"type": "list", "values": values.iter().map(to_json).collect::<Vec<_>>()})
        }
        QueryResult::Task { values } => {
            json!({"type": "task", "values": values.iter().map(task_to_json).collect::<Vec<_>>()})
        }
        QueryResult::Calendar { values } => {
            let days =
                values.iter().map(|(date, link)| json!({"date": to_json(date), "link": to_json(link)}));
            json!({"type": "calendar", "values": days.collect::<Vec<_>>()})
        }
    }
}

fn task_to_json(entry: &TaskEntry) -> Json {
    let task = match entry {
        TaskEntry::Group { key, rows } => {
            return json!({"key": to_json(key), "rows": rows.iter().map(task_to_json).collect::<Vec<_>>()});
        }
        TaskEntry::Task(task) => task,
    };
    let field = |name: &str| (name.to_owned(), task.get(name).map_or(Json::Null, to_json));
    let mut out: Map<String, Json> = TASK_FIELDS.iter().map(|name| field(name)).collect();
    let line = |child: &Value| match child {
        Value::Object(child) => child.get("line").map(to_json),
        _ => None,
    };
    let children = match task.get("children") {
        Some(Value::List(children)) => children.iter().filter_map(line).collect(),
        _ => Vec::new(),
    };
    out.insert("children".to_owned(), Json::Array(children));
    Json::Object(out)
}

/// A query's answer as Markdown: a table, a list, check boxes.
pub fn to_markdown(result: &QueryResult) -> String {
    let mut out = String::new();
    match result {
        QueryResult::Table { headers, rows } => {
            let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
            out += &line(headers.iter().map(|header| cell(header)).collect());
            out += &line(headers.iter().map(|_| "---".to_owned()).collect());
            rows.iter().for_each(|row| out += &line(row.iter().map(|value| cell(&show(value))).collect()));
        }
        QueryResult::List { values } => {
            values.iter().for_each(|value| out += &format!("- {}\n", one_line(&show(value))));
        }
        QueryResult::Task { values } => values.iter().for_each(|entry| task_markdown(entry, 0, &mut out)),
        QueryResult::Calendar { values } => {
            values.iter().for_each(|(date, link)| out += &format!("- {}: {}\n", show(date), show(link)));
        }
    }
    out
}

fn task_markdown(entry: &TaskEntry, depth: usize, out: &mut String) {
    let indent = "    ".repeat(depth);
    match entry {
        TaskEntry::Group { key, rows } => {
            *out += &format!("{indent}- {}\n", one_line(&show(key)));
            rows.iter().for_each(|row| task_markdown(row, depth + 1, out));
        }
        TaskEntry::Task(task) => {
            let text = |name: &str| task.get(name).map(show).unwrap_or_default();
            *out += &format!("{indent}- [{}] {}\n", text("status"), one_line(&text("text")));
        }
    }
}

pub(crate) fn cell(text: &str) -> String {
    one_line(text).replace("\\|", "|").replace('|', "\\|")
}

pub(crate) fn one_line(text: &str) -> String {
    text.replace("\r\n", " ").replace(['\n', '\r'], " ")
}

/// A query's answer as CSV, the first line with headers.
pub fn to_csv(result: &QueryResult) -> String {
    let line =
        |cells: &[String]| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\r\n";
    let texts = |values: &[Value]| values.iter().map(plain).collect::<Vec<_>>();
    match result {
        QueryResult::Table { headers, rows } => {
            line(headers) + &rows.iter().map(|row| line(&texts(row))).collect::<String>()
        }
        QueryResult::List { values } => {
            let row = |value: &Value| match value {
                Value::Pair(pair) => line(&[plain(&pair.0), plain(&pair.1)]),
                other => line(&[plain(other)]),
            };
            let headers = match values.first() {
                Some(Value::Pair(_)) => line(&["item".to_owned(), "value".to_owned()]),
                _ => line(&["item".to_owned()]),
            };
            headers + &values.iter().map(row).collect::<String>()
        }
        QueryResult::Task { values } => {
            let mut out = line(&["path", "line", "status", "text"].map(str::to_owned));
            values.iter().for_each(|entry| task_csv(entry, &mut out, &line));
            out
        }
        QueryResult::Calendar { values } => {
            let row = |(date, link): &(Value, Value)| line(&[plain(date), plain(link)]);
            line(&["date".to_owned(), "file".to_owned()]) + &values.iter().map(row).collect::<String>()
        }
    }
}

fn task_csv(entry: &TaskEntry, out: &mut String, line: &dyn Fn(&[String]) -> String) {
    match entry {
        TaskEntry::Group { rows, .. } => rows.iter().for_each(|row| task_csv(row, out, line)),
        TaskEntry::Task(task) => {
            let text = |name: &str| task.get(name).map(plain).unwrap_or_default();
            *out += &line(&[text("path"), text("line"), text("status"), text("text")]);
        }
    }
}

/// A value for a machine: links by path, dates in ISO, nothing as nothing.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Date(date) => date.iso(),
        Value::Link(link) => link.path.clone(),
        Value::List(list) => list.iter().map(plain).collect::<Vec<_>>().join("; "),
        other => show(other),
    }
}

pub(crate) fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}
