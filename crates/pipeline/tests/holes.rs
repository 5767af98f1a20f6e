//! Ways around the road that a reviewer looked for: each is shut, and the vault is byte for byte as it was.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "tests"
)]

use std::sync::Mutex;
use std::time::Duration;

use pipeline::approve::{Asker, Beforehand, Deciding, Decision, Lifetime, Question};
use pipeline::audit::Ended;
use pipeline::plan::{Action, Leaves, Output, Plan};
use pipeline::testing::Rig;
use pipeline::tool::{Effect, Group, Spec, Tool};
use pipeline::{Call, Outcome, Refusal, Registry, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::change::Trash;
use vault::{Change, VaultPath};

const VAULT: &str = "a.md: one\n--- Plain/x.md: x\n--- Seen/Private/secret.md: s\n--- Kept/Templates/t.md: t\
    \n--- Keys/.env: k\n--- New/y.md: y\n--- Empty/.hidden: h\n--- .verger/ignore: Private/\n--- .verger/protect: Templates/\n/Fixed/keep.md\
    \n--- Loose/keep.md: k";

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

/// Whatever changes the input names.
#[derive(Deserialize, JsonSchema)]
struct Wish {
    #[serde(default)]
    moves: Vec<(String, String)>,
    #[serde(default)]
    trash: bool,
    #[serde(default)]
    remove: Option<String>,
    #[serde(default)]
    replace: Option<String>,
    #[serde(default)]
    delete: Option<String>,
}

struct Wishes;
impl Tool for Wishes {
    const SPEC: Spec = Spec::new("wishes", Group::Edit, Effect::Edits);
    type Input = Wish;
    async fn plan(&self, wish: Wish, view: &View<'_>) -> Result<Plan, Refusal> {
        let trash = if wish.trash { Trash::Into } else { Trash::No };
        let moved = |(from, to): &(String, String)| Change::Move { from: path(from), to: path(to), trash };
        let mut changes: Vec<Change> = wish.moves.iter().map(moved).collect();
        changes.extend(wish.remove.iter().map(|folder| Change::RemoveFolder { path: path(folder) }));
        if let Some(note) = &wish.delete {
            changes.push(Change::Delete { path: path(note), before: view.read(&path(note))?.into() });
        }
        if let Some(note) = &wish.replace {
            changes.push(Change::replace(path(note), view.text(&path(note))?, "two"));
        }
        Ok(Plan::edit(changes, "wishes", Output::new("done", ())))
    }
}

/// Send something somewhere.
#[derive(Deserialize, JsonSchema)]
struct Mail {
    to: String,
}

struct Sends;
impl Tool for Sends {
    const SPEC: Spec = Spec::new("sends", Group::Web, Effect::Acts);
    type Input = Mail;
    async fn plan(&self, mail: Mail, _: &View<'_>) -> Result<Plan, Refusal> {
        let wait = mail.to == "slow";
        Ok(Plan::Act(Action::new(
            "send",
            mail.to,
            Leaves::Something,
            Duration::from_secs(5),
            move || async move {
                if wait {
                    std::future::pending::<()>().await;
                }
                Ok(Output::new("sent", ()))
            },
        )))
    }
}

/// Breaks down.
struct Breaks;
impl Tool for Breaks {
    const SPEC: Spec = Spec::new("breaks", Group::Read, Effect::Answers);
    type Input = Wish;
    async fn plan(&self, _: Wish, _: &View<'_>) -> Result<Plan, Refusal> {
        panic!("broken")
    }
}

fn rig() -> Rig {
    let registry = Registry::default();
    registry.add(Wishes).add(Sends).add(Breaks);
    Rig::new(VAULT, registry)
}

/// A person who does something before they answer.
struct Thinking<'t>(Mutex<Vec<Decision>>, &'t (dyn Fn() + Sync));

impl Asker for Thinking<'_> {
    fn ask<'a>(&'a self, _: &'a Question<'a>) -> Deciding<'a> {
        (self.1)();
        let answer = self.0.lock().unwrap().remove(0);
        Box::pin(async move { answer })
    }
    fn name(&self) -> &str {
        "person"
    }
    fn is_person(&self) -> bool {
        true
    }
}

fn yes() -> Decision {
    Decision::Yes(Lifetime::Once)
}

fn last(rig: &Rig) -> pipeline::audit::Entry {
    rig.road.audit.last(1).unwrap().remove(0)
}

#[track_caller]
fn check(wish: Value, expected: &str) {
    let rig = rig();
    let before = rig.files();
    let outcome = rig.call("wishes", wish.clone(), &Beforehand);
    let reason = outcome.refusal().map_or("", |refusal| refusal.reason.as_ref());
    assert_eq!(reason, expected, "{wish}: {outcome:?}");
    if let Some(refusal) = outcome.refusal() {
        assert_eq!(rig.files(), before, "{wish}");
        let told = serde_json::to_string(refusal).unwrap();
        assert!(!["secret", ".env", ".hidden", "Private"].iter().any(|word| told.contains(word)), "{told}");
    }
}

