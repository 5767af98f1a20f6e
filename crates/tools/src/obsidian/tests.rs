//! What holds for the whole surface: the names and fields of the original, and nothing of what may not be read.

use std::collections::BTreeSet;

use pipeline::Rights;
use pipeline::approve::Beforehand;
use pipeline::testing::{Rig, show};
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
        for (part, of) in [("section", "properties"), ("patchOptions", "properties")] {
            let their_part = &theirs["inputSchema"][of][part];
            let our_part = object(&tool.schema[of][part]);
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
fn the_listing_is_short_and_no_tool_is_hidden_in_it() {
    let listing = obsidian().list(&Rights::all());
    let length: usize =
        listing.iter().map(|tool| tool.description.len() + tool.schema.to_string().len()).sum();
    assert!(listing.iter().all(|tool| !tool.spec.deferred && !tool.description.is_empty()));
    assert!(length < 20_000, "{length} characters in every conversation");
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
