//! The road, walked: every outcome, and what must not happen on the way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use pipeline::approve::{Asker, Beforehand, Deciding, Decision, Lifetime, Nobody, Question};
use pipeline::audit::Ended;
use pipeline::plan::{Action, Leaves, Output, Plan};
use pipeline::testing::Rig;
use pipeline::tool::{AnyTool, Effect, Group, Planning, Spec, Tool};
use pipeline::{Call, Outcome, Refusal, Registry, Rights, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::{Change, VaultPath};

/// Replace a note's text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteInput {
    /// Where.
    path: VaultPath,
    /// The text.
    content: String,
}

struct Write;
impl Tool for Write {
    const SPEC: Spec = Spec::new("write", Group::Edit, Effect::Edits);
    type Input = WriteInput;
    async fn plan(&self, input: WriteInput, view: &View<'_>) -> Result<Plan, Refusal> {
        let change = match view.text_if_any(&input.path)? {
            Some(before) => Change::replace(input.path.clone(), before, input.content),
            None => Change::create(input.path.clone(), input.content),
        };
        Ok(Plan::edit(vec![change], format!("write {}", input.path), Output::new("written", ())))
    }
}

/// Read a note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    /// Where.
    path: VaultPath,
}

struct Read;
impl Tool for Read {
    const SPEC: Spec = Spec::new("read", Group::Read, Effect::Answers);
    type Input = ReadInput;
    async fn plan(&self, input: ReadInput, view: &View<'_>) -> Result<Plan, Refusal> {
        let text = view.text(&input.path)?;
        Ok(Plan::Answer(Output::new(text, ()).from_vault(input.path.to_string())))
    }
}

/// Claims to read, plans to write.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Liar;
impl Tool for Liar {
    const SPEC: Spec = Spec::new("liar", Group::Read, Effect::Answers);
    type Input = Nothing;
    async fn plan(&self, _: Nothing, _: &View<'_>) -> Result<Plan, Refusal> {
        let change = Change::create(VaultPath::parse("lie.md").unwrap(), "x");
        Ok(Plan::edit(vec![change], "lie", Output::default()))
    }
}

/// In the vault group, and edits: what `get_daily_note` with `create` does.
struct Sneaky;
impl Tool for Sneaky {
    const SPEC: Spec = Spec::new("sneaky", Group::Vault, Effect::Edits);
    type Input = Nothing;
    async fn plan(&self, _: Nothing, _: &View<'_>) -> Result<Plan, Refusal> {
        let change = Change::create(VaultPath::parse("sneaky.md").unwrap(), "x");
        Ok(Plan::edit(vec![change], "sneak", Output::default()))
    }
}

/// Deferred.
struct Later;
impl Tool for Later {
    const SPEC: Spec = Spec::new("later", Group::Read, Effect::Answers).deferred();
    type Input = Nothing;
    async fn plan(&self, _: Nothing, _: &View<'_>) -> Result<Plan, Refusal> {
        Ok(Plan::answer("later", ()))
    }
}

/// Sends something.
struct Send(Arc<AtomicUsize>);
impl Tool for Send {
    const SPEC: Spec = Spec::new("send", Group::Web, Effect::Acts);
    type Input = Nothing;
    async fn plan(&self, _: Nothing, _: &View<'_>) -> Result<Plan, Refusal> {
        let count = Arc::clone(&self.0);
        Ok(Plan::Act(Action::new(
            "send it",
            "example.org",
            Leaves::Something,
            Duration::from_millis(200),
            move || async move {
                count.fetch_add(1, Ordering::SeqCst);
                Ok(Output::new("sent", ()))
            },
        )))
    }
}

/// Never ends.
struct Endless;
impl Tool for Endless {
    const SPEC: Spec = Spec::new("endless", Group::Web, Effect::Acts);
    type Input = Nothing;
    async fn plan(&self, _: Nothing, _: &View<'_>) -> Result<Plan, Refusal> {
        Ok(Plan::Act(Action::new("wait", "clock", Leaves::Nothing, Duration::from_millis(50), || {
            std::future::pending()
        })))
    }
}

