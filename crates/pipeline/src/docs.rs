//! `docs/tools.md`, made from the tool table. A test compares the file with this.

use std::fmt::Write as _;

use serde_json::Value;

use crate::registry::{Listing, Registry, Rights};
use crate::tool::Group;

/// The page that lists every tool.
pub fn tools_page(registry: &Registry) -> String {
    let listings = registry.list(&Rights::all());
    let mut page = String::from(
        "# Tools\n\nMade from the tool table by `verger docs tools`; a test compares the two. \
         A tool returns a plan; it never acts. **answers** reads, **edits** changes vault files through the road \
         (policy, approval, checkpoint, audit), **steers** talks to the loop that called it: except for `find_tool`, these are \
         for Verger's own conversations and no MCP client sees them. \
         *Deferred* tools are listed by name only; `find_tool` returns their schema and makes them callable.\n",
    );
    for group in Group::ALL {
        let members: Vec<&Listing> = listings.iter().filter(|listing| listing.spec.group == group).collect();
        if members.is_empty() {
            continue;
        }
        let _ = write!(page, "\n## {}\n", group.name());
        for listing in members {
            describe(&mut page, listing);
        }
    }
    page
}

fn describe(page: &mut String, listing: &Listing) {
    let deferred = if listing.spec.deferred { ", deferred" } else { "" };
    let _ = write!(
        page,
        "\n### `{}` ({}{deferred})\n{}\n",
        listing.spec.name,
        listing.spec.effect.name(),
        listing.description
    );
    let Some(fields) =
        listing.schema.get("properties").and_then(Value::as_object).filter(|fields| !fields.is_empty())
    else {
        return;
    };
    let required: Vec<&str> = listing
        .schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    page.push_str("\n| field | type | default | meaning |\n|---|---|---|---|\n");
    for (name, schema) in fields {
        let default = match schema.get("default") {
            Some(Value::Null) => String::new(),
            Some(default) => format!("`{default}`"),
            None if required.contains(&name.as_str()) => "required".to_owned(),
            None => String::new(),
        };
        let meaning =
            schema.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
        let _ = writeln!(
            page,
            "| `{name}` | {} | {default} | {} |",
            kind(schema, &listing.schema),
            meaning.replace('|', "\\|")
        );
    }
}

/// A schema in a word or two.
fn kind(schema: &Value, whole: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values
            .iter()
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join(" \\| ");
    }
    if let Some(name) =
        schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"))
    {
        return whole
            .pointer(&format!("/$defs/{name}"))
            .map_or_else(|| name.to_owned(), |schema| kind(schema, whole));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(options) = schema.get(key).and_then(Value::as_array) {
            let mut kinds: Vec<String> = options
                .iter()
                .filter(|option| option.get("type").and_then(Value::as_str) != Some("null"))
                .map(|option| kind(option, whole))
                .collect();
            kinds.dedup();
            return kinds.join(" \\| ");
        }
    }
    if let Some(value) = schema.get("const") {
        return value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => {
            format!(
                "list of {}",
                schema.get("items").map_or_else(|| "any".to_owned(), |items| kind(items, whole))
            )
        }
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| *name != "null")
            .collect::<Vec<_>>()
            .join(" \\| "),
        _ => "any".to_owned(),
    }
}
