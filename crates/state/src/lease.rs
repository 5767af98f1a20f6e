//! One at a time works on a conversation: it takes a lease, each step that it writes renews it, and nobody else can write
//! meanwhile, no other process and no other part of this one. A lease ends when it is dropped, when its process is gone, or when its time is over.

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
    token: i64,
}

/// A lease as it lies in the file.
struct Lain {
    holder: String,
    until_ms: i64,
    token: i64,
}

impl Lain {
    fn has_ended(&self, now_ms: i64) -> bool {
        now_ms >= self.until_ms || holder::is_gone(&self.holder)
    }
}

/// The right to write to a conversation. Given back when it is dropped.
#[derive(Debug)]
#[must_use = "a lease ends when it is dropped"]
pub struct Lease {
    sessions: Sessions,
    session: String,
    token: i64,
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
        let given_back = inner.db.write(|change| {
            change.execute(
                "DELETE FROM leases WHERE token = ?2 AND session = (SELECT key FROM sessions WHERE id = ?1)",
                params![self.session, self.token],
            )?;
            Ok(())
        });
        // If it could not be written the lease ends with its time, or with this process.
        given_back.ok();
        inner.leases.forget(&self.session);
    }
}

impl Sessions {
    /// Takes the right to write to a conversation, for so many seconds after the last step. The holder is a process as
    /// [`holder::this_process`] names it; whoever has the lease already does not get another, but renews it by its steps.
    pub fn lease(&self, session: &str, holder: &str, now_ms: i64, seconds: u64) -> Result<Lease, Error> {
        let inner = self.inner();
        let token = inner.db.write(|change| {
            let row = row::session(change, session)?;
            // Ours has not ended as long as somebody here has it, even if its time is over.
            let ours = inner.leases.of(session).map(|held| held.holder);
            let other = lain(change, &row)?.filter(|lain| !lain.has_ended(now_ms)).map(|lain| lain.holder);
            if let Some(other) = other.or(ours) {
                return Err(busy(&row, other));
            }
            let token: i64 = change.query_row("SELECT random()", [], |row| row.get(0))?;
            put(change, &row, &Lain { holder: holder.to_owned(), until_ms: until(now_ms, seconds), token })?;
            Ok(token)
        })?;
        inner.leases.keep(session, Held { holder: holder.to_owned(), seconds, token });
        Ok(Lease { sessions: self.clone(), session: session.to_owned(), token })
    }
}

/// Lets a change of a conversation pass, and renews our lease; not while somebody else has one, and not after somebody else
/// had one: then we do not know what the conversation is by now.
pub fn pass(change: &Transaction<'_>, leases: &Leases, row: &Row, now_ms: i64) -> Result<(), Fault> {
    let there = lain(change, row)?;
    let Some(held) = leases.of(&row.header.id) else {
        return match there.filter(|lain| !lain.has_ended(now_ms)) {
            Some(other) => Err(busy(row, other.holder)),
            None => Ok(()),
        };
    };
    match there {
        Some(lain) if lain.token == held.token => {
            put(change, row, &Lain { until_ms: until(now_ms, held.seconds), ..lain })
        }
        Some(other) if !other.has_ended(now_ms) => Err(busy(row, other.holder)),
        _ => Err(Error::Overtaken { session: row.header.id.clone() }.into()),
    }
}

fn lain(change: &Transaction<'_>, row: &Row) -> Result<Option<Lain>, Fault> {
    let found = change
        .prepare_cached("SELECT holder, until_ms, token FROM leases WHERE session = ?1")?
        .query_row(params![row.key], |row| {
            Ok(Lain { holder: row.get(0)?, until_ms: row.get(1)?, token: row.get(2)? })
        })
        .optional()?;
    Ok(found)
}

fn put(change: &Transaction<'_>, row: &Row, lease: &Lain) -> Result<(), Fault> {
    change
        .prepare_cached(
            "INSERT OR REPLACE INTO leases (session, holder, until_ms, token) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![row.key, lease.holder, lease.until_ms, lease.token])?;
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

    fn keep(&self, session: &str, held: Held) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session.to_owned(), held);
    }

    fn forget(&self, session: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }
}
