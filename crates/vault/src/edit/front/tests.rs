//! One key changes and nothing else, over tidy, odd and hostile blocks.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check_set(text: &str, key: &str, value: Value, expected: &str) {
    let found = set(text, key, &value).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(found, expected, "{text:?} {key} {value}");
}

#[track_caller]
fn reason<T: std::fmt::Debug>(result: Result<T>, expected: &str) {
    assert_eq!(result.expect_err("a refusal").reason(), expected);
}

#[test]
fn set_changes_the_value_and_nothing_else() {
    check_set("---\na: 1\nb: 2\n---\nx", "a", json!(5), "---\na: 5\nb: 2\n---\nx");
    check_set("---\na: 1 # why\nb: 2\n---\n", "a", json!("t"), "---\na: t # why\nb: 2\n---\n");
    check_set(
        "---\r\na: 1\r\nb: 2\r\n---\r\nx\r\n",
        "b",
        json!([1]),
        "---\r\na: 1\r\nb:\r\n  - 1\r\n---\r\nx\r\n",
    );
    check_set("---\na:\nb: 2\n---\n", "a", json!("x"), "---\na: x\nb: 2\n---\n");
    check_set("---\na: # c\nb: 2\n---\n", "a", json!("x"), "---\na: x # c\nb: 2\n---\n");
    check_set("---\na: x\n---\n", "a", json!(null), "---\na: null\n---\n");
    check_set("---\na : x\n---\n", "a", json!("y"), "---\na : y\n---\n");
    check_set("---\na: &x 1\nb: 2\n---\n", "a", json!(3), "---\na: 3\nb: 2\n---\n");
    check_set(
        "---\n# top\na: 1\n# mid\nb: 2\n# end\n---\n",
        "a",
        json!(9),
        "---\n# top\na: 9\n# mid\nb: 2\n# end\n---\n",
    );
    check_set("\u{feff}---\na: 1\n---\nx", "a", json!(2), "\u{feff}---\na: 2\n---\nx");
    check_set("---\na: 1\n...\nx", "a", json!(2), "---\na: 2\n...\nx");
    check_set("---\n  a: 1\n  b: 2\n---\n", "c", json!([1]), "---\n  a: 1\n  b: 2\n  c:\n    - 1\n---\n");
}

#[test]
fn set_keeps_the_quotes_of_text() {
    check_set("---\na: 'x'\n---\n", "a", json!("it's"), "---\na: 'it''s'\n---\n");
    check_set("---\na: \"x\"\n---\n", "a", json!("q\"q"), "---\na: \"q\\\"q\"\n---\n");
    check_set("---\na: 'x'\n---\n", "a", json!("l1\tl2"), "---\na: \"l1\\tl2\"\n---\n");
    check_set("---\na: 'x'\n---\n", "a", json!(5), "---\na: 5\n---\n");
    check_set("---\na: x\n---\n", "a", json!("5"), "---\na: \"5\"\n---\n");
    check_set("---\na: x\n---\n", "a", json!("2026-01-02"), "---\na: 2026-01-02\n---\n");
    check_set("---\na: x\n---\n", "a", json!("[[Note]]"), "---\na: \"[[Note]]\"\n---\n");
    check_set("---\na: x\n---\n", "a", json!("http://x.y/#z"), "---\na: http://x.y/#z\n---\n");
    check_set(
        "---\na: |\n  one\n  two\nb: 1\n---\n",
        "a",
        json!("3\n4\n"),
        "---\na: |\n  3\n  4\nb: 1\n---\n",
    );
    check_set(
        "---\na: >\n  one\n  two\n\n# c\nb: 1\n---\n",
        "a",
        json!("x"),
        "---\na: x\n\n# c\nb: 1\n---\n",
    );
    check_set("---\na: x\n---\n", "a", json!("1\n2"), "---\na: |-\n  1\n  2\n---\n");
}

