//! What each edit gives, and what no edit does whatever the note.

use proptest::prelude::*;
use serde_json::json;

use super::space::{heading_edges, section_at};
use super::*;
use crate::edit::section;
use crate::note::outline::{document_map, read_section};

fn patch(value: Value) -> Patch {
    serde_json::from_value(value).unwrap()
}

#[track_caller]
fn check(text: &str, edit: Value, expected: &str) {
    let found = apply(text, &patch(edit)).unwrap();
    assert_eq!(found.text, expected);
    assert_eq!(found.warnings, [""; 0]);
}

fn heading(target: &str, operation: &str, scope: &str, content: Option<&str>) -> Value {
    let mut edit = json!({"targetType": "heading", "target": target, "operation": operation, "scope": scope});
    if let Some(content) = content {
        edit["content"] = json!(content);
    }
    edit
}

const AIRY: &str = "# T\n\nintro\n\n## A\n\na body\n\n## B\n\nb body\n";
const FLUSH: &str = "# T\n## A\nx\n## B\ny\n";

#[test]
fn content_keeps_the_gaps_of_the_note() {
    let edit = |operation, content| heading("A", operation, "content", Some(content));
    check(AIRY, edit("append", "\nX\n\n"), "# T\n\nintro\n\n## A\n\na body\n\nX\n\n## B\n\nb body\n");
    check(AIRY, edit("prepend", "X"), "# T\n\nintro\n\n## A\n\nX\n\na body\n\n## B\n\nb body\n");
    check(AIRY, edit("replace", "X"), "# T\n\nintro\n\n## A\n\nX\n\n## B\n\nb body\n");
    check(FLUSH, edit("append", "X"), "# T\n## A\nx\n\nX\n## B\ny\n");
    check(FLUSH, edit("prepend", "X"), "# T\n## A\nX\n\nx\n## B\ny\n");
    check(FLUSH, edit("replace", "X"), "# T\n## A\nX\n## B\ny\n");
    check("# A\r\n\r\nx\r\n", edit("append", "X\nY"), "# A\r\n\r\nx\r\n\r\nX\r\nY\r\n");
    check("# A", edit("append", "X"), "# A\n\nX\n");
    check("# A\n\n# B\n", edit("append", "X"), "# A\n\nX\n\n# B\n");
    check("# A\nB\n===\n", edit("append", "X"), "# A\nX\n\nB\n===\n");
    check("", json!({"targetType": "heading", "target": null, "operation": "append", "content": "X"}), "X\n");
}

#[test]
fn levels_in_content_are_relative() {
    let edit = |operation, scope, content| heading("A", operation, scope, Some(content));
    check(FLUSH, edit("append", "content", "# N\nz"), "# T\n## A\nx\n### N\nz\n## B\ny\n");
    check(FLUSH, edit("append", "content", "### N\n#### M"), "# T\n## A\nx\n### N\n#### M\n## B\ny\n");
    check(FLUSH, edit("replace", "markerAndContent", "# N\n## C"), "# T\n## N\n### C\n## B\ny\n");
    check(FLUSH, edit("replace", "markerAndContent", "N\n===\n\nz"), "# T\n## N\n\nz\n## B\ny\n");
    check(FLUSH, edit("replace", "markerAndContent", "plain"), "# T\nplain\n## B\ny\n");
    check(FLUSH, edit("append", "markerAndContent", "# N\nz"), "# T\n## A\nx\n## N\nz\n## B\ny\n");
    check(FLUSH, edit("prepend", "markerAndContent", "# N\nz"), "# T\n## N\nz\n## A\nx\n## B\ny\n");
    check(
        AIRY,
        edit("append", "markerAndContent", "# N\nz"),
        "# T\n\nintro\n\n## A\n\na body\n\n## N\nz\n\n## B\n\nb body\n",
    );
    let deep = apply("###### A\n", &patch(edit("append", "content", "# N"))).unwrap();
    assert_eq!((deep.text.as_str(), deep.warnings.len()), ("###### A\n\n###### N\n", 1));
}

