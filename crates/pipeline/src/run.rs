//! The road: nine steps, the same for every tool and every door.
//!
//! find · validate · repeat · plan · policy · approve · checkpoint · carry out · audit. Whatever goes wrong on the way,
//! the vault is as it was and the audit says so. Steps 7 and 8 are one durable commit in `vault::commit`.

mod review;

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use vault::change::{Trash, written};
use vault::commit::Commit;
use vault::policy::{Limits, Scope};
use vault::{Change, Vault, VaultPath};

use crate::approve::{Asker, Decision, Lifetime, Question, Rule};
use crate::audit::{Audit, Ended, Entry, redact};
use crate::grants::{Breadth, Grant, Grants, Who};
use crate::plan::{Action, Control, Edit, Leaves, Output, Plan};
use crate::refusal::Refusal;
use crate::registry::Registry;
use crate::repeat::Trace;
use crate::task::Task;
use crate::tool::{AnyTool, Effect};
use crate::view::View;
use crate::world::World;

use review::{Reviewed, Reviewing};

/// The one road. It owns the vault; nobody else can change it.
pub struct Road {
    vault: Arc<Vault>,
    /// All tools.
    pub registry: Registry,
    /// Standing grants.
    pub grants: Arc<Grants>,
    /// The audit.
    pub audit: Arc<Audit>,
    world: Box<dyn World>,
}

/// A tool named with its input.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// Whether to carry it out or only to show what would happen.
    pub run: Run,
    /// Tells whether whoever called has called it off meanwhile.
    pub stop: Stop,
    /// A name of the caller's own for this very call. It stands in the audit and in the checkpoint, so that a caller who died
    /// half way can learn what became of it ([`Road::fate`]).
    pub key: Option<String>,
}

/// Whether a call was called off. Asked before anything is approved and once more before anything is changed; a commit
/// that has begun is finished.
#[derive(Clone)]
pub struct Stop(Arc<dyn Fn() -> bool + Send + Sync>);

impl Stop {
    /// Asked each time it matters.
    pub fn when(called_off: impl Fn() -> bool + Send + Sync + 'static) -> Stop {
        Stop(Arc::new(called_off))
    }

    fn asked(&self) -> &vault::view::CalledOff {
        &*self.0
    }

    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if (self.0)() {
            return Err(Refusal::new("cancelled", "it was called off; nothing was changed", "call again"));
        }
        Ok(())
    }
}

impl Default for Stop {
    fn default() -> Stop {
        Stop::when(|| false)
    }
}

impl std::fmt::Debug for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if (self.0)() { "called off" } else { "wanted" })
    }
}

/// For real, or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Carry it out.
    Real,
    /// Stop before the approval and show the changes.
    Dry,
}

impl Call {
    /// A call to be carried out.
    pub fn new(tool: impl Into<String>, input: Value) -> Call {
        Call { tool: tool.into(), input, run: Run::Real, stop: Stop::default(), key: None }
    }

    /// The same, as long as nobody calls it off.
    #[must_use]
    pub fn unless(mut self, stop: Stop) -> Call {
        self.stop = stop;
        self
    }

    /// The same, under a name of the caller's own.
    #[must_use]
    pub fn named(mut self, key: impl Into<String>) -> Call {
        self.key = Some(key.into());
        self
    }

    /// The same, only to be shown.
    #[must_use]
    pub fn dry(mut self) -> Call {
        self.run = Run::Dry;
        self
    }
}

/// How a call ended.
#[derive(Debug)]
pub enum Outcome {
    /// With an answer.
    Answered(Output),
    /// With changes on disk, undoable by the checkpoint; or with an action done (no checkpoint).
    Done {
        /// What the tool says.
        output: Output,
        /// What was changed.
        changes: Vec<Change>,
        /// From what it can be undone.
        checkpoint: Option<String>,
    },
    /// With a word to the loop.
    Steered(Control, Output),
    /// Not carried out: this is what it would have changed.
    Shown {
        /// One line.
        summary: String,
        /// The changes.
        changes: Vec<Change>,
        /// What the tool would say once it is done.
        would_say: Output,
    },
    /// Not carried out, by a rule or because it failed.
    Refused(Refusal),
    /// Not carried out, by whoever decides.
    Denied(Refusal),
}

