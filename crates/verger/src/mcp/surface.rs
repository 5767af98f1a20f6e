//! Which tools a client sees, and how they are listed.

use std::sync::Arc;

use pipeline::registry::Listing;
use pipeline::{Effect, Registry};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};

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

/// The tools of a surface.
pub fn registry(surface: Surface) -> Registry {
    match surface {
        Surface::Obsidian => tools::table::obsidian(),
        Surface::Agent => tools::table::all(),
    }
}

/// A tool as MCP lists it.
pub fn tool(listing: Listing) -> Tool {
    let Listing { spec, description, schema } = listing;
    let mut schema = match schema {
        serde_json::Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    schema.entry("type").or_insert_with(|| "object".into());
    let reads = matches!(spec.effect, Effect::Answers | Effect::Steers);
    let idempotent = reads || IDEMPOTENT.contains(&spec.name.as_ref());
    let annotations = ToolAnnotations::with_title(title(&spec.name))
        .read_only(reads)
        .destructive(spec.effect == Effect::Edits)
        .idempotent(idempotent)
        .open_world(spec.effect == Effect::Acts);
    let title = title(&spec.name);
    Tool::new(spec.name, description, Arc::new(schema)).with_title(title).with_annotations(annotations)
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
            for listing in registry(surface).list(&Rights::all()) {
                let (name, effect) = (listing.spec.name.clone(), listing.spec.effect);
                let tool = serde_json::to_value(tool(listing)).unwrap();
                assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
                assert_eq!(tool["annotations"]["destructiveHint"], effect == Effect::Edits, "{name}");
                assert_eq!(tool["annotations"]["openWorldHint"], effect == Effect::Acts, "{name}");
            }
        }
        assert_eq!(title("obsidian_get_note"), "Obsidian Get Note");
    }
}
