//! Every tool that reads notes says of which it tells, or stands here with the reason why it need not. A new one that is
//! missing in this table fails the test; one that says nothing is asked about with its input, all or nothing.

use std::collections::BTreeSet;
use std::sync::Mutex;

use pipeline::approve::{Beforehand, Deciding};
use pipeline::testing::Rig;
use pipeline::{Asker, Decision, Group, Lifetime, Outcome, Question, Review, Rights};
use serde_json::{Value, json};

const VAULT: &str = "a.md: ---\nstatus: open\n---\nquince #project [[b]]\n--- b.md: quince and pear #project [[a]] [[nowhere]]\
    \n--- 2026-03-14.md: today\n--- p.base: views:\n  - type: table\n    name: All\n    order: [file.name, status]\n";

/// What a person is shown before the answer is given.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shown {
    /// The notes whose text it is, with a tick each.
    Reads(&'static str),
    /// The rows, with a tick each.
    Results(&'static str),
    /// The input alone: the answer may draw on any note.
    Input(&'static str),
    /// Nothing: there is no text of a note in it.
    Nothing(&'static str),
}
use Shown::{Input, Nothing, Reads, Results};

fn rows(checkpoint: &str) -> Vec<(&'static str, Value, Shown)> {
    let of = |path: Option<&str>| match path {
        Some(path) => json!({"commitOid": checkpoint, "path": path}),
        None => json!({"commitOid": checkpoint}),
    };
    vec![
        ("read_file", json!({"path": "a.md"}), Reads("a.md")),
        ("get_frontmatter", json!({"path": "a.md"}), Reads("a.md")),
        ("get_daily_note", json!({}), Reads("2026-03-14.md")),
        ("read_checkpoint", of(Some("b.md")), Reads("b.md")),
        ("diff_checkpoint", of(Some("b.md")), Reads("b.md")),
        ("manage_tags", json!({"path": "a.md", "operation": "list"}), Reads("a.md")),
        ("file_read", json!({"filePaths": ["a.md", "b.md", "gone.md"]}), Reads("a.md b.md")),
        ("search_files", json!({"pattern": "quince"}), Results("a.md b.md")),
        ("search_files", json!({"pattern": "apricot"}), Nothing("nothing was found")),
        ("semantic_search", json!({"query": "quince", "how": "ranked"}), Results("a.md b.md")),
        ("semantic_search", json!({"query": "pear", "how": "ranked"}), Results("a.md b.md")),
        ("search_by_tag", json!({"tags": ["project"]}), Results("a.md b.md")),
        ("similar_notes", json!({"path": "a.md", "limit": 1}), Results("b.md")),
        ("get_linked_notes", json!({"path": "a.md"}), Results("a.md b.md")),
        ("vault_search", json!({"query": "pear"}), Results("b.md")),
        ("query_vault", json!({"logic": {"glob": ["a*", {"var": "path"}]}}), Results("a.md")),
        ("query_vault", json!({"query": "LIST FROM #project"}), Input("a query can join any notes")),
        ("query_base", json!({"path": "p.base"}), Input("a formula can reach any note")),
        ("vault_health_check", json!({}), Input("a finding quotes links and properties of any notes")),
        ("list_files", json!({}), Nothing("names and sizes")),
        ("list_tags", json!({}), Nothing("tags of the whole vault with counts, of no note in particular")),
        ("get_vault_stats", json!({}), Nothing("counts, tags and names")),
        ("list_checkpoints", json!({}), Nothing("names of files that were changed")),
        ("diff_checkpoint", of(None), Nothing("names, and how many lines were changed")),
    ]
}

/// Tools of these groups that no model can call.
const NOT_FOR_MODELS: [&str; 1] = ["read_chat"];

/// Says yes and remembers what was listed.
#[derive(Default)]
struct Person(Mutex<Vec<(usize, String)>>);

impl Asker for Person {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        let (kind, mut paths): (usize, Vec<&str>) = match (question.reads, question.results) {
            ([], []) => (0, vec![]),
            ([], rows) => (2, rows.iter().map(|row| row.path.as_str()).collect()),
            (reads, _) => (1, reads.iter().map(|path| path.as_str()).collect()),
        };
        paths.sort_unstable();
        self.0.lock().unwrap().push((kind, paths.join(" ")));
        Box::pin(async { Decision::Yes(Lifetime::Once) })
    }
    fn name(&self) -> &str {
        "person"
    }
    fn is_person(&self) -> bool {
        true
    }
}

fn rig() -> (Rig, String) {
    let registry = super::all();
    super::add_chat(&registry, None);
    let mut rig = Rig::new(VAULT, registry);
    let names: Vec<String> =
        rig.road.registry.list(&Rights::all()).iter().map(|tool| tool.spec.name.to_string()).collect();
    rig.task.activate(&names);
    let more = json!({"path": "b.md", "content": " more"});
    let outcome = rig.call("append_to_file", more, &Beforehand);
    let Outcome::Done { checkpoint: Some(checkpoint), .. } = outcome else { panic!("{outcome:?}") };
    rig.task.review = Review { reads: true, results: true };
    (rig, checkpoint)
}

#[test]
fn before_an_answer_that_tells_of_notes_the_person_sees_of_which() {
    let (rig, checkpoint) = rig();
    for (tool, input, shown) in rows(&checkpoint) {
        let person = Person::default();
        let outcome = rig.call(tool, input.clone(), &person);
        assert!(matches!(outcome, Outcome::Answered(_)), "{tool} {input}: {outcome:?}");
        let asked = person.0.lock().unwrap().clone();
        let expected = match shown {
            Input(_) => vec![(0, String::new())],
            Reads(paths) => vec![(1, paths.to_owned())],
            Results(paths) => vec![(2, paths.to_owned())],
            Nothing(_) => vec![],
        };
        assert_eq!(asked, expected, "{tool} {input}: {shown:?}");
    }
}

#[test]
fn every_tool_that_reads_the_vault_stands_in_the_table() {
    let (rig, checkpoint) = rig();
    let known: BTreeSet<&str> = rows(&checkpoint).iter().map(|row| row.0).chain(NOT_FOR_MODELS).collect();
    for tool in rig.road.registry.list(&Rights::all()) {
        if matches!(tool.spec.group, Group::Read | Group::Vault) {
            assert!(known.contains(tool.spec.name.as_ref()), "`{}` is missing in the table", tool.spec.name);
        }
    }
}