#[test]
fn lists_and_objects_keep_their_style() {
    check_set("---\nt: [x]\n---\n", "t", json!(["x", "y z"]), "---\nt: [x, y z]\n---\n");
    check_set("---\nt: ['x', \"y\"]\n---\n", "t", json!(["y", "z"]), "---\nt: [\"y\", z]\n---\n");
    check_set("---\nt: [x]\n---\n", "t", json!([]), "---\nt: []\n---\n");
    check_set("---\nt:\n- x\n- y\nb: 1\n---\n", "t", json!(["x", "z"]), "---\nt:\n- x\n- z\nb: 1\n---\n");
    check_set(
        "---\nt:\n    - 'x' # one\n    - y\n---\n",
        "t",
        json!(["0", "x", "y"]),
        "---\nt:\n    - \"0\"\n    - 'x' # one\n    - y\n---\n",
    );
    check_set("---\nt: # tags\n  - x\n---\n", "t", json!(["x", "y"]), "---\nt: # tags\n  - x\n  - y\n---\n");
    check_set("---\nt: # tags\n  - x\n---\n", "t", json!("x"), "---\nt: x # tags\n---\n");
    check_set("---\nt: x # tags\nb: 1\n---\n", "t", json!(["x"]), "---\nt: # tags\n  - x\nb: 1\n---\n");
    check_set(
        "---\no: {k: v}\n---\n",
        "o",
        json!({"k": [1, {"z": "a, b"}]}),
        "---\no: {k: [1, {z: \"a, b\"}]}\n---\n",
    );
    check_set("---\no: {k: v,}\nb: 1\n---\n", "o", json!({"k": 1}), "---\no: {k: 1}\nb: 1\n---\n");
    check_set(
        "---\no:\n  k: v\nb: 1\n---\n",
        "o",
        json!({"k": {"l": [1]}}),
        "---\no:\n  k:\n    l:\n      - 1\nb: 1\n---\n",
    );
    check_set(
        "---\na: 1\n---\n",
        "l",
        json!([{"n": "x", "v": 1}, ["p"], {}]),
        "---\na: 1\nl:\n  - n: x\n    v: 1\n  - [p]\n  - {}\n---\n",
    );
}

#[test]
fn a_comment_behind_a_list_stays() {
    let text = "---\nt:\n  - x\n  # inner\n  - y\n# after\n\nb: 1\n---\n";
    check_set(text, "t", json!(["x"]), "---\nt:\n  - x\n  # inner\n# after\n\nb: 1\n---\n");
    check_set(text, "t", json!(["z"]), "---\nt:\n  - z\n  # inner\n# after\n\nb: 1\n---\n");
    check_set(text, "t", json!(1), "---\nt: 1\n# after\n\nb: 1\n---\n");
    assert_eq!(remove(text, "t").expect("removed"), "---\n# after\n\nb: 1\n---\n");
}

#[test]
fn a_new_key_goes_to_the_end_and_a_missing_block_is_made() {
    check_set("---\na: 1\n# end\n---\nx", "b", json!(2), "---\na: 1\n# end\nb: 2\n---\nx");
    check_set("---\n---\nx", "b", json!(2), "---\nb: 2\n---\nx");
    check_set("---\n\n\n---\nx", "b", json!(2), "---\n\n\nb: 2\n---\nx");
    check_set("---\na: |\n  text\n---", "b", json!(2), "---\na: |\n  text\nb: 2\n---");
    check_set("# T\n", "b", json!("x"), "---\nb: x\n---\n# T\n");
    check_set("# T\r\n", "b", json!("x"), "---\r\nb: x\r\n---\r\n# T\r\n");
    check_set("", "b", json!(["x"]), "---\nb:\n  - x\n---\n");
    check_set("\u{feff}x", "b", json!(1), "\u{feff}---\nb: 1\n---\nx");
    check_set("---\nSome text: not a key\n", "b", json!(1), "---\nb: 1\n---\n---\nSome text: not a key\n");
    check_set("---\n{\"a\": 1}\n---\n", "b", json!([2]), "---\n{a: 1, b: [2]}\n---\n");
}

