//! The API behind the page. Each area is a file that names its routes once: an [`Area`] is the router and its description, so
//! `/api/openapi.json` cannot tell of a route that is not there, nor leave one out.

mod about;
mod activity;
mod area;
pub mod body;
mod changes;
mod chats;
mod events;
mod find;
mod graph;
mod health;
mod home;
mod notes;
mod openapi;
mod questions;
mod settings;
mod tokens;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::house::House;
use area::Area;

/// All areas.
fn areas() -> Area {
    let areas = [
        about::area(),
        activity::area(),
        changes::area(),
        chats::area(),
        events::area(),
        find::area(),
        graph::area(),
        health::area(),
        home::area(),
        notes::area(),
        questions::area(),
        settings::area(),
        tokens::area(),
    ];
    areas.into_iter().fold(Area::default(), Area::join)
}

/// The routes of all areas, and their description.
pub fn router() -> Router<Arc<House>> {
    let (router, operations) = areas().split();
    let paper = Arc::new(openapi::describe(&operations));
    router.route("/api/openapi.json", get(move || async move { axum::Json(paper.as_ref().clone()) }))
}
