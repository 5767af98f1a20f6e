//! Verger's way to models. HTTP to models is made in one file ([`http`]); what turns text into vectors is in [`embed`].
//!
//! Used by the `verger` crate, which joins it with the vault. This crate knows no vault, no tool and no configuration file:
//! it is told a base address, a model's name, a key or a folder. Deliberately not here yet: chat models; they will use
//! [`http`], [`Secret`] and [`Error`] as the embedding models do.

pub mod embed;
mod error;
pub mod http;
mod secret;

pub use error::Error;
pub use secret::Secret;
