//! A `SKILL.md`: its front matter, checked by the rules of agentskills.io, and its body.

use pipeline::registry::Listing;

use super::{Found, Skill};
use crate::text::{Fault, Fields, clip, is_name, one_line};

/// The longest `SKILL.md`, in characters; a model gets less of it.
const LONGEST: usize = 200_000;
const LONGEST_DESCRIPTION: usize = 1_024;
const LONGEST_OTHER: usize = 500;

/// What other programs call the tools that skills name most.
const KNOWN_ELSEWHERE: [(&str, &str); 12] = [
    ("AskUserQuestion", "ask_user"),
    ("Edit", "edit_file"),
    ("Glob", "list_files"),
    ("Grep", "search_files"),
    ("LS", "list_files"),
    ("MultiEdit", "edit_file"),
    ("Read", "read_file"),
    ("Task", "new_task"),
    ("TodoWrite", "update_todo_list"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
    ("Write", "write_file"),
];

/// Reads one. Keys that are not known are left alone: the format grows.
pub(super) fn skill(found: &Found, tools: &[Listing]) -> Result<Skill, Fault> {
    let (fields, body) = Fields::read(&found.text.text, LONGEST)?;
    let name = fields.text("name", 64)?.ok_or(Fault::Missing { field: "name" })?;
    if !is_name(&name) {
        return Err(Fault::Name { name: one_line(&clip(&name, 64)) });
    }
    if name != found.folder() {
        return Err(Fault::NameDiffers { name, folder: one_line(&clip(found.folder(), 64)) });
    }
    let description = fields.text("description", LONGEST_DESCRIPTION)?;
    let description = description.map(|text| one_line(&text)).filter(|text| !text.is_empty());
    let listed = match fields.list("allowed-tools")? {
        Some(names) => Some(names),
        None => fields.list("allowedTools")?,
    };
    let (allowed, elsewhere) = match listed {
        Some(names) => sorted(&names, tools),
        None => (None, Vec::new()),
    };
    Ok(Skill {
        name,
        description: description.ok_or(Fault::Missing { field: "description" })?,
        allowed,
        elsewhere,
        license: fields.text("license", LONGEST_OTHER)?.map(|text| one_line(&text)),
        compatibility: fields.text("compatibility", LONGEST_OTHER)?.map(|text| one_line(&text)),
        body: body.to_owned(),
        files: found.files.clone(),
        source: found.text.origin,
        path: found.text.path.clone(),
    })
}

/// The tools of ours that a list names, and the names that are none. A list only takes away, so a name that is none
/// takes nothing but itself away; it is shown when the skill is installed. A name with a pattern (`Bash(git:*)`) is one
/// of those, because we could not keep to the pattern.
fn sorted(names: &[String], tools: &[Listing]) -> (Option<Vec<String>>, Vec<String>) {
    let mut allowed: Vec<String> = Vec::new();
    let mut elsewhere = Vec::new();
    for name in names {
        let ours =
            KNOWN_ELSEWHERE.iter().find(|(theirs, _)| theirs == name).map_or(name.as_str(), |(_, ours)| ours);
        match tools.iter().any(|tool| tool.spec.name == ours) {
            true if allowed.iter().any(|tool| tool == ours) => {}
            true => allowed.push(ours.to_owned()),
            false => elsewhere.push(one_line(&clip(name, 64))),
        }
    }
    (Some(allowed), elsewhere)
}
