//! The order of edits: each waits for the one that arrived before it; reads wait for nobody.
//!
//! The SDK starts a task for every message, and tasks start in any order, so the place in the queue is given where
//! messages still stand in a line: in `stdio.rs`.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// Gives out turns.
#[derive(Debug, Default)]
pub struct Turns {
    last: Option<oneshot::Receiver<()>>,
}

/// A place in the queue, as a message carries it.
#[derive(Debug, Clone)]
pub struct Turn(Arc<Mutex<Option<Waiting>>>);

/// A turn that was taken up. Dropping it lets the next one go, however the call ended.
#[derive(Debug)]
pub struct Waiting {
    before: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl Turns {
    /// The next place in the queue.
    pub fn next(&mut self) -> Turn {
        let (done, after) = oneshot::channel();
        let before = self.last.replace(after);
        Turn(Arc::new(Mutex::new(Some(Waiting { before, _done: done }))))
    }
}

impl Turn {
    /// Waits until it is this call's turn; it lasts as long as what is returned.
    pub async fn come(&self) -> Option<Waiting> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        if let Some(before) = waiting.before.take() {
            // An error says that the other one is over, which is all that matters.
            before.await.ok();
        }
        Some(waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_that_was_dropped_blocks_nobody() {
        let mut turns = Turns::default();
        let (first, second, third) = (turns.next(), turns.next(), turns.next());
        let order = Arc::new(Mutex::new(Vec::new()));
        let run = |name: &'static str, turn: Turn| {
            let order = Arc::clone(&order);
            tokio::spawn(async move {
                let _turn = turn.come().await;
                tokio::task::yield_now().await;
                order.lock().unwrap().push(name);
            })
        };
        let last = run("third", third);
        tokio::task::yield_now().await;
        drop(second);
        let start = run("first", first);
        start.await.unwrap();
        last.await.unwrap();
        assert_eq!(order.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn the_second_edit_waits_for_the_first() {
        let mut turns = Turns::default();
        let (first, second) = (turns.next(), turns.next());
        let held = first.come().await;
        let waits = tokio::time::timeout(std::time::Duration::from_millis(20), second.come()).await;
        assert!(waits.is_err());
        drop(held);
    }
}
