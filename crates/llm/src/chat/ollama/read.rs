//! Reads the answers of Ollama's own format.

use serde_json::{Value, json};

use super::DIALECT;
use crate::Error;
use crate::chat::calls::{Calls, input_text};
use crate::chat::fault;
use crate::chat::frames::Frame;
use crate::chat::wire::{Flow, Reader, number, text};
use crate::chat::{Event, Proof, Request, StopReason, Usage};

/// Reads one answer.
pub(in crate::chat) struct Reading {
    service: String,
    calls: Calls,
    started: bool,
    thinking: bool,
    count: usize,
}

impl Reading {
    pub(in crate::chat) fn new(service: String, request: &Request) -> Reading {
        Reading { service, calls: Calls::of(request), started: false, thinking: false, count: 0 }
    }

    fn line(&mut self, line: &Value, out: &mut Vec<Event>) -> Result<Flow, Error> {
        if let Some(error) = fault::inside(&self.service, line) {
            return Err(error);
        }
        if !std::mem::replace(&mut self.started, true) {
            let model = Some(text(line, "/model").to_owned()).filter(|model| !model.is_empty());
            out.push(Event::Started { model });
        }
        let thought = text(line, "/message/thinking");
        if !thought.is_empty() {
            self.thinking = true;
            out.push(Event::Thinking(thought.to_owned()));
        }
        let said = text(line, "/message/content");
        if !said.is_empty() {
            self.end_thought(out);
            out.push(Event::Text(said.to_owned()));
        }
        for call in line.pointer("/message/tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.end_thought(out);
            self.call(call, out);
            self.calls.checked(&self.service)?;
        }
        if line["done"] != true {
            return Ok(Flow::More);
        }
        self.end_thought(out);
        self.count(line, out);
        out.push(Event::Stopped(match text(line, "/done_reason") {
            "" | "stop" => StopReason::End,
            "length" => StopReason::MaxTokens,
            other => StopReason::Other(other.to_owned()),
        }));
        Ok(Flow::Done)
    }

    /// A call comes whole, mostly without an id.
    fn call(&mut self, call: &Value, out: &mut Vec<Event>) {
        let key = self.count.to_string();
        self.count += 1;
        let id = [text(call, "/id"), text(call, "/function/id")].into_iter().find(|id| !id.is_empty());
        self.calls.start(&key, id.unwrap_or_default(), text(call, "/function/name"), out);
        self.calls.more(&key, &input_text(call.pointer("/function/arguments")), out);
        self.calls.end(&key, out);
    }

    fn end_thought(&mut self, out: &mut Vec<Event>) {
        if std::mem::take(&mut self.thinking) {
            let proof = Proof { dialect: DIALECT.to_owned(), value: json!(true) };
            out.push(Event::ThinkingEnded(Some(proof)));
        }
    }

    fn count(&self, line: &Value, out: &mut Vec<Event>) {
        let (input, output) = (number(line, "/prompt_eval_count"), number(line, "/eval_count"));
        if input + output > 0 {
            out.push(Event::Usage(Usage { input, output, ..Usage::default() }));
        }
    }
}

impl Reader for Reading {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<Flow, Error> {
        let line = fault::json(&self.service, frame.data.trim())?;
        self.line(&line, out)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<Event>) -> Result<(), Error> {
        match self.line(body, out)? {
            Flow::Done => Ok(()),
            Flow::More => self.end(out),
        }
    }

    fn end(&mut self, _out: &mut Vec<Event>) -> Result<(), Error> {
        Err(fault::cut(&self.service, "the answer has no end"))
    }
}
