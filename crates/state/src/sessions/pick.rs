//! Some steps of a conversation, by their kind: what was asked, what was paid. The rest, which may be long, is not read.

use rusqlite::params;

use super::{Sessions, Step, body, row};
use crate::db::Fault;
use crate::error::Error;

impl Sessions {
    /// The steps of one of these kinds, written at this time or later, in order.
    pub fn steps_of(&self, session: &str, kinds: &[&str], since_ms: i64) -> Result<Vec<Step>, Error> {
        self.inner().db.read(|look| {
            let of = row::session(look, session)?;
            let mut statement = look.prepare_cached(
                "SELECT number, time_ms, kind, body, seal FROM steps \
                 WHERE session = ?1 AND kind = ?2 AND time_ms >= ?3 ORDER BY number",
            )?;
            let mut steps = Vec::new();
            for kind in kinds {
                let mut rows = statement.query(params![of.key, kind, since_ms])?;
                while let Some(found) = rows.next()? {
                    let step = row::StepRow {
                        number: row::unsigned(found.get(0)?)?,
                        time_ms: found.get(1)?,
                        kind: row::text(found, 2)?,
                        body: row::text(found, 3)?,
                    };
                    if row::step_seal(of.key, &step) != *row::blob(found, 4)? {
                        return Err(Fault::Damage(format!(
                            "step {} of `{session}` was changed",
                            step.number
                        )));
                    }
                    steps.push(Step {
                        number: step.number,
                        time_ms: step.time_ms,
                        kind: step.kind.to_owned(),
                        body: body::read(step.body, step.number)?,
                    });
                }
            }
            steps.sort_by_key(|step| step.number);
            Ok(steps)
        })
    }
}
