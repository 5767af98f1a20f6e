//! Notes as the person reads them, folders, files, names.

mod file;
mod page;
mod task;
mod tree;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::VaultPath;

use super::area::Area;
use super::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::serve::render::{self, Place};

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<tree::Asking, _, _>("/api/tree", "What lies in a folder.", tree::tree)
        .post::<tree::Naming, _, _>(
            "/api/names",
            "Files whose names fit some words, the best first.",
            tree::names,
        )
        .get::<page::Asking, _, _>("/api/note", "A note as the page shows it.", page::note)
        .get::<file::Asking, _, _>(
            "/api/file",
            "The bytes of a file, under a kind that no browser runs.",
            file::file,
        )
        .post::<Rendering, _, _>("/api/render", "Markdown as clean HTML.", rendered)
        .post::<task::Ticking, _, _>(
            "/api/task",
            "Ticks a task of a note, or takes the tick away.",
            task::tick,
        )
}

/// A text to be shown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rendering {
    /// Markdown.
    text: String,
    /// The note in which it stands.
    path: Option<String>,
}

async fn rendered(
    State(house): State<Arc<House>>,
    Told(asked): Told<Rendering>,
) -> Result<Json<Value>, Problem> {
    let work = move |house: &House| {
        let from = asked.path.as_deref().map(path).transpose()?;
        let (study, scope) = (house.study(), house.scope()?);
        let view = study.mind.road.vault().view(&scope);
        Ok(Json(json!({"html": render::markdown(&asked.text, &Place { view: &view, from: from.as_ref() })})))
    };
    house.look(work).await
}

/// A path that a request names.
pub(in crate::serve) fn path(text: &str) -> Result<VaultPath, Problem> {
    VaultPath::parse(text).map_err(|error| vault::Error::Path { text: text.to_owned(), error }.into())
}
