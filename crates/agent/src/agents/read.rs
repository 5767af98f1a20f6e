//! An agent's file: Markdown with front matter. What it says is checked against the groups and tools there are.

use std::collections::BTreeSet;

use pipeline::refusal::nearest;
use pipeline::registry::Listing;
use pipeline::{Group, Rights};

use super::Agent;
use crate::text::{Fault, Fields, LONGEST, Text, clip, is_name, one_line};

/// What can be said about an agent.
const KEYS: [&str; 8] = ["name", "groups", "tools", "deny", "role", "when_to_use", "description", "model"];
/// What people's notes have besides; it means nothing here.
const TOLERATED: [&str; 7] = ["tags", "aliases", "icon", "version", "author", "created", "modified"];
const LONGEST_NAME: usize = 100;
const LONGEST_ROLE: usize = 4_000;
const LONGEST_USE: usize = 1_024;

/// Reads one. What it leaves out is as in the one it overrides; a new one only reads unless it says otherwise.
pub(super) fn agent(text: &Text, overridden: Option<&Agent>, tools: &[Listing]) -> Result<Agent, Fault> {
    let slug = text.stem();
    if !is_name(slug) {
        return Err(Fault::Name { name: one_line(&clip(slug, 64)) });
    }
    let (fields, body) = Fields::read(&text.text, LONGEST)?;
    fields.only(&[&KEYS[..], &TOLERATED[..]].concat())?;
    let groups = match fields.list("groups")? {
        Some(names) => names.iter().map(|name| group(name)).collect::<Result<BTreeSet<Group>, Fault>>()?,
        None => overridden.map_or_else(|| [Group::Read, Group::Vault].into(), |agent| agent.groups.clone()),
    };
    let allowed = match fields.list("tools")? {
        Some(names) => Some(names),
        None => overridden.and_then(|agent| agent.tools.clone()),
    };
    let deny = match fields.list("deny")? {
        Some(names) => names,
        None => overridden.map(|agent| agent.deny.clone()).unwrap_or_default(),
    };
    check_tools(allowed.as_deref().unwrap_or_default(), Some(&groups), tools)?;
    check_tools(&deny, None, tools)?;
    let when_to_use = match fields.text("when_to_use", LONGEST_USE)? {
        Some(text) => Some(text),
        None => fields.text("description", LONGEST_USE)?,
    };
    let inherited = |of: fn(&Agent) -> String| overridden.map(of);
    Ok(Agent {
        slug: slug.to_owned(),
        name: fields
            .text("name", LONGEST_NAME)?
            .map(|name| one_line(&name))
            .or_else(|| inherited(|agent| agent.name.clone()))
            .unwrap_or_else(|| slug.to_owned()),
        groups,
        tools: allowed,
        deny,
        role: fields
            .text("role", LONGEST_ROLE)?
            .or_else(|| inherited(|agent| agent.role.clone()))
            .unwrap_or_default(),
        instructions: match body {
            "" => inherited(|agent| agent.instructions.clone()).unwrap_or_default(),
            body => body.to_owned(),
        },
        when_to_use: when_to_use
            .map(|text| one_line(&text))
            .or_else(|| inherited(|agent| agent.when_to_use.clone()))
            .unwrap_or_default(),
        model: match fields.text("model", LONGEST_NAME)? {
            Some(model) => Some(model),
            None => overridden.and_then(|agent| agent.model.clone()),
        },
        source: text.origin,
        path: Some(text.path.clone()),
    })
}

fn group(name: &str) -> Result<Group, Fault> {
    Group::ALL.into_iter().find(|group| group.name() == name).ok_or_else(|| Fault::UnknownGroup {
        name: one_line(&clip(name, 64)),
        near: nearest(name, Group::ALL.iter().map(|group| group.name())).map(str::to_owned),
    })
}

/// A misspelt name would silently take a tool away or leave it, so it is a fault; so is a tool that can never be called.
fn check_tools(names: &[String], groups: Option<&BTreeSet<Group>>, tools: &[Listing]) -> Result<(), Fault> {
    for name in names {
        let Some(tool) = tools.iter().find(|tool| tool.spec.name == name.as_str()) else {
            return Err(Fault::UnknownTool {
                name: one_line(&clip(name, 64)),
                near: nearest(name, tools.iter().map(|tool| tool.spec.name.as_ref())).map(str::to_owned),
            });
        };
        // Some tools are for everybody, whatever their group.
        let callable = |groups: &BTreeSet<Group>| Rights::groups(groups.iter().copied()).permit(&tool.spec);
        if groups.is_some_and(|groups| !callable(groups)) {
            return Err(Fault::OutsideGroups { tool: name.clone(), group: tool.spec.group.name() });
        }
    }
    Ok(())
}
