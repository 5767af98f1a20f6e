//! `query`: questions to the vault in Dataview's language or in JSONLogic, asked once or whenever the vault changes.

pub mod table;
mod watch;

use pipeline::Output;
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
    /// How the answer looks; a table on a terminal and Markdown elsewhere if not said.
    pub format: Option<QueryFormat>,
    /// Whether to stay and print again.
    pub watch: bool,
}

/// Asks, and prints the answer.
pub fn query(door: &Door<'_>, asked: Query) -> Result<(), Failure> {
    let shape = Shape::of(door.terminal, &asked);
    let watching = asked.watch;
    let input = input(door, asked, shape)?;
    if watching {
        return watch::watch(door, &input, shape);
    }
    let answer = door.answer("query_vault", input)?;
    door.terminal.data(&shape.text(door.terminal, &answer));
    Ok(())
}

/// The rows of a batch: from a file, or from stdin (`-`).
pub fn read_rows(terminal: &Terminal, file: &str) -> Result<String, Failure> {
    if file == "-" { terminal.read_stdin() } else { read_named(std::path::Path::new(file)) }
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    /// One JSON line for each row, with or without --json: that is what a batch is for.
    Rows,
    Formatted(QueryFormat),
}

impl Shape {
    fn of(terminal: &Terminal, asked: &Query) -> Shape {
        let usual = if terminal.is_screen() { QueryFormat::Table } else { QueryFormat::Md };
        match (&asked.batch, terminal.json) {
            (Some(_), _) => Shape::Rows,
            (None, true) => Shape::Formatted(QueryFormat::Json),
            (None, false) => Shape::Formatted(asked.format.unwrap_or(usual)),
        }
    }

    /// The answer as it is printed, with the end of its last line.
    fn text(self, terminal: &Terminal, answer: &Output) -> String {
        match self {
            Shape::Rows => format!("{}\n", answer.text),
            Shape::Formatted(QueryFormat::Json) => format!("{}\n", json!({"ok": true, "data": answer.data})),
            Shape::Formatted(QueryFormat::Table) => {
                table::table(&answer.data, terminal.width(), &terminal.out)
            }
            Shape::Formatted(QueryFormat::Md | QueryFormat::Csv) => {
                format!("{}\n", terminal.out.text(&answer.text).trim_end())
            }
        }
    }
}

fn input(door: &Door<'_>, asked: Query, shape: Shape) -> Result<Value, Failure> {
    let csv = shape == Shape::Formatted(QueryFormat::Csv);
    let mut input = json!({"format": if csv { "csv" } else { "markdown" }});
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
    Ok(input)
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
