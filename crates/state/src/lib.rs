//! What outlives a run: conversations, step by step.
//!
//! Used by the agent's loop, which writes every step before it goes on, and by the tools that look into the past. This crate
//! knows no model, no tool and no vault; what a step holds is the agent's business.

mod db;
mod error;
pub mod holder;
mod lease;
mod seal;
pub mod sessions;

pub use error::Error;
pub use lease::Lease;
pub use sessions::{
    Filter, Found, Header, NewSession, NewStep, Said, SearchHistory, Sessions, Step, check::Checked,
};
