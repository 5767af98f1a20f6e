//! Reads the answers of Chat Completions. Accepts what compatible servers were seen to do: calls without an index or with
//! the same one, ids that repeat, arguments as an object, usage on every piece, an end without `[DONE]`.

use serde_json::{Value, json};

use super::{DIALECT, OPENROUTER};
use crate::Error;
use crate::chat::calls::{Calls, input_text};
use crate::chat::fault;
use crate::chat::frames::Frame;
use crate::chat::wire::{Flow, Reader, Target, number, text};
use crate::chat::{Event, Proof, Request, StopReason, Usage};

/// Reads one answer.
pub(in crate::chat) struct Reading {
    service: String,
    model: String,
    calls: Calls,
    started: bool,
    spoken: bool,
    /// The field of the thought that is running.
    thinking: Option<&'static str>,
    details: Vec<Value>,
    refusal: String,
    usage: Option<Usage>,
    finish: Option<String>,
}

impl Reading {
    pub(in crate::chat) fn new(service: String, target: &Target<'_>, request: &Request) -> Reading {
        Reading {
            service,
            model: target.model.to_owned(),
            calls: Calls::of(request),
            started: false,
            spoken: false,
            thinking: None,
            details: Vec::new(),
            refusal: String::new(),
            usage: None,
            finish: None,
        }
    }

    fn piece(&mut self, piece: &Value, out: &mut Vec<Event>) -> Result<(), Error> {
        if let Some(error) = fault::inside(&self.service, piece) {
            return Err(error);
        }
        let model = Some(text(piece, "/model").to_owned()).filter(|model| !model.is_empty());
        // Azure sends what its filter said first, without a model.
        if !self.started && (model.is_some() || piece.pointer("/choices/0").is_some()) {
            self.started = true;
            out.push(Event::Started { model });
        }
        self.usage(&piece["usage"], out);
        let Some(choice) = piece.pointer("/choices/0") else { return Ok(()) };
        if let Some(error) = fault::inside(&self.service, choice) {
            return Err(error);
        }
        // A whole answer has a message where a streamed one has deltas.
        let delta = choice.get("delta").filter(|delta| delta.is_object()).unwrap_or(&choice["message"]);
        self.delta(delta, out);
        self.calls.checked(&self.service)?;
        match choice["finish_reason"].as_str() {
            None | Some("") => {}
            Some("error") => {
                return Err(fault::of_words(&self.service, &json!({"message": "the provider failed"})));
            }
            Some(reason) => self.finish = Some(reason.to_owned()),
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<Event>) {
        self.thought(delta, out);
        let said = content(&delta["content"]);
        if !said.is_empty() {
            self.end_thought(out);
            self.spoken = true;
            out.push(Event::Text(said));
        }
        self.refusal.push_str(text(delta, "/refusal"));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.end_thought(out);
            self.call(call, out);
        }
        // The oldest form: one call, without an id.
        if delta["function_call"].is_object() {
            self.end_thought(out);
            self.call(&json!({"index": 0, "function": delta["function_call"]}), out);
        }
    }

    fn thought(&mut self, delta: &Value, out: &mut Vec<Event>) {
        let details = delta["reasoning_details"].as_array().cloned().unwrap_or_default();
        let field = ["reasoning_content", "reasoning"].into_iter().find(|field| delta[*field].is_string());
        let mut more = field.map(|field| text(&delta[field], "").to_owned()).unwrap_or_default();
        if more.is_empty() {
            let texts =
                details.iter().map(|detail| format!("{}{}", text(detail, "/text"), text(detail, "/summary")));
            more = texts.collect();
        }
        for detail in details {
            self.detail(detail);
        }
        if !more.is_empty() {
            self.thinking = Some(field.unwrap_or("reasoning"));
            out.push(Event::Thinking(more));
        }
    }

    /// Pieces of one detail become one again: they go back as they would have come in one piece.
    fn detail(&mut self, detail: Value) {
        let same = |one: &Value| {
            one["type"] == detail["type"] && one["index"] == detail["index"] && !one["index"].is_null()
        };
        let Some(known) = self.details.last_mut().filter(|known| same(known)) else {
            return self.details.push(detail);
        };
        for (name, value) in detail.as_object().into_iter().flatten() {
            match (name.as_str(), known.get_mut(name), value.as_str()) {
                ("text" | "summary" | "data", Some(Value::String(before)), Some(more)) => {
                    before.push_str(more)
                }
                _ if value.is_null() => {}
                _ => known[name] = value.clone(),
            }
        }
    }

