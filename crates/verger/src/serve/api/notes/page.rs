//! A note as the page shows it, with what stands around it: properties, outline, links in and out.
//!
//! Opening a note is a read on the road; asking whether it changed since is not one. What was made is kept as long as
//! neither the file, nor the catalog, nor what may be seen changed.

mod kept;
mod other;
mod parts;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::files::{Entry, Kind};
use vault::note;
use vault::note::outline::version;
use vault::{VaultPath, View};

use super::path;
use crate::serve::api::body::Asked;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::serve::render::{self, Place, links};
use kept::{KEPT, Key, Made};

/// Which note.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Asking {
    /// Its path.
    path: String,
}

/// A note, or only that it did not change.
pub async fn note(
    State(house): State<Arc<House>>,
    headers: HeaderMap,
    Asked(asked): Asked<Asking>,
) -> Result<Response, Problem> {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
    house.look(move |house| give(house, &path(&asked.path)?, known.as_deref())).await
}

fn give(house: &House, wanted: &VaultPath, known: Option<&str>) -> Result<Response, Problem> {
    let (study, scope) = (house.study(), house.scope()?);
    let road = &study.mind.road;
    let view = road.vault().view(&scope);
    let path = view.find(wanted)?;
    let entry = view.look(&path)?.filter(|entry| entry.kind == Kind::File);
    let Some(entry) = entry else {
        return Err(Problem::not_found(format!("`{path}` is a folder"), "open one of its notes"));
    };
    let generation = view.catalog()?.ask(|catalog, _| catalog.generation());
    let key = Key { path: path.clone(), stat: entry.stat, generation };
    let standing = (road.vault().rules()?, study.config.limits.clone());
    let made = match KEPT.get(&key, &standing) {
        Some(made) => made,
        None => {
            let made = make(house, &view, &entry)?;
            KEPT.keep(key, standing, &made);
            made
        }
    };
    let keep = [(header::ETAG, made.tag.as_str()), (header::CACHE_CONTROL, "no-cache")];
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == made.tag)) {
        return Ok((StatusCode::NOT_MODIFIED, keep).into_response());
    }
    if path.is_note() {
        house.answer("read_file", json!({"path": path, "limit": 1}))?;
    }
    Ok((keep, [(header::CONTENT_TYPE, "application/json")], made.body.to_vec()).into_response())
}

fn make(house: &House, view: &View<'_>, entry: &Entry) -> Result<Made, Problem> {
    let path = &entry.path;
    let obsidian = format!(
        "obsidian://open?vault={}&file={}",
        links::encode(&house.name(), ""),
        links::encode(path.as_str(), "")
    );
    let mut answer = json!({
        "path": path,
        "name": if path.is_note() { path.stem() } else { path.name() },
        "kind": other::kind(path),
        "modified_ms": entry.stat.modified_ns / 1_000_000,
        "bytes": entry.stat.size,
        "obsidian": obsidian,
        "bytes_at": links::bytes_of(path),
    });
    if path.is_note() {
        let text = view.text(path)?;
        let place = Place { view, from: Some(path) };
        let rendered = render::note(&text, &place);
        let parsed = note::front::split(&text);
        let body = parsed.as_ref().map_or(0, |front| front.block.end);
        answer["html"] = json!(rendered.html);
        answer["outline"] = json!(rendered.outline);
        answer["version"] = json!(version(&text));
        answer["words"] = json!(text.get(body..).unwrap_or_default().split_whitespace().count());
        answer["properties"] = parts::properties(parsed.as_ref(), &place);
    } else if path.extension() == Some("base") {
        answer["table"] = other::base(house, path);
    }
    parts::links(view, path, &mut answer)?;
    Ok(Made::new(&answer))
}
