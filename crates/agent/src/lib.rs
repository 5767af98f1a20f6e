//! Verger's own agent: it talks to a model and works on the vault through the road.
//!
//! Used by the doors (`verger chat`, `ask`, `note run`, `acp`). Every effect goes through [`pipeline::Road`]; every step is on
//! disk before the next. Deliberately not here: what the tools do (`tools`, which this crate does not know), how a model is
//! reached (`llm`), what a terminal looks like (`verger`).

pub mod agents;
pub mod commands;
pub mod mentions;
pub mod skills;
pub mod standing;
pub mod text;
pub mod workflows;
