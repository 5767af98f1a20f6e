//! Verger's way to models. HTTP to models is made in one file ([`http`]); what turns text into vectors is in [`embed`].
//!
//! Used by the `verger` crate, which joins it with the vault. This crate knows no vault, no tool and no configuration file:
//! it is told a base address, a model's name, a key or a folder. What all chat models have in common is in [`chat`], and
//! which there are in [`Models`].

pub mod chat;
pub mod embed;
mod error;
pub mod http;
mod models;
mod secret;

pub use error::Error;
pub use models::{Dialect, Limits, Listed, Listing, Models, Provider, ProviderSettings, Tier};
pub use secret::Secret;