fn rig() -> (Rig, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let registry = Registry::default();
    registry.add(Write).add(Read).add(Liar).add(Sneaky).add(Later).add(Send(Arc::clone(&sent))).add(Endless);
    (
        Rig::new(
            "a.md: one\n--- Private/p.md: secret\n--- Templates/t.md: tpl\n--- .verger/ignore: Private/\n--- .verger/protect: Templates/",
            registry,
        ),
        sent,
    )
}

/// A person who answers what they were told to, and remembers what they saw.
struct Person {
    answers: Mutex<Vec<Decision>>,
    seen: Mutex<Vec<String>>,
}

impl Person {
    fn who_says(answers: impl IntoIterator<Item = Decision>) -> Person {
        let mut answers: Vec<_> = answers.into_iter().collect();
        answers.reverse();
        Person { answers: Mutex::new(answers), seen: Mutex::new(vec![]) }
    }
    fn seen(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Asker for Person {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        let mut text = format!("{} [{}]", question.summary, question.rule.describe());
        question.changes.iter().for_each(|change| text.push_str(&format!("\n{}", change.diff())));
        if let Some(warning) = &question.warning {
            text.push_str(&format!("\n! {warning}"));
        }
        self.seen.lock().unwrap().push(text);
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

fn reason(outcome: &Outcome) -> &str {
    outcome.refusal().map_or("", |refusal| refusal.reason.as_ref())
}

fn last(rig: &Rig) -> pipeline::audit::Entry {
    rig.road.audit.last(1).unwrap().remove(0)
}

#[test]
fn every_refusal_leaves_the_vault_alone_and_a_line_in_the_audit() {
    let (rig, _) = rig();
    let before = rig.files();
    let rows: [(&str, Value, &str); 14] = [
        ("wrte", json!({}), "tool_unknown"),
        ("later", json!({}), "tool_deferred"),
        ("liar", json!({}), "plan_not_allowed"),
        ("write", json!({"path": "a.md"}), "input_invalid"),
        ("write", json!({"path": "a.md", "content": "x", "contents": "y"}), "input_invalid"),
        ("write", json!("a.md"), "input_invalid"),
        ("write", json!({"path": "../a.md", "content": "x"}), "path_traversal"),
        ("write", json!({"path": "/etc/x", "content": "x"}), "path_invalid"),
        ("write", json!({"path": ".obsidian/app.json", "content": "x"}), "path_forbidden"),
        ("write", json!({"path": ".verger/ignore", "content": ""}), "path_forbidden"),
        ("write", json!({"path": "Templates/t.md", "content": "x"}), "path_forbidden"),
        ("write", json!({"path": "Private/new.md", "content": "x"}), "path_forbidden"),
        ("read", json!({"path": "Private/p.md"}), "note_missing"),
        ("endless", json!({}), "timeout"),
    ];
    for (tool, input, expected) in rows {
        let outcome = rig.call(tool, input.clone(), &Beforehand);
        assert_eq!(reason(&outcome), expected, "{tool} {input}: {outcome:?}");
        let entry = last(&rig);
        assert_eq!((entry.tool.as_str(), entry.reason.as_deref()), (tool, Some(expected)));
        let refusal = outcome.refusal().unwrap();
        assert!(!refusal.hint.is_empty() && !refusal.message.is_empty(), "{refusal:?}");
    }
    assert_eq!(rig.files(), before);
    assert_eq!(rig.road.audit.verify().unwrap().problems, Vec::<String>::new());
}

#[test]
fn misspelt_names_are_suggested() {
    let (rig, _) = rig();
    let hint = |tool: &str, input: Value| rig.call(tool, input, &Nobody).refusal().unwrap().hint.clone();
    assert_eq!(hint("wrte", json!({})), "did you mean `write`?");
    assert_eq!(hint("write", json!({"pth": "a.md", "content": ""})), "did you mean `path`?");
}

/// tools-and-agents 6.2 #9 and #12: nobody there means no, and the no is written down.
#[test]
fn a_denied_write_leaves_the_file_alone_and_is_audited() {
    let (rig, _) = rig();
    let before = rig.files();
    let outcome = rig.call("write", json!({"path": "a.md", "content": "two"}), &Nobody);
    assert!(matches!(outcome, Outcome::Denied(_)));
    assert_eq!(rig.files(), before);
    let entry = last(&rig);
    assert_eq!((entry.outcome, entry.approval.as_deref()), (Ended::Denied, Some("denied by nobody")));
    assert_eq!(entry.paths, ["a.md"]);
}

#[test]
fn an_approved_write_is_done_checkpointed_and_audited() {
    let (rig, _) = rig();
    let person = Person::who_says([Decision::Yes(Lifetime::Once)]);
    let outcome = rig.call("write", json!({"path": "a.md", "content": "two"}), &person);
    let Outcome::Done { checkpoint: Some(id), .. } = outcome else { panic!("{outcome:?}") };
    assert!(
        rig.files().starts_with("Private/p.md: secret\n--- Templates/t.md: tpl\n--- a.md: two"),
        "{}",
        rig.files()
    );
    assert!(person.seen.lock().unwrap()[0].contains("-one\n"), "the diff is shown before the write");
    let entry = last(&rig);
    assert_eq!((entry.outcome, entry.checkpoint), (Ended::Done, Some(id)));
    assert_eq!(entry.approval.as_deref(), Some("once by person"));
    assert_eq!(entry.bytes, Some((3, 3)));
    assert_eq!(entry.input["content"], "[3 chars]");
}

#[test]
fn edited_input_goes_through_validation_and_policy_again() {
    let (rig, _) = rig();
    let edited = |path: &str| Decision::Edited(json!({"path": path, "content": "mine"}));
    let person = Person::who_says([edited("b.md"), Decision::Yes(Lifetime::Once)]);
    rig.call("write", json!({"path": "a.md", "content": "two"}), &person);
    assert!(rig.files().contains("a.md: one") && rig.files().contains("b.md: mine"));
    assert_eq!(person.seen(), 2, "what was edited is shown again");
    let person = Person::who_says([edited("Templates/t.md"), Decision::Yes(Lifetime::Once)]);
    let outcome = rig.call("write", json!({"path": "a.md", "content": "two"}), &person);
    assert_eq!(reason(&outcome), "path_forbidden");
}

#[test]
fn a_yes_holds_for_as_long_as_it_was_given_and_no_longer() {
    for (lifetime, same_task, same_session, later) in [
        (Lifetime::Once, false, false, false),
        (Lifetime::Task, true, false, false),
        (Lifetime::Session, true, true, false),
        (Lifetime::Always, true, true, true),
    ] {
        let (mut rig, _) = rig();
        rig.call(
            "write",
            json!({"path": "a.md", "content": "1"}),
            &Person::who_says([Decision::Yes(lifetime)]),
        );
        let mut done = |task: &str, session: &str, path: &str, n: u32| {
            rig.task = pipeline::Task::new(task, session, "test");
            let outcome = rig.call("write", json!({"path": path, "content": n.to_string()}), &Nobody);
            matches!(outcome, Outcome::Done { .. })
        };
        assert_eq!(done("task-1", "session-1", "a.md", 2), same_task, "{lifetime:?} same task");
        assert_eq!(done("task-2", "session-1", "a.md", 3), same_session, "{lifetime:?} same session");
        assert_eq!(done("task-3", "session-2", "a.md", 4), later, "{lifetime:?} later");
        assert!(!done("task-1", "session-1", "b.md", 5), "{lifetime:?}: another note is another question");
    }
}

#[test]
fn a_note_that_changes_while_the_user_thinks_is_not_overwritten() {
    struct Slow(std::path::PathBuf);
    impl Asker for Slow {
        fn ask<'a>(&'a self, _: &'a Question<'a>) -> Deciding<'a> {
            std::fs::write(&self.0, "by hand").unwrap();
            Box::pin(async { Decision::Yes(Lifetime::Once) })
        }
        fn name(&self) -> &str {
            "slow"
        }
        fn is_person(&self) -> bool {
            true
        }
    }
    let (rig, _) = rig();
    let outcome =
        rig.call("write", json!({"path": "a.md", "content": "two"}), &Slow(rig.root().join("a.md")));
    assert_eq!(reason(&outcome), "stale");
    assert!(rig.files().contains("a.md: by hand"));
    assert_eq!(last(&rig).outcome, Ended::Failed);
}

/// tools-and-agents 6.2 #3: rights are held at the road, not only in the list that a model is shown.
#[test]
fn an_agent_without_the_right_cannot_call_and_cannot_edit_by_a_side_door() {
    let (mut rig, _) = rig();
    rig.task.rights = Rights::read_only();
    let before = rig.files();
    assert_eq!(
        reason(&rig.call("write", json!({"path": "a.md", "content": "x"}), &Beforehand)),
        "tool_unknown"
    );
    assert_eq!(reason(&rig.call("sneaky", json!({}), &Beforehand)), "not_permitted");
    assert_eq!(rig.files(), before);
    rig.task.rights = Rights::all().only([]);
    assert_eq!(reason(&rig.call("read", json!({"path": "a.md"}), &Beforehand)), "tool_unknown");
}

#[test]
fn a_view_of_rights_only_narrows() {
    let parent = Rights::groups([Group::Read, Group::Edit]).without(["write"]);
    let child = Rights::all().only(["read", "write", "send"]).within(&parent);
    let permits =
        |rights: &Rights, name: &'static str, group| rights.permit(&Spec::new(name, group, Effect::Answers));
    for (name, group, expected) in [
        ("read", Group::Read, true),
        ("write", Group::Edit, false),
        ("send", Group::Web, false),
        ("other", Group::Read, false),
    ] {
        assert_eq!(permits(&child, name, group), expected, "{name}");
    }
}

#[test]
fn the_step_that_completes_the_third_leg_asks_a_person_whatever_was_granted() {
    let (rig, sent) = rig();
    // Before anything was read, a yes given beforehand is enough, and a standing grant as well.
    let always = Person::who_says([Decision::Yes(Lifetime::Always)]);
    rig.call("send", json!({}), &always);
    assert!(matches!(rig.call("send", json!({}), &Nobody), Outcome::Done { .. }));
    rig.call("read", json!({"path": "a.md"}), &Nobody);
    for asker in [&Nobody as &dyn Asker, &Beforehand] {
        let outcome = rig.call("send", json!({}), asker);
        assert!(matches!(outcome, Outcome::Denied(_)), "{outcome:?}");
    }
    assert_eq!(sent.load(Ordering::SeqCst), 2);
    let person =
        Person::who_says([Decision::No { reason: Some("no way".into()) }, Decision::Yes(Lifetime::Once)]);
    assert!(matches!(rig.call("send", json!({}), &person), Outcome::Denied(_)));
    assert!(person.seen.lock().unwrap()[0].contains("hidden instruction"), "it says why");
    // Edits inside the vault need no more questions than before.
    assert!(matches!(
        rig.call("write", json!({"path": "a.md", "content": "2"}), &Beforehand),
        Outcome::Done { .. }
    ));
}

#[test]
fn a_dry_run_shows_and_changes_nothing() {
    let (rig, sent) = rig();
    let before = rig.files();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let run = |tool: &str, input: Value| {
        runtime.block_on(rig.road.run(&rig.task, Call::new(tool, input).dry(), &Beforehand))
    };
    let outcome = run("write", json!({"path": "a.md", "content": "two"}));
    assert!(matches!(outcome, Outcome::Shown { .. }), "{outcome:?}");
    assert!(matches!(run("send", json!({})), Outcome::Shown { .. }));
    assert_eq!(reason(&run("write", json!({"path": "Templates/t.md", "content": "x"}))), "path_forbidden");
    assert_eq!((rig.files(), sent.load(Ordering::SeqCst)), (before, 0));
    assert_eq!(last(&rig).outcome, Ended::Refused);
}

/// Reliability 5.6: whatever is missing, the call is refused.
#[test]
fn without_audit_rules_or_store_nothing_is_written() {
    type Break = fn(&Rig);
    let rows: [(&str, Break, &str, &str); 5] = [
        (
            "audit gone",
            |rig| std::fs::remove_file(rig.folder.path().join("data/audit.jsonl")).unwrap(),
            "audit_unavailable",
            "audit_unavailable",
        ),
        (
            "ignore file is no text",
            |rig| std::fs::write(rig.root().join(".verger/ignore"), [0xff, 0xfe]).unwrap(),
            "store_damaged",
            "store_damaged",
        ),
        (
            "protect file is a folder",
            |rig| {
                std::fs::remove_file(rig.root().join(".verger/protect")).unwrap();
                std::fs::create_dir(rig.root().join(".verger/protect")).unwrap();
            },
            "store_damaged",
            "store_damaged",
        ),
        (
            "ignore file has a broken pattern",
            |rig| std::fs::write(rig.root().join(".verger/ignore"), "[z-a]").unwrap(),
            "store_damaged",
            "store_damaged",
        ),
        (
            "the stage is gone",
            |rig| std::fs::remove_dir_all(rig.folder.path().join("data/stage")).unwrap(),
            "io",
            "",
        ),
    ];
    for (what, breaks, write, read) in rows {
        let (rig, _) = rig();
        let before = rig.files();
        breaks(&rig);
        let outcome = rig.call("write", json!({"path": "a.md", "content": "two"}), &Beforehand);
        assert_eq!(reason(&outcome), write, "{what}: {outcome:?}");
        assert_eq!(reason(&rig.call("read", json!({"path": "a.md"}), &Beforehand)), read, "{what}");
        assert_eq!(rig.files(), before, "{what}");
    }
}

#[test]
fn rule_files_are_read_again_when_they_change() {
    let (rig, _) = rig();
    assert!(matches!(
        rig.call("write", json!({"path": "a.md", "content": "two"}), &Beforehand),
        Outcome::Done { .. }
    ));
    std::fs::write(rig.root().join(".verger/protect"), "a.md\n").unwrap();
    assert_eq!(
        reason(&rig.call("write", json!({"path": "a.md", "content": "3"}), &Beforehand)),
        "path_forbidden"
    );
}

/// A tool made at run time; it says that it edits, and walks the same road.
struct Made {
    spec: Spec,
    schema: Value,
}

impl AnyTool for Made {
    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn description(&self) -> &str {
        "made at run time"
    }
    fn schema(&self) -> &Value {
        &self.schema
    }
    fn plan<'p>(&'p self, _: Value, _: &'p View<'p>) -> Result<Planning<'p>, Refusal> {
        let change = Change::create(VaultPath::parse("made.md").unwrap(), "x");
        Ok(Box::pin(async move { Ok(Plan::edit(vec![change], "make", Output::default())) }))
    }
}

