//! What the tools of this surface answer, as JSON Schema: `outputSchema` of the listing. Kept tight, because every client
//! reads all of it: one shape for all kinds of an answer, no descriptions. The tests compare every answer with it.

use serde_json::{Map, Value, json};

/// The shape of a tool's structured answer; none for tools of other surfaces.
pub fn schema(tool: &str) -> Option<Value> {
    let mut shape = match tool.strip_prefix("obsidian_")? {
        "get_note" => result(get_note(), "format path"),
        "list_notes" => list_notes(),
        "list_tags" => {
            let tag = object([("name", kind("string")), ("count", kind("number"))], "name count");
            object([("tags", list(tag)), ("notice", kind("string"))], "tags")
        }
        "search_notes" => search_notes(),
        "open_in_ui" => {
            let yes = || kind("boolean");
            let fields = [
                ("path", kind("string")),
                ("opened", yes()),
                ("createdIfMissing", yes()),
                ("uri", kind("string")),
            ];
            object(fields, "path opened createdIfMissing")
        }
        "write_note" | "append_to_note" => {
            let more = [
                ("created", kind("boolean")),
                ("sectionTargeted", kind("boolean")),
                ("sectionTarget", kind("string")),
            ];
            object(with_sizes(more), "path created")
        }
        "patch_note" => {
            let more = [("section", kind("object")), ("operation", kind("string"))];
            object(with_sizes(more), "path section")
        }
        "replace_in_note" => {
            let more = [("totalReplacements", kind("number")), ("perReplacement", kind("array"))];
            object(with_sizes(more), "path totalReplacements")
        }
        "manage_frontmatter" => {
            let more = [
                ("operation", kind("string")),
                ("key", kind("string")),
                ("exists", kind("boolean")),
                ("value", json!({})),
                ("frontmatter", kind("object")),
            ];
            result(with_sizes(more), "operation path key")
        }
        "manage_tags" => {
            let names = || kind("array");
            let more = [
                ("operation", kind("string")),
                ("applied", names()),
                ("skipped", names()),
                ("tags", json!({})),
            ];
            result(with_sizes(more), "operation path tags")
        }
        "delete_note" => {
            let more = [("deleted", kind("boolean"))];
            object(with_sizes(more), "path deleted")
        }
        "list_commands" => {
            let command = object([("id", kind("string")), ("name", kind("string"))], "id name");
            object([("commands", list(command))], "commands")
        }
        "execute_command" => {
            object([("commandId", kind("string")), ("executed", kind("boolean"))], "commandId executed")
        }
        "move_note" => object([("path", kind("string")), ("source", kind("string"))], "path"),
        "get_links" => object(
            [("path", kind("string")), ("forward", kind("object")), ("backlinks", kind("object"))],
            "path",
        ),
        "history" => {
            object([("checkpoints", list(kind("object"))), ("total", kind("number"))], "checkpoints")
        }
        "undo" => kind("object"),
        "batch_edit" => {
            object([("files", list(kind("string"))), ("results", list(kind("object")))], "files results")
        }
        "health_check" => {
            object([("counts", kind("object")), ("findings", list(kind("object")))], "counts findings")
        }
        "periodic_note" => {
            let fields =
                [("path", kind("string")), ("created", kind("boolean")), ("content", kind("string"))];
            object(fields, "path created content")
        }
        "find_tool" => object([("tools", list(kind("object")))], "tools"),
        _ => return None,
    };
    // An error is answered in the same place as `{error}`, and clients compare that with the schema, too.
    if let Some(shape) = shape.as_object_mut() {
        shape.shift_remove("required");
    }
    Some(shape)
}

fn get_note() -> Vec<(&'static str, Value)> {
    let names = || kind("array");
    vec![
        ("format", kind("string")),
        ("path", kind("string")),
        ("version", kind("string")),
        ("content", kind("string")),
        ("frontmatter", kind("object")),
        ("tags", names()),
        ("stat", kind("object")),
        ("outgoingLinks", names()),
        ("headings", names()),
        ("blocks", names()),
        ("frontmatterFields", names()),
        ("section", kind("object")),
        ("valueText", kind("string")),
        ("valueJson", json!({})),
    ]
}

fn list_notes() -> Value {
    let entry = object(
        [("path", kind("string")), ("type", kind("string")), ("truncated", kind("boolean"))],
        "path type",
    );
    let fields = [
        ("path", kind("string")),
        ("entries", list(entry)),
        ("totals", kind("object")),
        ("appliedFilters", kind("object")),
        ("notice", kind("string")),
    ];
    object(fields, "path entries totals appliedFilters")
}

fn search_notes() -> Value {
    let found = [
        ("mode", kind("string")),
        ("hits", list(kind("object"))),
        ("totalCount", kind("number")),
        ("nextCursor", kind("string")),
    ];
    let found = object(found, "mode hits totalCount");
    object([("result", found), ("effectiveQuery", kind("string")), ("notice", kind("string"))], "result")
}

fn with_sizes<const N: usize>(more: [(&'static str, Value); N]) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("path", kind("string"))];
    fields.extend(more);
    fields.push(("previousSizeInBytes", kind("number")));
    fields.push(("currentSizeInBytes", kind("number")));
    fields.push(("version", kind("string")));
    fields
}

fn kind(name: &str) -> Value {
    json!({ "type": name })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn object(fields: impl IntoIterator<Item = (&'static str, Value)>, required: &str) -> Value {
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, shape)| (name.to_owned(), shape)).collect();
    let required: Vec<&str> = required.split_whitespace().collect();
    match required.is_empty() {
        true => json!({ "type": "object", "properties": properties }),
        false => json!({ "type": "object", "properties": properties, "required": required }),
    }
}

fn result(fields: Vec<(&'static str, Value)>, required: &str) -> Value {
    object([("result", object(fields, required))], "result")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_fits_every_shape() {
        for tool in ["get_note", "search_notes", "write_note", "delete_note", "get_links", "batch_edit"] {
            let shape = schema(&format!("obsidian_{tool}")).unwrap();
            assert_eq!(
                (&shape["required"], &shape["additionalProperties"]),
                (&Value::Null, &Value::Null),
                "{tool}"
            );
        }
    }
}
