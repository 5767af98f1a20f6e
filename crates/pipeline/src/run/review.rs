//! Between plan and answer: a person who wants it so sees of which notes an answer tells, and unticks what stays private.
//!
//! What is unticked is hidden from the whole conversation, and the call is planned again from the start under the narrower
//! view: no row, no count and no text of it can be in the answer, now or later. Without a review nothing here is reached.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;
use vault::VaultPath;

use super::{Call, Road, Story, denied, name};
use crate::approve::{Asker, Decision, Lifetime, Question, Rule};
use crate::grants::{Breadth, Who};
use crate::kept::{Review, Sharing};
use crate::plan::{Output, Source};
use crate::refusal::Refusal;
use crate::task::Task;
use crate::tells::{ResultRow, Tells};
use crate::tool::{Group, Spec};

/// What a review remembers while one call is planned again and again.
pub(super) struct Reviewing<'a> {
    /// Whoever is asked.
    asker: &'a dyn Asker,
    /// How many notes were hidden when the view was made.
    hidden: usize,
    /// Notes that the person has ticked for this call.
    ticked: BTreeSet<VaultPath>,
}

/// What a review came to.
pub(super) enum Reviewed {
    /// The answer may be given.
    Given,
    /// It must be planned once more: the view has become narrower.
    Again,
    /// It must be planned with this input instead.
    Edited(Value),
}

/// Of what a person is asked.
struct Subject<'o> {
    sharing: Sharing,
    reads: Vec<VaultPath>,
    results: Cow<'o, [ResultRow]>,
}

impl<'a> Reviewing<'a> {
    pub(super) fn new(asker: &'a dyn Asker) -> Reviewing<'a> {
        Reviewing { asker, hidden: 0, ticked: BTreeSet::new() }
    }

    /// Before a view is made: what is hidden later is not hidden in it.
    pub(super) fn begin(&mut self, task: &Task) {
        self.hidden = task.kept.count();
        if self.hidden > 0 {
            task.results.forget_before(self.hidden);
        }
    }

    fn is_stale(&self, task: &Task) -> bool {
        task.kept.count() > self.hidden
    }
}

impl<'o> Subject<'o> {
    /// What of an answer a person wants to see first, if anything.
    fn of(review: Review, spec: &Spec, output: &'o Output) -> Option<Subject<'o>> {
        let nothing = || Cow::Borrowed(&[][..]);
        let reads = |reads: Vec<VaultPath>| {
            (!reads.is_empty()).then(|| Subject { sharing: Sharing::Reads, reads, results: nothing() })
        };
        match &output.tells {
            Tells::Nothing => None,
            Tells::Notes(paths) if review.reads => reads(paths.clone()),
            Tells::Notes(_) => None,
            Tells::Rows(rows) if review.results => (!rows.is_empty()).then(|| Subject {
                sharing: Sharing::Results,
                reads: Vec::new(),
                results: Cow::Borrowed(rows),
            }),
            // A line that was found is text of a note, too.
            Tells::Rows(rows) => {
                let told = rows.iter().filter(|row| !row.excerpt.is_empty());
                reads(told.map(|row| row.path.clone()).collect())
            }
            Tells::Unsaid => {
                let notes = matches!(output.source, Some(Source::Vault(_)))
                    || matches!(spec.group, Group::Read | Group::Vault);
                notes.then(|| Subject { sharing: Sharing::Unsaid, reads: Vec::new(), results: nothing() })
            }
        }
    }

    fn paths(&self) -> impl Iterator<Item = &VaultPath> {
        self.reads.iter().chain(self.results.iter().map(|row| &row.path))
    }

    /// Without what the person has ticked already.
    fn without(mut self, ticked: &BTreeSet<VaultPath>) -> Subject<'o> {
        if !ticked.is_empty() {
            self.reads.retain(|path| !ticked.contains(path));
            self.results.to_mut().retain(|row| !ticked.contains(&row.path));
        }
        self
    }

    fn summary(&self, tool: &str) -> String {
        match (self.sharing, self.reads.len(), self.results.len()) {
            (Sharing::Reads, 1, _) => "hand the text of this note to the model".to_owned(),
            (Sharing::Reads, count, _) => format!("hand the text of these {count} notes to the model"),
            (Sharing::Results, _, 1) => "share this result with the model".to_owned(),
            (Sharing::Results, _, count) => format!("share these {count} results with the model"),
            (Sharing::Unsaid, ..) => {
                format!("hand what `{tool}` answers to the model; it may hold text of any note")
            }
        }
    }