#[test]
fn keys_are_literal() {
    check_set("---\na.b: 1\na:\n  b: 2\n---\n", "a.b", json!(3), "---\na.b: 3\na:\n  b: 2\n---\n");
    check_set("---\n\"q k\": 1\n---\n", "q k", json!(3), "---\n\"q k\": 3\n---\n");
    check_set("---\né: ü # ö\nß: 2\n---\n", "ß", json!("ä"), "---\né: ü # ö\nß: ä\n---\n");
    check_set("---\na: 1\n---\n", "x: y", json!(1), "---\na: 1\n\"x: y\": 1\n---\n");
    check_set("---\na: 1\n---\n", "", json!(1), "---\na: 1\n\"\": 1\n---\n");
    check_set("---\na: 1\n---\n", "true", json!(1), "---\na: 1\ntrue: 1\n---\n");
    assert_eq!(get("---\na:\n  b: [1]\n---\n", "a").expect("read"), Some(json!({"b": [1]})));
    assert_eq!(get("---\na: 1\n---\n", "b").expect("read"), None);
    assert_eq!(get("text", "b").expect("read"), None);
}

#[test]
fn the_same_value_leaves_the_text_alone() {
    for text in [
        "---\na: 0x10 # hex\n---\n",
        "---\na: \"16\"\n---\n",
        "---\na: .nan\n---\n",
        "---\na: >-\n  x\n  y\n---\n",
    ] {
        let value = get(text, "a").expect("read").expect("there");
        assert_eq!(set(text, "a", &value).expect("set"), text);
    }
}

#[test]
fn an_anchor_in_use_is_not_replaced() {
    let text = "---\na: &x 1\nb: *x\nc: [&y 2, *y]\n---\n";
    reason(set(text, "a", &json!(2)), "anchor_in_use");
    reason(remove(text, "a"), "anchor_in_use");
    check_set(text, "b", json!(2), "---\na: &x 1\nb: 2\nc: [&y 2, *y]\n---\n");
    check_set(text, "c", json!(2), "---\na: &x 1\nb: *x\nc: 2\n---\n");
    check_set(text, "d", json!(2), "---\na: &x 1\nb: *x\nc: [&y 2, *y]\nd: 2\n---\n");
}

#[test]
fn what_cannot_be_read_is_not_edited() {
    for text in
        ["---\na: [\n---\n", "---\njust text\n---\n", "---\na: 1\na: 2\n---\n", "---\ntitle: x\nno end"]
    {
        for result in [set(text, "k", &json!(1)), remove(text, "k"), rename(text, "a", "b")] {
            reason(result, "frontmatter_invalid");
        }
        reason(get(text, "k"), "frontmatter_invalid");
    }
    reason(set("---\n? a\n: 1\n---\n", "a", &json!(2)), "frontmatter_unsafe");
    let deep = (0..200).fold(json!(1), |value, _| json!([value]));
    reason(set("x", "k", &deep), "frontmatter_invalid");
    reason(set("x", &"k".repeat(2_000), &json!(1)), "frontmatter_unsafe");
}

