//! Everything that can go wrong with a model, as reasons, each with what to do.

use std::time::Duration;

/// Why a model gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The base address cannot be used.
    #[error("`{url}` cannot be used: {why}")]
    Address {
        /// The address as it was given.
        url: String,
        /// Why not.
        why: &'static str,
    },
    /// The service does not know us.
    #[error("{service} refused the key ({status}): {message}")]
    Auth {
        /// Host and port.
        service: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// Too many requests.
    #[error("{service} is asked too often (429): {message}")]
    RateLimit {
        /// Host and port.
        service: String,
        /// What it said.
        message: String,
        /// How long it wants to be left alone.
        wait: Duration,
    },
    /// The service is overloaded or broken.
    #[error("{service} cannot answer now ({status}): {message}")]
    Overloaded {
        /// Host and port.
        service: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The service or the model does not exist there.
    #[error("{service} knows no such address or model ({status}): {message}")]
    NotFound {
        /// Host and port.
        service: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The service cannot do what it was asked.
    #[error("{service} refused the request ({status}): {message}")]
    BadRequest {
        /// Host and port.
        service: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The service could not be reached, or the connection broke.
    #[error("{service} cannot be reached: {message}")]
    Network {
        /// Host and port.
        service: String,
        /// What happened.
        message: String,
    },
    /// The answer took too long.
    #[error("{service} did not answer within {seconds} s")]
    Slow {
        /// Host and port.
        service: String,
        /// The limit.
        seconds: u64,
    },
    /// The answer is larger than any answer should be.
    #[error("{service} sent more than {limit} bytes")]
    TooBig {
        /// Host and port.
        service: String,
        /// The limit.
        limit: usize,
    },
    /// The answer is not what was asked for.
    #[error("{service} gave an answer that makes no sense: {message}")]
    Answer {
        /// Host and port.
        service: String,
        /// What is wrong with it.
        message: String,
    },
    /// The conversation no longer fits into the model's window.
    #[error("{service} says that the conversation is too long: {message}")]
    ContextFull {
        /// Host and port.
        service: String,
        /// What it said.
        message: String,
    },
    /// The service will not answer this.
    #[error("{service} will not answer this: {message}")]
    Refused {
        /// Host and port.
        service: String,
        /// What it said.
        message: String,
    },
    /// The model cannot call tools.
    #[error("{service}: this model cannot call tools ({message})")]
    NoTools {
        /// Host and port.
        service: String,
        /// What it said.
        message: String,
    },
    /// The answer broke off before its end.
    #[error("{service} broke off in the middle of its answer: {message}")]
    Cut {
        /// Host and port.
        service: String,
        /// How it ended.
        message: String,
    },
    /// There is no model of this name.
    #[error("there is no model `{name}`")]
    NoModel {
        /// The name.
        name: String,
    },
    /// There is no model of this name, but there are some with a similar one.
    #[error("there is no model `{name}`; near it: {}", near.join(", "))]
    NearModel {
        /// The name.
        name: String,
        /// Names that there are.
        near: Vec<String>,
    },
    /// The account has nothing left to spend.
    #[error("{service} says that the account's means are used up: {message}")]
    Quota {
        /// Host and port.
        service: String,
        /// What it said.
        message: String,
    },
    /// A provider's settings cannot be used.
    #[error("provider `{provider}`: {message}")]
    Setting {
        /// The provider.
        provider: String,
        /// What is wrong with them.
        message: String,
    },
    /// A line of a script cannot be read.
    #[error("{file}, line {line}: {message}")]
    Script {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// A model's file is missing, damaged or of another kind.
    #[error("{file}: {message}")]
    File {
        /// The file or folder.
        file: String,
        /// What was expected.
        message: String,
    },
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Address { .. } => "use https://, or http:// to this machine (127.0.0.1, localhost, [::1])",
            Error::Auth { .. } => "check the key in the variable that the configuration names",
            Error::RateLimit { .. } | Error::Overloaded { .. } => "wait, and try again",
            Error::NotFound { .. } => {
                "check the address and the model's name; with Ollama, pull the model first"
            }
            Error::BadRequest { .. } => "check the model's name and its settings",
            Error::Network { .. } | Error::Slow { .. } => {
                "check that the service runs and that the address is right"
            }
            Error::TooBig { .. } | Error::Answer { .. } => {
                "check that the address is that of a model service"
            }
            Error::ContextFull { .. } => {
                "make the conversation shorter, or take a model with a larger window"
            }
            Error::Refused { .. } => "ask in another way, or ask another model",
            Error::NoTools { .. } => "take a model that can call tools",
            Error::Cut { .. } => "try again",
            Error::NearModel { .. } => "take one of these; `verger models` lists all",
            Error::Quota { .. } => "look at the account's credit and limits, or take another provider",
            Error::Setting { .. } => "correct it in `config.toml`; `docs/config.md` says what it may hold",
            Error::Script { .. } => "correct the line: one turn of a script is one JSON object",
            Error::NoModel { .. } => "`verger models` lists those that there are",
            Error::File { .. } => "check the folder; `docs/guide/meaning.md` says what it must hold",
        }
    }

    /// The same error with what the service said changed by this: keys are taken out with it.
    pub(crate) fn with_message(mut self, change: impl Fn(&str) -> String) -> Error {
        match &mut self {
            Error::Auth { message, .. }
            | Error::RateLimit { message, .. }
            | Error::Overloaded { message, .. }
            | Error::NotFound { message, .. }
            | Error::BadRequest { message, .. }
            | Error::Network { message, .. }
            | Error::Answer { message, .. }
            | Error::ContextFull { message, .. }
            | Error::Refused { message, .. }
            | Error::NoTools { message, .. }
            | Error::Cut { message, .. }
            | Error::Quota { message, .. }
            | Error::Setting { message, .. }
            | Error::Script { message, .. }
            | Error::File { message, .. } => *message = change(message),
            Error::Address { .. }
            | Error::Slow { .. }
            | Error::TooBig { .. }
            | Error::NoModel { .. }
            | Error::NearModel { .. } => {}
        }
        self
    }

    /// Whether asking the same again may help.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Error::RateLimit { .. }
                | Error::Overloaded { .. }
                | Error::Network { .. }
                | Error::Slow { .. }
                | Error::Cut { .. }
        )
    }
}
