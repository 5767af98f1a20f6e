//! A kept conversation, shown again from its steps.

use std::path::Path;

use agent::{Over, Step};
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, CurrentModeUpdate, ImageContent, SessionUpdate, ToolCall, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields,
};
use llm::chat::{CallInput, Message, Part};
use pipeline::Registry;

use super::calls;
use super::desk::{chunk, plan};
use crate::talks;

/// Everything that was said and done, in its order.
pub fn updates(steps: &[Step], registry: &Registry, root: &Path) -> Vec<SessionUpdate> {
    let mut replay =
        Replay { registry, root, task: String::new(), count: 0, open: Vec::new(), shown: Vec::new() };
    steps.iter().for_each(|step| replay.take(step));
    replay.close();
    replay.shown
}

struct Replay<'r> {
    registry: &'r Registry,
    root: &'r Path,
    task: String,
    count: u64,
    /// The model's name of each call that has not ended, and ours.
    open: Vec<(String, String)>,
    shown: Vec<SessionUpdate>,
}

impl Replay<'_> {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Asked { task, parts } => {
                self.close();
                self.task.clone_from(task);
                self.count = 0;
                parts.iter().for_each(|part| self.user(part));
            }
            Step::Added { text } => self.shown.push(SessionUpdate::UserMessageChunk(chunk(text.clone()))),
            Step::Answered { message, .. } => self.answered(message),
            Step::Ended { id, text, failed, .. } => self.ended(id, text, *failed),
            Step::Todo { items } => self.shown.push(plan(items)),
            Step::Agent { slug } => {
                self.shown.push(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(slug.clone())));
            }
            Step::Over { how } => {
                self.close();
                if let Over::Completed { result } = how {
                    self.shown.push(SessionUpdate::AgentMessageChunk(chunk(result.clone())));
                }
            }
            // What was said in a note is read there.
            Step::Seeded { .. }
            | Step::Condensed { .. }
            | Step::Model { .. }
            | Step::Activated { .. }
            | Step::Child { .. }
            | Step::Spent { .. }
            | Step::Told { .. } => {}
        }
    }

    fn user(&mut self, part: &Part) {
        let content = match part {
            Part::Text { text } => ContentBlock::from(text.clone()),
            Part::Image { media_type, base64 } => {
                ContentBlock::Image(ImageContent::new(base64.clone(), media_type.clone()))
            }
            Part::Thinking { .. } | Part::Call { .. } | Part::Result { .. } => return,
        };
        self.shown.push(SessionUpdate::UserMessageChunk(ContentChunk::new(content)));
    }

    fn answered(&mut self, message: &Message) {
        for part in &message.parts {
            match part {
                Part::Text { text } if !text.is_empty() => {
                    self.shown.push(SessionUpdate::AgentMessageChunk(chunk(text.clone())));
                }
                Part::Thinking { text, .. } if !text.is_empty() => {
                    self.shown.push(SessionUpdate::AgentThoughtChunk(chunk(text.clone())));
                }
                Part::Call { call } => self.called(call),
                _ => {}
            }
        }
    }

    fn called(&mut self, call: &llm::chat::ToolCall) {
        self.count += 1;
        let id = format!("{}.{}", self.task, self.count);
        self.open.push((call.id.clone(), id.clone()));
        let input = match &call.input {
            CallInput::Object(value) => value.clone(),
            CallInput::Broken(_) => serde_json::Value::Null,
        };
        let shown = ToolCall::new(id, talks::title_of_call(&call.name, &input))
            .kind(calls::kind(self.registry, &call.name))
            .status(ToolCallStatus::InProgress)
            .locations(calls::locations(self.root, &input))
            .raw_input(input);
        self.shown.push(SessionUpdate::ToolCall(shown));
    }

    fn ended(&mut self, id: &str, text: &str, failed: bool) {
        let Some(at) = self.open.iter().position(|(known, _)| known == id) else { return };
        let (_, shown) = self.open.remove(at);
        let status = if failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
        let fields = ToolCallUpdateFields::new().status(status).content(vec![calls::answer(text)]);
        self.shown.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(shown, fields)));
    }

    /// Calls without an end did not come to it.
    fn close(&mut self) {
        for (_, id) in std::mem::take(&mut self.open) {
            let why = vec![calls::text("the turn ended before this call")];
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(why);
            self.shown.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)));
        }
    }
}