impl Outcome {
    /// The refusal or denial, if it was one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Outcome::Refused(refusal) | Outcome::Denied(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// What the tool says, if it got that far.
    pub fn output(&self) -> Option<&Output> {
        match self {
            Outcome::Answered(output) | Outcome::Done { output, .. } | Outcome::Steered(_, output) => {
                Some(output)
            }
            Outcome::Shown { .. } | Outcome::Refused(_) | Outcome::Denied(_) => None,
        }
    }
}

/// What the audit should say about a call, gathered on the way. A call that is dropped half way (the client hung up,
/// the tool broke down) says so itself: whatever it did until then is not without a line.
struct Story<'r> {
    road: &'r Road,
    task: &'r Task,
    key: Option<String>,
    tool: String,
    /// The input that was judged last, without text and secrets.
    input: Value,
    start: Instant,
    approval: Option<String>,
    paths: Vec<String>,
    bytes: Option<(u64, u64)>,
    audited: bool,
}

impl Drop for Story<'_> {
    fn drop(&mut self) {
        if !self.audited {
            let cancelled = Refusal::new("cancelled", "the call was dropped before it ended", "call again");
            self.road.audit.append(self.entry(&Outcome::Refused(cancelled))).ok();
        }
    }
}

impl Road {
    /// Builds the road over a vault. Lines that an earlier process could not write any more are written now.
    pub fn new(
        vault: Vault,
        registry: Registry,
        grants: Grants,
        audit: Audit,
        world: Box<dyn World>,
    ) -> Result<Road, Refusal> {
        audit.catch_up(vault.commits_with_notes().into_iter())?;
        let (vault, grants, audit) = (Arc::new(vault), Arc::new(grants), Arc::new(audit));
        Ok(Road { vault, registry, grants, audit, world })
    }

    /// The same road with other tools: one vault, one audit, one list of grants. For a second door whose callers know the
    /// tools by other names.
    #[must_use]
    pub fn beside(&self, registry: Registry, world: Box<dyn World>) -> Road {
        let (vault, grants, audit) =
            (Arc::clone(&self.vault), Arc::clone(&self.grants), Arc::clone(&self.audit));
        Road { vault, registry, grants, audit, world }
    }

