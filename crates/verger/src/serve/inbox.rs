//! Questions that wait for the person: approvals of the road, and what the model asks. Each is answered exactly once, by
//! whoever is first; a turn that stops takes its question away, and ten minutes without an answer are a no.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::Halt;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use super::house::Pulse;

/// How long a person may think.
const PATIENCE: Duration = Duration::from_secs(600);
/// The longest reason, in bytes.
const LONGEST: usize = 4_000;

/// What kind of question it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Whether something is done.
    Approval,
    /// Which notes are read to the model.
    Reads,
    /// Which of what a search found is shared with it.
    Results,
    /// What the model wants to know.
    Questions,
}

/// What a person can say to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// Yes, this time.
    Once,
    /// Yes, and so until the task is done.
    Task,
    /// Yes, and so until Verger ends.
    Session,
    /// Yes, and so until it is revoked.
    Always,
    /// No.
    Deny,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Yes for so long, or no. For questions of the model: `once` with `answers`, or `deny`.
    pub answer: Word,
    /// Why not; the model is told.
    #[serde(default)]
    pub reason: Option<String>,
    /// The input as the person wants it instead; it is checked again from the start.
    #[serde(default)]
    pub input: Option<Value>,
    /// The notes that are meant, of those that were shown.
    #[serde(default)]
    pub paths: Option<Vec<String>>,
    /// An answer to each question of the model.
    #[serde(default)]
    pub answers: Option<Vec<String>>,
}

/// Why a reply does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unheard {
    /// The question is answered, or was taken away.
    Gone,
    /// The reply does not fit the question, which still waits.
    Unfit(&'static str),
}

/// The questions that wait.
#[derive(Clone)]
pub struct Inbox {
    waiting: Arc<Mutex<Vec<Waiting>>>,
    pulse: watch::Sender<Pulse>,
    patience: Duration,
}

struct Waiting {
    id: String,
    chat: String,
    kind: Kind,
    /// How many answers are wanted.
    asked: usize,
    paper: Arc<Value>,
    reply: oneshot::Sender<Reply>,
}

impl Waiting {
    fn tells_of(&self, path: &str) -> bool {
        let rows = self.paper.get("rows").and_then(Value::as_array);
        rows.into_iter().flatten().any(|row| row.get("path").and_then(Value::as_str) == Some(path))
    }
}

impl Inbox {
    /// An empty one that beats this pulse.
    pub fn new(pulse: watch::Sender<Pulse>) -> Inbox {
        Inbox { waiting: Arc::default(), pulse, patience: PATIENCE }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beat(&self) {
        self.pulse.send_modify(|pulse| pulse.questions += 1);
    }

    /// The questions as the page shows them, the oldest first.
    pub fn list(&self) -> Vec<Arc<Value>> {
        self.waiting().iter().map(|waiting| Arc::clone(&waiting.paper)).collect()
    }

    /// Whether a conversation waits for the person.
    pub fn waits(&self, chat: &str) -> bool {
        self.waiting().iter().any(|waiting| waiting.chat == chat)
    }

    /// Puts a question before the person and waits. Nobody answered: it was stopped, or took too long.
    pub async fn put(&self, id: &str, chat: &str, kind: Kind, paper: Value, halt: &Halt) -> Option<Reply> {
        let (reply, answered) = oneshot::channel();
        let asked = paper.get("asked").and_then(Value::as_array).map_or(0, Vec::len);
        let (id, chat, paper) = (id.to_owned(), chat.to_owned(), Arc::new(paper));
        let taken_away = Removal { inbox: self, id: id.clone() };
        self.waiting().push(Waiting { id, chat, kind, asked, paper, reply });
        self.beat();
        let answer = tokio::select! {
            biased;
            () = halt.stopped() => None,
            answer = tokio::time::timeout(self.patience, answered) => answer.ok().and_then(Result::ok),
        };
        drop(taken_away);
        answer
    }

    /// Answers a question. Only the first answer counts.
    pub fn answer(&self, id: &str, reply: Reply) -> Result<(), Unheard> {
        let mut waiting = self.waiting();
        let place = waiting.iter().position(|waiting| waiting.id == id).ok_or(Unheard::Gone)?;
        fits(&waiting[place], &reply).map_err(Unheard::Unfit)?;
        let answered = waiting.remove(place);
        drop(waiting);
        self.beat();
        answered.reply.send(reply).map_err(|_| Unheard::Gone)
    }
}

fn fits(waiting: &Waiting, reply: &Reply) -> Result<(), &'static str> {
    if reply.reason.as_ref().is_some_and(|reason| reason.len() > LONGEST) {
        return Err("the reason is too long");
    }
    if reply.input.as_ref().is_some_and(|input| !input.is_object()) {
        return Err("the input is no JSON object");
    }
    let answers = reply.answers.as_ref().map_or(0, Vec::len);
    match waiting.kind {
        Kind::Questions if reply.answer != Word::Deny && answers != waiting.asked => {
            Err("each question wants one answer")
        }
        Kind::Approval | Kind::Reads | Kind::Results if answers > 0 => {
            Err("this question wants a yes or a no")
        }
        Kind::Approval | Kind::Questions if reply.paths.is_some() => {
            Err("this question is not about notes to choose")
        }
        Kind::Reads | Kind::Results if !reply.paths.iter().flatten().all(|path| waiting.tells_of(path)) => {
            Err("a note is named that was not shown")
        }
        Kind::Approval | Kind::Questions | Kind::Reads | Kind::Results => Ok(()),
    }
}

