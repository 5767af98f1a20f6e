//! The structured modes of `obsidian_search_notes`: Dataview, JSONLogic, ranked. One hit is `{filename, result}`.

use pipeline::{Output, Refusal, View};
use serde_json::{Map, Value, json};
use vault::finder::{FindQuery, How};
use vault::query::dql::{self, Context, VaultPages};
use vault::query::jsonlogic;

use crate::page::count;
use crate::vault::query_vault::{refuse, refuse_logic};

/// Hits on one page.
const PAGE: usize = 50;
const CURSOR: &str = "offset:";

/// Dataview: `TABLE` rows are objects by header with the file of their first column; other kinds keep their value.
pub(super) fn dataview(view: &View<'_>, query: &str, cursor: Option<&str>) -> Result<Output, Refusal> {
    let pages = VaultPages::new(*view.vault())?;
    let context = Context { now: view.now().clone(), this: None };
    let result = dql::run(query, &pages, &context).map_err(|error| refuse(query, error))?;
    let encoded = dql::encode::result_to_json(&result);
    answer("dataview", hits_of(&encoded), cursor)
}

/// JSONLogic: the rule's result for each note where it is not empty.
pub(super) fn logic(
    view: &View<'_>,
    rule: Map<String, Value>,
    cursor: Option<&str>,
) -> Result<Output, Refusal> {
    let hits = jsonlogic::search(&Value::Object(rule), view.vault()).map_err(refuse_logic)?;
    let hits = hits.into_iter().map(|hit| json!({"filename": hit.path, "result": hit.result})).collect();
    answer("jsonlogic", hits, cursor)
}

/// Ranked: the best notes, by words and meaning.
pub(super) fn ranked(view: &View<'_>, query: &str, cursor: Option<&str>) -> Result<Output, Refusal> {
    let now = i64::try_from(view.now().timestamp().as_nanosecond()).unwrap_or(i64::MAX);
    let find = FindQuery {
        text: query.to_owned(),
        folder: None,
        only: None,
        since_ns: None,
        limit: 4 * PAGE,
        how: How::Hybrid,
    };
    let found = view.find_notes(&find, now)?;
    let caution = found.caution();
    let hits = found.notes.into_iter().map(|note| {
        let excerpt = note.snippets.first().map(|line| line.text.clone()).or(note.excerpt.map(|(_, text)| text));
        json!({"filename": note.path, "result": {"score": note.score, "title": note.title, "excerpt": excerpt}})
    });
    let mut output = answer("omnisearch", hits.collect(), cursor)?;
    if let Some(caution) = caution {
        output.text += &format!("\n({caution})");
    }
    Ok(output)
}

fn hits_of(result: &Value) -> Vec<Value> {
    let rows = |key: &str| result.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let headers = rows("headers");
    if headers.is_empty() {
        return rows("values")
            .into_iter()
            .map(|value| json!({"filename": file_of(&value), "result": value}))
            .collect();
    }
    let row = |row: Value| {
        let cells = row.as_array().cloned().unwrap_or_default();
        let with_file = headers.first().and_then(Value::as_str) == Some("File");
        let filename = cells.first().filter(|_| with_file).and_then(file_of);
        let named = headers.iter().zip(&cells).skip(usize::from(filename.is_some()));
        let fields: Map<String, Value> =
            named.map(|(name, cell)| (name.as_str().unwrap_or_default().to_owned(), cell.clone())).collect();
        json!({"filename": filename, "result": fields})
    };
    rows("rows").into_iter().map(row).collect()
}

/// The file behind a value: a link, a pair that starts with one, a task or a day.
fn file_of(value: &Value) -> Option<String> {
    let link = value.pointer("/$link/path").or_else(|| value.pointer("/$pair/0/$link/path"));
    let path = link.or_else(|| value.get("path")).or_else(|| value.pointer("/link/$link/path"));
    path.and_then(Value::as_str).map(str::to_owned)
}

fn answer(mode: &str, hits: Vec<Value>, cursor: Option<&str>) -> Result<Output, Refusal> {
    let offset = cursor.map(read_cursor).transpose()?.unwrap_or(0);
    let shown: Vec<Value> = hits.iter().skip(offset).take(PAGE).cloned().collect();
    let mut text = count(hits.len(), "hit");
    for hit in &shown {
        let name = hit["filename"].as_str().unwrap_or("(no file)");
        text += &format!("\n{name}: {}", crate::page::clip(&hit["result"].to_string(), 300));
    }
    let mut result = json!({"mode": mode, "hits": shown, "totalCount": hits.len()});
    let next = offset + PAGE;
    if next < hits.len() {
        text += &format!("\n[{} more. Go on with cursor \"{CURSOR}{next}\"]", hits.len() - next);
        result["nextCursor"] = json!(format!("{CURSOR}{next}"));
    }
    Ok(Output::new(text, json!({ "result": result })))
}

fn read_cursor(text: &str) -> Result<usize, Refusal> {
    text.strip_prefix(CURSOR).and_then(|number| number.parse().ok()).ok_or_else(|| {
        let hint = "pass nextCursor of the page before as it came, or leave it out";
        Refusal::new("cursor_invalid", "the cursor is not one of a search", hint)
    })
}