#[test]
fn a_name_changes_alone() {
    let edit = |name| heading("A", "replace", "marker", Some(name));
    check("# T\n##  A ##\nx ^i\n", edit("New"), "# T\n##  New ##\nx ^i\n");
    check("A\n---\nx\n", edit("New one"), "New one\n---\nx\n");
    check("## A ^id\n", heading("A ^id", "replace", "marker", Some("New")), "## New ^id\n");
    check(FLUSH, heading("A", "delete", "marker", None), "# T\nx\n## B\ny\n");
    check("p\n# A\nx\n", heading("A", "delete", "marker", None), "p\n\nx\n");
    for name in ["", "a\nb"] {
        assert_eq!(apply(FLUSH, &patch(edit(name))).unwrap_err().reason(), "heading_invalid");
    }
    assert_eq!(apply("A\n===\n", &patch(edit("- x"))).unwrap_err().reason(), "heading_invalid");
}

#[test]
fn deleting_keeps_one_gap() {
    check(AIRY, heading("A", "delete", "markerAndContent", None), "# T\n\nintro\n\n## B\n\nb body\n");
    check(AIRY, heading("B", "delete", "markerAndContent", None), "# T\n\nintro\n\n## A\n\na body\n");
    check(AIRY, heading("A", "delete", "content", None), "# T\n\nintro\n\n## A\n\n## B\n\nb body\n");
    check(FLUSH, heading("A", "delete", "content", None), "# T\n## A\n## B\ny\n");
    check("# A\nx\n\n# B\n", heading("A", "delete", "markerAndContent", None), "# B\n");
    check("i\n\n# A\nx\n\nB\n===\n", heading("A", "delete", "content", None), "i\n\n# A\n\nB\n===\n");
}

#[test]
fn a_section_moves_with_its_levels() {
    let to = |target: &str, parent: Value, place: Value| {
        json!({"targetType": "heading", "target": target, "operation": "replace", "scope": "parent",
               "destination": {"parent": parent, "place": place}})
    };
    let text = "# T\n\n## A\n\na\n\n### S\n\ns\n\n## B\n\nb\n";
    check(text, to("S", json!(["T", "B"]), json!("last")), "# T\n\n## A\n\na\n\n## B\n\nb\n\n### S\n\ns\n");
    check(text, to("A", json!(null), json!("last")), "# T\n\n## B\n\nb\n\n# A\n\na\n\n## S\n\ns\n");
    check(text, to("B", json!("T"), json!("first")), "# T\n\n## B\n\nb\n\n## A\n\na\n\n### S\n\ns\n");
    check(text, to("B", json!("T"), json!({"before": "A"})), "# T\n\n## B\n\nb\n\n## A\n\na\n\n### S\n\ns\n");
    check(text, to("A", json!("T"), json!({"after": "B"})), "# T\n\n## B\n\nb\n\n## A\n\na\n\n### S\n\ns\n");
    check(
        text,
        to("S", json!("T"), json!({"after": ["T", "A"]})),
        "# T\n\n## A\n\na\n\n## S\n\ns\n\n## B\n\nb\n",
    );
    for (target, parent) in [("A", "S"), ("A", "A")] {
        let error = apply(text, &patch(to(target, json!(parent), json!("last")))).unwrap_err();
        assert_eq!(error.reason(), "move_into_itself");
    }
}

#[test]
fn one_block_within_a_heading() {
    let edit = |within: i64, operation: &str, scope: &str, content: Option<&str>| {
        let mut edit = heading("A", operation, scope, content);
        edit["within"] = json!(within);
        edit
    };
    let text = "# A\n\none\n\n- l\n- m\n\n^id\n\nlast\n\n## S\nx\n";
    let with = |from: &str, to: &str| text.replacen(from, to, 1);
    check(text, edit(0, "append", "content", Some(" more")), &with("one", "one more"));
    check(text, edit(-1, "replace", "content", Some("X")), &with("last", "X"));
    check(text, edit(1, "append", "content", Some("\n- n")), &with("- m", "- m\n- n"));
    check(text, edit(1, "append", "markerAndContent", Some("X\n")), &with("^id\n", "^id\n\nX\n"));
    check(text, edit(0, "prepend", "markerAndContent", Some("X")), &with("one", "X\n\none"));
    check(text, edit(1, "delete", "content", None), &with("\n- l\n- m\n\n^id\n", ""));
    check(text, edit(0, "delete", "content", None), &with("\none\n", ""));
    for within in [3, -4, i64::MIN] {
        let error = apply(text, &patch(edit(within, "delete", "content", None))).unwrap_err();
        assert_eq!(error.reason(), "section_target_missing");
    }
}

