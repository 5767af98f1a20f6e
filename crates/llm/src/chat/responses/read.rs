//! Reads the answers of OpenAI's Responses. Servers that speak it leave out indexes and some of the events, so every item
//! is also taken from the event that ends it.

use std::collections::BTreeSet;

use serde_json::Value;

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
    /// Items whose text or thought came in pieces.
    heard: BTreeSet<String>,
    /// Items that have ended.
    ended: BTreeSet<String>,
    refusal: String,
}

impl Reading {
    pub(in crate::chat) fn new(service: String, request: &Request) -> Reading {
        Reading {
            service,
            calls: Calls::of(request),
            started: false,
            heard: BTreeSet::new(),
            ended: BTreeSet::new(),
            refusal: String::new(),
        }
    }

    fn event(&mut self, kind: &str, event: &Value, out: &mut Vec<Event>) -> Result<Flow, Error> {
        let key = key(event);
        if kind.starts_with("response.output_item") || kind.ends_with(".delta") {
            // Some servers begin without a word.
            self.begin(&Value::Null, out);
        }
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.begin(&event["response"], out);
            }
            "response.output_text.delta" => {
                self.heard.insert(key);
                say(text(event, "/delta"), Event::Text, out);
            }
            "response.reasoning_summary_part.added" if number(event, "/summary_index") > 0 => {
                out.push(Event::Thinking("\n\n".to_owned()));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.heard.insert(key);
                say(text(event, "/delta"), Event::Thinking, out);
            }
            "response.refusal.delta" => {
                self.heard.insert(key);
                self.refusal.push_str(text(event, "/delta"));
            }
            "response.output_item.added" if text(event, "/item/type") == "function_call" => {
                self.call(&item_key(event), &event["item"], out);
            }
            "response.function_call_arguments.delta" => {
                let key =
                    if self.calls.has(&key) { key } else { self.calls.last().unwrap_or_default().to_owned() };
                self.calls.more(&key, text(event, "/delta"), out);
            }
            "response.output_item.done" => self.item(&item_key(event), &event["item"], out),
            "response.completed" | "response.incomplete" | "response.done" => {
                self.finish(&event["response"], out)?;
                return Ok(Flow::Done);
            }
            "response.failed" | "response.cancelled" => return Err(self.failed(&event["response"])),
            "error" => return Err(fault::of_words(&self.service, event)),
            _ => {}
        }
        self.calls.checked(&self.service)?;
        Ok(Flow::More)
    }

    fn begin(&mut self, response: &Value, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            let model = Some(text(response, "/model").to_owned()).filter(|model| !model.is_empty());
            out.push(Event::Started { model });
        }
    }

    /// A call begins, perhaps with its whole input.
    fn call(&mut self, key: &str, item: &Value, out: &mut Vec<Event>) {
        self.calls.start(key, text(item, "/call_id"), text(item, "/name"), out);
        self.calls.more(key, &input_text(item.get("arguments")), out);
    }

    /// An item has ended: what of it has not come in pieces comes now.
    fn item(&mut self, key: &str, item: &Value, out: &mut Vec<Event>) {
        if !self.ended.insert(key.to_owned()) {
            return;
        }
        let heard = self.heard.contains(key);
        match text(item, "/type") {
            "message" => {
                for part in item["content"].as_array().into_iter().flatten().filter(|_| !heard) {
                    say(text(part, "/text"), Event::Text, out);
                    self.refusal.push_str(text(part, "/refusal"));
                }
            }
            "reasoning" => {
                let places = ["summary", "content"];
                let parts = places.into_iter().filter_map(|place| item[place].as_array()).flatten();
                let texts: Vec<&str> = parts.map(|part| text(part, "/text")).filter(|_| !heard).collect();
                say(&texts.join("\n\n"), Event::Thinking, out);
                // Without the encrypted thought the provider would look for one that it did not store.
                let proof = item["encrypted_content"].is_string();
                let proof = proof.then(|| Proof { dialect: DIALECT.to_owned(), value: item.clone() });
                out.push(Event::ThinkingEnded(proof));
            }
            "function_call" => {
                if !self.calls.has(key) {
                    self.call(key, item, out);
                } else if self.calls.is_empty(key) {
                    self.calls.more(key, &input_text(item.get("arguments")), out);
                }
                self.calls.end(key, out);
            }
            _ => {}
        }
    }

    fn finish(&mut self, response: &Value, out: &mut Vec<Event>) -> Result<(), Error> {
        self.begin(response, out);
        let reason = match (text(response, "/status"), text(response, "/incomplete_details/reason")) {
            ("failed" | "cancelled", _) => return Err(self.failed(response)),
            (_, "max_output_tokens" | "max_tokens") => StopReason::MaxTokens,
            (_, "content_filter") => StopReason::Filtered,
            ("incomplete", other) => StopReason::Other(other.to_owned()),
            _ => StopReason::End,
        };
        // A server that sends no single events says everything here.
        if self.heard.is_empty() && self.ended.is_empty() && !self.calls.any() {
            for (at, item) in response["output"].as_array().into_iter().flatten().enumerate() {
                self.item(&at.to_string(), item, out);
                self.calls.checked(&self.service)?;
            }
        }
        self.calls.end_all(out);
        count(&response["usage"], out);
        let refusal = std::mem::take(&mut self.refusal);
        out.push(Event::Stopped(if refusal.is_empty() { reason } else { StopReason::Refused(refusal) }));
        Ok(())
    }

    fn failed(&self, response: &Value) -> Error {
        match response["error"].is_object() {
            true => fault::of_words(&self.service, response),
            false => fault::cut(&self.service, "the service gave the answer up"),
        }
    }
}

impl Reader for Reading {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<Flow, Error> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Flow::More);
        }
        let event = fault::json(&self.service, data)?;
        let kind = match text(&event, "/type") {
            "" if event.get("error").is_some() => "error",
            "" => frame.event.as_str(),
            kind => kind,
        };
        self.event(kind, &event, out)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<Event>) -> Result<(), Error> {
        if !body["output"].is_array() {
            let message = "it holds no answer".to_owned();
            return Err(Error::Answer { service: self.service.clone(), message });
        }
        self.finish(body, out)
    }

    fn end(&mut self, _out: &mut Vec<Event>) -> Result<(), Error> {
        Err(fault::cut(&self.service, "the answer has no end"))
    }
}

/// To which item an event belongs.
fn key(event: &Value) -> String {
    match event["item_id"].as_str().filter(|id| !id.is_empty()) {
        Some(id) => id.to_owned(),
        None => format!("at {}", event["output_index"]),
    }
}

fn item_key(event: &Value) -> String {
    match event.pointer("/item/id").and_then(Value::as_str).filter(|id| !id.is_empty()) {
        Some(id) => id.to_owned(),
        None => format!("at {}", event["output_index"]),
    }
}

fn count(usage: &Value, out: &mut Vec<Event>) {
    if !usage.is_object() {
        return;
    }
    let cache_read = number(usage, "/input_tokens_details/cached_tokens");
    let cache_write = number(usage, "/input_tokens_details/cache_write_tokens");
    out.push(Event::Usage(Usage {
        input: number(usage, "/input_tokens").saturating_sub(cache_read + cache_write),
        output: number(usage, "/output_tokens"),
        cache_read,
        cache_write,
        thinking: number(usage, "/output_tokens_details/reasoning_tokens"),
        dollars: usage["cost"].as_f64(),
    }));
}

fn say(text: &str, event: fn(String) -> Event, out: &mut Vec<Event>) {
    if !text.is_empty() {
        out.push(event(text.to_owned()));
    }
}
