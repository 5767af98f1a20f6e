//! One process at a time works on a conversation: it takes a lease, each step that it writes renews it, and nobody else can
//! write meanwhile. A lease ends when it is dropped, when its process is gone, or when its time is over.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rusqlite::{OptionalExtension, Transaction, params};

use crate::db::Fault;
use crate::error::Error;
use crate::holder;
use crate::sessions::Sessions;
use crate::sessions::row::{self, Row};

/// The leases that were taken through one handle.
#[derive(Debug, Default)]
pub struct Leases(Mutex<HashMap<String, Held>>);

#[derive(Debug, Clone)]
struct Held {
    holder: String,
    seconds: u64,
    /// How many [`Lease`]s stand for it: the last one gives it back.
    count: usize,
}

/// The right to write to a conversation. Given back when it is dropped.
#[derive(Debug)]
#[must_use = "a lease ends when it is dropped"]
pub struct Lease {
    sessions: Sessions,
    session: String,
    holder: String,
}

impl Lease {
    /// The conversation.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Keeps the lease while nothing is written, for instance while a model thinks.
    pub fn renew(&self, now_ms: i64) -> Result<(), Error> {
        let inner = self.sessions.inner();
        inner.db.write(|change| {
            let row = row::session(change, &self.session)?;
            pass(change, &inner.leases, &row, now_ms)
        })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let inner = self.sessions.inner();
        let ours = inner.leases.forget(&self.session, &self.holder);
        if ours {
            // If this fails the lease ends with its time, or with this process.
            inner
                .db
                .write(|change| {
                    change.execute(
                        "DELETE FROM leases WHERE holder = ?2 AND session = (SELECT key FROM sessions WHERE id = ?1)",
                        params![self.session, self.holder],
                    )?;
                    Ok(())
                })
                .ok();
        }
    }
}

impl Sessions {
    /// Takes the right to write to a conversation, for so many seconds after the last step. The holder is a process as
    /// [`holder::this_process`] names it; the same holder may ask again and renews what it has.
    pub fn lease(&self, session: &str, holder: &str, now_ms: i64, seconds: u64) -> Result<Lease, Error> {
        let inner = self.inner();
        inner.db.write(|change| {
            let row = row::session(change, session)?;
            match current(change, &row, now_ms)? {
                Some(other) if other != holder => Err(busy(&row, other)),
                _ => put(change, &row, holder, until(now_ms, seconds)),
            }
        })?;
        inner.leases.keep(session, holder, seconds);
        Ok(Lease { sessions: self.clone(), session: session.to_owned(), holder: holder.to_owned() })
    }
}

/// Lets a change of a conversation pass, and renews our lease; not while somebody else has one.
pub fn pass(change: &Transaction<'_>, leases: &Leases, row: &Row, now_ms: i64) -> Result<(), Fault> {
    let held = leases.of(&row.header.id);
    match (current(change, row, now_ms)?, held) {
        (Some(other), Some(held)) if other != held.holder => Err(busy(row, other)),
        (Some(other), None) => Err(busy(row, other)),
        (_, Some(held)) => put(change, row, &held.holder, until(now_ms, held.seconds)),
        (None, None) => Ok(()),
    }
}

/// Who has the lease, if it has not ended.
fn current(change: &Transaction<'_>, row: &Row, now_ms: i64) -> Result<Option<String>, Fault> {
    let found: Option<(String, i64)> = change
        .prepare_cached("SELECT holder, until_ms FROM leases WHERE session = ?1")?
        .query_row(params![row.key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.filter(|(holder, until)| now_ms < *until && !holder::is_gone(holder)).map(|(holder, _)| holder))
}

fn put(change: &Transaction<'_>, row: &Row, holder: &str, until_ms: i64) -> Result<(), Fault> {
    change
        .prepare_cached("INSERT OR REPLACE INTO leases (session, holder, until_ms) VALUES (?1, ?2, ?3)")?
        .execute(params![row.key, holder, until_ms])?;
    Ok(())
}

fn until(now_ms: i64, seconds: u64) -> i64 {
    let milliseconds = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000);
    now_ms.saturating_add(milliseconds)
}

fn busy(row: &Row, holder: String) -> Fault {
    Error::Busy { session: row.header.id.clone(), holder }.into()
}

impl Leases {
    fn of(&self, session: &str) -> Option<Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }

    fn keep(&self, session: &str, holder: &str, seconds: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let again = all.get(session).filter(|held| held.holder == holder).map_or(0, |held| held.count);
        all.insert(session.to_owned(), Held { holder: holder.to_owned(), seconds, count: again + 1 });
    }

    /// Whether it was the last one of this holder.
    fn forget(&self, session: &str, holder: &str) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = all.get_mut(session).filter(|held| held.holder == holder) else { return false };
        held.count -= 1;
        held.count == 0 && all.remove(session).is_some()
    }
}
