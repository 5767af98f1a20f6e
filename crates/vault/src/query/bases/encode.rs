//! The rows of a view as typed JSON, as Markdown and as CSV.

use serde_json::{Map, Value as Json, json};

use super::model::PropertyId;
use super::run::{Column, RowOut, Summed, ViewRows};
use super::show::{show, show_day};
use super::value::{DrawnKind, Value};
use crate::query::dql::encode::{cell, number_to_json, one_line, quoted};

/// A value as JSON; what JSON has no word for is marked: `{"$date": …}`, `{"$link": …}`, `{"$file": …}`.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(yes) => Json::Bool(*yes),
        Value::Number(number) => number_to_json(*number),
        Value::Text(text) => Json::String(text.to_string()),
        Value::Date(day) if day.clock => json!({"$date": day.at.iso()}),
        Value::Date(day) => json!({"$date": show_day(day)}),
        Value::Duration(duration) => {
            let parts =
                duration.parts().map(|(unit, amount)| (unit.name().to_owned(), number_to_json(amount)));
            json!({"$duration": parts.collect::<Map<_, _>>()})
        }
        Value::Link(link) => json!({"$link": {
            "target": link.target,
            "path": link.path,
            "fragment": link.fragment,
            "display": link.display,
        }}),
        Value::File(path) => json!({"$file": **path}),
        Value::List(list) => Json::Array(list.iter().map(to_json).collect()),
        Value::Object(object) => {
            let entries = object.entries().iter().map(|(name, value)| (name.to_string(), to_json(value)));
            Json::Object(entries.collect())
        }
        Value::Pattern(_) => json!({"$regexp": show(value)}),
        Value::Drawn(drawn) => match drawn.kind {
            DrawnKind::Html => json!({"$html": drawn.text}),
            DrawnKind::Image => json!({"$image": drawn.text}),
            DrawnKind::Icon => json!({"$icon": drawn.text}),
        },
    }
}

/// The rows of a view as JSON.
pub fn rows_to_json(rows: &ViewRows) -> Json {
    let columns: Vec<Json> =
        rows.columns.iter().map(|column| json!({"id": column.id, "name": column.name})).collect();
    let row = |row: &RowOut| {
        let values = rows.columns.iter().zip(&row.values);
        let values: Map<String, Json> =
            values.map(|(column, value)| (column.id.clone(), to_json(value))).collect();
        let mut out = json!({"path": row.path, "values": values});
        if let Some(group) = row.group {
            out["group"] = group.into();
        }
        out
    };
    let mut out = json!({
        "view": rows.view,
        "type": rows.kind,
        "columns": columns,
        "rows": rows.rows.iter().map(row).collect::<Vec<_>>(),
        "offset": rows.offset,
        "count": rows.count,
        "total": rows.total,
    });
    if let Some(groups) = &rows.groups {
        let group = |group: &super::GroupRows| json!({"key": to_json(&group.key), "count": group.count, "summaries": summaries_to_json(&group.summaries)});
        out["groups"] = groups.iter().map(group).collect();
    }
    out["summaries"] = summaries_to_json(&rows.summaries);
    out["notices"] = json!(rows.notices);
    out
}

fn summaries_to_json(summaries: &[Summed]) -> Json {
    let one = |summed: &Summed| json!({"property": summed.id, "summary": summed.summary, "value": to_json(&summed.value)});
    summaries.iter().map(one).collect()
}

/// The rows of a view as Markdown: one table, or one for each group, with the summaries below.
pub fn to_markdown(rows: &ViewRows) -> String {
    let mut out = String::new();
    match &rows.groups {
        None => out += &table(&rows.columns, rows.rows.iter()),
        Some(groups) => {
            for (place, group) in groups.iter().enumerate() {
                let here = || rows.rows.iter().filter(|row| row.group == Some(place));
                if here().next().is_none() {
                    continue;
                }
                let key = one_line(&show(&group.key));
                let key = if key.is_empty() { "(none)" } else { &key };
                out += &format!("### {key} ({})\n\n{}", group.count, table(&rows.columns, here()));
                out += &summaries(&rows.columns, &group.summaries);
                out.push('\n');
            }
        }
    }
    let all = summaries(&rows.columns, &rows.summaries);
    if rows.groups.is_some() && !all.is_empty() {
        out += "### All\n";
    }
    out + &all
}

/// About how many characters a row takes as text, with its share of what stands around its group.
pub fn row_length(rows: &ViewRows, row: &RowOut) -> usize {
    let length = |value: &Value| super::show::length(value) + 8;
    let own = row.path.as_str().len() + row.values.iter().map(length).sum::<usize>();
    let group = row.group.and_then(|place| rows.groups.as_ref()?.get(place));
    own + group.map_or(0, |group| {
        let header: usize = rows.columns.iter().map(|column| column.name.len() + 12).sum();
        let summaries: usize = group
            .summaries
            .iter()
            .map(|summed| summed.id.len() + summed.summary.len() + length(&summed.value))
            .sum();
        (length(&group.key) + 24 + header + summaries) / group.count.max(1)
    })
}

fn table<'r>(columns: &[Column], rows: impl Iterator<Item = &'r RowOut>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(columns.iter().map(|column| cell(&column.name)).collect());
    out += &line(columns.iter().map(|_| "---".to_owned()).collect());
    for row in rows {
        let shown = columns.iter().zip(&row.values).map(|(column, value)| cell(&shown(column, value, row)));
        out += &line(shown.collect());
    }
    out
}

/// The name of the file is a link to it, as in Obsidian.
fn shown(column: &Column, value: &Value, row: &RowOut) -> String {
    match (&column.property, value) {
        (PropertyId::File("name" | "basename"), name) => format!("[[{}|{}]]", row.path, show(name)),
        (_, Value::File(path)) => format!("[[{path}]]"),
        (_, value) => show(value),
    }
}

fn summaries(columns: &[Column], summaries: &[Summed]) -> String {
    let name = |id: &str| {
        columns
            .iter()
            .find(|column| column.id == id)
            .map_or_else(|| id.to_owned(), |column| column.name.clone())
    };
    let one = |summed: &Summed| {
        format!("- {}, {}: {}\n", name(&summed.id), summed.summary, one_line(&show(&summed.value)))
    };
    let lines: String = summaries.iter().map(one).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// The rows of a view as CSV, the first line with the names of the columns; a group has a column of its own.
pub fn to_csv(rows: &ViewRows) -> String {
    let line =
        |cells: &[String]| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\r\n";
    let group = |place: Option<usize>| {
        rows.groups.iter().map(move |groups| {
            place.and_then(|place| groups.get(place)).map(|group| plain(&group.key)).unwrap_or_default()
        })
    };
    let names = rows.columns.iter().map(|column| column.name.clone());
    let header: Vec<String> = rows.groups.iter().map(|_| "group".to_owned()).chain(names).collect();
    let mut out = line(&header);
    for row in &rows.rows {
        out += &line(&group(row.group).chain(row.values.iter().map(plain)).collect::<Vec<_>>());
    }
    out
}

/// A value for a machine: links by path, dates in ISO.
fn plain(value: &Value) -> String {
    match value {
        Value::Date(day) if day.clock => day.at.iso(),
        Value::Link(link) => {
            link.path.as_ref().map_or_else(|| link.target.clone(), |path| path.as_str().to_owned())
        }
        Value::List(list) => list.iter().map(plain).collect::<Vec<_>>().join("; "),
        other => show(other),
    }
}
