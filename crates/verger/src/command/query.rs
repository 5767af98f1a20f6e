//! `query`: questions to the vault in Dataview's language or in JSONLogic.

use serde_json::{Value, json};

use crate::args::QueryFormat;
use crate::door::Door;
use crate::failure::Failure;
use crate::place::read_named;
use crate::terminal::Terminal;

/// What `query` was asked.
pub struct Query {
    /// The Dataview query.
    pub query: Option<String>,
    /// A JSONLogic rule instead.
    pub jsonlogic: Option<String>,
    /// Rows of queries instead, as text.
    pub batch: Option<String>,
    /// The note in which the query stands.
    pub this: Option<String>,
    /// The time to take for now.
    pub now: Option<String>,
    /// How the answer looks.
    pub format: QueryFormat,
}

/// Asks, and prints the answer.
pub fn query(door: &Door<'_>, asked: Query) -> Result<(), Failure> {
    let is_batch = asked.batch.is_some();
    let mut input = json!({"format": if asked.format == QueryFormat::Csv { "csv" } else { "markdown" }});
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            input[key] = value;
        }
    };
    set("query", asked.query.map(Value::from));
    set("batch", asked.batch.map(Value::from));
    set("now", asked.now.map(Value::from));
    set("logic", asked.jsonlogic.as_deref().map(rule).transpose()?);
    set("this", asked.this.as_deref().map(|note| door.resolve(note)).transpose()?.map(|path| json!(path)));
    let answer = door.answer("query_vault", input)?;
    if is_batch {
        // One JSON line for each row, with or without --json: that is what a batch is for.
        door.terminal.data(&format!("{}\n", answer.text));
    } else if door.terminal.json || asked.format == QueryFormat::Json {
        door.json(&answer.data);
    } else {
        let text = door.terminal.out.text(&answer.text);
        door.terminal.data(&format!("{}\n", text.trim_end()));
    }
    Ok(())
}

/// The rows of a batch: from a file, or from stdin (`-`).
pub fn read_rows(terminal: &Terminal, file: &str) -> Result<String, Failure> {
    if file == "-" { terminal.read_stdin() } else { read_named(std::path::Path::new(file)) }
}

fn rule(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        pipeline::Refusal::new(
            "logic_invalid",
            format!("the rule is no JSON: {error}"),
            "e.g. --jsonlogic '{\"==\": [{\"var\": \"frontmatter.status\"}, \"open\"]}'",
        )
        .into()
    })
}
