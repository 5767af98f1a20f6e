//! An answer as a table for a terminal: aligned columns, cut to its width.

use serde_json::Value;

use crate::paper::{Paper, Role};

/// Between two columns.
const GAP: &str = "  ";
/// No column is cut to less than this.
const NARROWEST: usize = 6;

/// The answer of a query or a rule. Without a width nothing is cut.
pub fn table(data: &Value, width: Option<usize>, paper: &Paper) -> String {
    let (headers, rows) = cells(data, &show);
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| row.iter().map(|cell| paper.text(&one_line(cell)).into_owned()).collect())
        .collect();
    let headers: Vec<String> =
        headers.iter().map(|header| paper.text(&one_line(header)).into_owned()).collect();
    let mut widths: Vec<usize> = headers.iter().map(|header| display_width(header)).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(display_width(cell));
        }
    }
    if let Some(width) = width {
        fit(&mut widths, width);
    }
    let mut out = paper.paint(Role::Title, line(&headers, &widths).trim_end()) + "\n";
    rows.iter().for_each(|row| out += &format!("{}\n", line(row, &widths).trim_end()));
    let count = match (data["rows"].as_array(), data["type"].as_str()) {
        (Some(rows), _) => rows.len(),
        // The name of a group has no box in front.
        (None, Some("task")) => {
            rows.iter().filter(|row| row.first().is_some_and(|cell| !cell.is_empty())).count()
        }
        _ => rows.len(),
    };
    let count = if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
    out + &paper.paint(Role::Dim, &count) + "\n"
}

/// How a value is written into its cell.
pub type Show<'a> = &'a dyn Fn(&Value) -> String;

/// Headers and cells of every kind of answer.
pub fn cells(data: &Value, show: Show<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    if let Some(hits) = data["hits"].as_array() {
        let row = |hit: &Value| vec![show(&hit["path"]), show(&hit["result"])];
        return (texts(&["Note", "Result"]), hits.iter().map(row).collect());
    }
    if let Some(columns) = data["columns"].as_array() {
        return of_base(columns, data, show);
    }
    let values = list(&data["values"]);
    match data["type"].as_str() {
        Some("table") => {
            let rows = list(&data["rows"]);
            let row = |row: &Value| list(row).iter().map(show).collect();
            (list(&data["headers"]).iter().map(show).collect(), rows.iter().map(row).collect())
        }
        Some("task") => {
            let mut rows = Vec::new();
            tasks(&values, "", show, &mut rows);
            (texts(&["", "Task", "Note", "Line"]), rows)
        }
        Some("calendar") => {
            let row = |day: &Value| vec![show(&day["date"]), show(&day["link"])];
            (texts(&["Day", "Note"]), values.iter().map(row).collect())
        }
        _ => {
            let pairs = values.iter().any(|value| value["$pair"].is_array());
            let row = |value: &Value| match value["$pair"].as_array() {
                Some(pair) => pair.iter().map(show).collect(),
                None => vec![show(value)],
            };
            (texts(if pairs { &["Item", "Value"] } else { &["Item"] }), values.iter().map(row).collect())
        }
    }
}

/// The rows of a base's view, each group behind its name, the summaries last.
fn of_base(columns: &[Value], data: &Value, show: Show<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let headers: Vec<String> = columns.iter().map(|column| show(&column["name"])).collect();
    let alone = |text: String| std::iter::once(text).chain(headers.iter().skip(1).map(|_| String::new()));
    let id = |column: &Value| column["id"].as_str().unwrap_or_default().to_owned();
    let ids: Vec<String> = columns.iter().map(id).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut group = None;
    for row in data["rows"].as_array().into_iter().flatten() {
        let here = row["group"].as_u64();
        if here != group {
            let key = here.map(|place| show(&data["groups"][place as usize]["key"])).unwrap_or_default();
            rows.push(alone(format!("{}:", if key.is_empty() { "(none)" } else { &key })).collect());
            group = here;
        }
        rows.push(ids.iter().map(|id| show(&row["values"][id])).collect());
    }
    let name = |id: &Value| {
        let named = ids.iter().position(|known| id.as_str() == Some(known));
        named.map_or_else(|| show(id), |place| headers[place].clone())
    };
    for summed in data["summaries"].as_array().into_iter().flatten() {
        let (what, of) = (show(&summed["summary"]), name(&summed["property"]));
        rows.push(alone(format!("{what} of {of}: {}", show(&summed["value"]))).collect());
    }
    (headers, rows)
}

/// Tasks, those of a group behind its name.
fn tasks(entries: &[Value], group: &str, show: Show<'_>, out: &mut Vec<Vec<String>>) {
    for entry in entries {
        match entry["rows"].as_array() {
            Some(rows) => {
                let key = show(&entry["key"]);
                out.push(vec![String::new(), format!("{group}{key}:"), String::new(), String::new()]);
                tasks(rows, &format!("{group}{key} / "), show, out);
            }
            None => out.push(vec![
                show(&Value::String(format!("[{}]", entry["status"].as_str().unwrap_or(" ")))),
                show(&entry["text"]),
                entry["path"]
                    .as_str()
                    .map(|path| show(&serde_json::json!({"$file": path})))
                    .unwrap_or_default(),
                entry["line"].as_u64().map(|line| (line + 1).to_string()).unwrap_or_default(),
            ]),
        }
    }
}

