//! What an agent may not read is absent from every answer of every tool here, and no answer is too large: both are
//! tested for all of them at once.

use pipeline::approve::Beforehand;
use pipeline::testing::{Rig, show};
use pipeline::wrap::for_model;
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

use crate::read::testing::Put;

const SEEN: &str = "a.md: ---\ntags: [open]\naliases: [first]\n---\n[[b]] needle #open/sub\n- [ ] task\n\
    --- b.md: [[a]] needle\n--- Sub/c.md: alone\n--- 2026-03-13.md: yesterday\n--- p.png: x\n\
    --- q.base: filters: file.ext == \"md\" || file.hasLink(\"zeb\" + \"ra\")\nformulas:\n  named: file(\"zeb\" + \"ra\")\nviews:\n  - name: V\n    \
    groupBy: tags\n    order: [file.path, formula.named, aliases, file.tags, file.links, file.backlinks]\n    \
    summaries: {file.path: Filled, file.tags: Unique}";
const HIDDEN: &str = "\n--- Private/zebra.md: ---\ntags: [open, stripes]\naliases: [first, quagga]\n---\n\
    [[a]] needle savanna #open #Open/Sub [[nowhere]]\n- [x] grazed\n\
    --- Private/b.md: [[zebra]] savanna\n--- Private/2026-03-14.md: savanna today\n--- Private/deep/img.png: x\u{0}";
const IGNORE: &str = "\n--- .verger/ignore: Private/\n";
/// Words that stand in hidden notes and their names only.
const SECRET: [&str; 7] = ["zebra", "quagga", "savanna", "stripes", "grazed", "deep", "Private"];

/// Every tool here, with inputs that would find something hidden if there were a way.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": "zebr.md"})),
        ("read_file", json!({"path": "b"})),
        ("read_file", json!({"path": "first"})),
        ("list_files", json!({"recursive": true})),
        ("list_files", json!({})),
        ("search_files", json!({"pattern": "needle|sava.na|x"})),
        ("search_files", json!({"pattern": ".", "file_pattern": "**/*", "context": 3})),
        ("list_checkpoints", json!({"verbose": true})),
        ("read_checkpoint", json!({"commitOid": "0000", "path": "a.md"})),
        ("diff_checkpoint", json!({"commitOid": "0000"})),
        ("diff_checkpoint", json!({"commitOid": "00", "path": "a.md"})),
        ("get_frontmatter", json!({"path": "first"})),
        ("search_by_tag", json!({"tags": ["open"]})),
        ("search_by_tag", json!({"tags": ["stripe", "open"], "match": "any"})),
        ("query_base", json!({"path": "q.base"})),
        ("query_base", json!({"path": "q.base", "this": "Private/zebra.md", "limit": 1, "offset": 1})),
        ("query_base", json!({"path": "q.base", "view": "Zebr"})),
        ("create_base", json!({"path": "q.base", "views": [{"name": "zeb"}]})),
        ("update_base", json!({"path": "zebr.base", "filters": "a"})),
        ("get_linked_notes", json!({"path": "a.md"})),
        ("get_linked_notes", json!({"path": "b"})),
        ("get_vault_stats", json!({})),
        ("get_daily_note", json!({})),
        ("get_daily_note", json!({"offset": -1})),
        ("vault_health_check", json!({})),
        ("find_tool", json!({"query": "zebr"})),
        ("read_result", json!({"id": "r1"})),
    ]
}

/// A vault with one checkpoint of a note that may be read, and then perhaps one of a note that may not.
#[track_caller]
fn rig(fixture: &str, hidden: Option<&str>) -> Rig {
    let registry = crate::table::all();
    registry.add(Put);
    let rig = Rig::new(fixture, registry);
    let put = |path: &str| rig.call("put", json!({"path": path, "text": "put savanna [[a]]"}), &Beforehand);
    assert!(put("2026-03-12.md").refusal().is_none());
    if let Some(path) = hidden {
        assert!(put(path).refusal().is_none());
    }
    rig
}

#[expect(clippy::disallowed_methods, reason = "the test hides a folder and sets the times of its own files")]
fn settle(rig: &Rig) {
    std::fs::create_dir_all(rig.root().join(".verger")).unwrap();
    std::fs::write(rig.root().join(".verger/ignore"), "Private/\n").unwrap();
    std::fs::write(rig.root().join("2026-03-12.md"), "settled").unwrap();
    for file in ["a.md", "b.md", "Sub/c.md", "2026-03-13.md", "2026-03-12.md"] {
        let file = std::fs::File::options().append(true).open(rig.root().join(file)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(60)).unwrap();
    }
}

fn answer(rig: &Rig, tool: &str, input: &Value) -> String {
    rig.task.activate(&[tool.to_owned()]);
    let outcome = rig.call(tool, input.clone(), &Beforehand);
    let data = outcome.output().map(|output| output.data.to_string());
    let refused = outcome.refusal().map(|refusal| serde_json::to_string(refusal).unwrap());
    format!("{}\n{data:?}\n{refused:?}", show(&outcome))
}

#[test]
fn every_answer_is_as_if_hidden_notes_were_not_there() {
    let with = rig(&format!("{SEEN}{HIDDEN}"), Some("Private/put.md"));
    let without = rig(SEEN, None);
    settle(&with);
    settle(&without);
    for (tool, input) in calls() {
        let (seen, expected) = (answer(&with, tool, &input), answer(&without, tool, &input));
        assert_eq!(seen, expected, "{tool} {input}");
        for secret in SECRET {
            assert!(!seen.contains(secret), "{tool} {input} tells of {secret}: {seen}");
        }
    }
}

