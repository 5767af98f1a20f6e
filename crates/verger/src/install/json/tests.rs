//! Nasty files of clients, in and out.

use serde_json::json;

use super::*;

const LOOSE: Dialect = Dialect::Comments;

/// Sets, and looks that nothing else changed: by value, and that removing it gives the old bytes.
#[track_caller]
fn check(text: &str, dialect: Dialect, expected: &str) {
    let value = json!({"command": "v", "args": ["mcp"]});
    let after = set(text, dialect, "servers", "verger", &value).unwrap();
    assert_eq!(after, expected, "{text}");
    assert_eq!(set(&after, dialect, "servers", "verger", &value).unwrap(), after, "twice is as once");
    let (before, now) = (plain(text).unwrap_or_else(|| json!({})), plain(&after).unwrap());
    let mut meant = before.clone();
    meant["servers"]["verger"] = value;
    assert_eq!(now, meant, "{text}");
    if before["servers"].is_object() {
        assert_eq!(remove(&after, dialect, "servers", "verger").unwrap(), text, "back to the old bytes");
    }
}

#[track_caller]
fn refused(text: &str, dialect: Dialect, expected: &str) {
    let error = set(text, dialect, "servers", "verger", &json!(1)).unwrap_err();
    assert_eq!(error.to_string(), expected, "{text}");
    assert_eq!(remove(text, dialect, "servers", "verger").unwrap_err().to_string(), expected, "{text}");
}

#[test]
fn an_entry_is_added_where_there_was_nothing() {
    let fresh = "{\n  \"servers\": {\n    \"verger\": {\n      \"command\": \"v\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n";
    check("", Dialect::Strict, fresh);
    check(" \n", Dialect::Strict, fresh);
    check("{}", Dialect::Strict, fresh.trim_end());
}

#[test]
fn an_entry_is_added_in_the_style_of_the_file() {
    let entry = |indent: &str, unit: &str, line: &str| {
        format!(
            "{indent}\"verger\": {{{line}{indent}{unit}\"command\": \"v\",{line}{indent}{unit}\"args\": [{line}{indent}{unit}{unit}\"mcp\"{line}{indent}{unit}]{line}{indent}}}"
        )
    };
    check(
        "{\n\t\"servers\": {\n\t\t\"a\": {}\n\t},\n\t\"x\": [1, 2]\n}\n",
        Dialect::Strict,
        &format!(
            "{{\n\t\"servers\": {{\n\t\t\"a\": {{}},\n{}\n\t}},\n\t\"x\": [1, 2]\n}}\n",
            entry("\t\t", "\t", "\n")
        ),
    );
    check(
        "{\r\n    \"servers\": {\r\n        \"a\": 1\r\n    }\r\n}",
        Dialect::Strict,
        &format!(
            "{{\r\n    \"servers\": {{\r\n        \"a\": 1,\r\n{}\r\n    }}\r\n}}",
            entry("        ", "    ", "\r\n")
        ),
    );
    check(
        "{\"servers\": {\"a\": 1}}",
        Dialect::Strict,
        "{\"servers\": {\"a\": 1, \"verger\": {\"command\":\"v\",\"args\":[\"mcp\"]}}}",
    );
    check(
        "\u{feff}{\n  \"servers\": {\n    \"a\": 1\n  }\n}",
        Dialect::Strict,
        &format!("\u{feff}{{\n  \"servers\": {{\n    \"a\": 1,\n{}\n  }}\n}}", entry("    ", "  ", "\n")),
    );
}

