//! The ledger of three legs, kept per conversation: private data was read · untrusted text came in · something would
//! leave the machine. Whatever grants exist, the step that would complete the third leg asks a person and says why.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::plan::{Leaves, Output, Source};

/// Which legs stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Legs {
    /// Private data was read.
    pub private: bool,
    /// Untrusted text came in.
    pub untrusted: bool,
    /// Something has left the machine.
    pub left: bool,
}

/// The ledger of one conversation. Legs are never taken away again, not by a summary, not by a restart.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Legs>);

impl Ledger {
    /// A ledger that goes on from before (a resumed conversation, a child of another).
    pub fn resumed(legs: Legs) -> Ledger {
        Ledger(Mutex::new(legs))
    }

    /// The legs that stand.
    pub fn legs(&self) -> Legs {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what an answer brought in. A note is private, and may hold text that somebody else wrote.
    pub fn record(&self, output: &Output) {
        let mut legs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &output.source {
            Some(Source::Vault(_)) => {
                legs.private = true;
                legs.untrusted = true;
            }
            Some(Source::Outside(_)) => legs.untrusted = true,
            None => {}
        }
    }

    /// Notes that text of the vault was shown.
    pub fn record_notes(&self) {
        let mut legs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        legs.private = true;
        legs.untrusted = true;
    }

    /// Adds legs that stand elsewhere: those of a child, of a conversation that goes on.
    pub fn join(&self, other: Legs) {
        let mut legs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        legs.private |= other.private;
        legs.untrusted |= other.untrusted;
        legs.left |= other.left;
    }

    /// Notes that something left the machine.
    pub fn record_sent(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).left = true;
    }

    /// Why a person must decide about an action, if they must.
    pub fn warning(&self, leaves: Leaves) -> Option<String> {
        let legs = self.legs();
        (leaves == Leaves::Something && legs.private && legs.untrusted).then(|| {
            "this conversation has read private notes and text that somebody else may have written, and this step would \
             send something off this machine; a hidden instruction in that text could be behind it"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_step_that_completes_the_third_leg_warns() {
        let answer = |source: Option<Source>| Output { source, ..Output::default() };
        let vault = || answer(Some(Source::Vault("a.md".into())));
        let web = || answer(Some(Source::Outside("https://x".into())));
        for (outputs, leaves, warns) in [
            (vec![], Leaves::Something, false),
            (vec![answer(None)], Leaves::Something, false),
            (vec![web()], Leaves::Something, false),
            (vec![vault()], Leaves::Something, true),
            (vec![vault(), web()], Leaves::Something, true),
            (vec![vault(), web()], Leaves::Nothing, false),
        ] {
            let ledger = Ledger::default();
            outputs.iter().for_each(|output| ledger.record(output));
            assert_eq!(ledger.warning(leaves).is_some(), warns, "{outputs:?} {leaves:?}");
            assert_eq!(Ledger::resumed(ledger.legs()).warning(leaves).is_some(), warns, "after a restart");
        }
    }
}
