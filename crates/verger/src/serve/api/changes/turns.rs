//! The turn behind a change: which conversation, which model, and what the person had said.
//!
//! A checkpoint knows its task; a conversation knows, in its steps, which task each turn had. What a turn said never changes, so it
//! is looked up once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use llm::chat::{Message, Part, Role};
use serde::{Deserialize, Serialize};
use state::{Filter, Header, Sessions};

use crate::serve::problem::Problem;

/// The longest words that are given.
const LONGEST: usize = 1_500;
/// Turns that are remembered at most.
const MOST: usize = 10_000;
/// A conversation may have been written last before its change was: the process died.
const SLACK_MS: i64 = 24 * 3_600 * 1_000;

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// The conversation.
    session: String,
    /// What it is about.
    title: Option<String>,
    /// The agent that speaks in it.
    agent: String,
    /// The model behind the agent.
    model: String,
    /// What the person had said.
    why: Option<String>,
    /// Whether a helper of the conversation made the change.
    helper: bool,
}

/// Turns that were looked up before; none for tasks that belong to no conversation.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<String, Option<Turn>>>);

#[derive(Deserialize)]
struct Asked {
    task: String,
    parts: Vec<Part>,
}

/// What was said in a turn, and when.
struct Said {
    task: String,
    words: String,
    time_ms: i64,
}

/// The conversations, each read at most once for one question.
struct Past<'s> {
    sessions: &'s Sessions,
    headers: Vec<Header>,
    read: HashMap<String, Vec<Said>>,
}

impl Turns {
    /// The turns of these tasks, each with the time of a change that it made.
    pub fn of(
        &self,
        sessions: &Sessions,
        tasks: &HashMap<&str, i64>,
    ) -> Result<HashMap<String, Turn>, Problem> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        if tasks.keys().any(|task| !known.contains_key(*task)) {
            let mut past = Past::open(sessions)?;
            for (task, time_ms) in tasks {
                if !known.contains_key(*task) {
                    known.insert((*task).to_owned(), past.find(task, *time_ms)?);
                }
            }
        }
        let turn = |task: &&str| Some(((*task).to_owned(), known.get(*task)?.clone()?));
        Ok(tasks.keys().filter_map(turn).collect())
    }
}

impl Past<'_> {
    fn open(sessions: &Sessions) -> Result<Past<'_>, Problem> {
        let everything = Filter { limit: usize::MAX, include_children: true, text: None };
        let mut headers = sessions.list(&everything)?;
        // A copy of a conversation holds the same turns; the one that made the change is the older one.
        headers.sort_by_key(|header| header.created_ms);
        Ok(Past { sessions, headers, read: HashMap::new() })
    }

    fn find(&mut self, task: &str, time_ms: i64) -> Result<Option<Turn>, Problem> {
        let then = |header: &&Header| {
            header.created_ms <= time_ms && header.updated_ms.saturating_add(SLACK_MS) >= time_ms
        };
        let candidates: Vec<Header> = self.headers.iter().filter(then).cloned().collect();
        for header in candidates {
            let said = self.said(&header.id)?.iter().find(|said| said.task == task);
            let Some((words, at)) = said.map(|said| (said.words.clone(), said.time_ms)) else { continue };
            let words = match &header.parent {
                None => Some(words),
                Some(parent) => self.of_parent(parent, at)?,
            };
            let top = self.top(&header);
            return Ok(Some(Turn {
                session: top.id.clone(),
                title: top.title.clone(),
                agent: header.agent.clone(),
                model: header.model.clone(),
                why: words.filter(|words| !words.is_empty()),
                helper: header.parent.is_some(),
            }));
        }
        Ok(None)
    }

    /// What the person had said last in the conversation that started a helper.
    fn of_parent(&mut self, parent: &str, time_ms: i64) -> Result<Option<String>, Problem> {
        let above =
            self.headers.iter().find(|header| header.id == parent).map(|header| header.parent.clone());
        let Some(above) = above else { return Ok(None) };
        let last = self.said(parent)?.iter().rfind(|said| said.time_ms <= time_ms);
        let Some((words, at)) = last.map(|said| (said.words.clone(), said.time_ms)) else { return Ok(None) };
        match above {
            Some(above) if above != parent => self.of_parent(&above, at),
            _ => Ok(Some(words)),
        }
    }

    fn top<'h>(&'h self, header: &'h Header) -> &'h Header {
        let parent = header.parent.as_ref();
        let above = parent.and_then(|parent| self.headers.iter().find(|other| other.id == *parent));
        above.map_or(header, |above| self.top(above))
    }

    fn said(&mut self, session: &str) -> Result<&[Said], Problem> {
        if !self.read.contains_key(session) {
            // One that was deleted meanwhile has nothing to say.
            let steps = match self.sessions.steps_of(session, &["asked"], i64::MIN) {
                Err(state::Error::Missing { .. }) => Vec::new(),
                other => other?,
            };
            let said = |step: state::Step| {
                let asked: Asked = serde_json::from_value(step.body).ok()?;
                let words = clipped(Message { role: Role::User, parts: asked.parts }.text().trim());
                Some(Said { task: asked.task, words, time_ms: step.time_ms })
            };
            self.read.insert(session.to_owned(), steps.into_iter().filter_map(said).collect());
        }
        Ok(self.read.get(session).map(Vec::as_slice).unwrap_or_default())
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use state::{NewSession, NewStep};

    fn say(sessions: &Sessions, session: &str, task: &str, text: &str, now_ms: i64) {
        let body = serde_json::to_value(agent::Step::Asked {
            task: task.to_owned(),
            parts: vec![Part::Text { text: text.to_owned() }],
        });
        sessions
            .append(session, &[NewStep { kind: "asked", body: body.unwrap(), said: None }], now_ms)
            .unwrap();
        let other = NewStep { kind: "told", body: json!({"step": "told", "text": "x"}), said: None };
        sessions.append(session, &[other], now_ms + 1).unwrap();
    }

    fn begin(sessions: &Sessions, id: &str, parent: Option<&str>, now_ms: i64) {
        let new = NewSession {
            id: id.to_owned(),
            agent: "agent".to_owned(),
            model: "m".to_owned(),
            parent: parent.map(str::to_owned),
            now_ms,
            ..NewSession::default()
        };
        sessions.create(&new).unwrap();
    }

    #[test]
    fn a_change_is_told_with_the_words_of_its_turn_and_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::open(&folder.path().join("s.db")).unwrap();
        begin(&sessions, "one", None, 10);
        say(&sessions, "one", "t1", "tidy my notes", 20);
        say(&sessions, "one", "t2", "now the tags", 40);
        begin(&sessions, "helper", Some("one"), 45);
        say(&sessions, "helper", "t3", "do what the model wants", 46);
        let turns = Turns::default();
        let ask = || {
            turns.of(&sessions, &HashMap::from([("t1", 22), ("t2", 42), ("t3", 47), ("cli", 30)])).unwrap()
        };
        let told = ask();
        assert_eq!(told["t1"].why.as_deref(), Some("tidy my notes"));
        assert_eq!(told["t2"].why.as_deref(), Some("now the tags"));
        assert_eq!(told["t3"].why.as_deref(), Some("now the tags"));
        assert_eq!((told["t3"].session.as_str(), told["t3"].helper), ("one", true));
        assert!(!told.contains_key("cli"));
        assert_eq!(ask(), told, "the second time from memory");
    }
}
