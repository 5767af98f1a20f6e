//! What became of a call whose caller died: asked by a conversation that goes on after a crash, so that nothing that had
//! an effect is done a second time.

use serde_json::Value;

use crate::audit::{Ended, Entry};
use crate::refusal::Refusal;
use crate::run::Road;

/// How many lines of the audit are looked at. A conversation goes on where it stopped, so its last calls are near the end.
const LINES: usize = 10_000;

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Nothing is known of it: it had no effect.
    Nothing,
    /// It changed the vault.
    Changed {
        /// From what it can be undone.
        checkpoint: String,
    },
    /// An action was begun, and it is not known how far it came.
    Begun,
    /// It ended without a change of the vault: an answer, a refusal, an action that was done.
    Ended(Ended),
}

impl Road {
    /// What became of the call of this name in this task.
    pub fn fate(&self, task: &str, key: &str) -> Result<Fate, Refusal> {
        let commits = self.vault().commits_with_notes();
        let is_it = |note: &Value| note["call"].as_str() == Some(key) && note["task"].as_str() == Some(task);
        if let Some((checkpoint, _)) = commits.into_iter().rev().find(|(_, note)| is_it(note)) {
            return Ok(Fate::Changed { checkpoint });
        }
        let lines = self.audit.last(LINES)?;
        let own = |line: &Entry| line.call.as_deref() == Some(key) && line.task == task;
        let newest = lines.iter().rev().find(|line| own(line)).map(|line| line.outcome);
        Ok(match newest {
            None => Fate::Nothing,
            Some(Ended::Started) => Fate::Begun,
            Some(other) => Fate::Ended(other),
        })
    }
}