/// A value as people write it: links by name, midnight as a day, nothing as nothing.
pub fn show(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(show).collect::<Vec<_>>().join(", "),
        Value::Object(map) => match map.iter().next() {
            Some((key, date)) if key == "$date" => {
                let date = date.as_str().unwrap_or_default();
                date.split_once("T00:00:00")
                    .map_or_else(|| date.replacen('T', " ", 1), |(day, _)| day.to_owned())
            }
            Some((key, link)) if key == "$link" => {
                let path = link["path"].as_str().unwrap_or_default();
                link["display"].as_str().map_or_else(|| stem(path), str::to_owned)
            }
            Some((key, parts)) if key == "$duration" => parts.as_object().map_or_else(String::new, |parts| {
                parts.iter().map(|(unit, amount)| format!("{amount} {unit}")).collect::<Vec<_>>().join(", ")
            }),
            Some((key, path)) if key == "$file" => stem(path.as_str().unwrap_or_default()),
            Some((key, number)) if key == "$number" => show(number),
            Some((key, link)) if key == "$elink" => show(&link[1]),
            _ => map
                .iter()
                .map(|(key, value)| format!("{key}: {}", show(value)))
                .collect::<Vec<_>>()
                .join(", "),
        },
        other => other.to_string(),
    }
}

fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").unwrap_or(name).to_owned()
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Makes the widest columns narrower until all fit, as far as that goes.
fn fit(widths: &mut [usize], width: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROWEST) else { return };
        *widest -= 1;
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let cell = |(cell, width): (&String, &usize)| {
        let cut = clip(cell, *width);
        let padding = " ".repeat(width.saturating_sub(display_width(&cut)));
        cut + &padding
    };
    cells.iter().zip(widths).map(cell).collect::<Vec<_>>().join(GAP)
}

fn clip(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += char_width(c);
        if used >= width {
            break;
        }
        out.push(c);
    }
    out + "…"
}

fn display_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// How many places of a terminal a character takes: East Asian letters and pictures two, marks none.
fn char_width(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rows_of_a_base_stand_in_their_groups_with_the_summaries_below() {
        let row = |group: u64, name: &str, pages: u64| json!({"path": name, "group": group, "values": {"file.name": name, "pages": pages}});
        let data = json!({"columns": [{"id": "file.name", "name": "name"}, {"id": "pages", "name": "Pages"}],
            "rows": [row(0, "a.md", 3), row(1, "b.md", 4)], "groups": [{"key": "new"}, {"key": null}],
            "summaries": [{"property": "pages", "summary": "Sum", "value": 7}]});
        expect![[r#"
            name             Pages
            new:
            a.md             3
            (none):
            b.md             4
            Sum of Pages: 7
            2 rows
        "#]]
        .assert_eq(&table(&data, None, &Paper::default()));
    }

    #[track_caller]
    fn check(data: Value, width: Option<usize>, expected: Expect) {
        expected.assert_eq(&table(&data, width, &Paper::default()));
    }

    #[test]
    fn columns_are_aligned_and_cut_to_the_width() {
        let link = |path: &str| json!({"$link": {"path": path, "display": null}});
        let data = json!({"type": "table", "headers": ["File", "due", "note"], "rows": [
            [link("a/Garden.md"), {"$date": "2024-06-14T00:00:00.000+02:00"}, "a long text\nin two lines"],
            [link("庭.md"), null, [1, "x"]],
        ]});
        check(
            data.clone(),
            None,
            expect![[r#"
                File    due         note
                Garden  2024-06-14  a long text in two lines
                庭                  1, x
                2 rows
            "#]],
        );
        check(
            data,
            Some(30),
            expect![[r#"
                File    due         note
                Garden  2024-06-14  a long te…
                庭                  1, x
                2 rows
            "#]],
        );
    }

    #[test]
    fn lists_tasks_and_hits_are_tables_too() {
        check(
            json!({"type": "task", "values": [{"key": true, "rows": [{"status": "x", "text": "dig", "path": "G.md", "line": 3}]}]}),
            None,
            expect![[r#"
                     Task   Note  Line
                     true:
                [x]  dig    G     4
                1 row
            "#]],
        );
        check(
            json!({"hits": [{"path": "a.md", "result": true}]}),
            None,
            expect![[r#"
                Note  Result
                a.md  true
                1 row
            "#]],
        );
    }

    #[test]
    fn no_width_is_too_small() {
        let data =
            json!({"type": "table", "headers": ["a", "b"], "rows": [["x".repeat(40), "y".repeat(40)]]});
        for width in 0..100 {
            table(&data, Some(width), &Paper::default());
        }
    }
}