#[test]
fn remove_takes_the_lines_of_the_key() {
    let cases = [
        ("---\na: 1 # c\nb: 2\n---\nx", "a", "---\nb: 2\n---\nx"),
        ("---\na:\n  - 1\n  - 2\nb: 2\n---\nx", "a", "---\nb: 2\n---\nx"),
        ("---\na: |\n  t\n\n  u\nb: 2\n---\nx", "a", "---\nb: 2\n---\nx"),
        ("---\na: {x: 1,\n  y: 2}\nb: 2\n---\nx", "a", "---\nb: 2\n---\nx"),
        ("---\na: 1\n---\n\n \n  x\n", "a", "  x\n"),
        ("---\na: |\n  # no comment\n---\nx", "a", "x"),
        ("---\r\na: 1\r\n---\r\n\r\nx", "a", "x"),
        ("\u{feff}---\na: 1\n---\nx", "a", "\u{feff}x"),
        ("---\n# keep\na: 1\n---\n\nx", "a", "---\n# keep\n---\n\nx"),
        ("---\n{a: 1, b: 2}\n---\nx", "a", "---\n{b: 2}\n---\nx"),
        ("---\n{a: 1}\n---\nx", "a", "x"),
        ("---\na: 1\n---\nx", "b", "---\na: 1\n---\nx"),
        ("x", "b", "x"),
    ];
    for (text, key, expected) in cases {
        assert_eq!(remove(text, key).expect("removed"), expected, "{text:?}");
    }
}

#[test]
fn merge_adds_like_to_like() {
    let text = "---\nl: [x]\no: {k: 1}\ns: t\nn: 5\ne:\n---\n";
    let cases = [
        ("l", json!(["y"]), Some(json!(["x", "y"])), Some(json!(["y", "x"]))),
        ("l", json!("y"), Some(json!(["x", "y"])), Some(json!(["y", "x"]))),
        ("l", json!(5), Some(json!(["x", 5])), Some(json!([5, "x"]))),
        ("l", json!({"a": 1}), None, None),
        ("l", json!(null), None, None),
        ("o", json!({"k": 2, "z": 3}), Some(json!({"k": 2, "z": 3})), Some(json!({"k": 1, "z": 3}))),
        ("o", json!(["z"]), None, None),
        ("s", json!("u"), Some(json!("tu")), Some(json!("ut"))),
        ("s", json!(["u"]), None, None),
        ("s", json!(1), None, None),
        ("n", json!(1), None, None),
        ("e", json!(["u"]), Some(json!(["u"])), Some(json!(["u"]))),
        ("new", json!("u"), Some(json!("u")), Some(json!("u"))),
        ("new", json!(true), None, None),
    ];
    for (key, value, appended, prepended) in cases {
        for (place, expected) in [(Place::Append, appended), (Place::Prepend, prepended)] {
            match (merge(text, key, &value, place), expected) {
                (Ok(found), Some(expected)) => assert_eq!(get(&found, key).expect("read"), Some(expected)),
                (Err(error), None) => assert_eq!(error.reason(), "content_not_mergeable"),
                (found, expected) => panic!("{key} {value} {place:?}: {found:?}, not {expected:?}"),
            }
        }
    }
}

#[test]
fn rename_keeps_place_and_quotes() {
    let text = "---\n# c\n'a': 1 # d\nb:\n  - 2\n---\n";
    assert_eq!(rename(text, "a", "x").expect("renamed"), "---\n# c\n'x': 1 # d\nb:\n  - 2\n---\n");
    assert_eq!(rename(text, "b", "y: z").expect("renamed"), "---\n# c\n'a': 1 # d\n\"y: z\":\n  - 2\n---\n");
    assert_eq!(rename(text, "a", "a").expect("renamed"), text);
    reason(rename(text, "a", "b"), "key_exists");
    reason(rename(text, "z", "b"), "key_missing");
}

#[test]
fn update_sets_and_removes_many() {
    let values = json!({"a": 2, "new": ["x"]});
    let gone = ["b".to_owned(), "a".to_owned(), "nobody".to_owned()];
    let found = update("---\na: 1\nb: 2\nc: 3\n---\nx", values.as_object().expect("a map"), &gone);
    assert_eq!(found.expect("updated"), "---\na: 2\nc: 3\nnew:\n  - x\n---\nx");
    reason(update("---\na: [\n---\n", &Map::new(), &[]), "frontmatter_invalid");
}

