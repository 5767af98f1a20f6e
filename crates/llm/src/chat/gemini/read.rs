//! Reads the answers of Google's `generateContent`: every frame is a whole response with some more parts.

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
    usage: Option<Usage>,
    stop: Option<StopReason>,
}

impl Reading {
    pub(in crate::chat) fn new(service: String, request: &Request) -> Reading {
        let calls = Calls::of(request);
        Reading { service, calls, started: false, thinking: false, count: 0, usage: None, stop: None }
    }

    fn response(&mut self, response: &Value, out: &mut Vec<Event>) -> Result<(), Error> {
        if let Some(error) = fault::inside(&self.service, response) {
            return Err(error);
        }
        if !std::mem::replace(&mut self.started, true) {
            let model = Some(text(response, "/modelVersion").to_owned()).filter(|model| !model.is_empty());
            out.push(Event::Started { model });
        }
        self.count(&response["usageMetadata"], out);
        let blocked = text(response, "/promptFeedback/blockReason");
        if !blocked.is_empty() {
            let said = text(response, "/promptFeedback/blockReasonMessage");
            let message = format!("the question was blocked ({blocked}) {said}").trim_end().to_owned();
            return Err(Error::Refused { service: self.service.clone(), message });
        }
        let candidate = &response["candidates"][0];
        for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
            self.part(part, out);
            self.calls.checked(&self.service)?;
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.stop = Some(stopped(reason));
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, out: &mut Vec<Event>) {
        let signature = part["thoughtSignature"].as_str();
        let proof = |on: &str| {
            let value = |signature: &str| json!({"on": on, "signature": signature});
            signature.map(|signature| Proof { dialect: DIALECT.to_owned(), value: value(signature) })
        };
        let said = text(part, "/text");
        if part["functionCall"].is_object() {
            self.end_thought(out);
            self.call(&part["functionCall"], proof("call"), out);
        } else if part["thought"] == true {
            if !said.is_empty() {
                self.thinking = true;
                out.push(Event::Thinking(said.to_owned()));
            }
            if let Some(proof) = proof("thought") {
                self.thinking = false;
                out.push(Event::ThinkingEnded(Some(proof)));
            }
        } else {
            if !said.is_empty() {
                self.end_thought(out);
                out.push(Event::Text(said.to_owned()));
            }
            if let Some(proof) = proof(if said.is_empty() { "empty" } else { "text" }) {
                self.end_thought(out);
                out.push(Event::ThinkingEnded(Some(proof)));
            }
        }
    }

    /// A call comes whole.
    fn call(&mut self, call: &Value, proof: Option<Proof>, out: &mut Vec<Event>) {
        let key = self.count.to_string();
        self.count += 1;
        self.calls.start(&key, text(call, "/id"), text(call, "/name"), out);
        self.calls.more(&key, &input_text(call.get("args")), out);
        if let Some(proof) = proof {
            self.calls.proof(&key, proof);
        }
        self.calls.end(&key, out);
    }

    fn end_thought(&mut self, out: &mut Vec<Event>) {
        if std::mem::take(&mut self.thinking) {
            out.push(Event::ThinkingEnded(None));
        }
    }

    /// Counts are of the whole answer so far.
    fn count(&mut self, usage: &Value, out: &mut Vec<Event>) {
        if !usage.is_object() {
            return;
        }
        let thinking = number(usage, "/thoughtsTokenCount");
        let cache_read = number(usage, "/cachedContentTokenCount");
        let input = number(usage, "/promptTokenCount") + number(usage, "/toolUsePromptTokenCount");
        let usage = Usage {
            input: input.saturating_sub(cache_read),
            output: number(usage, "/candidatesTokenCount") + thinking,
            cache_read,
            cache_write: 0,
            thinking,
            dollars: None,
        };
        if self.usage != Some(usage) {
            self.usage = Some(usage);
            out.push(Event::Usage(usage));
        }
    }
}

impl Reader for Reading {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<Flow, Error> {
        let data = frame.data.trim();
        if !data.is_empty() && data != "[DONE]" {
            let response = fault::json(&self.service, data)?;
            self.response(&response, out)?;
        }
        Ok(Flow::More)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<Event>) -> Result<(), Error> {
        // A server that was not understood to want events sends a list of responses.
        match body.as_array() {
            Some(responses) => responses.iter().try_for_each(|response| self.response(response, out))?,
            None => self.response(body, out)?,
        }
        self.end(out)
    }

    fn end(&mut self, out: &mut Vec<Event>) -> Result<(), Error> {
        let Some(stop) = self.stop.clone() else {
            return Err(fault::cut(&self.service, "the answer has no end"));
        };
        self.end_thought(out);
        out.push(Event::Stopped(stop));
        Ok(())
    }
}

fn stopped(reason: &str) -> StopReason {
    match reason {
        "STOP" => StopReason::End,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            StopReason::Filtered
        }
        image if image.starts_with("IMAGE_") => StopReason::Filtered,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" | "MALFORMED_RESPONSE" => {
            StopReason::BrokenCall
        }
        other => StopReason::Other(other.to_owned()),
    }
}
