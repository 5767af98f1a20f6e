//! Folders one at a time, and files by their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::catalog::FileInfo;
use vault::{VaultFolder, VaultPath};

use crate::serve::api::body::{Asked, Told};
use crate::serve::house::House;
use crate::serve::problem::Problem;

/// Entries of one folder at most.
const MOST: usize = 5000;
/// The longest name that is looked up.
const LONGEST: usize = 300;

/// Which folder.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Asking {
    /// The folder; the root if it is empty.
    #[serde(default)]
    folder: String,
}

/// Which names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Naming {
    /// Words that stand in the name or path.
    text: String,
    /// How many at most, up to 100.
    #[serde(default = "ten")]
    limit: usize,
}

fn ten() -> usize {
    10
}

/// What lies in a folder.
pub async fn tree(
    State(house): State<Arc<House>>,
    Asked(asked): Asked<Asking>,
) -> Result<Json<Value>, Problem> {
    house.look(move |house| branch(house, asked.folder.trim_matches('/')).map(Json)).await
}

fn branch(house: &House, folder: &str) -> Result<Value, Problem> {
    let parsed = VaultFolder::parse(folder)
        .map_err(|error| Problem::from(vault::Error::Path { text: folder.to_owned(), error }))?;
    let (study, scope) = (house.study(), house.scope()?);
    let catalog = study.mind.road.vault().view(&scope).catalog()?;
    let found = catalog.ask(|catalog, visible| {
        if !catalog.has_folder(&parsed, visible) {
            return None;
        }
        let depth = parsed.path().map_or(0, |path| path.segments().count());
        // The folder below this one in which a path lies.
        let below = |path: &VaultPath| path.segments().take(depth + 1).collect::<Vec<_>>().join("/");
        let mut folders: BTreeMap<String, usize> = BTreeMap::new();
        let inside = |path: &&VaultPath| path.is_in(&parsed) && path.segments().count() == depth + 1;
        catalog.folders(visible).filter(inside).for_each(|path| {
            folders.entry(path.as_str().to_owned()).or_default();
        });
        let mut files = Vec::new();
        for info in catalog.files_in(&parsed, visible) {
            match info.path.segments().count() == depth + 1 {
                true => files.push(entry(info)),
                false => *folders.entry(below(&info.path)).or_default() += usize::from(info.is_note()),
            }
        }
        Some((folders, files))
    });
    let Some((folders, mut files)) = found else {
        let hint = "it may have been moved or renamed; open the tree again";
        return Err(Problem::not_found(format!("there is no folder `{folder}`"), hint));
    };
    let cut = files.len() > MOST;
    files.sort_by_cached_key(|file| file["name"].as_str().unwrap_or_default().to_lowercase());
    files.truncate(MOST);
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut folders: Vec<Value> = folders
        .into_iter()
        .map(|(path, notes)| json!({"name": name(&path), "path": path, "notes": notes}))
        .collect();
    folders.sort_by_cached_key(|folder| folder["name"].as_str().unwrap_or_default().to_lowercase());
    Ok(json!({"folder": folder, "folders": folders, "files": files, "cut": cut}))
}

fn entry(info: &FileInfo) -> Value {
    json!({
        "path": info.path,
        "name": if info.is_note() { info.path.stem() } else { info.path.name() },
        "kind": if info.is_note() { "note" } else { "file" },
        "modified_ms": info.stat.modified_ns / 1_000_000,
    })
}

/// Files by their names.
pub async fn names(
    State(house): State<Arc<House>>,
    Told(asked): Told<Naming>,
) -> Result<Json<Value>, Problem> {
    house.look(move |house| named(house, &asked).map(Json)).await
}

fn named(house: &House, asked: &Naming) -> Result<Value, Problem> {
    let wanted = asked.text.chars().take(LONGEST).collect::<String>().to_lowercase();
    let wanted = wanted.trim();
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let (study, scope) = (house.study(), house.scope()?);
    let catalog = study.mind.road.vault().view(&scope).catalog()?;
    let names = catalog.ask(|catalog, visible| {
        let mut found: Vec<(usize, i64, &FileInfo)> = catalog
            .files(visible)
            .filter_map(|info| Some((rank(info, wanted, &words)?, -info.stat.modified_ns, info)))
            .collect();
        let first = asked.limit.clamp(1, 100);
        if found.len() > first {
            found.select_nth_unstable_by_key(first, |(rank, newest, _)| (*rank, *newest));
            found.truncate(first);
        }
        found.sort_by(|a, b| (a.0, a.1, &a.2.path).cmp(&(b.0, b.1, &b.2.path)));
        let shown = |(_, _, info): &(usize, i64, &FileInfo)| {
            let name = if info.is_note() { info.path.stem() } else { info.path.name() };
            json!({"path": info.path, "name": name, "folder": info.path.parent().as_str()})
        };
        found.iter().map(shown).collect::<Vec<_>>()
    });
    Ok(json!({"names": names}))
}

/// How well a file fits, the less the better; none if a word is missing. Without words the newest notes come first.
fn rank(info: &FileInfo, wanted: &str, words: &[&str]) -> Option<usize> {
    if words.is_empty() {
        return info.is_note().then_some(0);
    }
    let path = info.path.as_str().to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let attachment = usize::from(!info.is_note());
    if !words.iter().all(|word| path.contains(word)) {
        let is_alias =
            info.is_note() && info.aliases().iter().any(|alias| alias.to_lowercase().contains(wanted));
        return is_alias.then_some(40);
    }
    let place = match name.find(wanted) {
        Some(0) if name.strip_suffix(".md").unwrap_or(name) == wanted => 0,
        Some(0) => 10,
        Some(at) if !name.as_bytes()[at - 1].is_ascii_alphanumeric() => 20,
        Some(_) => 30,
        None if words.iter().all(|word| name.contains(word)) => 35,
        None => 50,
    };
    Some(place + attachment * 5)
}
