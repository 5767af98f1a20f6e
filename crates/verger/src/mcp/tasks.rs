//! The tasks of clients: who they are, and what each has done so far.
//!
//! A task outlives the request: the ledger of three legs and the pages of long answers belong to the client, also where
//! the protocol has no sessions and every request comes alone. Called by `hall.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use pipeline::Task;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::auth::Principal;

/// Tasks that are kept; beyond that the one that was quiet for longest goes. More than there may be sessions.
const KEPT: usize = 1_024;

/// The session to which an HTTP request belongs. Only the gate puts it there, and only if it is the client's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sitting(pub Arc<str>);

/// From whom a request comes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Visitor {
    /// Its session, where there is one.
    pub sitting: Option<Sitting>,
    /// As whom it came in.
    pub principal: Principal,
    /// What it calls itself: letters and digits, 40 at most.
    pub client: String,
}

impl Visitor {
    /// From whom this request comes. Over stdin it is whoever started us.
    pub fn of(context: &RequestContext<RoleServer>) -> Visitor {
        let parts = context.extensions.get::<Parts>();
        let client = context.client_info().map(|client| client.name).unwrap_or_default();
        let client = client.chars().filter(|c| c.is_alphanumeric() || "-_. ".contains(*c)).take(40).collect();
        Visitor {
            sitting: parts.and_then(|parts| parts.extensions.get::<Sitting>().cloned()),
            principal: parts
                .and_then(|parts| parts.extensions.get::<Principal>().cloned())
                .unwrap_or_else(Principal::local),
            client,
        }
    }

    /// How checkpoints and the audit call it: by its own name, and by the one in its token.
    pub fn agent(&self) -> String {
        match self.principal.client() {
            Some(client) => format!("mcp:{}@{client}", self.client),
            None => format!("mcp:{}", self.client),
        }
    }
}

/// The tasks by whom they belong to.
#[derive(Default)]
pub struct Tasks(Mutex<Book>);

#[derive(Default)]
struct Book {
    tasks: HashMap<Visitor, (u64, Arc<Task>)>,
    made: u64,
    clock: u64,
}

impl Tasks {
    /// The task of this visitor; made by `make`, which is told how many there were before.
    pub fn of(&self, visitor: Visitor, make: impl FnOnce(u64) -> Task) -> Arc<Task> {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.clock += 1;
        let now = book.clock;
        if let Some((used, task)) = book.tasks.get_mut(&visitor) {
            *used = now;
            return Arc::clone(task);
        }
        if book.tasks.len() >= KEPT {
            let oldest = book.tasks.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| book.tasks.remove(&oldest));
        }
        let task = Arc::new(make(book.made));
        book.made += 1;
        book.tasks.insert(visitor, (now, Arc::clone(&task)));
        task
    }

    /// Drops what a session that is over has left.
    pub fn forget(&self, sitting: &Sitting) {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.tasks.retain(|visitor, _| visitor.sitting.as_ref() != Some(sitting));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(session: Option<&str>, client: &str) -> Visitor {
        Visitor {
            sitting: session.map(|id| Sitting(id.into())),
            principal: Principal::local(),
            client: client.to_owned(),
        }
    }

    fn task_of(tasks: &Tasks, visitor: Visitor) -> String {
        tasks.of(visitor, |count| Task::new(format!("t{count}"), "s", "a")).id.clone()
    }

    #[test]
    fn a_visitor_keeps_its_task_and_another_gets_its_own() {
        let tasks = Tasks::default();
        assert_eq!(task_of(&tasks, visitor(Some("a"), "x")), "t0");
        assert_eq!(task_of(&tasks, visitor(Some("b"), "x")), "t1");
        assert_eq!(task_of(&tasks, visitor(None, "x")), "t2");
        assert_eq!(task_of(&tasks, visitor(Some("a"), "x")), "t0");
        tasks.forget(&Sitting("a".into()));
        assert_eq!(task_of(&tasks, visitor(Some("a"), "x")), "t3");
        assert_eq!(task_of(&tasks, visitor(Some("b"), "x")), "t1");
    }

    #[test]
    fn many_visitors_do_not_fill_the_memory() {
        let tasks = Tasks::default();
        task_of(&tasks, visitor(None, "quiet"));
        for number in 0..KEPT {
            task_of(&tasks, visitor(None, &number.to_string()));
        }
        assert_eq!(tasks.0.lock().unwrap().tasks.len(), KEPT);
        assert_ne!(task_of(&tasks, visitor(None, "quiet")), "t0", "the one that was quiet for longest went");
    }
}
