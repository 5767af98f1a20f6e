//! What the steps of a conversation add up to. Pure: the same steps give the same conversation, in this process or the next.

use std::collections::BTreeMap;

use llm::chat::{Message, Part, Role, ToolCall, Usage};
use pipeline::ledger::Legs;
use pipeline::plan::TodoItem;
use pipeline::wrap;

use crate::step::Step;

/// Characters that are kept of what a conversation began with.
const BEGINNING: usize = 1_000;

/// A conversation as it stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    /// Its id.
    pub id: String,
    /// Which agent speaks.
    pub agent: String,
    /// With which model.
    pub model: String,
    /// The first thing that the user said.
    pub began_with: String,
    /// What holds for all of it, besides what every conversation is told.
    pub system: Vec<String>,
    /// What was said, as far as it is still sent.
    pub messages: Vec<Message>,
    /// What is to be done.
    pub todo: Vec<TodoItem>,
    /// Deferred tools that were made callable.
    pub active: Vec<String>,
    /// The legs that stand.
    pub legs: Legs,
    /// What it has cost, children included.
    pub spent: Spent,
    /// The turn that runs.
    pub turn: Option<Turn>,
    /// How many turns there were, this one included.
    pub turns: u32,
    /// How many answers there were.
    pub answers: u32,
    /// How often it was made shorter.
    pub condensed: u32,
    /// The children, by the call that made them and their place in it.
    pub children: BTreeMap<(String, usize), String>,
    /// What went in with the newest request, counted by the provider.
    pub last_input: u64,
}

/// The turn that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The task of its calls.
    pub task: String,
    /// How many answers it had.
    pub rounds: u32,
    /// What it has cost, children included.
    pub spent: Spent,
    /// Mistakes in a row.
    pub mistakes: u32,
    /// Calls of the newest answer that have not ended.
    pub open: Vec<ToolCall>,
    /// Whether the newest answer held calls.
    pub called: bool,
    /// Whether the model was told that the end is near.
    pub warned: bool,
    /// How often a stronger model was asked.
    pub advised: u32,
}

/// What something cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// In tokens.
    pub usage: Usage,
    /// In US dollars, as far as prices are known.
    pub dollars: f64,
    /// Whether a part of it has no known price.
    pub unpriced: bool,
}

impl Spent {
    /// Adds what one answer cost.
    pub fn add(&mut self, usage: &Usage, dollars: Option<f64>) {
        self.usage = self.usage.plus(Usage { dollars: None, ..*usage });
        self.dollars += dollars.unwrap_or_default();
        self.unpriced |= dollars.is_none() && (usage.all_input() > 0 || usage.output > 0);
    }

    /// Tokens in and out.
    pub fn tokens(&self) -> u64 {
        self.usage.all_input() + self.usage.output
    }
}

impl Conversation {
    /// An empty one.
    pub fn new(id: &str, agent: &str, model: &str) -> Conversation {
        Conversation { id: id.into(), agent: agent.into(), model: model.into(), ..Conversation::default() }
    }

    /// Takes a step.
    pub fn take(&mut self, step: &Step) {
        match step {
            Step::Seeded { messages, system, legs } => {
                self.messages.extend(messages.iter().cloned());
                self.system.clone_from(system);
                self.legs = union(self.legs, *legs);
            }
            Step::Asked { task, parts } => self.asked(task, parts),
            Step::Added { text } | Step::Told { text } => {
                let part = Part::Text { text: text.clone() };
                self.user(part);
                if let Some(turn) = &mut self.turn {
                    turn.warned |=
                        matches!(step, Step::Told { text } if text.starts_with(crate::prompt::WRAP_UP));
                }
            }
            Step::Answered { message, usage, dollars, .. } => self.answered(message, usage, *dollars),
            Step::Ended { id, name, text, failed, legs, .. } => {
                self.legs = union(self.legs, *legs);
                self.ended(id, name, text, *failed);
            }
            Step::Condensed { summary, messages, usage, dollars, .. } => {
                self.shortened(summary, *messages);
                self.spend(usage, *dollars);
            }
            Step::Todo { items } => self.todo.clone_from(items),
            Step::Agent { slug } => self.agent.clone_from(slug),
            Step::Model { name } => self.model.clone_from(name),
            Step::Activated { tools } => {
                self.active.extend(tools.iter().cloned());
                self.active.sort();
                self.active.dedup();
            }
            Step::Child { call, index, session, .. } => {
                self.children.insert((call.clone(), *index), session.clone());
            }
            Step::Spent { usage, dollars, .. } => self.spend(usage, *dollars),
            Step::Over { .. } => self.turn = None,
        }
    }