    /// Runs one call. Always answers, always audits.
    pub async fn run(&self, task: &Task, call: Call, asker: &dyn Asker) -> Outcome {
        if let Err(refusal) = self.audit.ready() {
            return Outcome::Refused(refusal);
        }
        let mut story = Story {
            road: self,
            task,
            key: call.key.clone(),
            tool: call.tool.chars().take(64).collect(),
            input: redact(&call.input),
            start: Instant::now(),
            approval: None,
            paths: Vec::new(),
            bytes: None,
            audited: false,
        };
        let outcome = match self.walk(task, call, asker, &mut story).await {
            Ok(outcome) => outcome,
            Err(refusal) if refusal.reason == "denied" => Outcome::Denied(refusal),
            Err(refusal) => Outcome::Refused(refusal),
        };
        match &outcome {
            // What would change is shown with the text around it.
            Outcome::Shown { changes, .. } if !changes.is_empty() => task.ledger.record_notes(),
            other => other.output().into_iter().for_each(|output| task.ledger.record(output)),
        }
        if story.audited {
            return outcome;
        }
        // 9. audit: refusals and denials too. An answer that cannot be written down is not given.
        story.audited = true;
        match self.audit.append(story.last_entry(&outcome)) {
            Ok(()) => outcome,
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    async fn walk(
        &self,
        task: &Task,
        mut call: Call,
        asker: &dyn Asker,
        story: &mut Story<'_>,
    ) -> Result<Outcome, Refusal> {
        // 1. find: under this agent's rights.
        let tool = self.find(task, &call.tool)?;
        let mut reviewing = Reviewing::new(asker);
        loop {
            reviewing.begin(task);
            let scope = self.scope(task)?;
            // 3. repeat: before the work, not after it. (2, validation, is the first thing that `plan` does.)
            let trace = task.repetition.check(&call.tool, &call.input)?;
            // 2. validate, 4. plan: through a view that hides what may not be read.
            let view = self.view(task, &scope, &call.stop);
            // What can only answer, to nobody who looks first, is asked once, so its input need not be kept.
            let input = match tool.spec().effect {
                Effect::Answers if !task.review.is_on() => std::mem::take(&mut call.input),
                Effect::Answers | Effect::Edits | Effect::Acts | Effect::Steers => call.input.clone(),
            };
            let plan = tool.plan(input, &view)?.await;
            drop(view);
            call.stop.check()?;
            let plan = plan?;
            if !tool.spec().effect.allows(&plan) {
                return Err(broken_promise(&*tool));
            }
            if matches!(plan, Plan::Edit(_)) && !task.rights.may_edit() {
                return Err(Refusal::new(
                    "not_permitted",
                    format!("`{}` would change the vault, and this agent may only read", call.tool),
                    "ask the user, or an agent that may edit",
                ));
            }
            let edited = match plan {
                Plan::Answer(output) => {
                    let spec = tool.spec();
                    match self.review(task, &call, spec, &output, &mut reviewing, story).await? {
                        Reviewed::Given => {
                            task.repetition.record(trace);
                            return Ok(Outcome::Answered(output));
                        }
                        Reviewed::Again => continue,
                        Reviewed::Edited(input) => input,
                    }
                }
                Plan::Steer(control, output) => {
                    if let Control::Activate { tools } = &control {
                        task.activate(tools);
                    }
                    task.repetition.record(trace);
                    return Ok(Outcome::Steered(control, output));
                }
                Plan::Edit(edit) => {
                    match self.approve_edit(task, &scope, &call, &edit, asker, story).await? {
                        Approved::Yes => {
                            // While somebody thought about it, the rules may have changed, or what lies in a folder.
                            self.check_policy(&self.scope(task)?, &edit.changes)?;
                            call.stop.check()?;
                            return self.carry_out_edit(task, &call, edit, trace, story);
                        }
                        Approved::OnlyShow => {
                            let Edit { changes, summary, output } = edit;
                            return Ok(Outcome::Shown { summary, changes, would_say: output });
                        }
                        Approved::Edited(input) => input,
                    }
                }
                Plan::Act(action) => match self.approve_act(task, &call, &action, asker, story).await? {
                    Approved::Yes => {
                        call.stop.check()?;
                        return self.carry_out_act(task, action, trace, story).await;
                    }
                    Approved::OnlyShow => {
                        let would_say = Output::default();
                        let summary = action.summary;
                        return Ok(Outcome::Shown { summary, changes: Vec::new(), would_say });
                    }
                    Approved::Edited(input) => input,
                },
            };
            story.input = redact(&edited);
            call.input = edited;
        }
    }

    /// What this task may see and write now: the rule files are looked at each time.
    fn scope(&self, task: &Task) -> Result<Scope, Refusal> {
        let scope = Scope::new(task.limits.clone(), self.vault.rules()?);
        Ok(match task.kept.hidden() {
            None => scope,
            hidden => scope.narrowed(&Limits { hidden, ..Limits::default() }),
        })
    }

    /// Step 1.
    fn find(&self, task: &Task, name: &str) -> Result<Arc<dyn AnyTool>, Refusal> {
        let tool = self.registry.find(name, &task.rights)?;
        if tool.spec().deferred && !task.is_active(name) {
            return Err(Refusal::new(
                "tool_deferred",
                format!("`{name}` is deferred: its schema was not shown in this task"),
                format!("call {} with \"{name}\" first", self.registry.finder()),
            ));
        }
        Ok(tool)
    }

    /// Steps 5 and 6 for an edit.
    async fn approve_edit(
        &self,
        task: &Task,
        scope: &Scope,
        call: &Call,
        edit: &Edit,
        asker: &dyn Asker,
        story: &mut Story<'_>,
    ) -> Result<Approved, Refusal> {
        let paths: Vec<&VaultPath> = written(&edit.changes).into_iter().collect();
        story.paths = paths.iter().map(ToString::to_string).collect();
        story.bytes = Some(total_bytes(&edit.changes));
        // 5. policy: every path of the edit.
        self.check_policy(scope, &edit.changes)?;
        if call.run == Run::Dry {
            return Ok(Approved::OnlyShow);
        }
        // 6. approve.
        let rule = Rule::covering(&call.tool, &paths, None);
        let question = Question {
            tool: &call.tool,
            input: &call.input,
            summary: &edit.summary,
            changes: &edit.changes,
            reads: &[],
            results: &[],
            target: None,
            warning: None,
            legs: task.ledger.legs(),
            rule,
        };
        self.ask(task, asker, &paths, question, story).await
    }

    /// Steps 5 and 6 for an action.
    async fn approve_act(
        &self,
        task: &Task,
        call: &Call,
        action: &Action,
        asker: &dyn Asker,
        story: &mut Story<'_>,
    ) -> Result<Approved, Refusal> {
        if call.run == Run::Dry {
            return Ok(Approved::OnlyShow);
        }
        let question = Question {
            tool: &call.tool,
            input: &call.input,
            summary: &action.summary,
            changes: &[],
            reads: &[],
            results: &[],
            target: Some(&action.target),
            warning: task.ledger.warning(action.leaves),
            legs: task.ledger.legs(),
            rule: Rule::covering(&call.tool, &[], Some(&action.target)),
        };
        let warned = question.warning.is_some();
        let answer = self.ask(task, asker, &[], question, story).await?;
        if let (false, Approved::Yes, Some(warning)) = (warned, &answer, task.ledger.warning(action.leaves)) {
            // Another call read notes while this one waited; whoever said yes did not know.
            return Err(denied("notes were read while this waited for its answer; ask again", &warning));
        }
        Ok(answer)
    }

    /// Step 6: a grant that covers it, or whoever decides. What completes the third leg always needs a person.
    async fn ask(
        &self,
        task: &Task,
        asker: &dyn Asker,
        paths: &[&VaultPath],
        question: Question<'_>,
        story: &mut Story<'_>,
    ) -> Result<Approved, Refusal> {
        let who = Who { task: &task.id, session: &task.session, now_ms: self.now_ms() };
        let breadth = breadth(&question);
        if question.warning.is_none()
            && !asker.insists()
            && let Some(grant) = self.grants.covering(question.tool, paths, question.target, breadth, &who)
        {
            story.approval = Some(format!("grant {}", grant.id));
            return Ok(Approved::Yes);
        }
        if let (Some(warning), false) = (&question.warning, asker.is_person()) {
            return Err(denied("a person must decide this", warning).with("legs", question.legs));
        }
        match asker.ask(&question).await {
            Decision::Yes(lifetime) => {
                story.approval = Some(format!("{} by {}", name(lifetime), asker.name()));
                if lifetime != Lifetime::Once {
                    self.grants.add(self.grant(task, question.rule, lifetime)?)?;
                }
                Ok(Approved::Yes)
            }
            Decision::Edited(input) => {
                story.approval = Some(format!("edited by {}", asker.name()));
                Ok(Approved::Edited(input))
            }
            // Notes can be ticked where some are listed, and nothing is listed here.
            Decision::Only(_) => {
                story.approval = Some(format!("denied by {}", asker.name()));
                Err(denied(
                    &format!("`{}` was not approved", question.tool),
                    "ask the user what they want instead",
                ))
            }
            Decision::No { reason } => {
                story.approval = Some(format!("denied by {}", asker.name()));
                let reason = reason.unwrap_or_else(|| "the user said no".to_owned());
                Err(denied(
                    &format!("`{}` was not approved: {reason}", question.tool),
                    "ask the user what they want instead",
                ))
            }
        }
    }

    /// Steps 7 and 8 for an edit: checkpoint and commit in one, audited in the same record.
    fn carry_out_edit(
        &self,
        task: &Task,
        call: &Call,
        edit: Edit,
        trace: Trace,
        story: &mut Story<'_>,
    ) -> Result<Outcome, Refusal> {
        if edit.changes.is_empty() {
            return Ok(Outcome::Answered(edit.output));
        }
        let id = self.world.id()?;
        let mut entry = story.entry(&Outcome::Answered(Output::default()));
        entry.outcome = Ended::Done;
        entry.checkpoint = Some(id.clone());
        let mut note = serde_json::to_value(&entry).unwrap_or(Value::Null);
        if let Some(hash) = self.audit.last_hash() {
            note["after"] = hash.into();
        }
        self.vault.commit(&Commit {
            changes: &edit.changes,
            task: &task.id,
            tool: &call.tool,
            time_ms: self.now_ms(),
            note: Some(note),
            id: id.clone(),
        })?;
        task.repetition.record(trace);
        entry.milliseconds = elapsed(&story.start);
        // The line is in the checkpoint already; if it cannot be written here, the next start writes it.
        self.audit.append(entry).ok();
        story.audited = true;
        Ok(Outcome::Done { output: edit.output, changes: edit.changes, checkpoint: Some(id) })
    }

    /// Step 8 for an action. What it does outside cannot be undone, so the line that it starts is on disk first: a
    /// process that dies in between leaves a `started` without an end, never an act without a line.
    async fn carry_out_act(
        &self,
        task: &Task,
        action: Action,
        trace: Trace,
        story: &Story<'_>,
    ) -> Result<Outcome, Refusal> {
        let mut intent = story.entry(&Outcome::Answered(Output::default()));
        intent.outcome = Ended::Started;
        self.audit.append_durably(intent)?;
        if action.leaves == Leaves::Something {
            task.ledger.record_sent();
        }
        let output = action.fire().await?;
        task.repetition.record(trace);
        Ok(Outcome::Done { output, changes: Vec::new(), checkpoint: None })
    }

    /// Runs the calls of one reply: neighbouring reads together, everything else in its turn. Answers in order.
    pub async fn run_all(
        self: &Arc<Road>,
        task: &Arc<Task>,
        calls: Vec<Call>,
        asker: Arc<dyn Asker>,
    ) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(calls.len());
        let mut reads = Vec::new();
        for call in calls {
            // Whoever looks first decides in the order in which the model asked: what they keep private is gone for the calls
            // behind it, also for those about which nobody is asked.
            if !task.review.is_on() && self.only_answers(task, &call) {
                reads.push(self.spawn(task, call, &asker));
                continue;
            }
            finish(&mut reads, &mut outcomes).await;
            outcomes.push(self.run(task, call, &*asker).await);
        }
        finish(&mut reads, &mut outcomes).await;
        outcomes
    }

    fn only_answers(&self, task: &Task, call: &Call) -> bool {
        self.registry.find(&call.tool, &task.rights).is_ok_and(|tool| tool.spec().effect == Effect::Answers)
    }

    /// Reads are plain code that keeps a core busy, so each gets a thread of its own.
    fn spawn(
        self: &Arc<Road>,
        task: &Arc<Task>,
        call: Call,
        asker: &Arc<dyn Asker>,
    ) -> tokio::task::JoinHandle<Outcome> {
        let (road, task, asker) = (Arc::clone(self), Arc::clone(task), Arc::clone(asker));
        let handle = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || handle.block_on(road.run(&task, call, &*asker)))
    }

