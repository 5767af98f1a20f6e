//! Rows of the tables: written with their seal, and read only where the seal fits.

use rusqlite::{OptionalExtension, Transaction, params};

use super::{Header, Said};
use crate::db::Fault;
use crate::seal::{optional, seal};

/// A conversation's row.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its number in the file.
    pub key: i64,
    /// What it says.
    pub header: Header,
}

/// A step's row.
#[derive(Debug)]
pub struct StepRow<'r> {
    pub number: u64,
    pub time_ms: i64,
    pub kind: &'r str,
    pub body: &'r str,
}

/// What was said, as a row.
#[derive(Debug)]
pub struct SaidRow<'r> {
    pub number: u64,
    pub time_ms: i64,
    pub agent: &'r str,
    pub role: &'r str,
    pub text: &'r str,
}

/// The columns of [`read`], in their order.
pub const HEADER: &str =
    "key, id, title, agent, model, parent, forked_from, created_ms, updated_ms, steps, seal";

/// The conversation of this id.
pub fn session(look: &Transaction<'_>, id: &str) -> Result<Row, Fault> {
    match session_if_there(look, id)? {
        Some(row) => Ok(row),
        None => Err(super::find::missing(look, id)?.into()),
    }
}

/// The conversation of this id, if there is one.
pub fn session_if_there(look: &Transaction<'_>, id: &str) -> Result<Option<Row>, Fault> {
    let mut statement = look.prepare_cached(&format!("SELECT {HEADER} FROM sessions WHERE id = ?1"))?;
    let found = statement.query_row(params![id], |row| Ok(read(row))).optional()?.transpose()?;
    match found {
        // The index is not sealed: it may lead to another row.
        Some(row) if row.header.id != id => Err(Fault::Damage("an index leads to another row".to_owned())),
        found => Ok(found),
    }
}

/// The conversation of this number in the file.
pub fn session_by_key(look: &Transaction<'_>, key: i64) -> Result<Row, Fault> {
    let mut statement = look.prepare_cached(&format!("SELECT {HEADER} FROM sessions WHERE key = ?1"))?;
    let found = statement.query_row(params![key], |row| Ok(read(row))).optional()?.transpose()?;
    found.ok_or_else(|| Fault::Damage("the conversation of a step is missing".to_owned()))
}

/// A row of `sessions`, judged.
pub fn read(row: &rusqlite::Row<'_>) -> Result<Row, Fault> {
    let key = row.get(0)?;
    let header = Header {
        id: row.get(1)?,
        title: row.get(2)?,
        agent: row.get(3)?,
        model: row.get(4)?,
        parent: row.get(5)?,
        forked_from: row.get(6)?,
        created_ms: row.get(7)?,
        updated_ms: row.get(8)?,
        steps: unsigned(row.get(9)?)?,
    };
    let kept: Vec<u8> = row.get(10)?;
    if header_seal(key, &header) != *kept {
        return Err(Fault::Damage("the row of a conversation was changed".to_owned()));
    }
    Ok(Row { key, header })
}

/// Writes a new row.
pub fn insert(change: &Transaction<'_>, header: Header) -> Result<Row, Fault> {
    let key: i64 =
        change.query_row("SELECT coalesce(max(key), 0) + 1 FROM sessions", [], |row| row.get(0))?;
    change
        .prepare_cached(&format!(
            "INSERT INTO sessions ({HEADER}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
        ))?
        .execute(params![
            key,
            header.id,
            header.title,
            header.agent,
            header.model,
            header.parent,
            header.forked_from,
            header.created_ms,
            header.updated_ms,
            signed(header.steps),
            header_seal(key, &header)
        ])?;
    Ok(Row { key, header })
}

/// Writes what may change in a row.
pub fn update(change: &Transaction<'_>, row: &Row) -> Result<(), Fault> {
    let header = &row.header;
    let changed = change
        .prepare_cached(
            "UPDATE sessions SET title = ?2, agent = ?3, model = ?4, updated_ms = ?5, steps = ?6, seal = ?7 \
             WHERE key = ?1",
        )?
        .execute(params![
            row.key,
            header.title,
            header.agent,
            header.model,
            header.updated_ms,
            signed(header.steps),
            header_seal(row.key, header)
        ])?;
    if changed == 1 { Ok(()) } else { Err(Fault::Damage("a row cannot be found again".to_owned())) }
}

/// This conversation, its children, their children …
pub fn with_children(look: &Transaction<'_>, row: &Row) -> Result<Vec<Row>, Fault> {
    let mut all = vec![row.clone()];
    let mut at = 0;
    while let Some(parent) = all.get(at).map(|row| row.header.id.clone()) {
        let mut statement =
            look.prepare_cached(&format!("SELECT {HEADER} FROM sessions WHERE parent = ?1"))?;
        let mut rows = statement.query(params![parent])?;
        while let Some(row) = rows.next()? {
            let child = read(row)?;
            // Damage could make a circle of them.
            if all.iter().any(|known| known.key == child.key) {
                return Err(Fault::Damage("a conversation is its own child".to_owned()));
            }
            all.push(child);
        }
        at += 1;
    }
    Ok(all)
}

