//! What the surface has beyond the well-known server: preconditions, dry runs, batches, several vaults, tools that are found,
//! and who decides.

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::rig::Rig;

fn at(path: &str, more: Value) -> Value {
    let mut input = json!({"target": {"type": "path", "path": path}});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

fn reason(answer: &Value) -> &str {
    answer["structuredContent"]["error"]["data"]["reason"].as_str().unwrap_or_default()
}

const NOTE: &str = "---\nk: 1\n---\n# A\ntext #t\n";

/// One call of every tool that writes.
fn writes() -> Vec<(&'static str, Value)> {
    let heading = json!({"type": "heading", "target": "A"});
    vec![
        ("write_note", at("a.md", json!({"content": "new", "overwrite": true}))),
        ("append_to_note", at("a.md", json!({"content": "more"}))),
        ("patch_note", at("a.md", json!({"section": heading, "operation": "append", "content": "more"}))),
        ("replace_in_note", at("a.md", json!({"replacements": [{"search": "text", "replace": "word"}]}))),
        ("manage_frontmatter", at("a.md", json!({"operation": "set", "key": "k", "value": 2}))),
        ("manage_tags", at("a.md", json!({"operation": "add", "tags": ["z"]}))),
        ("delete_note", at("a.md", json!({}))),
        ("move_note", json!({"path": "a.md", "destination": "b.md"})),
        (
            "batch_edit",
            json!({"operations": [{"tool": "obsidian_append_to_note", "arguments": at("a.md", json!({"content": "x"}))}]}),
        ),
        ("periodic_note", json!({"create": true})),
    ]
}

#[test]
fn a_dry_run_of_every_write_shows_the_diff_and_changes_nothing() {
    let rig = Rig::empty();
    rig.write("a.md", NOTE);
    let before = rig.bytes();
    let mut client = Client::new(&rig, &["--all-tools"], json!({}));
    let listed = client.request("tools/list", json!({}))["result"]["tools"].take();
    for (tool, mut input) in writes() {
        input["dryRun"] = json!(true);
        let shown = client.call(&format!("obsidian_{tool}"), input.clone());
        assert_eq!(shown["isError"], false, "{tool}: {shown}");
        assert_eq!(shown["structuredContent"]["dryRun"], true, "{tool}: {shown}");
        let text = shown["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Would: "), "{tool}: {text}");
        assert_eq!(rig.bytes(), before, "{tool}");
        // It has the shape that is announced, too.
        let schema =
            listed.as_array().unwrap().iter().find(|one| one["name"] == format!("obsidian_{tool}")).unwrap();
        for field in schema["outputSchema"]["required"].as_array().into_iter().flatten() {
            assert!(
                !shown["structuredContent"][field.as_str().unwrap()].is_null(),
                "{tool}: no {field} in {shown}"
            );
        }
        let mut wrong = input.clone();
        wrong["dryRun"] = json!("true");
        assert_eq!(client.call(&format!("obsidian_{tool}"), wrong)["isError"], true, "{tool}");
        assert_eq!(rig.bytes(), before, "{tool}");
    }
}

#[test]
fn every_edit_of_a_note_can_be_bound_to_the_version_that_was_read() {
    let rig = Rig::empty();
    rig.write("a.md", NOTE);
    let mut client = Client::new(&rig, &["--all-tools"], json!({}));
    let read = client.call("obsidian_get_note", at("a.md", json!({"format": "full"})));
    let version = read["structuredContent"]["result"]["version"].as_str().unwrap().to_owned();
    let text = format!("{NOTE}somebody else\n");
    rig.write("a.md", &text);
    for (tool, mut input) in writes().into_iter().take(8) {
        input["ifMatch"] = json!(version);
        let refused = client.call(&format!("obsidian_{tool}"), input.clone());
        assert_eq!(reason(&refused), "version_mismatch", "{tool}: {refused}");
        let now = refused["structuredContent"]["error"]["data"]["version"].as_str().unwrap().to_owned();
        assert_eq!(rig.read("a.md"), text, "{tool}");
        input["ifMatch"] = json!(now);
        input["dryRun"] = json!(true);
        let fits = client.call(&format!("obsidian_{tool}"), input);
        assert_eq!(fits["isError"], false, "{tool}: {fits}");
    }
}