#[test]
fn a_tool_added_at_run_time_walks_the_same_road() {
    let (rig, _) = rig();
    let made = |name: &str| {
        let spec =
            Spec { name: name.to_owned().into(), group: Group::Edit, effect: Effect::Edits, deferred: false };
        Arc::new(Made { spec, schema: json!({"type": "object", "properties": {}}) })
    };
    rig.road.registry.register(made("custom_make")).unwrap();
    assert_eq!(rig.road.registry.register(made("custom_make")).unwrap_err().reason, "tool_exists");
    assert_eq!(rig.road.registry.register(made("write")).unwrap_err().reason, "tool_exists");
    assert_eq!(rig.road.registry.register(made("../x")).unwrap_err().reason, "tool_name_invalid");
    assert!(matches!(rig.call("custom_make", json!({}), &Nobody), Outcome::Denied(_)));
    assert!(matches!(
        rig.call("custom_make", json!({}), &Beforehand),
        Outcome::Done { checkpoint: Some(_), .. }
    ));
    assert!(rig.road.registry.unregister("custom_make"));
    assert_eq!(reason(&rig.call("custom_make", json!({}), &Beforehand)), "tool_unknown");
}

/// Meets the others at a barrier: three of these can only end if they run at the same time.
struct Meet(Arc<Barrier>);
impl Tool for Meet {
    const SPEC: Spec = Spec::new("meet", Group::Read, Effect::Answers);
    type Input = Value;
    async fn plan(&self, input: Value, _: &View<'_>) -> Result<Plan, Refusal> {
        self.0.wait();
        Ok(Plan::answer(input["n"].to_string(), ()))
    }
}

