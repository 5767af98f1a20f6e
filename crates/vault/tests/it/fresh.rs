//! An outside edit, until every way of searching knows it; and what a program that stays does about its caches.

use std::time::{Duration, Instant};

use super::rig::*;
use vault::Vault;
use vault::catalog::Match;
use vault::finder::{FindQuery, How};
use vault::query::dql::{self, Context, VaultPages};
use vault::search::{Pattern, Query};

fn words(text: &str, how: How) -> FindQuery {
    FindQuery { text: text.to_owned(), folder: None, only: None, since_ns: None, limit: 5, how }
}

/// Whether each way of searching finds the note `name` by its word.
fn knows(vault: &Vault, word: &str, name: &str, how: &str) -> bool {
    let scope = scope();
    let view = vault.view(&scope);
    let best = |how| {
        let found = view.find_notes(&words(word, how), 0).unwrap();
        found.notes.first().is_some_and(|note| note.path.as_str() == name)
    };
    match how {
        "exact" => {
            let found = view.search(&Query::new(Pattern::Literal(word.to_owned()))).unwrap();
            found.matches.iter().any(|found| found.path.as_str() == name)
        }
        "ranked" => best(How::Ranked),
        "meaning" => {
            let found = view.find_notes(&words(&format!("{word} {word}"), How::Meaning), 0).unwrap();
            found.notes.iter().any(|note| {
                note.path.as_str() == name
                    && note.excerpt.as_ref().is_some_and(|(_, excerpt)| excerpt.contains(word))
            })
        }
        "tag" => view.catalog().unwrap().ask(|catalog, visible| {
            let tagged = catalog.notes_with_tags(&[word], Match::Any, visible);
            tagged.iter().any(|note| note.path.as_str() == name)
        }),
        _ => {
            let pages = VaultPages::new(view).unwrap();
            let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
            let context = Context { now, this: None };
            let found = dql::run(&format!("LIST FROM #{word}"), &pages, &context).unwrap();
            dql::encode::result_to_json(&found).to_string().contains(name)
        }
    }
}

#[test]
fn an_outside_edit_is_found_by_every_kind_of_search() {
    let files: Vec<(String, Vec<u8>)> = (0..40)
        .map(|at| (format!("f{}/n{at}.md", at % 4), format!("# Note {at}\ntea\n").into_bytes()))
        .collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let rig = Rig::new(&files);
    rig.vault.watch(|_| ()).unwrap();
    rig.vault.finder().unwrap().meaning().unwrap();
    let mut slowest = Duration::ZERO;
    for (round, how) in
        ["exact", "ranked", "meaning", "tag", "query"].into_iter().cycle().take(10).enumerate()
    {
        let name = format!("f{}/n{}.md", round % 4, round % 4);
        let word = format!("zebra{round}x");
        std::fs::write(rig.root().join(&name), format!("# Note\n{word} and the #{word} of it\n")).unwrap();
        let start = Instant::now();
        while !knows(&rig.vault, &word, &name, how) {
            // A hundred milliseconds on a quiet machine; a loaded one takes its time.
            assert!(start.elapsed() < Duration::from_secs(20), "{how} does not know {word}");
            std::thread::sleep(Duration::from_millis(1));
        }
        slowest = slowest.max(start.elapsed());
        println!("{how}: known after {:.1?}", start.elapsed());
    }
    println!("slowest {slowest:.1?}");
}

#[test]
fn ten_thousand_files_changed_at_once_are_all_taken_in() {
    let rig = Rig::new(&[]);
    let name = |at: usize| format!("f{}/n{at}.md", at % 50);
    for folder in 0..50 {
        std::fs::create_dir(rig.root().join(format!("f{folder}"))).unwrap();
    }
    (0..10_000).for_each(|at| std::fs::write(rig.root().join(name(at)), "amber").unwrap());
    rig.vault.watch(|_| ()).unwrap();
    let scope = scope();
    let count = |vault: &Vault, text: &str| {
        vault.view(&scope).search(&Query::new(Pattern::Literal(text.to_owned()))).unwrap().total_matches
    };
    assert_eq!(count(&rig.vault, "amber"), 10_000);
    (0..10_000).for_each(|at| std::fs::write(rig.root().join(name(at)), format!("lattice {at} #t")).unwrap());
    let start = Instant::now();
    while count(&rig.vault, "lattice") < 10_000 {
        assert!(start.elapsed() < Duration::from_secs(120), "{} known", count(&rig.vault, "lattice"));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(count(&rig.vault, "amber"), 0);
    let tagged = || {
        let catalog = rig.vault.view(&scope).catalog().unwrap();
        catalog.ask(|catalog, visible| catalog.notes_with_tags(&["t"], Match::Any, visible).len())
    };
    while tagged() < 10_000 {
        assert!(start.elapsed() < Duration::from_secs(120), "{} tagged", tagged());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_a_program_has_indexed_is_there_for_the_next() {
    let rig = Rig::new(&[("a.md", b"amber")]);
    rig.vault.watch(|_| ()).unwrap();
    std::fs::write(rig.root().join("b.md"), "amber lattice").unwrap();
    let scope = scope();
    let query = Query::new(Pattern::Literal("lattice".to_owned()));
    let start = Instant::now();
    while rig.vault.view(&scope).search(&query).unwrap().total_matches == 0 {
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    let unsaved = |vault: &Vault| vault.finder().unwrap().text().unwrap().stats().bytes_in_memory;
    assert!(unsaved(&rig.vault) > 0);
    rig.vault.save().unwrap();
    assert_eq!(unsaved(&rig.vault), 0);
    let folder = rig.folder.path().join("data/index");
    let files = || {
        let mut all: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        all.sort();
        (all, std::fs::read(folder.join("segments")).unwrap())
    };
    let before = files();
    rig.vault.save().unwrap();
    assert!(files() == before, "nothing has changed, so nothing is written");
    let rig = rig.reopen();
    let index = rig.vault.finder().unwrap().text().unwrap();
    assert_eq!((index.stats().texts, index.stats().bytes_in_memory), (2, 0), "nothing was indexed again");
    assert!(index.take_events().is_empty());
}

#[test]
fn searches_are_right_while_the_index_is_built() {
    let files: Vec<(String, Vec<u8>)> = (0..600)
        .map(|at| (format!("n{at}.md"), format!("amber {at}\nlattice").repeat(20).into_bytes()))
        .collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let rig = Rig::new(&files);
    let scope = scope();
    let query = Query::new(Pattern::Literal("amber".to_owned()));
    std::thread::scope(|threads| {
        threads.spawn(|| rig.vault.watch(|_| ()).unwrap());
        for _ in 0..20 {
            assert_eq!(rig.vault.view(&scope).search(&query).unwrap().files_matched, 600);
        }
    });
    assert!(rig.vault.finder().unwrap().text_if_ready().is_some(), "and it is there afterwards");
    assert_eq!(rig.vault.view(&scope).search(&query).unwrap().files_matched, 600);
}
