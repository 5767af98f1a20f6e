//! Making the calls of one answer: neighbouring reads together, everything else in its turn, each written down as it ends.

use std::sync::Arc;
use std::time::Instant;

use llm::chat::{CallInput, ToolCall};
use pipeline::{Call, Effect, Fate, Outcome, Output, Refusal, Task, wrap};
use serde_json::Value;

use crate::door::{Host, News};
use crate::halt::Halt;
use crate::mind::Talk;
use crate::purse::Purse;
use crate::steer;
use crate::step::{Ending, Over, Step};
use crate::trouble::Trouble;

/// Makes the calls that are open. `Some`: the turn is over.
pub(crate) async fn make(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
) -> Result<Option<Over>, Trouble> {
    let open = talk.conversation.turn.as_ref().map(|turn| turn.open.clone()).unwrap_or_default();
    let mut waiting = numbered(talk, open).into_iter().peekable();
    let task = Arc::new(talk.task());
    while let Some(first) = waiting.next() {
        if halt.is_stopped() {
            return Ok(Some(Over::Stopped));
        }
        let kind = kind(talk, &task, &first.call);
        let mut batch = vec![first];
        while matches!(kind, Kind::Read | Kind::Steer)
            && let Some(next) = waiting.next_if(|next| self::kind(talk, &task, &next.call) == kind)
        {
            batch.push(next);
        }
        match kind {
            Kind::Broken => broken(talk, host, batch).await?,
            Kind::Read => read(talk, host, purse, halt, &task, batch).await?,
            Kind::Effect => effect(talk, host, purse, halt, &task, batch).await?,
            Kind::Steer => {
                if let Some(over) = steer::all(talk, host, purse, halt, &task, batch).await? {
                    return Ok(Some(over));
                }
                // Another agent, other rights.
                if talk.persona.slug != task.agent {
                    talk.resumed = false;
                    return Ok(None);
                }
            }
        }
    }
    talk.resumed = false;
    Ok(None)
}

/// A call with the name under which the road knows it.
pub(crate) struct Numbered {
    pub(crate) call: ToolCall,
    /// Which answer of the conversation, which call in it: the same after a crash.
    pub(crate) key: String,
}

impl Numbered {
    pub(crate) fn input(&self) -> Value {
        match &self.call.input {
            CallInput::Object(value) => value.clone(),
            CallInput::Broken(_) => Value::Null,
        }
    }
}

/// Names the open calls by their place in the answer, whatever ids the provider gave them.
fn numbered(talk: &Talk, open: Vec<ToolCall>) -> Vec<Numbered> {
    let conversation = &talk.conversation;
    let answer = conversation.messages.iter().rev().find(|message| message.calls().next().is_some());
    let all: Vec<&ToolCall> = answer.map(|message| message.calls().collect()).unwrap_or_default();
    let done = all.len().saturating_sub(open.len());
    let mut used = vec![false; all.len()];
    open.into_iter()
        .map(|call| {
            let place = (0..all.len()).find(|at| !used[*at] && *all[*at] == call).unwrap_or(done);
            if let Some(used) = used.get_mut(place) {
                *used = true;
            }
            Numbered { call, key: format!("{}.{place}", conversation.answers) }
        })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Broken,
    Read,
    Effect,
    Steer,
}

fn kind(talk: &Talk, task: &Task, call: &ToolCall) -> Kind {
    if matches!(call.input, CallInput::Broken(_)) {
        return Kind::Broken;
    }
    // An unknown tool goes down the road as well: its refusal is written down there.
    match talk.mind.registry().find(&call.name, &task.rights).map(|tool| tool.spec().effect) {
        Ok(Effect::Answers) => Kind::Read,
        Ok(Effect::Steers) => Kind::Steer,
        Ok(Effect::Edits | Effect::Acts) | Err(_) => Kind::Effect,
    }
}

