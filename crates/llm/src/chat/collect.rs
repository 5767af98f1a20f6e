//! Puts the events of one answer together to a message.

use super::{Event, Message, Part, Role, StopReason, ToolCall, Usage};

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What was said.
    pub message: Message,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub stop: StopReason,
    /// The model that served, if it said so.
    pub model: Option<String>,
}

/// Collects events until the answer ends.
#[derive(Debug, Default)]
pub struct Collector {
    parts: Vec<Part>,
    thinking: Option<String>,
    usage: Usage,
    model: Option<String>,
    stop: Option<StopReason>,
}

impl Collector {
    /// Takes an event.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Started { model } => self.model.clone_from(model),
            Event::Text(text) => self.text(text),
            Event::Thinking(text) => self.thinking.get_or_insert_default().push_str(text),
            Event::ThinkingEnded(proof) => {
                let text = self.thinking.take().unwrap_or_default();
                if !text.is_empty() || proof.is_some() {
                    self.parts.push(Part::Thinking { text, proof: proof.clone() });
                }
            }
            // A call that never ends leaves no trace.
            Event::CallStarted { .. } => self.end_thought(),
            Event::CallInput { .. } => {}
            Event::CallEnded { call, .. } => self.call(call),
            Event::Usage(usage) => self.usage = *usage,
            Event::Stopped(reason) => self.stop = Some(reason.clone()),
        }
    }

    /// The answer; `None` if it did not end.
    pub fn finish(mut self) -> Option<Answer> {
        self.end_thought();
        let message = Message { role: Role::Assistant, parts: self.parts };
        Some(Answer { message, usage: self.usage, stop: self.stop?, model: self.model })
    }

    /// What was said until now, for an answer that was stopped half way: text only, for half a call is none.
    pub fn so_far(&self) -> String {
        Message { role: Role::Assistant, parts: self.parts.clone() }.text()
    }

    /// What it cost until now.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    fn text(&mut self, more: &str) {
        self.end_thought();
        match self.parts.last_mut() {
            Some(Part::Text { text }) => text.push_str(more),
            _ => self.parts.push(Part::Text { text: more.to_owned() }),
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.end_thought();
        self.parts.push(Part::Call { call: call.clone() });
    }

    fn end_thought(&mut self) {
        if let Some(text) = self.thinking.take().filter(|text| !text.is_empty()) {
            self.parts.push(Part::Thinking { text, proof: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::CallInput;
    use serde_json::json;

    #[test]
    fn pieces_become_one_message_and_a_cut_answer_is_none() {
        let mut collector = Collector::default();
        let call = ToolCall {
            id: "c".into(),
            name: "read_file".into(),
            input: CallInput::Object(json!({})),
            proof: None,
        };
        for event in [
            Event::Started { model: Some("m".into()) },
            Event::Thinking("a".into()),
            Event::Thinking("b".into()),
            Event::ThinkingEnded(None),
            Event::Text("He".into()),
            Event::Text("llo".into()),
            Event::CallStarted { index: 0, id: "c".into(), name: "read_file".into() },
            Event::CallInput { index: 0, text: "{}".into() },
            Event::CallEnded { index: 0, call: call.clone() },
        ] {
            collector.take(&event);
        }
        assert_eq!(collector.so_far(), "Hello");
        assert!(Collector::default().finish().is_none());
        collector.take(&Event::Stopped(StopReason::End));
        let answer = collector.finish().unwrap();
        assert_eq!(
            answer.message.parts,
            [
                Part::Thinking { text: "ab".into(), proof: None },
                Part::Text { text: "Hello".into() },
                Part::Call { call },
            ]
        );
    }
}
