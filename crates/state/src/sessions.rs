//! Conversations: made, gone on with step by step, read again, forked, deleted.
//!
//! Called by the agent's loop and by whoever looks into the past. All calls block: an async caller goes through
//! `spawn_blocking`. What a step means is not known here; a step is a kind, a JSON body, and what search should find of it.

mod body;
pub mod check;
mod find;
mod fork;
mod pick;
pub(crate) mod row;
mod search;

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Transaction, params};
use serde::Serialize;
use serde_json::Value;

use crate::db::{self, Db, Fault};
use crate::error::Error;
use crate::lease::{self, Leases};

pub use find::Filter;
pub use search::{Found, SearchHistory};

/// The longest title, in characters.
pub const LONGEST_TITLE: usize = 200;

/// The longest id, in bytes.
const LONGEST_ID: usize = 100;

/// A new conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewSession {
    /// Its id: letters, digits, `.`, `_` and `-`.
    pub id: String,
    /// What it is about, in one line.
    pub title: Option<String>,
    /// The agent that speaks in it.
    pub agent: String,
    /// The model behind the agent.
    pub model: String,
    /// The conversation that started it, if it is a child.
    pub parent: Option<String>,
    /// The conversation of which it is a copy.
    pub forked_from: Option<String>,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

/// What is known of a conversation without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Header {
    /// Its id.
    pub id: String,
    /// What it is about.
    pub title: Option<String>,
    /// The agent that speaks in it now.
    pub agent: String,
    /// The model behind the agent.
    pub model: String,
    /// The conversation that started it, if it is a child.
    pub parent: Option<String>,
    /// The conversation of which it is a copy; that one may be deleted by now.
    pub forked_from: Option<String>,
    /// When it was made, milliseconds since 1970.
    pub created_ms: i64,
    /// When the last step was written.
    pub updated_ms: i64,
    /// How many steps it has.
    pub steps: u64,
}

/// A step, as it was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Its number: 1, 2, 3 …
    pub number: u64,
    /// When it was written, milliseconds since 1970.
    pub time_ms: i64,
    /// What kind of step it is.
    pub kind: String,
    /// What it holds.
    pub body: Value,
}

/// A step to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStep {
    /// What kind of step it is.
    pub kind: &'static str,
    /// What it holds.
    pub body: Value,
    /// What search finds of it; a step without it is not found.
    pub said: Option<Said>,
}

/// Words that search finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who said it: `user`, `assistant` …
    pub role: String,
    /// What was said.
    pub text: String,
}

/// The conversations of one vault. A handle: clones share the file and the leases.
#[derive(Debug, Clone)]
pub struct Sessions {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) db: Db,
    pub(crate) leases: Leases,
}

impl Sessions {
    /// Opens the file of conversations, and makes it if there is none.
    pub fn open(file: &Path) -> Result<Sessions, Error> {
        let inner = Inner { db: Db::open(file)?, leases: Leases::default() };
        Ok(Sessions { inner: Arc::new(inner) })
    }

    /// Opens the file if there is one; makes nothing.
    pub fn open_if_there(file: &Path) -> Result<Option<Sessions>, Error> {
        if db::is_there(file)? { Sessions::open(file).map(Some) } else { Ok(None) }
    }