    fn view<'v>(&'v self, task: &'v Task, scope: &'v Scope, stop: &'v Stop) -> View<'v> {
        let vault = self.vault.view(scope).unless(stop.asked());
        View::new(vault, &*self.world, task, &self.registry, stop)
    }

    /// Step 5: every path of the edit, and everything that a folder takes along.
    fn check_policy(&self, scope: &Scope, changes: &[Change]) -> Result<(), Refusal> {
        // Nothing at all is written in this mode, not even what needs no leave of its own in the trash.
        if let (true, Some(change)) = (scope.limits().read_only, changes.first()) {
            self.check_path(scope, change.path())?;
        }
        for path in written(changes) {
            self.check_path(scope, path)?;
        }
        for change in changes {
            match change {
                Change::Move { from, to, .. } => {
                    let judged = change.written();
                    let sides: Vec<&VaultPath> =
                        [from, to].into_iter().filter(|side| judged.contains(side)).collect();
                    self.check_contents(scope, from, &sides)?;
                }
                // The trash is Verger's own; a folder that still holds something is not removed anyway.
                Change::RemoveFolder { path } if change.written().contains(&path) => {
                    self.check_contents(scope, path, &[path])?;
                }
                Change::Create { .. }
                | Change::Replace { .. }
                | Change::Delete { .. }
                | Change::RemoveFolder { .. }
                | Change::MakeFolder { .. } => {}
            }
        }
        Ok(())
    }

