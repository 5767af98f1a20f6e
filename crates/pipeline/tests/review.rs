//! A person who looks first: what is unticked is not in the answer, now or later, and what cannot be listed is not let by unseen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::sync::{Arc, Mutex};

use pipeline::approve::{Asker, Deciding, Decision, Lifetime, Nobody, Question};
use pipeline::plan::{Output, Plan};
use pipeline::testing::Rig;
use pipeline::tool::{Effect, Group, Spec, Tool};
use pipeline::{Call, Outcome, Refusal, Registry, ResultRow, Review, Task, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::{Change, VaultPath};

const VAULT: &str = "a.md: pear one\n--- b.md: pear two\n--- c.md: pear three\n--- d.md: quince";
const BOTH: Review = Review { reads: true, results: true };

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

#[derive(Deserialize, JsonSchema)]
struct PathInput {
    path: VaultPath,
    #[serde(default)]
    write: bool,
}

/// Reads a note, or writes it: one tool that does both, as `get_daily_note` does.
struct Read;
impl Tool for Read {
    const SPEC: Spec = Spec::new("read", Group::Read, Effect::Edits);
    type Input = PathInput;
    async fn plan(&self, input: PathInput, view: &View<'_>) -> Result<Plan, Refusal> {
        let text = view.text(&input.path)?;
        if input.write {
            let change = Change::replace(input.path, text, "written");
            return Ok(Plan::edit(vec![change], "write", Output::default()));
        }
        let output = Output::new(text, ()).from_vault(input.path.to_string());
        Ok(Plan::Answer(output.telling_note(view, &input.path)))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Words {
    text: String,
    #[serde(default)]
    limit: Option<usize>,
}

/// Finds notes.
struct Search;
impl Tool for Search {
    const SPEC: Spec = Spec::new("search", Group::Vault, Effect::Answers);
    type Input = Words;
    async fn plan(&self, input: Words, view: &View<'_>) -> Result<Plan, Refusal> {
        let notes: Vec<VaultPath> = view
            .catalog()?
            .ask(|catalog, visible| catalog.notes(visible).map(|note| note.path.clone()).collect());
        let mut rows = Vec::new();
        for path in notes {
            let text = view.text(&path)?;
            rows.extend(text.contains(&input.text).then(|| ResultRow::new(&path, text)));
        }
        let total = rows.len();
        rows.sort_by(|a, b| a.path.cmp(&b.path));
        rows.truncate(input.limit.unwrap_or(usize::MAX));
        let text: Vec<String> = rows.iter().map(|row| format!("\n{}: {}", row.path, row.excerpt)).collect();
        let output = Output::new(format!("{total} found{}", text.concat()), ()).from_vault("search");
        Ok(Plan::Answer(output.telling_rows(view, || rows)))
    }
}

/// Reads notes and does not say which.
struct Mute;
impl Tool for Mute {
    const SPEC: Spec = Spec::new("mute", Group::Agent, Effect::Answers);
    type Input = Words;
    async fn plan(&self, _: Words, view: &View<'_>) -> Result<Plan, Refusal> {
        Ok(Plan::Answer(Output::new(view.text(&path("a.md"))?, ()).from_vault("somewhere")))
    }
}

/// A person with answers, who remembers what was listed.
struct Person {
    answers: Mutex<Vec<Decision>>,
    seen: Mutex<Vec<String>>,
}

impl Person {
    fn who_says(answers: impl IntoIterator<Item = Decision>) -> Person {
        let mut answers: Vec<Decision> = answers.into_iter().collect();
        answers.reverse();
        Person { answers: Mutex::new(answers), seen: Mutex::default() }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Asker for Person {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        let names = |paths: Vec<&VaultPath>| {
            paths.iter().map(|path| path.stem().to_owned()).collect::<Vec<_>>().join(" ")
        };
        let seen = match (question.reads, question.results) {
            ([], []) => format!("{} {}", question.tool, question.input),
            ([], rows) => format!("results {}", names(rows.iter().map(|row| &row.path).collect())),
            (reads, _) => format!("reads {}", names(reads.iter().collect())),
        };
        self.seen.lock().unwrap().push(seen);
        let answer = self.answers.lock().unwrap().pop().unwrap_or(Decision::No { reason: None });
        Box::pin(async move { answer })
    }
    fn name(&self) -> &str {
        "person"
    }
    fn is_person(&self) -> bool {
        true
    }
}

fn only(paths: &[&str]) -> Decision {
    Decision::Only(paths.iter().map(|text| path(text)).collect())
}

fn yes(lifetime: Lifetime) -> Decision {
    Decision::Yes(lifetime)
}

fn rig(review: Review) -> Rig {
    let registry = Registry::default();
    registry.add(Read).add(Search).add(Mute);
    let mut rig = Rig::new(VAULT, registry);
    rig.task.review = review;
    rig
}

fn pears() -> serde_json::Value {
    json!({"text": "pear"})
}

fn text(outcome: &Outcome) -> &str {
    outcome.output().map_or("", |output| output.text.as_str())
}

fn reason(outcome: &Outcome) -> &str {
    outcome.refusal().map_or("", |refusal| refusal.reason.as_ref())
}

#[test]
fn what_is_unticked_is_in_no_row_no_count_and_no_text_now_and_later() {
    let rig = rig(BOTH);
    let person = Person::who_says([only(&["a.md", "c.md"]), yes(Lifetime::Once)]);
    let outcome = rig.call("search", pears(), &person);
    assert_eq!(text(&outcome), "2 found\na.md: pear one\nc.md: pear three");
    assert_eq!(person.seen(), ["results a b c"]);
    let entry = rig.road.audit.last(1).unwrap().remove(0);
    assert_eq!(
        (entry.approval.as_deref(), entry.paths),
        (Some("2 of 3 by person"), vec!["a.md".into(), "c.md".into()])
    );
    let outcome = rig.call("search", json!({"text": "two"}), &person);
    assert_eq!(text(&outcome), "0 found");
    let missing = rig.call("read", json!({"path": "nowhere.md"}), &person);
    let kept = rig.call("read", json!({"path": "b.md"}), &person);
    assert_eq!(reason(&kept), reason(&missing), "it looks like a note that is not there");
    assert_eq!(reason(&rig.call("read", json!({"path": "B.md"}), &person)), reason(&missing));
    assert_eq!(person.seen().len(), 1, "there was nothing to ask about");
    assert_eq!(rig.task.kept.paths(), [path("b.md")]);
}

#[test]
fn none_ticked_is_a_refusal_in_words_and_no_leg_counts() {
    let rig = rig(BOTH);
    let outcome = rig.call("read", json!({"path": "a.md"}), &Person::who_says([only(&[])]));
    assert!(
        matches!(&outcome, Outcome::Denied(refusal) if refusal.message.contains("kept these notes private"))
    );
    // A tick beside something that was not listed is no tick.
    let outcome = rig.call("read", json!({"path": "b.md"}), &Person::who_says([only(&["d.md"])]));
    assert!(matches!(outcome, Outcome::Denied(_)));
    assert_eq!(rig.task.kept.paths(), [path("a.md"), path("b.md")]);
    assert_eq!(rig.task.ledger.legs(), Default::default());
}

#[test]
fn a_no_hands_nothing_over_and_can_be_asked_again() {
    let rig = rig(BOTH);
    let no = Decision::No { reason: Some("later".to_owned()) };
    let person = Person::who_says([no, yes(Lifetime::Once)]);
    let outcome = rig.call("read", json!({"path": "a.md"}), &person);
    assert!(outcome.refusal().is_some_and(|refusal| refusal.to_string().contains("later")), "{outcome:?}");
    assert_eq!(rig.task.ledger.legs(), Default::default());
    assert!(rig.road.audit.last(1).unwrap()[0].paths.is_empty());
    assert_eq!(reason(&rig.call("read", json!({"path": "a.md"}), &Nobody)), "denied");
    assert_eq!(text(&rig.call("read", json!({"path": "a.md"}), &person)), "pear one");
    assert!(rig.task.ledger.legs().private);
}

#[test]
fn what_moves_up_in_the_place_of_what_was_unticked_is_asked_about_too() {
    let rig = rig(BOTH);
    let person = Person::who_says([only(&["b.md"]), only(&["c.md"])]);
    let outcome = rig.call("search", json!({"text": "pear", "limit": 2}), &person);
    assert_eq!(person.seen(), ["results a b", "results c"], "and what was ticked is not asked about twice");
    assert_eq!(text(&outcome), "2 found\nb.md: pear two\nc.md: pear three");
}

#[test]
fn each_option_asks_for_its_own_and_a_line_that_was_found_is_text_of_a_note() {
    let review = |reads, results| Review { reads, results };
    for (review, search, read) in [
        (review(false, false), None, None),
        (review(true, false), Some("reads a b c"), Some("reads a")),
        (review(false, true), Some("results a b c"), None),
        (BOTH, Some("results a b c"), Some("reads a")),
    ] {
        for (tool, input, expected) in [("search", pears(), search), ("read", json!({"path": "a.md"}), read)]
        {
            let person = Person::who_says([yes(Lifetime::Once)]);
            let outcome = rig(review).call(tool, input, &person);
            assert!(matches!(outcome, Outcome::Answered(_)), "{outcome:?}");
            assert_eq!(person.seen().first().map(String::as_str), expected, "{review:?} {tool}");
        }
    }
}

#[test]
fn a_tool_that_does_not_say_what_it_read_is_asked_with_its_input_and_all_or_nothing() {
    for (review, asked) in
        [(BOTH, true), (Review { reads: false, results: true }, true), (Review::default(), false)]
    {
        let rig = rig(review);
        let person = Person::who_says([yes(Lifetime::Once)]);
        assert_eq!(text(&rig.call("mute", pears(), &person)), "pear one");
        assert_eq!(person.seen() == [r#"mute {"text":"pear"}"#], asked);
        let outcome = rig.call("mute", pears(), &Person::who_says([only(&["a.md"])]));
        assert_eq!(matches!(outcome, Outcome::Denied(_)), asked);
    }
}

#[test]
fn a_yes_holds_for_as_long_as_it_was_given_and_only_for_reading() {
    for (lifetime, same_task, same_session, later) in [
        (Lifetime::Once, false, false, false),
        (Lifetime::Task, true, false, false),
        (Lifetime::Session, true, true, false),
        (Lifetime::Always, true, true, true),
    ] {
        let mut rig = rig(BOTH);
        rig.call("read", json!({"path": "a.md"}), &Person::who_says([yes(lifetime)]));
        let writes = json!({"path": "a.md", "write": true});
        assert_eq!(
            reason(&rig.call("read", writes, &Nobody)),
            "denied",
            "{lifetime:?}: reading is not writing"
        );
        let mut read = |task: &str, session: &str, path: &str| {
            if rig.task.id != task {
                rig.task = Task::new(task, session, "test");
                rig.task.review = BOTH;
            }
            matches!(rig.call("read", json!({"path": path}), &Nobody), Outcome::Answered(_))
        };
        assert_eq!(read("task-1", "session-1", "a.md"), same_task, "{lifetime:?} same task");
        assert_eq!(
            read("task-1", "session-1", "b.md"),
            lifetime == Lifetime::Task,
            "{lifetime:?} another note"
        );
        assert_eq!(read("task-2", "session-1", "a.md"), same_session, "{lifetime:?} same session");
        assert_eq!(read("task-3", "session-2", "a.md"), later, "{lifetime:?} later");
    }
}

#[test]
fn an_edited_search_is_made_and_asked_about_again() {
    let rig = rig(BOTH);
    let person = Person::who_says([Decision::Edited(json!({"text": "quince"})), yes(Lifetime::Once)]);
    let outcome = rig.call("search", pears(), &person);
    assert_eq!(person.seen(), ["results a b c", "results d"]);
    assert_eq!(text(&outcome), "1 found\nd.md: quince");
}

#[test]
fn of_calls_made_together_the_later_ones_do_not_tell_what_the_first_kept_private() {
    let Rig { road, task, folder: _folder } = rig(BOTH);
    let (road, task) = (Arc::new(road), Arc::new(task));
    let person = Arc::new(Person::who_says([only(&["a.md"]), yes(Lifetime::Once), yes(Lifetime::Once)]));
    let call = |limit: usize| Call::new("search", json!({"text": "pear", "limit": limit}));
    let calls = vec![call(10), call(11), call(12)];
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let asker = Arc::clone(&person) as Arc<dyn Asker>;
    let outcomes = runtime.block_on(road.run_all(&task, calls, asker));
    assert!(outcomes.iter().all(|outcome| text(outcome) == "1 found\na.md: pear one"), "{outcomes:?}");
    assert_eq!(person.seen(), ["results a b c", "results a", "results a"]);
}

#[test]
fn pages_of_a_long_answer_are_forgotten_when_a_note_is_kept_private() {
    let rig = rig(BOTH);
    let id = rig.task.results.keep("pear two, on the second page");
    assert!(rig.task.results.read(&id, 0, 10).is_ok());
    rig.call("search", pears(), &Person::who_says([only(&["a.md"])]));
    assert_eq!(rig.task.results.read(&id, 0, 10).unwrap_err().reason, "result_missing");
}

#[test]
fn without_a_review_no_tool_says_what_it_read() {
    let outcome = rig(Review::default()).call("search", pears(), &Nobody);
    assert_eq!(outcome.output().unwrap().tells, pipeline::tells::Tells::Unsaid);
}
