//! The official cases, where they lie beside the repository, and rows of our own.

use std::path::PathBuf;

use serde_json::json;

use super::*;

#[test]
#[allow(clippy::disallowed_methods, reason = "the corpora are no vault")]
fn the_official_cases_hold() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/jsonlogic-tests.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let cases: Vec<Json> = serde_json::from_str(&text).unwrap();
    let mut misses = Vec::new();
    let cases: Vec<&Json> = cases.iter().filter(|case| case.is_array()).collect();
    for case in &cases {
        let found = evaluate(&case[0], &case[1]).unwrap_or_else(|error| json!(error.to_string()));
        let same = match (&found, &case[2]) {
            (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
            (a, b) => a == b,
        };
        if !same {
            misses.push(format!("{case}: {found}"));
        }
    }
    println!("jsonlogic: {} of {}", cases.len() - misses.len(), cases.len());
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

#[track_caller]
fn check(rule: Json, data: Json, expected: Json) {
    assert_eq!(evaluate(&rule, &data).unwrap(), expected, "{rule} on {data}");
}

#[test]
fn values_behave_as_in_javascript() {
    check(json!({"==": ["1", 1]}), json!({}), json!(true));
    check(json!({"+": ["2", "3"]}), json!({}), json!(5));
    check(json!({"!": [[]]}), json!({}), json!(true));
    check(json!({"<": [1, {"var": "x"}, 3]}), json!({"x": 2}), json!(true));
    check(json!({"var": ["a.b.1", 9]}), json!({"a": {"b": [1, 2]}}), json!(2));
    check(json!({"all": [[], true]}), json!({}), json!(false));
    check(json!({"cat": ["a", null, 1.0, [1, 2]]}), json!({}), json!("a11,2"));
}

#[test]
fn globs_take_the_pattern_on_either_side() {
    for (a, b, expected) in [
        ("Projects/*.md", "Projects/a/b.md", true),
        ("Projects/a.md", "Projects/**", true),
        ("*.md", "a.txt", false),
        ("a*a", "a", false),
        ("[x]", "[x]", true),
        ("a*b*c", "a1c1b1c", true),
    ] {
        check(json!({"glob": [a, b]}), json!({}), json!(expected));
    }
    check(json!({"glob": ["*", 1]}), json!({}), json!(false));
    check(json!({"regexp": ["^\\d+$", "12"]}), json!({}), json!(true));
}

#[test]
fn what_cannot_be_is_an_error() {
    assert!(matches!(evaluate(&json!({"fly": 1}), &json!({})), Err(LogicError::UnknownOperator { .. })));
    assert!(matches!(
        evaluate(&json!({"regexp": ["(?=x)", "x"]}), &json!({})),
        Err(LogicError::Pattern { .. })
    ));
    let deep = (0..100).fold(json!(1), |inner, _| json!({"!": [inner]}));
    assert!(matches!(evaluate(&deep, &json!({})), Err(LogicError::TooDeep { .. })));
}

#[test]
fn errors_point_at_their_place_in_the_rule() {
    let shown = |rule: Json| evaluate(&rule, &json!({})).unwrap_err().to_string();
    let unknown = shown(json!({"and": [true, {"fly": 1}]}));
    assert!(unknown.contains("at and[1].fly\n{\"and\":[true,{\"fly\":1}]}\n              ^"), "{unknown}");
    let pattern = shown(json!({"if": [{"regexp": ["(?=x)", "x"]}, 1]}));
    assert!(pattern.contains("at if[0].regexp\n"), "{pattern}");
    let deep = shown((0..100).fold(json!(1), |inner, _| json!({"!": inner})));
    assert!(deep.contains("nested deeper than 64\nat !.!"), "{deep}");
}

#[test]
fn hostile_rules_end_with_a_limit() {
    let numbers: Vec<u32> = (0..60).collect();
    let twice = |what: &str| json!({what: [{"var": "accumulator"}, {"var": "accumulator"}]});
    for rule in [
        json!({"reduce": [numbers, twice("cat"), "xxxxxxxxxxxxxxxx"]}),
        json!({"reduce": [numbers, twice("merge"), ["x"]]}),
        json!({"map": [vec![0; 2_000], {"map": [vec![0; 2_000], {"var": ""}]}]}),
        json!({"map": [vec![json!("x".repeat(10_000)); 2_000], {"cat": [{"var": ""}, {"var": ""}]}]}),
    ] {
        let found = evaluate(&rule, &json!({}));
        assert!(
            matches!(found, Err(LogicError::TooLarge)),
            "{:?}",
            found.map(|found| found.to_string().len())
        );
    }
    for pattern in [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(\\w{500}){500}",
        &"(".repeat(5_000),
        &"a?".repeat(40_000),
    ] {
        let found = evaluate(&json!({"regexp": [pattern, "a"]}), &json!({}));
        assert!(!matches!(found, Err(LogicError::TooLarge)), "{}", &pattern[..10]);
    }
    let many: Vec<Json> = (0..500).map(|n| json!({"regexp": [format!("a{{{n}}}"), "a"]})).collect();
    assert!(matches!(evaluate(&json!(many), &json!({})), Err(LogicError::TooLarge)), "patterns are dear");
}

#[test]
fn empty_results_are_no_hits() {
    for empty in [json!(null), json!(false), json!(0), json!(""), json!([]), json!({})] {
        assert!(!is_hit(&empty), "{empty}");
    }
    assert!(is_hit(&json!({"a": 1})));
}
