//! Searches over a vault in memory.

use super::*;
use crate::error::Error;
use crate::files::MemoryFiles;
use proptest::prelude::*;

fn paths(files: &MemoryFiles) -> Vec<VaultPath> {
    let mut out = Vec::new();
    files
        .walk(&mut |entry| {
            if entry.kind == crate::files::Kind::File {
                out.push(entry.path);
            }
        })
        .unwrap();
    out.reverse();
    out
}

fn run(fixture: &str, query: &Query) -> Found {
    let files = MemoryFiles::parse(fixture).unwrap();
    search(&files, &paths(&files), query).unwrap()
}

fn shown(found: &Found) -> String {
    let lines = found.matches.iter().map(|m| format!("{}:{}:{}:{}", m.path, m.line, m.column, m.line_text));
    lines.collect::<Vec<_>>().join(" ")
}

fn regex(text: &str) -> Query {
    Query::new(Pattern::Regex(text.to_owned()))
}

fn literal(text: &str) -> Query {
    Query::new(Pattern::Literal(text.to_owned()))
}

#[track_caller]
fn check(fixture: &str, query: Query, expected: &str) {
    assert_eq!(shown(&run(fixture, &query)), expected, "{query:?}");
}

#[test]
fn lines_are_found_in_path_order() {
    let vault = "b.md: Foo\nbar foo foo\r\nx\n--- a/c.md: no\nFOO\n--- a.md: foo";
    check(vault, literal("foo"), "a.md:1:1:foo a/c.md:2:1:FOO b.md:1:1:Foo b.md:2:5:bar foo foo");
    check(vault, Query { case: Case::Exact, ..literal("foo") }, "a.md:1:1:foo b.md:2:5:bar foo foo");
    check(
        vault,
        Query { folder: Some(VaultFolder::parse("a").unwrap()), ..literal("foo") },
        "a/c.md:2:1:FOO",
    );
    let found = run(vault, &literal("foo"));
    assert_eq!((found.total_matches, found.files_matched, found.files_scanned), (4, 3, 3));
    assert_eq!(found.next, None);
}

#[test]
fn patterns_mean_what_they_say() {
    let vault = "a.md: (ab)+ abab\n\nend.\r\nmid end. mid\ncafé É tea";
    check(vault, regex("(ab)+ "), "");
    check(vault, literal("(ab)+"), "a.md:1:1:(ab)+ abab");
    check(vault, regex("(ab){2}$"), "a.md:1:7:(ab)+ abab");
    check(vault, regex(r"end\.$"), "a.md:3:1:end.");
    check(vault, regex("^$"), "a.md:2:1:");
    check(vault, regex("É"), "a.md:5:4:café É tea");
    check(vault, regex(r"\Amid"), "a.md:4:1:mid end. mid");
    check(vault, regex("d.*\n.*t"), "");
    check(vault, regex(r"(?s)ab.+mid$"), "");
    check("a.md: x\n\n", regex("^$"), "a.md:2:1:");
    check("a.md: ", regex("^$"), "");
}

#[test]
fn whole_words_stand_alone() {
    let vault = "a.md: cat\nconcat\ncat_x\n(cat)\n#cat";
    let whole = |text| Query { whole_word: true, ..literal(text) };
    check(vault, whole("cat"), "a.md:1:1:cat a.md:4:2:(cat) a.md:5:2:#cat");
    check(vault, whole("#cat"), "a.md:5:1:#cat");
    check("a.md: a|b", Query { whole_word: true, ..regex("x|b") }, "a.md:1:3:a|b");
}

#[test]
fn globs_are_those_of_gitignore() {
    let vault = "a.md: x\n--- Projects/b.md: x\n--- Projects/deep/c.canvas: x\n--- #d.md: x";
    let rows = [
        ("*.md", "#d.md a.md Projects/b.md"),
        ("Projects/**", "Projects/b.md Projects/deep/c.canvas"),
        ("Projects/*", "Projects/b.md Projects/deep/c.canvas"),
        ("/*.md", "#d.md a.md"),
        ("deep", "Projects/deep/c.canvas"),
        ("*.{canvas,base}", "Projects/deep/c.canvas"),
        ("!*.md", "Projects/deep/c.canvas"),
        ("#*", "#d.md"),
    ];
    for (glob, expected) in rows {
        let found = run(vault, &Query { glob: Some(glob.to_owned()), ..literal("x") });
        let mut names: Vec<&str> = found.matches.iter().map(|found| found.path.as_str()).collect();
        names.sort_by_key(|name| expected.find(name));
        assert_eq!(names.join(" "), expected, "{glob}");
    }
    let bad = search(&MemoryFiles::default(), &[], &Query { glob: Some("{a".into()), ..literal("x") });
    assert_eq!(bad.unwrap_err().reason(), "glob_invalid");
}

