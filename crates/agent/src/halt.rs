//! Stopping: one word that reaches everything that runs for a turn, children included.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pipeline::Stop;
use tokio::sync::Notify;

/// Tells a turn to stop. Clones are the same word; a child hears its parent's word and has one of its own.
#[derive(Debug, Clone, Default)]
pub struct Halt {
    own: Arc<Word>,
    parent: Option<Arc<Halt>>,
}

#[derive(Debug, Default)]
struct Word {
    said: AtomicBool,
    heard: Notify,
}

impl Halt {
    /// A word for somebody who works for this one.
    #[must_use]
    pub fn child(&self) -> Halt {
        Halt { own: Arc::default(), parent: Some(Arc::new(self.clone())) }
    }

    /// Says it.
    pub fn stop(&self) {
        self.own.said.store(true, Ordering::SeqCst);
        self.own.heard.notify_waiters();
    }

    /// Whether it was said.
    pub fn is_stopped(&self) -> bool {
        self.own.said.load(Ordering::SeqCst) || self.parent.as_ref().is_some_and(|parent| parent.is_stopped())
    }

    /// Waits until it is said.
    pub async fn stopped(&self) {
        match &self.parent {
            Some(parent) => tokio::select! {
                () = self.own.said() => {}
                () = Box::pin(parent.stopped()) => {}
            },
            None => self.own.said().await,
        }
    }

    /// The same for the road.
    pub fn for_road(&self) -> Stop {
        let halt = self.clone();
        Stop::when(move || halt.is_stopped())
    }
}

impl Word {
    async fn said(&self) {
        loop {
            let heard = self.heard.notified();
            tokio::pin!(heard);
            // Listening comes before looking, so that a word in between is not missed.
            heard.as_mut().enable();
            if self.said.load(Ordering::SeqCst) {
                return;
            }
            heard.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_parent_stops_its_children_and_not_the_other_way_round() {
        let parent = Halt::default();
        let child = parent.child();
        let grandchild = child.child();
        child.stop();
        assert!(child.is_stopped() && grandchild.is_stopped() && !parent.is_stopped());
        let other = parent.child();
        let waiting = tokio::spawn({
            let other = other.clone();
            async move { other.stopped().await }
        });
        tokio::task::yield_now().await;
        parent.stop();
        tokio::time::timeout(Duration::from_secs(5), waiting).await.unwrap().unwrap();
        other.stopped().await;
    }
}
