//! Tables that queries and bases answer with, their cells as HTML.

use serde_json::{Value, json};

use crate::command::query::table::{cells, show};
use crate::serve::render::{links, marked};

/// Rows of one table at most.
const MOST: usize = 1000;

/// Columns and rows, each cell as HTML.
pub fn shown(data: &Value) -> Value {
    let (columns, mut rows) = cells(data, &html);
    let total = rows.len();
    rows.truncate(MOST);
    json!({"columns": columns, "rows": rows, "total": total})
}

/// A value as HTML: notes are links, everything else is text.
fn html(value: &Value) -> String {
    if let Value::Array(items) = value {
        return items.iter().map(html).collect::<Vec<_>>().join(", ");
    }
    let text = marked(&show(value), &[]);
    let path = value["$link"]["path"].as_str().or_else(|| value["$file"].as_str());
    match path {
        Some(path) => {
            let id = value["$link"]["subpath"].as_str().map(links::fragment_id);
            format!("<a class=\"note-link\" href=\"{}\">{text}</a>", links::page_of(path, id.as_deref()))
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_text_and_notes_are_links() {
        let data = json!({"type": "table", "headers": ["File", "<b>"], "rows": [
            [{"$link": {"path": "a b.md", "type": "file", "subpath": null, "display": null, "embed": false}}, "<script>x"],
            [null, [1, "\"y\""]],
        ]});
        let table = shown(&data);
        assert_eq!(table["columns"], json!(["File", "&lt;b&gt;"]));
        assert_eq!(table["rows"][0][0], "<a class=\"note-link\" href=\"#/notes/a%20b.md\">a b</a>");
        assert_eq!(table["rows"][0][1], "&lt;script&gt;x");
        assert_eq!(table["rows"][1], json!(["", "1, &quot;y&quot;"]));
    }
}
