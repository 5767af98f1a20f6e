//! Why something about conversations did not work, and what to do then. Every variant is a reason.

use std::path::PathBuf;

/// A reason. [`Error::hint`] says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No conversation has this id or title.
    #[error("there is no conversation `{wanted}`")]
    Missing {
        /// What was asked for.
        wanted: String,
        /// The ids that come nearest.
        nearest: Vec<String>,
    },
    /// Several conversations fit.
    #[error("`{wanted}` may be one of several conversations: {}", .ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// The ids that fit, the newest first; some of them, where there are many.
        ids: Vec<String>,
    },
    /// A conversation of this id is there already.
    #[error("there is a conversation `{id}` already")]
    Exists {
        /// The id.
        id: String,
    },
    /// The conversation has no step of this number.
    #[error("the conversation has {steps} steps, there is no step {number}")]
    NoSuchStep {
        /// The number that was asked for.
        number: u64,
        /// How many there are.
        steps: u64,
    },
    /// Somebody else works on the conversation.
    #[error("another process works on the conversation `{session}` ({holder})")]
    Busy {
        /// The conversation.
        session: String,
        /// Who: the process id and when it started.
        holder: String,
    },
    /// Our lease ended, and somebody else had one since.
    #[error("another process has taken over the conversation `{session}` meanwhile")]
    Overtaken {
        /// The conversation.
        session: String,
    },
    /// What was given cannot be used.
    #[error("{what} cannot be used: {why}")]
    Unfit {
        /// What.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// The file is not what was written into it.
    #[error("the file of conversations is damaged: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A newer Verger wrote the file.
    #[error(
        "the file of conversations is of version {found}, and this Verger knows version {known} and earlier ones"
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that we know.
        known: i64,
    },
    /// No room is left.
    #[error("the conversation cannot be written: no space is left for {}", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept the file for too long.
    #[error("the file of conversations is in use by another process")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be used, for a reason of the system.
    #[error("the file of conversations cannot be used: {why}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
}

impl Error {
    /// The reason as one word, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Missing { .. } => "session_missing",
            Error::Ambiguous { .. } => "session_ambiguous",
            Error::Exists { .. } => "session_exists",
            Error::NoSuchStep { .. } => "step_missing",
            Error::Busy { .. } => "session_busy",
            Error::Overtaken { .. } => "session_overtaken",
            Error::Unfit { .. } => "state_unfit",
            Error::Damaged { .. } => "state_damaged",
            Error::TooNew { .. } => "state_too_new",
            Error::Full { .. } => "state_full",
            Error::Locked { .. } => "state_locked",
            Error::Io { .. } => "state_unusable",
        }
    }

    /// What to do now.
    pub fn hint(&self) -> String {
        match self {
            Error::Missing { nearest, .. } if nearest.is_empty() => {
                "there are no conversations yet, or none is like it; list them first".to_owned()
            }
            Error::Missing { nearest, .. } => format!("nearest: {}; or list them first", nearest.join(", ")),
            Error::Ambiguous { .. } => "give more of the id".to_owned(),
            Error::Exists { .. } => "choose another id".to_owned(),
            Error::NoSuchStep { steps: 0, .. } => "the conversation is empty".to_owned(),
            Error::NoSuchStep { steps, .. } => format!("use a number from 1 to {steps}"),
            Error::Busy { .. } => {
                "wait until it is done, end it there, or fork the conversation and go on in the copy"
                    .to_owned()
            }
            Error::Overtaken { .. } => {
                "take the conversation up again, from its last step; nothing was written".to_owned()
            }
            Error::Unfit { .. } => "change it and try again; nothing was written".to_owned(),
            Error::Damaged { path, .. } => format!(
                "move it away ({path}, with {path}-wal and {path}-shm) and put a backup in its place, or begin without it; \
                 nothing was changed",
                path = path.display()
            ),
            Error::TooNew { path, .. } => {
                format!("use the newer Verger, or move {} away; nothing was changed", path.display())
            }
            Error::Full { .. } => "make room and try again; what was acknowledged is kept".to_owned(),
            Error::Locked { path } => {
                format!("try again; if it stays so, see which process has {} open", path.display())
            }
            Error::Io { path, .. } => {
                format!("check that {} and its folder can be read and written", path.display())
            }
        }
    }
}
