//! What the page needs to know first: which vault, who speaks, with which model, and what there is to see.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use llm::Tier;
use pipeline::World as _;
use serde_json::{Value, json};

use super::area::{Area, Nothing};
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::world::RealWorld;

/// What is known of the whole.
pub fn area() -> Area {
    Area::default().get::<Nothing, _, _>(
        "/api/about",
        "Which vault this is, who speaks, and with which model.",
        about,
    )
}

async fn about(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    house.look(told).await.map(Json)
}

fn told(house: &House) -> Result<Value, Problem> {
    let study = house.study();
    let scope = house.scope()?;
    let view = study.mind.road.vault().view(&scope);
    let catalog = view.catalog()?;
    let (notes, files) =
        catalog.ask(|catalog, visible| (catalog.notes(visible).count(), catalog.files(visible).count()));
    let model = |tier| study.mind.models.of_tier(tier);
    Ok(json!({
        "vault": house.name(),
        "version": env!("CARGO_PKG_VERSION"),
        "notes": notes,
        "files": files,
        "agent": house.agent(),
        "model": model(Tier::Main),
        "fast": model(Tier::Fast),
        "flagship": model(Tier::Flagship),
        "read_only": study.config.limits.read_only,
        "changes": view.checkpoints().len(),
        "today": RealWorld.now().date().to_string(),
    }))
}
