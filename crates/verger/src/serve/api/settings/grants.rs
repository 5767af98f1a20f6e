//! Standing grants: what may be changed without asking, in plain words; given by hand, for whole folders, and taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use pipeline::approve::Rule;
use pipeline::grants::Grant;
use pipeline::{Effect, Lifetime, Rights, Road, World as _};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::VaultFolder;

use crate::command::audit::standing;
use crate::serve::api::area::{Area, Nothing};
use crate::serve::api::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::world::RealWorld;

/// How far back the audit is read to say how often a grant was used.
const AUDIT_LINES: usize = 20_000;
/// The most folders that are opened.
const MOST: usize = 50;
/// What a folder does not open: the past is put back by hand, and health is mended with the person looking on.
const NEVER: [&str; 2] = ["restore_checkpoint", "vault_health_repair"];

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<Nothing, _, _>(
            "/api/settings/grants",
            "What may be changed without asking, and which folders are open.",
            shown,
        )
        .post::<Given, _, _>("/api/settings/grants", "Gives a standing grant.", given)
        .post::<Revoked, _, _>(
            "/api/settings/grants/revoke",
            "Takes one grant back, or all of them.",
            revoked,
        )
        .put::<Folders, _, _>(
            "/api/settings/grants/folders",
            "Opens exactly these folders to changes without asking, and closes the others.",
            folders,
        )
}

/// A grant by hand.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Given {
    /// The tool.
    tool: String,
    /// Paths, as in .gitignore: `Journal/**`.
    paths: String,
    /// How long: `30m`, `12h`, `7d`, `4w`; without it, until it is taken back.
    expires: Option<String>,
}

/// A grant that goes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Revoked {
    /// Its id; without it, all of them.
    id: Option<String>,
}

/// Folders that are open.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Folders {
    /// Folders of the vault; an empty name is the whole vault.
    folders: Vec<String>,
}

async fn shown(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    house.look(all).await.map(Json)
}

fn all(house: &House) -> Result<Value, Problem> {
    let study = house.study();
    let road = &study.mind.road;
    let grants = road.grants.list()?;
    let mut used: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for entry in road.audit.last(AUDIT_LINES)? {
        if let Some(id) = entry.approval.as_deref().and_then(|approval| approval.strip_prefix("grant ")) {
            let uses = used.entry(id.to_owned()).or_default();
            *uses = (uses.0 + 1, entry.time);
        }
    }
    let now = now_ms();
    let rows: Vec<Value> = grants
        .iter()
        .map(|grant| {
            let uses = used.get(&grant.id);
            json!({
                "id": grant.id, "words": words(&grant.rule), "tool": grant.rule.tool, "paths": grant.rule.paths,
                "target": grant.rule.target, "lifetime": grant.lifetime, "given_ms": grant.given_ms,
                "expires_ms": grant.expires_ms, "over": grant.expires_ms.is_some_and(|end| end <= now),
                "used": uses.map_or(0, |uses| uses.0), "last_used": uses.map(|uses| uses.1.clone()),
            })
        })
        .collect();
    let tools: Vec<Value> =
        editing(road).iter().map(|tool| json!({"name": tool, "words": verb(tool)})).collect();
    Ok(json!({"grants": rows, "tools": tools, "folders": open_folders(road, &grants)}))
}

/// The tools that change notes, as far as a folder opens them.
fn editing(road: &Road) -> BTreeSet<String> {
    let list = road.registry.list(&Rights::all());
    let edits = list.iter().filter(|tool| tool.spec.effect == Effect::Edits);
    edits.map(|tool| tool.spec.name.to_string()).filter(|name| !NEVER.contains(&name.as_str())).collect()
}

/// The folders in which every tool that edits may do so without asking.
fn open_folders(road: &Road, grants: &[Grant]) -> Vec<String> {
    let mut tools: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for grant in grants.iter().filter(|grant| lasts(grant)) {
        if let Some(pattern) = &grant.rule.paths {
            tools.entry(pattern).or_default().insert(&grant.rule.tool);
        }
    }
    let wanted = editing(road);
    let is_open = |known: &BTreeSet<&str>| wanted.iter().all(|tool| known.contains(tool.as_str()));
    let folders =
        tools.iter().filter(|(_, known)| is_open(known)).filter_map(|(pattern, _)| folder_of(pattern));
    folders.collect()
}

fn lasts(grant: &Grant) -> bool {
    grant.lifetime == Lifetime::Always && grant.expires_ms.is_none() && grant.rule.target.is_none()
}

/// `/Journal/**` is the folder `Journal`; `/**` is the whole vault.
fn folder_of(pattern: &str) -> Option<String> {
    let inner = pattern.strip_suffix("/**")?;
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let plain = inner.replace('\\', "");
    (pattern == pattern_of(&plain)).then_some(plain)
}

fn pattern_of(folder: &str) -> String {
    let mut pattern = String::from("/");
    for letter in folder.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!' | '#') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    if folder.is_empty() { "/**".to_owned() } else { pattern + "/**" }
}

async fn given(State(house): State<Arc<House>>, Told(told): Told<Given>) -> Result<Json<Value>, Problem> {
    let give = move |house: &House| {
        if told.paths.len() > 1_000 || told.tool.len() > 100 {
            return Err(Problem::bad("this is too long", "name one tool and one pattern"));
        }
        let study = house.study();
        let expires = told.expires.as_deref().filter(|text| !text.trim().is_empty());
        let grant = standing(&study.mind.road, told.tool, &told.paths, expires, now_ms())?;
        let words = words(&grant.rule);
        study.mind.road.grants.add(grant)?;
        house.beat(|pulse| pulse.settings += 1);
        Ok(json!({"done": {"text": words}}))
    };
    house.look(give).await.map(Json)
}