    fn end_thought(&mut self, out: &mut Vec<Event>) {
        let details = std::mem::take(&mut self.details);
        match self.thinking.take() {
            _ if !details.is_empty() => {
                let value = json!({"model": self.model, "details": details});
                out.push(Event::ThinkingEnded(Some(Proof { dialect: OPENROUTER.to_owned(), value })));
            }
            Some(field) => {
                let value = json!({"field": field});
                out.push(Event::ThinkingEnded(Some(Proof { dialect: DIALECT.to_owned(), value })));
            }
            None => {}
        }
    }

    fn call(&mut self, call: &Value, out: &mut Vec<Event>) {
        let (id, name) = (text(call, "/id"), text(call, "/function/name"));
        let key = self.key(call, id, name);
        if self.calls.has(&key) {
            self.calls.name(&key, name, out);
        } else {
            self.calls.start(&key, id, name, out);
        }
        self.calls.more(&key, &input_text(call.pointer("/function/arguments")), out);
    }

    /// To which call a piece belongs.
    fn key(&self, call: &Value, id: &str, name: &str) -> String {
        let fresh = || format!("new {}", self.calls.last().unwrap_or_default());
        let Some(index) = call["index"].as_u64() else {
            return match (self.calls.by_id(id), self.calls.last()) {
                (Some(known), _) if !id.is_empty() => known.to_owned(),
                (_, Some(last)) if id.is_empty() && name.is_empty() => last.to_owned(),
                _ => fresh(),
            };
        };
        let key = index.to_string();
        // Some servers give every call the index 0; another id with a name is another call.
        match self.calls.known(&key) {
            Some((known, named))
                if !id.is_empty() && !known.is_empty() && known != id && !name.is_empty() =>
            {
                match self.calls.by_id(id) {
                    Some(key) if !named.is_empty() => key.to_owned(),
                    _ => fresh(),
                }
            }
            _ => key,
        }
    }

    fn usage(&mut self, usage: &Value, out: &mut Vec<Event>) {
        if !usage.is_object() {
            return;
        }
        let cache_read = number(usage, "/prompt_tokens_details/cached_tokens");
        let cache_write = number(usage, "/prompt_tokens_details/cache_write_tokens");
        let usage = Usage {
            input: number(usage, "/prompt_tokens").saturating_sub(cache_read + cache_write),
            output: number(usage, "/completion_tokens"),
            cache_read,
            cache_write,
            thinking: number(usage, "/completion_tokens_details/reasoning_tokens"),
            dollars: usage["cost"].as_f64(),
        };
        if self.usage != Some(usage) {
            self.usage = Some(usage);
            out.push(Event::Usage(usage));
        }
    }

    fn close(&mut self, out: &mut Vec<Event>) {
        self.end_thought(out);
        self.calls.end_all(out);
        let reason = match self.finish.as_deref() {
            _ if !self.refusal.is_empty() => StopReason::Refused(std::mem::take(&mut self.refusal)),
            None | Some("stop" | "tool_calls" | "function_call" | "eos" | "end_turn") => StopReason::End,
            Some("length" | "max_tokens") => StopReason::MaxTokens,
            Some("content_filter" | "sensitive") => StopReason::Filtered,
            Some("model_context_window_exceeded") => StopReason::ContextFull,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        out.push(Event::Stopped(reason));
    }

    fn said_anything(&self) -> bool {
        self.spoken || self.calls.any() || self.thinking.is_some() || !self.refusal.is_empty()
    }
}

impl Reader for Reading {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<Flow, Error> {
        let data = frame.data.trim();
        if data.is_empty() {
            return Ok(Flow::More);
        }
        if data == "[DONE]" {
            if self.finish.is_none() && !self.said_anything() {
                return Err(fault::cut(&self.service, "it ended without a word"));
            }
            self.close(out);
            return Ok(Flow::Done);
        }
        let piece = fault::json(&self.service, data)?;
        if frame.event == "error" {
            return Err(fault::of_words(&self.service, &piece));
        }
        self.piece(&piece, out)?;
        Ok(Flow::More)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<Event>) -> Result<(), Error> {
        self.piece(body, out)?;
        if body.pointer("/choices/0").is_none() {
            let message = "it holds no answer".to_owned();
            return Err(Error::Answer { service: self.service.clone(), message });
        }
        self.close(out);
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Event>) -> Result<(), Error> {
        if self.finish.is_none() {
            return Err(fault::cut(&self.service, "the answer has no end"));
        }
        self.close(out);
        Ok(())
    }
}

/// Text, or text in parts.
fn content(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(part, "/text")).collect(),
        _ => String::new(),
    }
}