/// Odd blocks: every key of each is set, renamed and removed in the tests below.
const ODD: &[&str] = &[
    "---\n# top\ntitle: \"A: b\" # trailing\ntags: [a, 'b', \"c d\"]\n\nlist:\n- x\n- y # why\n# after the list\nnested:\n  k:\n    - 1\n  m: {a: [1, 2]}\nlast: end\n---\n# Body\n",
    "---\r\ntitle: x\r\ntext: |\r\n  l1\r\n\r\n  l2\r\nfold: >-\r\n  f1\r\n  f2\r\nend: 1\r\n---\r\nbody\r\n",
    "---\nkeep: |+\n  l1\n\nnext: 1\ndate: 2026-06-29\nurl: https://a.b/c?d#e\n---\nbody",
    "---\nmulti: one\n  two\n  three\nquoted: \"a\n  b\"\nflow: [a,\n  b, # c\n  c]\nlast:\n---",
    "---\nüñí: ö # ä\n\"dq\": 'ß'\n日本: [語, \"言\"]\n😀: 1\n---\nbödy",
    "---\nempties:\n  -\n  - ~\n  - \"\"\nobj:\n  - a: 1\n    b: 2\n  - c: 3\nz: !foo bar\n---\n",
];

#[test]
fn every_key_of_odd_blocks_can_be_edited_alone() {
    for text in ODD {
        let keys: Vec<String> = all(text).expect("valid").keys().cloned().collect();
        for key in &keys {
            for value in [
                json!("new"),
                json!("- tricky: #x"),
                json!(1.5),
                json!(["p", "q: r"]),
                json!({"k": "v"}),
                json!(null),
            ] {
                let found = set(text, key, &value).unwrap_or_else(|error| panic!("{text:?} {key}: {error}"));
                assert_eq!(get(&found, key).expect("read"), Some(value));
                other_lines_stay(text, &found, key);
            }
            let found = rename(text, key, "re named").expect("renamed");
            assert_eq!(
                rename(&found, "re named", key).map(|text| all(&text).expect("read")).expect("back"),
                all(text).expect("read")
            );
            let found = remove(text, key).unwrap_or_else(|error| panic!("{text:?} {key}: {error}"));
            assert_eq!(get(&found, key).expect("read"), None);
        }
    }
}

