//! Calls that come in pieces, put together.
//!
//! Used by the wire formats in which a call's input is streamed. A call is known by the provider's own mark (`key`) while
//! it is open; to the rest of the program its place among the calls of the answer is enough.

use serde_json::Value;

use super::ids::Ids;
use super::{CallInput, Event, Proof, Request, ToolCall};
use crate::Error;

/// No answer has more calls; a server that sends more is broken or means harm.
const MOST: usize = 512;

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    ids: Ids,
    all: Vec<Piecewise>,
}

#[derive(Debug)]
struct Piecewise {
    key: String,
    /// The id as the provider gave it, if it did.
    theirs: String,
    id: String,
    name: String,
    text: String,
    proof: Option<Proof>,
    state: State,
}

#[derive(Debug, PartialEq)]
enum State {
    /// Its name has not come yet.
    Nameless,
    Open,
    Ended,
}

impl Calls {
    pub(super) fn of(request: &Request) -> Calls {
        Calls { ids: Ids::of(request), all: Vec::new() }
    }

    /// Whether any call came.
    pub(super) fn any(&self) -> bool {
        !self.all.is_empty()
    }

    /// An error if there are more than any model means.
    pub(super) fn checked(&self, service: &str) -> Result<(), Error> {
        if self.all.len() <= MOST {
            return Ok(());
        }
        let message = format!("more than {MOST} calls at once");
        Err(Error::Answer { service: service.to_owned(), message })
    }

    /// Whether there is an open call with this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    /// The key of the call that came last.
    pub(super) fn last(&self) -> Option<&str> {
        self.all.last().map(|call| call.key.as_str())
    }

    /// The key of the call to which the provider gave this id.
    pub(super) fn by_id(&self, id: &str) -> Option<&str> {
        let known = |call: &&Piecewise| call.theirs == id && call.state != State::Ended;
        self.all.iter().rev().find(known).map(|call| call.key.as_str())
    }

    /// The provider's id of an open call, and its name.
    pub(super) fn known(&self, key: &str) -> Option<(&str, &str)> {
        self.place(key).map(|place| (self.all[place].theirs.as_str(), self.all[place].name.as_str()))
    }

    /// Whether nothing of an open call's input has come.
    pub(super) fn is_empty(&self, key: &str) -> bool {
        self.place(key).is_none_or(|place| self.all[place].text.is_empty())
    }

    /// A call begins. Without a name it is only told when the name comes.
    pub(super) fn start(&mut self, key: &str, id: &str, name: &str, out: &mut Vec<Event>) {
        self.all.push(Piecewise {
            key: key.to_owned(),
            theirs: id.to_owned(),
            id: self.ids.take(id),
            name: String::new(),
            text: String::new(),
            proof: None,
            state: State::Nameless,
        });
        self.name(key, name, out);
    }

    /// The name of a call, if it had none.
    pub(super) fn name(&mut self, key: &str, name: &str, out: &mut Vec<Event>) {
        let Some(index) = self.place(key) else { return };
        let call = &mut self.all[index];
        if call.state == State::Nameless && !name.is_empty() {
            name.clone_into(&mut call.name);
            call.told(index, out);
        }
    }

    /// What goes back with a call.
    pub(super) fn proof(&mut self, key: &str, proof: Proof) {
        if let Some(index) = self.place(key) {
            self.all[index].proof = Some(proof);
        }
    }

    /// More of a call's input.
    pub(super) fn more(&mut self, key: &str, text: &str, out: &mut Vec<Event>) {
        let Some(index) = self.place(key).filter(|_| !text.is_empty()) else { return };
        let call = &mut self.all[index];
        call.text.push_str(text);
        if call.state == State::Open {
            out.push(Event::CallInput { index, text: text.to_owned() });
        }
    }

    /// A call is complete.
    pub(super) fn end(&mut self, key: &str, out: &mut Vec<Event>) {
        if let Some(index) = self.place(key) {
            self.end_at(index, out);
        }
    }

    /// All that are open are complete.
    pub(super) fn end_all(&mut self, out: &mut Vec<Event>) {
        for index in 0..self.all.len() {
            if self.all[index].state != State::Ended {
                self.end_at(index, out);
            }
        }
    }

    fn end_at(&mut self, index: usize, out: &mut Vec<Event>) {
        let call = &mut self.all[index];
        if call.state == State::Nameless {
            call.told(index, out);
        }
        call.state = State::Ended;
        let input = CallInput::parse(&call.text);
        let ended =
            ToolCall { id: call.id.clone(), name: call.name.clone(), input, proof: call.proof.clone() };
        out.push(Event::CallEnded { index, call: ended });
    }

    fn place(&self, key: &str) -> Option<usize> {
        self.all.iter().rposition(|call| call.key == key && call.state != State::Ended)
    }
}

impl Piecewise {
    fn told(&mut self, index: usize, out: &mut Vec<Event>) {
        self.state = State::Open;
        out.push(Event::CallStarted { index, id: self.id.clone(), name: self.name.clone() });
        if !self.text.is_empty() {
            out.push(Event::CallInput { index, text: self.text.clone() });
        }
    }
}

/// The text of an input that came as a value: providers send it as text, some servers as an object.
pub(super) fn input_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
