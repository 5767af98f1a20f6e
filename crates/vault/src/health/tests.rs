//! Findings over small vaults.

use expect_test::{Expect, expect};

use super::*;
use crate::files::{Entry, Files, MemoryFiles};

fn show(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let paths = finding.paths.iter().map(VaultPath::as_str).collect::<Vec<_>>().join(" ");
        let place = finding.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{:?} {paths}{place}: {}\n", finding.kind, finding.message)
    };
    findings.iter().map(line).collect()
}

#[track_caller]
fn check_vault(fixture: &str, hidden: &str, expected: Expect) {
    let catalog = Catalog::build(&MemoryFiles::parse(fixture).unwrap()).unwrap();
    let sees = |path: &VaultPath| hidden.is_empty() || !path.as_str().starts_with(hidden);
    expected.assert_eq(&show(&check(&catalog, Visible::only(&sees))));
}

#[test]
fn a_sound_vault_has_no_findings() {
    check_vault("a.md: [[b]] #tag\n--- b.md: [[a]] #tag ![[p.png]]\n--- p.png: x", "", expect![""]);
}

#[test]
fn every_kind_is_found_in_a_fixed_order() {
    let vault = "a.md: ---\nup: \"[[b]]\"\naliases: [Bee, x]\n---\ntext\n[[nowhere]] #Tag\n--- b.md: #tag #tag\n\
        --- sub/B.md: ---\naliases: bee\n---\n[[a]]\n--- bad.md: ---\na: [\n---\n[[a]]\n--- empty.md: \n--- alone.md: [[#x]] [[alone]]";
    check_vault(
        vault,
        "",
        expect![[r#"
        InvalidFrontMatter bad.md: the front matter is not valid YAML (line 3): while parsing a node, did not find expected node content
        BrokenLink a.md:6: `nowhere` leads to nothing
        DuplicateName b.md sub/B.md: 2 notes are called `b`
        DuplicateAlias a.md sub/B.md: the alias `Bee` names 2 notes
        TagVariant a.md: one tag is written in several ways: `#Tag` (1), `#tag` (2)
        EmptyNote empty.md: the note is empty
        Orphan alone.md: no note links to it, and it links to none
        Orphan empty.md: no note links to it, and it links to none
        MissingReciprocal a.md b.md:2: a property links to `b.md`, which does not link back
    "#]],
    );
}

#[test]
fn hidden_notes_are_as_if_they_did_not_exist() {
    let vault = "a.md: [[secret]] #tag\n--- s/secret.md: [[a]] #TAG\n--- s/a.md: x";
    check_vault(
        vault,
        "s/",
        expect![[r#"
        BrokenLink a.md:1: `secret` leads to nothing
        Orphan a.md: no note links to it, and it links to none
    "#]],
    );
}

#[test]
fn a_note_with_more_than_fifty_notes_linking_to_it_is_a_hub() {
    for (notes, hubs) in [(50, 0), (51, 1)] {
        let files = MemoryFiles::parse("hub.md: x").unwrap();
        for number in 0..notes {
            files.write(&VaultPath::parse(&format!("n{number}.md")).unwrap(), "[[hub]] [[hub]]");
        }
        let findings = check(&Catalog::build(&files).unwrap(), Visible::all());
        assert_eq!(counts(&findings).get(&FindingKind::Hub).copied().unwrap_or(0), hubs);
    }
}

#[test]
fn every_error_and_warning_says_how_to_mend_it() {
    let files = MemoryFiles::parse("a.md: [[x]] #a #A\n--- b/a.md: ---\n: [\n---\n").unwrap();
    let findings = check(&Catalog::build(&files).unwrap(), Visible::all());
    assert!(findings.len() >= 4);
    let open = findings.iter().filter(|found| found.severity < Severity::Info && found.repair.is_none());
    assert_eq!(open.count(), 0, "{findings:?}");
}

/// A vault whose file `hub.md` is this many days older than the others.
struct Aged(MemoryFiles, i64);

impl Files for Aged {
    fn walk(&self, each: &mut dyn FnMut(Entry)) -> crate::error::Result<()> {
        self.0.walk(&mut |mut entry| {
            let days = if entry.path.as_str() == "hub.md" { 1_000 - self.1 } else { 1_000 };
            entry.stat.modified_ns = days * 86_400_000_000_000;
            each(entry);
        })
    }

    fn read(&self, path: &VaultPath) -> crate::error::Result<Vec<u8>> {
        self.0.read(path)
    }

    fn stat(&self, path: &VaultPath) -> crate::error::Result<Option<Entry>> {
        self.0.stat(path)
    }
}

#[test]
fn a_note_that_many_link_to_is_stale_when_those_moved_on() {
    let stale = |days: i64, linking: usize| {
        let notes: String = (0..linking).map(|number| format!("\n--- n{number}.md: [[hub]]")).collect();
        let files = Aged(MemoryFiles::parse(&format!("hub.md: x{notes}")).unwrap(), days);
        let found = check(&Catalog::build(&files).unwrap(), Visible::all());
        found.into_iter().find(|finding| finding.kind == FindingKind::StaleHub).map(|found| found.message)
    };
    expect!["12 notes link to it, and half of them were changed 200 days after it or later"]
        .assert_eq(&stale(200, 12).unwrap());
    assert_eq!(stale(100, 12), None);
    assert_eq!(stale(200, 5), None);
}

#[test]
fn notes_on_one_subject_from_one_site_are_named() {
    let note = |number: usize, site: &str| {
        format!("--- n{number}.md: ---\nsource: https://www.{site}/{number}\n---\n#ai [[topic]]\n")
    };
    let mut fixture: String = (0..7).map(|number| note(number, "example.org")).collect();
    fixture += &note(7, "other.net");
    let one = |fixture: &str, hidden: &str| {
        let catalog = Catalog::build(&MemoryFiles::parse(fixture).unwrap()).unwrap();
        let sees = |path: &VaultPath| hidden.is_empty() || !path.as_str().starts_with(hidden);
        let mut found = check(&catalog, Visible::only(&sees));
        found.retain(|finding| finding.kind == FindingKind::OneDomain);
        show(&found)
    };
    expect![[r#"
        OneDomain n0.md n1.md n2.md n3.md n4.md n5.md n6.md: 7 of 8 notes about `#ai` come from example.org
    "#]]
    .assert_eq(&one(&format!("topic.md: x\n{fixture}"), ""));
    fixture = fixture
        .replace("example.org/0", "a.net/0")
        .replace("example.org/1", "b.net/1")
        .replace("example.org/2", "c.net/2");
    assert_eq!(one(&format!("topic.md: x\n{fixture}"), ""), "");
}

#[test]
fn tags_with_other_signs_or_in_the_plural_are_variants() {
    check_vault(
        "a.md: [[b]] #to-do #Book #glass\n--- b.md: [[a]] #todo #to_do #todo #books #books",
        "",
        expect![[r#"
            TagVariant a.md: these tags may be one: `#books` (2), `#Book` (1)
            TagVariant a.md b.md: one tag is written in several ways: `#to-do` (1), `#to_do` (1), `#todo` (2)
        "#]],
    );
}

#[test]
fn texts_tell_twins_and_what_should_be_linked() {
    let words: String = (0..60).map(|number| format!("word{number} ")).collect();
    let vault = format!("a.md: {words}\n--- b.md: {words}\n--- c.md: [[b]] [[d]]\n--- d.md: x\n--- e.md: y");
    let files = MemoryFiles::parse(&vault).unwrap();
    let catalog = Catalog::build(&files).unwrap();
    let path = |name: &str| VaultPath::parse(name).unwrap();
    let all: Vec<VaultPath> = ["a.md", "b.md", "c.md", "d.md", "e.md"].into_iter().map(path).collect();
    let pair = |a: &str, b: &str| (path(a), path(b), 0.9);
    let pairs = vec![pair("a.md", "b.md"), pair("c.md", "d.md"), pair("d.md", "e.md")];
    let found = deep::check(&catalog, Visible::all(), &deep::read(&files, &all, pairs));
    expect![[r#"
        NearDuplicate a.md b.md: 2 notes are the same
        SimilarUnlinked d.md e.md: they are about the same (0.90) and do not link to each other
    "#]]
    .assert_eq(&show(&found));
    let mends: Vec<&Mend> = found.iter().flat_map(|finding| &finding.mends).collect();
    let append = Mend::Append { path: path("d.md"), text: "See also [[e]]".to_owned() };
    assert_eq!(mends, [&Mend::Delete { path: path("a.md") }, &append], "the copy that nothing links to goes");
}