    /// The messages as a model may be sent them: no two of one side after another, every call with its answer, in the order
    /// of the calls, and no answer without its call.
    pub fn to_send(&self) -> Vec<Message> {
        let mut sent: Vec<Message> = Vec::with_capacity(self.messages.len());
        let mut wanted: Vec<ToolCall> = Vec::new();
        for message in &self.messages {
            let mut message = message.clone();
            match message.role {
                Role::Assistant => {
                    close(&mut sent, &mut wanted);
                    wanted = message.calls().cloned().collect();
                }
                Role::User => message.parts = paired(&mut wanted, message.parts),
            }
            match sent.last_mut().filter(|last| last.role == message.role) {
                Some(last) => last.parts.extend(message.parts),
                None => sent.push(message),
            }
        }
        close(&mut sent, &mut wanted);
        sent.retain(|message| !message.parts.is_empty());
        sent
    }

    fn asked(&mut self, task: &str, parts: &[Part]) {
        // A person may bring along notes, or what somebody else wrote; the door has wrapped it. It counts as if it was read.
        let brought = |holds: fn(&str) -> bool| {
            parts.iter().any(|part| matches!(part, Part::Text { text } if holds(text)))
        };
        let notes = brought(wrap::holds_notes);
        self.legs.private |= notes;
        self.legs.untrusted |= notes || brought(wrap::holds_outside);
        self.turns += 1;
        self.turn = Some(Turn {
            task: task.to_owned(),
            rounds: 0,
            spent: Spent::default(),
            mistakes: 0,
            open: Vec::new(),
            called: false,
            warned: false,
            advised: 0,
        });
        let message = Message { role: Role::User, parts: parts.to_vec() };
        if self.began_with.is_empty() {
            self.began_with = message.text().chars().take(BEGINNING).collect();
        }
        self.messages.push(message);
    }

    fn answered(&mut self, message: &Message, usage: &Usage, dollars: Option<f64>) {
        self.answers += 1;
        self.last_input = usage.all_input() + usage.output;
        self.spend(usage, dollars);
        if let Some(turn) = &mut self.turn {
            turn.rounds += 1;
            turn.open = message.calls().cloned().collect();
            turn.called = !turn.open.is_empty();
        }
        self.messages.push(message.clone());
    }

    fn ended(&mut self, id: &str, name: &str, text: &str, failed: bool) {
        if let Some(turn) = &mut self.turn {
            if let Some(at) = turn.open.iter().position(|call| call.id == id) {
                turn.open.remove(at);
            }
            turn.advised += u32::from(name == "consult_flagship" && !failed);
            turn.mistakes = if failed { turn.mistakes + 1 } else { 0 };
        }
        let (id, name, text) = (id.to_owned(), name.to_owned(), text.to_owned());
        self.user(Part::Result { id, name, text, failed });
    }

    fn spend(&mut self, usage: &Usage, dollars: Option<f64>) {
        self.spent.add(usage, dollars);
        if let Some(turn) = &mut self.turn {
            turn.spent.add(usage, dollars);
        }
    }

    fn user(&mut self, part: Part) {
        match self.messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => last.parts.push(part),
            None => self.messages.push(Message { role: Role::User, parts: vec![part] }),
        }
    }

    fn shortened(&mut self, summary: &str, messages: usize) {
        self.condensed += 1;
        let messages = messages.min(self.messages.len());
        let tail = self.messages.split_off(messages);
        self.messages = vec![Message::user(summary)];
        self.messages.extend(tail);
        // The provider's count was for what is gone.
        self.last_input = 0;
    }
}

/// The answers in the order of their calls, then everything else. An answer to nothing is dropped.
fn paired(wanted: &mut Vec<ToolCall>, parts: Vec<Part>) -> Vec<Part> {
    let (mut results, others): (Vec<Part>, Vec<Part>) =
        parts.into_iter().partition(|part| matches!(part, Part::Result { .. }));
    let mut ordered = Vec::with_capacity(results.len() + others.len());
    wanted.retain(|call| {
        let found = results.iter().position(|part| matches!(part, Part::Result { id, .. } if *id == call.id));
        found.map(|at| ordered.push(results.remove(at))).is_none()
    });
    ordered.extend(others);
    ordered
}

