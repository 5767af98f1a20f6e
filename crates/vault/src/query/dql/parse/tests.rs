//! What the parser takes, what it refuses, and that nothing makes it panic or run out of stack.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = query(text).expect_err(text);
    assert!(error.to_string().contains(expected), "{text}: {error}");
}

#[test]
fn errors_say_where_and_what() {
    refused("TABLE a FROM", "line 1, column 13: expected a space");
    refused("LIST WHERE a == 1", "one `=`");
    refused("LIST SORT file.name", "`LIST SORT x`");
    refused("LIST\nWHERE (1 + ", "line 2");
    refused("vehicle", "TABLE, LIST, TASK or CALENDAR");
    refused("", "starts with TABLE");
}

#[test]
fn words_are_tried_in_the_order_of_the_grammar() {
    assert!(expression("trueish").is_err());
    assert!(expression("nullable").is_err());
    assert!(expression("a-1").is_ok());
    assert_eq!(expression("TRUE").unwrap(), Expression::Variable("TRUE".into()));
}

#[test]
fn hostile_nesting_is_an_error() {
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("[", "", "]"),
        ("!", "a", ""),
        ("{a: ", "1", "}"),
        ("(a) => ", "a", ""),
        ("f(", "", ")"),
        ("a[", "0", "]"),
    ] {
        let text = open.repeat(20_000) + inner + &close.repeat(20_000);
        let limited = text.get(..LONGEST).unwrap_or(&text);
        assert!(expression(limited).is_err(), "{open}");
    }
    assert!(source(&"-".repeat(50_000)).is_err());
    assert!(expression(&format!("a{}", "()".repeat(40_000))).is_err());
    assert!(query(&format!("LIST {}", "LIMIT 1 ".repeat(9_000))).is_err());
}

#[test]
fn long_chains_are_no_nesting() {
    assert!(expression(&format!("1{}", " + 1".repeat(20_000))).is_ok());
    assert!(expression(&format!("a{}", ".b".repeat(40_000))).is_ok());
}

#[test]
fn inline_values_are_typed_only_as_a_whole() {
    let zone = Zone::Fixed(0);
    for (text, expected) in [
        ("2024-06-15", "date"),
        ("1h 30m", "duration"),
        ("\"a\"", "string"),
        ("#tag", "string"),
        ("[[a]]", "link"),
        ("1,", "array"),
        ("1, 2", "array"),
        ("a, b", "string"),
        ("2024-06-15 10:20", "string"),
        ("1e5", "string"),
        ("null", "string"),
        ("True", "boolean"),
        ("", "null"),
    ] {
        assert_eq!(inline_value(text, &zone).type_name(), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,80}") {
        query(&text).ok();
        expression(&text).ok();
        inline_value(&text, &Zone::Fixed(0));
        front_value(&text, &Zone::Fixed(0));
    }

    #[test]
    fn anything_like_a_query_is_parsed_or_refused(
        words in prop::collection::vec(prop::sample::select(vec![
            "TABLE", "LIST", "FROM", "WHERE", "SORT", "GROUP BY", "AS", "(", ")", "[", "]", "[[", "]]", "{", "}", "=>",
            "a", "1", "-", "\"", "\"x\"", "#t", ",", ".", "date(", "dur(", "2024-01-01", "3 days", "!", "&", "//", "\n",
            "é", "😀",
        ]), 0..30)
    ) {
        let text = words.join(" ");
        query(&text).ok();
        query(&words.concat()).ok();
        expression(&text).ok();
    }
}
