//! Findings over small vaults.

use expect_test::{Expect, expect};

use super::*;
use crate::files::MemoryFiles;

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
        TagCase a.md: one tag is written in several ways: `#Tag` (1), `#tag` (2)
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
