//! Replacements by text and by pattern, and the exact edit.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, replacement: Replacement, expected: &str, count: usize) {
    let found = replace(text, std::slice::from_ref(&replacement)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (found.text.as_str(), found.counts.as_slice()),
        (expected, [count].as_slice()),
        "{replacement:?}"
    );
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, expected: &str) -> String {
    let error = result.expect_err("a refusal");
    assert_eq!(error.reason(), expected, "{error}");
    assert!(!error.hint().is_empty());
    format!("{error} | {}", error.hint())
}

fn text(search: &str, replace: &str) -> Replacement {
    Replacement::new(search, replace)
}

fn regex(search: &str, replace: &str) -> Replacement {
    Replacement { use_regex: true, ..text(search, replace) }
}

#[test]
fn text_is_taken_as_it_is() {
    check("a.c abc a.c", text("a.c", "$1"), "$1 abc $1", 2);
    check("aaaa", text("aa", "b"), "bb", 2);
    check("aaaa", Replacement { replace_all: false, ..text("aa", "b") }, "baa", 1);
    check("Ab aB", Replacement { case_sensitive: false, ..text("AB", "x") }, "x x", 2);
    check("ÄÖ äö", Replacement { case_sensitive: false, ..text("äö", "x") }, "x x", 2);
    check("---\na: 1\n---\na: 1", text("a: 1", "b"), "---\nb\n---\nb", 2);
    check("x", text("y", "z"), "x", 0);
}

#[test]
fn whole_words_stop_at_letters_of_any_language() {
    let whole = |search| Replacement { whole_word: true, ..text(search, "X") };
    check("cat concat cats cat.", whole("cat"), "X concat cats X.", 2);
    check("über überall", whole("über"), "X überall", 1);
    check("a #tag #tags", whole("#tag"), "a X #tags", 1);
    check("cat concat", Replacement { use_regex: true, ..whole("c.t") }, "X concat", 1);
}

#[test]
fn flexible_white_space_is_any_run() {
    let flexible = |search| Replacement { flexible_whitespace: true, ..text(search, "X") };
    check("a  b\ta\n b a b", flexible("a b"), "X\tX X", 3);
    check("ab", flexible("a b"), "ab", 0);
    check("a. b acb", flexible("a. b"), "X acb", 1);
}

#[test]
fn references_expand_as_in_ecmascript() {
    check("john smith", regex(r"(\w+) (\w+)", "$2, $1"), "smith, john", 1);
    check("ab", regex("b", "[$&$$$`$']"), "a[b$a]", 1);
    check("2026-07", regex(r"(?<y>\d+)-(?<m>\d+)", "$<m>/$<y>$<no>"), "07/2026", 1);
    check("ab", regex("(a)(b)", "$3$0$12$01$<a>${1}$"), "$3$0a2a$<a>${1}$", 1);
    check("a", regex("a|(b)", "<$1>"), "<>", 1);
    check("abc", regex("b*", "-"), "-a--c-", 4);
    check("é", regex("(?:)", "-"), "-é-", 2);
}

#[test]
fn patterns_are_written_as_in_ecmascript() {
    check("{{date}}", regex("{{(.*?)}}", "$1"), "date", 1);
    check("aXb", regex("a[^]b", "-"), "-", 1);
    check("a[b", regex("[[]", "-"), "a-b", 1);
    check("a&&b", regex("[&&]", "-"), "a--b", 2);
    check("a/b", regex(r"\/", "-"), "a-b", 1);
    check("xx x", regex("x{2}", "-"), "- x", 1);
    check("a\r\nb", regex("a.*", "-"), "-\r\nb", 1);
    check("a\nb", regex("^b", "-"), "a\nb", 0);
    check("a\nb", regex("(?m)^b", "-"), "a\n-", 1);
    check("A", Replacement { case_sensitive: false, ..regex("a", "-") }, "-", 1);
}

#[test]
fn what_a_linear_engine_cannot_do_is_refused_with_a_hint() {
    for pattern in ["(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(?<n>a)\k<n>", "(", "*a", "["] {
        let said = refused(replace("a", &[regex(pattern, "")]), "regex_invalid");
        assert!(said.contains("look-around and back-references"), "{said}");
    }
    refused(replace("a", &[regex(&"a".repeat(1025), "")]), "regex_unsafe");
    refused(replace("a", &[text("", "x")]), "search_empty");
    refused(replace("a", &[regex(r"((((\w{99}){99}){99}){99})", "")]), "regex_unsafe");
    refused(replace(&"a".repeat(100_000), &[text("a", &"b".repeat(1_000))]), "result_too_large");
    check("a", text(&"a".repeat(100_000), ""), "a", 0);
}

