//! What holds for the whole surface: the names and fields of the original, and nothing of what may not be read.

use std::collections::BTreeSet;

use pipeline::approve::Beforehand;
use pipeline::testing::{Rig, show};
use pipeline::{Effect, Rights};
use serde_json::{Value, json};

use crate::table::obsidian;

/// The listing of the original, recorded from a running server.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/specs/obsidian-tools.json");
/// They need the app.
const LEFT_OUT: [&str; 2] = ["obsidian_list_commands", "obsidian_execute_command"];
/// What the original does not have.
const EXTRAS: [&str; 4] = ["obsidian_move_note", "obsidian_get_links", "obsidian_undo", "obsidian_history"];

#[expect(clippy::disallowed_methods, reason = "the recording lies outside of the repository")]
fn recorded() -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(RECORDED).ok()?;
    let listing: Value = serde_json::from_str(&text).unwrap();
    Some(listing["tools"].as_array().unwrap().clone())
}

/// The fields of an object schema: those that must be there, those that may be, and the defaults.
fn fields(schema: &Value) -> (BTreeSet<String>, BTreeSet<String>, Vec<(String, Value)>) {
    let properties = schema["properties"].as_object().unwrap();
    let required: BTreeSet<String> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    // Ours alone: the original knows no versions.
    let optional = properties.keys().filter(|name| !required.contains(*name) && *name != "ifMatch").cloned();
    let defaults =
        properties.iter().filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
    (required.clone(), optional.collect(), defaults.collect())
}

/// The defaults of the original are ours; what it leaves open may have one.
#[track_caller]
fn same_fields(name: &str, ours: &Value, theirs: &Value) {
    let ((required, optional, defaults), (their_required, their_optional, their_defaults)) =
        (fields(ours), fields(theirs));
    assert_eq!(required, their_required, "{name} requires");
    assert_eq!(optional, their_optional, "{name} may have");
    for default in their_defaults {
        assert!(defaults.contains(&default), "{name}: {default:?} is not among {defaults:?}");
    }
}

#[test]
fn names_fields_and_defaults_are_those_of_the_original() {
    let Some(recorded) = recorded() else {
        println!("skipped: {RECORDED} is not there");
        return;
    };
    let ours = obsidian().list(&Rights::all());
    let find = |name: &str| ours.iter().find(|tool| tool.spec.name == name);
    for theirs in &recorded {
        let name = theirs["name"].as_str().unwrap();
        let Some(tool) = find(name) else {
            assert!(LEFT_OUT.contains(&name), "{name} is not there");
            continue;
        };
        same_fields(name, &tool.schema, &theirs["inputSchema"]);
        for part in ["section", "patchOptions"] {
            let their_part = &theirs["inputSchema"]["properties"][part];
            let our_part = object(&tool.schema["properties"][part]);
            if their_part.is_object() {
                same_fields(&format!("{name}.{part}"), our_part, their_part);
            }
        }
        let (our_target, their_target) =
            (&tool.schema["properties"]["target"], &theirs["inputSchema"]["properties"]["target"]);
        for (our_kind, their_kind) in kinds(our_target).iter().zip(kinds(their_target)) {
            assert_eq!(our_kind["properties"]["type"]["const"], their_kind["properties"]["type"]["const"]);
            same_fields(&format!("{name}.target"), our_kind, &their_kind);
        }
        assert_eq!(kinds(our_target).len(), kinds(their_target).len(), "{name}.target");
    }
    let known: BTreeSet<&str> =
        recorded.iter().filter_map(|tool| tool["name"].as_str()).chain(EXTRAS).collect();
    assert!(ours.iter().all(|tool| known.contains(&*tool.spec.name)));
    assert_eq!(ours.len(), known.len() - LEFT_OUT.len());
}

/// The object in a field that may be null.
fn object(field: &Value) -> &Value {
    let either = field["anyOf"]
        .as_array()
        .and_then(|kinds| kinds.iter().find(|kind| kind.get("properties").is_some()));
    either.unwrap_or(field)
}

fn kinds(target: &Value) -> Vec<Value> {
    target["oneOf"].as_array().cloned().unwrap_or_default()
}