/// A question that nobody waits for any more is taken away, however that came.
struct Removal<'i> {
    inbox: &'i Inbox,
    id: String,
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        let mut waiting = self.inbox.waiting();
        let before = waiting.len();
        waiting.retain(|waiting| waiting.id != self.id);
        let is_gone = waiting.len() < before;
        drop(waiting);
        if is_gone {
            self.inbox.beat();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reply(value: Value) -> Reply {
        serde_json::from_value(value).unwrap()
    }

    fn yes() -> Reply {
        reply(json!({"answer": "once"}))
    }

    fn inbox() -> (Inbox, watch::Receiver<Pulse>) {
        let pulse = watch::Sender::default();
        let heard = pulse.subscribe();
        (Inbox::new(pulse), heard)
    }

    async fn asked(
        inbox: &Inbox,
        kind: Kind,
        paper: Value,
        halt: &Halt,
    ) -> tokio::task::JoinHandle<Option<Reply>> {
        let (inbox, halt) = (inbox.clone(), halt.clone());
        let there = inbox.clone();
        let task = tokio::spawn(async move { inbox.put("q", "c", kind, paper, &halt).await });
        while there.list().is_empty() {
            tokio::task::yield_now().await;
        }
        task
    }

    #[tokio::test]
    async fn the_first_answer_counts_and_there_is_no_second() {
        let (inbox, heard) = inbox();
        let halt = Halt::default();
        let task = asked(&inbox, Kind::Approval, json!({}), &halt).await;
        assert!(inbox.waits("c") && !inbox.waits("d"));
        assert_eq!(inbox.answer("other", yes()), Err(Unheard::Gone));
        assert_eq!(inbox.answer("q", yes()), Ok(()));
        assert_eq!(inbox.answer("q", yes()), Err(Unheard::Gone));
        assert_eq!(task.await.unwrap(), Some(yes()));
        assert_eq!(heard.borrow().questions, 2);
    }

    #[tokio::test]
    async fn a_stopped_turn_takes_its_question_away() {
        let (inbox, _heard) = inbox();
        let halt = Halt::default();
        let task = asked(&inbox, Kind::Approval, json!({}), &halt).await;
        halt.stop();
        assert_eq!(task.await.unwrap(), None);
        assert!(inbox.list().is_empty());
        assert_eq!(inbox.answer("q", yes()), Err(Unheard::Gone));
    }

    #[tokio::test]
    async fn nobody_answers_in_time_and_that_is_a_no() {
        let (mut inbox, _heard) = inbox();
        assert_eq!(inbox.patience.as_secs(), 600);
        inbox.patience = Duration::from_millis(5);
        assert_eq!(inbox.put("q", "c", Kind::Approval, json!({}), &Halt::default()).await, None);
        assert!(inbox.list().is_empty());
    }

    #[tokio::test]
    async fn what_does_not_fit_leaves_the_question_waiting() {
        let (inbox, _heard) = inbox();
        let halt = Halt::default();
        let task = asked(&inbox, Kind::Questions, json!({"asked": [1, 2]}), &halt).await;
        for bad in [
            json!({"answer": "once", "answers": ["one"]}),
            json!({"answer": "once"}),
            json!({"answer": "once", "answers": ["a", "b"], "input": "text"}),
            json!({"answer": "deny", "reason": "x".repeat(5_000)}),
        ] {
            assert!(matches!(inbox.answer("q", reply(bad.clone())), Err(Unheard::Unfit(_))), "{bad}");
        }
        assert_eq!(inbox.answer("q", reply(json!({"answer": "once", "answers": ["a", "b"]}))), Ok(()));
        assert!(task.await.unwrap().is_some());
    }
}
