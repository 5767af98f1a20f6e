//! How a command ends when it does not end well: a refusal with its exit code. `main.rs` turns it into words.

use std::process::ExitCode;

use pipeline::Refusal;

/// Why a command stops, and with which exit code.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What to say.
    pub refusal: Box<Refusal>,
}

/// The exit codes. [`EXIT_CODES`] says them to people; `exit_codes_are_what_the_help_says` compares the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Refused by a rule, or failed.
    Failed = 1,
    /// The command line does not make sense.
    Usage = 2,
    /// Whoever was asked said no, or nobody was there to ask.
    Denied = 3,
    /// `check` found problems.
    Problems = 4,
}

/// For `verger help exit-codes` and the manual page.
pub const EXIT_CODES: &str = "\
0  everything went well (a dry run too)
1  refused by a rule, or failed; nothing was changed
2  the command line or the configuration does not make sense
3  not approved: somebody said no, or nobody was there to ask and neither --yes nor a grant covered it
4  `verger check` found problems
";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

impl Failure {
    /// A failure with a message and what to do about it.
    pub fn new(
        exit: Exit,
        reason: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Failure {
        Failure { exit, refusal: Box::new(Refusal::new(reason, message, hint)) }
    }

    /// A command line that does not make sense.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, "usage", message, hint)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let exit = if refusal.reason == "denied" { Exit::Denied } else { Exit::Failed };
        Failure { exit, refusal: Box::new(refusal) }
    }
}

impl From<state::Error> for Failure {
    fn from(error: state::Error) -> Failure {
        Failure::from(tools::agent::search_history::refused(error))
    }
}

impl From<vault::Error> for Failure {
    fn from(error: vault::Error) -> Failure {
        Failure::from(Refusal::from(error))
    }
}