    /// Whether all that lies in `folder` may be written, at each of the places where the folder is or will be.
    fn check_contents(
        &self,
        scope: &Scope,
        folder: &VaultPath,
        places: &[&VaultPath],
    ) -> Result<(), Refusal> {
        for inside in self.vault.view(scope).contents(folder)? {
            let below = inside.as_str().get(folder.as_str().len() + 1..).unwrap_or_default();
            for place in places {
                let path = place
                    .join(below)
                    .map_err(|error| vault::Error::Path { text: place.to_string(), error })?;
                // What may not be seen is not named either.
                if !scope.may_read(&inside) || (scope.check_write(&path).is_err() && !scope.may_read(&path)) {
                    return Err(Refusal::new(
                        "path_forbidden",
                        format!("`{folder}` holds something that may not be touched"),
                        "move or delete the notes in it one by one, or ask the user",
                    )
                    .with("path", folder)
                    .with("op", "write")
                    .with("subreason", "contents"));
                }
                self.check_path(scope, &path)?;
            }
        }
        Ok(())
    }

    fn check_path(&self, scope: &Scope, path: &VaultPath) -> Result<(), Refusal> {
        scope.check_write(path).map_err(|denial| {
            let allowed = scope.writable();
            let hint = match allowed.as_slice() {
                [] => "nothing may be written in this mode".to_owned(),
                some => format!("writable: {}", some.join(", ")),
            };
            Refusal::new(
                "path_forbidden",
                format!("`{path}` may not be written ({})", denial.subreason()),
                hint,
            )
            .with("path", path)
            .with("op", "write")
            .with("subreason", denial.subreason())
            .with("activeScope", allowed)
        })
    }