#[test]
fn neighbouring_reads_run_together_and_writes_in_their_turn() {
    let registry = Registry::default();
    registry.add(Meet(Arc::new(Barrier::new(3)))).add(Write).add(Read);
    let Rig { folder: _folder, road, task } = Rig::new("a.md: one", registry);
    let (road, task) = (Arc::new(road), Arc::new(task));
    let write = |n: u32| Call::new("write", json!({"path": "a.md", "content": n.to_string()}));
    let meet = |n: u32| Call::new("meet", json!({"n": n}));
    let calls =
        vec![meet(1), meet(2), meet(3), write(1), Call::new("read", json!({"path": "a.md"})), write(2)];
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let outcomes = runtime.block_on(road.run_all(&task, calls, Arc::new(Beforehand)));
    let shown: Vec<String> = outcomes.iter().map(|outcome| outcome.output().unwrap().text.clone()).collect();
    assert_eq!(shown, ["1", "2", "3", "written", "1", "written"]);
}

#[test]
fn the_same_call_again_and_again_is_refused_and_can_be_recovered_from() {
    let (rig, _) = rig();
    let read = || rig.call("read", json!({"path": "a.md"}), &Nobody);
    for _ in 0..3 {
        assert!(matches!(read(), Outcome::Answered(_)));
    }
    assert_eq!(reason(&read()), "repeated_call");
    rig.call("write", json!({"path": "a.md", "content": "x"}), &Beforehand);
    assert!(matches!(
        rig.call("write", json!({"path": "b.md", "content": "x"}), &Beforehand),
        Outcome::Done { .. }
    ));
}