#[test]
fn a_block_is_edited_by_its_id() {
    let edit = |operation: &str, scope: &str, content: Option<&str>| {
        let mut edit = heading("b", operation, scope, content);
        edit["targetType"] = json!("block");
        edit
    };
    check("one ^b\n", edit("append", "content", Some(" two")), "one two ^b\n");
    check("one ^b\n", edit("replace", "marker", Some("^new")), "one ^new\n");
    check("one ^b\n", edit("delete", "marker", None), "one\n");
    check("- x\n\n^b\n\ny\n", edit("delete", "marker", None), "- x\n\ny\n");
    check("p\n\n- x\n\n^b\n\ny\n", edit("delete", "markerAndContent", None), "p\n\ny\n");
    check("- x ^b\n  - y\n- z\n", edit("delete", "markerAndContent", None), "- z\n");
    check(
        "- w\n  - x ^b\n- z\n",
        edit("append", "markerAndContent", Some("- y")),
        "- w\n  - x ^b\n  - y\n- z\n",
    );
    check(
        "one ^b\ntwo\n\nx ^b\n",
        edit("append", "markerAndContent", Some("Y")),
        "one ^b\ntwo\n\nx ^b\n\nY\n",
    );
    let mut rows = edit("append", "content", None);
    rows["value"] = json!([["a|b"]]);
    check("| a |\n|-|\n| 1 |\n\n^b\n", rows.clone(), "| a |\n|-|\n| 1 |\n| a\\|b |\n\n^b\n");
    assert_eq!(apply("one ^b\n", &patch(rows)).unwrap_err().reason(), "content_type_invalid");
    let taken = apply("one ^b\n\ntwo ^c\n", &patch(edit("replace", "marker", Some("c")))).unwrap_err();
    assert_eq!(taken.reason(), "block_id_taken");
    let mut new = edit("append", "content", Some("X"));
    new["createTargetIfMissing"] = json!(true);
    check("one", new, "one\n\nX\n\n^b\n");
}

#[test]
fn properties_are_set_merged_renamed_and_removed() {
    let edit = |operation: &str, scope: &str| json!({"targetType": "frontmatter", "target": "a", "operation": operation, "scope": scope});
    let with = |mut edit: Value, key: &str, value: Value| {
        edit[key] = value;
        edit
    };
    let text = "---\n# c\na: [x] # d\nb: 1\n---\nbody\n";
    let set = apply(text, &patch(with(edit("replace", "content"), "value", Value::Null))).unwrap().text;
    assert_eq!(document_map(&set).frontmatter_fields, ["a", "b"]);
    assert_eq!(read_section(&set, &Target::Front("a".into())).unwrap().value, Some(Value::Null));
    let merged = apply(text, &patch(with(edit("append", "content"), "value", json!(["y"])))).unwrap().text;
    assert_eq!(read_section(&merged, &Target::Front("a".into())).unwrap().value, Some(json!(["x", "y"])));
    let renamed = apply(text, &patch(with(edit("replace", "marker"), "content", json!("z")))).unwrap().text;
    assert_eq!(renamed, "---\n# c\nz: [x] # d\nb: 1\n---\nbody\n");
    let clash = apply(text, &patch(with(edit("replace", "marker"), "content", json!("b")))).unwrap_err();
    assert_eq!(clash.reason(), "key_exists");
    let removed = apply(text, &patch(edit("delete", "markerAndContent"))).unwrap().text;
    assert_eq!(document_map(&removed).frontmatter_fields, ["b"]);
}

