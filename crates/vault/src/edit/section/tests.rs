//! The corpus of recorded edits, and what no edit may do.

use serde_json::Value;

use super::*;
use crate::note::outline::{TargetKind, read_section};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/patch-1x.jsonl");

struct Row {
    name: String,
    doc: String,
    instruction: Instruction,
    expected: Option<String>,
    error: Option<String>,
    bug: Option<String>,
    properties: Option<Value>,
}

#[expect(clippy::disallowed_methods, reason = "the corpus lies outside of any vault")]
fn rows() -> Option<Vec<Row>> {
    let Ok(text) = std::fs::read_to_string(CORPUS) else {
        println!("skipped: no corpus at {CORPUS}");
        return None;
    };
    Some(text.lines().map(|line| row(&serde_json::from_str(line).unwrap())).collect())
}

fn row(value: &Value) -> Row {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    Row {
        name: text("id").unwrap(),
        doc: text("doc").unwrap(),
        instruction: instruction(&value["instruction"]),
        expected: text("expected"),
        error: text("error"),
        bug: text("bug"),
        properties: value.get("expected_frontmatter").cloned(),
    }
}

fn instruction(value: &Value) -> Instruction {
    let flag = |key: &str| value[key].as_bool().unwrap_or(false);
    let name = || value["target"].as_str().unwrap().to_owned();
    let target = match (value["targetType"].as_str().unwrap(), &value["target"]) {
        ("heading", Value::Null) => Target::Root,
        ("heading", path) => Target::Heading(serde_json::from_value(path.clone()).unwrap()),
        ("block", _) => Target::Block(name()),
        _ => Target::Front(name()),
    };
    let json = value["contentType"].as_str() == Some("application/json");
    let content = match &value["content"] {
        Value::String(text) if !json => Content::Text(text.clone()),
        other => Content::Json(other.clone()),
    };
    let operation = match value["operation"].as_str().unwrap() {
        "append" => Operation::Append,
        "prepend" => Operation::Prepend,
        _ => Operation::Replace,
    };
    Instruction {
        create_target_if_missing: flag("createTargetIfMissing"),
        apply_if_content_preexists: flag("applyIfContentPreexists"),
        trim_target_whitespace: flag("trimTargetWhitespace"),
        ..Instruction::new(target, operation, content)
    }
}

fn same_error(reason: &str, corpus: &str) -> bool {
    match corpus {
        "invalid-target" => reason == "section_target_missing",
        "content-already-preexists-in-target" => reason == "content_preexists",
        "content-not-mergeable" => reason == "content_not_mergeable",
        "content-type-invalid-for-target" => reason == "content_type_invalid",
        "ambiguous-section" => reason == "ambiguous_section",
        _ => true,
    }
}