/// An input that is no JSON is never taken for an empty one.
async fn broken(talk: &mut Talk, host: &Host, batch: Vec<Numbered>) -> Result<(), Trouble> {
    for one in batch {
        let CallInput::Broken(raw) = &one.call.input else { continue };
        let start: String = raw.chars().take(200).collect();
        let text = format!(
            "input_invalid: the input of `{}` is not a JSON object, so the call was not made. It began: {start}. Send the whole \
             input as one JSON object; if it was too long, do the work in smaller steps.",
            one.call.name
        );
        let told = Told { text, failed: true, outcome: "refused", checkpoint: None, changed: Vec::new() };
        end(talk, host, &one, told, 0).await?;
    }
    Ok(())
}

/// Reads run together and are written down together.
async fn read(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
    task: &Arc<Task>,
    batch: Vec<Numbered>,
) -> Result<(), Trouble> {
    batch.iter().for_each(|one| began(host, one));
    let start = Instant::now();
    let calls = batch.iter().map(|one| call(one, halt)).collect();
    let outcomes = talk.mind.road.run_all(task, calls, host.asker(purse)).await;
    let took = milliseconds(start);
    let mut steps = Vec::with_capacity(batch.len());
    for (one, outcome) in batch.iter().zip(&outcomes) {
        let told = Told::of(outcome, task, talk.refusals.about(&one.call.name));
        steps.push(told.step(one, talk, took));
        told.show(host, one, took);
    }
    talk.record(steps).await
}

/// What has an effect is made alone, and not a second time after a crash.
async fn effect(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
    task: &Arc<Task>,
    batch: Vec<Numbered>,
) -> Result<(), Trouble> {
    for one in batch {
        began(host, &one);
        if talk.resumed
            && let Some(told) = already(talk, task, &one)?
        {
            end(talk, host, &one, told, 0).await?;
            continue;
        }
        let start = Instant::now();
        let asker = host.asker(purse);
        let outcome = talk.mind.road.run(task, call(&one, halt), &*asker).await;
        let told = Told::of(&outcome, task, talk.refusals.about(&one.call.name));
        end(talk, host, &one, told, milliseconds(start)).await?;
    }
    Ok(())
}

/// What became of a call that an earlier process may have made.
fn already(talk: &Talk, task: &Task, one: &Numbered) -> Result<Option<Told>, Trouble> {
    let told = |text: String, outcome, checkpoint| Told {
        text,
        failed: false,
        outcome,
        checkpoint,
        changed: Vec::new(),
    };
    Ok(match talk.mind.road.fate(&task.id, &one.key)? {
        Fate::Changed { checkpoint } => {
            let text = format!(
                "`{}` was carried out before Verger was interrupted (checkpoint {checkpoint}). It was not done again.",
                one.call.name
            );
            Some(told(text, "done", Some(checkpoint)))
        }
        Fate::Begun => {
            let text = format!(
                "`{}` was begun before Verger was interrupted, and it is not known how far it came. It was not done again: look \
                 at what it should have done, or ask the user.",
                one.call.name
            );
            Some(told(text, "done", None))
        }
        Fate::Ended(pipeline::audit::Ended::Done) => {
            let text = format!(
                "`{}` was carried out before Verger was interrupted. It was not done again; its answer is lost.",
                one.call.name
            );
            Some(told(text, "done", None))
        }
        Fate::Ended(_) | Fate::Nothing => None,
    })
}

pub(crate) fn call(one: &Numbered, halt: &Halt) -> Call {
    Call::new(one.call.name.clone(), one.input()).named(one.key.clone()).unless(halt.for_road())
}

pub(crate) fn began(host: &Host, one: &Numbered) {
    let (id, name) = (one.call.id.clone(), one.call.name.clone());
    host.show(News::CallBegan { id, name, input: one.input() });
}

pub(crate) async fn end(
    talk: &mut Talk,
    host: &Host,
    one: &Numbered,
    told: Told,
    took: u64,
) -> Result<(), Trouble> {
    let step = told.step(one, talk, took);
    talk.record(vec![step]).await?;
    told.show(host, one, took);
    Ok(())
}

