//! Many queries at once, one JSON line in and one out. A row that fails says so and stops no other.

use jiff::Zoned;
use serde_json::{Value as Json, json};

use super::encode::{result_to_json, to_json};
use super::pages::Pages;
use super::{Context, QueryError, evaluate, run};

/// Answers rows `{"id", "query"}` or `{"id", "expr"}` with `{"id", "status", "result"}`; `status` is `ok`, `error` or
/// `parse-error`, and a row that failed has `message` instead of `result`. Empty lines have no answer.
pub fn batch(lines: &str, pages: &dyn Pages, now: &Zoned) -> Vec<String> {
    let context = Context { now: now.clone(), this: None };
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| answer(line, pages, &context).to_string()).collect()
}

fn answer(line: &str, pages: &dyn Pages, context: &Context) -> Json {
    let row: Json = match serde_json::from_str(line) {
        Ok(row) => row,
        Err(error) => return json!({"id": null, "status": "error", "message": error.to_string()}),
    };
    let found = match (row["query"].as_str(), row["expr"].as_str()) {
        (Some(query), _) => run(query, pages, context).map(|result| result_to_json(&result)),
        (None, Some(expression)) => evaluate(expression, pages, context).map(|value| to_json(&value)),
        (None, None) => {
            Err(QueryError::Evaluate { message: "the row has no `query` and no `expr`".to_owned() })
        }
    };
    match found {
        Ok(result) => json!({"id": row["id"], "status": "ok", "result": result}),
        Err(error) => json!({"id": row["id"], "status": error.status(), "message": error.to_string()}),
    }
}
