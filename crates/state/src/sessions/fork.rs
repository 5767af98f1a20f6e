//! A fork: a copy of a conversation up to a step, to go on from there another way.

use rusqlite::params;

use super::{NewSession, Said, Sessions, create, row};
use crate::error::Error;

impl Sessions {
    /// Copies a conversation, or its steps up to and with `up_to`, into a new one. Children are not copied.
    pub fn fork(&self, from: &str, up_to: Option<u64>, new: &NewSession) -> Result<(), Error> {
        self.inner().db.write(|change| {
            let source = row::session(change, from)?;
            let last = up_to.unwrap_or(source.header.steps);
            if last > source.header.steps {
                return Err(Error::NoSuchStep { number: last, steps: source.header.steps }.into());
            }
            let mut copy = create(change, &NewSession { forked_from: Some(from.to_owned()), ..new.clone() })?;
            row::each_step(change, &source, |step| {
                if step.number > last { Ok(()) } else { row::insert_step(change, &copy, step) }
            })?;
            let mut statement = change.prepare_cached(
                "SELECT session, number, time_ms, agent, role, text, seal FROM said \
                 WHERE session = ?1 AND number <= ?2 ORDER BY number",
            )?;
            let mut rows = statement.query(params![source.key, row::signed(last)])?;
            while let Some(found) = rows.next()? {
                let (_, said) = row::read_said(found)?;
                let words = Said { role: said.role.to_owned(), text: said.text.to_owned() };
                row::insert_said(change, &copy, said.number, said.time_ms, said.agent, &words)?;
            }
            copy.header.steps = last;
            row::update(change, &copy)
        })
    }
}