#[test]
fn a_tool_that_was_found_is_listed_from_then_on_and_the_client_is_told() {
    let rig = Rig::tour();
    let mut client = Client::new(&rig, &[], json!({}));
    let before = client.names();
    assert!(!before.contains(&"obsidian_move_note".to_owned()), "{before:?}");
    let early = client.call("obsidian_move_note", json!({"path": "a.md", "destination": "b.md"}));
    assert_eq!(reason(&early), "tool_deferred", "{early}");
    client.send(
        "tools/call",
        json!({"name": "obsidian_find_tool", "arguments": {"query": "obsidian_move_note"}}),
    );
    let told = client.message();
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    let found = client.message();
    assert!(found.to_string().contains("obsidian_move_note"), "{found}");
    assert!(client.names().contains(&"obsidian_move_note".to_owned()));
    let late = client.call("obsidian_move_note", json!({"path": "none.md", "destination": "b.md"}));
    assert_eq!(reason(&late), "note_missing", "{late}");
}

#[test]
fn several_vaults_are_served_by_one_server_and_each_keeps_to_itself() {
    let rig = Rig::empty();
    rig.write("a.md", "first");
    for (name, text) in [("Work", "work [[b]]"), ("Work/../deep/vault", "third")] {
        let folder = rig.path(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.md"), text).unwrap();
    }
    let (first, work, third) = (rig.root(), rig.path("Work"), rig.path("deep/vault"));
    let arguments: Vec<&str> =
        [&first, &work, &third].into_iter().flat_map(|path| ["--vault", path.to_str().unwrap()]).collect();
    let mut client = Client::new(&rig, &arguments, json!({}));
    let tools = client.request("tools/list", json!({}))["result"]["tools"].take();
    for tool in tools.as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["properties"]["vault"]["enum"], json!(["vault", "Work", "vault 2"]), "{tool}");
        assert!(schema["required"].as_array().unwrap().contains(&json!("vault")));
    }
    let read = |vault: &str| at("a.md", json!({"format": "content", "vault": vault}));
    for (vault, text) in [("vault", "first"), ("Work", "work [[b]]"), ("vault 2", "third")] {
        let answer = client.call("obsidian_get_note", read(vault));
        assert_eq!(answer["structuredContent"]["result"]["content"], text, "{answer}");
    }
    let unknown = client.call("obsidian_get_note", read("Wor"));
    assert_eq!(reason(&unknown), "vault_unknown", "{unknown}");
    let text = unknown.to_string();
    assert!(text.contains("did you mean `Work`") && text.contains("vault 2"), "{text}");
    let none = client.call("obsidian_get_note", at("a.md", json!({"format": "content"})));
    assert_eq!(reason(&none), "vault_required", "{none}");
    let written =
        client.call("obsidian_append_to_note", at("a.md", json!({"content": "x", "vault": "Work"})));
    assert_eq!(written["isError"], false, "{written}");
    assert_eq!(rig.read("a.md"), "first");
    assert_eq!(std::fs::read_to_string(work.join("a.md")).unwrap(), "work [[b]]\nx");
    for (uri, expected) in
        [("obsidian://vault/a.md", "first"), ("obsidian://vault/a.md?vault=vault%202", "third")]
    {
        let note = client.request("resources/read", json!({"uri": uri}));
        assert!(note["result"]["contents"][0]["text"].as_str().unwrap().contains(expected), "{note}");
    }
    let listed = client.request("resources/list", json!({})).to_string();
    assert!(listed.contains("obsidian://vault/a.md?vault=Work"), "{listed}");
    client.end();
    // Other commands work on one vault, and no vault is served twice.
    let said = rig.run(&["ls", "--vault", work.to_str().unwrap(), "--vault", first.to_str().unwrap()]);
    assert_eq!(said.code, 2, "{said:?}");
    let twice = rig.run(&["mcp", "--vault", work.to_str().unwrap(), "--vault", work.to_str().unwrap()]);
    assert_eq!(twice.code, 2, "{twice:?}");
}

