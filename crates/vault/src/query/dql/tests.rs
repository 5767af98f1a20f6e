//! The recorded answers of Dataview itself, where they lie beside the repository, and rows of our own.

use std::path::PathBuf;

use serde_json::Value as Json;

use super::*;

fn context() -> Context {
    let now = "2024-06-15T12:00:00Z".parse::<jiff::Timestamp>().unwrap();
    Context { now: now.to_zoned(jiff::tz::TimeZone::UTC), this: None }
}

/// The rows of a file of the recorded answers; none where they are not there.
fn corpus(name: &str) -> Option<Vec<Json>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/dataview").join(name);
    let Ok(text) = read(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[allow(clippy::disallowed_methods, reason = "the corpora are no vault")]
fn read(path: &std::path::Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

/// Numbers count as equal within 1e-9.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(1.0)
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

#[track_caller]
fn score(name: &str, misses: &[String], total: usize) {
    println!("{name}: {} of {total}", total - misses.len());
    misses.iter().take(60).for_each(|miss| println!("  {miss}"));
    assert!(misses.len() * 100 <= total, "{name}: {} of {total} missed", misses.len());
}

fn expressions(name: &str) {
    let Some(rows) = corpus(name) else { return };
    let mut misses = Vec::new();
    for row in &rows {
        let expr = row["expr"].as_str().unwrap();
        let found = evaluate(expr, &NoPages, &context()).map(|value| encode::to_json(&value));
        let fits = match (&found, row.get("error")) {
            (Err(error), Some(_)) => row["stage"] != "parse" || error.status() == "parse-error",
            (Ok(found), None) => same(found, &row["value"]),
            _ => false,
        };
        if !fits {
            let found = found.map_or_else(|error| format!("error: {error}"), |found| found.to_string());
            misses.push(format!(
                "{} {expr}: {found}, not {}",
                row["id"],
                row.get("value").unwrap_or(&"error".into())
            ));
        }
    }
    score(name, &misses, rows.len());
}

#[test]
fn expressions_of_the_suite_have_the_recorded_values() {
    expressions("eval.jsonl");
}

#[test]
fn operators_and_functions_have_the_recorded_values() {
    expressions("matrix.jsonl");
}