#[test]
fn missing_headings_are_made_where_they_belong() {
    let edit = |target: &str| {
        let mut edit = heading(target, "append", "content", Some("X"));
        edit["createTargetIfMissing"] = json!(true);
        edit
    };
    check(AIRY, edit("T::A::N"), "# T\n\nintro\n\n## A\n\na body\n\n### N\n\nX\n\n## B\n\nb body\n");
    check(FLUSH, edit("T::A::N"), "# T\n## A\nx\n### N\nX\n## B\ny\n");
    check("", edit("N::M"), "# N\n\n## M\n\nX\n");
    check("---\na: 1\n---", edit("N"), "---\na: 1\n---\n# N\n\nX\n");
}

#[track_caller]
fn refused(text: &str, edit: Value, reason: &str) {
    match apply(text, &patch(edit)) {
        Err(Error::Edit { reason: found, hint, .. }) => {
            assert_eq!(found, reason);
            assert!(!hint.is_empty());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    refused(AIRY, heading("A", "append", "content", Some("```\nopen")), "structure_broken");
    refused(AIRY, heading("A", "append", "content", Some("<!-- open")), "structure_broken");
    refused(AIRY, heading("A", "append", "content", None), "payload_invalid");
    refused(AIRY, heading("A", "delete", "content", Some("x")), "payload_invalid");
    refused(AIRY, heading("A", "append", "marker", Some("x")), "edit_unsupported");
    refused(AIRY, heading("N", "append", "content", Some("x")), "section_target_missing");
    refused(
        "x\n",
        json!({"targetType": "heading", "target": [], "operation": "prepend", "content": "---\na: 1\n---"}),
        "structure_broken",
    );
    let mut edit = heading("A", "append", "content", Some("a body"));
    edit["rejectIfContentPreexists"] = json!(true);
    refused(AIRY, edit.clone(), "content_preexists");
    edit["ifMatch"] = json!(outline::version(FLUSH));
    refused(AIRY, edit.clone(), "version_mismatch");
    edit["ifMatch"] = json!(outline::version(AIRY));
    refused(AIRY, edit, "content_preexists");
    let unknown = json!({"targetType": "heading", "target": "A", "operation": "delete", "why": 1});
    assert!(serde_json::from_value::<Patch>(unknown).is_err());
    let no_target = json!({"targetType": "heading", "operation": "delete"});
    assert!(serde_json::from_value::<Patch>(no_target).is_err(), "a forgotten target is not the whole note");
}

#[test]
fn the_schema_names_what_is_required_and_nothing_else() {
    let schema = serde_json::to_value(schemars::schema_for!(Patch)).unwrap();
    assert_eq!(schema["required"], json!(["targetType", "target", "operation"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert!(schema["properties"].get("createTargetIfMissing").is_some());
}

/// Markdown-ish notes, made of pieces.
fn note() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "(#{1,7}) [ABC](\\[2\\])?( #+)?",
        2 => Just("text".to_owned()),
        2 => "[a-c ]{0,6} \\^[ab]",
        1 => Just("^a".to_owned()),
        1 => Just("Setext\n===".to_owned()),
        1 => Just("Sub\nlines\n---".to_owned()),
        1 => Just("```\n# no\n```".to_owned()),
        1 => Just("~~~".to_owned()),
        1 => Just("<!--".to_owned()),
        1 => Just("- item\n  - nested ^b\n\n  more".to_owned()),
        1 => Just("> # quoted\n> text".to_owned()),
        1 => Just("| a | b |\n|---|---|\n| 1 | 2 |".to_owned()),
        1 => Just("    indented".to_owned()),
        1 => Just("---".to_owned()),
        1 => Just("---\nkey: 1\n---".to_owned()),
        1 => Just("ä 日本 🙂 \u{a0}".to_owned()),
        1 => Just("   # C".to_owned()),
        3 => Just(String::new()),
        1 => Just("a\rb".to_owned()),
        1 => Just("\u{feff}".to_owned()),
    ];
    let ending = prop_oneof![12 => Just("\n"), 1 => Just("\r\n"), 2 => Just("")];
    (proptest::collection::vec((piece, ending), 0..14), any::<bool>()).prop_map(|(pieces, windows)| {
        let text: String = pieces.into_iter().flat_map(|(piece, end)| [piece, end.to_owned()]).collect();
        if windows { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }
    })
}

fn edit_of(target: Target, operation: Operation, scope: Scope, content: Option<&str>) -> Patch {
    let (target_type, target) = match target {
        Target::Heading(path) => (TargetKind::Heading, Address::Path(path)),
        Target::Block(id) => (TargetKind::Block, Address::Name(id)),
        Target::Front(key) => (TargetKind::Frontmatter, Address::Name(key)),
        Target::Root => (TargetKind::Heading, Address::Root),
    };
    Patch {
        target_type,
        target,
        operation,
        scope,
        within: None,
        content: content.map(str::to_owned),
        value: None,
        destination: None,
        if_match: None,
        create_target_if_missing: false,
        reject_if_content_preexists: false,
    }
}

fn targets(text: &str) -> Vec<Target> {
    let map = document_map(text);
    let headings = map.headings.into_iter().map(|address| Target::Heading(vec![address]));
    let blocks = map.blocks.into_iter().map(Target::Block);
    headings.chain(blocks).chain([Target::Root]).collect()
}

/// The texts of the sections before the heading that do not hold it, and of those behind it.
fn others(text: &str, before: usize, behind: usize) -> (Vec<String>, Vec<String>) {
    let outline = Outline::read(text);
    let own = |section: &crate::note::outline::Section| {
        text[section.start..section.content.end].trim_end().to_owned()
    };
    let start = outline.sections.get(before).map_or(text.len(), |section| section.start);
    let head = outline.sections[..before].iter().filter(|section| section.content.end <= start);
    let tail = &outline.sections[outline.sections.len() - behind..];
    (head.map(own).collect(), tail.iter().map(own).collect())
}

fn top_blocks(text: &str) -> usize {
    Outline::read(text).blocks.blocks.iter().filter(|block| block.parent.is_none()).count()
}

const OPERATIONS: [Operation; 4] =
    [Operation::Replace, Operation::Prepend, Operation::Append, Operation::Delete];
const SCOPES: [Scope; 3] = [Scope::Content, Scope::Marker, Scope::MarkerAndContent];
const CONTENTS: [&str; 8] =
    ["X", "\n# N\n\n## M\n", "- i\n", "N\n---", "```\nf\n```", "", "===", "| c |\n|-|"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn putting_back_what_was_read_changes_no_byte(text in note()) {
        for target in targets(&text) {
            let read = read_section(&text, &target).unwrap();
            let edit = edit_of(target, Operation::Replace, Scope::Content, Some(&read.content));
            prop_assert_eq!(apply(&text, &edit).unwrap().text, text.clone());
        }
    }

    #[test]
    fn an_edit_leaves_all_other_sections_alone(text in note(), operation in 0..4usize, scope in 0..3usize, content in 0..8usize) {
        let outline = Outline::read(&text);
        for (index, section) in outline.sections.iter().enumerate() {
            let target = Target::Heading(vec![section.address.clone()]);
            let content = (OPERATIONS[operation] != Operation::Delete).then_some(CONTENTS[content]);
            let edit = edit_of(target, OPERATIONS[operation], SCOPES[scope], content);
            let Ok(found) = apply(&text, &edit) else { continue };
            let behind = outline.sections.iter().filter(|other| other.start >= section.content.end).count();
            let (head, tail) = others(&text, index, behind);
            let (kept_head, kept_tail) = others(&found.text, index, behind);
            prop_assert_eq!(tail, kept_tail, "{:?}", found.text);
            // Without a heading of its own, text in front of a section belongs to the one before.
            let headless = edit.scope != Scope::Content && !content.is_some_and(|content| heading_edges(content).0);
            if !headless || edit.scope == Scope::Marker && edit.operation == Operation::Replace {
                prop_assert_eq!(head, kept_head, "{:?}", found.text);
            }
            if text.contains("\r\n") && !text.replace("\r\n", "").contains(['\r', '\n']) {
                prop_assert!(!found.text.replace("\r\n", "").contains(['\r', '\n']), "{:?}", found.text);
            }
        }
    }

    #[test]
    fn what_was_appended_can_be_deleted_again(text in note(), content in prop_oneof![Just("X"), Just("- i"), Just("> q")]) {
        let text = format!("{text}{}", Outline::read(&text).newline());
        let outline = Outline::read(&text);
        for section in &outline.sections {
            let target = Target::Heading(vec![section.address.clone()]);
            let has_child = outline.sections.iter().any(|other| section.content.contains(&other.start));
            // A title over `===` gets a blank line that it did not have; that one stays.
            let title = section_at(&outline, section.content.end).is_some_and(|next| !section::is_atx(&outline, next));
            if has_child || title || text[section.content.clone()].trim().is_empty() {
                continue;
            }
            let Ok(longer) = apply(&text, &edit_of(target.clone(), Operation::Append, Scope::Content, Some(content))) else { continue };
            let mut last = edit_of(target, Operation::Delete, Scope::Content, None);
            last.within = Some(-1);
            // An open fence or a list may have taken it in; then it is no block to be deleted.
            if top_blocks(&longer.text) == top_blocks(&text) + 1 {
                prop_assert_eq!(apply(&longer.text, &last).unwrap().text, text.clone(), "{:?}", longer.text);
            }
        }
    }

    #[test]
    fn literal_edits_keep_headings_and_line_ends(text in note(), content in "X\n{0,2}", operation in 0..3usize, trim: bool) {
        let outline = Outline::read(&text);
        let operation = [section::Operation::Append, section::Operation::Prepend, section::Operation::Replace][operation];
        let windows = |text: &str| !text.replace("\r\n", "").contains(['\r', '\n']);
        for (index, own) in outline.sections.iter().enumerate() {
            let target = Target::Heading(vec![own.address.clone()]);
            let mut edit = section::Instruction::new(target, operation, section::Content::Text(content.clone()));
            edit.trim_target_whitespace = trim;
            let Ok(found) = section::apply(&text, &edit) else { continue };
            let behind = outline.sections.iter().filter(|other| other.start >= own.content.end).count();
            prop_assert_eq!(others(&text, index, behind), others(&found, index, behind), "{:?}", found);
            prop_assert!(found.starts_with(&text[..own.content.start]) && found.ends_with(&text[own.content.end..]));
            prop_assert!(found.contains('X'));
            if text.contains("\r\n") && windows(&text) {
                prop_assert!(windows(&found), "{:?}", found);
            }
        }
    }

    #[test]
    fn no_edit_panics(text in note(), other in note(), operation in 0..4usize, scope in 0..3usize, within in -3..3i64) {
        for target in targets(&text) {
            let content = (operation != 3).then_some(other.as_str());
            let mut edit = edit_of(target.clone(), OPERATIONS[operation], SCOPES[scope], content);
            let _ = apply(&text, &edit);
            edit.within = Some(within);
            let _ = apply(&text, &edit);
            for trim in [false, true] {
                let operation = [section::Operation::Append, section::Operation::Prepend, section::Operation::Replace][operation % 3];
                let mut old = section::Instruction::new(target.clone(), operation, section::Content::Text(other.clone()));
                old.trim_target_whitespace = trim;
                let _ = section::apply(&text, &old);
            }
        }
        let sections = document_map(&text).headings;
        for pair in sections.windows(2) {
            let mut edit = edit_of(Target::Heading(vec![pair[1].clone()]), Operation::Replace, Scope::Parent, None);
            let parent = Address::Path(vec![pair[0].clone()]);
            edit.destination = Some(Destination { parent, place: if within < 0 { Place::First } else { Place::Last } });
            let _ = apply(&text, &edit);
        }
    }
}