#[test]
fn who_may_only_read_sees_the_tools_that_only_answer() {
    let names: BTreeSet<String> =
        obsidian().list(&Rights::read_only()).into_iter().map(|tool| tool.spec.name.to_string()).collect();
    let expected =
        ["get_links", "get_note", "history", "list_notes", "list_tags", "open_in_ui", "search_notes"];
    assert_eq!(names, expected.iter().map(|name| format!("obsidian_{name}")).collect());
    for tool in obsidian().list(&Rights::all()) {
        let answers = tool.spec.effect == Effect::Answers;
        assert_eq!(answers, names.contains(&*tool.spec.name), "{}", tool.spec.name);
    }
}

#[test]
fn every_field_is_described_and_no_other_is_taken() {
    for tool in obsidian().list(&Rights::all()) {
        for (field, schema) in tool.schema["properties"].as_object().unwrap() {
            assert!(schema.get("description").is_some(), "{}.{field}", tool.spec.name);
        }
        assert_eq!(tool.schema["additionalProperties"], json!(false), "{}", tool.spec.name);
    }
}

#[test]
fn the_listing_is_short_and_no_tool_is_hidden_in_it() {
    let listing = obsidian().list(&Rights::all());
    let length: usize =
        listing.iter().map(|tool| tool.description.len() + tool.schema.to_string().len()).sum();
    assert!(listing.iter().all(|tool| !tool.spec.deferred && !tool.description.is_empty()));
    assert!(length < 18_000, "{length} characters in every conversation");
}

const SEEN: &str = "a.md: ---\ntags: [open]\n---\n[[b]] needle #open\n--- b.md: [[a]] needle";
const HIDDEN: &str = "\n--- Private/zebra.md: ---\ntags: [open, stripes]\n---\n[[a]] needle savanna #open\n\
    --- Private/b.md: [[zebra]] savanna\n--- Private/2026-03-14.md: savanna";

#[test]
fn every_answer_is_as_if_hidden_notes_were_not_there() {
    let rules = "\n--- .verger/ignore: Private/\n--- .obsidian/daily-notes.json: {\"folder\": \"Private\"}\n\
        --- .obsidian/workspace.json: {\"active\": \"l\", \"main\": {\"id\": \"l\", \"state\": {\"state\": {\"file\": \"Private/zebra.md\"}}}}";
    let with = Rig::new(&format!("{SEEN}{HIDDEN}{rules}"), obsidian());
    let without = Rig::new(&format!("{SEEN}{rules}"), obsidian());
    let at = |path: &str| json!({"type": "path", "path": path});
    let read = |target: Value| ("obsidian_get_note", json!({"format": "content", "target": target}));
    for (tool, input) in [
        read(at("Private/zebra.md")),
        read(at("zebra")),
        read(at("b")),
        read(json!({"type": "active"})),
        read(json!({"type": "periodic", "period": "daily"})),
        ("obsidian_list_notes", json!({"depth": 20})),
        ("obsidian_list_notes", json!({"path": "Private"})),
        ("obsidian_list_tags", json!({})),
        ("obsidian_search_notes", json!({"mode": "text", "query": "needle"})),
        ("obsidian_search_notes", json!({"mode": "text", "query": "savanna"})),
        ("obsidian_get_links", json!({"path": "a.md"})),
        ("obsidian_open_in_ui", json!({"path": "Private/zebra.md"})),
        ("obsidian_history", json!({})),
        ("obsidian_delete_note", json!({"target": at("Private/zebra.md")})),
        ("obsidian_append_to_note", json!({"target": at("Private/zebra.md"), "content": "x"})),
        ("obsidian_write_note", json!({"target": at("Private/zebra.md"), "content": "x"})),
        ("obsidian_manage_tags", json!({"target": at("Private/zebra.md"), "operation": "list"})),
        ("obsidian_move_note", json!({"path": "Private/zebra.md", "destination": "z.md"})),
    ] {
        let answer = |rig: &Rig| {
            let outcome = rig.call(tool, input.clone(), &Beforehand);
            format!("{}\n{:?}", show(&outcome), outcome.output().map(|output| output.data.clone()))
        };
        let (seen, expected) = (answer(&with), answer(&without));
        assert_eq!(seen, expected, "{tool} {input}");
        assert!(!seen.contains("stripes"), "{tool} {input}: {seen}");
    }
    assert_eq!(with.bytes("Private/b.md"), b"[[zebra]] savanna");
}

/// What our answers hold beyond the original's.
const ADDED: [&str; 3] = ["version", "line", "uri"];

