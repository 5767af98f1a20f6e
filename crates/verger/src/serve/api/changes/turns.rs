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
            let everything = Filter { limit: usize::MAX, include_children: true, text: None };
            let mut headers = sessions.list(&everything)?;
            // A copy of a conversation holds the same turns; the one that made the change is the older one.
            headers.sort_by_key(|header| header.created_ms);
            for (task, time_ms) in tasks {
                if !known.contains_key(*task) {
                    let turn = find(sessions, &headers, task, *time_ms)?;
                    known.insert((*task).to_owned(), turn);
                }
            }
        }
        let turn = |task: &&str| Some(((*task).to_owned(), known.get(*task)?.clone()?));
        Ok(tasks.keys().filter_map(turn).collect())
    }
}

fn find(sessions: &Sessions, headers: &[Header], task: &str, time_ms: i64) -> Result<Option<Turn>, Problem> {
    let then = |header: &&Header| {
        header.created_ms <= time_ms && header.updated_ms.saturating_add(SLACK_MS) >= time_ms
    };
    for header in headers.iter().filter(then) {
        let asked = asked(sessions, &header.id)?;
        let Some((_, at)) = asked.iter().find(|(asked, _)| asked.task == task) else { continue };
        let words = match &header.parent {
            None => asked.iter().find(|(asked, _)| asked.task == task).map(|(asked, _)| words(asked)),
            Some(parent) => of_parent(sessions, headers, parent, *at)?,
        };
        let top = top(headers, header);
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
fn of_parent(
    sessions: &Sessions,
    headers: &[Header],
    parent: &str,
    time_ms: i64,
) -> Result<Option<String>, Problem> {
    let Some(header) = headers.iter().find(|header| header.id == parent) else { return Ok(None) };
    let asked = asked(sessions, parent)?;
    let Some((last, at)) = asked.iter().rfind(|(_, at)| *at <= time_ms) else { return Ok(None) };
    match &header.parent {
        Some(above) if above != parent => of_parent(sessions, headers, above, *at),
        _ => Ok(Some(words(last))),
    }
}

fn top<'h>(headers: &'h [Header], header: &'h Header) -> &'h Header {
    let above = header.parent.as_ref().and_then(|parent| headers.iter().find(|other| other.id == *parent));
    above.map_or(header, |above| top(headers, above))
}

fn asked(sessions: &Sessions, session: &str) -> Result<Vec<(Asked, i64)>, Problem> {
    // One that was deleted meanwhile has nothing to say.
    let steps = match sessions.steps_of(session, &["asked"], i64::MIN) {
        Err(state::Error::Missing { .. }) => return Ok(Vec::new()),
        other => other?,
    };
    let read = |step: state::Step| Some((serde_json::from_value(step.body).ok()?, step.time_ms));
    Ok(steps.into_iter().filter_map(read).collect())
}

fn words(asked: &Asked) -> String {
    let text = Message { role: Role::User, parts: asked.parts.clone() }.text();
    let text = text.trim();
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
