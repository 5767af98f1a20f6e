//! `config.toml` in the page: what it says, what a change would make of it, and the way back.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use vault::{Change, VaultPath};

use super::{save, sheet, take_up};
use crate::config::KEYS;
use crate::config::write::{Setting, word};
use crate::serve::api::area::{Area, Nothing};
use crate::serve::api::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;

/// Tables that the page shows as they are written. Providers may hold headers with keys, so they are not among them.
const SHOWN: [&str; 7] = ["limits", "approve", "checkpoints", "models", "chat", "embedding", "note"];
/// Variables that narrow what the file says.
const NARROWING: [&str; 3] = ["OBSIDIAN_READ_PATHS", "OBSIDIAN_WRITE_PATHS", "OBSIDIAN_READ_ONLY"];
/// The most settings of one change.
const MOST: usize = 100;

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<Nothing, _, _>("/api/settings", "What config.toml says, and what its keys mean.", shown)
        .post::<Saving, _, _>(
            "/api/settings/save",
            "Shows what config.toml would become; with the `saw` of that answer, saves it and takes it up at once.",
            saved,
        )
        .post::<Back, _, _>("/api/settings/undo", "Puts the config.toml before the last change back.", back)
}

/// A change of settings.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Saving {
    /// What shall be set.
    settings: Vec<Setting>,
    /// What the person saw and said yes to.
    saw: Option<String>,
}

/// A step back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Back {
    /// Names the text that is there now.
    word: String,
}

async fn shown(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    house.look(all).await.map(Json)
}

fn all(house: &House) -> Result<Value, Problem> {
    let (sheet, study) = (sheet()?, house.study());
    // A file that was broken by hand is told, not hidden: the page can still show the rest.
    let table: toml::Table = sheet.text().parse().unwrap_or_default();
    let written: Map<String, Value> = SHOWN
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), serde_json::to_value(table.get(*name)?).ok()?)))
        .collect();
    let keys: Vec<Value> = KEYS
        .iter()
        .map(
            |key| json!({"name": key.name, "kind": key.kind, "default": key.default, "meaning": key.meaning}),
        )
        .collect();
    let narrowing: Vec<&str> = NARROWING
        .into_iter()
        .filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
        .collect();
    let limits = &study.config.limits;
    let paths = |list: &Option<std::collections::BTreeSet<VaultPath>>| {
        list.as_ref().map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let agents: Vec<Value> = study
        .company
        .kit
        .agents
        .list()
        .map(|agent| json!({"slug": agent.slug, "name": agent.name, "about": agent.when_to_use}))
        .collect();
    Ok(json!({
        "file": sheet.path().display().to_string(),
        "word": sheet.word(),
        "broken": crate::config::Config::of_text(sheet.path(), sheet.text()).err().map(|failure| failure.refusal),
        "can_go_back": sheet.has_backup(),
        "written": written,
        "keys": keys,
        "narrowing": narrowing,
        "in_force": {
            "read": paths(&limits.read), "write": paths(&limits.write), "read_only": limits.read_only,
            "agent": study.agent(),
        },
        "agents": agents,
        "vault": study.place.root.display().to_string(),
        "data": study.place.data.display().to_string(),
    }))
}

async fn saved(State(house): State<Arc<House>>, Told(told): Told<Saving>) -> Result<Json<Value>, Problem> {
    house.look(move |house| change(house, &told)).await.map(Json)
}

fn change(house: &House, told: &Saving) -> Result<Value, Problem> {
    if told.settings.is_empty() || told.settings.len() > MOST {
        return Err(Problem::bad(
            "there is nothing to save, or too much at once",
            "change one thing after the other",
        ));
    }
    let sheet = sheet()?;
    let after = sheet.with(&told.settings)?;
    let saw = format!("{}.{}", sheet.word(), word(&after));
    let Some(seen) = &told.saw else {
        house.would_take(&crate::config::Config::of_text(sheet.path(), &after)?)?;
        return Ok(json!({"shown": {
            "summary": "change config.toml", "files": [difference(sheet.text(), &after)?], "saw": saw,
            "same": sheet.text() == after,
        }}));
    };
    if *seen != saw {
        return Err(changed_meanwhile());
    }
    save(house, &sheet, &told.settings)?;
    Ok(json!({"done": {"text": "saved", "word": word(&after)}}))
}

fn changed_meanwhile() -> Problem {
    let hint = "look at it again, then save";
    Problem::new(
        axum::http::StatusCode::CONFLICT,
        "stale",
        "config.toml was changed by somebody else meanwhile",
        hint,
    )
}

/// The text without what providers are sent in headers and addresses: it may be secret, and is shown nowhere.
fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut secret_table, mut open) = (false, false);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let end = &line[line.trim_end_matches(['\n', '\r']).len()..];
        if trimmed.starts_with('[') && !open {
            secret_table = [".headers]", ".query]"].iter().any(|ending| trimmed.ends_with(ending));
        }
        let name = trimmed.split(['=', ' ', '\t']).next().unwrap_or_default();
        let begins = trimmed.contains('=') && (secret_table || matches!(name, "headers" | "query"));
        match (begins, open) {
            (true, _) => out.push_str(&format!("{name} = …{end}")),
            (false, true) => out.push_str(&format!("…{end}")),
            (false, false) => out.push_str(line),
        }
        // A table in braces may go on over several lines.
        let depth = trimmed.matches('{').count() > trimmed.matches('}').count();
        open = (begins && depth) || (open && !trimmed.contains('}'));
    }
    out
}

/// What differs, as all pages of ours take it.
fn difference(before: &str, after: &str) -> Result<Value, Problem> {
    let path = VaultPath::parse("config.toml")
        .map_err(|error| vault::Error::Path { text: "config.toml".to_owned(), error })?;
    let change = Change::replace(path, masked(before).into_bytes(), masked(after).into_bytes());
    let (added, removed) = change.lines();
    Ok(json!({
        "path": "config.toml", "kind": "replace", "added": added, "removed": removed, "diff": change.diff(),
        "before": null, "after": null,
    }))
}

async fn back(State(house): State<Arc<House>>, Told(told): Told<Back>) -> Result<Json<Value>, Problem> {
    let go = move |house: &House| {
        let sheet = sheet()?;
        if sheet.word() != told.word {
            return Err(changed_meanwhile());
        }
        let before = sheet.before()?;
        take_up(house, &sheet, &before)?;
        Ok(json!({"done": {"text": "as it was before", "word": word(&before)}}))
    };
    house.look(go).await.map(Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_providers_are_sent_in_headers_is_not_in_a_diff() {
        let text = "[providers.a]\nurl = \"u\"\nheaders = { Authorization = \"SECRET\" }\n[providers.b.headers]\nX = \"SECRET\"\n\
                    [providers.c]\nquery = {\n  key = \"SECRET\",\n}\n[chat]\nrounds = 7\n";
        let masked = masked(text);
        assert!(!masked.contains("SECRET"), "{masked}");
        assert_eq!(masked.lines().count(), text.lines().count());
        assert!(masked.contains("url = \"u\"") && masked.ends_with("[chat]\nrounds = 7\n"), "{masked}");
    }
}