/// Calls that never had an answer get one that says so: a model that is shown a call without an answer is lost.
fn close(sent: &mut Vec<Message>, wanted: &mut Vec<ToolCall>) {
    if wanted.is_empty() {
        return;
    }
    let parts = wanted.drain(..).map(|call| Part::Result {
        id: call.id,
        name: call.name,
        text: "This call was not made: the turn ended before it.".to_owned(),
        failed: true,
    });
    let parts: Vec<Part> = parts.collect();
    match sent.last_mut().filter(|last| last.role == Role::User) {
        // Answers come before whatever else is said.
        Some(last) => {
            let at = last.parts.iter().take_while(|part| matches!(part, Part::Result { .. })).count();
            last.parts.splice(at..at, parts);
        }
        None => sent.push(Message { role: Role::User, parts }),
    }
}

fn union(a: Legs, b: Legs) -> Legs {
    Legs { private: a.private || b.private, untrusted: a.untrusted || b.untrusted, left: a.left || b.left }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::chat::CallInput;
    use serde_json::json;

    fn call(id: &str) -> Part {
        let call = ToolCall {
            id: id.into(),
            name: "read_file".into(),
            input: CallInput::Object(json!({})),
            proof: None,
        };
        Part::Call { call }
    }

    fn answered(parts: Vec<Part>) -> Step {
        let message = Message { role: Role::Assistant, parts };
        Step::Answered { message, model: "m".into(), usage: Usage::default(), dollars: None }
    }

    fn ended(id: &str) -> Step {
        let (id, name, text) = (id.to_owned(), "read_file".to_owned(), format!("of {id}"));
        Step::Ended {
            id,
            name,
            text,
            failed: false,
            checkpoint: None,
            legs: Legs::default(),
            ending: crate::step::Ending::default(),
        }
    }

    fn asked(text: &str) -> Step {
        Step::Asked { task: "t".into(), parts: vec![Part::Text { text: text.into() }] }
    }

    fn shape(messages: &[Message]) -> String {
        let part = |part: &Part| match part {
            Part::Text { text } => text.clone(),
            Part::Call { call } => format!("call {}", call.id),
            Part::Result { id, failed, .. } => format!("{}{id}", if *failed { "!" } else { "=" }),
            other => format!("{other:?}"),
        };
        let line = |message: &Message| {
            let who = if message.role == Role::User { "user" } else { "model" };
            format!("{who}: {}", message.parts.iter().map(part).collect::<Vec<_>>().join(", "))
        };
        messages.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn of(steps: &[Step]) -> Conversation {
        let mut conversation = Conversation::new("c", "agent", "m");
        steps.iter().for_each(|step| conversation.take(step));
        conversation
    }

    #[test]
    fn answers_stand_in_the_order_of_their_calls_in_one_message() {
        let conversation = of(&[
            asked("hi"),
            answered(vec![call("1"), call("2")]),
            ended("2"),
            Step::Added { text: "faster".into() },
            ended("1"),
        ]);
        assert_eq!(shape(&conversation.to_send()), "user: hi\nmodel: call 1, call 2\nuser: =1, =2, faster");
        assert!(conversation.turn.is_some_and(|turn| turn.open.is_empty() && turn.called));
    }

    #[test]
    fn a_call_that_was_never_made_is_answered_before_the_next_question() {
        let over = Step::Over { how: crate::step::Over::Stopped };
        let conversation =
            of(&[asked("hi"), answered(vec![call("1"), call("2")]), ended("1"), over, asked("and now?")]);
        assert_eq!(shape(&conversation.to_send()), "user: hi\nmodel: call 1, call 2\nuser: =1, !2, and now?");
    }

    #[test]
    fn a_summary_takes_the_place_of_the_beginning_and_what_answered_it_is_dropped() {
        let condensed = Step::Condensed {
            summary: "SUMMARY".into(),
            messages: 2,
            before: 9,
            after: 1,
            usage: Usage::default(),
            dollars: None,
        };
        let steps = [asked("hi"), answered(vec![call("1")]), ended("1"), answered(vec![]), condensed];
        let conversation = of(&steps);
        assert_eq!(shape(&conversation.to_send()), "user: SUMMARY");
        assert_eq!(conversation.condensed, 1);
    }

    #[test]
    fn legs_are_never_taken_away() {
        let legs = |private| Legs { private, untrusted: private, left: false };
        let step = |private| match ended("1") {
            Step::Ended { id, name, text, failed, checkpoint, .. } => Step::Ended {
                id,
                name,
                text,
                failed,
                checkpoint,
                legs: legs(private),
                ending: crate::step::Ending::default(),
            },
            other => other,
        };
        let conversation = of(&[asked("hi"), answered(vec![call("1")]), step(true), step(false)]);
        assert!(conversation.legs.private && conversation.legs.untrusted);
    }
}