#[test]
fn replacements_follow_each_other() {
    let found = replace("a b", &[text("a", "b"), text("b", "c"), text("z", "")]).expect("replaced");
    assert_eq!(found, Replaced { text: "c c".to_owned(), counts: vec![1, 2, 0] });
}

#[test]
fn windows_line_ends_stay() {
    check("a\r\nb\r\n", text("a\nb", "x\ny"), "x\r\ny\r\n", 1);
    check("a\r\nb\r\n", text("a\r\nb", "x\r\ny"), "x\r\ny\r\n", 1);
    check("a\nb\n", text("a\nb", "x\ny"), "x\ny\n", 1);
}

#[track_caller]
fn check_exact(text: &str, old: &str, new: &str, expected: &str) {
    assert_eq!(exact(text, old, new, 1).unwrap_or_else(|error| panic!("{error}")), expected);
}

#[test]
fn an_exact_edit_needs_the_count_it_names() {
    check_exact("a b c", "b", "x", "a x c");
    check_exact("a b c", "b", "$1\\n", "a $1\\n c");
    assert_eq!(exact("a a a", "a", "b", 3).expect("three"), "b b b");
    assert_eq!(exact("aaaa", "aa", "b", 2).expect("two"), "bb");
    let said = refused(exact("a\na a", "a", "b", 1), "match_count");
    assert!(said.contains("3 times") && said.contains("line 2"), "{said}");
    let said = refused(exact("a", "a", "b", 2), "match_count");
    assert!(said.contains("1 times"), "{said}");
    refused(exact("a", "a", "b", 0), "match_count");
    refused(exact("a", "", "b", 1), "search_empty");
}

#[test]
fn white_space_is_taken_less_seriously_only_if_nothing_fits() {
    check_exact("a\r\n\tb  c\r\nd", "a\n b c\n", "x\ny\n", "x\r\ny\r\nd");
    check_exact("keep   this\nand  that", "and that", "x", "keep   this\nx");
    check_exact("a  b\na b", "a b", "x", "a  b\nx");
    check_exact("x \t y", "x y", "z", "z");
    refused(exact("a  b\na   b", "a b", "x", 1), "match_count");
    refused(exact("ab", "a b", "x", 1), "text_not_found");
}

#[test]
fn the_nearest_line_is_named() {
    let said =
        refused(exact("# Title\n\nThe quick brown fox\n", "The quick brwn fox", "x", 1), "text_not_found");
    assert!(said.contains("line 3") && said.contains("The quick brown fox"), "{said}");
    let said = refused(exact("# Title\n", "zzz", "x", 1), "text_not_found");
    assert!(!said.contains("nearest"), "{said}");
    refused(exact("", "zzz", "x", 1), "text_not_found");
}

proptest! {
    #[test]
    fn text_replacement_is_that_of_the_standard_library(hay in "[ab.$é]{0,20}", old in "[ab.$é]{1,3}", new in "[ab$1&]{0,3}") {
        let found = replace(&hay, &[text(&old, &new)]).expect("replaced");
        prop_assert_eq!(found.text, hay.replace(&old, &new));
        prop_assert_eq!(found.counts, vec![hay.matches(&old).count()]);
    }

    #[test]
    fn an_exact_edit_changes_only_its_span(before in "[a-y\r\n \té]{0,20}", after in "[a-y\r\n \té]{0,20}", new in "[a-yé]{0,5}") {
        let hay = format!("{before}zZz{after}");
        prop_assert_eq!(exact(&hay, "zZz", &new, 1).expect("one"), format!("{before}{new}{after}"));
    }

    #[test]
    fn any_pattern_is_applied_or_refused_without_a_panic(pattern in "[ab\\[\\]{}()^$*+?.|\\\\dwsk1<>&~,é-]{0,12}", new in "[$1&<>'`a]{0,6}", hay in "[ab\r\né&{\\[]{0,12}") {
        let _ = replace(&hay, &[regex(&pattern, &new)]);
        let _ = exact(&hay, &pattern, &new, 1);
    }
}