/// Writes a step.
pub fn insert_step(change: &Transaction<'_>, row: &Row, step: &StepRow<'_>) -> Result<(), Fault> {
    change
        .prepare_cached(
            "INSERT INTO steps (session, number, time_ms, kind, body, seal) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            row.key,
            signed(step.number),
            step.time_ms,
            step.kind,
            step.body,
            step_seal(row.key, step)
        ])?;
    Ok(())
}

/// Writes what search should find of a step.
pub fn insert_said(
    change: &Transaction<'_>,
    row: &Row,
    number: u64,
    time_ms: i64,
    agent: &str,
    said: &Said,
) -> Result<(), Fault> {
    let written = SaidRow { number, time_ms, agent, role: &said.role, text: &said.text };
    change
        .prepare_cached(
            "INSERT INTO said (session, number, time_ms, agent, role, text, seal) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            row.key,
            signed(number),
            time_ms,
            agent,
            said.role,
            said.text,
            said_seal(row.key, &written)
        ])?;
    Ok(())
}

/// Shows every step in order. A gap, a step too many or a changed one is damage.
pub fn each_step(
    look: &Transaction<'_>,
    row: &Row,
    mut show: impl FnMut(&StepRow<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut statement = look.prepare_cached(
        "SELECT number, time_ms, kind, body, seal FROM steps WHERE session = ?1 ORDER BY number",
    )?;
    let mut rows = statement.query(params![row.key])?;
    let mut expected = 0;
    while let Some(found) = rows.next()? {
        expected += 1;
        let step = StepRow {
            number: unsigned(found.get(0)?)?,
            time_ms: found.get(1)?,
            kind: text(found, 2)?,
            body: text(found, 3)?,
        };
        if step.number != expected {
            return Err(Fault::Damage(format!("step {expected} of `{}` is missing", row.header.id)));
        }
        if step_seal(row.key, &step) != *blob(found, 4)? {
            return Err(Fault::Damage(format!("step {expected} of `{}` was changed", row.header.id)));
        }
        show(&step)?;
    }
    if expected == row.header.steps {
        return Ok(());
    }
    let why = format!("`{}` has {} steps, and {expected} are there", row.header.id, row.header.steps);
    Err(Fault::Damage(why))
}

/// A row of what was said, judged. Columns: session, number, time_ms, agent, role, text, seal.
pub fn read_said<'r>(row: &'r rusqlite::Row<'_>) -> Result<(i64, SaidRow<'r>), Fault> {
    let session = row.get(0)?;
    let said = SaidRow {
        number: unsigned(row.get(1)?)?,
        time_ms: row.get(2)?,
        agent: text(row, 3)?,
        role: text(row, 4)?,
        text: text(row, 5)?,
    };
    if said_seal(session, &said) != *blob(row, 6)? {
        return Err(Fault::Damage("what was said in a conversation was changed".to_owned()));
    }
    Ok((session, said))
}

fn header_seal(key: i64, header: &Header) -> [u8; 16] {
    seal(&[
        b"session",
        &key.to_le_bytes(),
        header.id.as_bytes(),
        &optional(header.title.as_deref()),
        header.agent.as_bytes(),
        header.model.as_bytes(),
        &optional(header.parent.as_deref()),
        &optional(header.forked_from.as_deref()),
        &header.created_ms.to_le_bytes(),
        &header.updated_ms.to_le_bytes(),
        &header.steps.to_le_bytes(),
    ])
}

pub(super) fn step_seal(session: i64, step: &StepRow<'_>) -> [u8; 16] {
    seal(&[
        b"step",
        &session.to_le_bytes(),
        &step.number.to_le_bytes(),
        &step.time_ms.to_le_bytes(),
        step.kind.as_bytes(),
        step.body.as_bytes(),
    ])
}

fn said_seal(session: i64, said: &SaidRow<'_>) -> [u8; 16] {
    seal(&[
        b"said",
        &session.to_le_bytes(),
        &said.number.to_le_bytes(),
        &said.time_ms.to_le_bytes(),
        said.agent.as_bytes(),
        said.role.as_bytes(),
        said.text.as_bytes(),
    ])
}

pub(super) fn text<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<&'r str, Fault> {
    let value = row.get_ref(column)?;
    value.as_str().map_err(|error| Fault::Damage(error.to_string()))
}

pub(super) fn blob<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<&'r [u8], Fault> {
    let value = row.get_ref(column)?;
    value.as_blob().map_err(|error| Fault::Damage(error.to_string()))
}

/// A count as SQLite keeps it; no count of ours comes near the limit.
pub fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> Result<u64, Fault> {
    u64::try_from(number).map_err(|_| Fault::Damage("a count is below nothing".to_owned()))
}