/// All comments outside of the value, and the lines of all other keys, are still there in order.
#[track_caller]
fn other_lines_stay(text: &str, found: &str, key: &str) {
    let rest = remove(text, key).expect("removed");
    let mut lines = found.split_inclusive('\n');
    for line in rest.split_inclusive('\n') {
        assert!(lines.any(|found| found == line), "lost {line:?} of {text:?} in {found:?}");
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[-a-zé#:,&*!|>'\"%@`{}\\[\\]?.0-9 \t\r\n~\u{85}\u{2028}]{0,12}".prop_map(Value::from),
        "(true|null|~|1e3|0x1F|2026-01-01|---|\\.\\.\\.|yes|- a|a: b|\\.inf|12345678901234567890123)"
            .prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(("[-a-z: #é]{0,5}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_reads_back_as_it_was_set(value in value(), text in prop::sample::select(ODD), key in "Q[a-zé.: #'\"-]{1,8}") {
        let found = set(text, &key, &value).expect("set");
        prop_assert_eq!(get(&found, &key).expect("read"), Some(value));
        let old = front::split(text).expect("a block");
        let new = front::split(&found).expect("a block");
        prop_assert_eq!(&found[new.block.end..], &text[old.block.end..]);
        prop_assert!(found.starts_with(&text[..old.yaml.end]), "a new key changed lines above it");
        prop_assert_eq!(remove(&found, &key).expect("removed"), text);
    }

    #[test]
    fn setting_over_and_back_gives_the_same_bytes(first in value(), second in value(), crlf in any::<bool>()) {
        let text = "---\n# c\na: 1\nb: 2 # d\nz: [x]\n---\nbody\n";
        let text = if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        // Written by us, over a plain scalar: that is the canonical form.
        let start = set(&text, "b", &first).expect("set");
        let over = set(&start, "b", &second).expect("set");
        prop_assert_eq!(get(&over, "b").expect("read"), Some(second));
        prop_assert!(over.contains("# d"));
        let back = set(&over, "b", &json!(2)).expect("set");
        prop_assert_eq!(back, text);
    }

    #[test]
    fn a_value_in_an_old_list_or_object_reads_back(old in value(), new in value(), text in prop::sample::select(ODD)) {
        let start = set(text, "k", &old).expect("set");
        let start = set(&start, "after", &json!(1)).expect("set");
        let found = set(&start, "k", &new).expect("set");
        prop_assert_eq!(get(&found, "k").expect("read"), Some(new));
        prop_assert_eq!(remove(&remove(&found, "k").expect("removed"), "after").expect("removed"), text);
    }

    #[test]
    fn removing_a_first_key_gives_the_note_back(text in "[a-z#][a-z\n -]{0,20}", value in value()) {
        let found = set(&text, "k", &value).expect("set");
        prop_assert_eq!(remove(&found, "k").expect("removed"), text);
    }

    #[test]
    fn any_text_is_edited_or_refused_without_a_panic(yaml in "[-ab:\\[\\]{}&*!|>'\"#%@,? \t\r\n\u{e9}]{0,60}", value in value()) {
        let text = format!("---\n{yaml}\n---\nbody");
        let Ok(old) = all(&text) else { return Ok(()) };
        for key in old.keys().map(String::as_str).chain(["new"]) {
            if let Ok(found) = set(&text, key, &value) {
                let mut expected = old.clone();
                expected.insert(key.to_owned(), value.clone());
                prop_assert_eq!(all(&found).expect("read"), expected);
                prop_assert!(found.ends_with("body"));
            }
            let _ = (remove(&text, key), rename(&text, key, "x y"));
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the shared corpus is no vault")]
fn the_patch_corpus_holds() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/patch-1x.jsonl");
    let Ok(rows) = std::fs::read_to_string(file) else {
        println!("skipped: there is no {file}");
        return;
    };
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row"));
    for row in rows.filter(|row| row["group"] == "frontmatter" && row["error"] != "invalid-target") {
        let (doc, instruction) = (row["doc"].as_str().expect("a text"), &row["instruction"]);
        let (key, content) = (instruction["target"].as_str().expect("a key"), &instruction["content"]);
        let found = match instruction["operation"].as_str() {
            Some("append") => merge(doc, key, content, Place::Append),
            Some("prepend") => merge(doc, key, content, Place::Prepend),
            _ => set(doc, key, content),
        };
        match row["expected_frontmatter"].as_object() {
            Some(expected) => {
                let found = found.expect("an edit");
                assert!(same(&all(&found).expect("read"), expected), "{row}: {found}");
                if row["upstream_bug"] == false {
                    assert_eq!(found, row["expected"].as_str().expect("a text"), "{row}");
                }
            }
            None if row["bug"] == "list-scalar-merge" => assert!(found.is_ok(), "{row}"),
            None => reason(found, "content_not_mergeable"),
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the shared corpus is no vault")]
fn the_markdown_corpus_keeps_every_other_byte() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/md");
    let Ok(files) = std::fs::read_dir(folder) else {
        println!("skipped: there is no {folder}");
        return;
    };
    for file in files {
        let path = file.expect("a file").path();
        let Ok(text) = String::from_utf8(std::fs::read(&path).expect("the file")) else { continue };
        let Ok(found) = set(&text, "verger", &json!("x")) else {
            assert!(all(&text).is_err(), "{path:?}");
            continue;
        };
        let line = if text.contains("\r\n") { "verger: x\r\n" } else { "verger: x\n" };
        match front::split(&text) {
            Some(front) => assert_eq!(found.replacen(line, "", 1).len(), text.len(), "{path:?} {front:?}"),
            None => assert!(found.ends_with(text.trim_start_matches('\u{feff}')), "{path:?}"),
        }
    }
}
