//! What keeps a conversation from being led at all. What goes wrong inside a turn is told to the model, or ends the turn
//! ([`crate::Over`]); this is for what cannot be written down or found.

use pipeline::Refusal;

/// Why a conversation cannot be led.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Its steps cannot be read or written.
    #[error(transparent)]
    State(#[from] state::Error),
    /// Its model is not there.
    #[error(transparent)]
    Model(#[from] llm::Error),
    /// Something was refused.
    #[error("{}", .0.message)]
    Refused(#[from] Refusal),
    /// A part of the program broke down.
    #[error("a part of Verger broke down; the conversation is on disk up to its last step")]
    Broken,
}

impl Trouble {
    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Trouble::State(error) => error.hint().to_string(),
            Trouble::Model(error) => error.hint().to_owned(),
            Trouble::Refused(refusal) => refusal.hint.clone(),
            Trouble::Broken => "take the conversation up again, and please report this".to_owned(),
        }
    }
}
