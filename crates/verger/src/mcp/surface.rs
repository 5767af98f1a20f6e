//! Which tools a client sees, and how they are listed.

use std::sync::Arc;

use pipeline::registry::Listing;
use pipeline::{Effect, Registry, Spec};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;
use tools::obsidian::app::App;
use tools::obsidian::output;

use super::{dry, vaults};

/// A family of names for the same engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Surface {
    /// The names of the well-known Obsidian server (`obsidian_get_note` …).
    #[default]
    Obsidian,
    /// Verger's own names (`read_file` …).
    Agent,
}

/// Edits that leave everything as it is when they are repeated.
const IDEMPOTENT: [&str; 4] = ["obsidian_write_note", "write_file", "create_folder", "update_frontmatter"];

/// The tools of a surface, beside the app.
pub fn registry(surface: Surface, app: &App) -> Registry {
    match surface {
        Surface::Obsidian => tools::table::obsidian_beside(app),
        Surface::Agent => tools::table::all(),
    }
}

/// A tool as MCP lists it. `vaults` are the names to choose from, where there is a choice.
pub fn tool(listing: Listing, vaults: &[&str]) -> Tool {
    let Listing { spec, description, schema } = listing;
    let mut schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    schema.entry("type").or_insert_with(|| "object".into());
    dry::announce(&mut schema, spec.effect);
    vaults::announce(&mut schema, vaults);
    slim(&mut schema);
    let (annotations, title) = (annotations(&spec), title(&spec.name));
    let output = output::schema(&spec.name);
    let mut tool =
        Tool::new(spec.name, description, Arc::new(schema)).with_title(title).with_annotations(annotations);
    if let Some(Value::Object(output)) = output {
        tool = tool.with_raw_output_schema(Arc::new(output));
    }
    tool
}

/// What the client should know before it calls. What the protocol assumes anyway is left out: every client reads all of it.
fn annotations(spec: &Spec) -> ToolAnnotations {
    let mut hints = ToolAnnotations::new();
    let acts = spec.effect == Effect::Acts;
    let reads = matches!(spec.effect, Effect::Answers | Effect::Steers);
    let harmless = acts && spec.name == "obsidian_open_in_ui";
    if reads {
        hints = hints.read_only(true);
    } else {
        hints = hints.destructive(!harmless);
    }
    if reads || harmless || IDEMPOTENT.contains(&spec.name.as_ref()) {
        hints = hints.idempotent(true);
    }
    if acts { hints.open_world(true) } else { hints }
}

/// Takes out of a schema what says little: that a field may be null as well as absent, how wide a number is, and that
/// objects are closed, which the tool itself sees to with a better message.
fn slim(fields: &mut JsonObject) {
    if let Some(Value::Array(kinds)) = fields.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            fields["type"] = only.clone();
        }
    }
    if let Some(Value::Array(kinds)) = fields.get_mut("anyOf") {
        kinds.retain(|kind| kind["type"] != "null");
        if let [Value::Object(only)] = kinds.clone().as_slice() {
            fields.shift_remove("anyOf");
            only.iter().for_each(|(key, value)| {
                fields.entry(key.clone()).or_insert_with(|| value.clone());
            });
        }
    }
    let noise = |key: &str, value: &Value| match key {
        // Only as words of the schema: a field may have these names, too.
        "format" => value.is_string() && value != "date",
        "minLength" => value == 1,
        "minimum" => value == 0,
        "additionalProperties" => value == false,
        "default" => value.is_null() || value.as_array().is_some_and(Vec::is_empty) || value.is_object(),
        _ => false,
    };
    fields.retain(|key, value| !noise(key, value));
    for value in fields.values_mut() {
        match value {
            Value::Object(inner) => slim(inner),
            Value::Array(items) => items.iter_mut().filter_map(Value::as_object_mut).for_each(slim),
            _ => {}
        }
    }
}

/// `obsidian_get_note` is `Obsidian Get Note`.
fn title(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::Rights;

    #[test]
    fn every_tool_is_listed_with_a_schema_of_an_object_and_its_hints() {
        for surface in [Surface::Obsidian, Surface::Agent] {
            for listing in registry(surface, &App::default()).list(&Rights::all()) {
                let (name, effect) = (listing.spec.name.clone(), listing.spec.effect);
                let tool = serde_json::to_value(tool(listing, &[])).unwrap();
                assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
                let hints = &tool["annotations"];
                let changes =
                    effect == Effect::Edits || (effect == Effect::Acts && name != "obsidian_open_in_ui");
                assert_eq!(hints["destructiveHint"] == true, changes, "{name}");
                assert_eq!(hints["openWorldHint"] == true, effect == Effect::Acts, "{name}");
                let dry = &tool["inputSchema"]["properties"]["dryRun"];
                assert_eq!(dry.is_object(), effect == Effect::Edits, "{name}");
            }
        }
        let listing = registry(Surface::Obsidian, &App::default()).list(&Rights::all()).remove(0);
        let several = serde_json::to_value(tool(listing, &["A", "B"])).unwrap();
        assert_eq!(several["inputSchema"]["properties"]["vault"]["enum"], serde_json::json!(["A", "B"]));
        assert_eq!(several["inputSchema"]["required"][0], "vault");
        assert_eq!(title("obsidian_get_note"), "Obsidian Get Note");
    }
}