/// Compares a value with a schema of the original: all that is required is there, and nothing else but [`ADDED`].
fn problems(value: &Value, schema: &Value, at: &str, out: &mut Vec<String>) {
    if let Some(kinds) = schema["oneOf"].as_array() {
        let fits = |kind: &&Value| {
            let constants = kind["properties"].as_object().into_iter().flatten();
            constants
                .into_iter()
                .all(|(name, field)| field.get("const").is_none_or(|only| value[name] == *only))
        };
        match kinds.iter().find(fits) {
            Some(kind) => problems(value, kind, at, out),
            None => out.push(format!("{at}: none of the kinds")),
        }
    } else if let Some(fields) = schema["properties"].as_object() {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.get(name).is_none() {
                out.push(format!("{at}.{name} is not there"));
            }
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            match fields.get(name) {
                Some(field) => problems(value, field, &format!("{at}.{name}"), out),
                None if ADDED.contains(&name.as_str()) => {}
                None => out.push(format!("{at}.{name} is not known")),
            }
        }
    } else if let Some(items) = schema.get("items") {
        for item in value.as_array().into_iter().flatten() {
            problems(item, items, &format!("{at}[]"), out);
        }
    } else if let Some(kind) = schema["type"].as_str() {
        let is = match value {
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) => "boolean",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::Null => "null",
        };
        if is != kind {
            out.push(format!("{at} is a {is}"));
        }
    }
}

#[test]
fn answers_have_the_shape_of_the_originals() {
    let Some(recorded) = recorded() else {
        println!("skipped: {RECORDED} is not there");
        return;
    };
    let vault = "a.md: ---\ntags: [x]\nn: 1\n---\n# A\ntext [[b]] ^id\n## B\nmore #y\n--- F/G/b.md: text";
    let note = |more: Value| {
        let mut input = json!({"target": {"type": "path", "path": "a.md"}});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let heading = json!({"type": "heading", "target": "B"});
    for (tool, input) in [
        ("get_note", note(json!({"format": "content"}))),
        ("get_note", note(json!({"format": "full", "includeLinks": true}))),
        ("get_note", note(json!({"format": "document-map"}))),
        ("get_note", note(json!({"format": "section", "section": heading}))),
        ("get_note", note(json!({"format": "section", "section": {"type": "frontmatter", "target": "n"}}))),
        ("list_notes", json!({"extension": "md", "nameRegex": "", "depth": 1})),
        ("list_notes", json!({"nameRegex": "^$"})),
        ("list_tags", json!({"nameRegex": "x"})),
        ("list_tags", json!({"nameRegex": "none"})),
        ("search_notes", json!({"mode": "text", "query": "text", "maxMatchesPerHit": 1})),
        ("search_notes", json!({"mode": "text", "query": "nowhere"})),
        ("write_note", note(json!({"content": "x", "overwrite": true}))),
        ("write_note", note(json!({"content": "x", "section": heading}))),
        ("append_to_note", note(json!({"content": "x"}))),
        ("append_to_note", note(json!({"content": "x", "section": heading}))),
        ("patch_note", note(json!({"content": "x", "section": heading, "operation": "prepend"}))),
        ("replace_in_note", note(json!({"replacements": [{"search": "text", "replace": "word"}]}))),
        ("replace_in_note", note(json!({"replacements": [{"search": "nowhere", "replace": "word"}]}))),
        ("manage_frontmatter", note(json!({"operation": "get", "key": "n"}))),
        ("manage_frontmatter", note(json!({"operation": "set", "key": "n", "value": [2]}))),
        ("manage_frontmatter", note(json!({"operation": "delete", "key": "none"}))),
        ("manage_tags", note(json!({"operation": "list"}))),
        ("manage_tags", note(json!({"operation": "add", "tags": ["z"]}))),
        ("manage_tags", note(json!({"operation": "remove", "tags": ["z"]}))),
        ("delete_note", note(json!({}))),
        ("open_in_ui", json!({"path": "a.md"})),
    ] {
        let name = format!("obsidian_{tool}");
        let outcome = Rig::new(vault, obsidian()).call(&name, input.clone(), &Beforehand);
        let data = &outcome.output().unwrap_or_else(|| panic!("{name} {input}: {}", show(&outcome))).data;
        let schema = recorded.iter().find(|tool| tool["name"] == *name).map(|tool| &tool["outputSchema"]);
        let mut found = Vec::new();
        problems(data, schema.unwrap(), &name, &mut found);
        assert!(found.is_empty(), "{input}: {found:?} in {data}");
    }
}
