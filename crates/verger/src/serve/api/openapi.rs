//! The description of the API, made from the areas themselves.

use serde_json::{Map, Value, json};

use super::area::Operation;

/// An OpenAPI 3.1 document of these operations.
pub fn describe(operations: &[Operation]) -> Value {
    let mut paths = Map::new();
    for operation in operations {
        let place = paths.entry(operation.path).or_insert_with(|| json!({}));
        place[operation.method] = one(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Verger",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The API behind the page of `verger serve`. It is used with the cookie of a login.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"cookie": {"type": "apiKey", "in": "cookie", "name": "verger-PORT"}},
            "schemas": {"Problem": {
                "type": "object",
                "properties": {"error": {
                    "type": "object",
                    "properties": {"reason": {"type": "string"}, "message": {"type": "string"}, "hint": {"type": "string"}},
                    "required": ["reason", "message", "hint"],
                }},
                "required": ["error"],
            }},
        },
        "security": [{"cookie": []}],
    })
}

fn one(operation: &Operation) -> Value {
    let name = |part: &str| part.strip_prefix('{')?.strip_suffix('}').map(str::to_owned);
    let mut parameters: Vec<Value> = operation
        .path
        .split('/')
        .filter_map(name)
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    let problem = json!({
        "description": "Refused, with a reason and what to do.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    });
    let mut paper = json!({
        "summary": operation.about,
        "responses": {"200": {"description": "Done."}, "default": problem},
    });
    let taken = operation.takes.as_ref().map(|schema| schema.as_value().clone());
    match taken {
        Some(mut schema) if matches!(operation.method, "post" | "put") => {
            // Schemas of ours stand where they are used, so they bring their own definitions.
            schema.as_object_mut().map(|schema| schema.remove("$schema"));
            paper["requestBody"] =
                json!({"required": true, "content": {"application/json": {"schema": schema}}});
        }
        Some(schema) => parameters.extend(queried(&schema)),
        None => {}
    }
    paper["parameters"] = Value::Array(parameters);
    paper
}

fn queried(schema: &Value) -> Vec<Value> {
    let required = |name: &str| {
        let list = schema.get("required").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|known| known == name))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| json!({"name": name, "in": "query", "required": required(name), "schema": schema}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_of_the_api_is_described() {
        let (_, operations) = crate::serve::api::areas().split();
        let paper = describe(&operations);
        assert!(!operations.is_empty());
        for operation in &operations {
            let told = &paper["paths"][operation.path][operation.method];
            assert!(told["summary"].as_str().is_some_and(|about| !about.is_empty()), "{}", operation.path);
            assert!(operation.path.starts_with("/api/"), "{}", operation.path);
        }
    }
}
