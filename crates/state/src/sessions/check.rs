//! A look at the whole file: SQLite's own judgement, every seal, every number.

use rusqlite::Transaction;

use super::{Sessions, row};
use crate::db::Fault;
use crate::error::Error;

/// How many problems are told.
const TOLD: usize = 20;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// How many conversations were looked at.
    pub sessions: u64,
    /// How many steps.
    pub steps: u64,
    /// What is wrong; nothing if the file is sound.
    pub problems: Vec<String>,
}

impl Sessions {
    /// Reads everything and says what is wrong. Changes nothing.
    pub fn check(&self) -> Result<Checked, Error> {
        self.inner().db.read(|look| {
            let mut checked = Checked::default();
            structure(look, &mut checked.problems)?;
            let keys: Vec<i64> = look
                .prepare("SELECT key FROM sessions")?
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            for key in keys {
                checked.sessions += 1;
                let read = row::session_by_key(look, key).and_then(|row| {
                    row::each_step(look, &row, |_| {
                        checked.steps += 1;
                        Ok(())
                    })
                });
                told(read, &mut checked.problems)?;
            }
            told(every_word(look), &mut checked.problems)?;
            checked.problems.truncate(TOLD);
            Ok(checked)
        })
    }
}

/// SQLite's own check.
fn structure(look: &Transaction<'_>, problems: &mut Vec<String>) -> Result<(), Fault> {
    let mut statement = look.prepare(&format!("PRAGMA integrity_check({TOLD})"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let said: String = row.get(0)?;
        if said != "ok" {
            problems.push(said);
        }
    }
    let mut statement = look.prepare("PRAGMA foreign_key_check")?;
    if statement.query([])?.next()?.is_some() {
        problems.push("a step belongs to no conversation".to_owned());
    }
    Ok(())
}

fn every_word(look: &Transaction<'_>) -> Result<(), Fault> {
    let mut statement = look.prepare("SELECT session, number, time_ms, agent, role, text, seal FROM said")?;
    let mut rows = statement.query([])?;
    while let Some(found) = rows.next()? {
        row::read_said(found)?;
    }
    Ok(())
}

/// Damage is what we look for; any other fault ends the check.
fn told(read: Result<(), Fault>, problems: &mut Vec<String>) -> Result<(), Fault> {
    match read {
        Err(Fault::Damage(why)) => problems.push(why),
        other => other?,
    }
    Ok(())
}
