//! What holds for the whole surface: the names and fields of the original, and nothing of what may not be read.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use pipeline::approve::{Beforehand, Deciding};
use pipeline::testing::{Rig, show};
use pipeline::{Asker, Call, Decision, Effect, Lifetime, Question, Rights, Stop};
use serde_json::{Value, json};

use super::output;
use crate::table::obsidian;

/// The listing of the original, recorded from a running server.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/specs/obsidian-tools.json");

#[expect(clippy::disallowed_methods, reason = "the recording lies outside of the repository")]
fn recorded() -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(RECORDED).ok()?;
    let listing: Value = serde_json::from_str(&text).unwrap();
    Some(listing["tools"].as_array().unwrap().clone())
}

#[test]
fn who_may_only_read_sees_the_tools_that_only_answer() {
    let names: BTreeSet<String> =
        obsidian().list(&Rights::read_only()).into_iter().map(|tool| tool.spec.name.to_string()).collect();
    let expected = [
        "find_tool",
        "get_links",
        "get_note",
        "health_check",
        "history",
        "list_notes",
        "list_tags",
        "open_in_ui",
        "search_notes",
    ];
    assert_eq!(names, expected.iter().map(|name| format!("obsidian_{name}")).collect());
    for tool in obsidian().list(&Rights::all()) {
        // Opening a note changes nothing; where it would create one, the right to write is asked for.
        let answers = tool.spec.effect != Effect::Edits;
        assert_eq!(answers, names.contains(&*tool.spec.name), "{}", tool.spec.name);
    }
}

#[test]
fn every_field_is_described_unless_its_name_says_it_and_no_other_is_taken() {
    let plain = [
        "target",
        "path",
        "direction",
        "operation",
        "mode",
        "format",
        "content",
        "replacements",
        "patchOptions",
    ];
    for tool in obsidian().list(&Rights::all()) {
        for (field, schema) in tool.schema["properties"].as_object().unwrap() {
            let described = schema.get("description").is_some();
            assert!(described || plain.contains(&field.as_str()), "{}.{field}", tool.spec.name);
        }
        assert_eq!(tool.schema["additionalProperties"], json!(false), "{}", tool.spec.name);
    }
}

#[test]
fn every_tool_is_described_in_few_words_and_says_what_it_answers() {
    for tool in obsidian().list(&Rights::all()) {
        assert!((20..400).contains(&tool.description.len()), "{}", tool.spec.name);
        assert_eq!(output::schema(&tool.spec.name).unwrap()["type"], "object", "{}", tool.spec.name);
    }
}

#[test]
fn a_call_that_was_called_off_ends_early_and_changes_nothing() {
    let rig = Rig::new("a.md: needle", obsidian());
    let before = rig.files();
    let target = json!({"type": "path", "path": "a.md"});
    for (tool, input) in [
        ("obsidian_search_notes", json!({"mode": "text", "query": "needle"})),
        ("obsidian_append_to_note", json!({"target": target, "content": "x"})),
        ("obsidian_delete_note", json!({"target": target})),
    ] {
        let outcome = rig.run(Call::new(tool, input).unless(Stop::when(|| true)), &Beforehand);
        assert_eq!(outcome.refusal().map(|refusal| &*refusal.reason), Some("cancelled"), "{tool}");
        assert_eq!(rig.files(), before, "{tool}");
    }
    // Called off while somebody was asked: the yes comes too late.
    struct Late(AtomicBool);
    impl Asker for Late {
        fn ask<'a>(&'a self, _: &'a Question<'a>) -> Deciding<'a> {
            self.0.store(true, Ordering::Relaxed);
            Box::pin(async { Decision::Yes(Lifetime::Once) })
        }
        fn name(&self) -> &str {
            "late"
        }
        fn is_person(&self) -> bool {
            true
        }
    }
    let asker = std::sync::Arc::new(Late(AtomicBool::new(false)));
    let seen = std::sync::Arc::clone(&asker);
    let stop = Stop::when(move || seen.0.load(Ordering::Relaxed));
    let call = Call::new("obsidian_append_to_note", json!({"target": target, "content": "x"})).unless(stop);
    assert_eq!(rig.run(call, &*asker).refusal().map(|refusal| &*refusal.reason), Some("cancelled"));
    assert_eq!(rig.files(), before);
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
    for rig in [&with, &without] {
        rig.task.activate(
            &["get_links", "history", "move_note", "health_check", "batch_edit"]
                .map(|name| format!("obsidian_{name}")),
        );
    }
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
        ("obsidian_get_links", json!({"path": "a.md", "depth": 5})),
        ("obsidian_health_check", json!({})),
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
fn answers_have_the_shape_that_is_announced_and_that_of_the_originals() {
    let recorded = recorded();
    if recorded.is_none() {
        println!("only our own shapes: {RECORDED} is not there");
    }
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
        ("search_notes", json!({"mode": "dataview", "query": "TABLE n"})),
        ("search_notes", json!({"mode": "dataview", "query": "LIST"})),
        ("search_notes", json!({"mode": "dataview", "query": "TASK"})),
        ("search_notes", json!({"mode": "dataview", "query": "TABLE rows GROUP BY n"})),
        ("search_notes", json!({"mode": "dataview", "query": "CALENDAR file.ctime"})),
        ("search_notes", json!({"mode": "jsonlogic", "logic": {"in": ["text", {"var": "content"}]}})),
        ("search_notes", json!({"mode": "omnisearch", "query": "text"})),
        ("get_links", json!({"path": "a.md", "depth": 2})),
        ("history", json!({})),
        ("health_check", json!({})),
        ("periodic_note", json!({"create": true})),
        ("move_note", json!({"path": "a.md", "destination": "c.md"})),
        (
            "batch_edit",
            json!({"operations": [{"tool": "obsidian_append_to_note", "arguments": note(json!({"content": "x"}))}]}),
        ),
        ("find_tool", json!({"query": "undo"})),
    ] {
        let name = format!("obsidian_{tool}");
        let rig = Rig::new(vault, obsidian());
        rig.task.activate(std::slice::from_ref(&name));
        let outcome = rig.call(&name, input.clone(), &Beforehand);
        let data = &outcome.output().unwrap_or_else(|| panic!("{name} {input}: {}", show(&outcome))).data;
        let mut found = Vec::new();
        problems(data, &output::schema(&name).unwrap(), &name, &mut found);
        // What is announced is the least; more may be there.
        found.retain(|problem| !problem.ends_with("is not known"));
        let theirs = recorded.iter().flatten().find(|tool| tool["name"] == *name);
        if let Some(schema) = theirs.map(|tool| &tool["outputSchema"])
            && (tool != "search_notes" || ["text", "jsonlogic"].iter().any(|mode| input["mode"] == *mode))
        {
            problems(data, schema, &name, &mut found);
        }
        assert!(found.is_empty(), "{input}: {found:?} in {data}");
    }
}
