//! Every reason that clients of the well-known server may meet, provoked on the wire, with the code and the facts they read.

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::rest_api::Plugin;
use crate::rig::Rig;

fn vault() -> Rig {
    let rig = Rig::empty();
    rig.write("a.md", "---\ntags: [x]\n---\n# A\n## L\none ^id\n# B\n## L\ntwo\n");
    rig.write("F/same.md", "1");
    rig.write("F/Same.md", "2");
    rig.write("Private/s.md", "secret");
    rig.write(".obsidian/daily-notes.json", "{}");
    rig.write(".obsidian/core-plugins.json", "{\"daily-notes\": true}");
    rig
}

fn at(path: &str, more: Value) -> Value {
    let mut input = json!({"target": {"type": "path", "path": path}});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

#[track_caller]
fn check(client: &mut Client, tool: &str, input: Value, reason: &str, code: i64, facts: &[&str]) {
    let answer = client.call(&format!("obsidian_{tool}"), input.clone());
    let error = &answer["structuredContent"]["error"];
    assert_eq!(answer["isError"], true, "{tool} {input}: {answer}");
    assert_eq!(
        (&error["data"]["reason"], &error["code"]),
        (&json!(reason), &json!(code)),
        "{tool} {input}: {answer}"
    );
    let text = answer["content"][0]["text"].as_str().unwrap();
    let hint = error["data"]["recovery"]["hint"].as_str().unwrap();
    assert_eq!(text, format!("Error: {}\n\nRecovery: {hint}", error["message"].as_str().unwrap()));
    assert!(!hint.is_empty(), "{answer}");
    for fact in facts {
        assert!(!error["data"][fact].is_null(), "{tool} {input}: no {fact} in {answer}");
    }
    assert!(!answer.to_string().contains("secret"), "{answer}");
}

#[test]
fn paths_and_targets() {
    let rig = vault();
    let before = rig.bytes();
    let variables =
        [("OBSIDIAN_READ_PATHS", "a.md,F,D".to_owned()), ("OBSIDIAN_WRITE_PATHS", "a.md,D".to_owned())];
    let mut client = Client::with(&rig, &[], &variables, json!({}));
    let c = &mut client;
    let scope = ["path", "op", "subreason", "activeScope"];
    check(c, "get_note", at("Private/s.md", json!({"format": "content"})), "path_forbidden", -32005, &scope);
    check(c, "write_note", at("F/new.md", json!({"content": "x"})), "path_forbidden", -32005, &scope);
    check(c, "get_note", at("../x.md", json!({"format": "content"})), "path_traversal", -32007, &[]);
    check(c, "delete_note", at("F", json!({})), "path_is_directory", -32007, &["path"]);
    check(c, "get_note", at("F", json!({"format": "content"})), "path_is_directory", -32007, &["path"]);
    check(
        c,
        "get_note",
        at("D/none.md", json!({"format": "full"})),
        "note_missing",
        -32001,
        &["path", "suggestions"],
    );
    check(c, "list_notes", json!({"path": "D/none"}), "note_missing", -32001, &["path"]);
    let some = at("F/SAME.md", json!({"format": "content"}));
    check(c, "get_note", some, "ambiguous_path", -32002, &["path", "matches"]);
    check(c, "open_in_ui", json!({"path": "F/SAME.md"}), "ambiguous_path", -32002, &["path", "matches"]);
    let active = json!({"format": "content", "target": {"type": "active"}});
    check(c, "get_note", active, "no_active_file", -32001, &[]);
    let daily = json!({"format": "content", "target": {"type": "periodic", "period": "daily"}});
    check(c, "get_note", daily, "periodic_not_found", -32001, &[]);
    let weekly = json!({"format": "content", "target": {"type": "periodic", "period": "weekly"}});
    check(c, "get_note", weekly, "periodic_disabled", -32007, &[]);
    assert_eq!(rig.bytes(), before);
}

#[test]
fn sections_and_writes() {
    let rig = vault();
    let before = rig.bytes();
    let mut client = Client::new(&rig, &[], json!({}));
    let c = &mut client;
    let part = |target: &str| json!({"type": "heading", "target": target});
    check(c, "get_note", at("a.md", json!({"format": "section"})), "section_required", -32007, &["format"]);
    let missing = json!({"format": "section", "section": part("Z")});
    check(c, "get_note", at("a.md", missing), "section_missing", -32001, &[]);
    for tool in ["write_note", "append_to_note", "patch_note"] {
        let with = |target: &str| match tool {
            "patch_note" => json!({"section": part(target), "content": "x", "operation": "append"}),
            _ => json!({"section": part(target), "content": "x"}),
        };
        check(c, tool, at("a.md", with("Z")), "section_target_missing", -32007, &["path"]);
        check(c, tool, at("a.md", with("L")), "ambiguous_section", -32002, &["path", "candidates"]);
    }
    let again = json!({"section": part("B::L"), "content": "two"});
    check(c, "append_to_note", at("a.md", again), "content_preexists", -32007, &[]);
    let again = json!({"section": part("B::L"), "content": "two", "operation": "prepend"});
    check(c, "patch_note", at("a.md", again), "content_preexists", -32007, &[]);
    check(c, "write_note", at("a.md", json!({"content": "x"})), "file_exists", -32002, &["path"]);
    let old = json!({"content": "x", "overwrite": true, "ifMatch": "0000"});
    check(c, "write_note", at("a.md", old), "version_mismatch", -32002, &["path", "version"]);
    check(
        c,
        "manage_frontmatter",
        at("a.md", json!({"operation": "set", "key": "k"})),
        "value_required",
        -32007,
        &["operation"],
    );
    check(c, "manage_tags", at("a.md", json!({"operation": "add"})), "tags_required", -32007, &["operation"]);
    check(
        c,
        "manage_tags",
        at("a.md", json!({"operation": "remove", "tags": []})),
        "tags_required",
        -32007,
        &["operation"],
    );
    assert_eq!(rig.bytes(), before);
}

#[test]
fn searches_and_expressions() {
    let rig = vault();
    let plugin = Plugin::start();
    let mut client = Client::with(&rig, &[], &plugin.variables(), json!({}));
    let c = &mut client;
    for tool in ["list_notes", "list_tags", "list_commands"] {
        check(c, tool, json!({"nameRegex": "("}), "regex_invalid", -32007, &["nameRegex"]);
        check(c, tool, json!({"nameRegex": "(?=x)"}), "regex_invalid", -32007, &["nameRegex"]);
        check(c, tool, json!({"nameRegex": "((a{90}){90}){90}"}), "regex_unsafe", -32007, &["nameRegex"]);
    }
    let replace = |search: &str| {
        at("a.md", json!({"replacements": [{"search": search, "replace": "", "useRegex": true}]}))
    };
    check(c, "replace_in_note", replace("("), "regex_invalid", -32007, &[]);
    check(c, "replace_in_note", replace("((a{90}){90}){90}"), "regex_unsafe", -32007, &[]);
    check(c, "search_notes", json!({"mode": "text"}), "query_required", -32007, &["mode"]);
    check(c, "search_notes", json!({"mode": "jsonlogic"}), "logic_required", -32007, &["mode"]);
    let prefix = json!({"mode": "jsonlogic", "logic": {}, "pathPrefix": "F"});
    check(c, "search_notes", prefix, "path_prefix_invalid_mode", -32007, &["mode"]);
    let page = json!({"mode": "text", "query": "x", "cursor": "nonsense"});
    check(c, "search_notes", page, "cursor_invalid", -32602, &[]);
    check(c, "execute_command", json!({"commandId": "no:such"}), "command_unknown", -32001, &[]);
    // `omnisearch` is the engine's own and is always there, so `omnisearch_unreachable` has nothing to be raised by.
    let found = c.call("obsidian_search_notes", json!({"mode": "omnisearch", "query": "one"}));
    assert_eq!(found["isError"], false, "{found}");
}

#[test]
fn a_declined_delete_is_cancelled() {
    let rig = vault();
    let mut client = Client::new(&rig, &[], json!({"elicitation": {}}));
    let id = client
        .send("tools/call", json!({"name": "obsidian_delete_note", "arguments": at("a.md", json!({}))}));
    let question = client.message();
    assert!(question["params"]["message"].as_str().unwrap().contains("a.md"), "{question}");
    client
        .line(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}).to_string());
    let done = client.message();
    assert_eq!(done["id"], id);
    let error = &done["result"]["structuredContent"]["error"];
    assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32600), &json!("cancelled")), "{done}");
    assert!(rig.has("a.md"));
}

#[test]
fn read_only_leaves_five_tools_of_the_original_and_says_why() {
    let rig = vault();
    let mut variables = Plugin::start().variables();
    variables.push(("OBSIDIAN_READ_ONLY", "on".to_owned()));
    let mut client = Client::with(&rig, &[], &variables, json!({}));
    let names = client.names();
    let ours = ["obsidian_find_tool", "obsidian_get_links"];
    let original: Vec<&String> = names.iter().filter(|name| !ours.contains(&name.as_str())).collect();
    assert_eq!(
        original,
        ["get_note", "list_notes", "list_tags", "open_in_ui", "search_notes"]
            .map(|name| format!("obsidian_{name}"))
            .iter()
            .collect::<Vec<_>>()
    );
    // A note that is not there would be created by the app.
    let input = json!({"path": "new.md", "failIfMissing": false});
    check(&mut client, "open_in_ui", input, "path_forbidden", -32005, &["path", "op", "subreason"]);
}