async fn revoked(State(house): State<Arc<House>>, Told(told): Told<Revoked>) -> Result<Json<Value>, Problem> {
    let take = move |house: &House| {
        let study = house.study();
        let grants = &study.mind.road.grants;
        let ids: Vec<String> = match told.id {
            Some(id) => vec![id],
            None => grants.list()?.into_iter().map(|grant| grant.id).collect(),
        };
        for id in &ids {
            grants.revoke(id)?;
        }
        house.beat(|pulse| pulse.settings += 1);
        Ok(json!({"done": {"text": "taken back", "count": ids.len()}}))
    };
    house.look(take).await.map(Json)
}

async fn folders(State(house): State<Arc<House>>, Told(told): Told<Folders>) -> Result<Json<Value>, Problem> {
    house.look(move |house| open(house, &told.folders)).await.map(Json)
}

fn open(house: &House, wanted: &[String]) -> Result<Value, Problem> {
    if wanted.len() > MOST {
        return Err(Problem::bad("these are too many folders", "open a folder above them"));
    }
    let mut patterns = BTreeSet::new();
    for name in wanted {
        let folder = VaultFolder::parse(name.trim().trim_matches('/'))
            .map_err(|error| vault::Error::Path { text: name.clone(), error })?;
        patterns.insert(pattern_of(folder.as_str()));
    }
    let study = house.study();
    let road = &study.mind.road;
    let grants = road.grants.list()?;
    let open: BTreeSet<String> =
        open_folders(road, &grants).iter().map(|folder| pattern_of(folder)).collect();
    for grant in grants.iter().filter(|grant| lasts(grant)) {
        let closed = |pattern: &String| open.contains(pattern) && !patterns.contains(pattern);
        if grant.rule.paths.as_ref().is_some_and(closed) {
            road.grants.revoke(&grant.id)?;
        }
    }
    for pattern in patterns.difference(&open) {
        for tool in editing(road) {
            road.grants.add(standing(road, tool, pattern, None, now_ms())?)?;
        }
    }
    house.beat(|pulse| pulse.settings += 1);
    Ok(json!({"done": {"text": "saved", "folders": open_folders(road, &road.grants.list()?)}}))
}

fn now_ms() -> i64 {
    RealWorld.now().timestamp().as_millisecond()
}

/// A rule in a sentence.
fn words(rule: &Rule) -> String {
    let place = match (&rule.paths, &rule.target) {
        (Some(pattern), _) => match (pattern.as_str(), folder_of(pattern)) {
            ("/**", _) => "in the whole vault".to_owned(),
            (_, Some(folder)) => format!("in {folder}"),
            (pattern, None) => format!("in {}", pattern.trim_start_matches('/').replace('\\', "")),
        },
        (None, Some(target)) => format!("with {target}"),
        (None, None) => String::new(),
    };
    format!("{} {place}", verb(&rule.tool)).trim_end().to_owned()
}

/// What a tool does, for people.
fn verb(tool: &str) -> String {
    let known = match tool {
        "write_file" | "obsidian_write_note" => "write whole notes",
        "edit_file" | "replace_in_file" | "obsidian_replace_in_note" => "change words in notes",
        "patch_note" | "obsidian_patch_note" => "change a section of a note",
        "append_to_file" | "obsidian_append_to_note" => "add to notes",
        "update_frontmatter" | "obsidian_manage_frontmatter" => "change properties",
        "manage_tags" | "obsidian_manage_tags" => "change tags",
        "create_folder" => "make folders",
        "move_file" | "obsidian_move_note" => "move and rename notes",
        "delete_file" | "obsidian_delete_note" => "put notes into the trash",
        "batch_files" | "obsidian_batch_edit" => "change several notes at once",
        "create_base" | "update_base" => "make and change bases",
        "get_daily_note" | "obsidian_periodic_note" => "make the daily note",
        "write_chat" => "write chats into notes",
        other => return format!("use the tool {other}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_its_pattern_are_the_same_thing() {
        for (folder, pattern) in [("Journal", "/Journal/**"), ("", "/**"), ("a [b]*/c", "/a \\[b\\]\\*/c/**")]
        {
            assert_eq!(pattern_of(folder), pattern);
            assert_eq!(folder_of(pattern).as_deref(), Some(folder));
        }
        for other in ["/a.md", "/a*/**", "/*/**", "**", "/a/**/b"] {
            assert_eq!(folder_of(other), None, "{other}");
        }
    }

    #[test]
    fn rules_are_told_in_plain_words() {
        let rule = |tool: &str, paths: Option<&str>, target: Option<&str>| Rule {
            tool: tool.to_owned(),
            paths: paths.map(str::to_owned),
            target: target.map(str::to_owned),
        };
        for (rule, expected) in [
            (rule("append_to_file", Some("/Journal/**"), None), "add to notes in Journal"),
            (rule("delete_file", Some("/**"), None), "put notes into the trash in the whole vault"),
            (rule("edit_file", Some("/a \\[b\\].md"), None), "change words in notes in a [b].md"),
            (rule("use_mcp_tool", None, Some("weather")), "use the tool use_mcp_tool with weather"),
        ] {
            assert_eq!(words(&rule), expected);
        }
    }
}