/// The process dies between the commit and the audit file: the next start writes the line.
#[test]
fn a_commit_whose_audit_line_was_lost_gets_it_at_the_next_start() {
    let (rig, _) = rig();
    rig.call("write", json!({"path": "a.md", "content": "two"}), &Beforehand);
    let Rig { folder, road, .. } = rig;
    drop(road);
    let audit_file = folder.path().join("data/audit.jsonl");
    std::fs::write(&audit_file, "").unwrap();
    let vault = vault::Vault::open(&folder.path().join("vault"), &folder.path().join("data")).unwrap();
    let audit = pipeline::audit::Audit::open(&audit_file).unwrap();
    let grants = pipeline::grants::Grants::open(&folder.path().join("data/grants.json"));
    let road = pipeline::Road::new(
        vault,
        Registry::default(),
        grants,
        audit,
        Box::new(pipeline::testing::StillWorld::default()),
    )
    .unwrap();
    let entries = road.audit.last(5).unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].tool.as_str(), entries[0].outcome), ("write", Ended::Done));
}

/// Says what the audit file holds at the moment when it fires.
struct LooksAtTheAudit(std::path::PathBuf);
impl Tool for LooksAtTheAudit {
    const SPEC: Spec = Spec::new("looks", Group::Web, Effect::Acts);
    type Input = Nothing;
    async fn plan(&self, _: Nothing, _: &View<'_>) -> Result<Plan, Refusal> {
        let path = self.0.clone();
        let limit = Duration::from_secs(5);
        Ok(Plan::Act(Action::new("look", "audit", Leaves::Nothing, limit, move || async move {
            Ok(Output::new(std::fs::read_to_string(path).unwrap(), ()))
        })))
    }
}

#[test]
fn the_line_that_an_act_starts_is_written_before_it_fires_and_its_end_after() {
    let (rig, _) = rig();
    rig.road.registry.add(LooksAtTheAudit(rig.folder.path().join("data/audit.jsonl")));
    let outcome = rig.call("looks", json!({}), &Beforehand);
    let then: Value = serde_json::from_str(outcome.output().unwrap().text.lines().last().unwrap()).unwrap();
    assert_eq!((then["tool"].as_str(), then["outcome"].as_str()), (Some("looks"), Some("started")));
    assert_eq!(then["approval"], "once by --yes");
    assert_eq!((last(&rig).tool.as_str(), last(&rig).outcome), ("looks", Ended::Done));
    rig.call("endless", json!({}), &Beforehand);
    let entries = rig.road.audit.last(2).unwrap();
    assert_eq!([entries[0].outcome, entries[1].outcome], [Ended::Started, Ended::Failed]);
    assert!(rig.road.audit.verify().unwrap().problems.is_empty());
}