/// How a model is told that a call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refusals {
    /// In words: the reason, what is wrong, what to do.
    #[default]
    Words,
    /// As an object with `error` (in the words that chats in notes have always used), `code`, `message` and `hint`.
    Object,
}

impl Refusals {
    /// How refusals of this tool are told.
    pub(crate) fn about(self, tool: &str) -> impl Fn(&Refusal) -> String {
        move |refusal| self.text(refusal, tool)
    }

    fn text(self, refusal: &Refusal, tool: &str) -> String {
        if self == Refusals::Words {
            return refusal.to_string();
        }
        let error = match refusal.reason.as_ref() {
            "denied" => "User cancelled tool execution".to_owned(),
            "tool_unknown" => format!("Unknown tool: {tool}"),
            _ => refusal.message.clone(),
        };
        serde_json::json!({
            "error": error, "code": refusal.reason, "message": refusal.message, "hint": refusal.hint,
        })
        .to_string()
    }
}

/// What the model is told of a call.
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) failed: bool,
    pub(crate) outcome: &'static str,
    pub(crate) checkpoint: Option<String>,
    pub(crate) changed: Vec<String>,
}

impl Told {
    /// An answer of the loop itself.
    pub(crate) fn answer(text: impl Into<String>) -> Told {
        let text = text.into();
        Told { text, failed: false, outcome: "steered", checkpoint: None, changed: Vec::new() }
    }

    /// A refusal of the loop itself.
    pub(crate) fn refusal(refusal: &Refusal) -> Told {
        Told {
            text: refusal.to_string(),
            failed: true,
            outcome: "refused",
            checkpoint: None,
            changed: Vec::new(),
        }
    }

    /// What the road says.
    pub(crate) fn of(outcome: &Outcome, task: &Task, refused: impl Fn(&Refusal) -> String) -> Told {
        match outcome {
            Outcome::Answered(output) | Outcome::Steered(_, output) => {
                Told { outcome: "answered", ..Told::answer(present(output, task)) }
            }
            Outcome::Done { output, changes, checkpoint } => Told {
                text: present(output, task),
                failed: false,
                outcome: "done",
                checkpoint: checkpoint.clone(),
                changed: changes.iter().map(|change| change.path().to_string()).collect(),
            },
            Outcome::Shown { summary, .. } => {
                Told { outcome: "shown", ..Told::answer(format!("Would: {summary}")) }
            }
            Outcome::Refused(refusal) => Told { text: refused(refusal), ..Told::refusal(refusal) },
            Outcome::Denied(refusal) => {
                Told { outcome: "denied", text: refused(refusal), ..Told::refusal(refusal) }
            }
        }
    }

    fn step(&self, one: &Numbered, talk: &Talk, milliseconds: u64) -> Step {
        let changed = self.changed.iter().take(Ending::MOST).cloned().collect();
        Step::Ended {
            id: one.call.id.clone(),
            name: one.call.name.clone(),
            text: self.text.clone(),
            failed: self.failed,
            checkpoint: self.checkpoint.clone(),
            legs: talk.legs(),
            ending: Ending { outcome: self.outcome.to_owned(), changed, milliseconds },
        }
    }

    fn show(&self, host: &Host, one: &Numbered, milliseconds: u64) {
        host.show(News::CallEnded {
            id: one.call.id.clone(),
            name: one.call.name.clone(),
            outcome: self.outcome,
            text: self.text.clone(),
            failed: self.failed,
            checkpoint: self.checkpoint.clone(),
            changed: self.changed.clone(),
            milliseconds,
        });
    }
}

/// The answer as a model sees it: wrapped where it is not Verger's, and its first page where it is long.
pub(crate) fn present(output: &Output, task: &Task) -> String {
    let text = task.results.present(&output.text);
    wrap::for_model(&Output { text, source: output.source.clone(), ..Output::default() })
}

fn milliseconds(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
