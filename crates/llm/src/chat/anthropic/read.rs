//! Reads the answers of Anthropic's Messages.

use std::collections::BTreeMap;

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
    blocks: BTreeMap<u64, Block>,
    usage: Usage,
    stop: Option<StopReason>,
}

/// A block that is open. What is neither text, thought nor call is passed over.
enum Block {
    Text,
    Thought { signature: String },
    Redacted { data: Value },
    Call,
    Other,
}

impl Reading {
    pub(in crate::chat) fn new(service: String, request: &Request) -> Reading {
        Reading {
            service,
            calls: Calls::of(request),
            started: false,
            blocks: BTreeMap::new(),
            usage: Usage::default(),
            stop: None,
        }
    }

    fn event(&mut self, kind: &str, event: &Value, out: &mut Vec<Event>) -> Result<Flow, Error> {
        let index = number(event, "/index");
        match kind {
            "message_start" => self.begin(&event["message"], out),
            "content_block_start" => {
                self.begin(&Value::Null, out);
                self.start(index, &event["content_block"], out);
                self.calls.checked(&self.service)?;
            }
            "content_block_delta" => self.delta(index, &event["delta"], out),
            "content_block_stop" => self.stop_block(index, out),
            "message_delta" => {
                self.stopped(&event["delta"]);
                self.count(&event["usage"], out);
            }
            "message_stop" => {
                self.stop.get_or_insert(StopReason::End);
                self.end(out)?;
                return Ok(Flow::Done);
            }
            "error" => return Err(fault::of_words(&self.service, event)),
            _ => {}
        }
        Ok(Flow::More)
    }

    fn begin(&mut self, message: &Value, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            let model = Some(text(message, "/model").to_owned()).filter(|model| !model.is_empty());
            out.push(Event::Started { model });
        }
        self.count(&message["usage"], out);
    }

    fn start(&mut self, index: u64, block: &Value, out: &mut Vec<Event>) {
        // A block that was not closed is closed by the next of its number.
        self.stop_block(index, out);
        let opened = match text(block, "/type") {
            "text" => Block::Text,
            "thinking" => Block::Thought { signature: text(block, "/signature").to_owned() },
            "redacted_thinking" => Block::Redacted { data: block["data"].clone() },
            "tool_use" => Block::Call,
            _ => Block::Other,
        };
        match opened {
            Block::Text => say(text(block, "/text"), Event::Text, out),
            Block::Thought { .. } => say(text(block, "/thinking"), Event::Thinking, out),
            Block::Call => {
                let key = index.to_string();
                self.calls.start(&key, text(block, "/id"), text(block, "/name"), out);
                // It is empty here and comes in pieces, except from servers that send it at once.
                let whole = block["input"].as_object().is_some_and(|input| !input.is_empty());
                if whole {
                    self.calls.more(&key, &input_text(block.get("input")), out);
                }
            }
            Block::Redacted { .. } | Block::Other => {}
        }
        self.blocks.insert(index, opened);
    }

    fn delta(&mut self, index: u64, delta: &Value, out: &mut Vec<Event>) {
        match (self.blocks.get_mut(&index), text(delta, "/type")) {
            (Some(Block::Text), "text_delta") => say(text(delta, "/text"), Event::Text, out),
            (Some(Block::Thought { .. }), "thinking_delta") => {
                say(text(delta, "/thinking"), Event::Thinking, out);
            }
            (Some(Block::Thought { signature }), "signature_delta") => {
                signature.push_str(text(delta, "/signature"));
            }
            (Some(Block::Call), "input_json_delta") => {
                self.calls.more(&index.to_string(), text(delta, "/partial_json"), out);
            }
            _ => {}
        }
    }

    fn stop_block(&mut self, index: u64, out: &mut Vec<Event>) {
        let proof = |value: Value| Some(Proof { dialect: DIALECT.to_owned(), value });
        match self.blocks.remove(&index) {
            Some(Block::Thought { signature }) if signature.is_empty() => {
                out.push(Event::ThinkingEnded(None))
            }
            Some(Block::Thought { signature }) => {
                out.push(Event::ThinkingEnded(proof(json!({"signature": signature}))));
            }
            Some(Block::Redacted { data }) => {
                out.push(Event::ThinkingEnded(proof(json!({"redacted": data}))))
            }
            Some(Block::Call) => self.calls.end(&index.to_string(), out),
            Some(Block::Text | Block::Other) | None => {}
        }
    }

    fn stopped(&mut self, delta: &Value) {
        let Some(reason) = delta["stop_reason"].as_str() else { return };
        self.stop = Some(match reason {
            "end_turn" | "tool_use" => StopReason::End,
            "max_tokens" => StopReason::MaxTokens,
            "stop_sequence" => StopReason::StopText,
            "pause_turn" => StopReason::Paused,
            "model_context_window_exceeded" => StopReason::ContextFull,
            "refusal" => {
                let places = ["/stop_details/explanation", "/stop_details/category"];
                let why = places.into_iter().map(|place| text(delta, place)).find(|why| !why.is_empty());
                StopReason::Refused(why.unwrap_or_default().to_owned())
            }
            other => StopReason::Other(other.to_owned()),
        });
    }

    /// Counts are of the whole answer so far; what is not repeated still holds.
    fn count(&mut self, usage: &Value, out: &mut Vec<Event>) {
        if !usage.is_object() {
            return;
        }
        let held = |place: &str, before: u64| usage.pointer(place).and_then(Value::as_u64).unwrap_or(before);
        let thinking = held("/output_tokens_details/reasoning_tokens", self.usage.thinking);
        let now = Usage {
            input: held("/input_tokens", self.usage.input),
            output: held("/output_tokens", self.usage.output),
            cache_read: held("/cache_read_input_tokens", self.usage.cache_read),
            cache_write: held("/cache_creation_input_tokens", self.usage.cache_write),
            thinking: held("/output_tokens_details/thinking_tokens", thinking),
            dollars: None,
        };
        self.usage = now;
        out.push(Event::Usage(now));
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
        let Some(blocks) = body["content"].as_array() else {
            let message = "it holds no answer".to_owned();
            return Err(Error::Answer { service: self.service.clone(), message });
        };
        self.begin(body, out);
        for (index, block) in blocks.iter().enumerate() {
            self.start(index as u64, block, out);
            self.stop_block(index as u64, out);
            self.calls.checked(&self.service)?;
        }
        self.stopped(body);
        self.stop.get_or_insert(StopReason::End);
        self.end(out)
    }

    fn end(&mut self, out: &mut Vec<Event>) -> Result<(), Error> {
        let Some(stop) = self.stop.clone() else {
            return Err(fault::cut(&self.service, "the answer has no end"));
        };
        let open: Vec<u64> = self.blocks.keys().copied().collect();
        open.into_iter().for_each(|index| self.stop_block(index, out));
        out.push(Event::Stopped(stop));
        Ok(())
    }
}

fn say(text: &str, event: fn(String) -> Event, out: &mut Vec<Event>) {
    if !text.is_empty() {
        out.push(event(text.to_owned()));
    }
}
