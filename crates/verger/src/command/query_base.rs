//! `query --base`: the rows of a view of an Obsidian base.

use serde_json::{Value, json};
use vault::VaultPath;

use super::query::table::table;
use crate::args::QueryFormat;
use crate::door::Door;
use crate::failure::Failure;

/// What was asked of a base.
pub struct Asked {
    /// The base, or a note that holds one.
    pub base: String,
    /// Which view; the first one if not said.
    pub view: Option<String>,
    /// The file that `this` means.
    pub this: Option<String>,
    /// The time to take for now.
    pub now: Option<String>,
    /// How the answer looks.
    pub format: Option<QueryFormat>,
}

/// Asks, and prints all rows; what is odd goes to stderr.
pub fn query_base(door: &Door<'_>, asked: Asked) -> Result<(), Failure> {
    let usual = if door.terminal.is_screen() { QueryFormat::Table } else { QueryFormat::Md };
    let shape = asked.format.unwrap_or(usual);
    let format = if shape == QueryFormat::Csv { "csv" } else { "bare" };
    let mut input = json!({"path": named(door, &asked.base)?, "limit": 0, "format": format});
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            input[key] = value;
        }
    };
    set("view", asked.view.map(Value::from));
    set("now", asked.now.map(Value::from));
    set("this", asked.this.as_deref().map(|note| door.resolve(note)).transpose()?.map(|path| json!(path)));
    let answer = door.answer("query_base", input)?;
    if door.terminal.json || shape == QueryFormat::Json {
        door.json(&answer.data);
        return Ok(());
    }
    let notices = answer.data["notices"].as_array().into_iter().flatten().filter_map(Value::as_str);
    notices.for_each(|notice| door.terminal.note(&format!("note: {notice}")));
    if shape == QueryFormat::Table {
        door.terminal.data(&table(&answer.data, door.terminal.width(), &door.terminal.out));
        return Ok(());
    }
    let text = door.terminal.out.text(&answer.text);
    door.terminal.data(&format!("{}\n", text.trim_end()));
    Ok(())
}

/// The base that a name means: `Books` is `Books.base` where there is one, else a note.
fn named(door: &Door<'_>, name: &str) -> Result<VaultPath, Failure> {
    if !name.ends_with(".base")
        && let Ok(path) = door.resolve(&format!("{name}.base"))
        && path.extension() == Some("base")
    {
        return Ok(path);
    }
    door.resolve(name)
}