#[test]
fn comments_stay_where_they_are() {
    let text = "// mine\n{\n  /* first */ \"x\": \"// no comment\",\n  \"servers\": {\n    // about a\n    \"a\": {\"b\": 1,}, // behind a\n    // last words\n  }, // end\n}\n// bye";
    let after = set(text, LOOSE, "servers", "verger", &json!({"c": 1})).unwrap();
    assert_eq!(
        after,
        "// mine\n{\n  /* first */ \"x\": \"// no comment\",\n  \"servers\": {\n    // about a\n    \"a\": {\"b\": 1,}, // behind a\n    // last words\n    \"verger\": {\n      \"c\": 1\n    },\n  }, // end\n}\n// bye"
    );
    assert_eq!(remove(&after, LOOSE, "servers", "verger").unwrap(), text);
    let text = "{\n  \"servers\": {\n    \"a\": 1 // one\n  }\n}";
    let after = set(text, LOOSE, "servers", "verger", &json!(2)).unwrap();
    assert_eq!(after, "{\n  \"servers\": {\n    \"a\": 1, // one\n    \"verger\": 2\n  }\n}");
    assert_eq!(remove(&after, LOOSE, "servers", "verger").unwrap(), text);
    let text = "{\n  \"servers\": {\n    // nothing yet\n  }\n}";
    let after = set(text, LOOSE, "servers", "verger", &json!(2)).unwrap();
    assert_eq!(after, "{\n  \"servers\": {\n    // nothing yet\n    \"verger\": 2\n  }\n}");
    assert_eq!(remove(&after, LOOSE, "servers", "verger").unwrap(), text);
}

#[test]
fn an_old_entry_is_replaced_and_its_neighbours_stay() {
    let text =
        "{\n  \"servers\": {\n    \"verger\": { \"command\": \"old\" }, // ours\n    \"b\": 2\n  }\n}\n";
    let after = set(text, LOOSE, "servers", "verger", &json!({"command": "new"})).unwrap();
    assert_eq!(
        after,
        "{\n  \"servers\": {\n    \"verger\": {\n      \"command\": \"new\"\n    }, // ours\n    \"b\": 2\n  }\n}\n"
    );
    let gone =
        remove("{\"servers\": {\"verger\": 1, \"b\": 2}}", Dialect::Strict, "servers", "verger").unwrap();
    assert_eq!(gone, "{\"servers\": {\"b\": 2}}");
    let gone =
        remove("{\"servers\": {\"a\": 1, \"verger\": 1}}", Dialect::Strict, "servers", "verger").unwrap();
    assert_eq!(gone, "{\"servers\": {\"a\": 1}}");
    let gone = remove(
        "{\n \"servers\": {\n  \"verger\": 1,\n  \"b\": 2\n }\n}",
        Dialect::Strict,
        "servers",
        "verger",
    )
    .unwrap();
    assert_eq!(gone, "{\n \"servers\": {\n  \"b\": 2\n }\n}");
    for untouched in ["{}", "", "{\"servers\": {}}", "{\"servers\": {\"other\": {\"verger\": 1}}}"] {
        assert_eq!(remove(untouched, Dialect::Strict, "servers", "verger").unwrap(), untouched);
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    refused("[]", Dialect::Strict, "it does not start with `{` (line 1, column 1)");
    refused("{\n  \"a\": 1\n  \"b\": 2\n}", Dialect::Strict, "a comma is missing (line 3, column 3)");
    refused("{\"a\": }", Dialect::Strict, "a value is missing or not valid (line 1, column 7)");
    refused("{\"a\": 01}", Dialect::Strict, "a value is missing or not valid (line 1, column 7)");
    refused("{\"a\": \"x}", Dialect::Strict, "a text is never closed (line 1, column 7)");
    refused("{\"a\": 1", Dialect::Strict, "it ends too early (line 1, column 8)");
    refused("{} x", Dialect::Strict, "there is something behind the last `}` (line 1, column 4)");
    refused("{\"a\": 1,}", Dialect::Strict, "there is a comma behind the last entry (line 1, column 9)");
    refused(
        "// c\n{}",
        Dialect::Strict,
        "there is a comment, which this client cannot read (line 1, column 1)",
    );
    refused("/* c", LOOSE, "a comment is never closed (line 1, column 1)");
    refused("{\"servers\": []}", LOOSE, "`servers` is no object (line 1, column 13)");
    refused("{\"servers\": {}, \"servers\": {}}", LOOSE, "`servers` is there twice (line 1, column 17)");
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    assert!(set(&deep, LOOSE, "servers", "verger", &json!(1)).unwrap_err().to_string().contains("too deep"));
}
