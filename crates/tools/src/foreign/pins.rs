//! Pins: what a foreign tool said of itself when a person approved it. A tool that describes itself otherwise later
//! is not called; the next call is put before the person anew, with what changed.
//!
//! The hash covers the name, the title, the description, both schemas, the hints, and where the server is. Grants name
//! the hash, too, so that a standing yes ends with the description for which it was given.

use std::collections::BTreeMap;

use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::TextDiff;
use vault::store::blob::Hash;

use super::server::Server;
use super::store::JsonFile;
use super::trouble::Trouble;

/// How much of a description is kept to compare with.
const KEPT: usize = 4_000;

/// What is known of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// What it said last.
    pub seen: String,
    /// The description that belongs to it.
    pub description: String,
    /// What it said when it was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// The description that belongs to that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub approved_description: String,
}

impl Pin {
    /// What changed since it was approved, as a short diff; `None` if nothing did, or it never was.
    pub fn change(&self) -> Option<String> {
        let approved = self.approved.as_ref().filter(|approved| **approved != self.seen)?;
        if self.description == self.approved_description {
            return Some(format!("its schema or hints ({} is now {})", short(approved), short(&self.seen)));
        }
        let diff = TextDiff::from_lines(&self.approved_description, &self.description);
        let lines: String = diff
            .iter_all_changes()
            .filter(|change| change.tag() != similar::ChangeTag::Equal)
            .map(|change| format!("{}{} ", change.tag(), change.value().trim_end()))
            .collect();
        Some(lines.trim_end().chars().take(600).collect())
    }

    /// The short form of what it said last.
    pub fn mark(&self) -> &str {
        short(&self.seen)
    }
}

type File = BTreeMap<String, BTreeMap<String, Pin>>;

/// The pins of all servers.
#[derive(Debug, Clone)]
pub struct Pins(JsonFile);

impl Pins {
    /// The pins in this file.
    pub fn in_file(file: JsonFile) -> Pins {
        Pins(file)
    }

    /// What is known of a tool.
    pub fn get(&self, server: &str, tool: &str) -> Result<Option<Pin>, Trouble> {
        let mut file: File = self.0.read()?;
        Ok(file.get_mut(server).and_then(|tools| tools.remove(tool)))
    }

    /// Notes what the tools of a server say of themselves now. Tools that are gone keep their pins.
    pub fn see(&self, server: &Server, tools: &[Tool]) -> Result<(), Trouble> {
        let file: File = self.0.read()?;
        let news = |tool: &&Tool| {
            let known = file.get(&server.name).and_then(|known| known.get(tool.name.as_ref()));
            known.is_none_or(|pin| pin.seen != hash(server, tool))
        };
        let news: Vec<&Tool> = tools.iter().filter(news).collect();
        if news.is_empty() {
            return Ok(());
        }
        self.0.change(|file: &mut File| {
            let known = file.entry(server.name.clone()).or_default();
            for tool in news {
                let pin = known.entry(tool.name.to_string()).or_default();
                pin.seen = hash(server, tool);
                pin.description =
                    tool.description.as_deref().unwrap_or_default().chars().take(KEPT).collect();
            }
        })
    }

    /// A person approved the tool as it describes itself in `hash`.
    pub fn approve(&self, server: &str, tool: &str, hash: &str) -> Result<(), Trouble> {
        if self.get(server, tool)?.is_some_and(|pin| pin.approved.as_deref() == Some(hash)) {
            return Ok(());
        }
        self.0.change(|file: &mut File| {
            if let Some(pin) = file.get_mut(server).and_then(|tools| tools.get_mut(tool))
                && pin.seen == hash
            {
                pin.approved = Some(hash.to_owned());
                pin.approved_description = pin.description.clone();
            }
        })
    }

    /// Forgets a server.
    pub fn forget(&self, server: &str) -> Result<(), Trouble> {
        self.0.change(|file: &mut File| {
            file.remove(server);
        })
    }
}

/// What stands for all that a tool says of itself, and where.
pub fn hash(server: &Server, tool: &Tool) -> String {
    let mut said = serde_json::to_value(tool).unwrap_or_default();
    said.sort_all_objects();
    let place = server.entry();
    let place: Vec<&Value> = ["command", "args", "url", "type"].iter().map(|field| &place[field]).collect();
    Hash::of(&serde_json::to_vec(&(&server.name, place, said)).unwrap_or_default()).to_string()
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::server::Origin;
    use serde_json::json;

    fn tool(description: &str) -> Tool {
        serde_json::from_value(json!({
            "name": "t", "description": description, "inputSchema": {"type": "object", "b": 1, "a": 2}
        }))
        .unwrap()
    }

    fn server(command: &str) -> Server {
        Server::parse("s", &json!({"command": command}), Origin::Config).unwrap()
    }

    #[test]
    fn a_changed_description_shows_what_changed_until_it_is_approved() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::in_file(JsonFile::at(folder.path().join("p.json")));
        let server = server("x");
        pins.see(&server, &[tool("adds\nnumbers")]).unwrap();
        let first = pins.get("s", "t").unwrap().unwrap();
        assert_eq!((first.approved.as_ref(), first.change()), (None, None));
        pins.approve("s", "t", &first.seen).unwrap();
        assert_eq!(pins.get("s", "t").unwrap().unwrap().change(), None);
        pins.see(&server, &[tool("adds\nnumbers and mails them")]).unwrap();
        let changed = pins.get("s", "t").unwrap().unwrap();
        assert_eq!(changed.change().unwrap(), "-numbers +numbers and mails them");
        // An approval of what was there before does not count for what is there now.
        pins.approve("s", "t", &first.seen).unwrap();
        assert!(pins.get("s", "t").unwrap().unwrap().change().is_some());
        pins.approve("s", "t", &changed.seen).unwrap();
        assert_eq!(pins.get("s", "t").unwrap().unwrap().change(), None);
    }

    #[test]
    fn the_hash_covers_schema_hints_and_place_but_not_the_order_of_keys() {
        let plain = tool("d");
        let of = |change: &dyn Fn(&mut Value)| {
            let mut value = serde_json::to_value(&plain).unwrap();
            change(&mut value);
            hash(&server("x"), &serde_json::from_value(value).unwrap())
        };
        let base = of(&|_| ());
        assert_eq!(base, of(&|tool| tool["inputSchema"] = json!({"a": 2, "type": "object", "b": 1})));
        assert_ne!(base, of(&|tool| tool["inputSchema"]["a"] = json!(3)));
        assert_ne!(base, of(&|tool| tool["annotations"] = json!({"readOnlyHint": true})));
        assert_ne!(base, of(&|tool| tool["title"] = json!("T")));
        assert_ne!(base, hash(&server("y"), &plain));
    }
}
