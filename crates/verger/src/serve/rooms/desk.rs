//! Where one turn is shown: what happens goes to whoever watches the conversation, questions into the inbox.

use std::sync::Arc;

use agent::door::Answering;
use agent::{Door, Halt, News};
use pipeline::plan::Asked;
use pipeline::{Asker, Road};

use super::room::Room;
use crate::serve::asker::{self, Person};
use crate::serve::inbox::Inbox;

/// The desk of one turn.
pub struct Desk {
    /// The conversation.
    pub room: Arc<Room>,
    /// Where questions wait.
    pub inbox: Inbox,
    /// The word that stops the turn.
    pub halt: Halt,
    /// The turn's task.
    pub task: String,
    /// What is known of the tools.
    pub road: Arc<Road>,
}

/// A desk as the loop knows it.
pub struct AtDesk(pub Arc<Desk>);

impl Door for AtDesk {
    fn show(&self, news: &News) {
        self.0.room.live.tell(news);
    }

    fn asker(&self) -> Arc<dyn Asker> {
        Arc::new(Person(Arc::clone(&self.0)))
    }

    fn answer<'a>(&'a self, asked: &'a [Asked]) -> Answering<'a> {
        Box::pin(asker::answers(&self.0, asked))
    }

    fn added(&self) -> Vec<String> {
        self.0.room.heard()
    }
}