    /// Where the file lies.
    pub fn file(&self) -> &Path {
        self.inner.db.path()
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Begins a conversation.
    pub fn create(&self, new: &NewSession) -> Result<(), Error> {
        self.inner.db.write(|change| create(change, new).map(|_| ()))
    }

    /// Writes steps, all of them or none. They are on the disk when this returns. The answer is the number of the last.
    ///
    /// Renews our lease, if there is one; while somebody else has a lease nothing is written.
    pub fn append(&self, session: &str, steps: &[NewStep], now_ms: i64) -> Result<u64, Error> {
        let bodies = steps.iter().map(|step| body::write(&step.body)).collect::<Result<Vec<_>, _>>()?;
        steps.iter().filter_map(|step| step.said.as_ref()).try_for_each(|said| body::fit(&said.text))?;
        self.inner.db.write(|change| {
            let mut row = row::session(change, session)?;
            lease::pass(change, &self.inner.leases, &row, now_ms)?;
            for (step, body) in steps.iter().zip(&bodies) {
                row.header.steps += 1;
                let written =
                    row::StepRow { number: row.header.steps, time_ms: now_ms, kind: step.kind, body };
                row::insert_step(change, &row, &written)?;
                if let Some(said) = &step.said {
                    row::insert_said(change, &row, row.header.steps, now_ms, &row.header.agent, said)?;
                }
            }
            if !steps.is_empty() {
                row.header.updated_ms = now_ms;
                row::update(change, &row)?;
            }
            Ok(row.header.steps)
        })
    }

    /// All steps, in order.
    pub fn steps(&self, session: &str) -> Result<Vec<Step>, Error> {
        self.inner.db.read(|look| {
            let row = row::session(look, session)?;
            let mut steps = Vec::new();
            row::each_step(look, &row, |step| {
                let body = body::read(step.body, step.number)?;
                steps.push(Step {
                    number: step.number,
                    time_ms: step.time_ms,
                    kind: step.kind.to_owned(),
                    body,
                });
                Ok(())
            })?;
            Ok(steps)
        })
    }

    /// The kind of the newest step that is of one of these kinds. Reads no bodies, so it can be asked of many conversations;
    /// whoever goes on with one reads and compares everything.
    pub fn newest(&self, session: &str, kinds: &[&str]) -> Result<Option<String>, Error> {
        self.inner.db.read(|look| {
            let row = row::session(look, session)?;
            let mut statement =
                look.prepare_cached("SELECT kind FROM steps WHERE session = ?1 ORDER BY number DESC")?;
            let mut rows = statement.query(params![row.key])?;
            while let Some(found) = rows.next()? {
                let kind: String = found.get(0)?;
                if kinds.contains(&kind.as_str()) {
                    return Ok(Some(kind));
                }
            }
            Ok(None)
        })
    }

    /// What is known of a conversation, by its whole id.
    pub fn header(&self, id: &str) -> Result<Header, Error> {
        self.inner.db.read(|look| row::session(look, id).map(|row| row.header))
    }

    /// Gives a conversation another title, or none.
    pub fn rename(&self, id: &str, title: Option<&str>) -> Result<(), Error> {
        self.inner.db.write(|change| {
            let mut row = row::session(change, id)?;
            row.header.title = title.and_then(fit_title);
            row::update(change, &row)
        })
    }

    /// Another agent or model speaks from now on.
    pub fn set_agent_and_model(&self, id: &str, agent: &str, model: &str, now_ms: i64) -> Result<(), Error> {
        self.inner.db.write(|change| {
            let mut row = row::session(change, id)?;
            lease::pass(change, &self.inner.leases, &row, now_ms)?;
            agent.clone_into(&mut row.header.agent);
            model.clone_into(&mut row.header.model);
            row::update(change, &row)
        })
    }

    /// Removes a conversation and its children, unless somebody works on one of them.
    pub fn delete(&self, id: &str, now_ms: i64) -> Result<(), Error> {
        self.inner.db.write(|change| {
            let row = row::session(change, id)?;
            for one in row::with_children(change, &row)? {
                lease::pass(change, &self.inner.leases, &one, now_ms)?;
            }
            change.execute("DELETE FROM sessions WHERE key = ?1", params![row.key])?;
            Ok(())
        })?;
        self.inner.db.fold_log();
        Ok(())
    }
}

fn create(change: &Transaction<'_>, new: &NewSession) -> Result<row::Row, Fault> {
    fit_id(&new.id)?;
    if row::session_if_there(change, &new.id)?.is_some() {
        return Err(Error::Exists { id: new.id.clone() }.into());
    }
    if let Some(parent) = &new.parent {
        row::session(change, parent)?;
    }
    row::insert(
        change,
        Header {
            id: new.id.clone(),
            title: new.title.as_deref().and_then(fit_title),
            agent: new.agent.clone(),
            model: new.model.clone(),
            parent: new.parent.clone(),
            forked_from: new.forked_from.clone(),
            created_ms: new.now_ms,
            updated_ms: new.now_ms,
            steps: 0,
        },
    )
}

fn fit_id(id: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !id.is_empty() && id.len() <= LONGEST_ID && id.chars().all(allowed) {
        return Ok(());
    }
    let why = format!("an id has 1 to {LONGEST_ID} letters, digits, `.`, `_` and `-`");
    Err(Error::Unfit { what: "the id", why })
}

/// A title on one line and not too long; an empty one is none.
fn fit_title(title: &str) -> Option<String> {
    let line: Vec<&str> = title.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = line.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let clipped: String = line.chars().take(LONGEST_TITLE).collect();
    (!clipped.is_empty()).then_some(clipped)
}