    fn grant(&self, task: &Task, rule: Rule, lifetime: Lifetime) -> Result<Grant, Refusal> {
        let holder = match lifetime {
            Lifetime::Task => Some(task.id.clone()),
            Lifetime::Session => Some(task.session.clone()),
            Lifetime::Once | Lifetime::Always => None,
        };
        Ok(Grant { id: self.world.id()?, rule, lifetime, holder, given_ms: self.now_ms(), expires_ms: None })
    }

    fn now_ms(&self) -> i64 {
        self.world.moment().as_millisecond()
    }

    /// The vault's keeper, for doors that check or tidy the store. Its files are changed by `run` alone.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }
}

impl Story<'_> {
    /// The entry of a call that is over.
    fn last_entry(&mut self, outcome: &Outcome) -> Entry {
        let input = std::mem::take(&mut self.input);
        Entry { input, ..self.entry(outcome) }
    }

    fn entry(&self, outcome: &Outcome) -> Entry {
        let ended = match outcome {
            Outcome::Answered(_) => Ended::Answered,
            Outcome::Done { .. } => Ended::Done,
            Outcome::Steered(..) => Ended::Steered,
            Outcome::Shown { .. } => Ended::Shown,
            Outcome::Denied(_) => Ended::Denied,
            Outcome::Refused(refusal)
                if matches!(
                    refusal.reason.as_ref(),
                    "io" | "stale" | "store_damaged" | "timeout" | "cancelled"
                ) =>
            {
                Ended::Failed
            }
            Outcome::Refused(_) => Ended::Refused,
        };
        Entry {
            time: self.road.world.moment().to_string(),
            task: self.task.id.clone(),
            agent: self.task.agent.clone(),
            call: self.key.clone(),
            tool: self.tool.clone(),
            outcome: ended,
            reason: outcome.refusal().map(|refusal| refusal.reason.to_string()),
            approval: self.approval.clone(),
            checkpoint: None,
            paths: self.paths.clone(),
            bytes: self.bytes,
            input: self.input.clone(),
            milliseconds: elapsed(&self.start),
        }
    }
}

