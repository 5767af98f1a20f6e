//! Ids for calls to which a provider gave none.
//!
//! Made from the request, so that the same answer has the same ids however it came, and never twice in a conversation:
//! it only grows, or its count of requests does.

use std::collections::BTreeSet;

use super::{Part, Request};

/// Gives ids to the calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Ids {
    seed: String,
    given: BTreeSet<String>,
    count: u32,
}

impl Ids {
    /// For the answer to this request.
    pub(super) fn of(request: &Request) -> Ids {
        let conversation = &request.conversation;
        let parts: usize = request.messages.iter().map(|message| message.parts.len()).sum();
        let seed = format!("{}\n{}\n{}\n{parts}", conversation.id, conversation.turn, request.messages.len());
        let calls = request.messages.iter().flat_map(|message| &message.parts);
        let given = calls.filter_map(|part| match part {
            Part::Call { call } => Some(call.id.clone()),
            _ => None,
        });
        Ids { seed, given: given.collect(), count: 0 }
    }

    /// A new one.
    pub(super) fn next(&mut self) -> String {
        loop {
            let hash = blake3::hash(format!("{}\n{}", self.seed, self.count).as_bytes()).to_hex();
            let id = format!("call_{}", &hash[..16]);
            self.count += 1;
            if self.given.insert(id.clone()) {
                return id;
            }
        }
    }

    /// The provider's own, if there is one that no other call has.
    pub(super) fn take(&mut self, id: &str) -> String {
        if id.is_empty() || !self.given.insert(id.to_owned()) { self.next() } else { id.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{CallInput, Message, Role, ToolCall};
    use serde_json::json;

    #[test]
    fn no_two_calls_of_a_conversation_share_an_id() {
        let mut request = Request::new(vec![Message::user("hi")]);
        let mut ids = Ids::of(&request);
        let first = ids.next();
        assert_eq!(first, Ids::of(&request).next(), "the same request gives the same ids");
        assert_ne!(first, ids.next());
        assert_eq!(ids.take("a"), "a");
        assert_ne!(ids.take("a"), "a");
        let call =
            ToolCall { id: "a".into(), name: "t".into(), input: CallInput::Object(json!({})), proof: None };
        request.messages.push(Message { role: Role::Assistant, parts: vec![Part::Call { call }] });
        let mut later = Ids::of(&request);
        assert_ne!(later.next(), first);
        assert_ne!(later.take("a"), "a", "an id from an earlier answer");
    }
}
