//! Verger's own agent: it talks to a model and works on the vault through the road.
//!
//! Used by the doors (`verger chat`, `ask`, `note run`, `acp`). Every effect goes through [`pipeline::Road`]; every step is on
//! disk before the next ([`step`]), so that a conversation can be taken up after a crash at any point. Read [`turn`] first.
//! Deliberately not here: what the tools do (`tools`, which this crate does not know), how a model is reached (`llm`), what a
//! terminal looks like (`verger`).

pub mod agents;
mod ask;
mod calls;
mod children;
pub mod commands;
mod condense;
pub mod conversation;
pub mod door;
pub mod export;
mod halt;
pub mod mentions;
pub mod mind;
pub mod prompt;
pub mod purse;
pub mod skills;
pub mod standing;
mod steer;
pub mod step;
pub mod text;
mod trouble;
mod turn;
pub mod workflows;

pub use ask::Settings;
pub use calls::Refusals;
pub use conversation::{Conversation, Spent};
pub use door::{Answers, Door, News};
pub use halt::Halt;
pub use mind::{Cast, Mind, Persona, SkillText, Talk};
pub use purse::Limits;
pub use step::{Ending, Over, Step};
pub use trouble::Trouble;