    /// A rule of its own: a yes to reading is none to what else the tool does.
    fn rule(&self, tool: &str, paths: &[&VaultPath]) -> Rule {
        let what = match self.sharing {
            Sharing::Reads => "reading by",
            Sharing::Results => "results of",
            Sharing::Unsaid => "answers of",
        };
        Rule::covering(&format!("{what} {tool}"), paths, None)
    }
}

impl Road {
    /// Asks the person about an answer, if they want to be asked.
    pub(super) async fn review(
        &self,
        task: &Task,
        call: &Call,
        spec: &Spec,
        output: &Output,
        reviewing: &mut Reviewing<'_>,
        story: &mut Story<'_>,
    ) -> Result<Reviewed, Refusal> {
        if !task.review.is_on() {
            return Ok(Reviewed::Given);
        }
        let subject = Subject::of(task.review, spec, output);
        let _alone = task.kept.turn.lock().await;
        call.stop.check()?;
        // While this waited for its turn, something of what it tells may have been kept private.
        if reviewing.is_stale(task) {
            return Ok(Reviewed::Again);
        }
        let Some(subject) = subject else { return Ok(Reviewed::Given) };
        story.paths = subject.paths().map(ToString::to_string).collect();
        let subject = subject.without(&reviewing.ticked);
        let paths: Vec<&VaultPath> = subject.paths().collect();
        if paths.is_empty() && subject.sharing != Sharing::Unsaid {
            return Ok(Reviewed::Given);
        }
        let rule = subject.rule(&call.tool, &paths);
        let who = Who { task: &task.id, session: &task.session, now_ms: self.now_ms() };
        if let Some(grant) = self.grants.covering(&rule.tool, &paths, None, Breadth::Any, &who) {
            story.approval = Some(format!("grant {}", grant.id));
            return Ok(Reviewed::Given);
        }
        if task.kept.is_spared(&task.id, subject.sharing) {
            story.approval = Some("for the task, before".to_owned());
            return Ok(Reviewed::Given);
        }
        let question = Question {
            tool: &call.tool,
            input: &call.input,
            summary: &subject.summary(&call.tool),
            changes: &[],
            reads: &subject.reads,
            results: &subject.results,
            target: None,
            warning: None,
            legs: task.ledger.legs(),
            rule,
        };
        let decision = reviewing.asker.ask(&question).await;
        call.stop.check()?;
        self.take(task, decision, question, &paths, reviewing, story)
    }

    /// Does what the person said.
    fn take(
        &self,
        task: &Task,
        decision: Decision,
        question: Question<'_>,
        paths: &[&VaultPath],
        reviewing: &mut Reviewing<'_>,
        story: &mut Story<'_>,
    ) -> Result<Reviewed, Refusal> {
        let by = reviewing.asker.name();
        match decision {
            Decision::Yes(lifetime) => {
                story.approval = Some(format!("{} by {by}", name(lifetime)));
                match lifetime {
                    Lifetime::Once => {}
                    Lifetime::Task => task.kept.spare(&task.id, sharing(&question)),
                    Lifetime::Session | Lifetime::Always => {
                        self.grants.add(self.grant(task, question.rule, lifetime)?)?;
                    }
                }
                Ok(Reviewed::Given)
            }
            Decision::Edited(input) => {
                story.approval = Some(format!("edited by {by}"));
                // What was ticked was ticked for another answer.
                reviewing.ticked.clear();
                Ok(Reviewed::Edited(input))
            }
            Decision::Only(only) if !paths.is_empty() => {
                let (ticked, kept): (Vec<&VaultPath>, Vec<&VaultPath>) =
                    paths.iter().partition(|path| only.contains(path));
                story.approval = Some(format!("{} of {} by {by}", ticked.len(), paths.len()));
                task.kept.keep(kept.iter().map(|path| (*path).clone()));
                if ticked.is_empty() {
                    story.paths.clear();
                    return Err(denied(
                        "the person kept these notes private",
                        "go on without them, or ask the user what they want instead",
                    ));
                }
                reviewing.ticked.extend(ticked.into_iter().cloned());
                Ok(if kept.is_empty() { Reviewed::Given } else { Reviewed::Again })
            }
            Decision::No { .. } | Decision::Only(_) => {
                let reason = match decision {
                    Decision::No { reason } => reason,
                    _ => None,
                };
                story.approval = Some(format!("denied by {by}"));
                story.paths.clear();
                let reason = reason.unwrap_or_else(|| "the user said no".to_owned());
                Err(denied(
                    &format!("what `{}` found was not shared: {reason}", question.tool),
                    "go on without it, or ask the user what they want instead",
                ))
            }
        }
    }
}

fn sharing(question: &Question<'_>) -> Sharing {
    match (question.reads, question.results) {
        ([], []) => Sharing::Unsaid,
        ([], _) => Sharing::Results,
        _ => Sharing::Reads,
    }
}
