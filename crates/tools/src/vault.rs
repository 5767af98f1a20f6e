//! Knowing the vault: properties, tags, links, days, health.
