//! Changing which servers there are: only those in `mcp.json`, which were added with a person's leave.

use std::sync::PoisonError;

use serde_json::{Value, json};

use super::Foreign;
use crate::foreign::server::{Origin, Server};
use crate::foreign::trouble::Trouble;

/// A change of the servers that were added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Add or replace one.
    Add(Box<Server>),
    /// Remove one.
    Remove(String),
    /// Switch one on or off.
    Enable(String, bool),
}

impl Foreign {
    /// Changes the servers that were added. Those of `config.toml` and of the vault are not ours to change.
    pub async fn change(&self, change: Change) -> Result<(), Trouble> {
        let name = match &change {
            Change::Add(server) => server.name.clone(),
            Change::Remove(name) | Change::Enable(name, _) => name.clone(),
        };
        self.may_change(&change)?;
        self.files()?.added.change(|file: &mut Value| apply(file, &change))?;
        let before = self.entries.write().unwrap_or_else(PoisonError::into_inner).remove(&name);
        if let Some(entry) = before {
            entry.drop_connection().await;
            if let Change::Enable(_, enabled) = change {
                self.insert(Server { enabled, ..entry.server.clone() });
            }
        }
        match change {
            Change::Add(server) => self.insert(*server),
            Change::Remove(name) => self.files()?.pins.forget(&name)?,
            Change::Enable(..) => {}
        }
        Ok(())
    }

    /// Whether a change is ours to make.
    pub fn may_change(&self, change: &Change) -> Result<(), Trouble> {
        let (name, new) = match change {
            Change::Add(server) => (&server.name, true),
            Change::Remove(name) | Change::Enable(name, _) => (name, false),
        };
        match self.entry(name) {
            Ok(entry) if entry.server.origin == Origin::Added => Ok(()),
            Ok(_) => Err(Trouble::Entry {
                name: name.clone(),
                why: "it is written in config.toml or the vault's .mcp.json, where a person changes it"
                    .to_owned(),
            }),
            Err(_) if new => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }
}

fn apply(file: &mut Value, change: &Change) {
    if !file.is_object() {
        *file = json!({});
    }
    if !file["mcpServers"].is_object() {
        file["mcpServers"] = json!({});
    }
    match change {
        Change::Add(server) => file["mcpServers"][&server.name] = server.entry(),
        Change::Remove(name) => {
            file["mcpServers"].as_object_mut().map(|servers| servers.remove(name));
        }
        Change::Enable(name, enabled) => file["mcpServers"][name]["enabled"] = json!(enabled),
    }
}
