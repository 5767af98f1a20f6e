//! The Obsidian surface against the contract of the server that its clients know, on the wire.
//!
//! `fixtures/obsidian/contract.txt` holds the facts: one line for each field, with its type, default and choices. Where the
//! recording of the original lies beside the checkout, the table is made from it anew and compared.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::rest_api::Plugin;
use crate::rig::Rig;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/obsidian/contract.txt");
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/specs/obsidian-tools.json");
/// A third of what the original lists by default (49,135 bytes).
const MOST_BYTES: usize = 49_135 / 3;
/// What is written in docs/guide/mcp.md, rounded up.
const MOST_TOKENS: usize = 3_900;

/// What a schema says, one line for each field at its place (`target.path`), whatever the form: kinds of an object are one
/// object with the fields of all, of which those are required that every kind requires.
fn facts(schema: &Value, at: &str, out: &mut BTreeMap<String, String>) {
    let kinds: Vec<&Value> = match schema["oneOf"].as_array() {
        Some(kinds) => kinds.iter().collect(),
        None => vec![schema],
    };
    let mut fields: BTreeMap<&String, Vec<&Value>> = BTreeMap::new();
    for kind in &kinds {
        for (name, field) in kind["properties"].as_object().into_iter().flatten() {
            fields.entry(name).or_default().push(field);
        }
    }
    for (name, forms) in fields {
        let place = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        let is_required = |kind: &&Value| {
            kind["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name))
        };
        let mut words = Vec::new();
        if kinds.iter().all(is_required) {
            words.push("required".to_owned());
        }
        let kinds_are = |form: &&Value| form.get("oneOf").map(|_| "object");
        if let Some(kind) = forms.iter().find_map(|form| form["type"].as_str().or(kinds_are(form))) {
            words.push(if kind == "integer" { "number".to_owned() } else { kind.to_owned() });
        }
        if let Some(default) = forms[0].get("default").filter(|default| !default.is_object()) {
            words.push(format!("default={default}"));
        }
        let mut choices: Vec<&str> = forms.iter().filter_map(|form| form["const"].as_str()).collect();
        choices.extend(forms[0]["enum"].as_array().into_iter().flatten().filter_map(Value::as_str));
        if !choices.is_empty() {
            words.push(format!("one of {}", choices.join("|")));
        }
        out.insert(place.clone(), words.join(" "));
        for form in forms {
            facts(form, &place, out);
            if let Some(items) = form.get("items") {
                facts(items, &format!("{place}[]"), out);
            }
        }
    }
}

/// The table of one listing: hints, input and output of every tool.
fn table(tools: &[Value]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let hints = tool["annotations"].as_object().unwrap().iter().filter(|(_, hint)| **hint == true);
        let hints: Vec<&str> = hints.map(|(hint, _)| hint.as_str()).collect();
        all.insert(format!("{name} hints"), hints.join(" "));
        for part in ["inputSchema", "outputSchema"] {
            let mut found = BTreeMap::new();
            facts(&tool[part], "", &mut found);
            all.extend(found.into_iter().map(|(place, words)| (format!("{name} {part} {place}"), words)));
        }
    }
    all
}

fn contract() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(TABLE).unwrap_or_default();
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once(": ").map(|(key, words)| (key.to_owned(), words.to_owned())).unwrap())
        .collect()
}

#[test]
fn the_table_is_what_was_recorded() {
    let Ok(text) = std::fs::read_to_string(RECORDED) else {
        println!("skipped: {RECORDED} is not there");
        return;
    };
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let made = table(recorded["tools"].as_array().unwrap());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let mut text = String::from(
            "# Facts about the tools of the Obsidian server that clients know; see mcp_contract.rs.\n",
        );
        made.iter().for_each(|(key, words)| text += &format!("{key}: {words}\n"));
        std::fs::create_dir_all(Path::new(TABLE).parent().unwrap()).unwrap();
        std::fs::write(TABLE, text).unwrap();
    }
    assert_eq!(contract(), made);
}

/// The listing with all tools, those that need the app as well.
fn everything() -> Vec<Value> {
    let rig = Rig::tour();
    let plugin = Plugin::start();
    let variables = plugin.variables();
    let mut client = Client::with(&rig, &["--all-tools"], &variables, json!({}));
    let listed = client.request("tools/list", json!({}));
    listed["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn every_tool_takes_and_answers_what_clients_know() {
    let ours = table(&everything());
    for (key, words) in contract() {
        let found = ours.get(&key).map(String::as_str);
        if key.ends_with(" hints") {
            let of =
                |words: &str| words.split(' ').map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
            assert_eq!(found.map(of), Some(of(&words)), "{key}");
            continue;
        }
        let Some(found) = found else {
            // What may be there need not be announced.
            assert!(
                key.contains(" outputSchema ") && !deep_required(&key, &words),
                "{key}: {words} is not there"
            );
            continue;
        };
        if key.contains(" outputSchema ") {
            let kind = |words: &str| words.split(' ').find(|word| KINDS.contains(word)).map(str::to_owned);
            assert!(kind(found).is_none() || kind(found) == kind(&words), "{key}: {found}, not {words}");
            continue;
        }
        let (plain, choices) = words.split_once("one of ").unwrap_or((&words, ""));
        let (our_plain, our_choices) = found.split_once("one of ").unwrap_or((found, ""));
        assert_eq!(our_plain, plain, "{key}");
        let has = |choice: &str| our_choices.split('|').any(|ours| ours == choice);
        assert!(choices.split('|').all(|choice| choice.is_empty() || has(choice)), "{key}: {found}");
    }
    // What we take beyond it may always be left out.
    let known: Vec<String> = contract().into_keys().collect();
    let tools: Vec<&str> = known.iter().filter_map(|key| key.strip_suffix(" hints")).collect();
    for (key, words) in &ours {
        let name = key.split(' ').next().unwrap();
        if tools.contains(&name) && key.contains(" inputSchema ") && !known.contains(key) {
            assert!(!words.contains("required"), "{key}: {words}");
        }
    }
    assert_eq!(tools.len(), 14);
}

const KINDS: [&str; 6] = ["string", "number", "boolean", "array", "object", "null"];

/// Required at the top of an answer. What lies deeper is compared by the tests of each tool with real answers.
fn deep_required(key: &str, words: &str) -> bool {
    let place = key.rsplit(' ').next().unwrap();
    words.contains("required")
        && place.trim_start_matches("result.").split('.').count() == 1
        && !place.contains('[')
}

#[test]
fn the_default_listing_costs_a_third_of_the_originals() {
    let rig = Rig::tour();
    let mut client = Client::new(&rig, &[], json!({}));
    let id = client.send("tools/list", json!({}));
    let line = client.lines.recv_timeout(std::time::Duration::from_secs(30)).unwrap();
    let listed: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(listed["id"], id);
    let tools = listed["result"]["tools"].as_array().unwrap();
    let sizes: Vec<String> =
        tools.iter().map(|tool| format!("{} {}", tool["name"], tool.to_string().len())).collect();
    println!("tools/list: {} bytes, {} tools\n{}", line.len(), tools.len(), sizes.join("\n"));
    let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&line).len();
    println!("{tokens} tokens (o200k)");
    assert!(tokens <= MOST_TOKENS, "{tokens} tokens, at most {MOST_TOKENS}");
    assert!(line.len() <= MOST_BYTES, "{} bytes, at most {MOST_BYTES}: {sizes:#?}", line.len());
    assert!(tools.iter().all(|tool| tool["outputSchema"]["type"] == "object"));
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names.len(), 14, "{names:?}");
}
