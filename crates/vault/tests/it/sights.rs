//! What a search remembers of a scope is never more than the scope says now: rules and notes change, and count at once.

use super::rig::*;
use vault::catalog::Match;
use vault::finder::{FindQuery, How};
use vault::policy::{Limits, Rules, Scope};
use vault::search::{Pattern, Query};

fn ignoring(patterns: &str) -> Scope {
    Scope::new(Limits::default(), Rules::parse(&[("ignore", patterns.to_owned())], &[]).unwrap())
}

/// The notes that each way of searching finds: exact, ranked, by tag.
fn found(rig: &Rig, scope: &Scope) -> [Vec<String>; 3] {
    let view = rig.vault.view(scope);
    let words = FindQuery {
        text: "amber".to_owned(),
        folder: None,
        only: None,
        since_ns: None,
        limit: 50,
        how: How::Ranked,
    };
    let ranked = view.find_notes(&words, 0).unwrap();
    assert_eq!(ranked.with_words, Some(ranked.notes.len()), "nothing hidden is counted");
    let exact = view.search(&Query::new(Pattern::Literal("amber".to_owned()))).unwrap();
    assert_eq!(exact.total_matches, exact.matches.len());
    let tagged = view.catalog().unwrap().ask(|catalog, visible| {
        let notes = catalog.notes_with_tags(&["t"], Match::Any, visible);
        notes.iter().map(|note| note.path.to_string()).collect::<Vec<_>>()
    });
    let mut ranked: Vec<String> = ranked.notes.iter().map(|note| note.path.to_string()).collect();
    ranked.sort();
    [exact.matches.iter().map(|found| found.path.to_string()).collect(), ranked, tagged]
}

#[track_caller]
fn check(rig: &Rig, scope: &Scope, expected: &[&str]) {
    // Twice: the second time everything is remembered.
    for _ in 0..2 {
        for paths in found(rig, scope) {
            assert_eq!(paths, expected);
        }
    }
}

fn rig() -> Rig {
    Rig::new(&[("Open/a.md", b"amber #t"), ("Private/b.md", b"amber #t"), ("c.md", b"amber #t")])
}

#[test]
fn a_rule_that_changes_counts_at_once() {
    let rig = rig();
    let all = ["Open/a.md", "Private/b.md", "c.md"];
    check(&rig, &scope(), &all);
    check(&rig, &ignoring("Private/"), &["Open/a.md", "c.md"]);
    check(&rig, &ignoring("Private/\nc.md"), &["Open/a.md"]);
    check(&rig, &ignoring("*.md\n!c.md"), &["c.md"]);
    check(&rig, &ignoring("Private/"), &["Open/a.md", "c.md"]);
    let limits = Limits { read: Limits::parse_list("Open").unwrap(), ..Limits::default() };
    check(&rig, &Scope::new(limits, Rules::default()), &["Open/a.md"]);
    check(&rig, &scope(), &all);
}

#[test]
fn a_note_that_moves_changes_sides_at_once() {
    let rig = rig();
    let scope = ignoring("Private/");
    check(&rig, &scope, &["Open/a.md", "c.md"]);
    rig.commit(&[mv("Open/a.md", "Private/a.md")]).unwrap();
    check(&rig, &scope, &["c.md"]);
    rig.commit(&[mv("Private/b.md", "Open/b.md")]).unwrap();
    check(&rig, &scope, &["Open/b.md", "c.md"]);
    rig.commit(&[mv("Private/a.md", "Open/a.md"), mv("c.md", "Private/c.md")]).unwrap();
    check(&rig, &scope, &["Open/a.md", "Open/b.md"]);
}

#[test]
fn notes_that_come_from_outside_are_judged_too() {
    let rig = rig();
    let scope = ignoring("Private/\nsecret*");
    check(&rig, &scope, &["Open/a.md", "c.md"]);
    for name in ["Private/d.md", "Open/secret d.md", "Open/d.md"] {
        std::fs::write(rig.root().join(name), "amber #t").unwrap();
    }
    check(&rig, &scope, &["Open/a.md", "Open/d.md", "c.md"]);
    std::fs::rename(rig.root().join("Open"), rig.root().join("Private/Open")).unwrap();
    check(&rig, &scope, &["c.md"]);
}