#[test]
fn a_hidden_note_named_by_its_path_is_as_missing_as_one_that_never_was() {
    let rig = rig(&format!("{SEEN}{HIDDEN}{IGNORE}"), None);
    for (tool, input) in [
        ("read_file", json!({"path": "Private/zebra.md"})),
        ("query_base", json!({"path": "Private/zebra.md"})),
        ("update_base", json!({"path": "Private/zebra.base", "filters": "a"})),
        ("get_frontmatter", json!({"path": "Private/zebra.md"})),
        ("get_linked_notes", json!({"path": "Private/zebra.md"})),
        ("list_files", json!({"path": "Private"})),
        ("search_files", json!({"path": "Private", "pattern": "savanna"})),
        ("read_checkpoint", json!({"commitOid": "0000", "path": "Private/zebra.md"})),
        ("diff_checkpoint", json!({"commitOid": "0000", "path": "Private/zebra.md"})),
        ("list_checkpoints", json!({"path": "Private"})),
    ] {
        let never =
            serde_json::from_str(&input.to_string().replace("zebra", "ghost").replace("Private", "Prevate"));
        let (hidden, never) = (answer(&rig, tool, &input), answer(&rig, tool, &never.unwrap()));
        assert_eq!(hidden.replace("zebra", "ghost").replace("Private", "Prevate"), never, "{tool} {input}");
    }
}

#[test]
fn a_daily_note_in_a_hidden_folder_is_neither_read_nor_made() {
    let settings = "\n--- .obsidian/daily-notes.json: {\"folder\": \"Private\"}";
    for there in [HIDDEN, ""] {
        let rig = rig(&format!("{SEEN}{there}{IGNORE}{settings}"), None);
        for create in [false, true] {
            let told = answer(&rig, "get_daily_note", &json!({"create": create}));
            assert!(told.starts_with("refused: periodic_not_found"), "{told}");
            assert!(SECRET.iter().all(|secret| !told.contains(secret)), "{told}");
        }
    }
}

/// A vault that tries to make answers large: many files with long names, many links and tags, one endless line.
fn large() -> String {
    let name = "long-".repeat(45);
    let mut fixture = format!("big.md: ---\nvalue: {}\n---\n{}", "v".repeat(70_000), "x".repeat(200_000));
    let links: Vec<String> =
        (0..3_000).map(|number| format!("[[{}{number}]]", "target".repeat(60))).collect();
    let tags: Vec<String> = (0..300).map(|number| format!("#many/{}{number}", "tag".repeat(500))).collect();
    fixture += &format!("\n--- 2026-03-14.md: {}\n{}", links.join("\n"), tags.join(" "));
    fixture += "\n--- all.base: views:\n  - name: V\n    groupBy: file.path\n    order: [file.path, value, file.links, file.tags, file.backlinks]\n    summaries: {value: Max, file.path: all}\nsummaries:\n  all: values";
    for number in 0..600 {
        fixture += &format!("\n--- {name}/{number}-{name}.md: #many xxxx\n[[big]]");
    }
    fixture
}

#[test]
fn no_answer_is_too_large() {
    let rig = rig(&large(), None);
    rig.task.results.keep(&"x".repeat(100_000));
    for (tool, input) in [
        ("read_file", json!({"path": "big.md"})),
        ("list_files", json!({"recursive": true, "limit": 1_000_000})),
        ("search_files", json!({"pattern": "x", "limit": 1_000_000, "context": 1_000_000})),
        ("search_files", json!({"pattern": "target", "limit": 1_000_000, "context": 1_000_000})),
        ("list_checkpoints", json!({"limit": 1_000_000, "verbose": true})),
        ("read_checkpoint", json!({"commitOid": "0", "path": "2026-03-12.md"})),
        ("diff_checkpoint", json!({"commitOid": "0", "path": "2026-03-12.md"})),
        ("get_frontmatter", json!({"path": "big.md"})),
        ("query_base", json!({"path": "all.base", "limit": 1_000_000})),
        ("query_base", json!({"path": "all.base", "limit": 1_000_000, "format": "csv"})),
        ("search_by_tag", json!({"tags": ["many"], "limit": 1_000_000})),
        ("get_linked_notes", json!({"path": "2026-03-14.md", "limit": 1_000_000})),
        ("get_linked_notes", json!({"path": "big.md", "limit": 1_000_000})),
        ("get_vault_stats", json!({})),
        ("get_daily_note", json!({})),
        ("vault_health_check", json!({"limit": 1_000_000})),
        ("find_tool", json!({"query": "checkpoint note vault tag linked daily"})),
        ("read_result", json!({"id": "r1", "limit": 1_000_000})),
    ] {
        rig.task.activate(&[tool.to_owned()]);
        let outcome = rig.call(tool, input.clone(), &Beforehand);
        let output = outcome.output().unwrap_or_else(|| panic!("{tool} {input}: {}", show(&outcome)));
        let (text, data) = (for_model(output).chars().count(), output.data.to_string().chars().count());
        assert!(text < 65_000, "{tool} {input} says {text} characters");
        assert!(data < 200_000, "{tool} {input} gives {data} characters of data");
    }
}
