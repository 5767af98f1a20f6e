//! What front matter is, what it says, and how fast hostile blocks are refused.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[track_caller]
fn block(text: &str, expected: Option<(&str, &str)>) {
    let front = split(text);
    let found = front.as_ref().map(|front| (&text[front.block.clone()], &text[front.yaml.clone()]));
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn a_block_lies_between_two_fences_at_the_very_start() {
    block("---\na: 1\n---\nbody", Some(("---\na: 1\n---\n", "a: 1\n")));
    block("---\r\na: 1\r\n---\r\nbody", Some(("---\r\na: 1\r\n---\r\n", "a: 1\r\n")));
    block("--- \t\na: 1\n---  \nx", Some(("--- \t\na: 1\n---  \n", "a: 1\n")));
    block("---\n---\nx", Some(("---\n---\n", "")));
    block("---\na: 1\n---", Some(("---\na: 1\n---", "a: 1\n")));
    block("\u{feff}---\na: 1\n---\n", Some(("---\na: 1\n---\n", "a: 1\n")));
    block("---\na: 1\n...\nx", Some(("---\na: 1\n...\n", "a: 1\n")));
    for text in
        ["", "---", "---\n", "---\na: 1\n", "----\na: 1\n----\n", "\n---\na: 1\n---\n", " ---\na: 1\n---\n"]
    {
        block(text, None);
    }
    block("---\nSome prose\n...\nmore", None);
    block("---\nSome prose\n...\nmore\n---\n", None);
}

#[track_caller]
fn values(yaml: &str, expected: Value) {
    let front = split(&format!("---\n{yaml}\n---\nbody")).expect("a block");
    assert_eq!(front.values.map(Value::Object), Ok(expected), "{yaml}");
}

#[test]
fn values_follow_the_core_schema() {
    values(
        "a: 1\nb: -2\nc: +3\nd: 0o17\ne: 0xfF\nf: 0755",
        json!({"a": 1, "b": -2, "c": 3, "d": 15, "e": 255, "f": 755}),
    );
    values(
        "a: 1.5\nb: .5\nc: 1e3\nd: -1.\ne: 1e999",
        json!({"a": 1.5, "b": 0.5, "c": 1000.0, "d": -1.0, "e": "1e999"}),
    );
    values(
        "a: yes\nb: no\nc: On\nd: NO\ne: y",
        json!({"a": "yes", "b": "no", "c": "On", "d": "NO", "e": "y"}),
    );
    values("a: true\nb: False\nc: TRUE\nd: tRUE", json!({"a": true, "b": false, "c": true, "d": "tRUE"}));
    values(
        "a:\nb: ~\nc: null\nd: NULL\ne: nULL",
        json!({"a": null, "b": null, "c": null, "d": null, "e": "nULL"}),
    );
    values(
        "a: 2026-01-01\nb: 2026-01-01T10:00:00Z\nc: 10:30",
        json!({"a": "2026-01-01", "b": "2026-01-01T10:00:00Z", "c": "10:30"}),
    );
    values("a: .nan\nb: -.INF\nc: .", json!({"a": ".nan", "b": "-.INF", "c": "."}));
    values(
        "a: 9223372036854775808\nb: 123456789012345678901",
        json!({"a": 9223372036854775808u64, "b": "123456789012345678901"}),
    );
    values(
        "a: !!str 12\nb: !!int \"12\"\nc: !foo 12\nd: ! 12",
        json!({"a": "12", "b": 12, "c": "12", "d": "12"}),
    );
    values(
        "a: '1'\nb: \"x\\ty\"\nc: |\n  l1\n  l2\nd: >-\n  f1\n  f2",
        json!({"a": "1", "b": "x\ty", "c": "l1\nl2\n", "d": "f1 f2"}),
    );
    values(
        "a: [x, {k: v}]\nb:\n- 1\n-\nc:\n  d:\n    e: 1",
        json!({"a": ["x", {"k": "v"}], "b": [1, null], "c": {"d": {"e": 1}}}),
    );
    values("a: &x [1]\nb: *x", json!({"a": [1], "b": [1]}));
    values(
        "1: a\ntrue: b\n2026-01-01: c\n\"q k\": d\né: e\na.b: f",
        json!({"1": "a", "true": "b", "2026-01-01": "c", "q k": "d", "é": "e", "a.b": "f"}),
    );
    values("", json!({}));
    values("# only a comment", json!({}));
    values("{\"a\": 1, \"b\": [2]}", json!({"a": 1, "b": [2]}));
}

#[test]
fn keys_keep_their_order() {
    let front = split("---\nz: 1\na: 2\nm: 3\n---\n").expect("a block");
    let keys: Vec<_> = front.values.expect("valid").keys().cloned().collect();
    assert_eq!(keys, ["z", "a", "m"]);
}

#[track_caller]
fn wrong(yaml: &str, line: usize) {
    let front = split(&format!("---\n{yaml}\n---\nbody")).expect("a block");
    match front.values {
        Err(FrontError::Yaml { line: found, .. }) => assert_eq!(found, line, "{yaml:?}"),
        other => panic!("{yaml:?} gave {other:?}"),
    }
}

#[test]
fn broken_yaml_names_the_line_of_the_note() {
    wrong("a: 1\na: 2", 3);
    wrong("x:\n  a: 1\n  a: 2", 4);
    wrong("a: 1\ntitle: a: b", 3);
    wrong("title: @foo", 2);
    wrong("a: x\0y", 2);
    wrong("title: {{title}}", 2);
    wrong("a: &a [*a]", 2);
    wrong("a: *nobody", 2);
    wrong("a: 1\n--- \"x\"", 3);
}

#[test]
fn what_is_no_mapping_is_said_to_be_none() {
    for yaml in ["just text", "42", "~", "- a\n- b", "[a]"] {
        let front = split(&format!("---\n{yaml}\n---\n")).expect("a block");
        assert_eq!(front.values, Err(FrontError::NotAMapping), "{yaml}");
    }
}

#[track_caller]
fn too_large(yaml: &str) {
    let started = Instant::now();
    let front = split(&format!("---\n{yaml}\n---\n")).expect("a block");
    assert_eq!(front.values, Err(FrontError::TooLarge));
    assert!(started.elapsed() < Duration::from_secs(3), "took {:?}", started.elapsed());
}

#[test]
fn bombs_are_refused_at_once() {
    too_large(&format!("a: {}", "[".repeat(40_000)));
    too_large(&(0..2_000).map(|n| format!("{}k:\n", " ".repeat(n))).take(1_000).collect::<String>());
    too_large(&format!("a: {}", "x".repeat(3 << 20)));
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..10 {
        let alias = format!("*a{}", n - 1);
        laughs += &format!("a{n}: &a{n} [{}]\n", [alias.as_str(); 9].join(", "));
    }
    too_large(&laughs);
    // Each anchor is shallow, but they stack.
    let mut tower = format!("a0: &a0 {}x{}\n", "[".repeat(40), "]".repeat(40));
    for n in 1..5 {
        tower += &format!("a{n}: &a{n} {}*a{}{}\n", "[".repeat(40), n - 1, "]".repeat(40));
    }
    too_large(&tower);
    let nested: String = (0..50).map(|n| format!("&a{n} [")).collect();
    too_large(&format!("a: {nested}{}{}", "x, ".repeat(70_000), "]".repeat(50)));
    let copies: String = (0..100).map(|n| format!("b{n}: *a\n")).collect();
    too_large(&format!("a: &a {}\n{copies}", "x".repeat(100_000)));
}

#[test]
fn an_open_block_is_told_from_a_rule() {
    assert!(is_left_open("---\ntitle: x\nbody"));
    assert!(is_left_open("\u{feff}---\n\ntags:\nbody"));
    for text in ["---\nSome text: more\n", "---\n", "---\na: 1\n---\n", "title: x\n", "---\nhttp://x\n"] {
        assert!(!is_left_open(text), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_split_without_a_panic(text in "(---\n)?[-a:\\[\\]{}&*!|>'\"#%@,? \t\r\n\u{e9}\u{2028}]{0,80}(\n---\n)?") {
        if let Some(front) = split(&text) {
            prop_assert!(text.get(front.block.clone()).is_some());
            prop_assert!(front.block.start <= front.yaml.start && front.yaml.end <= front.block.end);
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the shared corpus is no vault")]
fn the_markdown_corpus_is_read_as_it_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/");
    let Ok(manifest) = std::fs::read_to_string(format!("{folder}md.manifest.jsonl")) else {
        println!("skipped: there is no {folder}");
        return;
    };
    for line in manifest.lines() {
        let row: Value = serde_json::from_str(line).expect("a row");
        let file = row["file"].as_str().expect("a file");
        let bytes = std::fs::read(format!("{folder}md/{file}")).expect("the file");
        let text = String::from_utf8_lossy(&bytes);
        let started = Instant::now();
        let front = split(&text);
        let took = started.elapsed();
        assert!(took < Duration::from_secs(1), "{file} took {took:?}");
        match (row["cls"].as_str(), row["fm"].as_str()) {
            // A text without front matter counts as valid there.
            (_, Some("valid")) => assert!(front.is_none_or(|front| front.values.is_ok()), "{file}"),
            (Some("yaml-bad"), _) if !FINE.contains(&file) => {
                assert!(front.is_some_and(|front| front.values.is_err()), "{file}")
            }
            _ => {}
        }
    }
}

/// Filed under bad YAML, and odd, but right: multi-document, odd keys, a comment where a value was meant.
const FINE: &[&str] = &[
    "M0053-yaml-bad-multi-doc.md",
    "M0058-yaml-bad-bool-key.md",
    "M0060-yaml-bad-date-key.md",
    "M0063-yaml-bad-space-key.md",
    "M0067-yaml-bad-hash-tag.md",
    "M0070-yaml-bad-templater.md",
    "M0071-yaml-bad-emoji-key.md",
    "M0075-yaml-bad-nbsp-indent.md",
];