#[test]
fn recorded_edits_give_the_recorded_text() {
    let Some(rows) = rows() else { return };
    let mut wrong = Vec::new();
    for row in rows.iter().filter(|row| row.bug.is_none()) {
        let found = apply(&row.doc, &row.instruction);
        let right = match (&found, &row.expected, &row.error) {
            (Ok(text), Some(expected), _) => text == expected,
            (Err(error), None, Some(kind)) => same_error(error.reason(), kind),
            _ => false,
        };
        if !right {
            wrong.push(format!(
                "{} {:?}\n  found {found:?}\n  not {:?} {:?}",
                row.name, row.instruction, row.expected, row.error
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn where_upstream_fails_the_edit_is_sane() {
    let Some(rows) = rows() else { return };
    for row in rows.iter().filter(|row| row.bug.is_some()) {
        let found = apply(&row.doc, &row.instruction);
        match (&row.properties, found) {
            (Some(properties), found) => check_properties(row, properties, found),
            (None, Ok(text)) => check_sane(row, &text),
            (None, Err(Error::Edit { reason, hint, .. })) => {
                assert!(!hint.is_empty());
                let expected = ["ambiguous_section", "content_type_invalid"];
                assert!(expected.contains(&reason), "{} {reason}", row.name);
            }
            (None, Err(error)) => panic!("{} {error:?}", row.name),
        }
    }
}

#[track_caller]
fn check_properties(row: &Row, properties: &Value, found: Result<String>) {
    let text = found.unwrap_or_else(|error| panic!("{} {error:?}", row.name));
    let front = crate::note::front::split(&text).unwrap();
    assert_eq!(Value::Object(front.values.unwrap()), *properties, "{}", row.name);
    let Target::Front(key) = &row.instruction.target else { return };
    for line in row.doc.lines().filter(|line| !line.starts_with(&format!("{key}:")) && !line.starts_with(' '))
    {
        assert!(text.lines().any(|kept| kept == line), "{} lost {line:?}\n{text}", row.name);
    }
}

/// Headings and blocks: the content is there, all other headings are, and the line ends are the note's.
#[track_caller]
fn check_sane(row: &Row, text: &str) {
    if let Target::Front(_) = row.instruction.target {
        assert!(crate::note::front::split(text).unwrap().values.is_ok(), "{}", row.name);
        return;
    }
    let Content::Text(content) = &row.instruction.content else { panic!("{}", row.name) };
    assert!(text.contains(content.trim()), "{}", row.name);
    if row.doc.contains("\r\n") {
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{} {text:?}", row.name);
        assert_eq!(text.matches('\r').count(), text.matches("\r\n").count(), "{} {text:?}", row.name);
    }
    let outline = Outline::read(&row.doc);
    let region = region(&outline, &row.instruction);
    assert!(text.starts_with(row.doc[..region.start].trim_end()), "{} {text:?}", row.name);
    assert!(text.ends_with(&row.doc[region.end..]), "{} {text:?}", row.name);
    let after = Outline::read(text);
    for section in outline.sections.iter().filter(|section| !region.contains(&section.start)) {
        assert!(after.sections.iter().any(|kept| kept.address == section.address), "{} {text:?}", row.name);
    }
}

fn region(outline: &Outline<'_>, instruction: &Instruction) -> Range<usize> {
    match &instruction.target {
        Target::Heading(path) => match outline.heading(path, Purpose::Write) {
            Ok(section) => section.content.clone(),
            Err(_) => outline.text.len()..outline.text.len(),
        },
        Target::Block(id) => outline.block(id, Purpose::Write).unwrap().content.clone(),
        _ => outline.body..outline.text.len(),
    }
}

#[track_caller]
fn check(text: &str, target: &str, operation: Operation, content: &str, expected: &str) {
    let content = Content::Text(content.to_owned());
    let mut instruction = Instruction::new(Target::heading(target), operation, content);
    instruction.create_target_if_missing = true;
    assert_eq!(apply(text, &instruction).unwrap(), expected);
}

#[test]
fn a_heading_stays_on_a_line_of_its_own() {
    check("# A", "A", Operation::Append, "X", "# A\nX");
    check("# A", "A", Operation::Prepend, "X", "# A\nX");
    check("# A", "A", Operation::Replace, "X", "# A\nX");
    check("# T\n## A", "T", Operation::Append, "X", "# T\n## A\nX");
    check("# A\nx\n# B\n", "A", Operation::Append, "X", "# A\nx\nX\n# B\n");
    check("# A\nx\n\nB\n===\n", "A", Operation::Append, "X", "# A\nx\n\nX\n\nB\n===\n");
    check("# T\nB\n---\ny\n", "T", Operation::Prepend, "X\n", "# T\nX\n\nB\n---\ny\n");
    check("---\na: 1\n---", "T", Operation::Append, "X", "---\na: 1\n---\n# T\nX");
}

#[test]
fn created_headings_are_one_deeper_than_their_parent() {
    check("# T\n### D\nx\n\n## E\n", "T::D::N", Operation::Append, "X", "# T\n### D\nx\n\n#### N\nX\n## E\n");
    check("", "A::B", Operation::Replace, "X", "# A\n## B\nX");
    let deep = "# 1\n## 2\n### 3\n#### 4\n##### 5\n###### 6\n";
    let path = Target::heading("1::2::3::4::5::6::7");
    let mut instruction = Instruction::new(path, Operation::Append, Content::Text("X".into()));
    instruction.create_target_if_missing = true;
    assert_eq!(apply(deep, &instruction).unwrap_err().reason(), "heading_too_deep");
    instruction.target = Target::Heading(vec!["a\nb".into()]);
    assert_eq!(apply(deep, &instruction).unwrap_err().reason(), "heading_invalid");
}

#[track_caller]
fn refused(text: &str, operation: Operation, content: &str) {
    let instruction = Instruction::new(Target::heading("A"), operation, Content::Text(content.to_owned()));
    assert_eq!(apply(text, &instruction).unwrap_err().reason(), "content_preexists");
}

#[test]
fn content_that_is_there_already_is_refused() {
    refused("# A\nsome text\n", Operation::Append, "\ntext\n");
    refused("# A\nsome text\n", Operation::Prepend, "some");
    refused("# A\nsome text\n", Operation::Replace, "some text");
    refused("# A\nsome text\n", Operation::Replace, " \n");
    let mut again = Instruction::new(Target::heading("A"), Operation::Append, Content::Text("text\n".into()));
    again.apply_if_content_preexists = true;
    assert_eq!(apply("# A\ntext\n", &again).unwrap(), "# A\ntext\ntext\n");
}

#[test]
fn rows_of_a_table_are_escaped_and_keep_their_quote() {
    let text = "> | a | b |\r\n> |:-:|---|\r\n> | 1 | 2 |\r\n\r\n^t\r\n";
    let rows = serde_json::json!([["x|y", 3], ["\\", null]]);
    let target = Target::parse(TargetKind::Block, "t");
    let block = Outline::read(text).block("t", Purpose::Write).unwrap().kind.clone();
    assert_eq!(block, BlockKind::Quote, "an id below a quote names the quote");
    assert_eq!(read_section(text, &target).unwrap().text, "> | a | b |\r\n> |:-:|---|\r\n> | 1 | 2 |");
    let text = "> | a | b |\r\n> |:-:|---|\r\n> | 1 | 2 |\r\n>\r\n> ^t\r\n";
    let append = Instruction::new(target, Operation::Append, Content::Json(rows));
    let expected =
        "> | a | b |\r\n> |:-:|---|\r\n> | 1 | 2 |\r\n> | x\\|y | 3 |\r\n> | \\\\ |  |\r\n>\r\n> ^t\r\n";
    assert_eq!(apply(text, &append).unwrap(), expected);
    let broken = Instruction { content: Content::Json(serde_json::json!(["a\nb", "c"])), ..append };
    assert_eq!(apply(text, &broken).unwrap_err().reason(), "table_cell_invalid");
}