#[test]
fn a_folder_moves_only_if_all_that_is_in_it_may() {
    for (from, to, expected) in [
        ("Plain", "Elsewhere", ""),
        ("Seen", "Elsewhere", "path_forbidden"),
        ("Kept", "Elsewhere", "path_forbidden"),
        ("Keys", "Elsewhere", "path_forbidden"),
        ("Loose", "Elsewhere", ""),
        ("Loose", "Fixed", "path_forbidden"),
        ("Plain", "Templates/Plain", "path_forbidden"),
        ("Plain", "Other/.git", "path_forbidden"),
    ] {
        check(json!({"moves": [[from, to]]}), expected);
    }
    check(json!({"moves": [["Seen", ".trash/Seen"]], "trash": true}), "path_forbidden");
}

#[test]
fn a_folder_with_something_unseen_in_it_is_not_removed() {
    check(json!({"remove": "Empty"}), "path_forbidden");
    check(json!({"remove": "Plain"}), "folder_not_empty");
}

#[test]
fn only_the_trash_is_the_trash() {
    check(json!({"moves": [["a.md", "Templates/a.md"]], "trash": true}), "path_forbidden");
    check(json!({"moves": [["a.md", ".git/a.md"]], "trash": true}), "path_forbidden");
    check(json!({"moves": [["a.md", ".trash/a.md"]], "trash": true}), "");
}

/// What lies in the trash needs no leave of its own, but some leave to write it does need.
#[test]
fn whoever_may_only_read_does_not_empty_the_trash() {
    let mut rig = rig();
    rig.put(".trash/old.md", b"old");
    rig.task.limits.read_only = true;
    let outcome = rig.call("wishes", json!({"delete": ".trash/old.md"}), &Beforehand);
    assert_eq!(outcome.refusal().unwrap().reason, "path_forbidden", "{outcome:?}");
    assert_eq!(rig.bytes(".trash/old.md"), b"old");
}

#[test]
fn a_rule_that_is_made_while_the_user_thinks_holds() {
    let rig = rig();
    let before = rig.files();
    let protect = rig.root().join(".verger/protect");
    let person = Thinking(Mutex::new(vec![yes()]), &|| std::fs::write(&protect, "a.md").unwrap());
    let outcome = rig.call("wishes", json!({"replace": "a.md"}), &person);
    assert_eq!(outcome.refusal().unwrap().reason, "path_forbidden", "{outcome:?}");
    assert_eq!(rig.files(), before);
}

#[test]
fn a_dry_run_that_shows_notes_counts_as_reading_them() {
    let rig = rig();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let call = Call::new("wishes", json!({"replace": "a.md"})).dry();
    let outcome = runtime.block_on(rig.road.run(&rig.task, call, &Beforehand));
    assert!(matches!(outcome, Outcome::Shown { .. }));
    assert!(rig.task.ledger.legs().private && rig.task.ledger.legs().untrusted);
}

#[test]
fn notes_that_are_read_while_the_user_thinks_make_the_yes_void() {
    let rig = rig();
    let person = Thinking(Mutex::new(vec![yes()]), &|| {
        rig.task.ledger.record(&Output::new("x", ()).from_vault("a.md"));
    });
    let outcome = rig.call("sends", json!({"to": "x.org"}), &person);
    assert!(matches!(outcome, Outcome::Denied(_)), "{outcome:?}");
    assert!(!rig.task.ledger.legs().left);
}

#[test]
fn the_audit_says_what_was_done_and_not_what_was_asked_first() {
    let rig = rig();
    let answers = vec![Decision::Edited(json!({"to": "edited.org"})), yes()];
    let outcome = rig.call("sends", json!({"to": "first.org"}), &Thinking(Mutex::new(answers), &|| {}));
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    assert_eq!(last(&rig).input, json!({"to": "edited.org"}));
}

#[test]
fn a_call_that_is_dropped_half_way_leaves_its_line() {
    let rig = rig();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let call = Call::new("sends", json!({"to": "slow"}));
        let run = rig.road.run(&rig.task, call, &Beforehand);
        assert!(tokio::time::timeout(Duration::from_millis(50), run).await.is_err());
    });
    let entry = last(&rig);
    assert_eq!(
        (entry.tool.as_str(), entry.outcome, entry.reason.as_deref()),
        ("sends", Ended::Failed, Some("cancelled"))
    );
    assert_eq!(entry.approval.as_deref(), Some("once by --yes"));
    let broke =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rig.call("breaks", json!({}), &Beforehand)));
    assert!(broke.is_err());
    assert_eq!((last(&rig).tool.as_str(), last(&rig).outcome), ("breaks", Ended::Failed));
    assert_eq!(rig.road.audit.verify().unwrap().problems, Vec::<String>::new());
}
