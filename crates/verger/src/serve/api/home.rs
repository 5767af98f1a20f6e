//! What a person sees first, in one answer: what is here, what changed last, whether all is well, today's note.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use llm::Tier;
use pipeline::World as _;
use serde_json::{Value, json};
use vault::catalog::FileInfo;
use vault::health::Severity;
use vault::periodic::{self, Period};
use vault::view::{CatalogView, CheckpointInfo};

use super::area::{Area, Nothing};
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::world::RealWorld;

/// How many notes and changes are shown.
const NOTES: usize = 8;
const CHANGES: usize = 5;
/// How many files of one change are named.
const STEPS: usize = 4;

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<Nothing, _, _>(
            "/api/home",
            "What the first page shows: counts, recent notes, latest changes, today's note.",
            home,
        )
        .get::<Nothing, _, _>("/api/home/health", "How the vault is, in a few counts.", health)
}

async fn home(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    house.look(told).await.map(Json)
}

fn told(house: &House) -> Result<Value, Problem> {
    let study = house.study();
    let scope = house.scope()?;
    let view = study.mind.road.vault().view(&scope);
    let catalog = view.catalog()?;
    let (notes, files, recent, tags) = catalog.ask(|catalog, visible| {
        let recent: Vec<Value> = catalog.recent(NOTES, visible).into_iter().map(note).collect();
        let tags = catalog.tags(visible).len();
        (catalog.notes(visible).count(), catalog.files(visible).count(), recent, tags)
    });
    let checkpoints = view.checkpoints();
    let latest: Vec<Value> = checkpoints.iter().take(CHANGES).map(change).collect();
    let today = RealWorld.now().date();
    Ok(json!({
        "vault": house.name(),
        "version": env!("CARGO_PKG_VERSION"),
        "notes": notes,
        "files": files,
        "tags": tags,
        "changes": checkpoints.len(),
        "recent": recent,
        "latest": latest,
        "model": study.mind.models.of_tier(Tier::Main),
        "read_only": study.config.limits.read_only,
        "daily": daily(&view, &catalog, today),
        "examples": examples(&catalog),
    }))
}

fn note(info: &FileInfo) -> Value {
    json!({
        "path": info.path, "name": info.path.stem(), "folder": info.path.parent().as_str(),
        "modified_ms": info.stat.modified_ns / 1_000_000,
    })
}

fn change(info: &CheckpointInfo) -> Value {
    let steps: Vec<Value> = info
        .steps
        .iter()
        .take(STEPS)
        .map(|step| step.paths().first().map_or(Value::Null, |path| json!(path)))
        .collect();
    json!({
        "id": info.id, "time_ms": info.time_ms, "tool": info.tool, "paths": steps, "total": info.steps.len(),
        "takes_back": info.tool == "restore_checkpoint",
    })
}

/// Today's note: where it is, or would be.
fn daily(view: &vault::View<'_>, catalog: &CatalogView<'_>, today: jiff::civil::Date) -> Value {
    let Ok(settings) = view.periodic_settings() else { return Value::Null };
    let found = catalog.ask(|catalog, visible| {
        periodic::find(&settings, Period::Daily, today, catalog.notes(visible).map(|info| &info.path))
    });
    match (found, periodic::path_for(&settings, Period::Daily, today)) {
        (Some(path), _) => json!({"path": path, "there": true}),
        (None, Ok(path)) => json!({"path": path, "there": false}),
        (None, Err(_)) => Value::Null,
    }
}

/// Words worth searching for in this very vault: its most used tags, and the tour's own example where this is the tour.
fn examples(catalog: &CatalogView<'_>) -> Value {
    let is_tour = ["Start.md", "Garden/Slugs.md"].iter().all(|name| {
        vault::VaultPath::parse(name)
            .is_ok_and(|path| catalog.ask(|catalog, visible| catalog.get(&path, visible).is_some()))
    });
    let tags = catalog.ask(|catalog, visible| {
        let mut tags = catalog.tags(visible);
        tags.sort_by(|one, other| other.files.cmp(&one.files).then(one.name.cmp(&other.name)));
        tags.into_iter().take(3).map(|tag| tag.name).collect::<Vec<_>>()
    });
    json!({"tour": is_tour, "tags": tags})
}

async fn health(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    let look = |house: &House| {
        let study = house.study();
        let scope = house.scope()?;
        let findings = study.mind.road.vault().view(&scope).catalog()?.health();
        let count =
            |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let mut kinds: Vec<(Value, usize)> = Vec::new();
        for finding in &findings {
            let kind = json!(finding.kind);
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((kind, 1)),
            }
        }
        let kinds: Vec<Value> =
            kinds.iter().map(|(kind, count)| json!({"kind": kind, "count": count})).collect();
        Ok(json!({
            "bad": count(Severity::Error), "odd": count(Severity::Warning), "small": count(Severity::Info), "kinds": kinds,
        }))
    };
    house.look(look).await.map(Json)
}