#[test]
fn a_server_with_one_vault_has_no_vault_argument() {
    let rig = Rig::tour();
    let mut client = Client::new(&rig, &["--all-tools"], json!({}));
    let listed = client.request("tools/list", json!({})).to_string();
    assert!(!listed.contains("\"vault\":"), "{listed}");
}

#[test]
fn under_ask_a_standing_grant_decides_where_nobody_can_be_asked() {
    let rig = Rig::empty();
    rig.write("Journal/a.md", "a");
    rig.write("b.md", "b");
    rig.write(".verger/ignore", "");
    rig.ok(&["grants", "add", "--tool", "obsidian_append_to_note", "--paths", "Journal/**"]);
    let mut client = Client::new(&rig, &["--ask"], json!({}));
    let append = |path: &str| at(path, json!({"content": "x"}));
    let granted = client.call("obsidian_append_to_note", append("Journal/a.md"));
    assert_eq!(granted["isError"], false, "{granted}");
    let elsewhere = client.call("obsidian_append_to_note", append("b.md"));
    assert_eq!(reason(&elsewhere), "denied", "{elsewhere}");
    let other = client.call("obsidian_write_note", at("Journal/new.md", json!({"content": "x"})));
    assert_eq!(reason(&other), "denied", "{other}");
    assert_eq!((rig.read("Journal/a.md").as_str(), rig.read("b.md").as_str()), ("a\nx", "b"));
    assert!(!rig.has("Journal/new.md"));
    client.end();
    // What was granted is in the audit by the grant's name, and taking it back ends it.
    assert!(rig.ok(&["audit"]).contains("grant"), "{}", rig.ok(&["audit"]));
    let grants = rig.json(&["grants", "list"]);
    let id = grants.pointer("/data/0/id").or_else(|| grants.pointer("/data/grants/0/id"));
    let id = id.and_then(Value::as_str).unwrap_or_else(|| panic!("{grants}")).to_owned();
    rig.ok(&["grants", "revoke", &id]);
    let mut client = Client::new(&rig, &["--ask"], json!({}));
    assert_eq!(reason(&client.call("obsidian_append_to_note", append("Journal/a.md"))), "denied");
}

#[test]
fn dry_run_and_read_only_hold_for_the_whole_server() {
    let rig = Rig::empty();
    rig.write("a.md", NOTE);
    let before = rig.bytes();
    let mut dry = Client::new(&rig, &["--dry-run", "--all-tools"], json!({}));
    let mut read_only = Client::new(&rig, &["--read-only", "--all-tools"], json!({}));
    for (tool, mut input) in writes() {
        // A client cannot talk its way out of it.
        input["dryRun"] = json!(false);
        let shown = dry.call(&format!("obsidian_{tool}"), input.clone());
        assert_eq!(shown["structuredContent"]["dryRun"], true, "{tool}: {shown}");
        let call = json!({"name": format!("obsidian_{tool}"), "arguments": input});
        let refused = read_only.request("tools/call", call);
        assert!(refused["error"].is_object(), "{tool}: {refused}");
        assert_eq!(rig.bytes(), before, "{tool}");
    }
}

#[test]
fn a_batch_is_one_change_and_one_undo() {
    let rig = Rig::empty();
    rig.write("a.md", NOTE);
    let before = rig.bytes();
    let mut client = Client::new(&rig, &["--all-tools"], json!({}));
    let edit = |tool: &str, input: Value| json!({"tool": format!("obsidian_{tool}"), "arguments": input});
    let operations = json!({"operations": [
        edit("append_to_note", at("a.md", json!({"content": "x"}))),
        edit("write_note", at("N/b.md", json!({"content": "new"}))),
    ]});
    let done = client.call("obsidian_batch_edit", operations);
    let id = done["_meta"]["verger/checkpoint"].as_str().unwrap_or_else(|| panic!("{done}")).to_owned();
    assert_eq!(done["structuredContent"]["files"], json!(["N/b.md", "a.md"]));
    let history = client.call("obsidian_history", json!({}));
    assert_eq!(history["structuredContent"]["checkpoints"].as_array().unwrap().len(), 1, "{history}");
    assert_eq!(client.call("obsidian_undo", json!({"id": id}))["isError"], false);
    assert_eq!(rig.bytes(), before);
}
