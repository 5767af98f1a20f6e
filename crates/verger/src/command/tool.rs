//! `tool`, `tools`, `docs`: the tools themselves, by hand.

use pipeline::{Registry, Rights};
use serde_json::Value;

use crate::args::{Page, Writing};
use crate::config;
use crate::door::Door;
use crate::failure::Failure;
use crate::paper::{self, Role};
use crate::place::read_named;
use crate::terminal::Terminal;

/// Calls a tool.
pub fn tool(door: &Door<'_>, name: &str, input: &str, writing: Writing) -> Result<(), Failure> {
    let text = match input.strip_prefix('@') {
        Some(file) => read_named(std::path::Path::new(file))?,
        None if input == "-" => door.terminal.read_stdin()?,
        None => input.to_owned(),
    };
    let input: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(
            format!("the input is not JSON: {error}"),
            format!("give an object in quotes, e.g. --input '{{\"path\": \"Inbox.md\"}}'; `verger tools` lists the fields of {name}"),
        )
    })?;
    let outcome = door.call(name, input, writing);
    door.tell(&outcome)
}

/// Lists the tools.
pub fn list(terminal: &Terminal) -> Result<(), Failure> {
    let listings = all().list(&Rights::all());
    if terminal.json {
        terminal.json(&serde_json::json!({"ok": true, "data": {"tools": listings}}));
        return Ok(());
    }
    let mut text = String::new();
    for listing in &listings {
        let first = listing.description.split(". ").next().unwrap_or_default();
        let fields: Vec<&str> = listing
            .schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|fields| fields.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let effect = listing.spec.effect.name();
        text.push_str(&format!(
            "{}  {effect}  {}\n    {}\n",
            terminal.out.paint(Role::Title, &listing.spec.name),
            fields.join(", "),
            paper::one_line(first.trim_end_matches('.')),
        ));
    }
    terminal.data(&text);
    Ok(())
}

/// Prints a page of the documentation.
pub fn docs(terminal: &Terminal, page: Page) -> Result<(), Failure> {
    let text = match page {
        Page::Tools => pipeline::docs::tools_page(&tools::table::every()),
        Page::Config => config::page(),
    };
    if terminal.json {
        terminal.json(&serde_json::json!({"ok": true, "data": {"text": text}}));
    } else {
        terminal.data(&text);
    }
    Ok(())
}

fn all() -> Registry {
    tools::table::all()
}