/// Which grants count for a question. Where text of others was read, a grant for a whole folder does not cover that
/// something is taken away: a hidden instruction could be behind it, and a person would have to notice the loss.
fn breadth(question: &Question<'_>) -> Breadth {
    let takes_away = |change: &Change| match change {
        Change::Delete { .. } | Change::RemoveFolder { .. } => true,
        Change::Move { trash, .. } => *trash == Trash::Into,
        Change::Create { .. } | Change::Replace { .. } | Change::MakeFolder { .. } => false,
    };
    match question.legs.untrusted && question.changes.iter().any(takes_away) {
        true => Breadth::Exact,
        false => Breadth::Any,
    }
}

/// What step 6 came to.
enum Approved {
    Yes,
    OnlyShow,
    Edited(Value),
}

async fn finish(reads: &mut Vec<tokio::task::JoinHandle<Outcome>>, outcomes: &mut Vec<Outcome>) {
    for read in reads.drain(..) {
        outcomes.push(read.await.unwrap_or_else(|_| {
            Outcome::Refused(Refusal::new(
                "internal",
                "the tool broke down",
                "this is a fault of Verger; please report it",
            ))
        }));
    }
}

fn broken_promise(tool: &dyn AnyTool) -> Refusal {
    let spec = tool.spec();
    Refusal::new(
        "plan_not_allowed",
        format!("`{}` declared that it {}, but planned something else", spec.name, spec.effect.name()),
        "nothing was done; this is a fault of the tool",
    )
}

fn denied(message: &str, hint: &str) -> Refusal {
    Refusal::new("denied", message, hint)
}

fn name(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::Once => "once",
        Lifetime::Task => "for the task",
        Lifetime::Session => "for the session",
        Lifetime::Always => "always",
    }
}

fn total_bytes(changes: &[Change]) -> (u64, u64) {
    changes
        .iter()
        .map(Change::sizes)
        .fold((0, 0), |sum, (before, after)| (sum.0 + before as u64, sum.1 + after as u64))
}

fn elapsed(start: &Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The answer as JSON, for `--json` and `verger tool`.
#[derive(Serialize)]
pub struct OutcomeJson<'o> {
    ok: bool,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'o str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'o Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<&'o str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ChangeJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'o Refusal>,
}

/// A change, told to a program.
#[derive(Serialize)]
struct ChangeJson {
    path: String,
    headline: String,
    bytes_before: usize,
    bytes_after: usize,
    lines_added: usize,
    lines_removed: usize,
}

impl<'o> From<&'o Outcome> for OutcomeJson<'o> {
    fn from(outcome: &'o Outcome) -> OutcomeJson<'o> {
        let (name, changes, checkpoint) = match outcome {
            Outcome::Answered(_) => ("answered", None, None),
            Outcome::Done { changes, checkpoint, .. } => ("done", Some(changes), checkpoint.as_deref()),
            Outcome::Steered(..) => ("steered", None, None),
            Outcome::Shown { changes, .. } => ("shown", Some(changes), None),
            Outcome::Refused(_) => ("refused", None, None),
            Outcome::Denied(_) => ("denied", None, None),
        };
        OutcomeJson {
            ok: outcome.refusal().is_none(),
            outcome: name,
            text: outcome.output().map(|output| output.text.as_str()),
            data: outcome.output().map(|output| &output.data),
            checkpoint,
            changes: changes.map(|changes| changes.iter().map(ChangeJson::from).collect()),
            error: outcome.refusal(),
        }
    }
}

impl From<&Change> for ChangeJson {
    fn from(change: &Change) -> ChangeJson {
        let ((before, after), (added, removed)) = (change.sizes(), change.lines());
        ChangeJson {
            path: change.path().to_string(),
            headline: change.headline(),
            bytes_before: before,
            bytes_after: after,
            lines_added: added,
            lines_removed: removed,
        }
    }
}