#[test]
fn what_was_not_searched_is_named() {
    let files = MemoryFiles::parse("a.md: x").unwrap();
    let (binary, missing) = (VaultPath::parse("b.png").unwrap(), VaultPath::parse("c.md").unwrap());
    files.write(&binary, b"x\0x");
    files.write(&VaultPath::parse("d.md").unwrap(), b"\xffx\xff");
    let all = [paths(&files), vec![missing.clone()]].concat();
    let found = search(&files, &all, &literal("x")).unwrap();
    assert_eq!(
        (found.files_scanned, found.total_matches),
        (2, 2),
        "bytes that are no UTF-8 are searched all the same"
    );
    let skipped: Vec<&VaultPath> = found.files_skipped.iter().map(|(path, _)| path).collect();
    assert_eq!(skipped, [&binary, &missing]);
}

#[test]
fn context_stays_inside_the_file() {
    let found = run("a.md: 1\n2\nx\n4\n5\n", &Query { context: 2, ..literal("x") });
    assert_eq!(
        (&found.matches[0].before[..], &found.matches[0].after[..]),
        (&["1".into(), "2".into()][..], &["4".into(), "5".into()][..])
    );
    let found = run("a.md: x\r\nb\r\n", &Query { context: 3, ..literal("x") });
    assert_eq!((found.matches[0].before.len(), &found.matches[0].after[..]), (0, &["b".to_owned()][..]));
}

#[test]
fn a_long_line_is_clipped_around_the_match() {
    let line = format!("{}needle{}", "é".repeat(5_000), "z".repeat(5_000));
    let found = run(&format!("a.md: {line}"), &literal("needle"));
    let shown = &found.matches[0];
    assert_eq!(shown.column, 5_001);
    assert!(shown.line_text.starts_with('…') && shown.line_text.ends_with('…'));
    assert!(shown.line_text.contains("needle") && shown.line_text.chars().count() <= 402);
}

#[track_caller]
fn refused(query: &Query, reason: &str, part: &str) {
    let error = search(&MemoryFiles::default(), &[], query).unwrap_err();
    assert_eq!(error.reason(), reason);
    let Error::Edit { message, hint, .. } = error else { panic!("{error}") };
    assert!(format!("{message} / {hint}").contains(part), "{message} / {hint}");
}

#[test]
fn a_bad_pattern_is_refused_with_its_place() {
    refused(&regex("ab(c"), "regex_invalid", "at character 3: unclosed group");
    refused(&regex("(?=x)"), "regex_invalid", "look-around");
    refused(&regex("(?:a{1000}){1000}"), "regex_invalid", "too large");
    refused(&regex(""), "pattern_empty", "empty");
    refused(&literal(""), "pattern_empty", "empty");
    assert_eq!("x".parse::<Cursor>().unwrap_err().reason(), "cursor_invalid");
}

#[test]
fn a_pattern_that_crosses_lines_takes_linear_time() {
    let text = format!("a.md: {}b\naxxb", "a\n".repeat(200_000));
    let started = std::time::Instant::now();
    check(&text, regex("a[^b]*b"), "a.md:200002:1:axxb");
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
}

proptest! {
    /// Pages put together are the whole, and the whole is what a plain loop over lines finds.
    #[test]
    fn pages_make_up_the_plain_answer(
        texts in prop::collection::vec("[ab\n\r]{0,30}", 1..90),
        pattern in prop::sample::select(vec!["a", "ab", "a+b", "^b", "a$", "^$", "b[^a]*b", r"\ba\b"]),
        limit in 1usize..40,
    ) {
        let files = MemoryFiles::default();
        for (number, text) in texts.iter().enumerate() {
            files.write(&VaultPath::parse(&format!("n{number:03}.md")).unwrap(), text);
        }
        let one = regex::Regex::new(&format!("(?mR){pattern}")).unwrap();
        let mut plain = Vec::new();
        for (number, text) in texts.iter().enumerate() {
            for (at, line) in text.split_terminator('\n').enumerate() {
                if one.is_match(line.strip_suffix('\r').unwrap_or(line)) {
                    plain.push((format!("n{number:03}.md"), at + 1));
                }
            }
        }
        let mut query = Query { limit, ..regex(pattern) };
        let mut paged = Vec::new();
        loop {
            let found = search(&files, &paths(&files), &query).unwrap();
            prop_assert_eq!(found.total_matches, plain.len());
            prop_assert!(found.matches.len() <= limit);
            paged.extend(found.matches.iter().map(|found| (found.path.to_string(), found.line)));
            let Some(next) = found.next else { break };
            query.after = Some(next.to_string().parse().unwrap());
        }
        prop_assert_eq!(paged, plain);
    }
}
